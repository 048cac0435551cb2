#!/bin/sh
# Measures what the lab does not: time and allocated bytes of a call in the wire's own code (JMH), and start-up time and
# memory of an idle client and server beside grpc-java's. A few minutes; words behind it go to JMH (-h tells which).
set -eu
cd "$(dirname "$0")/.."
if [ $# -eq 0 ]; then
	set -- -f 1 -wi 5 -w 2 -i 5 -r 2
fi
mvn -q -B -f java -P jmh -pl jmh -am package -DskipTests
"${JAVA:-java}" -cp "java/jmh/target/classes:java/jmh/target/lib/*" org.openjdk.jmh.Main -prof gc "$@"
"${PYTHON:-python3}" java/startup.py
