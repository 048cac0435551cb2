#!/usr/bin/env python3
"""Joins the session programs of two languages and has both users act at random; then has both read mutated input.

    python -m conformance.random_sessions                    so many of each, from the fixed seed and from a random one
    python -m conformance.random_sessions --pair go,python --seed 7 --sessions 1
    python -m conformance.random_sessions --pair go,python --seed 7 --sessions 1 --mutations 0

Without --pair every language plays with each that it meets, so many sessions, and with itself, a quarter as many. A
session is decided by its pair and its seed. Of one that breaks a law the seed is printed, and what the users did when
as little as possible is left of it.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import secrets
import sys
from collections.abc import Callable

from harness.languages import named
from harness.prerequisites import pairs_here

from .sessions.mutation import Mutations
from .sessions.play import ACTIONS, Plan, Play, plan
from .sessions.side import Ended, Side

FIXED_SEED = 20_261_121
# How many sessions a language plays with others, for one that it plays with itself.
OTHERS = 4


class Runner:
    """Plays sessions between two sides and makes those that fail smaller."""

    def __init__(self, first: Side, second: Side) -> None:
        self.pair = first, second

    def play(self, made: Plan) -> tuple[list[str], Play | None]:
        """What is wrong with a session, and the session if it came to its end."""
        first, second = self.pair
        try:
            play = Play(made, (first, second) if made.seed % 2 else (second, first))
            return play.run(), play
        except Ended as ended:
            return [str(ended)], None

    def session(self, seed: int) -> str:
        """What is wrong with the session of a seed; empty: nothing."""
        made = plan(seed)
        faults, _ = self.play(made)
        if not faults:
            return ""
        smallest = self.shrink(made)
        faults, play = self.play(smallest)
        lines = [f"seed {seed}:", *(f"  {fault}" for fault in faults)]
        if play is not None:
            lines.append("  what was done, by round:")
            for side, name in zip(play.sides, ("initiator", "acceptor"), strict=True):
                lines += [f"    {name} ({side.language}), {line}" for line in side.ledger()["script"]]
        return "\n".join(lines)

    def fails(self, made: Plan) -> bool:
        return bool(self.play(made)[0])

    def shrink(self, made: Plan) -> Plan:
        """A plan that fails with less: fewer rounds, kinds of action, rounds in which a user acts."""
        low, high = 0, made.rounds
        while low < high:
            middle = (low + high) // 2
            if self.fails(dataclasses.replace(made, rounds=middle)):
                high = middle
            else:
                low = middle + 1
        if self.fails(smaller := dataclasses.replace(made, rounds=high)):
            made = smaller
        for action in ACTIONS:
            smaller = dataclasses.replace(made, disabled=made.disabled | {action})
            made = smaller if self.fails(smaller) else made
        for side in (0, 1):
            made = self._quieter(made, side)
        return made

    def _quieter(self, made: Plan, side: int) -> Plan:
        rounds = list(range(made.rounds))
        for size in (16, 8, 4, 2, 1):
            at = 0
            while at < len(rounds):
                fewer = rounds[:at] + rounds[at + size :]
                configs = list(made.configs)
                configs[side] = configs[side] | {"rounds": fewer}
                smaller = dataclasses.replace(made, configs=configs)
                if self.fails(smaller):
                    made, rounds = smaller, fewer
                else:
                    at += size
        return made


def run(first: Side, second: Side, seed: int, sessions: int, mutations: int) -> int:
    """Plays the sessions from `seed` on; the number of those that failed."""
    runner = Runner(first, second)
    mutated = Mutations(first, second)
    failed = 0
    for one in range(seed, seed + sessions):
        faults = runner.session(one)
        for number in range(mutations):
            faults = faults or told(lambda one=one, number=number: mutated.compare(one, number))  # type: ignore[misc]
        if faults:
            failed += 1
            print(faults, flush=True)
        if failed == 5:
            break
    return failed


def told(compare: Callable[[], str]) -> str:
    try:
        return compare()
    except Ended as ended:
        return str(ended)


def joined() -> list[tuple[str, str]]:
    """Those that meet, of the languages that have the program; either of a pair opens connections."""
    met = [(a.key, b.key) for a, b in pairs_here() if a.peer.session and b.peer.session]
    return [(one, other) for n, (one, other) in enumerate(met) if (other, one) not in met[:n]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pair", action="append", help="two languages, with a comma; may be repeated")
    parser.add_argument("--seed", type=int, help="of the first session; without it a fixed one, and a random one")
    parser.add_argument("--sessions", type=int, default=1_000, help="from each seed")
    parser.add_argument("--mutations", type=int, default=2, help="of the input of each session between two languages")
    options = parser.parse_args()
    seeds = [FIXED_SEED, secrets.randbelow(1 << 40)] if options.seed is None else [options.seed]
    chosen = [tuple(pair.split(",", 1)) for pair in options.pair] if options.pair else joined()
    failed = 0
    for one, other in chosen:
        sessions, mutations = options.sessions, options.mutations
        if one == other:
            sessions, mutations = (sessions if options.pair else -(-sessions // OTHERS)), 0
        with contextlib.ExitStack() as stack:
            first, second = (Side(key, named(key).words(named(key).peer.session)) for key in (one, other))
            for side in (first, second):
                stack.callback(side.close)
            for seed in seeds:
                wrong = run(first, second, seed, sessions, mutations)
                failed += wrong
                what = f"seeds {seed} to {seed + sessions - 1}: {mutations} mutations of each, {wrong} failed"
                print(f"{one} and {other}, {what}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
