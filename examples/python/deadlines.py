"""Deadlines that travel, and cancellation."""

from __future__ import annotations

import asyncio

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import ServerCall, StatusError

get_user = trunkcall.unary("/trunkcall.example.v1.UserService/GetUser", pb.GetUserRequest, pb.GetUserResponse)
front = trunkcall.unary("/example.Front/GetUser", pb.GetUserRequest, pb.GetUserResponse)


async def main() -> None:
    started: asyncio.Queue[None] = asyncio.Queue()
    stopped: asyncio.Queue[str] = asyncio.Queue()

    async def wait(request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:
        await started.put(None)
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:  # at the caller's deadline, or when it gives up
            stopped.put_nowait("cancelled")
            raise
        return pb.GetUserResponse()

    back, server = trunkcall.Server(), trunkcall.Server()
    back.register(get_user.handler(wait))
    behind = trunkcall.Client(await back.listen("127.0.0.1:0"))

    async def pass_on(request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:
        return await behind.call(get_user, request)  # has what is left of the caller's time

    server.register(front.handler(pass_on))
    async with behind, trunkcall.Client(await server.listen("127.0.0.1:0")) as client:
        try:
            await client.call(front, pb.GetUserRequest(user_id=7), timeout=2)
        except StatusError as error:
            print(error.code.name)
        await started.get()
        print("two services on:", await stopped.get())

        task = asyncio.create_task(client.call(front, pb.GetUserRequest(user_id=7)))
        await started.get()
        task.cancel()
        print("two services on:", await stopped.get())

    await server.stop(grace=5)
    await back.stop(grace=5)


asyncio.run(main())
