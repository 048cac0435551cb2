"""What no call can be given is told at the call, with asyncio and blocking alike, and nothing is sent."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

from example.v1.user_pb2 import GetUserRequest, GetUserResponse, ListUsersRequest
from trunkcall import (
    Client,
    Code,
    Delivery,
    Handler,
    ServerCall,
    StatusError,
    bidi_stream,
    blocking,
    client_stream,
    server_stream,
    unary,
)

from .kit import Case, black_hole, eventually

GET = unary("/test.Users/GetUser", GetUserRequest, GetUserResponse)
LIST = server_stream("/test.Users/ListUsers", ListUsersRequest, GetUserResponse)
IMPORT = client_stream("/test.Users/ImportUsers", GetUserRequest, GetUserResponse)
WATCH = bidi_stream("/test.Users/WatchUsers", GetUserRequest, GetUserResponse)


async def get(request: GetUserRequest, call: ServerCall) -> GetUserResponse:
    return GetUserResponse()


async def many(request: ListUsersRequest, call: ServerCall) -> AsyncIterator[GetUserResponse]:
    yield GetUserResponse()


async def one_of_many(requests: AsyncIterator[GetUserRequest], call: ServerCall) -> GetUserResponse:
    return GetUserResponse(name=str([request async for request in requests]))


async def each(requests: AsyncIterator[GetUserRequest], call: ServerCall) -> AsyncIterator[GetUserResponse]:
    async for _ in requests:
        yield GetUserResponse()


HANDLERS: tuple[Handler, ...] = (
    GET.handler(get),
    LIST.handler(many),
    IMPORT.handler(one_of_many),
    WATCH.handler(each),
)
Calling = Callable[..., Awaitable[Any]]


class Ways(Case):
    async def ways(self) -> dict[str, Calling]:
        """How calls are made, of a unary method and of one that streams: of clients that are connected."""
        _, address = await self.serve(*HANDLERS)
        client, blocks = Client(address), blocking.Client(address)
        self.addAsyncCleanup(client.close)
        self.addAsyncCleanup(asyncio.to_thread, blocks.close)
        await client.connect()
        await asyncio.to_thread(blocks.connect)
        request = GetUserRequest()

        async def call(**options: Any) -> Any:
            return await client.call(GET, request, **options)

        async def stream(**options: Any) -> Any:
            return await client.open(LIST, ListUsersRequest(), **options).receive()

        async def block(**options: Any) -> Any:
            return await asyncio.to_thread(lambda: blocks.call(GET, request, **options))

        async def start(**options: Any) -> Any:
            return await asyncio.to_thread(lambda: blocks.start(GET, request, **options).result())

        async def block_stream(**options: Any) -> Any:
            return await asyncio.to_thread(lambda: blocks.open(LIST, ListUsersRequest(), **options).receive())

        ways = (call, stream, block, start, block_stream)
        return {way.__name__: way for way in ways}


class Metadata(Ways):
    async def test_metadata_that_cannot_be_sent_is_told_by_its_key(self) -> None:
        anything: Any = [
            ([("X-Up", "v")], "metadata key 'X-Up': want 1 to 255 of a-z, 0-9, _, ., -: 'x-up'"),
            ([("a b", "v")], "metadata key 'a b': want 1 to 255 of a-z, 0-9, _, ., -"),
            ([(1, "v")], "metadata key 1: want a str"),
            ([("k", 1)], "the value of metadata key 'k': want a str or bytes, not int"),
            ([("k-bin", "v")], "the value of metadata key 'k-bin': want bytes, not str, where a key ends in -bin"),
            (
                [("k", "é")],
                "the value of metadata key 'k': want text of 0x20 to 0x7E; where the key ends in -bin it is any bytes",
            ),
            (
                [("k", "\ud800")],
                "the value of metadata key 'k': want text of 0x20 to 0x7E; where the key ends in -bin it is any bytes",
            ),
            (["ab"], "metadata entry of type str: want a pair of key and value"),
            ([None], "metadata entry of type NoneType: want a pair of key and value"),
            ([("k", "v", "w")], "metadata entry of type tuple: want a pair of key and value"),
        ]
        for name, way in (await self.ways()).items():
            for metadata, text in anything:
                with self.subTest(f"{name}: {text}"):
                    error = await self.fails(way(metadata=metadata), Code.INVALID_ARGUMENT, Delivery.NOT_SENT)
                    self.assertEqual(error.message, text)
            for metadata, kind in (("text", "str"), (5, "int")):
                with self.subTest(f"{name}: {kind}"), self.assertRaisesRegex(TypeError, f"are pairs, not {kind}: give"):
                    await way(metadata=metadata)
            await way(metadata=[["k", "v"], ("k-bin", b"\xff")])


class Options(Ways):
    async def test_an_option_that_cannot_be_is_told_by_its_name(self) -> None:
        seconds, late = "want seconds", "the deadline had passed when the call began: option timeout: "
        for name, way in (await self.ways()).items():
            for option, value, kind, text in (
                ("timeout", math.nan, ValueError, f"option timeout: nan was given, {seconds}"),
                ("timeout", True, TypeError, f"option timeout: True was given, {seconds}"),
                ("timeout", "5", TypeError, f"option timeout: '5' was given, {seconds}"),
                ("timeout", timedelta(0, 5), TypeError, f"timedelta.* was given, {seconds}, which its total_seconds"),
                ("wait_for_ready", 1, TypeError, "option wait_for_ready: 1 was given, want True or False"),
            ):
                with self.subTest(f"{name} {option}={value!r}"), self.assertRaisesRegex(kind, text):
                    await way(**{option: value})
            for timeout, spelled in ((0, "0"), (-1.5, "-1.5"), (-math.inf, "-inf")):
                with self.subTest(f"{name} timeout={timeout}"):
                    error = await self.fails(way(timeout=timeout), Code.DEADLINE_EXCEEDED, Delivery.NOT_SENT)
                    self.assertEqual(error.message, f"{late}{spelled} was given, want seconds above 0")
            for timeout in (math.inf, 10**400, 3_600):
                await way(timeout=timeout)

    async def test_what_is_no_call_options_is_named(self) -> None:
        client: Any = self.client("127.0.0.1:1")
        for wrong in ({"timeout": 1}, None, 5):
            with self.assertRaisesRegex(TypeError, "the options of a call: .* was given, want CallOptions"):
                await client.unary(GET, GetUserRequest(), wrong)
            with self.assertRaisesRegex(TypeError, "the options of a call: .* was given, want CallOptions"):
                client.stream(LIST, ListUsersRequest(), wrong)

    def test_a_message_in_place_of_its_class_is_seen_in_the_text(self) -> None:
        wrong: Any = GetUserRequest
        for message in (wrong(), wrong(user_id=1)):
            with self.assertRaisesRegex(TypeError, "^option request: an object of GetUserRequest was given, want a cl"):
                unary("/test.Users/GetUser", message, GetUserResponse)


class Requests(Case):
    async def test_a_request_of_another_type_is_named_and_nothing_is_sent(self) -> None:
        wrong: Any = ListUsersRequest()
        cases: list[tuple[Any, Any, str]] = [
            (GET, wrong, "/test.Users/GetUser takes a GetUserRequest, got a ListUsersRequest"),
            (GET, None, "/test.Users/GetUser takes a GetUserRequest, got None"),
            (
                GET,
                GetUserRequest,
                "/test.Users/GetUser takes a GetUserRequest, got the class: call it, GetUserRequest(",
            ),
            (LIST, {}, "/test.Users/ListUsers takes a ListUsersRequest, got a dict"),
            (IMPORT, wrong, "/test.Users/ImportUsers takes a GetUserRequest, got a ListUsersRequest"),
            (WATCH, wrong, "/test.Users/WatchUsers takes a GetUserRequest, got a ListUsersRequest"),
        ]
        for method, request, text in cases:
            for calls in (self.called, self.blocked):
                # Where nobody greets, nothing of a call can be sent.
                async with black_hole() as address:
                    for error in await calls(address, method, request):
                        self.assertIn(text, error.message)
                        self.assertEqual((error.code, error.delivery), (Code.INTERNAL, Delivery.NOT_SENT))

    async def called(self, address: str, method: Any, request: Any) -> list[StatusError]:
        async with Client(address) as client:
            with self.assertRaises(StatusError) as caught:
                if method is GET:
                    await client.call(method, request)
                if method is LIST:
                    await client.open(method, request).receive()
                stream: Any = client.open(method)
                await stream.send(request)
            if method is GET or method is LIST:
                return [caught.exception]
            with self.assertRaises(StatusError) as again:
                await stream.receive()
            self.assertEqual(await stream.status(), caught.exception.status)
            return [caught.exception, again.exception]

    async def blocked(self, address: str, method: Any, request: Any) -> list[StatusError]:
        def work() -> None:
            with blocking.Client(address) as client:
                if method is GET:
                    client.call(method, request)
                if method is LIST:
                    client.open(method, request).receive()
                client.open(method).send(request)

        with self.assertRaises(StatusError) as caught:
            await asyncio.to_thread(work)
        return [caught.exception]

    async def test_a_stream_of_requests_is_opened_without_one(self) -> None:
        _, address = await self.serve(*HANDLERS)
        client, blocks = self.client(address), blocking.Client(address)
        self.addAsyncCleanup(asyncio.to_thread, blocks.close)
        method: Any = IMPORT
        text = "/test.Users/ImportUsers is client-streaming: it is opened without a request, and then sent some"
        with self.assertRaisesRegex(TypeError, text):
            client.open(method, GetUserRequest())
        with self.assertRaisesRegex(TypeError, text):
            await asyncio.to_thread(lambda: blocks.open(method, GetUserRequest()))
        await eventually(lambda: not client._live)
