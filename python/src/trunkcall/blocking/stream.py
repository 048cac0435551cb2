"""Streams of blocking callers: what an asyncio stream does, carried out by the thread that asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from trunkcall import caller as asynchronous
from trunkcall.interceptor import MessageStream as AsyncMessages
from trunkcall.status import failure
from trunkcall.wire import Code, Delivery, Status

from .caller import ClientStream, MessageStream
from .driver import Driver

Req = TypeVar("Req")
Resp = TypeVar("Resp")
T = TypeVar("T")

FORKED = "the call was opened before fork(), over a connection of the parent process: make it anew here"


class OpenedStream(ClientStream[Req, Resp]):
    """A stream of a Client or a Connection."""

    def __init__(self, driver: Driver, inner: asynchronous.ClientStream[Req, Resp]) -> None:
        self._driver = driver
        self._inner = inner

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._driver.abandoned:
            work.close()
            raise failure(Code.UNAVAILABLE, FORKED, Delivery.UNKNOWN)
        try:
            return self._driver.run(work)
        except asyncio.CancelledError:
            raise failure(Code.CANCELLED, "cancelled by the caller", Delivery.UNKNOWN) from None

    def send(self, message: Req) -> bool:
        return self._run(self._inner.send(message))

    def half_close(self) -> None:
        self._run(self._inner.half_close())

    def receive(self) -> Resp | None:
        return self._run(self._inner.receive())

    def header(self) -> list[tuple[str, str | bytes]]:
        return self._run(self._inner.header())

    def status(self) -> Status:
        return self._run(self._inner.status())

    def cancel(self) -> None:
        if self._driver.abandoned or self._driver.closed or self._inner.done:
            return
        with self._driver.inside():
            self._inner.cancel()

    def _give_up(self) -> None:
        """As `cancel`, but only leaves word for the loop: takes no lock, and may be called wherever objects are
        collected, or in the thread of an event loop."""
        if not self._driver.abandoned:
            with suppress(RuntimeError):  # the client is closed
                self._driver.loop.call_soon_threadsafe(self._inner.cancel)

    @property
    def done(self) -> bool:
        return self._driver.abandoned or self._inner.done

    @property
    def trailer(self) -> list[tuple[str, str | bytes]]:
        return self._inner.trailer

    @property
    def peer(self) -> str:
        return self._inner.peer


class Messages:
    """The messages of a call, for an interceptor: of asyncio's kind below, blocking above."""

    def __init__(self, driver: Driver, inner: AsyncMessages) -> None:
        self._driver = driver
        self.inner = inner

    def send(self, message: Any) -> bool:
        return self._driver.run(self.inner.send(message))

    def receive(self) -> Any | None:
        return self._driver.run(self.inner.receive())


class Unblocked:
    """The messages that an interceptor gave: blocking below, of asyncio's kind above. Carried out by threads only, the
    functions below may block."""

    def __init__(self, driver: Driver, inner: MessageStream) -> None:
        self._driver = driver
        self._inner = inner

    async def send(self, message: Any) -> bool:
        with self._driver.outside():
            return self._inner.send(message)

    async def receive(self) -> Any | None:
        with self._driver.outside():
            return self._inner.receive()
