"""An interceptor of one method, whose request and response are typed: it answers again what was answered before.

python examples/python/cache.py
"""

from __future__ import annotations

import asyncio

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import Call, Next, ServerCall

get_user = trunkcall.unary("/trunkcall.example.v1.UserService/GetUser", pb.GetUserRequest, pb.GetUserResponse)


class Cache:
    def __init__(self) -> None:
        self.known: dict[int, pb.GetUserResponse] = {}

    async def __call__(
        self,
        call: Call[pb.GetUserRequest, pb.GetUserResponse],
        proceed: Next[pb.GetUserRequest, pb.GetUserResponse],
    ) -> pb.GetUserResponse:
        user = self.known.get(call.request.user_id)
        if user is None:
            user = self.known[call.request.user_id] = await proceed(call)
        return user


async def answer(request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:
    print("asked for", request.user_id)
    return pb.GetUserResponse(name=f"user-{request.user_id}")


async def main() -> None:
    server = trunkcall.Server()
    server.register(get_user.handler(answer))
    address = await server.listen("127.0.0.1:0")
    async with trunkcall.Client(address, interceptors=[trunkcall.for_method(get_user, Cache())]) as client:
        for user_id in (7, 8, 7):
            print((await client.call(get_user, pb.GetUserRequest(user_id=user_id), timeout=5)).name)
    await server.stop(grace=5)


asyncio.run(main())
