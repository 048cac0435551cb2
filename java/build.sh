#!/bin/sh
# Builds the reference program: build/peer-java, which runs what lies in build/java, and build/peer-java-tested, which tests
# start instead (tested.sh).
set -eu
cd "$(dirname "$0")/.."
rm -rf build/java/lib.new
mvn -q -B -f java -pl peer -am package -Dmaven.test.skip=true
rm -rf build/java/lib
mv build/java/lib.new build/java/lib
cp java/peer/target/trunkcall-peer-*.jar build/java/peer.jar
classpath="build/java/peer.jar:build/java/lib/*"
sh scripts/java_launcher.sh build/peer-java "$classpath" io.trunkcall.peer.Main
sh java/tested.sh peer-java-tested "$classpath"
