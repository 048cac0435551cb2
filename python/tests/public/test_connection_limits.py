"""How many connections a server has (limits.md 2), and whose they are behind a proxy."""

from __future__ import annotations

import asyncio
import socket
import sys
import tempfile
import unittest
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from harness.certificates import Authority
from tests.http.kit import HttpCase, framed, post
from trunkcall import RAW, Client, Code, Delivery, Endpoint, Server, ServerCall, StatusError, client_tls, server_tls

from .kit import ECHO, PATIENCE, echo, eventually


async def connects(client: Client) -> bool:
    try:
        await client.connect()
    except StatusError:
        return False
    return True


async def tells_peer(request: bytes, call: ServerCall) -> bytes:
    return call.peer.encode()


def through_proxy(header: bytes) -> Callable[[str, Endpoint], Awaitable[socket.socket]]:
    """A dialer that a proxy has passed on."""

    async def dial(address: str, endpoint: Endpoint) -> socket.socket:
        host, _, port = address.rpartition(":")
        made = socket.create_connection((host, int(port)))
        made.sendall(header)
        made.setblocking(False)
        return made

    return dial


class Limits(HttpCase):
    async def test_connections_beyond_the_limit_are_told_in_their_own_protocol(self) -> None:
        for option in ("max_connections", "max_connections_per_address"):
            with self.subTest(option):
                options: dict[str, Any] = {option: 3}
                server, address = await self.serve(**options)
                three = [self.client(address), self.client(address), self.client(f"ws://{address}/")]
                for client in three:
                    await client.connect()

                async with Client(address) as fourth:
                    error = await self.fails(fourth.connect(), Code.UNAVAILABLE, Delivery.NOT_SENT)
                self.assertIn("limit of 3", error.message)
                status, _, body = await self.exchanged(address, post(b"x"))
                self.assertEqual(status, 400)
                self.assertIn(b"limit of 3", body)
                http2 = await self.http2(address)
                answer = await http2.answer(http2.ask(body=framed(b"x")))
                self.assertEqual(answer.head["grpc-status"], "14")
                self.assertIn("limit of 3", answer.head["grpc-message"])
                self.assertGreaterEqual(server.gauges().rejected_connections, 3)

                for client in three:
                    self.assertEqual(await client.call(ECHO, b"there"), b"there")
                    await client.close()
                again = [self.client(address) for _ in range(3)]
                for client in again:  # all have been counted out
                    async with asyncio.timeout(PATIENCE):
                        while not await connects(client):
                            pass

    async def test_one_that_wants_tls_or_says_nothing_is_closed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            authority = Authority(Path(folder))
            own = authority.server("127.0.0.1")
            _, address = await self.serve(tls=server_tls(own.cert, own.key), max_connections=1)
            first = self.client(address, tls=client_tls(str(authority.file)))
            await first.connect()
            await self.fails(
                self.client(address, tls=client_tls(str(authority.file))).connect(), Code.UNAVAILABLE, Delivery.NOT_SENT
            )
            reader, _ = await self.http1(address, b"")
            self.assertEqual(await asyncio.wait_for(reader.read(), PATIENCE), b"")
            self.assertEqual(await first.call(ECHO, b"x"), b"x")

    async def test_of_many_that_are_too_many_few_are_told_at_a_time(self) -> None:
        server, address = await self.serve(max_connections=1)
        first = self.client(address)
        await first.connect()
        many = [await self.http1(address, b"") for _ in range(70)]
        await eventually(lambda: server.gauges().rejected_connections == 70)
        self.assertLessEqual(server._connection_limits._told, 64)
        for _, writer in many:
            writer.close()
        await eventually(lambda: server._connection_limits._told == 0)

    async def test_unix_sockets_have_no_address_to_count_by(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            where = f"unix:{folder}/s"
            await self.serve(where=where, max_connections_per_address=1, proxy_protocol=True)
            for client in (self.client(where), self.client(where)):
                self.assertEqual(await client.call(ECHO, b"x"), b"x")

    async def test_connections_from_other_addresses_do_not_count(self) -> None:
        _, address = await self.serve(max_connections_per_address=1, proxy_protocol=True)

        async def status(source: str) -> tuple[int, bytes]:
            header = f"PROXY TCP4 {source} 127.0.0.1 1000 2000\r\n".encode()
            code, _, body = await self.exchanged(address, header + post(b"x"))
            return code, body

        for source in ("192.0.2.1", "192.0.2.2", "192.0.2.3"):
            self.assertEqual(await status(source), (200, b"x"))
        code, body = await status("192.0.2.2")
        self.assertEqual(code, 400)
        self.assertIn(b"192.0.2.2/32", body)

    async def test_of_ipv6_a_network_counts(self) -> None:
        _, address = await self.serve(max_connections_per_address=1, proxy_protocol=True)
        codes: list[int] = []
        for source in ("2001:db8::1", "2001:db8:0:1::1", "2001:db8::2"):
            header = f"PROXY TCP6 {source} ::1 1000 2000\r\n".encode()
            codes.append((await self.exchanged(address, header + post(b"x")))[0])
        self.assertEqual(codes, [200, 200, 400])

    def test_a_limit_of_nothing_is_refused(self) -> None:
        for option in ("max_connections", "max_connections_per_address"):
            with self.assertRaisesRegex(ValueError, option):
                Server(**{option: 0})  # type: ignore[arg-type]


class BehindAProxy(HttpCase):
    HEADER = b"PROXY TCP4 1.2.3.4 5.6.7.8 256 512\r\n"

    async def test_the_peer_is_the_one_that_the_proxy_says(self) -> None:
        _, address = await self.serve(ECHO.handler(tells_peer), proxy_protocol=True)
        client = self.client(address, dialer=through_proxy(self.HEADER))
        self.assertEqual(await client.call(ECHO, b""), b"1.2.3.4:256")
        _, _, body = await self.exchanged(address, self.HEADER + post(b""))
        self.assertEqual(body, b"1.2.3.4:256")
        own = self.client(address, dialer=through_proxy(b"PROXY UNKNOWN\r\n"))
        self.assertRegex(await own.call(ECHO, b""), rb"^127\.0\.0\.1:\d+$")

    async def test_the_header_comes_ahead_of_tls(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            authority = Authority(Path(folder))
            own = authority.server("127.0.0.1")
            _, address = await self.serve(
                ECHO.handler(tells_peer), tls=server_tls(own.cert, own.key), proxy_protocol=True
            )
            tls = client_tls(str(authority.file))
            client = self.client(address, tls=tls, dialer=through_proxy(self.HEADER))
            self.assertEqual(await client.call(ECHO, b""), b"1.2.3.4:256")

    async def test_one_without_a_header_is_closed(self) -> None:
        server, address = await self.serve(proxy_protocol=True)
        with self.assertLogs("trunkcall", "WARNING") as logged:
            reader, _ = await self.http1(address, b"POST /")  # no more than is looked at, lest what is left resets it
            self.assertEqual(await asyncio.wait_for(reader.read(), PATIENCE), b"")
        self.assertIn("there is no header of the PROXY protocol", logged.output[0])
        self.assertEqual(server.gauges().rejected_connections, 1)

    async def test_a_header_may_come_in_pieces_and_may_be_broken_off(self) -> None:
        server, address = await self.serve(ECHO.handler(tells_peer), proxy_protocol=True)
        _, broken = await self.http1(address, self.HEADER[:9])
        broken.close()
        await eventually(lambda: server.gauges().rejected_connections == 1)
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        self.addAsyncCleanup(self._close, writer)
        for at in range(len(self.HEADER)):
            writer.write(self.HEADER[at : at + 1])
            await writer.drain()
        writer.write(post(b"", "/test.Service/Echo", "application/raw", "Connection: close"))
        self.assertIn(b"1.2.3.4:256", await asyncio.wait_for(reader.read(), PATIENCE))


class OnePort(HttpCase):
    async def test_servers_share_a_port_if_all_want_to(self) -> None:
        _, address = await self.serve()
        for options in ({}, {"reuse_port": True}):
            server = Server()
            self.addAsyncCleanup(server.close)
            with self.assertRaises(OSError):
                await server.listen(address, **options)

    async def test_reuse_port_is_for_ports(self) -> None:
        server = Server()
        self.addAsyncCleanup(server.close)
        with socket.create_server(("127.0.0.1", 0)) as given:
            for where in ("mem:name", "unix:/nowhere/s", given):
                with self.assertRaisesRegex(ValueError, "reuse_port"):
                    await server.listen(where, reuse_port=True)

    async def test_two_processes_serve_one_port(self) -> None:
        server = Server()
        self.addAsyncCleanup(server.close)
        server.register(ECHO.handler(echo))
        address = await server.listen("127.0.0.1:0", reuse_port=True)
        other = await asyncio.create_subprocess_exec(
            *(sys.executable, "-W", "error", "-c", OTHER, address),
            cwd=Path(__file__).parents[2],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert other.stdin is not None and other.stdout is not None
        try:
            async with asyncio.timeout(PATIENCE):
                self.assertEqual(await other.stdout.readline(), b"listening\n")
                answers: set[bytes] = set()
                while answers != {b"here", b"there"}:  # the system chooses, by the client's port
                    async with Client(address, codec=RAW) as client:
                        answers.add(await client.call(ECHO, b"here"))
        finally:
            other.stdin.close()  # which ends it
            await other.wait()


OTHER = """
import asyncio, sys
from trunkcall import Server
from tests.public.kit import ECHO

async def there(request, call):
    return b"there"

async def main():
    async with Server() as server:
        server.register(ECHO.handler(there))
        await server.listen(sys.argv[1], reuse_port=True)
        print("listening", flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


if __name__ == "__main__":
    unittest.main()
