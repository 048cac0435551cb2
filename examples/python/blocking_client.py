"""A client for code that blocks: calls and streams without `await`, and a call that goes on by itself.

python examples/python/blocking_client.py
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import Code, ServerCall, StatusError, blocking

SERVICE = "/trunkcall.example.v1.UserService/"

get_user = trunkcall.unary(SERVICE + "GetUser", pb.GetUserRequest, pb.GetUserResponse)
list_users = trunkcall.server_stream(SERVICE + "ListUsers", pb.ListUsersRequest, pb.GetUserResponse)
import_users = trunkcall.client_stream(SERVICE + "ImportUsers", pb.GetUserResponse, pb.ImportUsersResponse)


def use(address: str) -> None:
    with blocking.Client(address) as client:
        user = client.call(get_user, pb.GetUserRequest(user_id=7), timeout=5)
        print("found", user.name)
        try:
            client.call(get_user, pb.GetUserRequest(user_id=0), timeout=5)
        except StatusError as error:
            print(f"{error.code.name}, {error.delivery.value}: {error.message}")

        with client.open(list_users, pb.ListUsersRequest(count=1_000_000), timeout=5) as users:
            for user in users:  # leaving it ends the call at the server, too
                if user.name == "user-3":
                    print("listed", user.name)
                    break

        with client.open(import_users, timeout=5) as imported:
            for name in ("Ada", "Grace"):
                imported.send(pb.GetUserResponse(name=name))
            print("imported", imported.response().count)

        def name_of(user_id: int) -> str:
            return client.call(get_user, pb.GetUserRequest(user_id=user_id), timeout=5).name

        with ThreadPoolExecutor(4) as threads:  # which share the client
            print("found", *threads.map(name_of, range(1, 5)))

        started = client.start(get_user, pb.GetUserRequest(user_id=8), timeout=5)  # a concurrent.futures.Future
        print("meanwhile")
        print("found", started.result().name)


def answer(request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:  # a plain function runs on a thread
    if request.user_id < 1:
        raise StatusError(Code.INVALID_ARGUMENT, f"user_id {request.user_id}: ids begin at 1")
    return pb.GetUserResponse(name=f"user-{request.user_id}")


def list_all(request: pb.ListUsersRequest, call: ServerCall) -> Iterator[pb.GetUserResponse]:
    for user_id in range(1, request.count + 1):
        yield pb.GetUserResponse(name=f"user-{user_id}")


async def take(users: AsyncIterator[pb.GetUserResponse], call: ServerCall) -> pb.ImportUsersResponse:
    return pb.ImportUsersResponse(count=len([user async for user in users]))


async def main() -> None:
    server = trunkcall.Server()  # belongs to an event loop; what blocks has threads of its own
    server.register(get_user.handler(answer), list_users.handler(list_all), import_users.handler(take))
    address = await server.listen("127.0.0.1:0")
    await asyncio.to_thread(use, address)
    await server.stop(grace=5)


if __name__ == "__main__":
    asyncio.run(main())
