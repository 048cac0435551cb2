"""What a newcomer gets wrong is told where it was done, in words that help, and harms nobody else."""

from __future__ import annotations

import asyncio
import unittest
from collections.abc import AsyncIterator, Callable
from typing import Any

from example.v1.user_pb2 import GetUserRequest, GetUserResponse
from trunkcall import PROTOBUF, Client, Code, Delivery, Handler, Limits, Server, ServerCall, server_stream, unary
from trunkcall.codec import kind_of, one_of

from .kit import COUNT, ECHO, JOIN, OTHER, Case, Gate, all_of, count, echo, eventually

GET_USER = unary("/test.Users/GetUser", GetUserRequest, GetUserResponse)


async def one_argument(request: bytes) -> bytes:
    return request


class AtOnce(unittest.TestCase):
    def test_what_cannot_be_meant_is_told_when_it_is_given(self) -> None:
        anything: Any = Client
        server: Any = Server()
        cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
            (lambda: anything("http://localhost:80"), ValueError, "is a URL"),
            (lambda: anything(4000), TypeError, "not an int"),
            (lambda: anything("a:1", tls=True), TypeError, "client_tls"),
            (
                lambda: anything("a:1", limits=Limits(message_bytes=0)),
                ValueError,
                "option limits.message_bytes: 0 was given",
            ),
            (
                lambda: anything("a:1", limits=Limits(calls=1 << 20)),
                ValueError,
                "option limits.calls: 1,048,576 was given",
            ),
            (
                lambda: anything("a:1", limits=Limits(metadata_bytes=10)),
                ValueError,
                "option limits.metadata_bytes: 10 was given",
            ),
            (
                lambda: anything("a:1", limits=Limits(metadata_entries=1)),
                ValueError,
                "option limits.metadata_entries: 1 was given",
            ),
            (lambda: server.register(echo), TypeError, "register takes"),
            (lambda: ECHO.handler(anything(None)), TypeError, "the like, not None"),
            (lambda: ECHO.handler(None), TypeError, "/test.Service/Echo is None"),  # type: ignore[arg-type]
            (lambda: ECHO.handler(one_argument), TypeError, "a request and the call"),  # type: ignore[arg-type]
            (lambda: unary("div", bytes, bytes), ValueError, 'method name "/div": want /package.Service/Method'),
            (lambda: unary("/test.Service/", bytes, bytes), ValueError, "want /package.Service/Method, at most 1024"),
            (lambda: unary("s/" + 1_100 * "m", bytes, bytes), ValueError, "method name of 1103 bytes: want"),
            (lambda: Handler(ECHO, count), TypeError, "one answer, not yields"),
            (lambda: Handler(JOIN, count), TypeError, "client-streaming"),
        ]
        for wrong, kind, text in cases:
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                wrong()

    def test_whatever_can_be_called_with_both_may_serve(self) -> None:
        for serve in (echo, lambda *both: both, lambda request, call, more=1: request, Gate(), print):
            Handler(ECHO, serve)
        Handler(COUNT, count)


class Messages(Case):
    async def test_a_message_of_a_wrong_type_is_named_at_either_end(self) -> None:
        async def serve(request: GetUserRequest, call: ServerCall) -> Any:
            return "a user"

        def inline(request: GetUserRequest, call: ServerCall) -> Any:
            return None

        hidden = r"the handler's answer is not a message of this method \(error [0-9a-f]{16} in the log of the server\)"
        none = "the handler of /test.Users/GetUser returned None, want a GetUserResponse"
        for handler, told, logged in (
            (GET_USER.handler(serve), hidden, "the handler of /test.Users/GetUser returned a str, want a GetUserRes"),
            (GET_USER.handler(inline, inline=True), none, none),
        ):
            _, client = await self.pair(handler)
            client._codec = PROTOBUF
            for _ in range(2):  # the first goes the long way
                wrong: Any = {"user_id": 7}
                error = await self.fails(client.call(GET_USER, wrong), Code.INTERNAL, Delivery.NOT_SENT)
                self.assertIn("/test.Users/GetUser takes a GetUserRequest, got a dict", error.message)
                with self.assertLogs("trunkcall", "ERROR") as log:
                    error = await self.fails(client.call(GET_USER, GetUserRequest()), Code.INTERNAL)
                self.assertRegex(error.message, f"^{told}$")
                self.assertIn(logged, log.output[0])

    async def test_a_stream_that_yields_none_is_named_to_its_caller_and_in_the_log(self) -> None:
        async def serve(request: GetUserRequest, call: ServerCall) -> Any:
            yield None

        method = server_stream("/test.Users/ListUsers", GetUserRequest, GetUserResponse)
        _, client = await self.pair(method.handler(serve))
        untyped: Any = client
        untyped._codec = PROTOBUF
        text = "the handler of /test.Users/ListUsers sent None, want a GetUserResponse"
        with self.assertLogs("trunkcall", "ERROR") as log:
            error = await self.fails(all_of(untyped.open(method, GetUserRequest())), Code.INTERNAL)
        self.assertEqual(error.message, text)
        self.assertIn(text, log.output[0])

    def test_a_type_is_named_with_its_article(self) -> None:
        class Item:
            pass

        self.assertEqual((one_of(Item), one_of(GetUserRequest)), ("an Item", "a GetUserRequest"))
        self.assertEqual((kind_of(1), kind_of(None)), ("an int", "None"))

    async def test_what_is_called_and_is_no_method_is_named(self) -> None:
        _, client = await self.pair()
        await client.connect()
        anything: Any = client
        for work in (
            lambda: anything.call("/test.Service/Echo", b""),
            lambda: anything.call(b"", ECHO),
            lambda: anything.send("/test.Service/Echo", b""),
            lambda: all_of(anything.open("/test.Service/Count", b"")),
        ):
            with self.assertRaisesRegex(TypeError, "a call of b?'.*': want a method and then its request"):
                await work()

    async def test_a_timeout_that_is_none_left_says_so(self) -> None:
        _, client = await self.pair()
        for timeout in (0, -1):
            error = await self.fails(client.call(ECHO, b"", timeout=timeout), Code.DEADLINE_EXCEEDED, Delivery.NOT_SENT)
            self.assertIn(f"option timeout: {timeout} was given, want seconds above 0", error.message)

    async def test_a_stream_whose_handler_returns_one_message_says_what_to_do(self) -> None:
        async def serve(request: GetUserRequest, call: ServerCall) -> Any:
            return GetUserResponse()

        method = server_stream("/test.Users/ListUsers", GetUserRequest, GetUserResponse)
        _, client = await self.pair(method.handler(serve))
        untyped: Any = client
        untyped._codec = PROTOBUF
        with self.assertLogs("trunkcall", "ERROR") as log:
            await self.fails(all_of(untyped.open(method, GetUserRequest())), Code.UNKNOWN)
        self.assertIn("returned a GetUserResponse: yield the messages, or await call.send", log.output[0])

    def test_cleartext_beside_no_tls_is_named(self) -> None:
        with self.assertRaisesRegex(ValueError, "option allow_cleartext: True was given, and no tls"):
            Server(allow_cleartext=True)


class Pairs(Case):
    async def test_metadata_of_a_wrong_type_is_not_sent(self) -> None:
        _, client = await self.pair()
        wrong: Any = [("a", 1)]
        error = await self.fails(client.call(ECHO, b"", metadata=wrong), Code.INVALID_ARGUMENT, Delivery.NOT_SENT)
        self.assertIn("not int", error.message)
        wrong = {"a": "b"}
        with self.assertRaisesRegex(TypeError, "items"):
            await client.call(ECHO, b"", metadata=wrong)

    async def test_a_trailer_of_a_wrong_type_fails_its_call_alone(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> bytes:
            wrong: Any = [("a", 1)]
            call.set_trailer(wrong)
            return request

        server, client = await self.pair(ECHO.handler(serve), OTHER.handler(echo))
        error = await self.fails(client.call(ECHO, b"", timeout=5), Code.INTERNAL)
        self.assertIn("metadata", error.message)
        self.assertEqual(await client.call(OTHER, b"x"), b"x")
        self.assertEqual(server.running, 0)

    async def test_a_waiting_call_that_cannot_be_sent_fails_alone(self) -> None:
        gate = Gate()
        _, client = await self.pair(ECHO.handler(gate), OTHER.handler(echo), limits=Limits(calls=1))
        await client.connect()
        running = asyncio.create_task(client.call(ECHO, b"x"))
        await gate.begun.wait()
        wrong: Any = [(1, 2, 3)]
        waiting = asyncio.create_task(client.call(OTHER, b"", metadata=wrong))
        behind = asyncio.create_task(client.call(OTHER, b"y"))
        await eventually(lambda: len(client._waiting) == 2)
        gate.open.set()
        await self.fails(waiting, Code.INVALID_ARGUMENT, Delivery.NOT_SENT)
        self.assertEqual((await running, await behind), (b"x", b"y"))

    async def test_an_exception_of_the_codec_in_a_stream_fails_its_call_alone(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> AsyncIterator[Any]:
            yield "text"

        server, client = await self.pair(COUNT.handler(serve), OTHER.handler(echo))
        await self.fails(client.open(COUNT, b"").receive(), Code.INTERNAL)
        self.assertEqual((await client.call(OTHER, b"x"), server.running), (b"x", 0))
