"""Sockets that listen already: processes that were forked with one share its connections."""

from __future__ import annotations

import asyncio
import socket
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from harness.certificates import Authority
from trunkcall import RAW, Client, Server, client_tls, server_tls
from trunkcall.transport.listener import Listener

from .kit import ECHO, PATIENCE, Case, Gate, echo


class Given(Case):
    async def test_a_file_that_is_no_socket_stays_where_it_is(self) -> None:
        path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "notes"
        path.write_text("dear to somebody")
        server = Server()
        self.addAsyncCleanup(server.close)
        with self.assertRaisesRegex(OSError, "in use"):
            await server.listen(f"unix:{path}")
        self.assertEqual(path.read_text(), "dear to somebody")

    async def test_a_server_listens_on_a_socket_that_it_is_given_and_closes_it(self) -> None:
        given = socket.create_server(("127.0.0.1", 0))
        port = given.getsockname()[1]
        server, address = await self.serve(ECHO.handler(echo), where=given)
        self.assertEqual(given.fileno(), -1)  # the server has it now
        self.assertEqual((server.addresses, server.port), ([address], port))
        async with Client(address, codec=RAW) as client:
            self.assertEqual(await client.call(ECHO, b"x"), b"x")
        await server.stop()
        with self.assertRaises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)

    async def test_its_giver_may_close_a_socket_and_cannot_give_it_twice(self) -> None:
        gate = Gate()
        server = Server()
        self.addAsyncCleanup(server.close)
        server.register(ECHO.handler(gate))
        with socket.create_server(("127.0.0.1", 0)) as given:
            address = await server.listen(given)
            with self.assertRaisesRegex(ValueError, "closed, or was handed over before"):
                await server.listen(given)
        client = self.client(address)
        running = asyncio.create_task(client.call(ECHO, b"x"))
        await gate.begun.wait()
        stopping = asyncio.create_task(server.stop(PATIENCE))
        await server.stopping.wait()
        gate.open.set()
        self.assertEqual((await running, await stopping), (b"x", True))

    async def test_a_listener_that_cannot_be_closed_in_order_does_not_keep_a_server_from_draining(self) -> None:
        server, address = await self.serve()
        client = self.client(address)
        await client.connect()
        (listener,) = server._listeners
        broken = mock.patch.object(Listener, "close", side_effect=ValueError("Invalid file object"))
        with broken, self.assertLogs("trunkcall", "ERROR") as logged:
            self.assertTrue(await server.stop(PATIENCE))
        listener.close()
        self.assertIn("could not be ended in order", logged.output[0])

    async def test_a_server_that_is_stopped_while_it_begins_to_listen_leaves_no_port_open(self) -> None:
        server = Server()
        opened: list[Listener] = []
        begin = Listener.start

        async def slow(listener: Listener, where: str | socket.socket, reuse_port: bool) -> None:
            await begin(listener, where, reuse_port)
            opened.append(listener)
            await server.close()

        with mock.patch.object(Listener, "start", slow), self.assertRaisesRegex(RuntimeError, "has been stopped"):
            await server.listen("127.0.0.1:0")
        self.assertEqual(server.addresses, [])
        with self.assertRaises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", opened[0].address.port)

    async def test_over_tls(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            authority = Authority(Path(folder))
            identity = authority.server()
            given = socket.create_server(("127.0.0.1", 0))
            tls = server_tls(str(identity.cert), str(identity.key))
            _, address = await self.serve(ECHO.handler(echo), where=given, tls=tls)
            async with Client(address, codec=RAW, tls=client_tls(str(authority.file))) as client:
                self.assertEqual(await client.call(ECHO, b"x"), b"x")

    async def test_of_two_that_share_a_socket_one_goes_on_when_the_other_stops(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "s"
            given = socket.socket(socket.AF_UNIX)
            given.bind(str(path))
            given.listen()
            other, _ = await self.serve(ECHO.handler(echo), where=given.dup())
            _, address = await self.serve(ECHO.handler(echo), where=given)
            self.assertEqual(address, f"unix:{path}")
            await other.stop()
            self.assertTrue(path.exists())  # it belongs to whoever made it
            async with Client(address, codec=RAW) as client:
                self.assertEqual(await client.call(ECHO, b"x"), b"x")

    async def test_what_does_not_listen_is_turned_down(self) -> None:
        with socket.socket() as silent, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
            silent.bind(("127.0.0.1", 0))
            for wrong in (silent, datagrams):
                with self.assertRaisesRegex(ValueError, "no TCP or Unix socket that listens"):
                    await self.serve(where=wrong)
                self.assertNotEqual(wrong.fileno(), -1)


if __name__ == "__main__":
    unittest.main()
