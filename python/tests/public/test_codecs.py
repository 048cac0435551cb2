"""Codecs beside Protobuf: raw, and users' own, which have one number and one name at both sides."""

from __future__ import annotations

import unittest
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from example.v1.user_pb2 import GetUserRequest, GetUserResponse
from trunkcall import JSON, MSGPACK, PROTOBUF, Code, Delivery, Server, ServerCall, bidi_stream, unary
from trunkcall.wire.varint import varint

from .kit import ECHO, Case, echo

TEXT = unary("/test.Service/Text", str, str)
GET = unary("/test.Service/Get", GetUserRequest, GetUserResponse)


@dataclass(frozen=True)
class Text:
    """Strings, the letters in reverse."""

    number: int
    name: str = "reverse"

    def encoder(self, kind: type[Any]) -> Any:
        return lambda message: message[::-1].encode()

    def decoder(self, kind: type[Any]) -> Any:
        return lambda data: data.decode()[::-1]


class Raw(Text):
    """The bytes of strings, by the number of another codec."""

    def encoder(self, kind: type[Any]) -> Any:
        return str.encode


@dataclass
class Point:
    x: int
    last_name: str


async def move(request: Point, call: ServerCall) -> Point:
    return Point(request.x + 1, request.last_name)


async def upper(request: str, call: ServerCall) -> str:
    return request.upper()


async def get(request: GetUserRequest, call: ServerCall) -> GetUserResponse:
    return GetUserResponse(name=str(request.user_id))


class Codecs(Case):
    async def test_a_codec_of_ones_own_has_one_number_and_one_name(self) -> None:
        _, address = await self.serve(TEXT.handler(upper), codecs=[Text(9)])
        client = self.client(address, codec=Text(9))
        for _ in range(3):
            self.assertEqual(await client.call(TEXT, "abc"), "ABC")
        await self.fails(self.client(address, codec=Text(8)).call(TEXT, "abc"), Code.UNIMPLEMENTED, Delivery.REFUSED)

    async def test_a_codec_that_the_server_has_not_is_refused(self) -> None:
        _, address = await self.serve(TEXT.handler(upper), codecs=[Text(9)])
        client = self.client(address, codec=Text(9, "other"))
        await client.connect()
        await self.fails(client.call(TEXT, "abc"), Code.UNIMPLEMENTED, Delivery.REFUSED)

    async def test_a_codec_that_is_not_for_the_methods_messages_is_refused(self) -> None:
        _, address = await self.serve(ECHO.handler(echo), GET.handler(get))
        stranger = unary(GET.name, bytes, bytes)
        await self.fails(self.client(address).call(stranger, b""), Code.UNIMPLEMENTED, Delivery.REFUSED)
        client = self.client(address, codec=PROTOBUF)
        await self.fails(client.call(ECHO, b""), Code.INTERNAL, Delivery.NOT_SENT)
        self.assertEqual(await client.call(GET, GetUserRequest(user_id=1)), GetUserResponse(name="1"))

    async def test_messages_of_protobuf_go_as_its_json(self) -> None:
        _, address = await self.serve(GET.handler(get))
        client = self.client(address, codec=JSON)
        self.assertEqual(await client.call(GET, GetUserRequest(user_id=1)), GetUserResponse(name="1"))
        bind = GET.binding(JSON)
        self.assertEqual(bind.encode_request(GetUserRequest(user_id=1 << 60)), b'{"userId":"1152921504606846976"}')
        self.assertEqual(bind.decode_request(b'{"userId":7,"later":[{}]}'), GetUserRequest(user_id=7))
        self.assertRaises(TypeError, bind.encode_request, GetUserResponse())
        other = self.client(address, codec=PROTOBUF)
        self.assertEqual(await other.call(GET, GetUserRequest(user_id=2), codec=JSON), GetUserResponse(name="2"))

    async def test_json_that_is_no_message_is_refused(self) -> None:
        _, address = await self.serve(GET.handler(get))
        client = self.client(address, codec=Raw(2))
        stranger = unary(GET.name, str, str)
        for text in ("", "7", '{"userId":"x"}', '{"userId":1', "[" * 100_000):
            await self.fails(client.call(stranger, text), Code.INVALID_ARGUMENT, Delivery.REFUSED)

    async def test_records_are_messages_of_json_and_messagepack(self) -> None:
        method = unary("/test.Service/Move", Point, Point)
        _, address = await self.serve(method.handler(move))
        for codec in (JSON, MSGPACK):
            client = self.client(address, codec=codec)
            self.assertEqual(await client.call(method, Point(1, "a")), Point(2, "a"))
            wrong: Any = Point("x", "a")  # type: ignore[arg-type]
            error = await self.fails(client.call(method, wrong), Code.INVALID_ARGUMENT, Delivery.NOT_SENT)
            self.assertIn("the message, at .x: want a whole number", error.message)
        self.assertEqual(method.binding(JSON).encode_request(Point(1, "a")), b'{"x":1,"lastName":"a"}')

    def test_numbers_that_mean_nothing_are_refused(self) -> None:
        for number in (-1, 5, 7, 16):
            with self.assertRaises(ValueError):
                Server(codecs=[Text(number)])


LARGE = [bytes([65 + index]) * size for index, size in enumerate((300_000, 200_001, 300_000, 70_000, 1_000_000, 9))]


class Kept:
    """Bytes that are kept as they come."""

    name = "kept"
    number = 9

    def encoder(self, kind: type[Any]) -> Any:
        return bytes

    def decoder(self, kind: type[Any]) -> Any:
        return lambda data: data


def echoing(seen: list[Any]) -> Callable[[AsyncIterator[Any], ServerCall], AsyncIterator[Any]]:
    """A handler that answers each request with itself, and keeps it."""

    async def serve(requests: AsyncIterator[Any], call: ServerCall) -> AsyncIterator[Any]:
        async for request in requests:
            seen.append(request)
            yield request

    return serve


class LargeMessages(Case):
    """What was received stays as it is, whatever is received behind it."""

    async def test_of_protobuf(self) -> None:
        seen: list[GetUserRequest] = []
        both = bidi_stream("/test.Service/Both", GetUserRequest, GetUserRequest)
        _, address = await self.serve(both.handler(echoing(seen)))
        # bytes in a field that the class does not know are kept too
        sent = [GetUserRequest.FromString(b"\xa2\x06" + varint(len(part)) + part) for part in LARGE]
        stream = self.client(address, codec=PROTOBUF).open(both)
        got: list[Any] = []
        for request in sent:
            await stream.send(request)
            got.append(await stream.receive())
        await stream.half_close()
        self.assertIsNone(await stream.receive())
        self.assertTrue(seen == got == sent)  # whose difference nobody wants to read

    async def test_of_a_codec_that_keeps_what_it_is_given(self) -> None:
        seen: list[bytes] = []
        both = bidi_stream("/test.Service/Both", bytes, bytes)
        _, address = await self.serve(both.handler(echoing(seen)), codecs=[Kept()])
        stream = self.client(address, codec=Kept()).open(both)
        got: list[Any] = []
        for part in LARGE:
            await stream.send(part)
            got.append(await stream.receive())
        await stream.half_close()
        self.assertIsNone(await stream.receive())
        self.assertTrue(seen == got == LARGE)
        self.assertEqual({type(one) for one in (*seen, *got)}, {bytes})


if __name__ == "__main__":
    unittest.main()
