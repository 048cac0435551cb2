"""Times, random parts and windows (policy.md 6)."""

from __future__ import annotations

from collections.abc import Callable

Random = Callable[[], int]  # draws a random number of 32 bits

MILLISECOND = 1_000_000
SECOND = 1_000 * MILLISECOND
HOUR = 3_600 * SECOND
LONGEST = 24 * HOUR  # that a measured duration may count

_SLICES = 10


def part(x: int, random: Random) -> int:
    """A random part of x."""
    return x * random() >> 32


class Clock:
    """Has times not go back."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last = 0

    def at(self, now: int) -> int:
        if now > self.last:
            self.last = now
        return self.last


class Window:
    """Counts events of the last slices. Its times do not go back.

    Who has many events may add to `events` without a call, at a time before `until`."""

    __slots__ = ("_counts", "_number", "_slice", "events", "until")

    def __init__(self, length: int) -> None:
        self._slice = length // _SLICES
        self._counts = [(0, 0)] * _SLICES  # the number of a slice, and its events, of slices that are over
        self._number = 0  # of the latest slice
        self.events = 0  # in it
        self.until = 0  # its end; 0: none has begun

    def add(self, now: int, events: int) -> None:
        if now >= self.until:
            self._counts[self._number % _SLICES] = self._number, self.events
            self._number = now // self._slice
            self.until = (self._number + 1) * self._slice
            self.events = 0
        self.events += events

    def sum(self, now: int) -> int:
        first = now // self._slice - _SLICES + 1
        latest = self.events if self._number >= first else 0
        return latest + sum(events for number, events in self._counts if number >= first)

    def clear(self) -> None:
        self._counts = [(0, 0)] * _SLICES
        self._number = self.events = self.until = 0
