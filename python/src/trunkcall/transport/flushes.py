"""When the connections of a client's event loop are written.

What calls append in one turn of the loop is written behind the callbacks that are due before. Where several connections
have something to be written, the sockets are looked at once more before that, and again: the answers that have come
meanwhile wake tasks that make further calls, and these share the writes and reads (decision 0084).
"""

from __future__ import annotations

import asyncio
from typing import Protocol
from weakref import WeakKeyDictionary

from . import monotonic

LOOKS = 3  # that may put off what is to be written
MOMENT = 500_000  # ns from the first of them to the last at most
FEW = 4  # calls that are open: with fewer there is less to share than a turn of the loop costs


class Written(Protocol):
    """A connection of a client."""

    @property
    def calls(self) -> int:
        """Those of this side that are open."""
        ...

    def flush(self) -> None:
        """Writes what was appended."""
        ...


class Flushes:
    """The connections of one event loop that are to be written. Of the loop's thread."""

    __slots__ = ("_due", "_looks", "_put_off", "_since")

    def __init__(self) -> None:
        self._due: list[Written] = []
        self._looks = 0
        self._since = 0  # when it was put off first
        self._put_off = False  # until something has come, or has not

    def add(self, one: Written, loop: asyncio.AbstractEventLoop) -> None:
        """Has a connection written once, behind what is due in this turn of the loop, or a few turns later."""
        self._due.append(one)
        if len(self._due) == 1:
            loop.call_soon(self._write, loop)

    def came(self, loop: asyncio.AbstractEventLoop) -> None:
        """Something has come on a connection, and those who wait for it were woken."""
        if self._put_off:
            self._put_off = False
            loop.call_soon(self._write, loop)

    def _write(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._worth_a_look():
            self._looks += 1
            self._put_off = True
            loop.call_soon(self._look, loop)
            return
        self._looks = 0
        due, self._due = self._due, []
        try:
            while due:
                due.pop().flush()
        finally:
            for one in due:  # another has failed
                self.add(one, loop)

    def _worth_a_look(self) -> bool:
        if len(self._due) < 2 or self._looks == LOOKS:
            return False
        if self._looks:
            return monotonic.nanoseconds() - self._since < MOMENT
        self._since = monotonic.nanoseconds()
        return sum(one.calls for one in self._due) >= FEW

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._put_off:  # asyncio's own loop does behind this what it has found
            loop.call_soon(self._looked, loop)

    def _looked(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._put_off:
            self._put_off = False
            self._looks = LOOKS
            self._write(loop)


_of: WeakKeyDictionary[asyncio.AbstractEventLoop, Flushes] = WeakKeyDictionary()


def flushes_of(loop: asyncio.AbstractEventLoop) -> Flushes:
    """Those of a loop. Of the loop's thread."""
    found = _of.get(loop)
    if found is None:
        found = _of[loop] = Flushes()
    return found
