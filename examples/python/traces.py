"""OpenTelemetry traces of calls of all kinds, at both ends, by one interceptor and the official library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from opentelemetry import propagate, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import Call, Next, ServerCall, Status

SERVICE = pb.DESCRIPTOR.services_by_name["UserService"]
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))  # a program has one that sends the spans somewhere


async def tracing(call: Call, proceed: Next) -> Any:
    serving = call.server is not None
    kind, parent = (SpanKind.SERVER, propagate.extract(dict(call.metadata))) if serving else (SpanKind.CLIENT, None)
    span = provider.get_tracer("example").start_span(call.method.name.removeprefix("/"), parent, kind)

    def ended(status: Status) -> None:  # also of a stream, and of one that its user drops
        span.set_attribute("rpc.response.status_code", status.code.name)
        if status.code:
            span.set_status(StatusCode.ERROR, status.message)
        span.end()

    call.on_end(ended)
    with trace.use_span(span):
        propagate.inject(carrier := dict[str, str]())
        call.metadata += [] if serving else carrier.items()
        return await proceed(call)


async def list_users(request: pb.ListUsersRequest, call: ServerCall) -> AsyncIterator[pb.GetUserResponse]:
    for number in range(request.count):
        yield pb.GetUserResponse(name=f"user-{number}")


async def main() -> None:
    server = trunkcall.Server(interceptors=[tracing])
    server.register(trunkcall.Handler(trunkcall.service_methods(SERVICE)["ListUsers"], list_users))
    address = await server.listen("127.0.0.1:0")
    async with trunkcall.Client(address, interceptors=[tracing]) as client:
        users = trunkcall.service_client(SERVICE, client)
        print(len([user async for user in users.list_users(pb.ListUsersRequest(count=3), timeout=5)]), "users")
    await server.stop(grace=5)
    for span in exporter.get_finished_spans():
        print(span.kind.name, span.name, "root" if span.parent is None else "within another")


asyncio.run(main())
