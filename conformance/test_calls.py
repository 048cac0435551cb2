"""What travels beside the messages, and how calls end: between Go and a server or client in Python."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from unittest import IsolatedAsyncioTestCase

from google.protobuf.any_pb2 import Any as AnyMessage

import trunkcall
from example.v1.user_pb2 import GetUserRequest, GetUserResponse, ImportUsersResponse, ListUsersRequest
from tests.peer.programs import GO, LIMIT, USERS, Outcome, ProgramTest, run, run_unheard

from .languages import PROGRAMS

GET_USER = trunkcall.unary("/" + USERS + "GetUser", GetUserRequest, GetUserResponse)
LIST_USERS = trunkcall.server_stream("/" + USERS + "ListUsers", ListUsersRequest, GetUserResponse)
IMPORT_USERS = trunkcall.client_stream("/" + USERS + "ImportUsers", GetUserResponse, ImportUsersResponse)
WATCH_USERS = trunkcall.bidi_stream("/" + USERS + "WatchUsers", GetUserRequest, GetUserResponse)
NOBODY = trunkcall.unary("/trunkcall.example.v1.UserService/Nobody", GetUserRequest, GetUserResponse)


class Callers(ProgramTest, IsolatedAsyncioTestCase):
    """Reference programs call a server of the test's own, both with the same outcome."""

    async def serve_here(self, *handlers: trunkcall.Handler) -> str:
        server = await self.enterAsyncContext(trunkcall.Server())
        server.register(*handlers)
        return await server.listen("127.0.0.1:0")

    async def call(self, program: tuple[str, ...], target: str, *words: str) -> Outcome:
        return await asyncio.to_thread(run, program, "call", "--target", target, *words)

    async def test_metadata_arrives_as_it_was_sent(self) -> None:
        got: list[list[tuple[str, str | bytes]]] = []

        async def serve(request: GetUserRequest, call: trunkcall.ServerCall) -> GetUserResponse:
            got.append(list(call.metadata))
            return GetUserResponse()

        target = await self.serve_here(GET_USER.handler(serve))
        flags = "--metadata Key=a=b --metadata key= --metadata raw-bin=AP8= --metadata raw-bin=AP8".split()
        for program in PROGRAMS.values():
            self.assertEqual(await self.call(program, target, USERS + "GetUser", "{}", *flags), Outcome("{}\n"))
        wanted = [("key", "a=b"), ("key", ""), ("raw-bin", b"\0\xff"), ("raw-bin", b"\0\xff")]
        self.assertEqual(got, [wanted] * len(PROGRAMS))

    async def test_the_deadline_travels_and_ends_the_call_at_both_ends(self) -> None:
        left: list[float | None] = []
        ended: asyncio.Queue[str] = asyncio.Queue()

        async def serve(request: GetUserRequest, call: trunkcall.ServerCall) -> GetUserResponse:
            left.append(call.time_remaining())
            try:
                await asyncio.Event().wait()
                raise AssertionError("not reached")
            except asyncio.CancelledError:
                ended.put_nowait("cancelled")
                raise

        target = await self.serve_here(GET_USER.handler(serve))
        for program in PROGRAMS.values():
            got = await self.call(program, target, USERS + "GetUser", "{}", "--timeout", "1s")
            self.assertEqual(got.stdout, "")
            self.assert_failure(got, "DEADLINE_EXCEEDED", "unknown", "deadline")
            async with asyncio.timeout(LIMIT):
                self.assertEqual(await ended.get(), "cancelled")
        self.assertEqual(len(left), len(PROGRAMS))
        for seconds in left:
            assert seconds is not None
            self.assertTrue(0 < seconds <= 1, seconds)

    async def test_a_caller_that_gives_up_cancels_the_handler(self) -> None:
        ended: asyncio.Queue[str] = asyncio.Queue()

        async def serve(request: ListUsersRequest, call: trunkcall.ServerCall) -> AsyncIterator[GetUserResponse]:
            try:
                yield GetUserResponse(name="one")
                await asyncio.Event().wait()
            finally:
                ended.put_nowait("ended")

        target = await self.serve_here(LIST_USERS.handler(serve))
        for program in PROGRAMS.values():
            words = ("call", "--target", target, USERS + "ListUsers", "{}")
            self.assertEqual((await asyncio.to_thread(run_unheard, program, *words)).status, 1)
            async with asyncio.timeout(LIMIT):
                await ended.get()

    async def test_failures_and_their_details_arrive_alike(self) -> None:
        async def serve(request: GetUserRequest, call: trunkcall.ServerCall) -> GetUserResponse:
            details = [
                AnyMessage(type_url="type.googleapis.com/google.rpc.ErrorInfo", value=b"\n\x01x"),
                AnyMessage(type_url="type.googleapis.com/nobody.Knows", value=b"\1\2\xff"),
                AnyMessage(type_url="type.googleapis.com/google.rpc.ErrorInfo", value=b"\xff"),
                AnyMessage(),
            ]
            raise trunkcall.StatusError(trunkcall.Code.ABORTED, 'a "<b>" & c\u2028 许\nd', details)

        target = await self.serve_here(GET_USER.handler(serve))
        first, *others = [await self.call(p, target, USERS + "GetUser", "{}") for p in PROGRAMS.values()]
        failure = self.assert_failure(first, "ABORTED", "executed", 'a "<b>" & c\u2028 许; d')
        self.assertEqual(failure["details"][0]["reason"], "x")
        self.assertEqual([detail.get("value") for detail in failure["details"]], [None, "AQL/", "/w==", ""])
        for other in others:
            self.assertEqual(other, first)

    async def test_every_code_arrives(self) -> None:
        async def serve(request: GetUserRequest, call: trunkcall.ServerCall) -> GetUserResponse:
            raise trunkcall.StatusError(trunkcall.Code(request.user_id), "because")

        target = await self.serve_here(GET_USER.handler(serve))
        for code in list(trunkcall.Code)[1:]:
            with self.subTest(code):
                got = await self.call(GO, target, USERS + "GetUser", f'{{"userId":{int(code)}}}')
                self.assert_failure(got, code.name, "executed", "because")

    async def test_what_handlers_do_wrong_is_told_alike(self) -> None:
        async def fail(request: GetUserRequest, call: trunkcall.ServerCall) -> GetUserResponse:
            raise RuntimeError("a secret")

        async def nothing(requests: AsyncIterator[GetUserResponse], call: trunkcall.ServerCall) -> Any:
            return None

        target = await self.serve_here(GET_USER.handler(fail), IMPORT_USERS.handler(nothing))
        with self.assertLogs("trunkcall"):
            outcomes = [await self.call(p, target, USERS + "GetUser", "{}") for p in PROGRAMS.values()]
        for outcome in outcomes:
            failure = self.assert_failure(outcome, "INTERNAL", "executed", "")
            self.assertNotIn("secret", failure["message"])
        self.assertEqual(outcomes[0], outcomes[1])

    async def test_what_is_not_served_is_refused(self) -> None:
        target = await self.serve_here()
        outcomes = [await self.call(p, target, USERS + "GetUser", "{}") for p in PROGRAMS.values()]
        for outcome in outcomes:
            self.assertEqual(outcome, outcomes[0])
            self.assert_failure(outcome, "UNIMPLEMENTED", "refused", "method /trunkcall.example.v1.UserService/GetUser")


class ServedByGo(ProgramTest, IsolatedAsyncioTestCase):
    """A client of the test's own calls the Go program."""

    async def asyncSetUp(self) -> None:
        self.served = self.serve(GO)
        self.client = await self.enterAsyncContext(trunkcall.Client(self.served.address))

    def assert_status(self, failed: trunkcall.StatusError, code: trunkcall.Code, delivery: trunkcall.Delivery) -> None:
        self.assertEqual((failed.code, failed.delivery), (code, delivery), failed)

    async def test_failures_carry_their_details(self) -> None:
        for number, code, detail in (
            (0, trunkcall.Code.INVALID_ARGUMENT, "google.rpc.BadRequest"),
            (10**9, trunkcall.Code.NOT_FOUND, "google.rpc.ResourceInfo"),
        ):
            with self.subTest(number), self.assertRaises(trunkcall.StatusError) as caught:
                await self.client.call(GET_USER, GetUserRequest(user_id=number))
            self.assert_status(caught.exception, code, trunkcall.Delivery.EXECUTED)
            self.assertEqual([d.type_url for d in caught.exception.details], [f"type.googleapis.com/{detail}"])

    async def test_what_is_not_served_is_refused(self) -> None:
        with self.assertRaises(trunkcall.StatusError) as caught:
            await self.client.call(NOBODY, GetUserRequest())
        self.assert_status(caught.exception, trunkcall.Code.UNIMPLEMENTED, trunkcall.Delivery.REFUSED)

    async def test_a_deadline_ends_a_stream(self) -> None:
        stream = self.client.open(WATCH_USERS, timeout=0.2)
        with self.assertRaises(trunkcall.StatusError) as caught:
            await stream.receive()
        self.assert_status(caught.exception, trunkcall.Code.DEADLINE_EXCEEDED, trunkcall.Delivery.UNKNOWN)

    async def test_a_deadline_that_has_passed_sends_nothing(self) -> None:
        with self.assertRaises(trunkcall.StatusError) as caught:
            await self.client.call(GET_USER, GetUserRequest(user_id=7), timeout=0)
        self.assert_status(caught.exception, trunkcall.Code.DEADLINE_EXCEEDED, trunkcall.Delivery.NOT_SENT)

    async def test_a_cancelled_stream_ends_its_handler(self) -> None:
        streams = [self.client.open(WATCH_USERS) for _ in range(10)]
        for stream in streams:
            await stream.send(GetUserRequest(user_id=7))
            self.assertIsNotNone(await stream.receive())
        for stream in streams:
            stream.cancel()
            with self.assertRaises(trunkcall.StatusError) as caught:
                await stream.receive()
            self.assert_status(caught.exception, trunkcall.Code.CANCELLED, trunkcall.Delivery.UNKNOWN)
        # The connection goes on, and no handler keeps the server from ending.
        self.assertEqual((await self.client.call(GET_USER, GetUserRequest(user_id=7))).name, "user-7")
        self.assertEqual(await asyncio.to_thread(self.served.stop), Outcome(""))

    async def test_metadata_of_every_kind_passes(self) -> None:
        metadata: trunkcall.Metadata = [("key", "a=b"), ("key", ""), ("raw-bin", bytes(range(256))), ("raw-bin", b"")]
        self.assertEqual(
            (await self.client.call(GET_USER, GetUserRequest(user_id=7), metadata=metadata)).name, "user-7"
        )
        stream = self.client.open(LIST_USERS, ListUsersRequest(count=2), metadata=metadata)
        self.assertEqual([user.name async for user in stream], ["user-1", "user-2"])

    async def test_many_calls_of_every_kind_at_once(self) -> None:
        async def import_users(count: int) -> None:
            stream = self.client.open(IMPORT_USERS)
            for _ in range(count):
                await stream.send(GetUserResponse(name="x" * 1000))
            self.assertEqual((await stream.response()).count, count)

        async def get_user(number: int) -> None:
            got = await self.client.call(GET_USER, GetUserRequest(user_id=number))
            self.assertEqual(got.name, f"user-{number}")

        async def list_users(count: int) -> None:
            stream = self.client.open(LIST_USERS, ListUsersRequest(count=count))
            self.assertEqual(len([user async for user in stream]), count)

        async with asyncio.TaskGroup() as group:
            for number in range(1, 200):
                for work in (import_users, get_user, list_users):
                    group.create_task(work(number))


class NobodyThere(IsolatedAsyncioTestCase):
    async def test_nothing_was_sent(self) -> None:
        async with trunkcall.Client("127.0.0.1:1") as client:
            with self.assertRaises(trunkcall.StatusError) as caught:
                await client.call(GET_USER, GetUserRequest(user_id=7))
        self.assertEqual(caught.exception.code, trunkcall.Code.UNAVAILABLE)
        self.assertEqual(caught.exception.delivery, trunkcall.Delivery.NOT_SENT)
