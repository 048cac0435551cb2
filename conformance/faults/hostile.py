"""Servers that no client should have met: each connection is handed to a function, which may do anything with it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

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
        asyncio.get_running_loop().add_reader(self._listener, self._accept, self._listener)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Ends all connections, and refuses others."""
        if self._listener:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        remove(self.address)

    async def all_ended(self) -> None:
        """Returns when the clients have ended all connections."""
        while self._tasks:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.failures.append(error)

    def _accept(self, listener: socket.socket) -> None:
        """Not by a task: one that is cancelled just then would lose the socket that it was about to have."""
        try:
            end, _ = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        self.connections += 1
        task = asyncio.create_task(self._meet(Met(end, self._tls, serves=True)))
        self._tasks.add(task)
        task.add_done_callback(self._done)
        task.add_done_callback(lambda _: end.close())  # also if it was cancelled before it began

    async def _meet(self, met: Met) -> None:
        # A client may end the connection at any time.
        with contextlib.suppress(ConnectionError, EOFError, ssl.SSLError):
            await met.handshake()
            await self._play(met)


def remove(address: str) -> None:
    """The file of a Unix socket, so that another server may take its place."""
    if address.startswith("unix:"):
        Path(address.removeprefix("unix:")).unlink()
