"""A server in the event loop of another thread, and blocking clients of it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
import unittest
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from tests.public.kit import ECHO, HANDLERS, PATIENCE, echo
from trunkcall import RAW, Code, Delivery, Handler, Server, ServerCall, StatusError
from trunkcall.blocking import Client

T = TypeVar("T")

PYTHON = Path(__file__).resolve().parents[2]


class Elsewhere:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(PATIENCE)
        self.loop.close()


class Gate:
    """A handler that says when it has begun and waits until it is let on. Used from any thread."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.cancelled = threading.Semaphore(0)
        self._open: list[asyncio.Future[None]] = []

    async def __call__(self, request: bytes, call: ServerCall) -> bytes:
        future = asyncio.get_running_loop().create_future()
        self._open.append(future)
        self.begun.release()
        try:
            await future
        except asyncio.CancelledError:
            self.cancelled.release()
            raise
        return request

    async def let_on(self, which: int = 0) -> None:
        self._open[which].set_result(None)


class Working(threading.Thread):
    """A function on a thread, and what becomes of it."""

    def __init__(self, function: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._function = function
        self._error: BaseException | None = None
        self._value: Any = None
        self.start()

    def run(self) -> None:
        try:
            self._value = self._function()
        except BaseException as error:
            self._error = error

    def result(self) -> Any:
        self.join(PATIENCE)
        if self.is_alive():
            raise AssertionError("the thread is still at work")
        if self._error is not None:
            raise self._error
        return self._value


class Case(unittest.TestCase):
    """Serves in another thread. What a test has opened is closed behind it."""

    def setUp(self) -> None:
        self.there = Elsewhere()
        self.addCleanup(self.there.close)

    def serve(self, *handlers: Handler, where: str = "127.0.0.1:0", **options: Any) -> tuple[Server, str]:
        async def begin() -> tuple[Server, str]:
            server = Server(**options)
            server.register(*(handlers or (ECHO.handler(echo), *HANDLERS)))
            return server, await server.listen(where)

        server, address = self.there.run(begin())
        self.addCleanup(lambda: self.there.run(server.close()))
        return server, address

    def client(self, target: str, **options: Any) -> Client:
        client = Client(target, **{"codec": RAW, **options})
        self.addCleanup(client.close)
        return client

    def pair(self, *handlers: Handler, **options: Any) -> tuple[Server, Client]:
        server, address = self.serve(*handlers, **options)
        return server, self.client(address)

    def begun(self, gate: Gate) -> None:
        self.assertTrue(gate.begun.acquire(timeout=PATIENCE), "the handler has not begun")

    def fails(self, work: Callable[[], Any], code: Code, delivery: Delivery = Delivery.EXECUTED) -> StatusError:
        with self.assertRaises(StatusError) as caught:
            work()
        self.assertEqual((caught.exception.code, caught.exception.delivery), (code, delivery), str(caught.exception))
        return caught.exception


def until(what: str, condition: Callable[[], bool]) -> None:
    """Looks until the condition holds, within bounds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not so: {what}")
        time.sleep(0.005)


def run_program(program: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in an interpreter of its own."""
    return subprocess.run(
        [sys.executable, "-W", "error", *flags, "-c", program],
        cwd=PYTHON,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
