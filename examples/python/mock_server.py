"""A unit test of code that calls a service, without a server: a caller that answers by itself."""

from __future__ import annotations

import unittest
from typing import Any

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import Caller, CallOptions, ClientStream, Code, Response, StatusError

SERVICE = pb.DESCRIPTOR.services_by_name["UserService"]


async def greeting(users: trunkcall.ServiceClient, user_id: int) -> str:
    """The code under test."""
    try:
        user = await users.get_user(pb.GetUserRequest(user_id=user_id), timeout=1.0)
    except StatusError as error:
        if error.code is Code.NOT_FOUND:
            return "Hello, stranger"
        raise
    return f"Hello, {user.name}"


class MockServer(Caller):
    """Answers as it was told, by the name of the method, and keeps what it was asked."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[tuple[Any, CallOptions]] = []

    async def unary(self, method: Any, request: Any, options: CallOptions) -> Response[Any]:
        self.asked.append((request, options))
        answer = self.answers[method.name.rpartition("/")[2]]
        if isinstance(answer, StatusError):
            raise answer
        return Response(answer)

    def stream(self, method: Any, request: Any, options: CallOptions) -> ClientStream[Any, Any]:
        raise NotImplementedError


class TestGreeting(unittest.IsolatedAsyncioTestCase):
    async def test_a_user_is_greeted_by_name(self) -> None:
        server = MockServer(GetUser=pb.GetUserResponse(name="Ada"))
        self.assertEqual(await greeting(trunkcall.service_client(SERVICE, server), 7), "Hello, Ada")
        ((request, options),) = server.asked
        self.assertEqual((request.user_id, options.timeout), (7, 1.0))

    async def test_one_who_is_not_there_is_a_stranger(self) -> None:
        server = MockServer(GetUser=StatusError(Code.NOT_FOUND, "no such user"))
        self.assertEqual(await greeting(trunkcall.service_client(SERVICE, server), 8), "Hello, stranger")


if __name__ == "__main__":
    unittest.main()
