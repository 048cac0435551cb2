#!/bin/sh
# Generates go/gen from spec/proto. With -check nothing is written, and the exit
# status tells whether the tree is up to date.
set -eu
cd "$(dirname "$0")"
exec go run ./protogen -proto ../../spec/proto -out .. "$@"
