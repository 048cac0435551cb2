"""The limits of a server by its policy file: what a call passes before admission (spec/policy.md 12, 13 and 16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cores import draw, end_of, now
from .governance import Rules
from .policy import Concurrency, Sample, sample_of
from .priority import priority_in
from .wire import Code, Delivery, Status

if TYPE_CHECKING:
    from .servercall import ServerCall

_SOONEST = 0.001  # seconds until a call that was refused may come back


class Place:
    """A call among those that run at once."""

    __slots__ = ("_entered", "_limit")

    def __init__(self, limit: Concurrency, entered: int) -> None:
        self._limit: Concurrency | None = limit
        self._entered = entered

    def leave(self, code: Code | None) -> None:
        """The call is over, with a code; None: its handler did not begin. A second time does nothing."""
        limit, self._limit = self._limit, None
        if limit is not None:
            sample = Sample.NONE if code is None else sample_of(end_of(Status(code, "", (), Delivery.EXECUTED)))
            left = now()
            limit.leave(left, left - self._entered, sample, draw)


def entered(rules: Rules, call: ServerCall) -> Place | Status | None:
    """The place of a call, None if there is no limit of calls at once; or why it is refused."""
    holds, rate, limit = rules.holds, rules.server_rate, rules.server_concurrency
    if rate is None and limit is None:
        return None
    priority, time = priority_in(call.metadata), now()
    if rate is not None and holds.server_rate is not None:
        after = rate.take(time, priority)
        if after:
            return _used_up(f"rate of {holds.server_rate.scope}", max(after / 1e9, _SOONEST))
    if limit is None or holds.server_concurrency is None:
        return None
    if not limit.enter(time, priority):
        return _used_up(f"concurrency of {holds.server_concurrency.scope}", _SOONEST)
    return Place(limit, time)


def _used_up(what: str, after: float) -> Status:
    return Status(Code.RESOURCE_EXHAUSTED, f"{what} is used up", (), Delivery.REFUSED, after)
