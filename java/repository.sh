#!/bin/sh
# Makes a repository for Maven in a folder: what the machine's own has, and what `mvn -f java install` puts there of
# trunkcall, from build/java. So projects that use it can be built without changing what other trees have installed.
#   repository.sh FOLDER
set -eu
cd "$(dirname "$0")/.."
own=${HOME:-}/.m2/repository
case ${MAVEN_OPTS:-} in
*-Dmaven.repo.local=*)
	own=${MAVEN_OPTS##*-Dmaven.repo.local=}
	own=${own%% *}
	;;
esac
mkdir -p "$1/io/trunkcall"
for one in "$own"/* "$own"/io/*; do
	case ${one#"$own"/} in
	io | io/trunkcall | '*' | 'io/*') ;;
	*) ln -s "$one" "$1/${one#"$own"/}" ;;
	esac
done
version=0.1.0-SNAPSHOT
for one in trunkcall-parent:java/pom.xml trunkcall:java/trunkcall/pom.xml trunkcall:build/java/lib/trunkcall-$version.jar; do
	name=${one%%:*} file=${one#*:}
	mkdir -p "$1/io/trunkcall/$name/$version"
	cp "$file" "$1/io/trunkcall/$name/$version/$name-$version.${file##*.}"
done
