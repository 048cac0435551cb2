#!/bin/sh
# Names what is missing on this machine, with the version needed; prints nothing when all is there.
#   prerequisites.sh              what building, running and measuring need
#   prerequisites.sh --tests      and what only tests need
#   prerequisites.sh go …         of these languages only
# The project's own scripts are in Python, whatever else is there: it comes first. The languages' files have the rest.
cd "$(dirname "$0")/.." || exit 1
PYTHON=${PYTHON:-python3}
missing=
if ! command -v "$PYTHON" >/dev/null; then
	missing="the command $PYTHON is not there"
elif ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
	missing="$PYTHON is $("$PYTHON" --version 2>&1)"
fi
if [ -n "$missing" ]; then
	printf 'missing on this machine:\n  Python 3.11 or later: %s\n' "$missing" >&2
	exit 1
fi
exec "$PYTHON" -m scripts.prerequisites "$@"
