"""Prometheus metrics of calls of all kinds, at both ends, by one interceptor and the official library."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import Call, Code, Next, ServerCall, Status, StatusError

SERVICE = pb.DESCRIPTOR.services_by_name["UserService"]


class Metrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("side", "method")
        self.calls = Counter("rpc_calls", "Calls that ended", (*labels, "code"), registry=registry)
        self.open = Gauge("rpc_open_calls", "Calls that are open", labels, registry=registry)
        self.seconds = Histogram("rpc_seconds", "What calls took", labels, registry=registry)

    async def __call__(self, call: Call, proceed: Next) -> Any:
        labels = ("server" if call.server is not None else "client", call.method.name)
        began = time.perf_counter()
        self.open.labels(*labels).inc()

        def ended(status: Status) -> None:  # also of a stream, and of one that its user drops
            self.open.labels(*labels).dec()
            self.calls.labels(*labels, status.code.name).inc()
            self.seconds.labels(*labels).observe(time.perf_counter() - began)

        call.on_end(ended)
        return await proceed(call)


async def list_users(request: pb.ListUsersRequest, call: ServerCall) -> AsyncIterator[pb.GetUserResponse]:
    for number in range(request.count):
        yield pb.GetUserResponse(name=f"user-{number}")
    raise StatusError(Code.NOT_FOUND, "there are no more")


async def main() -> None:
    metrics = Metrics(registry := CollectorRegistry())
    server = trunkcall.Server(interceptors=[metrics])
    server.register(trunkcall.Handler(trunkcall.service_methods(SERVICE)["ListUsers"], list_users))
    address = await server.listen("127.0.0.1:0")
    async with trunkcall.Client(address, interceptors=[metrics]) as client:
        with contextlib.suppress(StatusError):
            async for user in trunkcall.service_client(SERVICE, client).list_users(pb.ListUsersRequest(count=2)):
                print(user.name)
    await server.stop(grace=5)
    print(generate_latest(registry).decode())


asyncio.run(main())
