#!/bin/sh
# Builds the examples that the tests and `make run` start: build/examples/java/NAME, which runs what lies in
# build/java/examples.
set -eu
cd "$(dirname "$0")/.."
mvn -q -B -f java -pl :quickstart,:annotations,:production -am package -Dmaven.test.skip=true
rm -rf build/java/examples.new
for one in quickstart annotations production; do
	mkdir -p "build/java/examples.new/$one"
	cp examples/java/$one/target/$one-*.jar "build/java/examples.new/$one/"
	cp examples/java/$one/target/lib/*.jar "build/java/examples.new/$one/"
done
rm -rf build/java/examples
mv build/java/examples.new build/java/examples
launcher() { # NAME FOLDER CLASS
	sh scripts/java_launcher.sh "build/examples/java/$1" "build/java/examples/$2/*" "io.trunkcall.examples.$2.$3"
}
launcher quickstart quickstart Quickstart
launcher annotations annotations Annotations
launcher server production ServerMain
launcher client production ClientMain
