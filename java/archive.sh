#!/bin/sh
# Makes build/java/tested.jsa: the classes that build/peer-java-tested loads to serve and to call, as the JVM has them in
# memory. Reading and checking them again is most of what it does when it starts. A JVM of another kind, or a tree that
# was moved since, starts without it.
set -eu
cd "$(dirname "$0")/.."
made=build/java/tested.jsa
rm -f "$made"
work=$(mktemp -d)
serves=
trap '[ -z "$serves" ] || kill "$serves" 2>/dev/null || true; rm -rf "$work"' EXIT

JDK_JAVA_OPTIONS="-XX:DumpLoadedClassList=$work/serve" \
	build/peer-java-tested serve --unix "$work/socket" --conformance --faults >"$work/served" 2>&1 &
serves=$!
waited=0
until [ -S "$work/socket" ]; do
	[ "$waited" -lt 300 ] && kill -0 "$serves"
	sleep 0.1
	waited=$((waited + 1))
done
JDK_JAVA_OPTIONS="-XX:DumpLoadedClassList=$work/call" build/peer-java-tested call --target "unix:$work/socket" \
	trunkcall.example.v1.UserService/GetUser '{"user_id":"7"}' >"$work/called" 2>&1
kill "$serves"
wait "$serves" || true
serves=
awk '!there[$0]++' "$work/serve" "$work/call" >"$work/classes"
JDK_JAVA_OPTIONS="-Xshare:dump -XX:SharedClassListFile=$work/classes" build/peer-java-tested version >"$work/dumped" 2>&1
[ -f "$made" ]
