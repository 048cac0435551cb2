"""The rules of the proxy: what becomes of the bytes of each connection.

A rule is a line, `CONNECTIONS DIRECTION: STEP; STEP; …`. Connections are numbered from 0 in the order in which they
were accepted: `*`, `3`, `3-7` or `3-`. The direction is `up` (from the client), `down` or `both`. Of several rules for
the same the last one counts; without one everything passes. `#` begins a comment.

Steps are taken one after the other; after the last, all passes.

    pass [N | N-M]    N bytes pass, or as many as are drawn between two numbers, or all
    swallow [N | N-M] likewise, but they are lost; the end of the input, too
    stall TIME        nothing is read for a time
    slice N           from now on, bytes are written N at a time
    delay TIME        from now on, what was read is written a time later, in order: a way that is that long
    jitter TIME       likewise, up to that time more, drawn anew for what is read at once
    throttle N        from now on, at most N bytes a second
    end               this direction ends in order (half-close); what still comes is lost
    close             both directions end in order
    reset             the connection is reset, to both sides

What is still on its way arrives before a stall or an end. Times are `20ms` or `1.5s`. An example: the first connection
is reset when 100 bytes came from the client, later ones lose every answer.

    0 up: pass 100; reset
    1- down: swallow
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

UP, DOWN = "up", "down"
DIRECTIONS = {"up": (UP,), "down": (DOWN,), "both": (UP, DOWN)}

AMOUNTS = ("pass", "swallow")
SIZES = ("slice", "throttle")
TIMES = ("stall", "delay", "jitter")
ENDS = ("end", "close", "reset")


@dataclass(frozen=True)
class Step:
    """One step. `least` and `most` are bytes, `most` None for all of them; `seconds` is a time."""

    kind: str
    least: int = 0
    most: int | None = None
    seconds: float = 0.0

    def amount(self, draw: random.Random) -> int | None:
        """How many bytes this step is for, None for all."""
        return None if self.most is None else draw.randint(self.least, self.most)


@dataclass(frozen=True)
class Rule:
    first: int
    last: int | None  # None: and all that follow
    directions: tuple[str, ...]
    steps: tuple[Step, ...]

    def fits(self, connection: int, direction: str) -> bool:
        return (
            direction in self.directions and self.first <= connection and (self.last is None or connection <= self.last)
        )


# The steps of a connection, by its number, and direction.
Plan = Callable[[int, str], Sequence[Step]]


class RuleError(ValueError):
    """A rule that cannot be read; the text says why."""


def parse(text: str) -> Plan:
    """The plan that rules make. Raises RuleError."""
    rules: list[Rule] = []
    for line in text.splitlines():
        if line := line.partition("#")[0].strip():
            rules.append(parse_rule(line))

    def plan(connection: int, direction: str) -> Sequence[Step]:
        fitting = [rule.steps for rule in rules if rule.fits(connection, direction)]
        return fitting[-1] if fitting else ()

    return plan


def parse_rule(line: str) -> Rule:
    found = re.fullmatch(r"(\*|(\d+)(-)?(\d+)?)\s+(up|down|both)\s*:(.*)", line)
    if not found or found[4] and not found[3]:
        raise RuleError(f"{line!r}: want CONNECTIONS up|down|both: STEP; …")
    first = int(found[2] or 0)
    last = None if found[1] == "*" or found[3] and not found[4] else int(found[4] or first)
    steps = tuple(parse_step(words) for part in found[6].split(";") if (words := part.split()))
    return Rule(first, last, DIRECTIONS[found[5]], steps)


def parse_step(words: list[str]) -> Step:
    match words:
        case [kind] if kind in AMOUNTS or kind in ENDS:
            return Step(kind)
        case [kind, amount] if kind in AMOUNTS:
            least, most = parse_range(amount)
            return Step(kind, least, most)
        case [kind, size] if kind in SIZES and size.isdecimal() and int(size) > 0:
            return Step(kind, int(size), int(size))
        case [kind, time] if kind in TIMES:
            return Step(kind, seconds=parse_time(time))
        case _:
            raise RuleError(f"there is no step {' '.join(words)!r}")


def parse_range(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if not found or int(found[2] or found[1]) < int(found[1]):
        raise RuleError(f"{text!r}: want a number of bytes, or two as in 10-20")
    return int(found[1]), int(found[2] or found[1])


def parse_time(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s)", text)
    if not found:
        raise RuleError(f"{text!r}: want a time such as 20ms or 1.5s")
    return float(found[1]) / (1000 if found[2] == "ms" else 1)
