"""gRPC's interoperability cases between stubs of the stock plugin and Python's servicers on a Trunkcall server, of
asyncio's or of threads: over native connections by blocking and by asyncio's stubs, and over HTTP/2 by grpcio's own
channels, those of threads and of asyncio. The native ones also
call grpc-go's test service on a Trunkcall server in Go."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
import threading
import unittest
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import grpc
import grpc.aio

import trunkcall
from conformance.interop.python import awaited_cases, cases
from conformance.interop.python.generated import stubs
from conformance.interop.python.services import Awaited, Plain
from harness.certificates import Authority, Identity
from trunkcall import blocking
from trunkcall.grpcstub import aio
from trunkcall.grpcstub.blocking import Channel, Server

SERVER = Path(__file__).parents[3] / "build" / "tools" / "interop-server"  # of languages/python.toml


class Serving:
    """Servicers on a server, in an event loop of another thread."""

    def __init__(self, servicer: Any, identity: Identity | None) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server, self.address = self._run(self._begin(servicer, identity))

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(cases.PATIENCE)

    async def _begin(self, servicer: Any, identity: Identity | None) -> tuple[trunkcall.Server, str]:
        tls = None if identity is None else trunkcall.tls_files(cert=identity.cert, key=identity.key)
        server = trunkcall.Server(tls=tls)
        stubs.add_TestServiceServicer_to_server(servicer, aio.Server(server))
        return server, await server.listen("127.0.0.1:0")

    def close(self) -> None:
        self._run(self._server.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(cases.PATIENCE)
        self._loop.close()


class ServingOnThreads:
    """The same on a server for programs without asyncio."""

    def __init__(self, servicer: Any, identity: Identity | None) -> None:
        tls = None if identity is None else trunkcall.tls_files(cert=identity.cert, key=identity.key)
        self._server = blocking.Server(trunkcall.Server(tls=tls))
        stubs.add_TestServiceServicer_to_server(servicer, Server(self._server))
        self.address = self._server.listen("127.0.0.1:0")

    def close(self) -> None:
        self._server.close()


class Interop(unittest.TestCase):
    folder: ClassVar[Any]
    authority: ClassVar[Authority]
    identity: ClassVar[Identity]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.authority = Authority(Path(cls.folder.name))
        cls.identity = cls.authority.server()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    @contextmanager
    def served(self, by: type[Any], servicer: type[Any], secure: bool) -> Iterator[str]:
        serving = by(servicer(), self.identity if secure else None)
        try:
            yield serving.address
        finally:
            serving.close()

    def every(self, channels: Any) -> None:
        """Carries all cases out with each server and servicer over a channel in the clear and over TLS."""
        for by in (Serving, ServingOnThreads):
            for servicer in (Awaited, Plain):
                for secure in (False, True):
                    with self.served(by, servicer, secure) as address:
                        channels(f"{by.__name__} {servicer.__name__}", address, secure)

    def blocking(self, way: str, opened: AbstractContextManager[Any]) -> None:
        with opened as channel:
            stub, other = stubs.TestServiceStub(channel), stubs.UnimplementedServiceStub(channel)
            for case in cases.CASES:
                with self.subTest(way=way, case=case.__name__):
                    case(stub, other)

    def awaited(self, way: str, opening: Any) -> None:
        async def carry_out() -> None:
            async with opening() as channel:
                stub, other = stubs.TestServiceStub(channel), stubs.UnimplementedServiceStub(channel)
                for case in awaited_cases.CASES:
                    with self.subTest(way=way, case=getattr(case, "__name__", "")):
                        await case(stub, other)

        asyncio.run(carry_out())

    def tls(self, secure: bool) -> Any:
        return trunkcall.tls_files(ca=self.authority.file) if secure else None

    def credentials(self) -> grpc.ChannelCredentials:
        return grpc.ssl_channel_credentials(self.authority.file.read_bytes())

    # The ways to the server.

    def test_blocking_stubs(self) -> None:
        def carry_out(name: str, address: str, secure: bool) -> None:
            for scheme in ("", "wss://" if secure else "ws://"):
                with blocking.Client(scheme + address, tls=self.tls(secure)) as client:
                    self.blocking(f"{name} {scheme}{'TLS' if secure else ''}", Channel(client))

        self.every(carry_out)

    def test_the_service_of_grpc_go(self) -> None:
        with subprocess.Popen([SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdin is not None and server.stdout is not None
            try:
                address = server.stdout.readline().strip()
                for scheme in ("", "ws://"):
                    with blocking.Client(scheme + address) as client:
                        self.blocking(f"grpc-go {scheme}", Channel(client))
                    self.awaited(f"grpc-go {scheme}", lambda scheme=scheme: self._native(scheme + address, False))
            finally:
                server.stdin.close()
        self.assertEqual(server.returncode, 0)

    def test_stubs_of_asyncio(self) -> None:
        def carry_out(name: str, address: str, secure: bool) -> None:
            for scheme in ("", "wss://" if secure else "ws://"):
                self.awaited(f"{name} {scheme}", lambda scheme=scheme: self._native(scheme + address, secure))

        self.every(carry_out)

    def _native(self, target: str, secure: bool) -> Any:
        client = trunkcall.Client(target, tls=self.tls(secure))

        class Opened:
            async def __aenter__(self) -> Any:
                return aio.Channel(client)

            async def __aexit__(self, *raised: object) -> None:
                await client.close()

        return Opened()

    def test_channels_of_grpcio(self) -> None:
        def carry_out(name: str, address: str, secure: bool) -> None:
            opened = grpc.secure_channel(address, self.credentials()) if secure else grpc.insecure_channel(address)
            self.blocking(f"{name} HTTP/2 {secure}", opened)

        self.every(carry_out)

    def test_channels_of_grpcio_for_asyncio(self) -> None:
        def carry_out(name: str, address: str, secure: bool) -> None:
            def opened() -> Any:
                if secure:
                    return grpc.aio.secure_channel(address, self.credentials())
                return grpc.aio.insecure_channel(address)

            self.awaited(f"{name} HTTP/2 {secure}", opened)

        self.every(carry_out)


if __name__ == "__main__":
    unittest.main()
