"""The suite's service: a request says what its answer is to be, and the answer repeats what came."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from google.protobuf.any_pb2 import Any as AnyMessage

import trunkcall

from .schema import PACKAGE, Schema, from_headers, to_headers

SERVICE = f"/{PACKAGE}.ConformanceService"


class Service:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def handlers(self) -> Sequence[trunkcall.Handler]:
        return [
            self._method(trunkcall.unary, "Unary").handler(self._unary("Unary")),
            self._method(trunkcall.unary, "IdempotentUnary").handler(self._unary("IdempotentUnary")),
            self._method(trunkcall.client_stream, "ClientStream").handler(self._client_stream),
            self._method(trunkcall.server_stream, "ServerStream").handler(self._server_stream),
            self._method(trunkcall.bidi_stream, "BidiStream").handler(self._bidi_stream),
        ]

    def _method(self, kind: Any, name: str) -> Any:
        return kind(f"{SERVICE}/{name}", self._schema.type(f"{name}Request"), self._schema.type(f"{name}Response"))

    def _unary(self, method: str) -> Callable[[Any, trunkcall.ServerCall], Any]:
        async def answer(request: Any, call: trunkcall.ServerCall) -> Any:
            return await self._answer_one(method, [request], call)

        return answer

    async def _client_stream(self, requests: AsyncIterator[Any], call: trunkcall.ServerCall) -> Any:
        return await self._answer_one("ClientStream", [request async for request in requests], call)

    async def _answer_one(self, method: str, requests: list[Any], call: trunkcall.ServerCall) -> Any:
        """The one answer to requests, of which the first says what it is."""
        given = bool(requests) and requests[0].HasField("response_definition")
        info = self._info(requests, call)
        answer = self._schema.type(f"{method}Response")()
        if given:
            definition = requests[0].response_definition
            begin(definition, call)
            await wait(definition)
            if definition.HasField("error"):
                raise failure(definition.error, info)
            answer.payload.data = definition.response_data
        answer.payload.request_info.CopyFrom(info)
        return answer

    async def _server_stream(self, request: Any, call: trunkcall.ServerCall) -> None:
        answering = Answering(self, "ServerStream", call)
        await answering.open(request)
        await answering.rest([request])

    async def _bidi_stream(self, requests: AsyncIterator[Any], call: trunkcall.ServerCall) -> None:
        answering = Answering(self, "BidiStream", call)
        waiting: list[Any] = []  # requests that no answer has told of
        first: Any = None
        async for request in requests:
            waiting.append(request)
            if first is None:
                first = request
                if first.full_duplex:
                    await answering.open(first)
            if first.full_duplex:
                if not answering.left:
                    break
                await answering.next(waiting)
                waiting = []
        if first is not None and not first.full_duplex:
            await answering.open(first)
        await answering.rest(waiting)

    def _info(self, requests: list[Any], call: trunkcall.ServerCall, *, first: bool = True) -> Any:
        """What is told of a call; of its metadata in the first answer alone."""
        info = self._schema.type("ConformancePayload.RequestInfo")()
        for request in requests:
            url = f"type.googleapis.com/{request.DESCRIPTOR.full_name}"
            info.requests.add(type_url=url, value=request.SerializeToString())
        if first:
            to_headers(call.metadata, info.request_headers)
            if (left := call.time_remaining()) is not None:
                info.timeout_ms = int(left * 1_000)
        return info


class Answering:
    """A stream of answers."""

    def __init__(self, service: Service, method: str, call: trunkcall.ServerCall) -> None:
        self._service = service
        self._method = method
        self._call = call
        self._definition: Any = None
        self._sent = 0

    @property
    def left(self) -> bool:
        return self._definition is not None and self._sent < len(self._definition.response_data)

    async def open(self, request: Any) -> None:
        """Takes the definition from the first request, and sends the header if answers will follow."""
        if request.HasField("response_definition"):
            self._definition = request.response_definition
            begin(self._definition, self._call)
            if self.left:
                await self._call.send_header()

    async def next(self, requests: list[Any]) -> None:
        await wait(self._definition)
        answer = self._service._schema.type(f"{self._method}Response")()
        answer.payload.data = self._definition.response_data[self._sent]
        if requests or not self._sent:
            info = self._service._info(requests, self._call, first=not self._sent)
            answer.payload.request_info.CopyFrom(info)
        self._sent += 1
        await self._call.send(answer)

    async def rest(self, requests: list[Any]) -> None:
        """Sends the answers that are left, and ends as it is asked to."""
        while self.left:
            await self.next(requests)
            requests = []
        if self._definition is not None and self._definition.HasField("error"):
            info = None if self._sent else self._service._info(requests, self._call)
            raise failure(self._definition.error, info)


def begin(definition: Any, call: trunkcall.ServerCall) -> None:
    call.set_header(from_headers(definition.response_headers))
    call.set_trailer(from_headers(definition.response_trailers))


async def wait(definition: Any) -> None:
    await asyncio.sleep(definition.response_delay_ms / 1_000)


def failure(error: Any, info: Any) -> trunkcall.StatusError:
    """The error that is wanted, with info among its details if that was not told yet."""
    details = [AnyMessage(type_url=detail.type_url, value=detail.value) for detail in error.details]
    if info is not None:
        url = f"type.googleapis.com/{info.DESCRIPTOR.full_name}"
        details.append(AnyMessage(type_url=url, value=info.SerializeToString()))
    return trunkcall.StatusError(error.code, error.message, details)  # the numbers of codes are gRPC's
