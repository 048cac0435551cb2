"""gRPC's own services, health and reflection, as its packages have them: natively and over HTTP/2."""

from __future__ import annotations

import asyncio
import unittest
from collections.abc import AsyncIterator, Iterable
from typing import Any

import grpc.aio
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from example.v1 import user_pb2, user_pb2_grpc
from tests.http.kit import Answer, Http2Client, HttpCase, framed
from tests.public.kit import ECHO, PATIENCE, echo
from trunkcall import Client, Server
from trunkcall.grpcstub import aio

HEALTH: Any = health
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
PROTOBUF: dict[str, Any] = {"content_type": "application/grpc"}
ASKS: Any = reflection_pb2.ServerReflectionRequest


def messages(body: bytes) -> list[bytes]:
    """The whole messages of a body."""
    found = []
    while len(body) >= 5 and len(body) >= (end := 5 + int.from_bytes(body[1:5], "big")):
        found.append(body[5:end])
        body = body[end:]
    return found


class Natively:
    def __init__(self, client: Client) -> None:
        self._channel = aio.Channel(client)
        self._stub: Any = health_pb2_grpc.HealthStub(self._channel)

    async def check(self, service: str = "") -> int:
        """What is said of a service; above 100: the code of the failure."""
        try:
            answer = await self._stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=PATIENCE)
        except grpc.aio.AioRpcError as error:
            return 100 + int(error.code().value[0])
        return int(answer.status)

    async def watch(self) -> AsyncIterator[int]:
        """What one who watches is told, the code of the end included."""
        try:
            async for answer in self._stub.Watch(health_pb2.HealthCheckRequest(), timeout=PATIENCE):
                yield answer.status
        except grpc.aio.AioRpcError as error:
            yield 100 + int(error.code().value[0])

    async def reflect(self, *requests: Any) -> list[Any]:
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(self._channel)
        return [answer async for answer in stub.ServerReflectionInfo(iter(requests), timeout=PATIENCE)]


class OverHttp2:
    def __init__(self, client: Http2Client) -> None:
        self.client = client

    def ask(self, method: str, requests: Iterable[Any]) -> Answer:
        body = b"".join(framed(request.SerializeToString()) for request in requests)
        return self.client.ask(method, body, **PROTOBUF)

    async def check(self, service: str = "") -> int:
        request = health_pb2.HealthCheckRequest(service=service)
        answer = await self.client.answer(self.ask("/grpc.health.v1.Health/Check", [request]))
        if not answer.body:
            return 100 + int(answer.head["grpc-status"])
        return int(health_pb2.HealthCheckResponse.FromString(messages(answer.body)[0]).status)

    async def watch(self) -> AsyncIterator[int]:
        answer = self.ask("/grpc.health.v1.Health/Watch", [health_pb2.HealthCheckRequest()])
        told: list[bytes] = []
        while not answer.ended and not self.client.closed:
            await self.client.until(lambda: answer.ended or len(messages(answer.body)) > len(told))
            for message in messages(answer.body)[len(told) :]:
                told.append(message)
                yield health_pb2.HealthCheckResponse.FromString(message).status

    async def reflect(self, *requests: Any) -> list[Any]:
        method = f"/{reflection.SERVICE_NAME}/ServerReflectionInfo"
        answer = await self.client.answer(self.ask(method, requests))
        return [reflection_pb2.ServerReflectionResponse.FromString(one) for one in messages(answer.body)]


class Case(HttpCase):
    async def reaching(self, server: Server) -> list[Natively | OverHttp2]:
        """Who asks a server, in both ways."""
        self.addAsyncCleanup(server.close)
        address = await server.listen("127.0.0.1:0")
        client = Client(address)
        self.addAsyncCleanup(client.close)
        return [Natively(client), OverHttp2(await self.http2(address))]


class Health(Case):
    def setUp(self) -> None:
        self.servicer = HEALTH.aio.HealthServicer()

    def server(self, **options: Any) -> Server:
        server = Server(**options)
        health_pb2_grpc.add_HealthServicer_to_server(self.servicer, aio.Server(server))
        return server

    async def test_it_is_served(self) -> None:
        for asks in await self.reaching(self.server()):
            with self.subTest(type(asks).__name__):
                await self.servicer.set("", SERVING)
                self.assertEqual(await asks.check(), SERVING)
                self.assertEqual(await asks.check("none"), 100 + grpc.StatusCode.NOT_FOUND.value[0])
                watch = asks.watch()
                async with asyncio.timeout(PATIENCE):
                    self.assertEqual(await anext(watch), SERVING)
                    await self.servicer.set("", NOT_SERVING)
                    self.assertEqual(await anext(watch), NOT_SERVING)

    async def test_a_servicer_of_threads_is_served_and_tells_that_its_server_leaves(self) -> None:
        self.servicer = HEALTH.HealthServicer()
        self.servicer.set("", SERVING)
        server = self.server(drain_delay=3_600)
        both = await self.reaching(server)
        self.assertEqual([await asks.check() for asks in both], [SERVING] * 2)
        stopping = asyncio.create_task(server.stop())
        await server.leaving.wait()
        self.assertEqual([await asks.check() for asks in both], [NOT_SERVING] * 2)
        await server.close()
        await stopping

    async def test_it_says_not_serving_during_the_drain_delay(self) -> None:
        server = self.server(drain_delay=3_600)
        both = await self.reaching(server)
        watches = [asks.watch() for asks in both]
        async with asyncio.timeout(PATIENCE):
            self.assertEqual([await anext(watch) for watch in watches], [SERVING] * 2)
            stopping = asyncio.create_task(server.stop())
            self.assertEqual([await anext(watch) for watch in watches], [NOT_SERVING] * 2)
            await self.servicer.set("", SERVING)
            for asks in both:
                self.assertEqual(await asks.check(), NOT_SERVING)
                self.assertEqual(await anext(asks.watch()), NOT_SERVING)
            await server.close()
            await stopping

    async def test_who_watches_does_not_keep_the_server(self) -> None:
        server = self.server()
        natively, _ = await self.reaching(server)
        watch = natively.watch()
        async with asyncio.timeout(PATIENCE):
            self.assertEqual(await anext(watch), SERVING)
            stopping = asyncio.create_task(server.stop(2 * PATIENCE))
            self.assertEqual([told async for told in watch], [NOT_SERVING, 100 + grpc.StatusCode.UNAVAILABLE.value[0]])
            self.assertTrue(await stopping)

    async def test_who_watches_over_http_does_not_keep_the_server(self) -> None:
        server = self.server()
        _, asks = await self.reaching(server)
        assert isinstance(asks, OverHttp2)
        client = asks.client
        async with asyncio.timeout(PATIENCE):
            self.assertEqual(await anext(asks.watch()), SERVING)
            stopping = asyncio.create_task(server.stop(2 * PATIENCE))
            # The library of this test has done with a connection that is told of its end: what is left are bytes.
            seen = b""
            while b"draining" not in seen:
                seen += await client.reader.read(65_536)
            client.writer.write(bytes((0, 0, 8, 6, 1, 0, 0, 0, 0)) + b"draining")
            seen += await client.reader.read()
            self.assertIn(framed(health_pb2.HealthCheckResponse(status=NOT_SERVING).SerializeToString()), seen)
            self.assertTrue(await stopping)


class Users(user_pb2_grpc.UserServiceServicer):
    async def GetUser(self, request: Any, context: Any) -> Any:
        return user_pb2.GetUserResponse(name=f"Ada {request.user_id}")


def found_by_reflection(address: str) -> str:
    """Calls a method as one who has no code for it: by grpcio, and what grpcio-reflection's client is told."""
    with grpc.insecure_channel(address) as channel:
        told: Any = ProtoReflectionDescriptorDatabase(channel)
        (service,) = (one for one in told.get_services() if one.endswith("UserService"))
        method = DescriptorPool(told).FindServiceByName(service).FindMethodByName("GetUser")
        asks, answers = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        call: Any = channel.unary_unary(f"/{service}/GetUser", asks.SerializeToString, answers.FromString)
        return str(call(asks(user_id=7), timeout=PATIENCE).name)


class Reflection(Case):
    async def test_services_are_listed_and_described(self) -> None:
        server = Server()
        registrar = aio.Server(server)
        user_pb2_grpc.add_UserServiceServicer_to_server(user_pb2_grpc.UserServiceServicer(), registrar)
        server.register(ECHO.handler(echo))  # of which no file says anything
        reflection.enable_server_reflection([*registrar.services, reflection.SERVICE_NAME], registrar)
        users = user_pb2.DESCRIPTOR.services_by_name["UserService"]
        for asks in await self.reaching(server):
            with self.subTest(type(asks).__name__):
                listed, described = await asks.reflect(
                    ASKS(list_services=""), ASKS(file_containing_symbol=users.full_name)
                )
                names = [one.name for one in listed.list_services_response.service]
                self.assertEqual(names, sorted([reflection.SERVICE_NAME, users.full_name]))
                files = described.file_descriptor_response.file_descriptor_proto
                self.assertIn(user_pb2.DESCRIPTOR.serialized_pb, files)

    async def test_it_is_there_by_both_of_its_names(self) -> None:
        server = Server()
        reflection.enable_server_reflection(["some.Service"], aio.Server(server))
        self.assertEqual(
            server.services, ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"]
        )
        _, client = await self.reaching(server)
        assert isinstance(client, OverHttp2)
        answer = await client.client.answer(
            client.ask("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", [ASKS(list_services="")])
        )
        (message,) = messages(answer.body)
        told: Any = reflection_pb2.ServerReflectionResponse.FromString(message)
        self.assertEqual([one.name for one in told.list_services_response.service], ["some.Service"])

    async def test_the_stock_client_finds_a_service_and_calls_it_by_what_it_was_told(self) -> None:
        server = Server()
        registrar = aio.Server(server)
        user_pb2_grpc.add_UserServiceServicer_to_server(Users(), registrar)
        reflection.enable_server_reflection(registrar.services, registrar)
        self.addAsyncCleanup(server.close)
        address = await server.listen("127.0.0.1:0")
        name = await asyncio.wait_for(asyncio.to_thread(found_by_reflection, address), PATIENCE)
        self.assertEqual(name, "Ada 7")


if __name__ == "__main__":
    unittest.main()
