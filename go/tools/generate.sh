#!/bin/sh
# Generates go/gen from spec/proto, and the code of the schema that package capnp is
# tested with. With -check nothing is written, and the exit status tells whether the
# tree is up to date.
set -eu
cd "$(dirname "$0")"
go run ./protogen -proto ../../spec/proto -out .. "$@"
exec go run ./capnpgen "$@" -module .. ../capnp/internal/library
