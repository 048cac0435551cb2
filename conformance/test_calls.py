"""What the `call` commands make of a server of the test's own, and many calls at once. What else holds for calls is in
the cases (cases/README.md)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from unittest import IsolatedAsyncioTestCase

from google.protobuf.any_pb2 import Any as AnyMessage

import trunkcall
from example.v1.user_pb2 import GetUserRequest, GetUserResponse, ImportUsersResponse, ListUsersRequest
from harness.processes import PATIENCE, Outcome
from harness.programs import USERS, ProgramTest, run, run_unheard

from .languages import HUB, PROGRAMS, each_language

GET_USER = trunkcall.unary("/" + USERS + "GetUser", GetUserRequest, GetUserResponse)
LIST_USERS = trunkcall.server_stream("/" + USERS + "ListUsers", ListUsersRequest, GetUserResponse)
IMPORT_USERS = trunkcall.client_stream("/" + USERS + "ImportUsers", GetUserResponse, ImportUsersResponse)


@each_language(PROGRAMS)
class Callers(ProgramTest, IsolatedAsyncioTestCase):
    """Reference programs call a server of the test's own, all with the same outcome."""

    language: str

    async def serve_here(self, *handlers: trunkcall.Handler) -> str:
        server = await self.enterAsyncContext(trunkcall.Server())
        server.register(*handlers)
        return await server.listen("127.0.0.1:0")

    async def call(self, language: str, target: str, *words: str) -> Outcome:
        return await asyncio.to_thread(run, PROGRAMS[language], "call", "--target", target, *words)

    async def test_metadata_arrives_as_it_was_sent(self) -> None:
        got: list[list[tuple[str, str | bytes]]] = []

        async def serve(request: GetUserRequest, call: trunkcall.ServerCall) -> GetUserResponse:
            got.append(list(call.metadata))
            return GetUserResponse()

        target = await self.serve_here(GET_USER.handler(serve))
        flags = "--metadata Key=a=b --metadata key= --metadata raw-bin=AP8= --metadata raw-bin=AP8".split()
        self.assertEqual(await self.call(self.language, target, USERS + "GetUser", "{}", *flags), Outcome("{}\n"))
        self.assertEqual(got, [[("key", "a=b"), ("key", ""), ("raw-bin", b"\0\xff"), ("raw-bin", b"\0\xff")]])

    async def test_a_caller_that_gives_up_cancels_the_handler(self) -> None:
        ended: asyncio.Queue[str] = asyncio.Queue()

        async def serve(request: ListUsersRequest, call: trunkcall.ServerCall) -> AsyncIterator[GetUserResponse]:
            try:
                yield GetUserResponse(name="one")
                await asyncio.Event().wait()
            finally:
                ended.put_nowait("ended")

        target = await self.serve_here(LIST_USERS.handler(serve))
        words = ("call", "--target", target, USERS + "ListUsers", "{}")
        self.assertEqual((await asyncio.to_thread(run_unheard, PROGRAMS[self.language], *words)).status, 1)
        async with asyncio.timeout(PATIENCE):
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
        got, of_hub = [await self.call(key, target, USERS + "GetUser", "{}") for key in (self.language, HUB)]
        failure = self.assert_failure(got, "ABORTED", "executed", 'a "<b>" & c\u2028 许; d')
        self.assertEqual(failure["details"][0]["reason"], "x")
        self.assertEqual([detail.get("value") for detail in failure["details"]], [None, "AQL/", "/w==", ""])
        self.assertEqual(got, of_hub)


class ServedByAnother(ProgramTest, IsolatedAsyncioTestCase):
    """A client of the test's own calls a reference program."""

    async def asyncSetUp(self) -> None:
        self.served = self.serve(PROGRAMS[HUB])
        self.client = await self.enterAsyncContext(trunkcall.Client(self.served.address))

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
