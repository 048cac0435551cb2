"""Breakers, and endpoints that are left out (policy.md 10 and 11)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from .attempts import NOT_SENT, REFUSED, Ended
from .numbers import Clock, Random, Window, part
from .rules import CANCELLED, DEADLINE_EXCEEDED, BreakerRules, OutlierRules, TripRules


class Outcome(Enum):
    """What an end means for a breaker or an endpoint."""

    NEITHER = auto()
    SUCCESS = auto()
    FAILURE = auto()


def judged(rules: TripRules, end: Ended) -> Outcome:
    """How an attempt ended for a breaker or an endpoint (policy.md 10)."""
    late = end.code == DEADLINE_EXCEEDED and end.left * 2 < end.time
    if end.delivery == NOT_SENT or end.code == CANCELLED or late:
        return Outcome.NEITHER
    if end.code in rules.codes:
        return Outcome.FAILURE
    refused_for_good = end.delivery == REFUSED and end.retry_after == 0
    return Outcome.NEITHER if refused_for_good else Outcome.SUCCESS


class Trip:
    """Counts successes and failures, and says when the failures are too many. While `row` is 0, all that a success does
    is to count among `ends`."""

    def __init__(self, rules: TripRules) -> None:
        self._rules = rules
        self.row = 0  # failures since the last success
        self.ends = Window(rules.window)
        self._failures = Window(rules.window)

    def clear(self) -> None:
        self.row = 0
        self.ends.clear()
        self._failures.clear()

    def ended(self, now: int, outcome: Outcome) -> bool:
        """Counts an end, and says whether there are too many failures."""
        if outcome is Outcome.NEITHER:
            return False
        self.ends.add(now, 1)
        if outcome is Outcome.SUCCESS:
            self.row = 0
            return False
        self._failures.add(now, 1)
        self.row += 1
        rules = self._rules
        if rules.consecutive and self.row >= rules.consecutive:
            return True
        ends = self.ends.sum(now)
        return bool(rules.percent) and ends >= rules.calls and self._failures.sum(now) * 100 >= rules.percent * ends


class BreakerState(Enum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Breaker:
    """Decides whether attempts of a method are made (policy.md 10)."""

    def __init__(self, rules: BreakerRules) -> None:
        self._rules = rules
        self.state = BreakerState.CLOSED  # at the last event
        self._number = 1  # of the state
        self.closed = 1  # that number while the state is CLOSED, where `ask` gives it; else 0
        self._until = 0  # the end of OPEN; of HALF_OPEN when other probes are allowed
        self.trip = Trip(rules)
        self._probes = 0  # allowed in this state
        self._successes = 0  # of these
        self._clock = Clock()

    def ask(self, now: int) -> tuple[int | None, int]:
        """The number to tell the end of an attempt with that may be made; or None, and the time until it may be asked
        again."""
        now = self._clock.at(now)
        if self.state is BreakerState.CLOSED:
            return self._number, 0
        if now >= self._until:
            self._become(BreakerState.HALF_OPEN, now + self._rules.open)
        if self.state is BreakerState.HALF_OPEN and self._probes < self._rules.probes:
            self._probes += 1
            return self._number, 0
        return None, self._until - now

    def ended(self, now: int, number: int, outcome: Outcome, random: Random) -> None:
        """Tells how an attempt ended that was allowed with a number. Draws one if the breaker opens."""
        now = self._clock.at(now)
        if number != self._number or self.state is BreakerState.OPEN:
            return
        if self.state is BreakerState.CLOSED:
            if self.trip.ended(now, outcome):
                self._open(now, random)
        elif outcome is Outcome.FAILURE:
            self._open(now, random)
        elif outcome is Outcome.NEITHER:
            self._probes -= 1
        else:
            self._successes += 1
            if self._successes == self._rules.probes:
                self._become(BreakerState.CLOSED, 0)

    def _open(self, now: int, random: Random) -> None:
        self._become(BreakerState.OPEN, now + self._rules.open + part(self._rules.open // 5, random))

    def _become(self, state: BreakerState, until: int) -> None:
        self.state, self._until, self._probes, self._successes = state, until, 0, 0
        self._number += 1
        self.closed = self._number if state is BreakerState.CLOSED else 0
        self.trip.clear()


class _Known:
    """What is known of an endpoint."""

    def __init__(self, rules: TripRules) -> None:
        self.trip = Trip(rules)
        self.until = 0  # ejected before; 0: never was
        self.times = 0


class Outliers:
    """Decides which endpoints are left out (policy.md 11)."""

    def __init__(self, rules: OutlierRules) -> None:
        self._rules = rules
        self._known: dict[str, _Known] = {}  # in order
        self._clock = Clock()

    def endpoints(self, now: int, ids: Sequence[str]) -> None:
        """Tells which endpoints there are, by their identities, of which none comes twice."""
        self._clock.at(now)
        self._known = {one: self._known.get(one) or _Known(self._rules) for one in ids}

    def ejected(self, now: int) -> list[str]:
        """The endpoints that are left out, in order."""
        now = self._clock.at(now)
        return [one for one, known in self._known.items() if now < known.until]

    def ended(self, now: int, endpoint: str, outcome: Outcome, random: Random) -> int | None:
        """Tells how an attempt at an endpoint ended. If that ejects it, gives until when, and has drawn a number."""
        now = self._clock.at(now)
        known = self._known.get(endpoint)
        if known is None or now < known.until or not known.trip.ended(now, outcome):
            return None
        rules, n, ejected = self._rules, len(self._known), len(self.ejected(now))
        if ejected >= max(1, n * rules.cap // 100) or ejected >= n - 1:
            return None
        back = now - known.until if known.times else 0
        known.times = max(0, known.times - back // rules.eject) + 1
        lasts = min(rules.max_eject, rules.eject * known.times)
        known.until = now + lasts + part(lasts // 5, random)
        known.trip.clear()
        return known.until
