"""Sockets that listen already: processes that were forked with one share its connections."""

from __future__ import annotations

import socket
import tempfile
import unittest
from pathlib import Path

from harness.certificates import Authority
from trunkcall import RAW, Client, client_tls, server_tls

from .kit import ECHO, Case, echo


class Given(Case):
    async def test_a_server_listens_on_a_socket_that_it_is_given_and_closes_it(self) -> None:
        given = socket.create_server(("127.0.0.1", 0))
        server, address = await self.serve(ECHO.handler(echo), where=given)
        self.assertEqual(address, f"127.0.0.1:{given.getsockname()[1]}")
        self.assertEqual((server.addresses, server.port), ([address], given.getsockname()[1]))
        async with Client(address, codec=RAW) as client:
            self.assertEqual(await client.call(ECHO, b"x"), b"x")
        await server.stop()
        self.assertEqual(given.fileno(), -1)

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
