"""Generated servicers on a server for programs without asyncio."""

from __future__ import annotations

import asyncio
import threading
import unittest
from concurrent import futures
from typing import Any

import grpc

import trunkcall
from example.v1 import user_pb2 as pb
from example.v1 import user_pb2_grpc as stubs
from tests.grpcstub.kit import ID, USER, PlainUsers, Users
from tests.public.kit import PATIENCE
from trunkcall import blocking
from trunkcall.grpcstub.blocking import Channel, Server


class Asking(grpc.ServerInterceptor):
    """Notes where it runs, and does what the call's metadata ask for."""

    def __init__(self) -> None:
        self.threads: list[str] = []

    def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        self.threads.append(threading.current_thread().name)
        if dict(handler_call_details.invocation_metadata).get("name") == "reject":

            def reject(request: Any, context: Any) -> Any:
                context.abort(grpc.StatusCode.PERMISSION_DENIED, "not you")

            return grpc.unary_unary_rpc_method_handler(reject)
        return continuation(handler_call_details)


class Servers(unittest.TestCase):
    def stub(self, servicer: Any, inner: trunkcall.Server | None = None, **options: Any) -> tuple[Server, Any]:
        native = blocking.Server(inner)
        self.addCleanup(native.close)
        server = Server(native, **options)
        stubs.add_UserServiceServicer_to_server(servicer, server)
        server.start()
        client = blocking.Client(native.listen("127.0.0.1:0"))
        self.addCleanup(client.close)
        return server, stubs.UserServiceStub(Channel(client))

    def test_servicers_of_both_styles_are_served(self) -> None:
        for servicer in (PlainUsers(), Users()):
            server, stub = self.stub(servicer)
            self.assertEqual(stub.GetUser(ID(user_id=7), timeout=PATIENCE).name, "7")
            listed = stub.ListUsers(pb.ListUsersRequest(count=3), timeout=PATIENCE)
            self.assertEqual(len(list(listed)), 3)
            self.assertEqual(server.services, ["trunkcall.example.v1.UserService"])

    def test_interceptors_that_block_run_on_threads(self) -> None:
        first, second = Asking(), Asking()
        _, stub = self.stub(PlainUsers(), interceptors=[first, second])
        self.assertEqual(stub.GetUser(ID(user_id=7), timeout=PATIENCE).name, "7")
        self.assertEqual(first.threads, second.threads)
        self.assertNotIn("trunkcall server", first.threads)
        with self.assertRaises(grpc.RpcError) as caught:
            stub.GetUser(ID(user_id=7), metadata=(("name", "reject"),), timeout=PATIENCE)
        error: Any = caught.exception
        self.assertEqual((error.code(), error.details()), (grpc.StatusCode.PERMISSION_DENIED, "not you"))

    def test_more_calls_than_threads_go_through_interceptors(self) -> None:
        _, stub = self.stub(PlainUsers(), interceptors=[Asking(), Asking(), Asking()])
        calls = [stub.GetUser.future(ID(user_id=7), timeout=PATIENCE) for _ in range(100)]
        self.assertEqual({call.result().name for call in calls}, {"7"})

    def test_it_stops_as_servers_of_grpc_do(self) -> None:
        server, _ = self.stub(PlainUsers())
        self.assertTrue(server.wait_for_termination(timeout=0.01))
        self.assertTrue(server.stop(grace=None).wait(PATIENCE))
        self.assertFalse(server.wait_for_termination(timeout=PATIENCE))
        self.assertFalse(server.wait_for_termination())

    def test_it_has_stopped_when_a_task_of_a_handler_stops_the_server_within(self) -> None:
        inner, stopping = trunkcall.Server(), []

        class Stopping(Users):
            async def GetUser(self, request: Any, context: Any) -> Any:
                stopping.append(asyncio.create_task(inner.stop(PATIENCE)))
                return USER(name="stopped")

        server, stub = self.stub(Stopping(), inner)
        self.assertEqual(stub.GetUser(ID(user_id=7), timeout=PATIENCE).name, "stopped")
        self.assertFalse(server.wait_for_termination(timeout=PATIENCE))
        self.assertTrue(stopping[0].result())

    def test_it_has_stopped_when_a_handler_stops_it(self) -> None:
        class StoppingInATask(Users):
            async def GetUser(self, request: Any, context: Any) -> Any:
                servers[0].stop(PATIENCE)
                return USER(name="stopped")

        class StoppingOnAThread(PlainUsers):
            def GetUser(self, request: Any, context: Any) -> Any:
                servers[0].stop(PATIENCE)
                return USER(name="stopped")

        for servicer in (StoppingInATask(), StoppingOnAThread()):
            servers: list[Server] = []
            server, stub = self.stub(servicer)
            servers.append(server)
            self.assertEqual(stub.GetUser(ID(user_id=7), timeout=PATIENCE).name, "stopped")
            self.assertFalse(server.wait_for_termination(timeout=PATIENCE))

    def test_it_has_stopped_when_the_other_server_is_closed(self) -> None:
        for grace in (0.0, None):
            native = blocking.Server()
            server = Server(native)
            native.listen("127.0.0.1:0")
            waiting = futures.ThreadPoolExecutor(1).submit(server.wait_for_termination, PATIENCE)
            native.close() if grace is None else native.stop(grace)
            self.assertFalse(waiting.result(PATIENCE))

    def test_ports_are_the_other_servers(self) -> None:
        server, _ = self.stub(PlainUsers())
        with self.assertRaisesRegex(NotImplementedError, r"blocking\.Server\.listen"):
            server.add_insecure_port("127.0.0.1:0")
        credentials = grpc.ssl_server_credentials([(b"key", b"certificate")])
        with self.assertRaisesRegex(NotImplementedError, r"blocking\.Server\.listen"):
            server.add_secure_port("127.0.0.1:0", credentials)
