#!/bin/sh
# Builds the examples that the tests and `make run` start: build/examples/java/NAME, which runs what lies in
# build/java/examples.
set -eu
cd "$(dirname "$0")/.."
mvn -q -B -f java -pl :quickstart,:annotations,:production,:discovery -am package -Dmaven.test.skip=true
rm -rf build/java/examples.new
for one in quickstart annotations production discovery; do
	mkdir -p "build/java/examples.new/$one"
	cp examples/java/$one/target/$one-*.jar "build/java/examples.new/$one/"
	cp examples/java/$one/target/lib/*.jar "build/java/examples.new/$one/"
done
rm -rf build/java/examples
mv build/java/examples.new build/java/examples
launcher() { # NAME FOLDER CLASS [OPTION...]
	name=$1 folder=$2 class=$3
	shift 3
	sh scripts/java_launcher.sh "build/examples/java/$name" "build/java/examples/$folder/*" "io.trunkcall.examples.$folder.$class" "$@"
}
launcher quickstart quickstart Quickstart
launcher annotations annotations Annotations
launcher server production ServerMain
launcher client production ClientMain
# Several at once, for some seconds.
launcher discovery discovery Discovery -Xms16m -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1
