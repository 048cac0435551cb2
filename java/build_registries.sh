#!/bin/sh
# Builds build/peer-java-registries: the reference program with etcd, ZooKeeper and Consul as registries, which runs what
# lies in build/java/registries. It starts as build/peer-java-tested does (tested.sh).
set -eu
cd "$(dirname "$0")/.."
rm -rf build/java/registries.new
mvn -q -B -f java -pl registries -am package -Dmaven.test.skip=true
rm -rf build/java/registries build/java/lib.new
mv build/java/registries.new build/java/registries
sh java/tested.sh peer-java-registries "build/java/registries/*"
