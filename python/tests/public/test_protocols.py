"""Protocols of one's own, on the server's port and without a listener."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import tempfile
from pathlib import Path
from typing import Any

from harness.certificates import Authority
from trunkcall import (
    GZIP,
    Admission,
    Arrival,
    Call,
    Calls,
    Code,
    Delivery,
    Ending,
    Exchange,
    Limits,
    Next,
    PortProtocol,
    Protocol,
    Server,
    ServerCall,
    StatusError,
    tls_files,
)

from .kit import COUNT, ECHO, HANDLERS, JOIN, PATIENCE, TWICE, Case, Gate, all_of, echo, eventually


class Delivered(Exchange):
    """A call as a broker delivers it, in memory."""

    codec = 0

    def __init__(self, method: str, *requests: bytes, timeout: float | None = None, **metadata: str) -> None:
        self.method = method
        self.requests = list(requests)
        self.answers: list[bytes] = []
        self.headers: list[Any] = []
        self.timeout = timeout
        self.metadata = list(metadata.items())
        self.peer = "a queue"

    async def receive(self) -> bytes | None:
        return self.requests.pop(0) if self.requests else None

    async def send(self, message: bytes) -> None:
        self.answers.append(message)

    async def send_header(self, metadata: Any) -> None:
        self.headers += metadata


class Broker(Protocol):
    """Has no listener: calls come from elsewhere."""

    name = "broker"

    def __init__(self) -> None:
        self.stopped = False

    async def start(self, calls: Calls) -> None:
        self.calls = calls

    async def stop(self) -> None:
        self.stopped = True

    async def call(self, exchange: Exchange) -> Ending:
        async with asyncio.timeout(PATIENCE):
            return await self.calls.serve(exchange)


class Lines(PortProtocol):
    """Answers each line with itself by method Echo; begins with "ab"."""

    name = "lines"

    def recognize(self, first: bytes) -> bool | None:
        return None if first == b"a" else first.startswith(b"ab")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, calls: Calls) -> None:
        while line := await reader.readline():
            exchange = Delivered(ECHO.name, line)
            await calls.serve(exchange)
            writer.write(b"".join(exchange.answers))


class WithoutAListener(Case):
    async def begin(self, *handlers: Any, **options: Any) -> tuple[Server, Broker]:
        broker = Broker()
        server, _ = await self.serve(*(handlers or (ECHO.handler(echo), *HANDLERS)), protocols=[broker], **options)
        return server, broker

    async def test_calls_of_all_kinds_are_served(self) -> None:
        _, broker = await self.begin()
        for method, requests, answers in (
            (ECHO, [b"x"], [b"x"]),
            (COUNT, [b"3"], [b"0", b"1", b"2"]),
            (JOIN, [b"a", b"b"], [b"a,b"]),
            (TWICE, [b"a", b"b"], [b"aa", b"bb"]),
        ):
            with self.subTest(method.name):
                exchange = Delivered(method.name, *requests)
                ending = await broker.call(exchange)
                self.assertEqual((ending.status.code, exchange.answers), (Code.OK, answers))

    async def test_compressed_requests_are_decompressed_by_what_the_server_accepts(self) -> None:
        _, broker = await self.begin(limits=Limits(message_bytes=1 << 20), decompression=GZIP)
        plain = bytes(1_000_000)
        for method, packed, numbered, code, delivery, answers in (
            (ECHO, GZIP.compress(plain), 1, Code.OK, Delivery.EXECUTED, [plain]),
            (JOIN, GZIP.compress(b"a"), 1, Code.OK, Delivery.EXECUTED, [b"a"]),
            (ECHO, GZIP.compress(bytes(2 << 20)), 1, Code.RESOURCE_EXHAUSTED, Delivery.REFUSED, []),
            (ECHO, b"damaged", 1, Code.INVALID_ARGUMENT, Delivery.REFUSED, []),
            (ECHO, b"x", 2, Code.UNIMPLEMENTED, Delivery.REFUSED, []),
        ):
            exchange = Delivered(method.name, packed)
            exchange.compression = numbered
            status = (await broker.call(exchange)).status
            self.assertEqual((status.code, exchange.answers), (code, answers), status.message)
            if code:
                self.assertIs(status.delivery, delivery)

    async def test_calls_that_no_handler_answers_are_counted_and_logged(self) -> None:
        server, broker = await self.begin()
        with self.assertLogs("trunkcall", "WARNING") as logs:
            await broker.call(Delivered("/test.Service/Missing", b"x"))
        self.assertIn("call refused: /test.Service/Missing from a queue: UNIMPLEMENTED: method", logs.output[0])
        self.assertEqual(server.gauges().refused, 1)

    async def test_admission_interceptors_metadata_and_statuses_are_those_of_any_call(self) -> None:
        seen: list[Any] = []

        def admit(arrival: Arrival) -> Admission:
            if not arrival.metadata:
                raise StatusError(Code.UNAUTHENTICATED, "who?")
            return Admission(dict(arrival.metadata)["who"], lambda: seen.append("released"))

        async def intercept(call: Call, proceed: Next) -> Any:
            call.on_end(lambda status: seen.append(status.code))
            return await proceed(call)

        async def serve(request: bytes, call: ServerCall) -> bytes:
            seen.append((call.principal, call.peer))
            call.set_header([("h", "1")])
            call.set_trailer([("t", "2")])
            raise StatusError(Code.NOT_FOUND, "not here")

        server, broker = await self.begin(ECHO.handler(serve), admission=admit, interceptors=[intercept])
        ending = await broker.call(Delivered(ECHO.name, b"x"))
        self.assertEqual((ending.status.code, ending.status.delivery), (Code.UNAUTHENTICATED, Delivery.REFUSED))
        ending = await broker.call(Delivered(ECHO.name, b"x", who="ada"))
        self.assertEqual((ending.status.code, ending.status.delivery), (Code.NOT_FOUND, Delivery.EXECUTED))
        self.assertEqual(ending.trailer, [("t", "2")])
        self.assertEqual(seen, [("ada", "a queue"), Code.NOT_FOUND, "released"])
        self.assertEqual(server.running, 0)

    async def test_what_cannot_be_served_is_refused(self) -> None:
        _, broker = await self.begin()
        for exchange, code in (
            (Delivered("/a.B/C", b""), Code.UNIMPLEMENTED),
            (Delivered(ECHO.name), Code.UNIMPLEMENTED),
            (Delivered(ECHO.name, b"", timeout=0.0), Code.DEADLINE_EXCEEDED),
        ):
            ending = await broker.call(exchange)
            self.assertEqual((ending.status.code, ending.status.delivery), (code, Delivery.REFUSED), exchange.method)

    async def test_a_handler_ends_at_the_deadline_and_when_its_protocol_gives_up(self) -> None:
        gate = Gate()
        _, broker = await self.begin(ECHO.handler(gate))
        ending = await broker.call(Delivered(ECHO.name, b"", timeout=0.2))
        self.assertEqual(ending.status.code, Code.DEADLINE_EXCEEDED)
        gate.begun.clear()
        gate.cancelled.clear()
        giving_up = asyncio.create_task(broker.call(Delivered(ECHO.name, b"")))
        await gate.begun.wait()
        giving_up.cancel()
        async with asyncio.timeout(PATIENCE):
            await gate.cancelled.wait()

    async def test_draining_waits_for_what_was_taken_and_refuses_more(self) -> None:
        gate = Gate()
        server, broker = await self.begin(ECHO.handler(gate))
        taken = asyncio.create_task(broker.call(Delivered(ECHO.name, b"x")))
        await gate.begun.wait()
        stopping = asyncio.create_task(server.stop())
        await eventually(lambda: broker.stopped)
        ending = await broker.call(Delivered(ECHO.name, b"y"))
        self.assertEqual((ending.status.code, ending.status.delivery), (Code.UNAVAILABLE, Delivery.REFUSED))
        gate.open.set()
        self.assertEqual(((await taken).status.code, await stopping), (Code.OK, True))


class OnThePort(Case):
    async def test_a_protocol_that_tls_negotiates_is_served_whatever_it_begins_with(self) -> None:
        class Negotiated(Lines):
            alpn = ("lines",)

        with tempfile.TemporaryDirectory() as folder:
            authority = Authority(Path(folder))
            own = authority.server("localhost")
            server, address = await self.serve(protocols=[Negotiated()], tls=tls_files(cert=own.cert, key=own.key))
            context = ssl.create_default_context(cafile=str(authority.file))
        context.set_alpn_protocols(["lines"])
        host, port = address.split(":")
        reader, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname="localhost")
        self.assertEqual(writer.get_extra_info("ssl_object").selected_alpn_protocol(), "lines")
        for line in (b"xyz\n", b"ab\n"):
            writer.write(line)
            async with asyncio.timeout(PATIENCE):
                self.assertEqual(await reader.readline(), line)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        self.assertEqual(server.gauges().rejected_connections, 0)

    async def test_a_protocol_shares_the_port_with_ours(self) -> None:
        _, address = await self.serve(protocols=[Lines()])
        self.assertEqual(await self.client(address).call(ECHO, b"native"), b"native")
        self.assertEqual(await all_of(self.client(address).open(COUNT, b"1")), [b"0"])
        host, port = address.rsplit(":", 1)
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"a")  # which does not tell yet
        await writer.drain()
        writer.write(b"b\nabc\n")
        async with asyncio.timeout(PATIENCE):
            self.assertEqual([await reader.readline(), await reader.readline()], [b"ab\n", b"abc\n"])
        writer.close()

    async def test_the_end_of_the_server_ends_its_connections(self) -> None:
        server, address = await self.serve(protocols=[Lines()])
        host, port = address.rsplit(":", 1)
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"ab\n")
        async with asyncio.timeout(PATIENCE):
            self.assertEqual(await reader.readline(), b"ab\n")
            self.assertTrue(await server.stop())
            self.assertEqual(await reader.read(), b"")
        writer.close()

    async def test_what_takes_our_beginnings_is_named(self) -> None:
        class Greedy(Lines):
            def recognize(self, first: bytes) -> bool | None:
                return True

        with self.assertRaisesRegex(ValueError, "protocol lines takes .* for its own"):
            Server(protocols=[Greedy()])
        with self.assertRaisesRegex(ValueError, "two protocols lines"):
            Server(protocols=[Lines(), Lines()])
        wrong: Any = "lines"
        with self.assertRaisesRegex(TypeError, "option protocols: 'lines' was given"):
            Server(protocols=[wrong])
