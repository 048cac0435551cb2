#!/bin/sh
# gofmt of the Go that GO names, which need not be the one that is found first.
set -eu
exec "$("${GO:-go}" env GOROOT)/bin/gofmt" "$@"
