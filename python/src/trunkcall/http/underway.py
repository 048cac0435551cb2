"""How long a message may be on its way: a minute, and a second for each 64 KiB that has passed (limits.md 5)."""

from __future__ import annotations

from trunkcall.transport import clock

LATE = "a message was under way for longer than 60 s and 1 s for each 64 KiB"
_PATIENCE = 60_000_000  # µs
_STEP, _MORE = 64 << 10, 1_000_000  # bytes, and µs for each


class UnderWay:
    __slots__ = ("_by", "_passed")

    def __init__(self) -> None:
        self._by = 0  # it is on none
        self._passed = 0

    def set(self, under_way: bool, now: int = 0) -> None:
        """`now`: the time, unless it is to be asked for."""
        if not under_way:
            self._by = 0
        elif not self._by:
            self._by = (now or clock()) + _PATIENCE
            self._passed = 0

    def passed(self, size: int) -> None:
        self._passed += size

    def late(self, now: int) -> bool:
        return self._by > 0 and now > self._by + self._passed // _STEP * _MORE
