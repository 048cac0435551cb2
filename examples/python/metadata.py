"""What travels beside messages: the caller's with one call, the server's ahead of its answer (the header) and behind it
(the trailer)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import CallOptions, ServerCall

SERVICE = "/trunkcall.example.v1.UserService/"

get_user = trunkcall.unary(SERVICE + "GetUser", pb.GetUserRequest, pb.GetUserResponse)
list_users = trunkcall.server_stream(SERVICE + "ListUsers", pb.ListUsersRequest, pb.GetUserResponse)


async def answer(request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:
    tenant = dict(call.metadata).get("tenant")
    call.set_header([("served-by", "server-1")])
    call.set_trailer([("rows-read", "3")])
    return pb.GetUserResponse(name=f"user-{request.user_id} of {tenant}")


async def users(request: pb.ListUsersRequest, call: ServerCall) -> AsyncIterator[pb.GetUserResponse]:
    call.set_header([("served-by", "server-1")])
    yield pb.GetUserResponse(name=f"user-1 of {dict(call.metadata).get('tenant')}")


async def main() -> None:
    server = trunkcall.Server()
    server.register(get_user.handler(answer), list_users.handler(users))
    tenant = [("tenant", "north")]
    async with trunkcall.Client(await server.listen("127.0.0.1:0")) as client:
        request = pb.GetUserRequest(user_id=7)
        print((await client.call(get_user, request, metadata=tenant, timeout=20, wait_for_ready=True)).name)

        response = await client.unary(get_user, request, CallOptions(metadata=tenant))  # with what came beside it
        print(response.message.name, dict(response.header)["served-by"], dict(response.trailer)["rows-read"])

        async with client.open(list_users, pb.ListUsersRequest(count=1), metadata=tenant, timeout=20) as listed:
            print(dict(await listed.header())["served-by"], [user.name async for user in listed])
    await server.stop(grace=5)


asyncio.run(main())
