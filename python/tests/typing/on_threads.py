"""A user's program that blocks, for type checkers to read. What has `type: ignore` must be refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, assert_type

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import Call, ServerCall, StatusError, blocking, codefirst
from trunkcall.blocking import Caller, Client, ClientStream, Interceptor, MessageStream, Next, StartedCall
from trunkcall.testing import assert_fails
from trunkcall.testing import blocking as testing

SERVICE = "/trunkcall.example.v1.UserService/"

get_user = trunkcall.unary(SERVICE + "GetUser", pb.GetUserRequest, pb.GetUserResponse)
list_users = trunkcall.server_stream(SERVICE + "ListUsers", pb.ListUsersRequest, pb.GetUserResponse)
import_users = trunkcall.client_stream(SERVICE + "ImportUsers", pb.GetUserResponse, pb.ImportUsersResponse)
chat = trunkcall.bidi_stream(SERVICE + "Chat", str, int)


# Calls.


def calls(client: Client, caller: Caller) -> None:
    assert_type(client.call(get_user, pb.GetUserRequest(user_id=1), timeout=1.0), pb.GetUserResponse)
    assert_type(caller.call(get_user, pb.GetUserRequest()), pb.GetUserResponse)
    started = client.start(get_user, pb.GetUserRequest())
    assert_type(started, StartedCall[pb.GetUserResponse])
    assert_type(started.result(), pb.GetUserResponse)
    with client.open(list_users, pb.ListUsersRequest(count=3)) as users:
        assert_type(users, ClientStream[pb.ListUsersRequest, pb.GetUserResponse])
        for user in users:
            assert_type(user, pb.GetUserResponse)
    with client.open(import_users) as imported:
        imported.send(pb.GetUserResponse())
        assert_type(imported.response(), pb.ImportUsersResponse)
        imported.send(pb.GetUserRequest())  # type: ignore[arg-type]
    client.call(get_user, pb.ListUsersRequest())  # type: ignore[misc]
    client.call(list_users, pb.ListUsersRequest())  # type: ignore[arg-type]
    client.open(get_user, pb.GetUserRequest())  # type: ignore[call-overload]
    print(trunkcall.Client("a:1").call(get_user, pb.GetUserRequest()).name)  # type: ignore[attr-defined]
    Client("a:1", timout=1)  # type: ignore[call-arg]


# Handlers of what servers call.


def serve(request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:
    return pb.GetUserResponse()


def several(request: pb.ListUsersRequest, call: ServerCall) -> Iterator[pb.GetUserResponse]:
    yield pb.GetUserResponse()


# Interceptors: of all calls, and of one method's, whose messages are typed.


def any_call(call: Call, proceed: Next) -> Any:
    assert_type(call.request, Any)
    return proceed(call)


def cached(
    call: Call[pb.GetUserRequest, pb.GetUserResponse], proceed: Next[pb.GetUserRequest, pb.GetUserResponse]
) -> pb.GetUserResponse:
    assert_type(call.request, pb.GetUserRequest)
    user = proceed(call)
    assert_type(user, pb.GetUserResponse)
    user.nobody_has_this = 1  # type: ignore[attr-defined]
    return user


def of_a_stream(call: Call[str, int], proceed: Next) -> MessageStream[str, int]:
    messages: MessageStream[str, int] = proceed(call)
    messages.send(1)  # type: ignore[arg-type]
    assert_type(messages.receive(), int | None)
    return messages


async def awaits(
    call: Call[pb.GetUserRequest, pb.GetUserResponse], proceed: trunkcall.Next[pb.GetUserRequest, pb.GetUserResponse]
) -> pb.GetUserResponse:
    return await proceed(call)


for_get_user = blocking.for_method(get_user, cached)
assert_type(for_get_user, Interceptor)
blocking.for_method(chat, of_a_stream)
blocking.for_method(get_user, awaits)  # type: ignore[arg-type]
blocking.for_method(chat, cached)  # type: ignore[arg-type]
Client("a:1", interceptors=[any_call, for_get_user]).register(get_user.handler(serve), list_users.handler(several))


# A service without a .proto file.


class Calculator(Protocol):
    def div(self, a: int, b: int) -> tuple[int, int]: ...
    def count(self, to: int) -> Iterator[int]: ...


def code_first(client: Client) -> None:
    calculator = codefirst.client(Calculator, client, "calc")
    assert_type(calculator, Calculator)
    assert_type(calculator.div(7, 2), tuple[int, int])
    for number in calculator.count(3):
        assert_type(number, int)
    calculator.div("7", 2)  # type: ignore[arg-type]
    calculator.mul(7, 2)  # type: ignore[attr-defined]


# Tests.


def tested() -> None:
    with testing.Clock() as clock, testing.TestServer(get_user.handler(serve), clock=clock) as service:
        assert_type(service.client, Client)
        clock.advance(1)
        with assert_fails(trunkcall.Code.NOT_FOUND) as failure:
            service.client.call(get_user, pb.GetUserRequest())
        assert_type(failure.error, StatusError)
        clock.advance("1")  # type: ignore[arg-type]
