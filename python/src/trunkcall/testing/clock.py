"""The clock of an event loop, moved by a test."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from .moving import Held, Time
from .standstill import STANDSTILL

ADVICE = "begin what takes time as a task, and move the clock with `await clock.advance(seconds)`"


class Clock:
    """The time of the event loop that runs when it is entered, by which all clients, servers and timers of that loop
    go: deadlines, retries, keepalive, idle times, and `asyncio.sleep` of the test's own code. It stands still until
    `advance` moves it, and what is due meanwhile happens at once.

        async with Clock() as clock, TestServer(handler) as server:
            ...
            await clock.advance(20)

    Enter it before what it is for is made. The loop has to be one of asyncio's own. Belongs to that loop, and to its
    thread. Through sockets bytes take a time that no clock knows: use it in memory.

    A test that waits for nothing but this clock, which nobody moves, would wait for ever. It is cancelled instead, and
    the block of `async with` raises RuntimeError, which names the timers that wait."""

    def __init__(self, *, standstill: float = STANDSTILL) -> None:
        """`standstill`: after so many seconds of the system's clock, in which nothing happened in the event loop, and
        while timers wait in it, the test is told to wait for ever. While plain functions run on threads it is 30 s at
        least; math.inf is never, for tests that wait for sockets, processes or threads of their own. Raises TypeError
        and ValueError for what is no time above 0."""
        self._time = Time(standstill)
        self._held: Held | None = None
        self._test: asyncio.Task[object] | None = None
        self._standing = ""  # what the test was told

    async def __aenter__(self) -> Self:
        """Raises RuntimeError for an event loop of another make, or one that goes by a clock already."""
        self._held = self._time.hold(asyncio.get_running_loop(), self._stand)
        self._time.standstill.used()
        self._test, self._standing = asyncio.current_task(), ""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raises RuntimeError if the test was waiting for ever."""
        if self._held is not None:
            self._held.release()
            self._held = None
        if self._standing:
            if self._test is not None:
                self._test.uncancel()
            raise RuntimeError(self._standing) from error

    def _stand(self) -> None:
        """Ends the task that entered the clock, which waits in vain. Where that has ended, such as one of a fixture,
        raises RuntimeError to whoever runs the loop."""
        again, self._standing = bool(self._standing), self._time.standstill.words(ADVICE)
        self._time.standstill.stir()
        test = self._test
        if test is None or test.done():
            words, self._standing = self._standing, ""
            raise RuntimeError(words)
        if test.cancel() and again:
            test.uncancel()

    @property
    def elapsed(self) -> float:
        """Seconds that have passed by this clock."""
        return self._time.elapsed

    async def settle(self) -> None:
        """Waits until every task waits for something that does not come by itself, and plain functions on threads have
        returned. No time passes. Raises RuntimeError if that does not happen within 30 s of the system's clock."""
        await self._own.settle()

    async def advance(self, seconds: float) -> None:
        """Lets so many seconds pass, and half a millisecond more for timers that are rounded. Timers go off one after
        the other, each at its time, and what follows from each is done before the next one, as `settle` says. Raises
        RuntimeError as `settle`, ValueError for a time that is negative."""
        held, time = self._own, self._time
        last = time.step(seconds)
        await held.settle()
        while (due := held.due) <= last:
            time.move(due)
            await held.settle()
        time.move(time.end)

    @property
    def _own(self) -> Held:
        if self._held is None:
            raise RuntimeError("the clock has not been entered: `async with Clock() as clock`")
        if self._held.loop is not asyncio.get_running_loop():
            raise RuntimeError("this clock is that of another event loop")
        return self._held
