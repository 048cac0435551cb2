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
to=$1/io/trunkcall
mkdir -p "$to"
for one in "$own"/* "$own"/io/*; do
	case ${one#"$own"/} in
	io | io/trunkcall | '*' | 'io/*') ;;
	*) ln -s "$one" "$1/${one#"$own"/}" ;;
	esac
done
version=0.1.0-SNAPSHOT
put() { # NAME FILE KIND
	mkdir -p "$to/$1/$version"
	cp "$2" "$to/$1/$version/$1-$version.$3"
}
put trunkcall-parent java/pom.xml pom
put trunkcall java/trunkcall/pom.xml pom
put trunkcall "build/java/lib/trunkcall-$version.jar" jar
