"""An interceptor that tries again what provably did not run, within a budget: overload is not multiplied."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import Admission, Arrival, Call, Code, Delivery, Next, ServerCall, StatusError

SERVICE = pb.DESCRIPTOR.services_by_name["UserService"]
get_user = trunkcall.service_methods(SERVICE)["GetUser"]


class Retry:
    """Up to three attempts; a tenth as many more as there are calls, and ten to begin with."""

    def __init__(self) -> None:
        self.budget = 10.0

    async def __call__(self, call: Call, proceed: Next) -> Any:
        self.budget = min(self.budget + 0.1, 10.0)
        for attempt in (1, 2):
            try:
                return await proceed(call)
            except StatusError as error:
                safe = error.delivery in (Delivery.NOT_SENT, Delivery.REFUSED)
                if not safe or error.code is not Code.UNAVAILABLE or call.method.kind.streams or self.budget < 1:
                    raise
            self.budget -= 1
            await asyncio.sleep(random.uniform(0, 0.01 * 2**attempt))  # seconds; the deadline goes on meanwhile
        return await proceed(call)


async def main() -> None:
    arrivals: list[str] = []

    def admit(arrival: Arrival) -> Admission:  # a server that is overloaded at first
        arrivals.append(arrival.peer)
        if len(arrivals) < 3:
            raise StatusError(Code.UNAVAILABLE, "overloaded")
        return Admission()

    async def answer(request: Any, call: ServerCall) -> Any:
        return pb.GetUserResponse(name=f"user-{request.user_id}")

    server = trunkcall.Server(admission=admit)
    server.register(trunkcall.Handler(get_user, answer))
    address = await server.listen("127.0.0.1:0")
    async with trunkcall.Client(address, interceptors=[Retry()]) as client:
        response = await client.unary(get_user, pb.GetUserRequest(user_id=7), trunkcall.CallOptions(timeout=5))
        print(f"{response.message.name} at attempt {len(arrivals)}")
    await server.stop(grace=5)


asyncio.run(main())
