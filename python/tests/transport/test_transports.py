"""TCP, Unix sockets, TLS: what is served where, and what is turned away. Also on another event loop."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import uvloop

from harness.certificates import Authority
from tests.public.kit import COUNT, ECHO, JOIN, Case, Gate, all_of, connector, eventually, listener
from trunkcall import Client, Code, Delivery, Endpoint, client_tls, server_tls
from trunkcall.transport import clock, parse_address, parse_place
from trunkcall.transport.dialer import NOT_OFFERED, described
from trunkcall.wire import INITIAL_WINDOW, PREFACE_SIZE, Session, not_served
from trunkcall.wire.preface import preface_bytes
from trunkcall.wire.settings import DEFAULTS


class Addresses(unittest.TestCase):
    def test_what_is_understood(self) -> None:
        for text in ("127.0.0.1:80", "[::1]:80", "unix:/run/x", "example.com:0"):
            self.assertEqual(str(parse_address(text)), text)
        self.assertEqual([str(parse_place(part)) for part in ("a:1", "unix:b")], ["a:1", "unix:b"])

    def test_what_is_not(self) -> None:
        for text in ("", "host", "host:", "host:x", "::1:80", "host:65536", "unix:", "host:-1"):
            with self.assertRaises(ValueError, msg=text):
                parse_address(text)

    def test_what_is_no_address_is_told_with_what_would_be_right(self) -> None:
        no_scheme = '; no resolver was given for the scheme "localhost" either'
        for text, why, more in (
            ("", "it is empty", ""),
            ("4000", "it has no host; that port on this machine is localhost:4000", ""),
            ("localhost", "it has no port; with one it is, for example, localhost:8080", ""),
            ("localhost:99999", 'a port is a number from 1 to 65535, not "99999"', no_scheme),
            ("localhost:4001/", "there is a path behind the port; without it, it is localhost:4001", no_scheme),
            ("https://a:1/x", "it is a URL; as an address it is a:1, and TLS is an option", None),
            ("/run/x", "it is a path; a Unix socket there is unix:/run/x", ""),
            ("::1:80", "an address of IPv6 stands in brackets, such as [::1]:80", ""),
            ("a b:1", "there is a blank in it", ""),
            ("unix:", "there is nothing behind unix:", ""),
        ):
            want = f'target "{text}": {why}: want HOST:PORT, unix:PATH, mem:NAME or ws://HOST:PORT/PATH'
            with self.subTest(text), self.assertRaises(ValueError) as caught:
                Client(text)
            told = str(caught.exception)
            self.assertTrue(told == want + more if more is not None else told.startswith(want), told)
            why = why.replace("from 1", "from 0")
            want = f'cannot listen on "{text}": {why}: want HOST:PORT, unix:PATH or mem:NAME'
            with self.subTest(text), self.assertRaises(ValueError) as caught:
                parse_address(text)
            self.assertEqual(str(caught.exception), want)
        slashes = "there are slashes in it, without which it is dns:localhost:4001: want dns:HOST:PORT"
        for text, told in (
            ("dns:///localhost:4001", f'target "dns:///localhost:4001": {slashes}'),
            ("dns:localhost", 'target "dns:localhost": want dns:HOST:PORT'),
            ("a:1,", 'target "a:1,": a part of it is empty'),
            (
                "registry:a.B",
                'target "registry:a.B": no resolver was given for the scheme "registry"; as an address: '
                'a port is a number from 1 to 65535, not "a.B": want HOST:PORT, unix:PATH, mem:NAME or '
                "ws://HOST:PORT/PATH",
            ),
        ):
            with self.subTest(text), self.assertRaises(ValueError) as caught:
                Client(text)
            self.assertEqual(str(caught.exception), told)


class Transports(Case):
    """On asyncio's own loop; see OtherLoop."""

    folder: Path
    authority: Authority

    @classmethod
    def setUpClass(cls) -> None:
        kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(kept.cleanup)
        cls.folder = Path(kept.name)
        cls.authority = Authority(cls.folder)

    def server_tls(self, mutual: bool = False) -> ssl.SSLContext:
        own = self.authority.server("127.0.0.1")
        return server_tls(own.cert, own.key, self.authority.file if mutual else None)

    def client_tls(self, mutual: bool = False) -> ssl.SSLContext:
        if not mutual:
            return client_tls(self.authority.file)
        own = self.authority.client()
        return client_tls(self.authority.file, own.cert, own.key)

    async def works(self, target: str, **options: object) -> None:
        client = self.client(target, **options)
        message = os.urandom(1_000_000)
        self.assertEqual(await client.call(ECHO, message, timeout=20), message)
        self.assertEqual(await all_of(client.open(COUNT, b"2")), [b"0", b"1"])
        stream = client.open(JOIN)
        await stream.send(b"a")
        self.assertEqual(await stream.response(), b"a")
        await client.close()

    async def test_all_is_written_to_a_peer_that_reads_late_and_answers_nothing(self) -> None:
        size, calls = 200_000, 30  # several pieces each, within their windows: no credit is needed
        read = asyncio.Event()
        go_on = asyncio.Event()

        async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(preface_bytes(DEFAULTS, INITIAL_WINDOW))
            await go_on.wait()
            await reader.readexactly(size * calls)
            read.set()
            await reader.read()

        client = self.client(await self.enterAsyncContext(listener(late)))
        tasks = [asyncio.create_task(client.call(ECHO, bytes(size))) for _ in range(calls)]
        await eventually(lambda: any(one.connection.session.caller.open == calls for one in client._live))
        go_on.set()
        async with asyncio.timeout(10):
            await read.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def test_a_process_that_stood_still_reads_before_it_judges(self) -> None:
        _, address = await self.serve()
        client = self.client(address)
        await client.connect()
        connection = connector(client).connection
        assert connection is not None
        with mock.patch.object(Session, "tick") as tick:
            connection._timer_at = clock() - 30_000_000
            connection._tick()
            tick.assert_not_called()
            await eventually(lambda: tick.called)

    async def test_a_deadline_passes_though_every_timer_is_late(self) -> None:
        gate = Gate()
        _, address = await self.serve(ECHO.handler(gate))
        client = self.client(address)
        await client.connect()
        with mock.patch("trunkcall.transport.connection.STOOD_STILL", -(1 << 40)):
            await self.runs_out(lambda left: client.call(ECHO, b"", timeout=left), lambda: gate.runs > 0)

    async def test_tcp(self) -> None:
        server, address = await self.serve()
        self.assertEqual(address, f"127.0.0.1:{server.port}")
        await self.works(address)
        self.assertTrue(await server.stop(10))

    async def test_a_port_that_is_in_use_is_named(self) -> None:
        _, address = await self.serve()
        with self.assertRaisesRegex(OSError, f"in use.*{address}"), self.assertLogs("trunkcall", "ERROR"):
            await self.serve(where=address)

    async def test_a_name_is_listened_on_and_dialled(self) -> None:
        _, address = await self.serve(where="localhost:0")
        await self.works(address)

    async def test_unix(self) -> None:
        path = self.folder / "socket"
        for _ in range(2):  # the file of the first is gone or replaced
            server, address = await self.serve(where=f"unix:{path}")
            await self.works(address)
            self.assertTrue(await server.stop(10))
        self.assertFalse(path.exists())

    async def test_the_file_of_a_listener_that_crashed_is_replaced_a_living_ones_is_not(self) -> None:
        path = self.folder / "left"
        with socket.socket(socket.AF_UNIX) as crashed:
            crashed.bind(str(path))
        _, address = await self.serve(where=f"unix:{path}")
        with self.assertLogs("trunkcall", "ERROR"), self.assertRaises(OSError):
            await self.serve(where=address)
        await self.works(address)

    async def test_several_listeners_of_one_server(self) -> None:
        server, first = await self.serve()
        second = await server.listen("127.0.0.1:0")
        third = await server.listen(f"unix:{self.folder / 'third'}")
        self.assertEqual(server.addresses, [first, second, third])
        for address in server.addresses:
            await self.works(address)

    async def test_tls(self) -> None:
        server, address = await self.serve(tls=self.server_tls())
        await self.works(address, tls=self.client_tls())
        self.assertTrue(await server.stop(10))

    async def test_tls_drains(self) -> None:
        gate = Gate()
        server, address = await self.serve(ECHO.handler(gate), tls=self.server_tls())
        client = self.client(address, tls=self.client_tls())
        task = asyncio.create_task(client.call(ECHO, b"x"))
        await gate.begun.wait()
        stopping = asyncio.create_task(server.stop(10))
        await eventually(lambda: not client._ready)
        gate.open.set()
        self.assertEqual(await task, b"x")
        self.assertTrue(await stopping)

    async def test_mutual_tls(self) -> None:
        _, address = await self.serve(tls=self.server_tls(mutual=True))
        await self.works(address, tls=self.client_tls(mutual=True))
        stranger = self.client(address, tls=self.client_tls())
        with self.assertRaises(Exception):  # noqa: B017
            await stranger.call(ECHO, b"", timeout=5)

    async def test_a_certificate_of_another_authority_is_named(self) -> None:
        elsewhere = self.folder / "another"
        elsewhere.mkdir(exist_ok=True)
        other = Authority(elsewhere, "another")
        _, address = await self.serve(tls=self.server_tls())
        client = self.client(address, tls=client_tls(other.file))
        error = await self.fails(client.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertIn("certificate verify failed", error.message)
        self.assertIn("of an authority that is not trusted here: give it, tls_files(ca=…)", error.message)

    async def test_a_server_of_tls_without_our_protocol_is_named(self) -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        pair = self.authority.server("localhost")
        context.load_cert_chain(pair.cert, pair.key)
        context.set_alpn_protocols(["h2"])

        async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            pass

        address = await self.enterAsyncContext(listener(nothing, context))
        client = self.client(address.replace("127.0.0.1", "localhost"), tls=client_tls(self.authority.file))
        error = await self.fails(client.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertIn("; TLS has negotiated no protocol: behind a proxy that ends TLS, use wss:", error.message)

    def test_an_alert_for_want_of_our_protocol_has_the_same_words(self) -> None:
        for said in ("[SSL] tlsv1 alert no application protocol (_ssl.c:1006)", "[SSL: NO_APPLICATION_PROTOCOL] no"):
            self.assertEqual(described(ssl.SSLError(1, said), True), NOT_OFFERED)

    async def test_cleartext_on_a_tls_port_is_not_served(self) -> None:
        _, address = await self.serve(tls=self.server_tls())
        client = self.client(address)
        error = await self.fails(client.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertIn(f"cannot reach {address}: the peer ended the connection: cleartext is refused", error.message)
        self.assertGreater(connector(client).failures, 0)  # so that the next attempt waits

    async def test_cleartext_beside_tls_where_it_is_allowed(self) -> None:
        _, address = await self.serve(tls=self.server_tls(), allow_cleartext=True)
        await self.works(address)
        await self.works(address, tls=self.client_tls())

    async def test_the_system_gives_up_what_is_not_acknowledged(self) -> None:
        for keepalive, timeout, wanted in ((20, 20, 60_000), (60, 30, 90_000), (0, 20, 0)):
            _, address = await self.serve()
            client = self.client(address, keepalive=keepalive, keepalive_timeout=timeout)
            await client.connect()
            (end,) = client._live
            raw = end.connection.transport.get_extra_info("socket")
            set_to = raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
            self.assertEqual(set_to, wanted)

    async def test_what_a_dialer_has_set_for_that_stays(self) -> None:
        async def dialer(address: str, endpoint: Endpoint) -> socket.socket:
            opened = socket.create_connection(("127.0.0.1", parse_address(address).port))
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 7_000)
            return opened

        _, address = await self.serve()
        client = self.client(address, dialer=dialer)
        await client.connect()
        (end,) = client._live
        raw = end.connection.transport.get_extra_info("socket")
        self.assertEqual(raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT), 7_000)

    async def test_what_begins_no_protocol_is_closed_at_once(self) -> None:
        for options in ({}, {"tls": self.server_tls()}):
            _, address = await self.serve(**options)  # type: ignore[arg-type]
            port = parse_address(address).port
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"\x00\x01\x02\x03 no protocol")
            async with asyncio.timeout(5):
                with_reset = await _rest(reader)
            self.assertEqual(with_reset, b"")
            writer.close()

    async def test_a_native_client_split_at_every_byte_is_told_that_it_is_not_served(self) -> None:
        _, address = await self.serve(tls=self.server_tls())
        reader, writer = await asyncio.open_connection("127.0.0.1", parse_address(address).port)
        preface = not_served("")[:PREFACE_SIZE]
        for at in range(len(preface)):
            writer.write(preface[at : at + 1])
            await asyncio.sleep(0)
        async with asyncio.timeout(5):
            answer = await _rest(reader)
        self.assertEqual(answer, not_served("cleartext is refused on this port: use TLS"))
        writer.close()


class OtherLoop(Transports):
    """The same on uvloop, whose transports are not asyncio's."""

    def _setupAsyncioRunner(self) -> None:  # 3.11 and 3.12 have no loop_factory of their own
        runner = asyncio.Runner(debug=True, loop_factory=uvloop.new_event_loop)
        self._asyncioRunner = runner

    async def test_it_is_the_other_loop(self) -> None:
        self.assertIsInstance(asyncio.get_running_loop(), uvloop.Loop)


async def _rest(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


if __name__ == "__main__":
    unittest.main()
