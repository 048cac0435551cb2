"""The same cases with asyncio's stubs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import grpc
import grpc.aio

from conformance.interop.python import cases
from conformance.interop.python.cases import ASKED, GIVEN, PATIENCE, SENT, SPECIAL, echoes, same, size_of
from conformance.interop.python.generated import pb
from conformance.interop.python.services import payload

Case = Callable[[Any, Any], Awaitable[None]]


async def fails(work: Awaitable[Any], code: grpc.StatusCode, message: str | None = None) -> None:
    try:
        await work
    except grpc.aio.AioRpcError as error:
        same(error.code(), code)
        if message is not None:
            same(error.details(), message)
    else:
        raise AssertionError(f"it did not fail with {code}")


async def all_of(call: Any) -> list[Any]:
    return [one async for one in call]


async def empty_unary(stub: Any, other: Any) -> None:
    same(await stub.EmptyCall(pb.Empty(), timeout=PATIENCE), pb.Empty())


async def large_unary(stub: Any, other: Any) -> None:
    same((await stub.UnaryCall(cases.large(), timeout=PATIENCE)).payload, payload(314_159))


async def client_streaming(stub: Any, other: Any) -> None:
    answer = await stub.StreamingInputCall(iter(cases.inputs()), timeout=PATIENCE)
    same(answer.aggregated_payload_size, sum(GIVEN))


async def server_streaming(stub: Any, other: Any) -> None:
    call = stub.StreamingOutputCall(cases.output(*ASKED), timeout=PATIENCE)
    same([size_of(one) async for one in call], [*ASKED])


async def ping_pong(stub: Any, other: Any) -> None:
    call = stub.FullDuplexCall(timeout=PATIENCE)
    for asked, given in zip(ASKED, GIVEN, strict=True):
        await call.write(cases.output(asked, given=given))
        same(size_of(await call.read()), asked)
    await call.done_writing()
    same(await call.read(), grpc.aio.EOF)
    same(await call.code(), grpc.StatusCode.OK)


async def empty_stream(stub: Any, other: Any) -> None:
    call = stub.FullDuplexCall(timeout=PATIENCE)
    await call.done_writing()
    same(await call.read(), grpc.aio.EOF)


async def timeout_on_sleeping_server(stub: Any, other: Any) -> None:
    call = stub.FullDuplexCall(timeout=0.001)
    with suppress(grpc.aio.AioRpcError):
        await call.write(cases.output(given=27_182))
    await fails(call.read(), grpc.StatusCode.DEADLINE_EXCEEDED)


async def cancel_after_begin(stub: Any, other: Any) -> None:
    call = stub.StreamingInputCall()
    same(call.cancel(), True)
    same(await call.code(), grpc.StatusCode.CANCELLED)
    same(call.cancelled(), True)


async def cancel_after_first_response(stub: Any, other: Any) -> None:
    call = stub.FullDuplexCall(timeout=PATIENCE)
    await call.write(cases.output(31_415, given=27_182))
    same(size_of(await call.read()), 31_415)
    same(call.cancel(), True)
    try:
        await call.read()
    except asyncio.CancelledError:
        same(await call.code(), grpc.StatusCode.CANCELLED)
    else:
        raise AssertionError("it was not cancelled")


async def status_code_and_message(stub: Any, other: Any) -> None:
    message = "test status message"
    await fails(stub.UnaryCall(cases.failing(message), timeout=PATIENCE), grpc.StatusCode.UNKNOWN, message)
    call = stub.FullDuplexCall(iter([cases.output(code=2, message=message)]), timeout=PATIENCE)
    await fails(all_of(call), grpc.StatusCode.UNKNOWN, message)


async def special_status_message(stub: Any, other: Any) -> None:
    await fails(stub.UnaryCall(cases.failing(SPECIAL), timeout=PATIENCE), grpc.StatusCode.UNKNOWN, SPECIAL)


async def custom_metadata(stub: Any, other: Any) -> None:
    call = stub.UnaryCall(cases.large(), metadata=SENT, timeout=PATIENCE)
    await call
    await _echoes(call)
    call = stub.FullDuplexCall(iter([cases.output(314_159, given=271_828)]), metadata=SENT, timeout=PATIENCE)
    same([size_of(one) async for one in call], [314_159])
    await _echoes(call)


async def _echoes(call: Any) -> None:
    initial, last = await call.initial_metadata(), await call.trailing_metadata()

    class Known:
        def initial_metadata(self) -> Any:
            return initial

        def trailing_metadata(self) -> Any:
            return last

    echoes(Known())


async def unimplemented_method(stub: Any, other: Any) -> None:
    await fails(stub.UnimplementedCall(pb.Empty(), timeout=PATIENCE), grpc.StatusCode.UNIMPLEMENTED)


async def unimplemented_service(stub: Any, other: Any) -> None:
    await fails(other.UnimplementedCall(pb.Empty(), timeout=PATIENCE), grpc.StatusCode.UNIMPLEMENTED)


async def rpc_soak(stub: Any, other: Any) -> None:
    await asyncio.gather(*(large_unary(stub, other) for _ in range(10)))


CASES: tuple[Case, ...] = (
    empty_unary,
    large_unary,
    client_streaming,
    server_streaming,
    ping_pong,
    empty_stream,
    timeout_on_sleeping_server,
    cancel_after_begin,
    cancel_after_first_response,
    status_code_and_message,
    special_status_message,
    custom_metadata,
    unimplemented_method,
    unimplemented_service,
    rpc_soak,
)
