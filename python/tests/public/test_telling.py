"""What a server tells of what no handler of it has seen: nothing fails in silence."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import socket
import ssl
import struct
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

from harness.certificates import Authority
from trunkcall import Code, Delivery, StatusError, client_tls, server_tls, tls_files, unary
from trunkcall.journal import RATE, Journal
from trunkcall.transport import listener, opening
from trunkcall.wire import Code as WireCode
from trunkcall.wire import not_served

from .kit import ECHO, PATIENCE, Case, Gate, echo, eventually

FORGED = "/a.B/C\n2026-01-01 ERROR all keys were stolen\r\x1b[31m"
MISSING = unary("/test.Service/Missing", bytes, bytes)


class Unserved(Case):
    async def test_a_refused_call_is_logged_with_its_method_and_its_caller(self) -> None:
        server, client = await self.pair()
        with self.assertLogs("trunkcall", "WARNING") as logged:
            for _ in range(2):  # the second by the id of its name
                await self.fails(client.call(MISSING, b""), Code.UNIMPLEMENTED, Delivery.REFUSED)
        remote = server.connections[0].remote
        text = f"call refused: /test.Service/Missing from {remote}: UNIMPLEMENTED: method /test.Service/Missing is not "
        self.assertEqual([record.getMessage()[: len(text)] for record in logged.records], [text, text])

    async def test_a_call_that_admission_rejects_is_logged(self) -> None:
        async def nobody(arrival: object) -> NoReturn:
            raise StatusError(Code.UNAUTHENTICATED, "no token")

        _, client = await self.pair(admission=nobody)
        with self.assertLogs("trunkcall", "WARNING") as logged:
            await self.fails(client.call(ECHO, b""), Code.UNAUTHENTICATED, Delivery.REFUSED)
        self.assertRegex(logged.output[0], "call refused: /test.Service/Echo from .*: UNAUTHENTICATED: no token")

    async def test_what_its_caller_gave_up_is_for_those_who_look_closely(self) -> None:
        gate = Gate()
        server, client = await self.pair(ECHO.handler(gate))
        with self.assertLogs("trunkcall", "DEBUG") as logged:
            await self.runs_out(lambda timeout: client.call(ECHO, b"", timeout=timeout), gate.begun.is_set)
            await eventually(lambda: server.gauges().cut_off > 0)
        (record,) = [one for one in logged.records if "call cut off" in one.getMessage()]
        self.assertEqual(record.levelno, logging.DEBUG)
        self.assertIn("call cut off: /test.Service/Echo from ", record.getMessage())

    async def test_a_call_beyond_the_handlers_that_may_run_is_logged(self) -> None:

        server, address = await self.serve(ECHO.handler(echo), running_handlers=1)
        server._serving.load.running = 1
        client = self.client(address, repeat=False)
        with self.assertLogs("trunkcall", "WARNING") as logged:
            await self.fails(client.call(ECHO, b""), Code.RESOURCE_EXHAUSTED, Delivery.REFUSED)
        self.assertIn("RESOURCE_EXHAUSTED: 1 handlers are running, which is the limit", logged.output[0])
        server._serving.load.running = 0


WITHOUT_HTTP = mock.patch("trunkcall.server.find_spec", return_value=None)


class Strangers(Case):
    async def says(self, address: str, said: bytes) -> bytes:
        """What a server answers to some first bytes."""
        reader, writer = await asyncio.open_connection(*address.split(":"))
        writer.write(said)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            async with asyncio.timeout(PATIENCE):
                answer = await reader.read()
        writer.close()
        return answer

    async def test_what_speaks_another_protocol_is_told_apart_in_the_log(self) -> None:
        get, post = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"POST /a.B/C HTTP/1.1\r\nHost: a\r\n\r\n{}"
        hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
        native = "the first bytes b'GET / HTTP.* are no protocol served here: HTTP is not served here"
        for options, said, logged, answered in (
            ({}, get, "426 to a request of HTTP: this port serves Trunkcall", b"HTTP/1.1 426 Upgrade Required\r\n"),
            ({}, post, "405 to a request of HTTP: over HTTP this port", b"HTTP/1.1 405 Method Not Allowed\r\n"),
            ({"native_only": True}, get, native, b""),
            ({}, hello, "a TLS handshake on a port without TLS", not_served("this port does not speak TLS")),
            ({}, b"\x00\x01\x02", r"the first bytes b.*x00.x01.x02. are no protocol served here", b""),
        ):
            with WITHOUT_HTTP:
                server, address = await self.serve(**options)  # type: ignore[arg-type]
            with self.subTest(logged), self.assertLogs("trunkcall", "WARNING") as records:
                answer = await self.says(address, said)
                await eventually(lambda server=server: server.gauges().rejected_connections == 1)  # type: ignore[misc]
            self.assertEqual(answer[: len(answered)] if answered else answer, answered)
            self.assertRegex(records.output[0], f"connection rejected: 127.0.0.1:[0-9]+: {logged}")

    async def test_a_peer_that_ends_the_connection_writes_no_records_of_its_own(self) -> None:
        server, client = await self.pair()
        await client.connect()
        with self.assertLogs("trunkcall", "DEBUG") as logged:
            server.connections[0]._end.goes_away(7, FORGED)
            client.connections[0]._end.goes_away(7, FORGED)
        said = [record.getMessage() for record in logged.records if "all keys" in record.getMessage()]
        self.assertGreaterEqual(len(said), 2)
        for message in said:
            self.assertTrue(message.isprintable(), message)

    async def test_what_asks_for_http_is_told_apart_where_the_libraries_for_it_are_missing(self) -> None:
        get, upgrade = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"
        both = "a client of gRPC or HTTP/2 came, and the packages h2 and h11 are missing"
        for said, logged, told in (
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", both, both),
            (get, "a client of HTTP came", "a client of HTTP came, and the packages h2 and h11 are missing"),
            (upgrade, "a WebSocket was asked for, and the package websockets is missing", "no WebSockets"),
        ):
            with WITHOUT_HTTP:
                server, address = await self.serve()
            missing = mock.patch.dict(sys.modules, {"trunkcall.transport.upgrading": None})
            with missing, self.subTest(logged), self.assertLogs("trunkcall", "WARNING") as records:
                answer = await self.says(address, said)
                await eventually(lambda server=server: server.gauges().rejected_connections == 1)  # type: ignore[misc]
            self.assertTrue(answer.startswith(b"HTTP/1.1 501 "))
            self.assertIn(told.encode(), answer)
            self.assertRegex(records.output[0], f"connection rejected: 127.0.0.1:[0-9]+: {logged}")

    async def test_a_client_of_grpc_with_tls_is_named_with_its_address(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            authority = Authority(Path(folder))
            pair = authority.server("localhost")
            with WITHOUT_HTTP:
                server, address = await self.serve(tls=tls_files(cert=pair.cert, key=pair.key))
            context = ssl.create_default_context(cafile=authority.file)
            context.set_alpn_protocols(["h2"])
            with self.assertLogs("trunkcall", "WARNING") as records:
                host, port = address.split(":")
                _, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname="localhost")
                writer.close()
                await eventually(lambda: server.gauges().rejected_connections == 1)
        text = "connection rejected: 127.0.0.1:[0-9]+: a client of TLS that offers none of the protocols"
        self.assertRegex(records.output[0], text)

    async def test_a_client_with_tls_at_a_port_without_says_so(self) -> None:
        _, address = await self.serve()
        client = self.client(address, tls=client_tls())
        error = await self.fails(client.connect(), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertIn("the server does not speak TLS on this port", error.message)


class SayingNothing(Case):
    """Probes and scanners: of no interest unless somebody looks closely."""

    async def rejected(self, reset: bool, **options: Any) -> logging.LogRecord:
        server, address = await self.serve(**options)
        host, port = address.split(":")
        with self.assertLogs("trunkcall", "DEBUG") as logged, socket.create_connection((host, int(port))) as probe:
            if reset:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                probe.close()
            await eventually(lambda: server.gauges().rejected_connections == 1)
        (record,) = [one for one in logged.records if one.getMessage().startswith("connection rejected")]
        return record

    def tls(self) -> ssl.SSLContext:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        identity = Authority(Path(folder.name)).server()
        return server_tls(str(identity.cert), str(identity.key))

    async def test_a_connection_that_is_reset_is_no_warning(self) -> None:
        for options in ({}, {"tls": self.tls()}):
            record = await self.rejected(True, **options)
            self.assertEqual(record.levelno, logging.DEBUG, record.getMessage())

    async def test_silence_is_no_warning(self) -> None:
        with mock.patch.object(opening, "HANDSHAKE", 0.01), mock.patch.object(listener, "HANDSHAKE", 0.01):
            for options in ({}, {"tls": self.tls()}):
                record = await self.rejected(False, **options)
                self.assertEqual(record.levelno, logging.DEBUG, record.getMessage())
                self.assertIn("nothing was said in 10 s", record.getMessage())

    async def test_that_accepting_pauses_is_a_record_of_its_own_and_no_rejected_connection(self) -> None:
        for tls in (None, self.tls()):
            server, where = await self.serve(tls=tls)
            host, _, port = where.rpartition(":")
            await self.out_of_descriptors(host, int(port))
            self.assertEqual(server.gauges().rejected_connections, 0)

    async def out_of_descriptors(self, host: str, port: int) -> None:
        """One connection comes while this process may open nothing."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with socket.socket() as client, self.assertLogs(level="WARNING") as logged:
            client.setblocking(False)
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
                await asyncio.get_running_loop().sock_connect(client, (host, port))
                await eventually(lambda: bool(logged.records))
                said = [record.getMessage() for record in logged.records]
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        self.assertEqual(set(said), {"accepting pauses for 1 s: Too many open files"})


class Failing(Case):
    async def test_a_flood_of_calls_whose_handler_raises_is_none_of_records(self) -> None:
        async def raises(request: bytes, call: object) -> bytes:
            raise ValueError("no")

        server, client = await self.pair(ECHO.handler(raises))
        server._serving.journal._clock = lambda: 1.0
        with self.assertLogs("trunkcall", "ERROR") as logged:
            for _ in range(RATE + 5):
                await self.fails(client.call(ECHO, b""), Code.UNKNOWN)
        self.assertEqual(len(logged.records), RATE)
        self.assertIsNotNone(logged.records[0].exc_info)


class Bounded(unittest.TestCase):
    def test_what_a_caller_made_up_is_one_line_without_commands_for_terminals(self) -> None:
        journal = Journal(logging.getLogger("trunkcall"))
        with self.assertLogs("trunkcall", "WARNING") as logged:
            journal.unserved("1.2.3.4:5", FORGED.encode(), True, WireCode.UNIMPLEMENTED, FORGED)
        said = logged.records[0].getMessage()
        self.assertTrue(said.isprintable(), said)
        self.assertIn(r"/a.B/C\n2026-01-01 ERROR all keys were stolen\r\x1b[31m", said)

    def test_a_flood_of_calls_is_none_of_records(self) -> None:
        now = 0.0
        journal = Journal(logging.getLogger("trunkcall"), lambda: now)
        with self.assertLogs("trunkcall", "WARNING") as logged:
            for _ in range(RATE + 7):
                journal.unserved("1.2.3.4:5", b"/a.B/C", True, WireCode.UNIMPLEMENTED, "no")
            journal.unserved("1.2.3.4:5", b"/a.B/C", False, WireCode.INTERNAL, "another kind")
            now = 1.0
            journal.unserved("1.2.3.4:5", b"/a.B/C", True, WireCode.UNIMPLEMENTED, "no")
        self.assertEqual(len(logged.output), RATE + 2)
        self.assertIn("call refused: /a.B/C from 1.2.3.4:5: UNIMPLEMENTED: no", logged.output[0])
        self.assertIn("(7 like this were left out)", logged.output[-1])

    def test_a_name_that_its_caller_made_up_is_cut(self) -> None:
        with self.assertLogs("trunkcall", "WARNING") as logged:
            Journal(logging.getLogger("trunkcall")).unserved("", b"/" + 5000 * b"a", True, WireCode.UNKNOWN, "no")
        self.assertLess(len(logged.output[0]), 400)

    def test_a_record_that_nobody_wants_costs_nothing(self) -> None:
        logger = logging.Logger("quiet", logging.ERROR)
        journal = Journal(logger)
        journal.log(logging.WARNING, "x")
        self.assertEqual(journal._counts, {})
