"""Names what the languages miss on this machine: the second half of prerequisites.sh."""

from __future__ import annotations

import argparse
import sys

from harness.languages import languages, named
from harness.prerequisites import missing
from harness.tables import Wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", action="store_true", help="what only tests need, too")
    parser.add_argument("names", nargs="*", metavar="LANGUAGE", help="all unless given")
    options = parser.parse_args()
    try:
        # One that is optional is left out, unless it was asked for.
        chosen = [named(name) for name in options.names] or [one for one in languages().values() if not one.optional]
    except Wrong as wrong:
        print(wrong, file=sys.stderr)
        return 2
    found = list(dict.fromkeys(line for language in chosen for line in missing(language, options.tests)))
    if found:
        print("missing on this machine:", *found, sep="\n  ", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
