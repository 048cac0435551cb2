"""Codecs beside Protobuf: raw, and users' own, which have one number and one name at both sides."""

from __future__ import annotations

import unittest
from dataclasses import dataclass
from typing import Any

from example.v1.user_pb2 import GetUserRequest, GetUserResponse
from trunkcall import PROTOBUF, Code, Delivery, Server, ServerCall, unary

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

    def test_numbers_that_mean_nothing_are_refused(self) -> None:
        for number in (-1, 5, 7, 16):
            with self.assertRaises(ValueError):
                Server(codecs=[Text(number)])


if __name__ == "__main__":
    unittest.main()
