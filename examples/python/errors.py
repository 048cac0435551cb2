"""Statuses with details, and what their delivery is for."""

from __future__ import annotations

import asyncio

from google.rpc import error_details_pb2

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import Code, Delivery, ServerCall, StatusError

get_user = trunkcall.unary("/trunkcall.example.v1.UserService/GetUser", pb.GetUserRequest, pb.GetUserResponse)


async def answer(request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:
    if request.user_id < 1:
        violation = error_details_pb2.BadRequest.FieldViolation(field="user_id", description="must be at least 1")
        raise StatusError(
            Code.INVALID_ARGUMENT, "ids begin at 1", [error_details_pb2.BadRequest(field_violations=[violation])]
        )
    return pb.GetUserResponse(name=f"user-{request.user_id}")


def advice(error: StatusError) -> str:
    """What the caller may do about a failure."""
    if error.delivery in (Delivery.NOT_SENT, Delivery.REFUSED):
        return f"{error.code.name}: it did not run; repeat it if you like"
    if error.delivery is Delivery.EXECUTED:
        return f"{error.code.name}: the handler itself said so"
    return f"{error.code.name}: it may have run; repeat it only if that does no harm"


async def main() -> None:
    server = trunkcall.Server()
    server.register(get_user.handler(answer))
    address = await server.listen("127.0.0.1:0")

    async with trunkcall.Client(address) as client:
        try:
            await client.call(get_user, pb.GetUserRequest(user_id=0), timeout=5)
        except StatusError as error:
            print(f"{error.code.name}, {error.delivery.value}: {error.message}")
            if bad := error.detail(error_details_pb2.BadRequest):
                print(bad.field_violations[0].field, bad.field_violations[0].description)

        await server.stop(grace=5)
        try:
            await client.call(get_user, pb.GetUserRequest(user_id=7), timeout=5)
        except StatusError as error:
            print(advice(error))


asyncio.run(main())
