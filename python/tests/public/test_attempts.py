"""What is told of attempts, what policies say, users' dialers, and TLS whose files change."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import shutil
import socket
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from harness.certificates import Authority
from trunkcall import (
    CallAttempt,
    Code,
    Delivery,
    Endpoint,
    Limits,
    Policy,
    ServerCall,
    State,
    StatusError,
    Watch,
    least_loaded,
    one_way,
    tls_files,
)
from trunkcall.transport import dialer

from .kit import COUNT, ECHO, HANDLERS, OTHER, PATIENCE, TWICE, Case, Gate, echo, eventually

SEND = one_way("/test.Service/Send", bytes)


class Observing:
    def __init__(self) -> None:
        self.open: list[CallAttempt] = []
        self.ended: list[CallAttempt] = []

    def attempt_began(self, attempt: CallAttempt) -> None:
        assert attempt.status is None
        self.open.append(attempt)

    def attempt_ended(self, attempt: CallAttempt) -> None:
        self.open.remove(attempt)
        self.ended.append(attempt)


class Attempts(Case):
    async def test_begin_and_end_of_a_unary_call(self) -> None:
        observer = Observing()
        _, address = await self.serve()
        client = self.client(address, attempt_observer=observer)
        self.assertEqual(await client.call(ECHO, bytes(600)), bytes(600))
        (attempt,) = observer.ended
        assert attempt.status is not None
        self.assertEqual((attempt.method, attempt.number, attempt.peer), (ECHO, 1, address))
        self.assertEqual((attempt.sent, attempt.received), (600, 600))
        self.assertEqual((attempt.status.code, attempt.status.delivery), (Code.OK, Delivery.EXECUTED))
        self.assertEqual(attempt.endpoint, Endpoint(address))
        self.assertGreaterEqual(attempt.queued, 0)
        self.assertGreater(attempt.duration, 0)
        self.assertEqual(observer.open, [])

    async def test_a_repeated_call_has_two(self) -> None:
        refusals = [StatusError(Code.UNAVAILABLE, "not now", retry_after=0.001)]

        async def reject_once(call: Any, proceed: Any) -> Any:
            if refusals:
                raise refusals.pop()
            return await proceed(call)

        observer = Observing()
        _, address = await self.serve(interceptors=[reject_once])
        client = self.client(address, attempt_observer=observer)
        self.assertEqual(await client.call(ECHO, b"x"), b"x")
        seen = [(one.number, one.status.code, one.status.delivery) for one in observer.ended if one.status]
        self.assertEqual(seen, [(1, Code.UNAVAILABLE, Delivery.REFUSED), (2, Code.OK, Delivery.EXECUTED)])

    async def test_streams_count_all_their_messages(self) -> None:
        observer = Observing()
        _, address = await self.serve()
        client = self.client(address, attempt_observer=observer)
        async with client.open(TWICE) as stream:
            for size in (10, 20_000):
                await stream.send(bytes(size))
                self.assertEqual(len(await stream.receive() or b""), 2 * size)
            await stream.half_close()
            self.assertIsNone(await stream.receive())
        self.assertEqual([message async for message in client.open(COUNT, b"12")][-1], b"11")
        self.assertEqual([(one.sent, one.received) for one in observer.ended], [(20_010, 40_020), (2, 14)])

    async def test_a_stream_that_is_dropped_ends(self) -> None:
        observer = Observing()
        _, address = await self.serve()
        client = self.client(address, attempt_observer=observer)
        stream = client.open(TWICE)
        await stream.send(b"x")
        await stream.receive()
        del stream
        gc.collect()
        await eventually(lambda: len(observer.ended) == 1)
        self.assertEqual(observer.open, [])

    async def test_cancelled_calls_and_lost_connections_end(self) -> None:
        async def taken(request: bytes, call: ServerCall) -> None:
            pass

        gate, observer = Gate(), Observing()
        server, address = await self.serve(ECHO.handler(gate), SEND.handler(taken), *HANDLERS)
        client = self.client(address, attempt_observer=observer)
        cancelled = asyncio.create_task(client.call(ECHO, b""))
        await eventually(lambda: gate.runs == 1)
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
        await client.send(SEND, b"1")
        lost = asyncio.create_task(client.call(ECHO, b""))
        await eventually(lambda: gate.runs == 2)
        await server.close()
        with self.assertRaises(StatusError):
            await lost
        seen = [(one.status.code, one.status.delivery) for one in observer.ended if one.status]
        self.assertEqual(
            seen,
            [
                (Code.CANCELLED, Delivery.UNKNOWN),
                (Code.OK, Delivery.EXECUTED),
                (Code.UNAVAILABLE, Delivery.UNKNOWN),
            ],
        )
        self.assertEqual(observer.open, [])

    async def test_what_an_observer_raises_harms_no_call(self) -> None:
        class Broken:
            def attempt_began(self, attempt: CallAttempt) -> None:
                raise ValueError("begin")

            def attempt_ended(self, attempt: CallAttempt) -> None:
                raise ValueError("end")

        _, address = await self.serve()
        client = self.client(address, attempt_observer=Broken())
        with self.assertLogs("trunkcall", "ERROR") as logs:
            self.assertEqual(await client.call(ECHO, b"x"), b"x")
        self.assertEqual(len(logs.records), 2)

    async def test_an_observer_that_ends_the_connection_under_calls_that_wait_ends_each_once(self) -> None:
        gate = Gate()
        server, address = await self.serve(ECHO.handler(gate), OTHER.handler(echo), limits=Limits(calls=1))
        second = False

        class Ending(Observing):
            def attempt_began(self, attempt: CallAttempt) -> None:
                super().attempt_began(attempt)
                if second:
                    for one in client.connections:
                        one.disconnect()

        observer = Ending()
        client = self.client(address, attempt_observer=observer, repeat=False)
        await client.connect()
        running = asyncio.create_task(client.call(ECHO, b"x"))
        await gate.begun.wait()
        waiting = [asyncio.create_task(client.call(OTHER, b"y")) for _ in range(3)]
        await eventually(lambda: client.gauges().waiting_calls == 3)
        second = True
        gate.open.set()
        self.assertEqual(await running, b"x")
        async with asyncio.timeout(PATIENCE):
            ended = await asyncio.gather(*waiting, return_exceptions=True)
        self.assertTrue(all(isinstance(one, StatusError) for one in ended), ended)
        self.assertEqual((len(observer.ended), observer.open), (4, []))
        self.assertEqual(client.gauges().waiting_calls, 0)
        self.assertLessEqual(server._serving.load.running, 1)

    async def test_gauges_tell_how_a_client_stands_with_its_endpoints(self) -> None:
        gate = Gate()
        _, address = await self.serve(ECHO.handler(gate), OTHER.handler(echo))
        client = self.client(f"{address},127.0.0.1:1", balancer=least_loaded())
        with contextlib.suppress(StatusError):
            await client.connect()
        await client.call(OTHER, b"", wait_for_ready=True)
        call = asyncio.create_task(client.call(ECHO, b"x"))
        await gate.begun.wait()
        up, down = client.endpoints
        self.assertEqual((up.state, up.calls, up.failures, up.error), (State.READY, 1, 0, ""))
        (connection,) = up.connections
        self.assertEqual((connection.state, connection.calls_made), ("open", 1))
        self.assertIsNotNone(up.latency)
        self.assertEqual((down.state, down.calls, down.connections), (State.FAILING, 0, ()))
        self.assertGreaterEqual(down.failures, 1)
        self.assertIn("127.0.0.1:1: Connection refused", down.error)
        self.assertIsNotNone(down.next_attempt)
        self.assertGreaterEqual(client.gauges().connect_failures, 1)
        gate.open.set()
        await call


class PoliciesHold(Case):
    async def test_timeouts(self) -> None:
        gate = Gate()
        _, address = await self.serve(ECHO.handler(gate), OTHER.handler(echo), *HANDLERS)
        client = self.client(address, timeout=0.05)
        await client.connect()
        self.assertIsNotNone(client._quick)  # calls go the quick way
        with self.assertRaisesRegex(StatusError, "DEADLINE_EXCEEDED"):
            await client.call(ECHO, b"")
        self.assertEqual(await client.call(OTHER, b"x", timeout=PATIENCE), b"x")
        async with client.open(TWICE) as stream:  # streams have none
            await asyncio.sleep(0.1)
            await stream.send(b"x")
            self.assertEqual(await stream.receive(), b"xx")
        policies = [Policy("/test.Service/", timeout=PATIENCE), Policy("/test.Service/Echo", timeout=0.05)]
        client = self.client(address, policies=policies)
        with self.assertRaisesRegex(StatusError, "DEADLINE_EXCEEDED"):
            await client.call(ECHO, b"")
        self.assertEqual(await client.call(OTHER, b"x"), b"x")
        client = self.client(address, policies=[Policy("/test.Service/Twice", timeout=0.05)])
        stream = client.open(TWICE)
        with self.assertRaisesRegex(StatusError, "DEADLINE_EXCEEDED"):
            await stream.receive()

    async def test_waiting_and_repeating(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        client = self.client(f"unix:{folder}/later", policies=[Policy(wait_for_ready=True)])
        call = asyncio.create_task(client.call(ECHO, b"x"))
        await eventually(lambda: client.endpoints[0].failures > 0)
        await self.fails(client.call(ECHO, b"", wait_for_ready=False), Code.UNAVAILABLE, Delivery.NOT_SENT)
        await self.serve(where=f"unix:{folder}/later")
        self.assertEqual(await call, b"x")

        rejected = 0

        async def reject(call: Any, proceed: Any) -> Any:
            nonlocal rejected
            rejected += 1
            raise StatusError(Code.UNAVAILABLE, "not now", retry_after=0.001)

        _, address = await self.serve(interceptors=[reject])
        for repeat, policy, attempts in ((True, None, 2), (True, False, 1), (False, True, 2), (False, None, 1)):
            rejected = 0
            policies = [] if policy is None else [Policy("/test.Service/Echo", repeat=policy)]
            client = self.client(address, repeat=repeat, policies=policies)
            await self.fails(client.call(ECHO, b""), Code.UNAVAILABLE, Delivery.REFUSED)
            self.assertEqual(rejected, attempts)


class Dialers(Case):
    async def test_a_dialer_opens_what_calls_go_through(self) -> None:
        server, _ = await self.serve()
        asked: list[tuple[str, str]] = []
        known = Endpoint("no.such.host:7", attributes={"via": "tunnel"})

        async def dial(address: str, endpoint: Endpoint) -> socket.socket:
            asked.append((address, endpoint.attributes["via"]))
            opened = socket.socket()
            opened.setblocking(False)
            await asyncio.get_running_loop().sock_connect(opened, ("127.0.0.1", server.port))
            return opened

        async def resolve(watch: Watch) -> None:
            watch.set([known])

        client = self.client("far:away", resolvers={"far": resolve}, dialer=dial)
        self.assertEqual(await client.call(ECHO, b"x"), b"x")
        self.assertEqual(asked, [("no.such.host:7", "tunnel")])
        client = self.client("ws://no.such.host:8/path", dialer=lambda address, endpoint: dial(address, known))
        self.assertEqual(await client.call(ECHO, b"x"), b"x")
        self.assertEqual(asked[1:], [("no.such.host:8", "tunnel")])

    async def test_at_most_64_connections_to_an_endpoint_are_opened_at_a_time(self) -> None:
        _, address = await self.serve()
        begun = opening = most = 0
        full = asyncio.Event()

        async def dial(address: str, endpoint: Endpoint) -> socket.socket:
            nonlocal begun, opening, most
            begun, opening = begun + 1, opening + 1
            most = max(most, opening)
            if begun == 64:
                full.set()
            await full.wait()
            host, port = address.split(":")
            opened = socket.socket()
            opened.setblocking(False)
            await asyncio.get_running_loop().sock_connect(opened, (host, int(port)))
            opening -= 1
            return opened

        client = self.client(address, connections=100, dialer=dial)
        await client.connect()
        self.assertEqual((most, begun), (64, 100))

    async def test_one_that_fails_hangs_or_returns_something_else(self) -> None:
        late: asyncio.Future[socket.socket] = asyncio.get_running_loop().create_future()

        async def fails(address: str, endpoint: Endpoint) -> Any:
            raise KeyError("proxy")

        async def other(address: str, endpoint: Endpoint) -> Any:
            return "a socket"

        async def hangs(address: str, endpoint: Endpoint) -> Any:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            return await late

        for dial, limit, text in (
            (fails, PATIENCE, "x:1: the dialer failed: KeyError('proxy')"),
            (other, PATIENCE, "x:1: the dialer returned 'a socket', not a connected socket"),
            (hangs, 0.1, "x:1: no answer in 0.1 s"),
        ):
            with self.subTest(text), mock.patch.object(dialer, "DIAL_TIMEOUT", limit):
                client = self.client("x:1", dialer=dial)
                error = await self.fails(client.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
                self.assertIn(text, error.message)
                await client.close()
        ours, theirs = socket.socketpair()
        with theirs:
            late.set_result(ours)  # what comes later is closed
            await eventually(lambda: ours.fileno() < 0)


class Reloading(Case):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "one").mkdir()
        (self.folder / "two").mkdir()
        self.one, self.two = Authority(self.folder / "one", "one"), Authority(self.folder / "two", "two")
        self.use(self.one)
        self.enterContext(mock.patch("trunkcall.transport.tls.LOOK", 0.0))

    def use(self, authority: Authority) -> None:
        """Puts the files of an authority where the TLS of the test finds them."""
        server = authority.server("localhost")
        for source, name in ((authority.file, "ca"), (server.cert, "cert"), (server.key, "key")):
            shutil.copy(source, self.folder / f"new-{name}")
            (self.folder / f"new-{name}").replace(self.folder / name)

    async def test_certificates_and_authorities_are_read_again(self) -> None:
        _, address = await self.serve(tls=tls_files(cert=self.folder / "cert", key=self.folder / "key"))
        tls = tls_files(ca=self.folder / "ca")
        client = self.client(address, tls=tls, server_hostname="localhost")
        self.assertEqual(await client.call(ECHO, b"1"), b"1")
        self.use(self.two)
        self.assertEqual(await client.call(ECHO, b"2"), b"2")  # on the connection that there is
        other = self.client(address, tls=tls, server_hostname="localhost")
        self.assertEqual(await other.call(ECHO, b"3"), b"3")
        old = self.client(address, tls=tls_files(ca=self.one.file), server_hostname="localhost")
        error = await self.fails(old.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertIn("certificate verify failed", error.message)

    async def test_files_that_are_no_good_leave_the_last_ones(self) -> None:
        _, address = await self.serve(tls=tls_files(cert=self.folder / "cert", key=self.folder / "key"))
        client = self.client(address, tls=tls_files(ca=self.folder / "ca"), server_hostname="localhost")
        (self.folder / "cert").write_text("half written", encoding="ascii")
        with self.assertLogs("trunkcall", "WARNING") as logs:
            self.assertEqual(await client.call(ECHO, b"x"), b"x")
        self.assertIn("files that have changed cannot be used, the last ones stay", logs.output[0])
        self.assertIn(f"certificate {self.folder / 'cert'}: there is no certificate in the file", logs.output[0])

    async def test_what_is_no_good_at_first_is_told_at_once(self) -> None:
        with self.assertRaisesRegex(ValueError, "a key and no certificate"):
            tls_files(key=self.folder / "key")
        with self.assertRaisesRegex(TypeError, "authorities is 7, want the name of a file"):
            tls_files(ca=7)  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "there is no certificate"):
            await self.serve(tls=tls_files(ca=self.folder / "ca"))

    def test_what_is_wrong_with_files_names_the_file(self) -> None:
        ca, cert, key = (self.folder / name for name in ("ca", "cert", "key"))
        other, nowhere = self.two.server("localhost").key, self.folder / "nowhere"
        broken, secret = self.folder / "broken", self.folder / "secret"
        lines = [f"-----{what}-----\nMIIB\n" for what in ("BEGIN CERTIFICATE", "BEGIN PRIVATE KEY")]
        broken.write_text("".join(lines), encoding="ascii")
        loaded = load_pem_private_key(key.read_bytes(), None)
        how = PrivateFormat.TraditionalOpenSSL, BestAvailableEncryption(b"password")
        secret.write_bytes(loaded.private_bytes(Encoding.PEM, *how))
        for files, text in (
            ({"ca": nowhere}, f"No such file or directory: '{nowhere}'"),
            ({"ca": self.folder}, f"Is a directory: '{self.folder}'"),
            ({"ca": key}, f"certificates of authorities in {key}: [X509: NO_CERTIFICATE"),
            ({"ca": broken}, f"certificates of authorities in {broken}: "),
            ({"cert": nowhere, "key": key}, f"No such file or directory: '{nowhere}'"),
            ({"cert": cert, "key": nowhere}, f"No such file or directory: '{nowhere}'"),
            ({"cert": key, "key": key}, f"certificate {key}: there is no certificate in the file"),
            ({"cert": ca}, f"key in {ca}: there is no private key in the file"),
            ({"cert": cert, "key": ca}, f"key {ca}: there is no private key in the file"),
            ({"cert": cert, "key": secret}, f"key {secret}: it is encrypted"),
            ({"cert": broken, "key": key}, f"certificate {broken} with key {key}: "),
            ({"cert": cert, "key": other}, f"certificate {cert} with key {other}: [X509: KEY_VALUES_MISMATCH]"),
        ):
            with self.subTest(text), self.assertRaises(OSError) as raised:
                tls_files(**files)
            self.assertIn(text, str(raised.exception))
