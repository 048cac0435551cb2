#!/bin/sh
# Builds the reference program: build/peer-java, which runs what lies in build/java.
set -eu
cd "$(dirname "$0")/.."
rm -rf build/java/lib.new
mvn -q -B -f java -pl peer -am package -DskipTests
rm -rf build/java/lib
mv build/java/lib.new build/java/lib
cp java/peer/target/trunkcall-peer-*.jar build/java/peer.jar
sh scripts/java_launcher.sh build/peer-java "build/java/peer.jar:build/java/lib/*" io.trunkcall.peer.Main
