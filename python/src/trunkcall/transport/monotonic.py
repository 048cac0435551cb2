"""The clock that does not jump, by which everything is timed. A test may put another in its place."""

from __future__ import annotations

import time
from collections.abc import Callable

nanoseconds: Callable[[], int] = time.monotonic_ns
"""Asked of this module each time: it is exchanged while a test's clock is in use."""


def clock() -> int:
    """Microseconds: the time of all sessions."""
    return nanoseconds() // 1_000


def replace(by: Callable[[], int] | None) -> None:
    """Has everything timed by another clock, or by the system's again."""
    global nanoseconds
    nanoseconds = time.monotonic_ns if by is None else by
