"""The same for code that blocks: TestServer and Clock, without `await`.

with TestServer(get_user.handler(serve)) as server:
    user = server.client.call(get_user, GetUserRequest(user_id=7))

with Clock() as clock, TestServer(get_user.handler(never), clock=clock) as server:
    call = server.client.start(get_user, GetUserRequest(user_id=7), timeout=3600)
    clock.advance(3600)  # at once
    with assert_fails(Code.DEADLINE_EXCEEDED):
        call.result()
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from trunkcall import Handler, Server
from trunkcall.blocking import Client
from trunkcall.blocking.driver import Driver
from trunkcall.blocking.loopthread import LoopThread

from .moving import PATIENCE, Held, Time
from .server import _Tested
from .standstill import STANDSTILL

__all__ = ["Clock", "TestServer"]

T = TypeVar("T")

ADVICE = "begin the call with `client.start`, or on another thread, and move the clock with `clock.advance(seconds)`"
_LOOK = 0.0005  # seconds of the system's clock between two looks at threads that are at work


class TestServer(_Tested[Client]):
    """A server, which runs in an event loop on a thread of its own, and a blocking client of it, with all that lies
    between them. Its handlers may be plain functions or asynchronous. May be used by any thread, but for its `server`,
    of which only what is there before it is entered may be used."""

    def __init__(
        self,
        *handlers: Handler,
        server: Server | None = None,
        client: Callable[[str], Client] | None = None,
        on_loopback: bool = False,
        clock: Clock | None = None,
    ) -> None:
        """As trunkcall.testing.TestServer. Server and client go by `clock`, if there is one."""
        super().__init__(handlers, server, _client if client is None else client, on_loopback)
        self._clock = clock
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Has the server listen. Raises OSError, and ValueError for two handlers of one method."""
        with ExitStack() as stack:
            there = stack.enter_context(LoopThread("trunkcall test"))
            if self._clock is not None:
                stack.enter_context(self._clock._of(there))
            stack.callback(lambda: there.run(self._server.close()))
            self._target = there.run(self._listen())
            client = self._make(self._target)
            stack.callback(client.close)
            if self._clock is not None:
                self._clock.attach(client)
            self._stack = stack.pop_all()
        self._client = client
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends both at once: calls that run fail."""
        self._stack.close()


class Clock:
    """The time of test servers and clients that are given to it, of all of them together. It stands still until
    `advance` moves it, and what is due meanwhile happens at once. See trunkcall.testing.Clock.

    A thread that waits in a call cannot move the clock: begin the call with `Client.start`, or on another thread. Where
    nobody moves it, the call raises RuntimeError, which names the timers that wait. May be used by one thread at a
    time."""

    def __init__(self, *, standstill: float = STANDSTILL) -> None:
        """`standstill`: after so many seconds of the system's clock, in which nothing happened in servers and clients,
        and while timers wait in them, a call of the thread that used the clock last raises RuntimeError. For other
        threads, and while plain handlers run, it is 60 s at least; math.inf is never. Raises TypeError and ValueError
        for what is no time above 0."""
        self._time = Time(standstill)
        self._loops: dict[LoopThread, Held] = {}
        self._drivers: dict[Driver, Held] = {}

    def __enter__(self) -> Self:
        self._time.standstill.used()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clients that it was for go by the system's clock again."""
        for held in (*self._loops.values(), *self._drivers.values()):
            held.release()
        self._loops, self._drivers = {}, {}

    def attach(self, client: Client) -> None:
        """Has one more client go by this clock, from before its first call on. Raises RuntimeError for one that goes by
        a clock already."""
        driver, _ = client._whole()
        with driver.inside():
            self._drivers[driver] = self._time.hold(driver.loop, partial(self._stand, driver))

    def _stand(self, driver: Driver) -> None:
        """Raises RuntimeError in the thread that turns a client's loop, if it waits for a call of its own."""
        if driver.awaits:
            raise RuntimeError(self._time.standstill.words(ADVICE))

    @property
    def elapsed(self) -> float:
        """Seconds that have passed by this clock."""
        return self._time.elapsed

    def settle(self) -> None:
        """Waits until servers and clients wait for something that does not come by itself, threads in their calls
        included, and plain handlers have returned. Not waited for: what a thread does between two calls, interceptors
        of clients, and servers that call each other. No time passes. Raises RuntimeError if that does not happen within
        30 s of the system's clock."""
        self._time.standstill.used()
        self._settle()

    def advance(self, seconds: float) -> None:
        """Lets so many seconds pass, and half a millisecond more for timers that are rounded. Timers go off one after
        the other, each at its time, and what follows from each is done before the next one, as `settle` says. Raises
        RuntimeError as `settle`, ValueError for a time that is negative."""
        last = self._time.step(seconds)
        due = self._settle()
        while due <= last:
            self._time.move(due)
            due = self._settle()
        self._time.move(self._time.end)

    def _of(self, there: LoopThread) -> ExitStack:
        """Has a server's loop go by this clock, until the end of a block of `with`."""
        held = self._time.hold(there.loop)
        self._loops[there] = held
        stack = ExitStack()
        stack.callback(held.release)
        stack.callback(self._loops.pop, there, None)
        return stack

    def _settle(self) -> float:
        """Returns when the next timer is due, in ns. At rest is who had nothing to do in two rounds: in the first one,
        a loop may have done something for another that was asked before."""
        until = time.monotonic() + PATIENCE
        idle, due = 0, math.inf
        while idle < 2:
            busy, due = False, math.inf
            for there, held in self._loops.items():
                worked, next_timer = there.run(_settled(held))
                busy, due = busy or worked, min(due, next_timer)
            for driver, held in list(self._drivers.items()):
                if driver.closed or driver.abandoned:
                    held.release()
                    del self._drivers[driver]
                    continue
                worked, next_timer = _look(driver, held)
                busy, due = busy or worked, min(due, next_timer)
            idle = 0 if busy else idle + 1
            if busy and time.monotonic() > until:
                unrest = "the clock waits for clients to come to rest, and one is still at work"
                raise RuntimeError(f"{unrest} after {PATIENCE:.0f} s")
        return due


async def _settled(held: Held) -> tuple[bool, float]:
    return await held.settle(), held.due


def _look(driver: Driver, held: Held) -> tuple[bool, float]:
    """Has a client do what is ready; whether there was anything, and when its next timer is due."""
    behind: list[int] = []
    with driver.inside():
        # Its own thread may have done something since the last look, or this one as it took the lock.
        busy = held.ready > 0 or held.turns != held.seen
        driver.loop.call_soon(lambda: behind.append(held.ready))  # ahead of what sockets and timers bring in this turn
        driver.loop.look()
        busy = busy or behind != [0] or held.ready > 0
        working = driver.at_work
        due = held.due
        held.seen = held.turns
    if working and not busy:
        time.sleep(_LOOK)  # until they wait, or are done
    return busy or working, due


def _client(target: str) -> Client:
    return Client(target, timeout=TestServer.TIMEOUT)
