"""What is registered, dialled or sent otherwise than it is described."""

from __future__ import annotations

import asyncio
import unittest
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

from google.protobuf.empty_pb2 import Empty

from example.v1 import user_pb2 as pb
from trunkcall import Client, Code, Delivery, Server, ServerCall, one_way, server_stream, unary

from .kit import COUNT, PATIENCE, Case, listener

SERVICE = "/trunkcall.example.v1.UserService/"
FILE = "example/v1/user.proto"


async def nothing(request: Any, call: ServerCall) -> Any:
    return None


class Registered(unittest.TestCase):
    def test_a_method_is_as_its_proto_file_has_it(self) -> None:
        Server().register(unary(f"{SERVICE}GetUser", pb.GetUserRequest, pb.GetUserResponse).handler(nothing))
        Server().register(one_way(f"{SERVICE}GetUser", pb.GetUserRequest).handler(nothing))
        Server().register(unary("/of.no.file/GetUser", Empty, Empty).handler(nothing))
        Server().register(server_stream(f"{SERVICE}GetUser", bytes, bytes).handler(nothing))  # a proxy

    def test_else_it_is_refused_with_what_the_file_says(self) -> None:
        for method, why in (
            (
                unary(f"{SERVICE}GetUzer", pb.GetUserRequest, pb.GetUserResponse),
                f"service trunkcall.example.v1.UserService of {FILE} has no method GetUzer, only GetUser, ListUsers, ",
            ),
            (
                server_stream(f"{SERVICE}GetUser", pb.GetUserRequest, pb.GetUserResponse),
                f"method {SERVICE}GetUser is unary in {FILE}, not server-streaming",
            ),
            (
                unary(f"{SERVICE}GetUser", Empty, pb.GetUserResponse),
                f"method {SERVICE}GetUser takes trunkcall.example.v1.GetUserRequest in {FILE}, "
                "not google.protobuf.Empty",
            ),
            (
                unary(f"{SERVICE}GetUser", pb.GetUserRequest, Empty),
                f"method {SERVICE}GetUser returns trunkcall.example.v1.GetUserResponse in {FILE}, "
                "not google.protobuf.Empty",
            ),
        ):
            with self.assertRaises(ValueError) as caught:
                Server().register(method.handler(nothing))
            self.assertIn(why, str(caught.exception))


def saying(first: bytes) -> AbstractAsyncContextManager[str]:
    """A server that says something as soon as it hears something."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(first)

    return listener(serve)


class Dialled(Case):
    async def test_a_port_of_another_protocol_is_named_with_what_to_do(self) -> None:
        settings = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
        for first, why in (
            (b"HTTP/1.1 400 Bad Request\r\n\r\n", "this is not a Trunkcall server (it answered HTTP/1.1): call it"),
            (settings, "(it answered HTTP/2, as servers of gRPC do): call it with a client of gRPC"),
            (b"\x15\x03\x01\x00\x02\x02\x46", "(it answered an alert of TLS): dial it with TLS"),
            (b"220 mail.example ESMTP", "(it answered '220 mail.example ESMTP'): check the port"),
        ):
            async with saying(first) as address:
                error = await self.fails(self.client(address).connect(), Code.UNAVAILABLE, Delivery.NOT_SENT)
                self.assertIn(why, error.message)
                self.assertIn(address, error.message)


class Called(Case):
    async def test_a_message_of_another_class_is_not_sent(self) -> None:
        method = unary(f"{SERVICE}GetUser", pb.GetUserRequest, pb.GetUserResponse)

        async def serve(request: Any, call: ServerCall) -> Any:
            return Empty()

        _, address = await self.serve(method.handler(serve))
        client = Client(address)
        self.addAsyncCleanup(client.close)
        error = await self.fails(client.call(cast(Any, method), Empty()), Code.INTERNAL, Delivery.NOT_SENT)
        self.assertIn("UserService/GetUser takes a GetUserRequest, got an Empty", error.message)
        with self.assertLogs("trunkcall", "ERROR"):
            await self.fails(client.call(method, pb.GetUserRequest()), Code.INTERNAL)

    async def test_a_streaming_method_called_as_a_unary_one_says_so(self) -> None:
        _, client = await self.pair()
        for request in (b"0", b"3"):
            async with asyncio.timeout(PATIENCE):
                error = await self.fails_with(client.call(unary(COUNT.name, bytes, bytes), request))
            self.assertIn("is the method of another kind, such as streaming?", error)

    async def fails_with(self, work: Any) -> str:
        with self.assertRaisesRegex(Exception, "UNIMPLEMENTED") as caught:
            await work
        return str(caught.exception)


if __name__ == "__main__":
    unittest.main()
