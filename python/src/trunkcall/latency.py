"""The moving latency of an endpoint (client.md 10.9)."""

from __future__ import annotations

from .method import Kind
from .wire import Code, Delivery, Status

SPAN = 10_000_000_000  # ns: the time constant, and how long the last sample counts
LEAST = 1_000_000_000  # what a failure for overload counts as
OVERLOADED = (Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED)
GIVEN_UP = (Code.CANCELLED, Code.DEADLINE_EXCEEDED)


class MovingLatency:
    """Times are nanoseconds of a clock that does not jump."""

    __slots__ = ("_first", "_mean", "last")

    def __init__(self) -> None:
        self._mean = 0.0
        self._first = 0  # when the first sample came
        self.last: int | None = None  # when the last one came

    def answered(self, duration: float, when: int) -> None:
        """A sample has come: how long a unary call took, say, that was answered then. One that comes with the last one,
        or is told late, stands for no time."""
        last = self.last
        if last is None or when - last > SPAN:
            self._first = when
            self._mean = duration
        elif when > last:
            age = min(last - self._first, SPAN)
            self._mean += (duration - self._mean) * (when - last) / (age + when - last)
        else:
            return
        self.last = when

    def at(self, now: int) -> float | None:
        """The latency; None while there is none."""
        return None if self.last is None or now - self.last > SPAN else self._mean

    def ended(self, kind: Kind, status: Status, duration: int, now: int) -> None:
        """A call has ended."""
        sample = self._sample(kind, status, duration, now)
        if sample is not None:
            self.answered(sample, now)

    def _sample(self, kind: Kind, status: Status, duration: int, now: int) -> float | None:
        if status.local and status.delivery is Delivery.NOT_SENT:
            return None
        if status.code in OVERLOADED:
            return max(duration, LEAST) if kind is Kind.UNARY else LEAST
        if kind is not Kind.UNARY:
            return None
        if status.code in GIVEN_UP:
            moving = self.at(now)
            return duration if moving is None or duration > moving else None
        return duration
