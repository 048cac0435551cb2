"""Bytes that no client would send, on a server's one port: each harms its own connection alone, and leaves nothing."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import random
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest import mock

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes

from harness.certificates import Authority
from tests.public.kit import COUNT, ECHO, HANDLERS, JOIN, PATIENCE, TWICE, echo, eventually
from trunkcall import Server, ServerCall, server_tls
from trunkcall.http import frames

from .kit import ECHO_PATH, Http2Client, HttpCase, framed, post

ALLOWED = 20  # frames without use, of 4,096
CONNECTIONS, AT_ONCE = 200, 20


def http2() -> bytes:
    """A session of HTTP/2 as a client has it: requests of all kinds, a reset, PINGs and credit."""
    h2 = H2Connection(H2Configuration(header_encoding="latin-1"))
    h2.initiate_connection()
    for number, (path, body) in enumerate(
        ((ECHO_PATH, b"x"), (COUNT.name, b"3"), (JOIN.name, b"y"), (TWICE.name, b""))
    ):
        stream = 2 * number + 1
        top = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "here")]
        kind = "text/plain" if path == "/page" else "application/grpc+raw"
        h2.send_headers(stream, [*top, ("content-type", kind), ("te", "trailers"), ("key", "value")])
        h2.send_data(stream, framed(body) * 3, end_stream=number % 2 == 0)
    h2.ping(b"12345678")
    h2.increment_flow_control_window(1_000)
    h2.reset_stream(3)
    return h2.data_to_send()


CONNECT = "application/connect+raw"
CHUNKS = b"POST /test.Service/Join HTTP/1.1\r\nHost: h\r\nContent-Type: application/connect+raw\r\n"
CHUNKS += b"Transfer-Encoding: chunked\r\n\r\n6\r\n" + framed(b"x") + b"\r\n6\r\n" + framed(b"y") + b"\r\n0\r\n\r\n"
SEEDS = (
    http2(),
    post(b"x"),
    post(b"x") * 3,
    post(framed(b"3"), COUNT.name, CONNECT) + post(framed(b"a") * 2, TWICE.name, CONNECT),
    CHUNKS,
    CHUNKS + post(b"x"),
    post(b"AAAAAAF4", ECHO_PATH, "application/grpc-web-text+raw"),
    b"GET /test.Service/Echo?message=x&encoding=raw HTTP/1.1\r\nHost: h\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1Ng==\r\nSec-WebSocket-Protocol: trunk\r\n\r\n",
    b"\xf5TK1" + bytes(12),
    b"PUT /page HTTP/1.1\r\nHost: h\r\nContent-Length: 300\r\n\r\n" + bytes(300),
    b"\x16\x03\x01\x00\x40\x01\x00\x00\x3c\x03\x03" + bytes(58),
)


def spoilt(draw: random.Random) -> bytes:
    """What was once a beginning of something, changed in up to five places."""
    data = bytearray(draw.choice(SEEDS))
    for _ in range(draw.randrange(6)):
        at, size = draw.randrange(len(data) + 1), draw.randrange(1, 40)
        match draw.randrange(5):
            case 0:
                data[at : at + 1] = bytes((draw.randrange(256),))
            case 1:
                del data[at : at + size]
            case 2:
                data[at:at] = data[at : at + size]
            case 3:
                data[at:at] = draw.randbytes(size)
            case _:
                other = draw.choice(SEEDS)
                data[at:] = other[draw.randrange(len(other)) :]
    return bytes(data)


async def slow(requests: AsyncIterator[bytes], call: ServerCall) -> bytes:
    found = [request async for request in requests]
    await asyncio.sleep(0.001)
    return b"".join(found)


async def back(scope: Any, receive: Any, send: Any) -> None:
    """An application that sends each piece of a body back as it comes, and has no lifespan."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        more = message["more_body"]
        await send({"type": "http.response.body", "body": message["body"], "more_body": more})


class Hostile(HttpCase):
    async def asyncSetUp(self) -> None:
        self.ignored: list[Any] = []  # such as coroutines that were never awaited
        hook = mock.patch.object(sys, "unraisablehook", self.ignored.append)
        hook.start()
        self.addCleanup(hook.stop)

    async def meets(self, address: str, seed: int) -> None:
        """One connection, which ends in one of the ways in which connections end."""
        draw = random.Random(seed)
        host, _, port = address.rpartition(":")
        try:
            reader, writer = await asyncio.open_connection(host, int(port))
        except OSError:
            return
        data = spoilt(draw)
        with contextlib.closing(writer):
            while data:
                size = draw.choice((1, 9, 100, len(data)))
                writer.write(data[:size])
                data = data[size:]
                await asyncio.sleep(0)
            match draw.randrange(3):
                case 0:
                    writer.transport.abort()
                case 1:
                    pass
                case _:
                    with contextlib.suppress(OSError):
                        writer.write_eof()
                    with contextlib.suppress(ConnectionError):
                        await asyncio.wait_for(reader.read(), PATIENCE)

    async def harmed(self, server: Server, address: str) -> None:
        for seed in range(0, CONNECTIONS, AT_ONCE):
            await asyncio.gather(*(self.meets(address, seed + one) for one in range(AT_ONCE)))
        await eventually(lambda: server.running == 0 and not server._connections)

    async def test_a_server_is_left_as_it_was(self) -> None:
        server, address = await self.serve(ECHO.handler(echo), JOIN.handler(slow), *HANDLERS[::2], asgi=back)
        logging.getLogger("trunkcall").setLevel(logging.CRITICAL)
        self.addCleanup(logging.getLogger("trunkcall").setLevel, logging.NOTSET)
        with self.assertNoLogs("asyncio", logging.ERROR):
            await self.harmed(server, address)
        gauges = server.gauges()
        self.assertEqual((gauges.held_bytes, gauges.unsent_bytes, gauges.connections), (0, 0, 0))
        client = self.client(address)
        self.assertEqual(await client.call(ECHO, b"native"), b"native")
        other = await self.http2(address)
        self.assertEqual((await other.answer(other.ask(body=framed(b"http")))).body, framed(b"http"))
        await server.close()
        gc.collect()
        self.assertEqual(self.ignored, [])

    async def test_a_server_that_closes_under_them_leaves_nothing_either(self) -> None:
        await self.closed()

    async def test_nor_does_one_with_tls(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            own = Authority(Path(folder)).server("127.0.0.1")
            await self.closed(tls=server_tls(own.cert, own.key))

    async def closed(self, **options: Any) -> None:
        logging.getLogger("trunkcall").setLevel(logging.CRITICAL)
        self.addCleanup(logging.getLogger("trunkcall").setLevel, logging.NOTSET)
        for seed in range(0, CONNECTIONS, AT_ONCE):
            server, address = await self.serve(
                ECHO.handler(echo), JOIN.handler(slow), *HANDLERS[::2], asgi=back, **options
            )
            met = [asyncio.create_task(self.meets(address, seed + one)) for one in range(AT_ONCE)]
            for _ in range(seed % 37):
                await asyncio.sleep(0)
            with self.assertNoLogs("asyncio", logging.ERROR):
                await server.close()
                await asyncio.wait_for(asyncio.gather(*met), PATIENCE)
            self.assertEqual(server.running, 0)
        gc.collect()
        self.assertEqual(self.ignored, [])


def frame(kind: int, flags: int, stream: int, body: bytes = b"") -> bytes:
    return len(body).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + body


class Flood:
    """What a peer says again and again: each as if it had said nothing before."""

    def __init__(self, client: Http2Client) -> None:
        self._client = client
        self._number = 1

    def head(self, path: str, end: bool) -> int:
        number, self._number = self._number, self._number + 2
        top = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "here")]
        block = self._client.h2.encoder.encode([*top, ("content-type", "application/grpc+raw")])
        first, rest = block[:16_384], block[16_384:]
        self._client.writer.write(frame(1, end if rest else 4 | end, number, first))
        if rest:
            self._client.writer.write(frame(9, 4, number, rest))
        return number

    def ping(self) -> None:
        self._client.writer.write(frame(6, 0, 0, bytes(8)))

    def settings(self) -> None:
        self._client.writer.write(frame(4, 0, 0, b"\0\4\0\0\0\1"))

    def many_settings(self) -> None:
        self._client.writer.write(frame(4, 0, 0, b"\0\4\0\0\0\1" * 2_700))

    def priority(self) -> None:
        self._client.writer.write(frame(2, 0, 1, b"\0\0\0\0\1"))

    def credit(self) -> None:
        self._client.writer.write(frame(8, 0, 0, b"\0\0\0\1"))

    def unknown(self) -> None:
        self._client.writer.write(frame(99, 0, 0))

    def empty(self) -> None:
        if self._number == 1:
            self.head(JOIN.name, end=False)
        self._client.writer.write(frame(0, 0, 1))

    def rapid_reset(self) -> None:
        self._client.writer.write(frame(3, 0, self.head(JOIN.name, end=False), bytes(4)))

    def reset_after_data(self) -> None:
        number = self.head(JOIN.name, end=False)
        self._client.writer.write(frame(0, 0, number, framed(b"")) + frame(3, 0, number, bytes(4)))

    def unserved(self) -> None:
        self.head("/no/where", end=True)

    def too_large(self) -> None:
        self.head("/" + "x" * 33_000, end=True)

    def behind_a_reset(self) -> None:
        if self._number == 1:
            self._client.writer.write(frame(3, 0, self.head(JOIN.name, end=False), bytes(4)))
        self._client.writer.write(frame(0, 0, 1, b"x"))


FLOODS = [name for name in vars(Flood) if name[0] != "_" and name != "head"]


async def goaway(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The code and the text with which a connection is ended, of which a client's library would not read all."""
    async with asyncio.timeout(PATIENCE):
        while True:
            header = await reader.readexactly(9)
            body = await reader.readexactly(int.from_bytes(header[:3], "big"))
            if header[3] == 7:
                return int.from_bytes(body[4:8], "big"), body[8:]


class Floods(HttpCase):
    async def test_each_ends_its_connection_which_is_told_why_and_no_other(self) -> None:
        server, address = await self.serve(ECHO.handler(echo), JOIN.handler(slow))
        bystander = await self.http2(address)
        await bystander.settle()
        known = next(iter(server._connections)).connection
        for name in FLOODS:
            with self.subTest(name), mock.patch.object(frames, "_EACH", 1 << 62):  # time earns nothing
                client = await self.http2(address)
                again = getattr(Flood(client), name)
                await client.settle()
                connection: Any
                (connection,) = (end.connection for end in server._connections if end.connection is not known)
                connection.allowance._left = ALLOWED
                for _ in range(ALLOWED + 1):
                    again()
                error, text = await goaway(client.reader)
                self.assertEqual(error, ErrorCodes.ENHANCE_YOUR_CALM)
                self.assertIn(b"frames without use", text)
                client.writer.close()
                await eventually(lambda: len(server._connections) == 1)
                answer = await bystander.answer(bystander.ask(body=framed(b"served")))
                self.assertEqual(answer.body, framed(b"served"))
        await eventually(lambda: server.running == 0)
        self.assertEqual(server.gauges().held_bytes, 0)
