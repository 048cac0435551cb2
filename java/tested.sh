#!/bin/sh
# Writes a reference program as tests start it: thousands of times, for a second each, so that what takes long to begin and
# pays later is left out.
#   tested.sh NAME CLASSPATH      build/NAME, and build/java/NAME.jsa, which it does without if that cannot be made
set -eu
cd "$(dirname "$0")/.."
name=$1 classpath=$2
program=build/$name
made=build/java/$name.jsa
rm -f "$made"
# A heap that grows as it is needed, so that what a test makes a program hold is seen from outside. Netty's events for the
# JDK's Flight Recorder, which no test looks at, are a fifth of what it takes to begin and make one call.
sh scripts/java_launcher.sh "$program" "$classpath" io.trunkcall.peer.Main \
	-Xms16m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dio.netty.jfr.enabled=false \
	"-XX:SharedArchiveFile=\"\$root/$made\"" -Xlog:cds=off

# The archive: the classes that the program loads to serve, to call and to put load on a server, as the JVM has them in
# memory. Reading and checking them again is most of what it does when it starts. A JVM of another kind, or a tree that
# was moved since, starts without it.
work=$(mktemp -d)
serves=
ended() {
	[ -z "$serves" ] || kill "$serves" 2>/dev/null || true
	rm -rf "$work"
	[ -f "$made" ] || echo "build/$name starts slowly: $made cannot be made" >&2
	exit 0
}
trap ended EXIT
listed() { # FILE COMMAND...
	file=$1
	shift
	JDK_JAVA_OPTIONS="-XX:DumpLoadedClassList=$work/$file" exec "$program" "$@"
}

printf 'policy: 1\ndefaults:\n  timeout: 1m\n...\n' >"$work/policy"
: >"$work/served"
listed serve serve --listen 127.0.0.1:0 --unix "$work/socket" --conformance --faults \
	--policy-file "$work/policy" --ledger "$work/ledger" >"$work/served" 2>&1 &
serves=$!
waited=0
until address=$(sed -n 's/^listening //p' "$work/served") && [ -n "$address" ]; do
	[ "$waited" -lt 300 ] && kill -0 "$serves" 2>/dev/null || exit 1
	sleep 0.1
	waited=$((waited + 1))
done
(listed call call --target "unix:$work/socket" trunkcall.example.v1.UserService/GetUser '{"user_id":"7"}') >"$work/called" 2>&1
(listed bench bench --target "$address" --async --mix Behave --behaviour '{}' --calls 10 --warmup 0s \
	--policy-file "$work/policy" --ledger "$work/called.ledger") >"$work/loaded" 2>&1
kill "$serves"
wait "$serves" || true
serves=
awk '!there[$0]++' "$work/serve" "$work/call" "$work/bench" >"$work/classes"
JDK_JAVA_OPTIONS="-Xshare:dump -XX:SharedClassListFile=$work/classes" "$program" version >"$work/dumped" 2>&1
