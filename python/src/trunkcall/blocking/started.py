"""Unary calls that go on while the thread that began them does something else."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from trunkcall.caller import Response
from trunkcall.status import StatusError, failure
from trunkcall.wire import Code, Delivery

from .driver import Driver
from .stream import FORKED

Resp = TypeVar("Resp")


class StartedCall(Future[Resp]):
    """A unary call that `Client.start` has begun: a concurrent.futures.Future of its answer. `concurrent.futures.wait`
    and `as_completed` take it, and `asyncio.wrap_future` has it awaited. Functions given to `add_done_callback` are
    told by whichever thread is at work, and must neither block nor make calls through the client."""

    def __init__(self, driver: Driver, caller: object) -> None:
        super().__init__()
        self._driver = driver
        self._caller = caller  # a client that nobody has is closed
        self._task: asyncio.Task[Response[Resp]]
        self._told: asyncio.Future[None]  # its end was
        self._header: list[tuple[str, str | bytes]] = []
        self._trailer: list[tuple[str, str | bytes]] = []

    def _begin(self, work: Coroutine[Any, Any, Response[Resp]]) -> None:
        """Under the lock of the client."""
        self._told = self._driver.loop.create_future()
        self._task = self._driver.start(work)
        self._task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[Response[Resp]]) -> None:
        error = failure(Code.CANCELLED, "cancelled", Delivery.UNKNOWN) if task.cancelled() else task.exception()
        try:  # who is told may raise SystemExit
            if self.set_running_or_notify_cancel():
                if error is None:
                    response = task.result()
                    self._header, self._trailer = response.header, response.trailer
                    self.set_result(response.message)
                else:
                    if isinstance(error, StatusError):
                        self._header, self._trailer = list(error.header), list(error.trailer)
                    self.set_exception(error)
        finally:
            self._told.set_result(None)

    def result(self, timeout: float | None = None) -> Resp:
        """The answer; waits for it, at most for so many seconds. Raises StatusError when the call failed, TimeoutError
        when the time is over, while the call goes on, and CancelledError of concurrent.futures after `cancel`."""
        self._wait(timeout)
        return super().result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """What `result` would raise, None after a success."""
        self._wait(timeout)
        return super().exception(0)

    def cancel(self) -> bool:
        """Gives the call up, which tells the server. False: it has ended before. Does not wait, and may be called from
        any thread, that of an event loop too."""
        if self.cancelled():
            return True
        if not super().cancel():
            return False
        with suppress(RuntimeError):  # the client is closed
            self._driver.loop.call_soon_threadsafe(self._task.cancel)
        return True

    def running(self) -> bool:
        """Whether the call has not ended."""
        return not self.done()

    @property
    def header(self) -> list[tuple[str, str | bytes]]:
        """The metadata ahead of the answer; empty before the end."""
        return self._header

    @property
    def trailer(self) -> list[tuple[str, str | bytes]]:
        """The metadata that came with the end; empty before."""
        return self._trailer

    def _wait(self, timeout: float | None) -> None:
        if self.done():
            return
        if self._driver.abandoned:
            raise failure(Code.UNAVAILABLE, FORKED, Delivery.UNKNOWN)
        self._driver.run(self._ended(timeout))

    async def _ended(self, timeout: float | None) -> None:  # noqa: ASYNC109
        await asyncio.wait([self._told], timeout=timeout)
