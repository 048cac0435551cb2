"""Unit tests of a service and of code that calls it: server and client in memory, and a clock that is moved by hand.

python examples/python/unit_tests.py
"""

from __future__ import annotations

import asyncio
import unittest

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import Caller, Code, Delivery, ServerCall, StatusError
from trunkcall.testing import Clock, TestServer, assert_fails, blocking

get_user = trunkcall.unary("/trunkcall.example.v1.UserService/GetUser", pb.GetUserRequest, pb.GetUserResponse)


async def answer(request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:
    """The service under test."""
    if request.user_id < 1:
        raise StatusError(Code.INVALID_ARGUMENT, "ids begin at 1")
    return pb.GetUserResponse(name=f"user-{request.user_id}")


async def slow(request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:
    """A stand-in for a service that takes an hour."""
    await asyncio.sleep(3600)
    return pb.GetUserResponse(name="late")


async def greeting(users: Caller, user_id: int) -> str:
    """The client's code under test."""
    try:
        user = await users.call(get_user, pb.GetUserRequest(user_id=user_id), timeout=30)
    except StatusError as error:
        if error.code is Code.DEADLINE_EXCEEDED:
            return "Hello, whoever you are"
        raise
    return f"Hello, {user.name}"


class TestService(unittest.IsolatedAsyncioTestCase):
    async def test_a_user_is_found(self) -> None:
        async with TestServer(get_user.handler(answer)) as server:
            user = await server.client.call(get_user, pb.GetUserRequest(user_id=7))
            self.assertEqual(user.name, "user-7")

    async def test_ids_begin_at_1(self) -> None:
        async with TestServer(get_user.handler(answer)) as server:
            with assert_fails(Code.INVALID_ARGUMENT, Delivery.EXECUTED) as failure:
                await server.client.call(get_user, pb.GetUserRequest())
        self.assertEqual(failure.error.message, "ids begin at 1")


class TestGreeting(unittest.IsolatedAsyncioTestCase):
    async def test_half_a_minute_is_enough(self) -> None:
        async with Clock() as clock, TestServer(get_user.handler(slow)) as server:
            greeted = asyncio.create_task(greeting(server.client, 7))
            await clock.advance(30)  # at once
            self.assertEqual(await greeted, "Hello, whoever you are")


class TestBlockingCode(unittest.TestCase):
    def test_a_user_is_found(self) -> None:
        with blocking.TestServer(get_user.handler(answer)) as server:
            user = server.client.call(get_user, pb.GetUserRequest(user_id=7))
            self.assertEqual(user.name, "user-7")

    def test_a_call_that_goes_on_by_itself_ends_at_its_deadline(self) -> None:
        with blocking.Clock() as clock, blocking.TestServer(get_user.handler(slow), clock=clock) as server:
            call = server.client.start(get_user, pb.GetUserRequest(user_id=7), timeout=30)
            clock.advance(30)
            with assert_fails(Code.DEADLINE_EXCEEDED):
                call.result()


if __name__ == "__main__":
    unittest.main()
