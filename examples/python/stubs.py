"""Stubs and a servicer as the stock gRPC plugin generates them, unchanged, on Trunkcall."""

from __future__ import annotations

import asyncio

import grpc

import trunkcall
from example.v1 import user_pb2 as pb
from example.v1 import user_pb2_grpc as pb_grpc
from trunkcall.grpcstub import aio


class Users(pb_grpc.UserServiceServicer):
    async def GetUser(
        self, request: pb.GetUserRequest, context: grpc.aio.ServicerContext[pb.GetUserRequest, pb.GetUserResponse]
    ) -> pb.GetUserResponse:
        if request.user_id < 1:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "ids begin at 1")
        return pb.GetUserResponse(name=f"user-{request.user_id}")


async def main() -> None:
    server = trunkcall.Server()
    pb_grpc.add_UserServiceServicer_to_server(Users(), aio.Server(server))
    address = await server.listen("127.0.0.1:0")

    async with trunkcall.Client(address) as client:
        stub = pb_grpc.UserServiceStub(aio.Channel(client))
        user = await stub.GetUser(pb.GetUserRequest(user_id=7), timeout=5)
        print("found", user.name)
        try:
            await stub.GetUser(pb.GetUserRequest(user_id=0), timeout=5)
        except grpc.aio.AioRpcError as error:
            print(f"{error.code().name}: {error.details()}")

    await server.stop(grace=5)


asyncio.run(main())
