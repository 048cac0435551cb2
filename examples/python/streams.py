"""The three kinds of streams, at both ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import ServerCall

SERVICE = "/trunkcall.example.v1.UserService/"

list_users = trunkcall.server_stream(SERVICE + "ListUsers", pb.ListUsersRequest, pb.GetUserResponse)
import_users = trunkcall.client_stream(SERVICE + "ImportUsers", pb.GetUserResponse, pb.ImportUsersResponse)
watch_users = trunkcall.bidi_stream(SERVICE + "WatchUsers", pb.GetUserRequest, pb.GetUserResponse)


async def list_all(request: pb.ListUsersRequest, call: ServerCall) -> AsyncIterator[pb.GetUserResponse]:
    for user_id in range(1, request.count + 1):
        yield pb.GetUserResponse(name=f"user-{user_id}")  # waits while the caller is slow


async def take(users: AsyncIterator[pb.GetUserResponse], call: ServerCall) -> pb.ImportUsersResponse:
    return pb.ImportUsersResponse(count=len([user async for user in users]))


async def watch(requests: AsyncIterator[pb.GetUserRequest], call: ServerCall) -> AsyncIterator[pb.GetUserResponse]:
    async for request in requests:
        yield pb.GetUserResponse(name=f"user-{request.user_id}")


async def main() -> None:
    server = trunkcall.Server()
    server.register(list_users.handler(list_all), import_users.handler(take), watch_users.handler(watch))
    address = await server.listen("127.0.0.1:0")

    async with trunkcall.Client(address) as client:
        async with client.open(list_users, pb.ListUsersRequest(count=1_000_000), timeout=5) as users:
            async for user in users:  # leaving it ends the call at the server, too
                if user.name == "user-3":
                    print("found", user.name)
                    break

        async with client.open(import_users, timeout=5) as imported:
            for name in ("Ada", "Grace"):
                await imported.send(pb.GetUserResponse(name=name))
            print("imported", (await imported.response()).count)

        async with client.open(watch_users, timeout=5) as watched:
            for user_id in (7, 8):
                await watched.send(pb.GetUserRequest(user_id=user_id))
                if user := await watched.receive():
                    print("watched", user.name)

    await server.stop(grace=5)


asyncio.run(main())
