from __future__ import annotations

import asyncio

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import Code, ServerCall, StatusError

# A method is described once, by its name and its two Protobuf messages, and used at both ends.
get_user = trunkcall.unary("/trunkcall.example.v1.UserService/GetUser", pb.GetUserRequest, pb.GetUserResponse)


async def answer(request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:
    if request.user_id < 1:
        raise StatusError(Code.INVALID_ARGUMENT, f"user_id {request.user_id}: ids begin at 1")
    return pb.GetUserResponse(name=f"user-{request.user_id}")


async def main() -> None:
    server = trunkcall.Server()
    server.register(get_user.handler(answer))
    address = await server.listen("127.0.0.1:0")  # any free port

    async with trunkcall.Client(address) as client:
        user = await client.call(get_user, pb.GetUserRequest(user_id=7), timeout=5)
        print("found", user.name)
        try:
            await client.call(get_user, pb.GetUserRequest(user_id=0), timeout=5)
        except StatusError as error:
            print(f"{error.code.name}, {error.delivery.value}: {error.message}")

    await server.stop(grace=5)  # waits for calls that still run


asyncio.run(main())
