"""Interceptors written for servers of grpc.aio, on Trunkcall."""

from __future__ import annotations

import unittest
from contextvars import ContextVar
from typing import Any

import grpc
import grpc.aio

from example.v1 import user_pb2 as pb
from example.v1 import user_pb2_grpc as stubs
from tests.grpcstub.kit import ID, USER, PlainUsers, Users
from trunkcall import Client, Server
from trunkcall.grpcstub import aio

WHO: ContextVar[str] = ContextVar("who", default="nobody")


class Noting(grpc.aio.ServerInterceptor):
    """Notes what it is told, and goes on."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []

    async def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        metadata = handler_call_details.invocation_metadata
        self.seen.append((handler_call_details.method.rpartition("/")[2], dict(metadata).get("name")))
        WHO.set("noted")
        return await continuation(handler_call_details)


class Choosing(grpc.aio.ServerInterceptor):
    """Does what the call's metadata ask for."""

    async def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        asked = dict(handler_call_details.invocation_metadata).get("name")
        if asked == "reject":

            async def reject(request: Any, context: Any) -> Any:
                await context.abort(grpc.StatusCode.PERMISSION_DENIED, "not you")

            return grpc.unary_unary_rpc_method_handler(reject)
        if asked == "answer":

            async def answer(request: Any, context: Any) -> Any:
                return USER(name=f"instead of {request.user_id} for {WHO.get()}")

            return grpc.unary_unary_rpc_method_handler(answer)
        if asked == "none":
            return None
        if asked == "kind":
            return grpc.unary_stream_rpc_method_handler(answer_many)
        if asked == "raise":
            raise ValueError("boom")
        return await continuation(handler_call_details)


async def answer_many(request: Any, context: Any) -> Any:
    yield USER()


class Interceptors(unittest.IsolatedAsyncioTestCase):
    async def stub(self, servicer: Any, **options: Any) -> Any:
        server = Server()
        stubs.add_UserServiceServicer_to_server(servicer, aio.Server(server, **options))
        self.addAsyncCleanup(server.close)
        client = Client(await server.listen("127.0.0.1:0"))
        self.addAsyncCleanup(client.close)
        return stubs.UserServiceStub(aio.Channel(client))

    async def fails(self, stub: Any, asked: str, code: grpc.StatusCode) -> str:
        with self.assertRaises(grpc.aio.AioRpcError) as caught:
            await stub.GetUser(ID(user_id=7), metadata=(("name", asked),))
        self.assertEqual(caught.exception.code(), code)
        return caught.exception.details() or ""

    async def test_every_kind_of_call_goes_through_them(self) -> None:
        for servicer in (Users(), PlainUsers()):
            noting = Noting()
            stub = await self.stub(servicer, interceptors=[noting])
            self.assertTrue((await stub.GetUser(ID(user_id=7), metadata=(("name", "x"),))).name.endswith("7"))
            self.assertEqual(len([user async for user in stub.ListUsers(pb.ListUsersRequest(count=3))]), 3)
            self.assertEqual((await stub.ImportUsers(iter([USER()]))).count, 1)
            self.assertEqual(len([user async for user in stub.WatchUsers(iter([ID(), ID()]))]), 2)
            methods = [("GetUser", "x"), ("ListUsers", None), ("ImportUsers", None), ("WatchUsers", None)]
            self.assertEqual(noting.seen, methods)

    async def test_they_choose_the_handler_in_order(self) -> None:
        noting = Noting()
        stub = await self.stub(Users(), interceptors=[noting, Choosing()])
        self.assertEqual((await stub.GetUser(ID(user_id=7))).name, "7")
        answer = await stub.GetUser(ID(user_id=7), metadata=(("name", "answer"),))
        self.assertEqual(answer.name, "instead of 7 for noted")
        self.assertEqual(await self.fails(stub, "reject", grpc.StatusCode.PERMISSION_DENIED), "not you")
        self.assertIn("no handler", await self.fails(stub, "none", grpc.StatusCode.UNIMPLEMENTED))
        self.assertIn("another kind", await self.fails(stub, "kind", grpc.StatusCode.INTERNAL))
        self.assertEqual(len(noting.seen), 5)

    async def test_what_one_raises_is_told_as_of_a_servicer(self) -> None:
        for hide, told in ((False, True), (True, False)):
            stub = await self.stub(Users(), interceptors=[Choosing()], hide_errors=hide)
            with self.assertLogs("trunkcall", "ERROR"):
                details = await self.fails(stub, "raise", grpc.StatusCode.UNKNOWN)
            self.assertEqual("boom" in details, told)

    async def test_what_is_no_interceptor_of_one_style(self) -> None:
        class Plain(grpc.ServerInterceptor):
            def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
                return continuation(handler_call_details)

        with self.assertRaisesRegex(TypeError, "grpc.aio.ServerInterceptor, or of grpc.ServerInterceptor"):
            aio.Server(Server(), interceptors=[print])  # type: ignore[list-item]
        with self.assertRaisesRegex(TypeError, "not both"):
            aio.Server(Server(), interceptors=[Plain(), Noting()])


if __name__ == "__main__":
    unittest.main()
