"""The event loop of a blocking client: asyncio's own, which no thread runs for good. Whoever waits turns it."""

from __future__ import annotations

import asyncio
import math
import selectors
import socket
from collections.abc import Callable, Collection
from contextlib import suppress
from contextvars import Context
from threading import Lock
from time import monotonic
from typing import Any, cast

_PRIVATE = ("_run_once", "_ready", "_csock")  # of asyncio, as old as it is
_ROUNDS = 64  # turns in a row for what is ready, before what was ready later waits for another thread's turn


class Selector(selectors.DefaultSelector):
    """Waits for sockets without the lock, under which everything else is done."""

    def __init__(self, lock: Lock, handed: Collection[object], open_handed: Callable[[], bool]) -> None:
        """See Driver: work that others leave to whoever releases the lock, and what does it, and tells whether the loop
        has something to do behind it."""
        super().__init__()
        self.asleep = False  # a thread waits here
        self.until = 0.0  # it wakes by itself then, by the loop's clock; 0 while nobody waits
        self.silent = False  # nobody wants to hear of sockets now
        self.impatient = False  # only of what has come already
        self.longest: float | None = None  # seconds of one wait, if who leads must not wait for longer
        self._lock = lock
        self._handed = handed
        self._open_handed = open_handed
        self._changes = 0  # of what is registered
        self._unlooked = False  # the last turn did not look at the sockets

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.silent:
            return []
        if self.impatient:
            return super().select(0)
        if timeout is not None and timeout <= 0:  # there is something to do: each second time without a look here
            self._unlooked = not self._unlooked
            return [] if self._unlooked else super().select(0)
        self._unlooked = False
        if self.longest is not None and (timeout is None or timeout > self.longest):
            timeout = self.longest
        self.until = math.inf if timeout is None else monotonic() + timeout
        while True:
            if self._handed and self._open_handed():
                self.until = 0.0
                return []
            changes = self._changes
            self.asleep = True
            self._lock.release()
            if not self._handed or not self._lock.acquire(blocking=False):
                break
            self.asleep = False
        try:
            found = super().select(timeout)
        finally:
            self._lock.acquire()
            self.asleep, self.until = False, 0.0
        # What was registered may be another's by now, under the same number. What is still there shows again.
        return found if changes == self._changes else []

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        self._changes += 1
        return super().register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        self._changes += 1
        return super().unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        self._changes += 1
        return super().modify(fileobj, events, data)


class Loop(asyncio.SelectorEventLoop):
    """Turned by one thread at a time, under the lock that its selector lets go of while it waits. What is not
    public of asyncio is used, since `run_forever` is for one thread only. Raises RuntimeError where that is missing."""

    def __init__(self, lock: Lock, handed: Collection[object], open_handed: Callable[[], bool]) -> None:
        self.selector = Selector(lock, handed, open_handed)
        self._early = False  # a timer was set for before the thread that waits wakes
        super().__init__(self.selector)
        self._own: Any = self  # what asyncio's types do not tell of
        missing = [name for name in _PRIVATE if not hasattr(self, name)]
        if missing:
            self.close()
            raise RuntimeError(
                f"trunkcall.blocking needs {', '.join(missing)} of asyncio's event loop: not in this Python"
            )

    def turn(self) -> None:
        """Waits for the next event, if nothing is ready, and does what is ready then."""
        self._own._run_once()

    def look(self) -> None:
        """Does what is ready, and takes in what has come. Does not wait."""
        self.selector.impatient = True
        try:
            self._own._run_once()
        finally:
            self.selector.impatient = False
        self.settle()

    def settle(self) -> None:
        """Does what is ready, and what becomes ready of that. Does not wait."""
        ready, selector, rounds = self._own._ready, self.selector, 0
        if not ready:
            return
        selector.silent = True
        try:
            while ready and rounds < _ROUNDS:
                rounds += 1
                self._own._run_once()
        finally:
            selector.silent = False

    @property
    def late(self) -> bool:
        """Whether the thread that waits would wake too late for what is to be done."""
        return self.selector.asleep and self.busy

    @property
    def busy(self) -> bool:
        """Whether there is something to do, or a timer was set for before the thread that waits wakes."""
        return bool(self._early or self._own._ready)

    def wake(self) -> None:
        """Wakes the thread that waits for events. Any thread may do that, and a handler of signals."""
        self.call_soon_threadsafe(_nothing)

    def woken(self) -> None:
        """Somebody is about to wait."""
        self._early = False

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        if when < self.selector.until:
            self._early = True
        return super().call_at(when, callback, *args, context=context)

    async def getaddrinfo(self, host: Any, port: Any, **hints: Any) -> Any:
        """On a thread, unless there is nothing to look up."""
        with suppress(OSError):
            return socket.getaddrinfo(host, port, **{**hints, "flags": hints.get("flags", 0) | socket.AI_NUMERICHOST})
        try:
            return await super().getaddrinfo(host, port, **hints)
        except RuntimeError:  # the interpreter shuts down, and begins no threads: in this one, then
            return socket.getaddrinfo(host, port, **hints)

    @property
    def sockets(self) -> list[int]:
        """The descriptors that it waits for, and its own."""
        own = [getattr(self.selector, "fileno", _no_number)(), cast(socket.socket, self._own._csock).fileno()]
        return [*own, *(key.fd for key in self.selector.get_map().values())]


def _nothing() -> None:
    pass


def _no_number() -> int:
    return -1
