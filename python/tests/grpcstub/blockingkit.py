"""A server of generated servicers in another thread, and blocking stubs of it."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from typing import Any

import grpc

from example.v1 import user_pb2_grpc as stubs
from tests.blocking.kit import Case, Working
from tests.public.kit import PATIENCE
from trunkcall import PROTOBUF, Server
from trunkcall.blocking import Client
from trunkcall.grpcstub import aio
from trunkcall.grpcstub.blocking import CallError, Channel

__all__ = ["PATIENCE", "StubCase", "Working"]


class StubCase(Case):
    def serve_users(self, servicer: Any, where: str = "127.0.0.1:0", **options: Any) -> tuple[Server, str]:
        async def begin() -> tuple[Server, str]:
            server = Server(**options)
            stubs.add_UserServiceServicer_to_server(servicer, aio.Server(server))
            return server, await server.listen(where)

        server, address = self.there.run(begin())
        self.addCleanup(lambda: self.there.run(server.close()))
        return server, address

    def channel(self, servicer: Any, ask_policies: bool = False, where: str = "127.0.0.1:0", **options: Any) -> Channel:
        self.server, self.address = self.serve_users(servicer, where)
        self.native: Client = self.client(self.address, codec=PROTOBUF, **options)
        return Channel(self.native, policies=ask_policies)

    def unix(self) -> str:
        """A place to listen on that nobody else takes once it is free."""
        return f"unix:{self.enterContext(tempfile.TemporaryDirectory())}/s"

    def stub(self, servicer: Any, **options: Any) -> Any:
        return stubs.UserServiceStub(self.channel(servicer, **options))

    def rejects(self, work: Callable[[], Any], code: grpc.StatusCode) -> CallError:
        with self.assertRaises(grpc.RpcError) as caught:
            work()
        error: Any = caught.exception
        self.assertIsInstance(error, grpc.Call)
        self.assertIsInstance(error, grpc.Future)
        self.assertEqual(error.code(), code, error)
        return error  # type: ignore[no-any-return]

    def wait_for(self, event: Any) -> None:
        """An event of the server's loop."""
        self.there.run(event.wait())


class Noting:
    """A callback: what it was given, and a wait for it."""

    def __init__(self, function: Callable[..., Any] = lambda *given: None) -> None:
        self.given: list[Any] = []
        self._function = function
        self._called = threading.Semaphore(0)

    def __call__(self, *given: Any) -> None:
        self.given.append(self._function(*given) or (given[0] if given else None))
        self._called.release()

    def wait(self) -> Any:
        """The next one that was not waited for; None when none comes."""
        return self._called.acquire(timeout=PATIENCE)
