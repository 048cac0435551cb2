"""Runs every check and test of the project and counts them: what `make test` does.

    python3 -m scripts.test                   all, ends with the line "N passed, N failed"
    python3 -m scripts.test --only 'go '      those whose names begin so; several with commas
    python3 -m scripts.test --list            their names

A check counts as one. Of Go every test and subtest counts, of unittest every test, and each fuzz target as one. What
passes takes a line; what fails is printed in full.
"""

from __future__ import annotations

import argparse
import sys

from scripts.scheduler import run_all
from scripts.suites import FUZZTIME, suites


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="beginnings of names, separated by commas")
    parser.add_argument("--fuzztime", default="5s", help="how long each fuzz target runs: a time, or a number of runs such as 1000x")
    parser.add_argument("--list", action="store_true", help="print the names and run nothing")
    options = parser.parse_args()
    if not FUZZTIME.fullmatch(options.fuzztime):
        print(f"FUZZTIME={options.fuzztime}: want a time such as 60s or 10m, or a number of runs such as 1000x", file=sys.stderr)
        return 2
    wanted = tuple(options.only.split(","))
    chosen = [suite for suite in suites(options.fuzztime) if suite.name.startswith(wanted)]
    if options.list:
        print("\n".join(suite.name for suite in chosen))
        return 0
    if not chosen:
        print(f"nothing begins with {options.only!r}; see --list", file=sys.stderr)
        return 2
    return run_all(chosen)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
