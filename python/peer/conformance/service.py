"""The service that the cases call: its handlers do as the request asks, and tell in their answers what they saw."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from google.protobuf.any_pb2 import Any as AnyMessage

import trunkcall
from conformance.v1 import conformance_pb2 as pb

from . import methods
from .data import from_entries, make_data
from .ledger import Ledger
from .onward import call_onward
from .sight import Sight

Requests = AsyncIterator[pb.Request]
Send = Callable[[pb.Answer], Awaitable[bool]]


class Service:
    """One may be registered with a server, or with a client whose servers call it."""

    def __init__(self) -> None:
        self._ledger = Ledger()

    def handlers(self) -> Sequence[trunkcall.Handler]:
        return [
            methods.READ.handler(self._unary),
            methods.UNARY.handler(self._unary),
            methods.TELL.handler(self._tell),
            methods.SERVER_STREAM.handler(self._server_stream),
            methods.CLIENT_STREAM.handler(self._client_stream),
            methods.BIDI_STREAM.handler(self._bidi_stream),
            methods.OBSERVE.handler(self._observe),
        ]

    async def _unary(self, request: pb.Request, call: trunkcall.ServerCall) -> pb.Answer:
        return await self._handle(only(request), call)

    async def _tell(self, request: pb.Request, call: trunkcall.ServerCall) -> None:
        await self._handle(only(request), call)

    async def _server_stream(self, request: pb.Request, call: trunkcall.ServerCall) -> None:
        await self._handle(only(request), call, call.send)

    async def _client_stream(self, requests: Requests, call: trunkcall.ServerCall) -> pb.Answer:
        return await self._handle(requests, call)

    async def _bidi_stream(self, requests: Requests, call: trunkcall.ServerCall) -> None:
        await self._handle(requests, call, call.send)

    async def _observe(self, request: pb.ObserveRequest, call: trunkcall.ServerCall) -> pb.Observed:
        return await self._ledger.observe(request.id, request.until)

    async def _handle(self, requests: Requests, call: trunkcall.ServerCall, send: Send | None = None) -> pb.Answer:
        """Carries out the plan of the first request. Without `send` there is one answer, which it returns."""
        handling = Handling(requests, call, send)
        first = await handling.read()
        handling.plan = first.plan if first is not None else pb.Plan()
        with self._ledger.handling(handling.plan.id, call, handling.sight):
            await handling.prepare()
            await handling.exchange(first)
            await handling.wait()
            return handling.finish()


async def only(request: pb.Request) -> Requests:
    yield request


class Handling:
    """One call of a handler."""

    plan: pb.Plan

    def __init__(self, requests: Requests, call: trunkcall.ServerCall, send: Send | None) -> None:
        self._requests = requests
        self._call = call
        self._send = send
        self.sight = Sight(call)
        self._onward: pb.Outcome | None = None
        self._sent = 0

    async def read(self) -> pb.Request | None:
        request = await anext(self._requests, None)
        if request is not None:
            self.sight.add(request.data)
        return request

    async def prepare(self) -> None:
        """Makes the handler's own call and sets the metadata of the answer."""
        if self.plan.HasField("onward"):
            self._onward = await call_onward(self._call, self.plan.onward)
        header = from_entries(self.plan.header)
        if self.plan.header_early:
            await self._call.send_header(header)
        else:
            self._call.set_header(header)
        self._call.set_trailer(from_entries(self.plan.trailer))

    async def exchange(self, first: pb.Request | None) -> None:
        """Reads the requests and sends the answers, as the plan says when."""
        if self._send is None:
            if self.plan.when != pb.UNREAD:
                await self._read_all()
        elif self.plan.when == pb.UNREAD:
            await self._send_all(self._send)
        elif self.plan.when == pb.AFTER_EACH:
            while first is not None:
                await self._send(self._answer(first))
                first = await self.read()
        elif self.plan.when == pb.AT_ONCE:
            await self._send_all(self._send)
            await self._read_all()
        else:
            await self._read_all()
            await self._send_all(self._send)

    async def _read_all(self) -> None:
        while await self.read() is not None:
            pass

    async def _send_all(self, send: Send) -> None:
        for _ in self.plan.answers:
            await send(self._answer(None))

    def _answer(self, to: pb.Request | None) -> pb.Answer:
        """The next answer: to a request, if it is given."""
        answer = pb.Answer(onward=self._onward)
        sizes = self.plan.answers
        if sizes:
            answer.data = make_data(sizes[self._sent % len(sizes)], self.plan.noise)
        elif to is not None:
            answer.data = to.data
        if not self.plan.bare:
            answer.seen.CopyFrom(self.sight.tell())
        self._sent += 1
        return answer

    async def wait(self) -> None:
        if self.plan.until_ended:
            await asyncio.Event().wait()
        elif self.plan.wait_ms:
            await asyncio.sleep(self.plan.wait_ms / 1_000)

    def finish(self) -> pb.Answer:
        """Ends the call. What it returns is the answer if there is one only."""
        if self.plan.panic:
            raise RuntimeError(self.plan.panic)
        if self.plan.HasField("failure"):
            failure = self.plan.failure
            details = [AnyMessage(type_url=detail.type_url, value=detail.value) for detail in failure.details]
            raise trunkcall.StatusError(failure.code, failure.message, details)
        return self._answer(None) if self._send is None else pb.Answer()
