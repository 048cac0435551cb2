#!/bin/sh
# Builds the reference program: build/peer-java, which runs what lies in build/java, and build/peer-java-tested, which tests
# start instead: thousands of times, for a second each, so that what takes long to begin and pays later is left out.
set -eu
cd "$(dirname "$0")/.."
rm -rf build/java/lib.new
mvn -q -B -f java -pl peer -am package -Dmaven.test.skip=true
rm -rf build/java/lib
mv build/java/lib.new build/java/lib
cp java/peer/target/trunkcall-peer-*.jar build/java/peer.jar
program() {
	name=$1
	shift
	sh scripts/java_launcher.sh "build/$name" "build/java/peer.jar:build/java/lib/*" io.trunkcall.peer.Main "$@"
}
program peer-java
# A heap that grows as it is needed, so that what a test makes a program hold is seen from outside.
program peer-java-tested -Xms16m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
	'-XX:SharedArchiveFile="$root/build/java/tested.jsa"' -Xlog:cds=off
sh java/archive.sh || echo "build/peer-java-tested starts slowly: java/archive.sh has failed" >&2
