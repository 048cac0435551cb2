"""What the services promise, apart from the framework that will carry them: on grpc.aio."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from unittest import IsolatedAsyncioTestCase

import grpc
import grpc.aio
from google.protobuf.empty_pb2 import Empty

from bench.v1 import bench_pb2_grpc
from bench.v1.bench_pb2 import EmitRequest, Payload
from example.v1 import user_pb2_grpc
from example.v1.user_pb2 import GetUserRequest, GetUserResponse, ListUsersRequest
from load import message
from peer import details, jsonform
from peer.stock import Bench
from peer.users import Users


class Services(IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        server = grpc.aio.server()
        user_pb2_grpc.add_UserServiceServicer_to_server(Users(), server)
        bench_pb2_grpc.add_BenchServiceServicer_to_server(Bench(), server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        self.addAsyncCleanup(server.stop, None)
        channel = await self.enterAsyncContext(grpc.aio.insecure_channel(f"127.0.0.1:{port}"))
        self.users: Any = user_pb2_grpc.UserServiceStub(channel)
        self.bench: Any = bench_pb2_grpc.BenchServiceStub(channel)

    def check(self, failed: grpc.aio.AioRpcError, code: grpc.StatusCode, kind: str) -> dict[str, Any]:
        """Expects a failure with one detail of that kind, and returns the detail."""
        self.assertEqual(failed.code(), code)
        trailers = dict(failed.trailing_metadata())
        status = details.detail("Status")
        status.ParseFromString(trailers["grpc-status-details-bin"])
        self.assertEqual((status.code, status.message), (code.value[0], failed.details()))
        (detail,) = status.details
        self.assertEqual(detail.type_url, f"type.googleapis.com/google.rpc.{kind}")
        return jsonform.detail_object(detail.type_url, detail.value)

    async def test_get_user(self) -> None:
        for number in (1, 999_999_999):
            got = await self.users.GetUser(GetUserRequest(user_id=number))
            self.assertEqual((got.name, got.email), (f"user-{number}", f"user-{number}@example.com"))

    async def test_get_user_fails_with_details(self) -> None:
        for number in (0, -1, -(1 << 63)):
            with self.subTest(number), self.assertRaises(grpc.aio.AioRpcError) as caught:
                await self.users.GetUser(GetUserRequest(user_id=number))
            detail = self.check(caught.exception, grpc.StatusCode.INVALID_ARGUMENT, "BadRequest")
            self.assertEqual([violation["field"] for violation in detail["fieldViolations"]], ["user_id"])
        with self.assertRaises(grpc.aio.AioRpcError) as caught:
            await self.users.GetUser(GetUserRequest(user_id=1_000_000_000))
        detail = self.check(caught.exception, grpc.StatusCode.NOT_FOUND, "ResourceInfo")
        self.assertEqual((detail["resourceType"], detail["resourceName"]), ("user", "1000000000"))

    async def test_list_users(self) -> None:
        got = [user.name async for user in self.users.ListUsers(ListUsersRequest(count=3))]
        self.assertEqual(got, ["user-1", "user-2", "user-3"])
        with self.assertRaises(grpc.aio.AioRpcError) as caught:
            await self.users.ListUsers(ListUsersRequest(count=-1)).read()
        detail = self.check(caught.exception, grpc.StatusCode.INVALID_ARGUMENT, "BadRequest")
        self.assertEqual([violation["field"] for violation in detail["fieldViolations"]], ["count"])

    async def test_import_users(self) -> None:
        async def five() -> AsyncIterator[GetUserResponse]:
            for _ in range(5):
                yield GetUserResponse()

        self.assertEqual((await self.users.ImportUsers(five())).count, 5)

    async def test_watch_users_ends_at_the_first_bad_id(self) -> None:
        call = self.users.WatchUsers()
        for number in (7, 0):
            await call.write(GetUserRequest(user_id=number))
        self.assertEqual((await call.read()).name, "user-7")
        with self.assertRaises(grpc.aio.AioRpcError) as caught:
            await call.read()
        self.check(caught.exception, grpc.StatusCode.INVALID_ARGUMENT, "BadRequest")

    async def test_bench(self) -> None:
        answer = await self.bench.Say(message.request())
        message.check(answer.field1, answer.field2)
        self.assertEqual(dict((await self.bench.GetDictionary(Empty())).entries), {"a": "1", "b": "2", "c": "3"})
        emitted = self.bench.Emit(EmitRequest(size=1000))
        for _ in range(3):
            self.assertEqual((await emitted.read()).data, message.data(1000))
        emitted.cancel()
        with self.assertRaises(grpc.aio.AioRpcError) as caught:
            await self.bench.Emit(EmitRequest(size=1 << 31)).read()
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        call = self.bench.EchoStream()
        await call.write(Payload(data=b"abc"))
        self.assertEqual((await call.read()).data, b"abc")
        await call.done_writing()
        self.assertIs(await call.read(), grpc.aio.EOF)
