"""gRPC's test service, by coroutines and by plain methods. It echoes metadata, payloads of the size that is asked for,
and a status."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc

from conformance.interop.python.generated import pb, stubs

INITIAL, TRAILING = "x-grpc-test-echo-initial", "x-grpc-test-echo-trailing-bin"
CODES = {code.value[0]: code for code in grpc.StatusCode}


def payload(size: int) -> Any:
    return pb.Payload(body=bytes(size))


def response(asked: Any) -> Any:
    return pb.StreamingOutputCallResponse(payload=payload(asked.size))


def echoed(context: Any, key: str) -> tuple[tuple[str, Any], ...]:
    return tuple((name, value) for name, value in context.invocation_metadata() if name == key)


class Awaited(stubs.TestServiceServicer):  # type: ignore[misc]
    async def EmptyCall(self, request: Any, context: Any) -> Any:
        return pb.Empty()

    async def UnaryCall(self, request: Any, context: Any) -> Any:
        await self._echo(request, context)
        return pb.SimpleResponse(payload=payload(request.response_size))

    async def StreamingOutputCall(self, request: Any, context: Any) -> AsyncIterator[Any]:
        for asked in request.response_parameters:
            yield response(asked)

    async def StreamingInputCall(self, request_iterator: Any, context: Any) -> Any:
        size = 0
        async for request in request_iterator:
            size += len(request.payload.body)
        return pb.StreamingInputCallResponse(aggregated_payload_size=size)

    async def FullDuplexCall(self, request_iterator: Any, context: Any) -> AsyncIterator[Any]:
        first = True
        async for request in request_iterator:
            await self._echo(request, context, first)
            first = False
            for asked in request.response_parameters:
                yield response(asked)

    async def _echo(self, request: Any, context: Any, first: bool = True) -> None:
        if first and (metadata := echoed(context, INITIAL)):
            await context.send_initial_metadata(metadata)
        context.set_trailing_metadata(echoed(context, TRAILING))
        if request.response_status.code:
            await context.abort(CODES[request.response_status.code], request.response_status.message)


class Plain(stubs.TestServiceServicer):  # type: ignore[misc]
    def EmptyCall(self, request: Any, context: Any) -> Any:
        return pb.Empty()

    def UnaryCall(self, request: Any, context: Any) -> Any:
        self._echo(request, context)
        return pb.SimpleResponse(payload=payload(request.response_size))

    def StreamingOutputCall(self, request: Any, context: Any) -> Iterator[Any]:
        return map(response, request.response_parameters)

    def StreamingInputCall(self, request_iterator: Any, context: Any) -> Any:
        size = sum(len(request.payload.body) for request in request_iterator)
        return pb.StreamingInputCallResponse(aggregated_payload_size=size)

    def FullDuplexCall(self, request_iterator: Any, context: Any) -> Iterator[Any]:
        first = True
        for request in request_iterator:
            self._echo(request, context, first)
            first = False
            yield from map(response, request.response_parameters)

    def _echo(self, request: Any, context: Any, first: bool = True) -> None:
        if first and (metadata := echoed(context, INITIAL)):
            context.send_initial_metadata(metadata)
        context.set_trailing_metadata(echoed(context, TRAILING))
        if request.response_status.code:
            context.abort(CODES[request.response_status.code], request.response_status.message)
