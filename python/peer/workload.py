"""The calls that bench makes. Each answer of a unary method is checked, and the first of a stream."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import trunkcall
from bench.v1.bench_pb2 import EmitRequest, Payload
from load import AsyncCall, message

from . import native

METHODS = ("Say", "Echo", "EchoStream", "Emit")

Unary = Callable[[Any], Awaitable[Any]]


class Workload:
    """Makes the call functions of callers; `stock` goes through the stock stubs instead of typed methods."""

    def __init__(self, method: str, size: int, stock: bool) -> None:
        self.method = method
        self.size = size
        self.stock = stock
        self._sending: list[asyncio.Task[None]] = []
        self._streams: list[Any] = []  # that only the server sends on

    def new_call(self, client: trunkcall.Client) -> AsyncCall:
        match self.method:
            case "Say":
                return self._say(client)
            case "Echo":
                return self._echo(client)
            case "Emit":
                return self._emit(client)
            case _:
                return self._stream(client)

    def end(self) -> None:
        """Ends the streams."""
        for ending in (*self._sending, *self._streams):
            ending.cancel()

    def _say(self, client: trunkcall.Client) -> AsyncCall:
        request, check = message.request(), message.check
        if self.stock:
            say = stock_stub(client).Say

            async def call() -> None:
                answer = await say(request)
                check(answer.field1, answer.field2)
        else:
            method, make = native.SAY, client.call

            async def call() -> None:
                answer = await make(method, request)
                check(answer.field1, answer.field2)

        return call

    def _echo(self, client: trunkcall.Client) -> AsyncCall:
        request, check = message.payload(self.size), message.check_data
        sent = request.data
        if self.stock:
            echo = stock_stub(client).Echo

            async def call() -> None:
                answer = await echo(request)
                check(answer.data, sent)
        else:
            method, make = native.ECHO, client.call

            async def call() -> None:
                answer = await make(method, request)
                check(answer.data, sent)

        return call

    def _stream(self, client: trunkcall.Client) -> AsyncCall:
        """Sends without pause from a task of its own, as far as flow control lets it; a call takes one answer."""
        send, receive = self._open(client)
        request = message.payload(self.size)

        async def send_on() -> None:
            with contextlib.suppress(Exception):  # the receiver meets the same failure and reports it
                while await send(request) is not False:
                    pass

        self._sending.append(asyncio.create_task(send_on()))
        return checking_first(receive, request.data)

    def _emit(self, client: trunkcall.Client) -> AsyncCall:
        """Has the server send without pause; a call takes one message."""
        request = EmitRequest(size=self.size)
        if self.stock:
            stock = stock_stub(client).Emit(request)
            self._streams.append(stock)
            return checking_first(stock.read, message.data(self.size))
        stream = client.open(native.EMIT, request)
        self._streams.append(stream)
        return checking_first(stream.receive, message.data(self.size))

    def _open(self, client: trunkcall.Client) -> tuple[Unary, Callable[[], Awaitable[object]]]:
        if self.stock:
            stock = stock_stub(client).EchoStream()
            return stock.write, stock.read
        stream = client.open(native.ECHO_STREAM)
        return stream.send, stream.receive


def checking_first(receive: Callable[[], Awaitable[object]], want: bytes) -> AsyncCall:
    """Receives a message, and checks it if it is the first."""
    checked = False

    async def call() -> None:
        nonlocal checked
        answer = await receive()
        if not isinstance(answer, Payload):
            raise message.WrongAnswer("the server ended the stream")
        if not checked:
            message.check_data(answer.data, want)
            checked = True

    return call


def stock_stub(client: trunkcall.Client) -> Any:
    """Imports the stub only where it is used, so that other measurements do not pay for it."""
    from bench.v1 import bench_pb2_grpc
    from trunkcall.grpcstub import aio

    return bench_pb2_grpc.BenchServiceStub(aio.Channel(client))
