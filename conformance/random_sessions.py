#!/usr/bin/env python3
"""Joins a session in Go with one in Python and has both users act at random; then has both read mutated input.

    python -m conformance.random_sessions                    so many of each, from the fixed seed and from a random one
    python -m conformance.random_sessions --seed 7 --sessions 1
    python -m conformance.random_sessions --seed 7 --sessions 1 --mutations 0

A session is decided by its seed. Of one that breaks a law the seed is printed, and what the users did when as little as
possible is left of it.
"""

from __future__ import annotations

import argparse
import dataclasses
import secrets
import sys
import time

from .sessions.go_side import GoSide
from .sessions.mutation import Mutations
from .sessions.play import ACTIONS, Plan, Play, Side, plan
from .sessions.python_side import PythonSide

FIXED_SEED = 20_261_121


class Runner:
    """Plays sessions and makes those that fail smaller."""

    def __init__(self) -> None:
        self.go = GoSide()

    def sides(self, seed: int) -> tuple[Side, Side]:
        """Go opens the connections of odd seeds."""
        return (self.go, PythonSide()) if seed % 2 else (PythonSide(), self.go)

    def play(self, made: Plan) -> tuple[list[str], Play]:
        play = Play(made, self.sides(made.seed))
        try:
            return play.run(), play
        except (ValueError, AssertionError, LookupError, AttributeError, TypeError) as error:
            return [f"Python raised {error!r}"], play

    def session(self, seed: int) -> str:
        """What is wrong with the session of a seed; empty: nothing."""
        made = plan(seed)
        faults, _ = self.play(made)
        if not faults:
            return ""
        smallest = self.shrink(made)
        faults, play = self.play(smallest)
        lines = [f"seed {seed}:", *(f"  {fault}" for fault in faults), "  what was done, by round:"]
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


def run(seed: int, sessions: int, mutations: int) -> int:
    """Plays the sessions from `seed` on; the number of those that failed."""
    runner = Runner()
    mutated = Mutations()
    failed = 0
    try:
        for one in range(seed, seed + sessions):
            faults = runner.session(one)
            for number in range(mutations):
                faults = faults or mutated.compare(one, number)
            if faults:
                failed += 1
                print(faults, flush=True)
            if failed == 5:
                break
    finally:
        runner.go.close()
        mutated.close()
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="of the first session; without it a fixed one, and a random one")
    parser.add_argument("--sessions", type=int, default=1_000, help="from each seed")
    parser.add_argument("--mutations", type=int, default=2, help="of the input of each session")
    options = parser.parse_args()
    seeds = [FIXED_SEED, secrets.randbelow(1 << 40)] if options.seed is None else [options.seed]
    began = time.process_time()
    failed = 0
    for seed in seeds:
        failed += run(seed, options.sessions, options.mutations)
        print(f"seeds {seed} to {seed + options.sessions - 1}: {options.mutations} mutations of each, {failed} failed")
    print(f"{time.process_time() - began:.0f} s of CPU in Python")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
