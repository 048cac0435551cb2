"""The client's side of python-echo on an event loop: connections that callers share, and streams."""

from __future__ import annotations

import asyncio
import struct
from typing import cast

import load
from load import message

HEADER = struct.Struct("<II")  # the length of the payload, the number of the caller on its connection
WRITE_SIZE = 64 << 10


class Line(asyncio.Protocol):
    """A connection that callers share: one write for all frames of a turn of the loop."""

    transport: asyncio.Transport

    def __init__(self, payload: bytes):
        self._loop = asyncio.get_running_loop()
        self._payload = payload
        self._gathered: list[bytes] = []
        self._waiting: list[asyncio.Future[None] | None] = []  # by the number of the caller
        self._rest = b""
        self._failure: Exception | None = None

    def caller(self) -> load.AsyncCall:
        """One more of those who share the line."""
        number = len(self._waiting)
        self._waiting.append(None)
        frame = HEADER.pack(len(self._payload), number) + self._payload
        waiting, gathered, loop = self._waiting, self._gathered, self._loop

        async def call() -> None:
            if self._failure:
                raise self._failure
            if not gathered:
                loop.call_soon(self._flush)
            gathered.append(frame)
            answered: asyncio.Future[None] = loop.create_future()
            waiting[number] = answered
            await answered

        return call

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one without being derived from it

    def _flush(self) -> None:
        self.transport.write(b"".join(self._gathered))
        self._gathered.clear()

    def data_received(self, data: bytes) -> None:
        if self._rest:
            data = self._rest + data
        size, payload, at = HEADER.size + len(self._payload), self._payload, 0
        while at + size <= len(data):
            _, number = HEADER.unpack_from(data, at)
            answered = self._waiting[number]
            if answered is not None and not answered.done():
                if data[at + HEADER.size : at + size] == payload:
                    answered.set_result(None)
                else:
                    answered.set_exception(message.WrongAnswer(f"{len(payload)} bytes came back that were not sent"))
            at += size
        self._rest = data[at:]

    def connection_lost(self, exc: Exception | None) -> None:
        self._failure = exc or ConnectionError("the server ended the connection")
        for answered in self._waiting:
            if answered is not None and not answered.done():
                answered.set_exception(self._failure)


class Stream(asyncio.Protocol):
    """Sends without pause; each call takes one frame of what comes back. Short frames are written many at a time."""

    transport: asyncio.Transport

    def __init__(self, frame: bytes):
        self._loop = asyncio.get_running_loop()
        self._size = len(frame)
        self._chunk = frame * max(WRITE_SIZE // len(frame), 1)
        self._available = 0
        self._waiting: asyncio.Future[None] | None = None
        self._paused = False
        self._failure: Exception | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one without being derived from it
        self._loop.call_soon(self._send)

    def _send(self) -> None:
        # What the socket does not take fills the transport's buffer, which then asks for a pause.
        while not self._paused and not self.transport.is_closing():
            self.transport.write(self._chunk)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._loop.call_soon(self._send)

    def data_received(self, data: bytes) -> None:
        self._available += len(data)
        if self._waiting is not None and self._available >= self._size:
            self._waiting.set_result(None)
            self._waiting = None

    async def call(self) -> None:
        if self._available < self._size:
            if self._failure:
                raise self._failure
            self._waiting = self._loop.create_future()
            await self._waiting
        self._available -= self._size

    def connection_lost(self, exc: Exception | None) -> None:
        self._failure = exc or ConnectionError("the server ended the connection")
        if self._waiting is not None:
            self._waiting.set_exception(self._failure)
            self._waiting = None
