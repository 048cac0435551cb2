"""When the connections of a client's event loop are written.

What calls append in one turn of the loop is written behind the callbacks that are due before. Where several connections
have something to be written, or were read, the sockets are looked at once more before that, and again: the answers that
have come meanwhile wake tasks that make further calls, and these share the writes and reads (decision 0084).
"""

from __future__ import annotations

import asyncio
from typing import Protocol
from weakref import WeakKeyDictionary, ref

from . import monotonic

LOOKS = 3  # that may put off what is to be written
MOMENT = 500_000  # ns from the first of them, after which none begins
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

    __slots__ = ("__weakref__", "_due", "_looks", "_since", "_waits")

    def __init__(self) -> None:
        self._due: dict[Written, None] = {}  # in order
        self._looks = 0
        self._since = 0  # when it was put off first
        self._waits = False  # until something has come, or has not

    # What is to be called is asked for first: if that fails there is nothing that waits for it.

    def add(self, one: Written, loop: asyncio.AbstractEventLoop) -> None:
        """Has a connection written once, behind what is due in this turn of the loop, or a few turns later."""
        if not self._due:
            loop.call_soon(self._write, loop)
        self._due[one] = None

    def came(self, loop: asyncio.AbstractEventLoop) -> None:
        """Something has come on a connection, and those who wait for it were woken."""
        if self._waits:
            loop.call_soon(self._write, loop)
            self._waits = False

    def _write(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._worth_a_look():
            loop.call_soon(self._look, loop)
            self._looks += 1
            self._waits = True
            return
        self._looks = 0
        left = list(reversed(self._due))
        self._due = {}
        try:
            while left:
                left.pop().flush()
        finally:
            if left:  # one has failed
                self._looks = LOOKS
                for one in reversed(left):
                    self.add(one, loop)

    def _worth_a_look(self) -> bool:
        if len(self._due) < 2 or self._looks == LOOKS:
            return False
        if self._looks:
            return not self._late
        self._since = monotonic.nanoseconds()
        return sum(one.calls for one in self._due) >= FEW

    @property
    def _late(self) -> bool:
        return monotonic.nanoseconds() - self._since >= MOMENT

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._waits:
            return
        if self._late:  # tasks take long
            self._looked(loop)
        else:  # asyncio's own loop does behind this what it has found
            loop.call_soon(self._looked, loop)

    def _looked(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._waits:
            self._waits = False
            self._looks = LOOKS
            self._write(loop)


# Connections keep theirs, which keeps the loop: here neither is.
_of: WeakKeyDictionary[asyncio.AbstractEventLoop, ref[Flushes]] = WeakKeyDictionary()


def flushes_of(loop: asyncio.AbstractEventLoop) -> Flushes:
    """Those of a loop, as long as somebody has them. Of the loop's thread."""
    known = _of.get(loop)
    found = None if known is None else known()
    if found is None:
        found = Flushes()
        _of[loop] = ref(found)
    return found
