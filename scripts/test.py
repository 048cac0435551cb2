"""Runs every check and test of the project and counts them: what `make test` does.

    python3 -m scripts.test                   all, ends with the line "N passed, N failed"
    python3 -m scripts.test --only 'go '      those whose names begin so; several with commas
    python3 -m scripts.test --language go     those that concern this language alone; with --only perhaps none
    python3 -m scripts.test --starve 2        all, beside so many busy loops
    python3 -m scripts.test --again           suites that failed, if they are few, once more: the second time counts
    python3 -m scripts.test --fuzz 60s        no tests: each fuzz target for so long
    python3 -m scripts.test --list            their names

What passes takes a line; what fails is printed in full. A table by language tells how many behaviours there are, how
often they were executed, what was skipped and why, and what was tried more than once. scripts/counting.py says what is
counted how.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import os
import re
import sys
import traceback
from pathlib import Path

from harness import interrupts
from harness.durations import seconds
from harness.languages import named
from harness.tables import Wrong
from scripts import commands, reporting, scheduler, suites

STARVED_PATIENCE = 4.0  # beside busy loops, suites may take so many times as long


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="beginnings of names, separated by commas")
    parser.add_argument("--language", metavar="KEY", help="those that concern it alone")
    parser.add_argument("--starve", nargs="?", type=int, const=scheduler.processors(), default=0, metavar="LOOPS", help="keep processors busy, all by default")
    parser.add_argument("--again", action="store_true", help="carry out what failed once more; what failed is shown, and counted as tried again")
    parser.add_argument("--fuzz", metavar="FUZZTIME", help="how long each fuzz target runs: a time, or a number of runs such as 1000x")
    parser.add_argument("--figures", type=Path, help="keep the figures for scripts.costs there, not those of whole runs in build/test.json")
    parser.add_argument("--list", action="store_true", help="print the names and run nothing")
    options = parser.parse_args()
    if options.fuzz is not None and not fuzztime(options.fuzz):
        print(f"FUZZTIME={options.fuzz}: want a time such as 60s or 10m, or a number of runs such as 1000x", file=sys.stderr)
        return 2
    if options.starve < 0:
        print(f"STARVE={options.starve}: want a number of busy loops", file=sys.stderr)
        return 2
    there = suites.suites() if options.fuzz is None else suites.fuzz_targets(options.fuzz)
    beginnings = tuple(options.only.split(",")) if options.only else ()
    if useless := [one for one in beginnings if not one or not any(suite.name.startswith(one) for suite in there)]:
        print(f"nothing begins with {' or '.join(map(repr, useless))}; see --list", file=sys.stderr)
        return 2
    chosen = [suite for suite in there if suite.name.startswith(beginnings)] if beginnings else there
    if options.language:
        try:
            language = named(options.language).name
        except Wrong as wrong:
            print(wrong, file=sys.stderr)
            return 2
        chosen = [suite for suite in chosen if suite.language == language]
        if not chosen:
            print(f"{language} has no such suite", file=sys.stderr)
            return 0 if beginnings else 2
    if options.list:
        print("\n".join(suite.name for suite in chosen))
        return 0
    whole = chosen == there and options.fuzz is None and not options.starve
    return run(chosen, options.starve, options.figures or (reporting.FIGURES if whole else None), again=options.again)


def fuzztime(text: str) -> bool:
    """Whether it says how long a fuzz target runs: a time, or a number of runs. Above 0, which would be without end."""
    if re.fullmatch(r"0*[1-9]\d*x", text):
        return True
    try:
        return seconds(text) > 0
    except ValueError:
        return False


def run(chosen: list[scheduler.Suite], starve: int, figures: Path | None, *, again: bool = False) -> int:
    """Whatever happens, every command is ended, and the last line printed is a total."""
    patience = STARVED_PATIENCE if starve else 1.0
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # what tests print may have any character
    suites.expect(chosen)
    interrupts.install()
    try:
        with scheduler.starved(starve):
            runs = scheduler.outcomes(chosen, patience=patience)
            once_more = functools.partial(scheduler.again, patience=patience) if again else None
            return 1 if reporting.show(runs, figures, once_more) else 0
    except interrupts.Interrupted as interrupted:
        commands.end_all()
        last_words("")
        return 128 + interrupted.signum
    except Exception:  # such as nobody who reads what is printed
        commands.end_all()
        last_words(traceback.format_exc())
        return 1


def last_words(why: str) -> None:
    """Why no suite runs any more, and a total that is no success."""
    with contextlib.suppress(OSError):
        print(why, end="", file=sys.stderr, flush=True)
    try:
        print("0 passed, 1 failed", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is not tried again at the exit


if __name__ == "__main__":
    sys.exit(main())
