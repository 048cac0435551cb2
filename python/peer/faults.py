"""FaultService, whose handlers misbehave as they are asked to; see spec/proto/fault/v1/fault.proto."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from google.protobuf.empty_pb2 import Empty

import trunkcall
from fault.v1.fault_pb2 import Answer, Behaviour, Gauges

SERVICE = "/trunkcall.fault.v1.FaultService"

BEHAVE = trunkcall.unary(f"{SERVICE}/Behave", Behaviour, Answer)
POUR = trunkcall.server_stream(f"{SERVICE}/Pour", Behaviour, Answer)
TAKE = trunkcall.client_stream(f"{SERVICE}/Take", Behaviour, Answer)
EXCHANGE = trunkcall.bidi_stream(f"{SERVICE}/Exchange", Behaviour, Answer)
READ_GAUGES = trunkcall.unary(f"{SERVICE}/ReadGauges", Empty, Gauges)

MALLOC_FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"

# About what an object of the interpreter's own allocator takes, which hands out at most 512 bytes.
SMALL_OBJECT = 96


class HandlerError(Exception):
    """What a handler raises that is asked to panic."""


async def on_behave(request: Behaviour, call: trunkcall.ServerCall) -> Answer:
    await behave(request)
    return answer(request)


async def on_pour(request: Behaviour, call: trunkcall.ServerCall) -> AsyncIterator[Answer]:
    await behave(request)
    response, sent = answer(request), 0
    while not request.answers or sent < request.answers:
        yield response
        sent += 1


async def on_take(requests: AsyncIterator[Behaviour], call: trunkcall.ServerCall) -> Answer:
    response = Answer()
    async for request in requests:
        await behave(request)
        response.requests += 1
        response.bytes += len(request.padding)
    return response


async def on_exchange(requests: AsyncIterator[Behaviour], call: trunkcall.ServerCall) -> AsyncIterator[Answer]:
    async for request in requests:
        await behave(request)
        yield answer(request)


def handlers(
    server: trunkcall.Server, behaving: Callable[[Behaviour, trunkcall.ServerCall], Awaitable[Answer]]
) -> Sequence[trunkcall.Handler]:
    """`behaving` answers Behave."""

    async def on_read_gauges(request: Empty, call: object) -> Gauges:
        gc.collect()
        return Gauges(running=server.running, tasks=len(asyncio.all_tasks()), heap_bytes=heap_bytes())

    return [
        BEHAVE.handler(behaving),
        POUR.handler(on_pour),
        TAKE.handler(on_take),
        EXCHANGE.handler(on_exchange),
        READ_GAUGES.handler(on_read_gauges),
    ]


def answer(request: Behaviour) -> Answer:
    return Answer(data=bytes(request.answer_bytes), requests=1, bytes=len(request.padding))


async def behave(request: Behaviour) -> None:
    """Works, waits, then raises or fails, as it is asked."""
    end = time.monotonic() + request.work_us / 1e6
    while request.work_us and time.monotonic() < end:
        pass
    if request.wait_ms:
        await wait(request.wait_ms / 1e3, request.stubborn)
    if request.panics:
        raise HandlerError(request.message)
    if request.code:
        raise trunkcall.StatusError(trunkcall.Code(request.code), request.message)


async def wait(seconds: float, stubborn: bool) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while (left := end - loop.time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            if not stubborn:
                raise


class MallocInfo(ctypes.Structure):
    """struct mallinfo2 of glibc."""

    _fields_ = [(name, ctypes.c_size_t) for name in MALLOC_FIELDS.split()]


def heap_bytes() -> int:
    """About what is allocated: small objects by their number, and what glibc has given out."""
    small = sys.getallocatedblocks() * SMALL_OBJECT
    find = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if find is None:
        return small
    find.restype = MallocInfo
    info = find()
    return small + int(info.uordblks) + int(info.hblkhd)
