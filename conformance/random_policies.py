#!/usr/bin/env python3
"""Has two languages read random policy files, and decide by random events, and compares what they make of them.

    python -m conformance.random_policies                    so many cases, from the fixed seed and from a random one
    python -m conformance.random_policies --pair go,python --seed 7 --cases 1

Without --pair every language is compared with each that it meets. A case is decided by its seed. Of one of which two
languages make something else the seed is printed, and the case, its events cut off behind the first difference.
"""

from __future__ import annotations

import argparse
import json
import random
import secrets
import subprocess
import sys
from typing import Any

from harness.languages import Words, named
from harness.prerequisites import pairs_here

from .policies.files import FileMaker
from .policies.sequences import SequenceMaker

FIXED_SEED = 1
TOLD = 5  # differences that are told
PATIENCE = 600  # seconds that a program has for all its cases

Case = dict[str, Any]


def made(seed: int) -> Case:
    """The case of a seed: every other one is a file."""
    draw = random.Random(seed)
    return FileMaker(draw).case() if seed % 2 else SequenceMaker(draw).case()


def outcomes(program: Words, cases: list[Case]) -> list[Any]:
    """What a program makes of cases. Raises Ended."""
    given = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(program, input=given, capture_output=True, encoding="utf-8", timeout=PATIENCE)
    told = [json.loads(line) for line in done.stdout.split("\n") if line]
    if done.returncode != 0 or len(told) != len(cases):
        raise Ended(f"{program[0]} has ended with {done.returncode} at case {len(told)}: {done.stderr[-2000:]}")
    return told


class Ended(Exception):
    """A program has ended before it had carried out all cases."""


def difference(case: Case, one: Any, other: Any) -> str:
    """What differs in two outcomes of a case; empty: nothing."""
    if one == other:
        return ""
    if "steps" not in case:
        return f"{bytes.fromhex(case['file'])!r}\n  {json.dumps(one)}\n  {json.dumps(other)}"
    pairs = list(zip(one["decisions"], other["decisions"], strict=True))
    first = next(n for n, (a, b) in enumerate(pairs) if a != b)
    short = case | {"steps": case["steps"][: first + 1]}
    return f"{json.dumps(short)}\n  {json.dumps(pairs[first][0])}\n  {json.dumps(pairs[first][1])}"


def compare(first: Words, second: Words, seed: int, cases: int) -> int:
    """Compares the cases from `seed` on, and tells what differs; the number of those that do."""
    given = [made(one) for one in range(seed, seed + cases)]
    found = 0
    for number, (case, one, other) in enumerate(
        zip(given, outcomes(first, given), outcomes(second, given), strict=True)
    ):
        differs = difference(case, one, other)
        found += bool(differs)
        if differs and found <= TOLD:
            print(f"seed {seed + number}: {differs}", flush=True)
    return found


def joined() -> list[tuple[str, str]]:
    """Those that meet, of the languages that have the program, each two once."""
    met = [(a.key, b.key) for a, b in pairs_here() if a.peer.policies and b.peer.policies and a is not b]
    return [(one, other) for n, (one, other) in enumerate(met) if (other, one) not in met[:n]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pair", action="append", help="two languages, with a comma; may be repeated")
    parser.add_argument("--seed", type=int, help="of the first case; without it a fixed one, and a random one")
    parser.add_argument("--cases", type=int, default=10_000, help="from each seed")
    options = parser.parse_args()
    seeds = [FIXED_SEED, secrets.randbelow(1 << 40)] if options.seed is None else [options.seed]
    failed = 0
    for one, other in [tuple(pair.split(",", 1)) for pair in options.pair] if options.pair else joined():
        first, second = (named(key).words(named(key).peer.policies) for key in (one, other))
        for seed in seeds:
            try:
                differ = compare(first, second, seed, options.cases)
            except Ended as ended:
                differ = 1
                print(ended, flush=True)
            failed += differ
            print(f"{one} and {other}, seeds {seed} to {seed + options.cases - 1}: {differ} differ", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
