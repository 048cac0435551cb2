"""Blocking stubs as the stock gRPC plugin generates them, unchanged, on Trunkcall; and a servicer and a
server without coroutines.

python examples/python/blocking_stubs.py
"""

from __future__ import annotations

from collections.abc import Iterator

import grpc

from example.v1 import user_pb2 as pb
from example.v1 import user_pb2_grpc as pb_grpc
from trunkcall import blocking
from trunkcall.grpcstub.blocking import Channel, Server


def use(address: str) -> None:
    with blocking.Client(address) as client:
        channel = Channel(client)
        grpc.channel_ready_future(channel).result(timeout=5)
        stub = pb_grpc.UserServiceStub(channel)
        user = stub.GetUser(pb.GetUserRequest(user_id=7), timeout=5)
        print("found", user.name)
        try:
            stub.GetUser(pb.GetUserRequest(user_id=0), timeout=5)
        except grpc.RpcError as error:
            print(f"{error.code().name}: {error.details()}")

        users = stub.ListUsers(pb.ListUsersRequest(count=1_000_000), timeout=5)
        print("listed", next(users).name, next(users).name)
        users.cancel()

        future = stub.GetUser.future(pb.GetUserRequest(user_id=8), timeout=5)
        imported = stub.ImportUsers(iter([pb.GetUserResponse(name=name) for name in ("Ada", "Grace")]), timeout=5)
        print("imported", imported.count, "and found", future.result().name)


class Users(pb_grpc.UserServiceServicer):
    """Plain methods run on threads."""

    def GetUser(self, request: pb.GetUserRequest, context: grpc.ServicerContext) -> pb.GetUserResponse:
        if request.user_id < 1:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "ids begin at 1")
        return pb.GetUserResponse(name=f"user-{request.user_id}")

    def ListUsers(self, request: pb.ListUsersRequest, context: grpc.ServicerContext) -> Iterator[pb.GetUserResponse]:
        for user_id in range(1, request.count + 1):
            yield pb.GetUserResponse(name=f"user-{user_id}")

    def ImportUsers(
        self, request_iterator: Iterator[pb.GetUserResponse], context: grpc.ServicerContext
    ) -> pb.ImportUsersResponse:
        return pb.ImportUsersResponse(count=sum(1 for _ in request_iterator))


def main() -> None:
    with blocking.Server() as server:
        pb_grpc.add_UserServiceServicer_to_server(Users(), Server(server))
        use(server.listen("127.0.0.1:0"))


if __name__ == "__main__":
    main()
