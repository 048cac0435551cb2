"""WebSockets that carry native connections: both sides, in the clear and over TLS, and what strangers make of them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import uvloop
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from harness.certificates import Authority
from tests.public.kit import COUNT, ECHO, JOIN, PATIENCE, Case, Gate, all_of, connector, echo, eventually, listener
from trunkcall import Client, Code, Delivery, Server, client_tls, server_tls
from trunkcall.transport import PREFACE_HTTP2, parse_place
from trunkcall.wire import MAGIC, not_served

TRUNK = [Subprotocol("trunk")]


class Targets(unittest.TestCase):
    def test_what_is_understood(self) -> None:
        for text, host, port in (
            ("ws://example.com", "example.com", 80),
            ("wss://example.com/a/b?c=d", "example.com", 443),
            ("ws://[::1]:8080/", "::1", 8080),
        ):
            address = parse_place(text)
            self.assertEqual((address.host, address.port, address.url, str(address)), (host, port, text, text))
        self.assertEqual([bool(parse_place(part).url) for part in ("a:1", "ws://b:2/", "unix:c")], [False, True, False])

    def test_what_is_not(self) -> None:
        for text in (
            "ws://",
            "ws://:80",
            "ws://a:b",
            "ws://a:0",
            "ws://u:p@a:1",
            "wss://a:1/ b",
            "ws://a:65536/",
            "http://a:1",
        ):
            with self.assertRaises(ValueError, msg=text):
                parse_place(text)


class Sockets(Case):
    """On asyncio's own loop; see OtherLoop."""

    folder: Path
    authority: Authority

    @classmethod
    def setUpClass(cls) -> None:
        kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(kept.cleanup)
        cls.folder = Path(kept.name)
        cls.authority = Authority(cls.folder)

    async def secure(self, **options: Any) -> tuple[Server, str]:
        own = self.authority.server("127.0.0.1")
        return await self.serve(tls=server_tls(own.cert, own.key), **options)

    async def works(self, target: str, **options: Any) -> None:
        client = self.client(target, **options)
        message = os.urandom(3_000_000)  # in many frames and messages
        self.assertEqual(await client.call(ECHO, message, timeout=20), message)
        self.assertEqual(await all_of(client.open(COUNT, b"2")), [b"0", b"1"])
        stream = client.open(JOIN)
        await stream.send(b"a")
        self.assertEqual(await stream.response(), b"a")
        await client.close()

    async def test_every_kind_of_call_goes_over_websockets(self) -> None:
        server, address = await self.serve()
        await self.works(f"ws://{address}/any/path?and=more")
        await eventually(lambda: not server.connections)

    async def test_every_kind_of_call_goes_over_websockets_in_tls(self) -> None:
        server, address = await self.secure()
        await self.works(f"wss://{address}", tls=client_tls(self.authority.file))
        await eventually(lambda: not server.connections)

    async def test_wss_is_secure_also_without_a_context_of_one_s_own(self) -> None:
        for target, secure in (("wss://a:1/", True), ("wss://a:1/,ws://b:1/", False), ("wss://a:1/,b:1", False)):
            self.assertIs(self.client(target).secure, secure, target)
        self.assertTrue(self.client("wss://a:1/,b:1", tls=client_tls()).secure)

    async def test_one_context_serves_native_connections_and_websockets(self) -> None:
        _, address = await self.secure()
        tls = client_tls(self.authority.file)
        clients = [self.client(target, tls=tls) for target in (f"wss://{address}", address)]
        for client in clients * 2:
            await client.connect()
            tasks = [client.call(ECHO, str(n).encode(), timeout=PATIENCE) for n in range(20)]
            self.assertEqual(len(await asyncio.gather(*tasks)), 20)
        connections = [connector(client).connection for client in clients]
        protocols = [one.tls.selected_alpn_protocol() for one in connections if one is not None and one.tls is not None]
        self.assertEqual(protocols, ["http/1.1", "trunk"])

    async def test_a_certificate_that_is_not_trusted_is_named(self) -> None:
        _, address = await self.secure()
        error = await self.fails(self.client(f"wss://{address}").call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertIn("certificate verify failed", error.message)

    async def test_cleartext_is_not_dialled_where_tls_is_configured(self) -> None:
        _, address = await self.serve()
        client = self.client(f"ws://{address}", tls=client_tls(self.authority.file))
        error = await self.fails(client.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertIn("use wss://", error.message)

    async def test_draining_loses_no_call(self) -> None:
        for secure in (False, True):
            gate = Gate()
            own = self.authority.server("127.0.0.1")
            options: dict[str, Any] = {"tls": server_tls(own.cert, own.key)} if secure else {}
            server, address = await self.serve(ECHO.handler(gate), **options)
            tls = client_tls(self.authority.file) if secure else None
            client = self.client(f"{'wss' if secure else 'ws'}://{address}", tls=tls)
            task = asyncio.create_task(client.call(ECHO, b"x"))
            await gate.begun.wait()
            stopping = asyncio.create_task(server.stop(PATIENCE))
            await eventually(lambda client=client: not client._ready)  # type: ignore[misc]
            gate.open.set()
            self.assertEqual(await task, b"x")
            self.assertTrue(await stopping)

    async def test_closing_the_client_cancels_what_runs(self) -> None:
        gate = Gate()
        server, address = await self.serve(ECHO.handler(gate))
        client = self.client(f"ws://{address}")
        task = asyncio.create_task(client.call(ECHO, b""))
        await gate.begun.wait()
        await client.close()
        await self.fails(task, Code.CANCELLED, Delivery.UNKNOWN)
        await gate.cancelled.wait()
        await eventually(lambda: not server.connections)

    async def test_closing_the_server_ends_calls_as_unknown(self) -> None:
        gate = Gate()
        server, address = await self.serve(ECHO.handler(gate))
        task = asyncio.create_task(self.client(f"ws://{address}").call(ECHO, b""))
        await gate.begun.wait()
        await server.close()
        await self.fails(task, Code.UNAVAILABLE, Delivery.UNKNOWN)

    # Strangers at the server.

    async def stranger(self, address: str, **options: Any) -> ClientConnection:
        ws = await connect(f"ws://{address}/", **{"subprotocols": TRUNK, "max_size": None, **options})
        self.addAsyncCleanup(ws.close)
        return ws

    async def closed_with(self, ws: ClientConnection) -> int:
        async with asyncio.timeout(PATIENCE):
            try:
                while True:
                    await ws.recv()
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd is not None else 0

    async def test_a_stranger_may_cut_messages_as_it_likes(self) -> None:
        _, address = await self.serve()
        preface = not_served("")[:32]
        ws = await self.stranger(address)
        for at in range(len(preface) - 8):
            await ws.send(preface[at : at + 1])
        await ws.send(b"")
        await ws.send([preface[-8 + at : len(preface) - 8 + at + 1] for at in range(8)])  # in frames of one message
        self.assertTrue(bytes(await ws.recv()).startswith(MAGIC))  # type: ignore[arg-type]

    async def test_pings_are_answered(self) -> None:
        _, address = await self.serve()
        ws = await self.stranger(address)
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*[await ws.ping() for _ in range(100)])

    async def test_a_text_message_ends_it_with_its_code(self) -> None:
        _, address = await self.serve()
        ws = await self.stranger(address)
        with self.assertLogs("trunkcall", "INFO") as logged:
            await ws.send("hello")
            self.assertEqual(await self.closed_with(ws), 1003)
        self.assertIn("text message", "".join(logged.output))

    async def test_what_is_not_the_protocol_is_closed(self) -> None:
        _, address = await self.serve()
        ws = await self.stranger(address)
        await ws.send(b"GET / HTTP/1.1\r\n\r\n")
        self.assertEqual(await self.closed_with(ws), 1000)

    async def test_a_frame_above_the_limit_is_refused_at_its_header(self) -> None:
        server, address = await self.serve()
        ws = await self.stranger(address)
        await ws.send(bytes((256 << 10) + 1))
        self.assertEqual(await self.closed_with(ws), 1009)
        await eventually(lambda: not server.connections)

    async def test_compression_is_not_agreed_to(self) -> None:
        _, address = await self.serve()
        ws = await self.stranger(address, compression="deflate")
        self.assertIsNotNone(ws.response)
        assert ws.response is not None
        self.assertNotIn("Sec-WebSocket-Extensions", ws.response.headers)

    async def test_pages_open_websockets_only_where_they_may(self) -> None:
        _, address = await self.serve(origins=["https://app.example.com"])
        for origin, allowed in (
            (None, True),
            (f"http://{address}", True),
            ("https://app.example.com", True),
            ("https://evil.example.com", False),
            ("null", False),
            (f"http://{address}.evil", False),
        ):
            with self.subTest(origin=origin):
                if allowed:
                    await self.stranger(address, origin=origin)
                    continue
                with self.assertRaises(InvalidStatus) as caught:
                    await self.stranger(address, origin=origin)
                self.assertEqual(caught.exception.response.status_code, 403)
        _, address = await self.serve(origins=["*"])
        await self.stranger(address, origin="https://anywhere.example.com")

    # Strange servers.

    async def test_a_server_without_the_sub_protocol_is_told_apart(self) -> None:
        async def silent(ws: ServerConnection) -> None:
            await ws.wait_closed()

        async with serve(silent, "127.0.0.1", 0) as listening:
            port = listening.sockets[0].getsockname()[1]
            error = await self.fails(
                self.client(f"ws://127.0.0.1:{port}").call(ECHO, b"", timeout=PATIENCE),
                Code.UNAVAILABLE,
                Delivery.NOT_SENT,
            )
        self.assertIn('does not speak the sub-protocol "trunk"', error.message)

    async def test_a_server_that_sends_text_is_left_with_its_code(self) -> None:
        codes: list[int | None] = []
        done = asyncio.Event()

        async def chatty(ws: ServerConnection) -> None:
            await ws.send("hello")
            await ws.wait_closed()
            codes.append(ws.close_code)
            done.set()

        async with serve(chatty, "127.0.0.1", 0, subprotocols=TRUNK) as listening:
            port = listening.sockets[0].getsockname()[1]
            error = await self.fails(
                self.client(f"ws://127.0.0.1:{port}").connect(), Code.UNAVAILABLE, Delivery.NOT_SENT
            )
            async with asyncio.timeout(PATIENCE):
                await done.wait()
        self.assertIn("text message", error.message)
        self.assertEqual(codes[0], 1003)

    async def test_a_server_that_answers_otherwise_is_told_apart(self) -> None:
        for reply, wanted in (
            (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "404 Not Found"),
            (
                b"HTTP/1.1 400 No\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n\r\nuse TLS\n",
                "asked for: use TLS",
            ),
            (b"220 mail.example.com ESMTP\r\n", "no WebSocket"),
            (b"", "no WebSocket"),
        ):

            async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reply: bytes = reply) -> None:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(reply)

            async with listener(other) as address:
                error = await self.fails(self.client(f"ws://{address}").connect(), Code.UNAVAILABLE, Delivery.NOT_SENT)
            self.assertIn(wanted, error.message)


class OtherLoop(Sockets):
    """The same on uvloop, whose transports are not asyncio's."""

    def _setupAsyncioRunner(self) -> None:  # 3.11 and 3.12 have no loop_factory of their own
        self._asyncioRunner = asyncio.Runner(debug=True, loop_factory=uvloop.new_event_loop)

    async def test_it_is_the_other_loop(self) -> None:
        self.assertIsInstance(asyncio.get_running_loop(), uvloop.Loop)


class Negotiation(Case):
    """What TLS has negotiated, and what is spoken in it (http.md 1)."""

    async def test_what_was_negotiated_must_be_spoken(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            authority = Authority(Path(folder))
            own = authority.server("127.0.0.1")
            _, address = await self.serve(tls=server_tls(own.cert, own.key))
            port = int(address.rpartition(":")[2])
            native, http = not_served("")[:32], b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
            for offered, sent, answered in (
                ("trunk", native, MAGIC),
                ("trunk", http, b""),
                ("h2", PREFACE_HTTP2, b"\0\0"),  # SETTINGS
                ("h2", http, b""),
                ("h2", native, b""),
                ("http/1.1", http, b"HTTP/1.1 404 "),
                ("http/1.1", PREFACE_HTTP2, b""),
                ("http/1.1", native, b""),
                ("", native, MAGIC),
                ("", http, b"HTTP/1.1 404 "),
                ("", PREFACE_HTTP2, b"\0\0"),
            ):
                with self.subTest(offered=offered, sent=sent):
                    tls = ssl.create_default_context(cafile=authority.file)
                    if offered:
                        tls.set_alpn_protocols([offered])
                    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
                    writer.write(sent)
                    async with asyncio.timeout(PATIENCE):
                        got = await reader.read(len(answered) or 1)
                    self.assertEqual(got, answered)
                    writer.transport.abort()

    async def test_http_in_the_clear_is_told_to_use_tls(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            own = Authority(Path(folder)).server("127.0.0.1")
            for allowed, wanted in ((False, "400 Bad Request"), (True, "404 Not Found")):
                _, address = await self.serve(tls=server_tls(own.cert, own.key), allow_cleartext=allowed)
                reader, writer = await asyncio.open_connection(*address.split(":"))
                writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                async with asyncio.timeout(PATIENCE):
                    answer = (await reader.read()).decode()
                self.assertIn(wanted, answer)
                self.assertEqual("use TLS" in answer, not allowed)
                writer.close()
                await writer.wait_closed()


_WITHOUT = """
import asyncio, sys
sys.modules["websockets"] = None
import trunkcall
async def main():
    try:
        trunkcall.Client("ws://127.0.0.1:1")
    except ImportError as error:
        print(error)
    server = trunkcall.Server()
    address = await server.listen("127.0.0.1:0")
    reader, writer = await asyncio.open_connection(*address.split(":"))
    writer.write(b"GET / HTTP/1.1\\r\\nHost: a\\r\\nUpgrade: websocket\\r\\n\\r\\n")
    print((await reader.read()).split(b"\\r\\n")[0].decode())
    writer.close()
    await server.stop()
asyncio.run(main())
"""
_NAMED_BY_OTHERS = """
import asyncio, sys
sys.modules["websockets"] = None
import trunkcall
from trunkcall.registry import parse
E = trunkcall.unary("/a.B/C", bytes, bytes)
async def main():
    server = trunkcall.Server()
    async def echo(request, call):
        return request
    server.register(E.handler(echo))
    address = await server.listen("127.0.0.1:0")
    record = parse(b'{"addresses":["ws://127.0.0.1:1/a","%s"],"id":"x","service":"a.B"}' % address.encode())
    async def found(watch):
        watch.set([record.endpoint, trunkcall.Endpoint("ws://127.0.0.1:1/b")])
        await asyncio.Event().wait()
    async with server, trunkcall.Client("some:x", resolvers={"some": found}, codec=trunkcall.RAW) as client:
        for _ in range(4):
            print(await client.call(E, b"good", wait_for_ready=True, timeout=20))
asyncio.run(main())
"""
_UNUSED = """
import asyncio, sys
import trunkcall
E = trunkcall.unary("/a.B/C", bytes, bytes)
async def main():
    server = trunkcall.Server()
    async def echo(request, call):
        return request
    server.register(E.handler(echo))
    async with server, trunkcall.Client(await server.listen("127.0.0.1:0"), codec=trunkcall.RAW) as client:
        await client.call(E, b"")
asyncio.run(main())
print([name for name in sys.modules if name.split(".")[0] in ("websockets", "h2", "h11")])
"""


class Library(unittest.TestCase):
    def run_alone(self, program: str) -> str:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr

    def test_its_absence_is_told_clearly(self) -> None:
        first, second, logged = self.run_alone(_WITHOUT).splitlines()
        self.assertIn("which trunkcall[websocket] brings", first)
        self.assertEqual(second, "HTTP/1.1 501 Not Implemented")
        self.assertIn("which trunkcall[websocket] brings", logged)

    def test_addresses_that_others_have_named_are_no_fault_without_it(self) -> None:
        self.assertEqual(self.run_alone(_NAMED_BY_OTHERS).splitlines()[:4], ["b'good'"] * 4)

    def test_those_who_do_without_do_not_load_it(self) -> None:
        self.assertEqual(self.run_alone(_UNUSED), "[]\n")


class Options(unittest.IsolatedAsyncioTestCase):
    async def test_origins_are_several(self) -> None:
        with self.assertRaises(TypeError):
            Server(origins="https://app.example.com")

    async def test_a_server_may_be_native_only(self) -> None:
        async with Server(native_only=True) as server:
            server.register(ECHO.handler(echo))
            address = await server.listen("127.0.0.1:0")
            reader, writer = await asyncio.open_connection(*address.split(":"))
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            async with asyncio.timeout(PATIENCE):
                with contextlib.suppress(ConnectionResetError):
                    self.assertEqual(await reader.read(), b"")
            writer.close()
            async with Client(address) as client:
                await client.connect()


if __name__ == "__main__":
    unittest.main()
