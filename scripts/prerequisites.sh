#!/bin/sh
# Names what is missing on this machine, with the version needed; prints nothing when all is there.
#   prerequisites.sh        what building, running and measuring need
#   prerequisites.sh cc     and a C compiler, which Go's race detector needs
#   prerequisites.sh venv   and what makes Python's virtual environments
cd "$(dirname "$0")/.." || exit 1
GO=${GO:-go} PYTHON=${PYTHON:-python3}
missing=

need() { missing="$missing
  $1"; }
asked=" $* "
wants() { case $asked in *" $1 "*) ;; *) return 1 ;; esac }

wanted=$(sed -n 's/^go //p' go/go.mod)
if ! command -v "$GO" >/dev/null; then
	need "Go $wanted or later: the command $GO is not there"
elif ! has=$(cd go && "$GO" env GOVERSION 2>&1); then
	need "Go $wanted or later: $has"
elif ! printf 'go%s\n%s\n' "$wanted" "$has" | sort -C -V; then
	need "Go $wanted or later: $GO is $has"
fi

if ! command -v "$PYTHON" >/dev/null; then
	need "Python 3.11 or later: the command $PYTHON is not there"
elif ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
	need "Python 3.11 or later: $PYTHON is $("$PYTHON" --version 2>&1)"
elif wants venv && ! "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; then
	need "Python's modules venv and ensurepip (the package python3-venv on Debian and its like): $PYTHON has them not"
fi

if wants cc; then
	compiler=$("$GO" env CC 2>/dev/null)
	command -v "${compiler:-cc}" >/dev/null || need "a C compiler, for the race detector: the command ${compiler:-cc} is not there"
fi

[ -z "$missing" ] && exit 0
echo "missing on this machine:$missing" >&2
exit 1
