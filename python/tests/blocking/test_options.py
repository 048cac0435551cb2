"""What a blocking client is configured with: functions of users, which may block, and secure connections."""

from __future__ import annotations

import asyncio
import inspect
import socket
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import trustme

import trunkcall
from tests.public.kit import COUNT, ECHO, HANDLERS, OTHER, PATIENCE, TWICE, echo
from trunkcall import (
    RAW,
    AttemptObserver,
    Call,
    CallAttempt,
    Code,
    Connection,
    Delivery,
    Endpoint,
    Observer,
    Policy,
    ServerCall,
    StatusError,
    client_tls,
    server_tls,
    unary,
)
from trunkcall.blocking import Client, MessageStream, Next, Watch, for_method

from .kit import Case, Working

CONFIRM = unary("/test.Client/Confirm", bytes, bytes)


class Options(Case):
    def test_they_and_their_defaults_are_those_of_the_asyncio_client(self) -> None:
        ours, theirs = (
            {name: one.default for name, one in inspect.signature(kind).parameters.items()}
            for kind in (Client, trunkcall.Client)
        )
        self.assertEqual(ours, theirs)


class Interceptors(Case):
    def test_they_run_in_the_thread_of_the_call_and_may_call(self) -> None:
        threads: list[int] = []

        def first(call: Call, proceed: Next) -> Any:
            threads.append(threading.get_ident())
            call.metadata.append(("token", client.call(OTHER, b"t").decode()) if call.method is ECHO else ("k", "v"))
            return proceed(call)

        async def serve(request: bytes, call: ServerCall) -> bytes:
            return b"".join(str(value).encode() for _, value in call.metadata)

        _, address = self.serve(ECHO.handler(serve), OTHER.handler(echo))
        client = self.client(address, interceptors=[first])
        self.assertEqual(client.call(ECHO, b""), b"t")
        self.assertEqual(threads, [threading.get_ident()] * 2)

    def test_one_of_a_method_is_passed_by_the_calls_of_others(self) -> None:
        def shouts(call: Call[bytes, bytes], proceed: Next[bytes, bytes]) -> bytes:
            call.request += b"!"
            return proceed(call).upper()

        _, address = self.serve(ECHO.handler(echo), OTHER.handler(echo))
        client = self.client(address, interceptors=[for_method(ECHO, shouts)])
        self.assertEqual((client.call(ECHO, b"x"), client.call(OTHER, b"x")), (b"X!", b"x"))

    def test_one_repeats_and_another_answers_by_itself(self) -> None:
        made: list[bytes] = []

        def cached(call: Call, proceed: Next) -> Any:
            return b"cached" if call.request == b"known" else proceed(call)

        def retry(call: Call, proceed: Next) -> Any:
            try:
                return proceed(call)
            except StatusError:
                return proceed(call)

        async def serve(request: bytes, call: ServerCall) -> bytes:
            made.append(request)
            if len(made) == 1:
                raise StatusError(Code.ABORTED, "once more")
            return request

        _, address = self.serve(ECHO.handler(serve))
        client = self.client(address, interceptors=[cached, retry])
        self.assertEqual(client.call(ECHO, b"x"), b"x")
        self.assertEqual(client.call(ECHO, b"known"), b"cached")
        self.assertEqual(made, [b"x", b"x"])

    def test_what_one_raises_is_told(self) -> None:
        def refuse(call: Call, proceed: Next) -> Any:
            raise StatusError(Code.PERMISSION_DENIED, "no")

        def forgets(call: Call, proceed: Next) -> Any:
            proceed(call)

        _, address = self.serve()
        self.fails(
            lambda: self.client(address, interceptors=[refuse]).call(ECHO, b""),
            Code.PERMISSION_DENIED,
            Delivery.NOT_SENT,
        )
        error = self.fails(lambda: self.client(address, interceptors=[forgets]).call(ECHO, b""), Code.INTERNAL)
        self.assertIn("forgets returned None", error.message)

    def test_what_would_end_an_iteration_ends_the_call_alone(self) -> None:
        def misses(call: Call, proceed: Next) -> Any:
            return next(iter(()))

        _, address = self.serve()
        client = self.client(address, interceptors=[misses])
        self.fails(lambda: client.call(ECHO, b""), Code.UNKNOWN, Delivery.NOT_SENT)
        self.fails(lambda: client.start(ECHO, b"", timeout=PATIENCE).result(), Code.UNKNOWN, Delivery.NOT_SENT)

    def test_they_wrap_the_messages_of_streams(self) -> None:
        class Loud:
            def __init__(self, inner: MessageStream) -> None:
                self._inner = inner

            def send(self, message: bytes) -> bool:
                return self._inner.send(message + b"!")

            def receive(self) -> bytes | None:
                return self._inner.receive()

        ends: list[Code] = []

        def loud(call: Call, proceed: Next) -> Any:
            call.on_end(lambda status: ends.append(status.code))
            return Loud(proceed(call))

        def passes(call: Call, proceed: Next) -> Any:
            return proceed(call)

        _, address = self.serve()
        client = self.client(address, interceptors=[passes, loud])
        with client.open(TWICE) as stream:
            self.assertTrue(stream.send(b"a"))
            self.assertEqual(stream.receive(), b"a!a!")
            stream.half_close()
            self.assertIsNone(stream.receive())
        self.assertEqual(ends, [Code.OK])
        self.assertEqual(list(client.open(COUNT, b"2")), [b"0", b"1"])
        client.connect()
        self.assertEqual(list(client.connections[0].open(COUNT, b"2")), [b"0", b"1"])

    def test_those_of_what_servers_call_run_on_threads(self) -> None:
        connections: list[Connection] = []

        async def serve(request: bytes, call: ServerCall) -> bytes:
            connections.append(call.connection)
            return request

        def marks(call: Call, proceed: Next) -> Any:
            return proceed(call) + client.call(OTHER, b"!")

        _, address = self.serve(ECHO.handler(serve), OTHER.handler(echo))
        client = self.client(address, reverse_interceptors=[marks])
        client.register(CONFIRM.handler(lambda request, call: request))
        client.call(ECHO, b"")

        async def many() -> list[bytes]:
            return await asyncio.gather(*(connections[0].call(CONFIRM, b"%d" % n, codec=RAW) for n in range(50)))

        self.assertEqual(self.there.run(many()), [b"%d!" % n for n in range(50)])

    def test_an_asynchronous_function_is_refused(self) -> None:
        async def intercept(call: Call, proceed: Next) -> Any:
            return await proceed(call)

        async def dial(address: str, endpoint: Endpoint) -> socket.socket:
            raise OSError

        with self.assertRaisesRegex(TypeError, "option intercept: .* is asynchronous"):
            for_method(ECHO, intercept)  # type: ignore[arg-type]
        for options in ({"interceptors": [intercept]}, {"reverse_interceptors": [intercept]}, {"dialer": dial}):
            with self.assertRaisesRegex(TypeError, "is asynchronous, and a blocking client calls plain functions"):
                Client("127.0.0.1:1", **options)


class Finding(Case):
    def test_a_resolver_sets_endpoints_from_its_thread_until_the_client_is_closed(self) -> None:
        told, over = threading.Semaphore(0), threading.Semaphore(0)
        _, address = self.serve()

        def resolve(watch: Watch) -> None:
            watch.set([Endpoint(watch.target)])
            told.release()
            while not watch.closed:
                watch.failed(timeout=PATIENCE)
            over.release()

        client = Client(f"some:{address}", codec=RAW, resolvers={"some": resolve})
        self.assertEqual(client.call(ECHO, b"x"), b"x")
        self.assertTrue(told.acquire(timeout=PATIENCE))
        client.close()
        self.assertTrue(over.acquire(timeout=PATIENCE), "the resolver goes on")

    def test_a_resolver_that_asks_behind_the_end_of_the_client_learns_of_it(self) -> None:
        begun, closed = threading.Event(), threading.Event()
        learnt: list[object] = []
        over = threading.Semaphore(0)

        def resolve(watch: Watch) -> None:
            begun.set()
            closed.wait(PATIENCE)
            learnt.append(watch.failed())
            learnt.append(watch.set([Endpoint("127.0.0.1:1")]))  # type: ignore[func-returns-value]
            over.release()

        client = Client("some:where", codec=RAW, resolvers={"some": resolve})
        with self.assertRaises(TimeoutError):
            client.connect(timeout=0.01)
        self.assertTrue(begun.wait(PATIENCE))
        client.close()
        closed.set()
        self.assertTrue(over.acquire(timeout=PATIENCE), "the resolver has failed")
        self.assertEqual(learnt, [False, None])

    def test_a_dialer_opens_sockets_on_a_thread(self) -> None:
        _, address = self.serve()
        dialled: list[str] = []

        def dial(where: str, endpoint: Endpoint) -> socket.socket:
            dialled.append(where)
            host, _, port = where.rpartition(":")
            return socket.create_connection((host, int(port)))

        self.assertEqual(self.client(address, dialer=dial).call(ECHO, b"x"), b"x")
        self.assertEqual(dialled, [address])

    def test_calls_go_to_all_endpoints(self) -> None:
        answered: list[str] = []

        def named(name: str) -> Any:
            async def serve(request: bytes, call: ServerCall) -> bytes:
                answered.append(name)
                return request

            return ECHO.handler(serve)

        addresses = [self.serve(named(name))[1] for name in "ab"]
        client = self.client(",".join(addresses))
        client.connect()
        for _ in range(20):
            client.call(ECHO, b"")
        self.assertEqual(set(answered), {"a", "b"})


class Telling(Case):
    def test_observers_are_told(self) -> None:
        told: list[str] = []

        class Sees(Observer):
            def connected(self, connection: Connection) -> None:
                told.append("connected")

            def disconnected(self, connection: Connection, why: str) -> None:
                told.append("disconnected")

        class Attempts(AttemptObserver):
            def attempt_began(self, attempt: CallAttempt) -> None:
                told.append("began")

            def attempt_ended(self, attempt: CallAttempt) -> None:
                told.append("ended")

        _, address = self.serve()
        with Client(address, codec=RAW, observer=Sees(), attempt_observer=Attempts()) as client:
            client.call(ECHO, b"")
        self.assertCountEqual(told, ["connected", "began", "ended", "disconnected"])

    def test_policies_say_what_holds_for_a_method(self) -> None:
        async def never(request: bytes, call: ServerCall) -> bytes:
            await asyncio.get_running_loop().create_future()
            return b""

        _, address = self.serve(ECHO.handler(never))
        client = self.client(address, policies=[Policy(ECHO.name, timeout=1)])
        client.connect()  # without which it may not be sent in time
        self.fails(lambda: client.call(ECHO, b""), Code.DEADLINE_EXCEEDED, Delivery.UNKNOWN)


class Carriers(Case):
    def files(self) -> Iterator[Path]:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        authority = trustme.CA()
        certificate = authority.issue_cert("localhost", "127.0.0.1")
        for name, blob in (
            ("ca", authority.cert_pem),
            ("cert", certificate.cert_chain_pems[0]),
            ("key", certificate.private_key_pem),
        ):
            path = Path(folder.name) / name
            blob.write_to_path(str(path))
            yield path

    def calls(self, client: Client) -> None:
        message = bytes(range(256)) * 4_000
        self.assertEqual(client.call(ECHO, message), message)
        working = [Working(lambda: client.call(ECHO, b"x")) for _ in range(4)]
        self.assertEqual([one.result() for one in working], [b"x"] * 4)
        self.assertEqual(list(client.open(COUNT, b"3")), [b"0", b"1", b"2"])

    def test_tls(self) -> None:
        ca, cert, key = self.files()
        _, address = self.serve(tls=server_tls(cert, key))
        client = self.client(address, tls=client_tls(ca))
        self.calls(client)
        self.assertTrue(client.secure and client.connections[0].secure)

    def test_unix_sockets(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            _, address = self.serve(where=f"unix:{folder}/s")
            self.calls(self.client(address))

    def test_websockets_in_the_clear_and_in_tls(self) -> None:
        _, address = self.serve()
        self.calls(self.client(f"ws://{address}/"))
        ca, cert, key = self.files()
        _, address = self.serve(tls=server_tls(cert, key))
        self.calls(self.client(f"wss://{address}/", tls=client_tls(ca)))

    def test_memory(self) -> None:
        _, address = self.serve(where="mem:carriers")
        self.calls(self.client(address))

    def test_a_message_is_compressed_both_ways(self) -> None:
        from trunkcall import GZIP

        async def many(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
            yield request

        _, address = self.serve(ECHO.handler(echo), *HANDLERS[1:], COUNT.handler(many), compression=GZIP)
        client = self.client(address, compression=GZIP)
        message = b"compressible " * 200_000
        self.assertEqual(client.call(ECHO, message), message)
        self.assertEqual(list(client.open(COUNT, message)), [message])
