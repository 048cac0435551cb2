"""A server and a client of it, for tests of the public package."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import unittest
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from trunkcall import (
    RAW,
    Client,
    ClientStream,
    Code,
    Delivery,
    Handler,
    Server,
    ServerCall,
    StatusError,
    bidi_stream,
    client_stream,
    server_stream,
    unary,
)
from trunkcall.connecting import Connector

ECHO = unary("/test.Service/Echo", bytes, bytes)
OTHER = unary("/test.Service/Other", bytes, bytes)
COUNT = server_stream("/test.Service/Count", bytes, bytes)
JOIN = client_stream("/test.Service/Join", bytes, bytes)
TWICE = bidi_stream("/test.Service/Twice", bytes, bytes)


def connector(client: Client) -> Connector:
    """The first connector of a client with one endpoint."""
    endpoint = client._endpoints.order[0]
    endpoint.prepare()
    return endpoint.connectors[0]


PATIENCE = 60.0  # seconds after which a test that waits has failed, be the machine ever so busy


async def echo(request: bytes, call: ServerCall) -> bytes:
    return request


async def count(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
    for number in range(int(request)):
        yield str(number).encode()


async def join(requests: AsyncIterator[bytes], call: ServerCall) -> bytes:
    return b",".join([request async for request in requests])


async def twice(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
    async for request in requests:
        yield request * 2


def inline(request: bytes, call: ServerCall) -> bytes:
    return request


async def ends(requests: AsyncIterator[bytes], call: ServerCall) -> bytes:
    return b"".join([request[-5:] async for request in requests])


async def again(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
    async for request in requests:
        yield request


HANDLERS = (COUNT.handler(count), JOIN.handler(join), TWICE.handler(twice))


class Gate:
    """A handler that says when it has begun and waits until it is let on."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.open = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.runs = 0

    async def __call__(self, request: bytes, call: ServerCall) -> bytes:
        self.runs += 1
        self.begun.set()
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return request


class Case(unittest.IsolatedAsyncioTestCase):
    """Serves on loopback. What a test has opened is closed behind it."""

    async def serve(
        self, *handlers: Handler, where: str | socket.socket = "127.0.0.1:0", **options: Any
    ) -> tuple[Server, str]:
        server = Server(**options)
        server.register(*(handlers or (ECHO.handler(echo), *HANDLERS)))
        self.addAsyncCleanup(server.close)
        return server, await server.listen(where)

    def client(self, target: str, **options: Any) -> Client:
        client = Client(target, **{"codec": RAW, **options})
        self.addAsyncCleanup(client.close)
        return client

    async def pair(self, *handlers: Handler, **options: Any) -> tuple[Server, Client]:
        server, address = await self.serve(*handlers, **options)
        return server, self.client(address)

    async def fails(self, work: Awaitable[Any], code: Code, delivery: Delivery = Delivery.EXECUTED) -> StatusError:
        with self.assertRaises(StatusError) as caught:
            async with asyncio.timeout(PATIENCE):
                await work
        self.assertEqual((caught.exception.code, caught.exception.delivery), (code, delivery), str(caught.exception))
        return caught.exception

    async def runs_out(self, call: Callable[[float], Awaitable[Any]], begun: Callable[[], bool]) -> None:
        """Makes a call whose time runs out, in 50 ms at first. Where the machine stood still, that was before the
        handler had begun: then the call is made again, with more time."""
        timeout = 0.05
        while True:
            with self.assertRaises(StatusError) as caught:
                async with asyncio.timeout(PATIENCE):
                    await call(timeout)
            self.assertEqual(caught.exception.code, Code.DEADLINE_EXCEEDED, str(caught.exception))
            if begun() and caught.exception.delivery is Delivery.UNKNOWN:
                return
            timeout *= 4
            self.assertLess(timeout, 20, f"{caught.exception.delivery} although there was time")


async def eventually(condition: Callable[[], bool]) -> None:
    """Lets the loop turn until the condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def all_of(stream: ClientStream[Any, bytes]) -> list[bytes]:
    return [message async for message in stream]


@contextlib.asynccontextmanager
async def listener(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]],
    tls: ssl.SSLContext | None = None,
    limit: int = 1 << 16,  # bytes of one line
) -> AsyncIterator[str]:
    """A listener that is no server of ours: each connection is served so, and then closed; gives its address. It ends
    with all of them, also with one that was accepted and has not come here yet."""
    serving: list[asyncio.Task[None]] = []
    held: list[asyncio.StreamWriter] = []
    over = False

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError):
            await serve(reader, writer)
        writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if over:
            writer.transport.abort()
            return
        held.append(writer)
        serving.append(asyncio.create_task(served(reader, writer)))

    listening = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls, limit=limit)
    try:
        yield "{}:{}".format(*listening.sockets[0].getsockname()[:2])
    finally:
        for bound in listening.sockets:
            asyncio.get_running_loop().remove_reader(bound.fileno())
        await asyncio.sleep(0)  # asyncio forgets the socket of what was accepted if its server is closed before that
        listening.close()
        over = True
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        for writer in held:
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


def black_hole() -> contextlib.AbstractAsyncContextManager[str]:
    """A listener that takes connections and says nothing; gives its address."""

    async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    return listener(nothing)
