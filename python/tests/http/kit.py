"""A client of HTTP/2 and one of HTTP/1.1, for tests of what servers make of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    PingAckReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)

from tests.public.kit import PATIENCE, Case

ECHO_PATH = "/test.Service/Echo"


def framed(message: bytes, flags: int = 0) -> bytes:
    return bytes((flags,)) + len(message).to_bytes(4, "big") + message


def texts(headers: Any) -> dict[str, str]:
    return dict(headers)


class Answer:
    """What has come of an answer."""

    def __init__(self) -> None:
        self.head: dict[str, str] = {}
        self.trailers: dict[str, str] = {}
        self.body = b""
        self.reset: int | None = None
        self.ended = False


class Http2Client:
    """One connection of HTTP/2, in the clear."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.h2 = H2Connection(H2Configuration(header_encoding="latin-1"))
        self.h2.initiate_connection()
        self.answers: dict[int, Answer] = {}
        self.goaways: list[ConnectionTerminated] = []
        self.closed = False
        self.credits = True  # what comes is given back
        self._next = 1
        self._settled = False
        self.flush()

    def flush(self) -> None:
        self.writer.write(self.h2.data_to_send())

    def ask(self, path: str = ECHO_PATH, body: bytes | None = b"", end: bool = True, **fields: Any) -> Answer:
        """Sends a request of gRPC with raw messages, unless `fields` say otherwise. `body` None: GET."""
        number, self._next = self._next, self._next + 2
        method = fields.pop("method", "GET" if body is None else "POST")
        head = {"content-type": "application/grpc+raw", "te": "trailers"}
        head |= {name.replace("_", "-"): value for name, value in fields.items()}
        top = [(":method", method), (":scheme", "http"), (":path", path), (":authority", "here")]
        self.h2.send_headers(number, [*top, *head.items()], end_stream=body is None)
        if body is not None:
            self.h2.send_data(number, body, end_stream=end)
        self.flush()
        answer = self.answers[number] = Answer()
        return answer

    async def send(self, answer: Answer, body: bytes, end: bool = True) -> None:
        """Sends more of a request, as the windows let it."""
        number = self.number(answer)
        while body:
            await self.until(lambda: self.h2.local_flow_control_window(number) > 0)
            size = min(self.h2.local_flow_control_window(number), 16_384)
            self.h2.send_data(number, body[:size], end_stream=end and len(body) <= size)
            self.flush()
            body = body[size:]

    async def settle(self) -> None:
        """Waits until the server has read what was sent."""
        self._settled = False
        self.h2.ping(b"settled?")
        self.flush()
        await self.until(lambda: self._settled)

    def number(self, answer: Answer) -> int:
        return next(number for number, one in self.answers.items() if one is answer)

    async def until(self, done: Callable[[], bool]) -> None:
        """Reads until the condition holds, or the connection ends."""
        async with asyncio.timeout(PATIENCE):
            while not done() and not self.closed:
                try:
                    data = await self.reader.read(65_536)
                except ConnectionError:
                    data = b""
                self.closed = not data
                for event in self.h2.receive_data(data) if data else ():
                    self._take(event)
                self.flush()

    def _take(self, event: Any) -> None:
        answer = self.answers.get(getattr(event, "stream_id", None) or 0, Answer())
        match event:
            case ResponseReceived():
                answer.head = texts(event.headers)
            case TrailersReceived():
                answer.trailers = texts(event.headers)
            case DataReceived():
                answer.body += event.data
                if self.credits and event.flow_controlled_length:
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case StreamEnded():
                answer.ended = True
            case StreamReset():
                answer.reset = event.error_code
            case ConnectionTerminated():
                self.goaways.append(event)
            case PingAckReceived():
                self._settled = True
            case _:
                pass

    async def answer(self, given: Answer) -> Answer:
        await self.until(lambda: given.ended or given.reset is not None)
        return given


class HttpCase(Case):
    async def http2(self, address: str) -> Http2Client:
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        self.addAsyncCleanup(self._close, writer)
        return Http2Client(reader, writer)

    async def _close(self, writer: asyncio.StreamWriter) -> None:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    async def http1(self, address: str, data: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        self.addAsyncCleanup(self._close, writer)
        writer.write(data)
        return reader, writer

    async def exchanged(self, address: str, data: bytes) -> tuple[int, dict[str, str], bytes]:
        """The answer to a request of HTTP/1.1: its status, its fields and its body."""
        reader, _ = await self.http1(address, data)
        return await answer_of(reader)


async def answer_of(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    async with asyncio.timeout(PATIENCE):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        body = b""
        if fields.get("transfer-encoding") == "chunked":
            while size := int(await reader.readline(), 16):
                body += await reader.readexactly(size)
                await reader.readline()
            await reader.readline()
        elif "content-length" in fields:
            body = await reader.readexactly(int(fields["content-length"]))
    return int(first.split()[1]), fields, body


def post(body: bytes, path: str = ECHO_PATH, kind: str = "application/raw", *fields: str) -> bytes:
    """A request of HTTP/1.1."""
    lines = (f"POST {path} HTTP/1.1", "Host: here", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *fields)
    return "\r\n".join((*lines, "", "")).encode() + body
