"""What the cores of policy files are given: times, random numbers, and how calls ended (spec/policy.md 6)."""

from __future__ import annotations

import random

from .policy import Delivery as Promise
from .policy import Ended
from .transport import monotonic
from .wire import OK, Delivery, Status

_PROMISES = {
    Delivery.EXECUTED: Promise.EXECUTED,
    Delivery.UNKNOWN: Promise.UNKNOWN,
    Delivery.REFUSED: Promise.REFUSED,
    Delivery.NOT_SENT: Promise.NOT_SENT,
}


_FINE = Ended(0, Promise.EXECUTED)


def now() -> int:
    """The time of all cores, in nanoseconds."""
    return monotonic.nanoseconds()


def draw() -> int:
    """A random number of 32 bits."""
    return random.getrandbits(32)


def end_of(status: Status, *, lost: bool = False, elsewhere: bool = False, time: int = 0, left: int = 0) -> Ended:
    """How an attempt ended, as the cores know it."""
    if status is OK:  # nearly always
        return _FINE
    return Ended(
        int(status.code), _PROMISES[status.delivery], round(status.retry_after * 1e9), lost, elsewhere, time, left
    )
