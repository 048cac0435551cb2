"""A user's program on asyncio, for type checkers to read. What has `type: ignore` must be refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Protocol, assert_type

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import (
    RAW,
    BidiMethod,
    Call,
    Caller,
    Client,
    ClientStream,
    Code,
    Interceptor,
    MessageStream,
    Next,
    Policy,
    Response,
    Server,
    ServerCall,
    StatusError,
    UnaryMethod,
    codefirst,
)
from trunkcall.testing import Clock, TestServer, assert_fails

SERVICE = "/trunkcall.example.v1.UserService/"

get_user = trunkcall.unary(SERVICE + "GetUser", pb.GetUserRequest, pb.GetUserResponse)
list_users = trunkcall.server_stream(SERVICE + "ListUsers", pb.ListUsersRequest, pb.GetUserResponse)
import_users = trunkcall.client_stream(SERVICE + "ImportUsers", pb.GetUserResponse, pb.ImportUsersResponse)
chat = trunkcall.bidi_stream(SERVICE + "Chat", str, int)
note = trunkcall.one_way(SERVICE + "Note", pb.GetUserRequest)

assert_type(get_user, UnaryMethod[pb.GetUserRequest, pb.GetUserResponse])
assert_type(chat, BidiMethod[str, int])


# Calls.


async def calls(client: Client, caller: Caller) -> None:
    assert_type(await client.call(get_user, pb.GetUserRequest(user_id=1), timeout=1.0), pb.GetUserResponse)
    assert_type(await caller.call(get_user, pb.GetUserRequest()), pb.GetUserResponse)
    answer = await client.unary(get_user, pb.GetUserRequest(), trunkcall.CallOptions(timeout=1))
    assert_type(answer, Response[pb.GetUserResponse])
    assert_type(answer.message.name, str)
    assert_type(await client.send(note, pb.GetUserRequest()), None)
    async with client.open(list_users, pb.ListUsersRequest(count=3)) as users:
        assert_type(users, ClientStream[pb.ListUsersRequest, pb.GetUserResponse])
        async for user in users:
            assert_type(user, pb.GetUserResponse)
    async with client.open(import_users) as imported:
        await imported.send(pb.GetUserResponse())
        assert_type(await imported.response(), pb.ImportUsersResponse)
        await imported.send(pb.GetUserRequest())  # type: ignore[arg-type]
    await client.call(get_user, pb.ListUsersRequest())  # type: ignore[misc]
    await client.call(list_users, pb.ListUsersRequest())  # type: ignore[arg-type]
    await client.call(get_user, pb.GetUserRequest(), timeout="1")  # type: ignore[arg-type]
    client.open(get_user, pb.GetUserRequest())  # type: ignore[call-overload]
    Client(1)  # type: ignore[arg-type]
    Client("a:1", timout=1)  # type: ignore[call-arg]
    Client("a:1", policies=[Policy(timeout=1.0)], codec=RAW, interceptors=[any_call, for_get_user])


# Handlers.


async def serve(request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:
    if call.time_remaining() == 0:
        raise StatusError(Code.NOT_FOUND, "no such user")
    return pb.GetUserResponse(name=str(request.user_id))


def plain(request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:
    return pb.GetUserResponse()


async def several(request: pb.ListUsersRequest, call: ServerCall) -> AsyncIterator[pb.GetUserResponse]:
    yield pb.GetUserResponse()


async def talk(requests: AsyncIterator[str], call: ServerCall) -> AsyncIterator[int]:
    async for request in requests:
        yield len(request)


def wrong(request: pb.GetUserRequest, call: ServerCall) -> str:
    return ""


server = Server()
server.register(get_user.handler(serve), get_user.handler(plain), list_users.handler(several), chat.handler(talk))
get_user.handler(wrong)  # type: ignore[arg-type]
list_users.handler(talk)  # type: ignore[arg-type]
chat.handler(serve)  # type: ignore[arg-type]
server.register(serve)  # type: ignore[arg-type]


# Interceptors: of all calls, and of one method's, whose messages are typed.


async def any_call(call: Call, proceed: Next) -> Any:
    assert_type(call.request, Any)
    return await proceed(call)


async def cached(
    call: Call[pb.GetUserRequest, pb.GetUserResponse], proceed: Next[pb.GetUserRequest, pb.GetUserResponse]
) -> pb.GetUserResponse:
    assert_type(call.request, pb.GetUserRequest)
    assert_type(call.method.response, type[pb.GetUserResponse])
    if call.request.user_id == 1:
        return pb.GetUserResponse(name="root")
    call.request.nobody_has_this = 1  # type: ignore[attr-defined]
    user = await proceed(call)
    assert_type(user, pb.GetUserResponse)
    assert_type(call.response.message, pb.GetUserResponse)
    return user


async def forgets(call: Call[pb.GetUserRequest, pb.GetUserResponse], proceed: Next) -> str:
    return ""


async def of_a_stream(call: Call[str, int], proceed: Next) -> Any:
    if call.stream is not None:
        assert_type(call.stream, MessageStream[int, str])
        assert_type(await call.stream.receive(), str | None)
        await call.stream.send("")  # type: ignore[arg-type]
    return await proceed(call)


for_get_user = trunkcall.for_method(get_user, cached)
assert_type(for_get_user, Interceptor)
trunkcall.for_method(chat, of_a_stream)
trunkcall.for_method(get_user, any_call)
trunkcall.for_method(get_user, forgets)  # type: ignore[arg-type]
trunkcall.for_method(chat, cached)  # type: ignore[arg-type]
interceptors: list[Interceptor] = [any_call, for_get_user]
Server(interceptors=interceptors)
Server(interceptors=[trunkcall.for_method(note, any_call)])


# A service that Protobuf describes, and one without a .proto file.


async def described(client: Client) -> None:
    users = trunkcall.service_client(pb.DESCRIPTOR.services_by_name["UserService"], client)
    assert_type(await users.get_user(pb.GetUserRequest(), timeout=1.0), Any)


class Calculator(Protocol):
    async def div(self, a: int, b: int) -> tuple[int, int]: ...
    def count(self, to: int) -> AsyncIterator[int]: ...


async def code_first(client: Client) -> None:
    calculator = codefirst.client(Calculator, client, "calc")
    assert_type(calculator, Calculator)
    assert_type(await calculator.div(7, 2), tuple[int, int])
    async for number in calculator.count(3):
        assert_type(number, int)
    await calculator.div("7", 2)  # type: ignore[arg-type]
    await calculator.mul(7, 2)  # type: ignore[attr-defined]


# Tests.


async def tested() -> None:
    async with Clock() as clock, TestServer(get_user.handler(serve), client=partial(Client, codec=RAW)) as service:
        assert_type(service.client, Client)
        await clock.advance(1)
        with assert_fails(Code.NOT_FOUND) as failure:
            await service.client.call(get_user, pb.GetUserRequest())
        assert_type(failure.error, StatusError)
        await clock.advance("1")  # type: ignore[arg-type]
