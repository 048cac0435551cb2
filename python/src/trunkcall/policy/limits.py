"""Limits of how many calls begin in a time, and run at once (policy.md 12 and 13)."""

from __future__ import annotations

from enum import Enum, auto
from math import isqrt

from .attempts import NOT_SENT, REFUSED, Ended
from .numbers import LONGEST, Clock, Random, part
from .rules import (
    CANCELLED,
    DEADLINE_EXCEEDED,
    RESOURCE_EXHAUSTED,
    UNAVAILABLE,
    AdaptiveRules,
    ConcurrencyRules,
    Priority,
    RateRules,
    share,
)

_BILLION = 1_000_000_000  # units of a bucket that a call takes
_MAX_SAMPLES = 10_000  # of a window that are summed


class Rate:
    """Bounds how many calls begin in a time (policy.md 12). The bucket is full at first."""

    def __init__(self, rules: RateRules) -> None:
        self._rate = rules.per_second
        self._full = self._level = rules.burst * _BILLION
        shares = [share(rules.shares, rules.burst, priority) for priority in Priority]
        self._kept = [(rules.burst - one) * _BILLION for one in shares]  # from each priority
        self._clock = Clock()

    def take(self, now: int, priority: Priority) -> int:
        """0 if a call may begin, else how many nanoseconds to wait before one may."""
        clock, level = self._clock, self._level
        if now > clock.last:
            level += (now - clock.last) * self._rate
            clock.last = now
            if level > self._full:
                level = self._full
        missing = _BILLION + self._kept[priority] - level
        if missing > 0:
            self._level = level
            return -(-missing // self._rate)
        self._level = level - _BILLION
        return 0


class Sample(Enum):
    """What the end of a call says of the limit that it was under."""

    NONE = auto()
    MEASURED = auto()
    OVERLOAD = auto()


def sample_of(end: Ended) -> Sample:
    """How a call ended for the limit that it was under (policy.md 13)."""
    if end.delivery == NOT_SENT or end.code == CANCELLED:
        return Sample.NONE
    if end.code in (RESOURCE_EXHAUSTED, UNAVAILABLE, DEADLINE_EXCEEDED):
        return Sample.OVERLOAD
    return Sample.NONE if end.delivery == REFUSED else Sample.MEASURED  # if no handler ran, it says nothing of capacity


def of_stream(sample: Sample) -> Sample:
    """What the sample of a stream counts as: how long it stays open says nothing of capacity."""
    return Sample.NONE if sample is Sample.MEASURED else sample


class Concurrency:
    """Bounds how many calls run at once (policy.md 13)."""

    def __init__(self, rules: ConcurrencyRules) -> None:
        self._rules = rules
        self._calls = 0
        self.limit = (rules.adaptive.start if rules.adaptive else rules.limit) * 1_000  # thousandths
        self._fixed = None if rules.adaptive else [share(rules.shares, rules.limit, one) for one in Priority]
        self._clock = Clock()
        # Of an adaptive limit:
        self._base = 0  # the duration of a call without a queue; 0: not measured yet
        self._measuring = rules.adaptive is not None
        self._since = 0  # it measures
        self._again = 0  # when it is to measure again
        self._peak = 0
        self._clear()

    def _clear(self) -> None:
        """Begins another window."""
        self._begin: int | None = None
        self._sum = self._count = self._overloads = 0
        self._peak = self._calls

    def enter(self, now: int, priority: Priority) -> bool:
        """Whether a call may run. If so, `leave` is to be told of its end."""
        clock, fixed = self._clock, self._fixed
        if now > clock.last:
            clock.last = now
        most = share(self._rules.shares, self._in_force(), priority) if fixed is None else fixed[priority]
        if self._calls >= most:
            return False
        self._calls += 1
        if self._calls > self._peak:
            self._peak = self._calls
        return True

    def _in_force(self) -> int:
        adaptive = self._rules.adaptive
        if adaptive and self._measuring and self._base:
            return max(adaptive.least * 1_000, self.limit // 2) // 1_000
        return self.limit // 1_000

    def leave(self, now: int, took: int, sample: Sample, random: Random) -> None:
        """Tells that a call has ended, and after how long. Draws a number where a measurement ends."""
        self._calls -= 1
        adaptive, clock = self._rules.adaptive, self._clock
        if now > clock.last:
            clock.last = now
        if adaptive is None:
            return
        now = clock.last
        took = min(max(took, 0), LONGEST)
        if sample is Sample.NONE or self._measuring and now - took < self._since:
            return
        if self._begin is None:
            self._begin = now
        if sample is Sample.OVERLOAD:
            self._overloads += 1
        elif self._count < _MAX_SAMPLES:
            self._sum += took
            self._count += 1
        if now >= self._begin + adaptive.window and self._count + self._overloads >= adaptive.samples:
            self._adapt(adaptive, now, random)

    def _adapt(self, rules: AdaptiveRules, now: int, random: Random) -> None:
        """Closes the window."""
        short = max(1, self._sum // max(1, self._count))
        if self._overloads * 10 >= self._count + self._overloads:
            self.limit = self.limit * 9 // 10
        elif self._measuring:
            self._base, self._measuring = short, False
            self._again = now + rules.remeasure + part(rules.remeasure // 5, random)
        else:
            gradient = min(max(self._base * rules.tolerance * 10 // short, 500), 1_000)
            target = self.limit * gradient // 1_000 + 1_000 * isqrt(self.limit // 1_000)
            if target > self.limit and self._peak * 2 < self.limit // 1_000:
                target = self.limit
            self.limit = (self.limit * 4 + target) // 5
            self._base = min(self._base, short)
            if now >= self._again:
                self._measuring, self._since = True, now
        self.limit = min(max(self.limit, rules.least * 1_000), rules.most * 1_000)
        self._clear()
