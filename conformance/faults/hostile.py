"""Servers that no client should have met: each connection is handed to a function, which may do anything with it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from harness.proxy import listening

from . import raw

Play = Callable[["Met"], Awaitable[None]]

CALL_ID = b"ledger-call"


class Met(raw.End):
    """A connection of a client. `call` is its first call: the id in the client's ledger, and the stream."""

    call = ""
    stream = 0

    async def called(self) -> None:
        """Waits for the client's first call."""
        self.stream, _, _, _, body = await self.frame(raw.CALL)
        found = body.find(raw.text(CALL_ID.decode()))
        if found >= 0:
            at = found + 1 + len(CALL_ID)
            self.call = body[at + 1 : at + 1 + body[at]].decode()


class Hostile:
    """Listens while it is entered. `failures` are those of the tests' own, of which there should be none."""

    def __init__(self, address: str, play: Play, tls: ssl.SSLContext | None = None) -> None:
        self.address = address
        self.connections = 0
        self.failures: list[BaseException] = []
        self._play = play
        self._tls = tls
        self._listener: socket.socket | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Hostile:
        self._listener, self.address = listening(self.address)
        self._begin(self._accept(self._listener))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Ends all connections, and refuses others."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._listener:
            self._listener.close()
        remove(self.address)

    async def all_ended(self) -> None:
        """Returns when the clients have ended all connections."""
        while len(self._tasks) > 1:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    def _begin(self, what: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(what)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.failures.append(error)

    async def _accept(self, listener: socket.socket) -> None:
        while True:
            end, _ = await asyncio.get_running_loop().sock_accept(listener)
            self.connections += 1
            meeting = self._begin(self._meet(Met(end, self._tls, serves=True)))
            # Not by the task itself, which may be cancelled before it begins.
            meeting.add_done_callback(functools.partial(closed, end))

    async def _meet(self, met: Met) -> None:
        # A client may end the connection at any time.
        with contextlib.suppress(ConnectionError, EOFError, ssl.SSLError):
            await met.handshake()
            await self._play(met)


def closed(end: socket.socket, _: asyncio.Task[None]) -> None:
    end.close()


def remove(address: str) -> None:
    """The file of a Unix socket, so that another server may take its place."""
    if address.startswith("unix:"):
        Path(address.removeprefix("unix:")).unlink()
