#!/bin/sh
# Builds the session program and the one that plays policies: build/session-java and build/policyplay-java, which run what
# lies in build/java/session. They are among the tests of the layers whose inside they look into.
set -eu
cd "$(dirname "$0")/.."
rm -rf build/java/session.new
mvn -q -B -f java -pl trunkcall test-compile dependency:copy-dependencies -DincludeScope=test \
    -DoutputDirectory="$PWD/build/java/session.new/lib"
cp -R java/trunkcall/target/classes java/trunkcall/target/test-classes build/java/session.new/
rm -rf build/java/session
mv build/java/session.new build/java/session
within=build/java/session
for program in session:wire.RandomSession policyplay:policy.PolicyPlay; do
	sh scripts/java_launcher.sh "build/${program%%:*}-java" "$within/classes:$within/test-classes:$within/lib/*" \
	    "io.trunkcall.internal.${program#*:}"
done
