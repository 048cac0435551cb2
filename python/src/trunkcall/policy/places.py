"""Which zone a call goes to, and faults for drills (policy.md 14 and 15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from .numbers import Random, part
from .rules import OK, FaultRules, ZoneRules


class Place(Enum):
    """The zones whose endpoints a call may go to."""

    ALL = "all"
    OWN = "own"
    OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Zoned:
    """What there is to choose among."""

    total: int  # endpoints in the client's zone
    available: int  # of those, ready and not ejected
    calls: int  # open there
    others: int  # endpoints that are available elsewhere


def pick_zone(rules: ZoneRules, there: Zoned, random: Random) -> Place:
    """The zone of a call. Draws a number where too few endpoints of the own zone are available."""
    if not there.available:
        return Place.ALL
    if not there.others:
        return Place.OWN
    if rules.overflow_calls and there.calls >= rules.overflow_calls * there.available:
        return Place.OTHERS
    if there.available * 100 >= rules.healthy * there.total:
        return Place.OWN
    return Place.OWN if part(rules.healthy * there.total, random) < there.available * 100 else Place.OTHERS


@dataclass(frozen=True, slots=True)
class Injected:
    """What faults for drills do to a call: it waits, in nanoseconds, and then ends with a code and the name of a fault;
    or, where that is OK, goes on."""

    delay: int
    code: int = OK
    name: str = ""


def inject(faults: Sequence[FaultRules], random: Random) -> Injected:
    """Draws the faults of a call, which are in the order of their names."""
    delay = 0
    for fault in faults:
        if part(1_000_000, random) >= fault.per_million:
            continue
        delay += fault.delay
        if fault.code != OK:
            return Injected(delay, fault.code, fault.name)
    return Injected(delay)
