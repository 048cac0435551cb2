#!/bin/sh
# Builds the peers in Java into build/peers.
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
