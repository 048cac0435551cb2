#!/bin/sh
# Writes a program of one line, which runs a Python module of this tree.
#   launcher.sh OUT ENVIRONMENT MODULE        both are relative to this tree; the module is one the environment finds
# It works from any folder, and goes on working if the tree is moved and built anew. The process that it starts is the
# module's own: it leaves no shell waiting.
set -eu
cd "$(dirname "$0")/.."
out=$1 environment=$2 module=$3
up=$(dirname "$out" | sed 's,[^/][^/]*,..,g')
mkdir -p "$(dirname "$out")"
cat >"$out.new" <<END
#!/bin/sh
root=\${0%/*}/$up
root=\$(cd -- "\$root" && pwd) || exit 1
unset PYTHONDONTWRITEBYTECODE PYTHONHOME PYTHONPATH
export PYTHONPYCACHEPREFIX="\$root/build/.cache/python"
exec "\$root/$environment/bin/python" -P -m $module "\$@"
END
chmod +x "$out.new"
mv "$out.new" "$out"
