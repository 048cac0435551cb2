#!/bin/sh
# Writes a program of one line, which runs a Java class of this tree with the options that all of them have.
#   java_launcher.sh OUT CLASSPATH MAIN [OPTION...]      OUT and what CLASSPATH lists are relative to this tree
# It works from any folder, and goes on working if the tree is moved and built anew. The process that it starts is Java
# itself: it leaves no shell waiting. JAVA names another java than the one that the shell finds.
#
# What the options are stands in lab/README.md: ours and those that we are compared with have the same. A program that is
# not measured may have others in the place of those of heap and collector.
set -eu
cd "$(dirname "$0")/.."
out=$1 classpath=$2 main=$3
shift 3
[ $# -gt 0 ] || set -- -Xms512m -Xmx512m -XX:+UseG1GC
up=$(dirname "$out" | sed 's,[^/][^/]*,..,g')
classpath=$(printf '%s' "$classpath" | sed 's,:,:$root/,g')
mkdir -p "$(dirname "$out")"
cat >"$out.new" <<END
#!/bin/sh
root=\${0%/*}/$up
root=\$(cd -- "\$root" && pwd) || exit 1
exec "\${JAVA:-java}" $* --enable-native-access=ALL-UNNAMED -cp "\$root/$classpath" $main "\$@"
END
chmod +x "$out.new"
mv "$out.new" "$out"
