#!/bin/sh
# Builds the session program: build/session-java, which runs what lies in build/java/session. It is among the tests of
# the wire, whose inside it looks into.
set -eu
cd "$(dirname "$0")/.."
rm -rf build/java/session.new
mvn -q -B -f java -pl trunkcall test-compile dependency:copy-dependencies -DincludeScope=test \
    -DoutputDirectory="$PWD/build/java/session.new/lib"
cp -R java/trunkcall/target/classes java/trunkcall/target/test-classes build/java/session.new/
rm -rf build/java/session
mv build/java/session.new build/java/session
within=build/java/session
sh scripts/java_launcher.sh build/session-java "$within/classes:$within/test-classes:$within/lib/*" \
    io.trunkcall.internal.wire.RandomSession
