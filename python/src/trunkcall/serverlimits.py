"""The limits of a server by its policy file: what a call passes before admission (spec/policy.md 12, 13 and 16)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .cores import draw
from .governance import Rules
from .policy import EXECUTED, Ended, Priority, Sample, Scoped, of_stream, sample_of
from .priority import priority_in
from .transport import monotonic
from .wire import Code, Delivery, Status

if TYPE_CHECKING:
    from .servercall import ServerCall

_SOONEST = 0.001  # seconds until a call that was refused may come back


def entered(rules: Rules, call: ServerCall) -> Status | None:
    """Has a call counted by the limits, until `left`; or gives why it is refused."""
    rate, limit = rules.server_rate, rules.server_concurrency
    if rate is None and limit is None:
        return None
    metadata, time = call.metadata, monotonic.nanoseconds()
    priority = priority_in(metadata) if metadata else Priority.NORMAL
    if rate is not None:
        after = rate.take(time, priority)
        if after:
            return _used_up("rate", rules.holds.server_rate, max(after / 1e9, _SOONEST))
    if limit is not None:
        if not limit.enter(time, priority):
            return _used_up("concurrency", rules.holds.server_concurrency, _SOONEST)
        call._limit, call._since = limit, time
    return None


def left(call: ServerCall, code: Code | None) -> None:
    """A call is over, with a code; None: its handler did not begin. A second time does nothing."""
    limit, call._limit = call._limit, None
    if limit is None:
        return
    sample = Sample.MEASURED
    if code is not Code.OK:
        sample = Sample.NONE if code is None else sample_of(Ended(int(code), EXECUTED))
    if call.method.kind.streams:
        sample = of_stream(sample)
    time = monotonic.nanoseconds()
    limit.leave(time, time - call._since, sample, draw)


def _used_up(what: str, said: Scoped[Any] | None, after: float) -> Status:
    text = f"{what} of {'' if said is None else said.scope} of the server is used up"
    return Status(Code.RESOURCE_EXHAUSTED, text, (), Delivery.REFUSED, after)
