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

    __slots__ = ("_mean", "last")

    def __init__(self) -> None:
        self._mean = 0.0
        self.last: int | None = None  # when the last sample came

    def answered(self, duration: int, when: int) -> None:
        """A unary call was answered with success then. One that was answered with the last sample, or before, is none:
        after no time it would weigh nothing."""
        since = SPAN + 1 if self.last is None else when - self.last
        if since <= 0:
            return
        if since <= SPAN:
            self._mean += (duration - self._mean) * since / (SPAN + since)
        else:
            self._mean = duration
        self.last = when

    def at(self, now: int) -> float | None:
        """The latency; None while there is none."""
        return None if self.last is None or now - self.last > SPAN else self._mean

    def ended(self, kind: Kind, status: Status, duration: int, now: int) -> None:
        """A call has ended."""
        sample = self._sample(kind, status, duration, now)
        if sample is None:
            return
        since = SPAN + 1 if self.last is None else now - self.last
        if 0 <= since <= SPAN:
            self._mean += (sample - self._mean) * since / (SPAN + since)
        else:
            self._mean = sample
        self.last = now

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
