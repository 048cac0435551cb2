"""Connections in memory: mem:NAME, for clients and servers of one process."""

from __future__ import annotations

import asyncio
import os
import unittest
from typing import Any
from unittest import mock

from tests.public.kit import COUNT, ECHO, JOIN, OTHER, PATIENCE, TWICE, Case, Gate, all_of, echo, eventually
from trunkcall import RAW, Client, Code, Delivery, Limits, Server, ServerCall, client_tls
from trunkcall.transport.memory import MemoryTransport


class InMemory(Case):
    async def test_every_kind_of_call_goes_without_a_socket(self) -> None:
        with mock.patch("socket.socket", side_effect=AssertionError("there is no socket")):
            server, address = await self.serve(where="mem:calls")
            client = self.client(address)
            self.assertEqual((address, server.addresses, server.port), ("mem:calls", ["mem:calls"], 0))
            self.assertEqual(await client.call(ECHO, b"x"), b"x")
            large = os.urandom(3_000_000)
            self.assertEqual(await client.call(ECHO, large), large)
            self.assertEqual(await all_of(client.open(COUNT, b"3")), [b"0", b"1", b"2"])
            stream = client.open(JOIN)
            await stream.send(b"a")
            self.assertEqual(await stream.response(), b"a")
            async with client.open(TWICE) as both:
                for message in (b"a", bytes(500_000)):
                    await both.send(message)
                    self.assertEqual(await both.receive(), message * 2)
            self.assertEqual((client.connections[0].remote, client.secure), ("mem:calls", False))
            await client.close()
            self.assertTrue(await server.stop(10))

    async def test_servers_call_their_clients(self) -> None:
        async def back(request: bytes, call: ServerCall) -> bytes:
            return await call.connection.call(OTHER, request + b" there") + b" and back"

        _, address = await self.serve(ECHO.handler(back), where="mem:back", codec=RAW)
        client = self.client(address)
        client.register(OTHER.handler(echo))
        self.assertEqual(await client.call(ECHO, b"x"), b"x there and back")

    async def test_draining_answers_what_runs_and_a_client_comes_back(self) -> None:
        gate = Gate()
        server, address = await self.serve(ECHO.handler(gate), where="mem:drains")
        client = self.client(address)
        running = asyncio.create_task(client.call(ECHO, b"x"))
        await gate.begun.wait()
        stopping = asyncio.create_task(server.stop(PATIENCE))
        await server.stopping.wait()
        gate.open.set()
        self.assertEqual((await running, await stopping), (b"x", True))
        error = await self.fails(client.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertIn("nobody listens on mem:drains in this process", error.message)
        await self.serve(where="mem:drains")
        self.assertEqual(await client.call(ECHO, b"y", wait_for_ready=True, timeout=PATIENCE), b"y")

    async def test_a_connection_that_is_lost_ends_its_calls_as_unknown(self) -> None:
        gate = Gate()
        server, address = await self.serve(ECHO.handler(gate), where="mem:lost")
        client = self.client(address)
        running = asyncio.create_task(client.call(ECHO, b"x"))
        await gate.begun.wait()
        await server.close()
        await self.fails(running, Code.UNAVAILABLE, Delivery.UNKNOWN)

    async def test_a_peer_that_does_not_read_is_felt(self) -> None:
        server, address = await self.serve(where="mem:slow", limits=Limits(window=1 << 30))
        client = self.client(address)
        await client.connect()
        (end,) = server._connections
        end.connection.transport.pause_reading()
        call = asyncio.create_task(client.call(ECHO, bytes(1 << 20)))
        await eventually(lambda: client.gauges().unsent_bytes > 0)
        (mine,) = client._live
        self.assertTrue(mine.connection._full)
        end.connection.transport.resume_reading()
        self.assertEqual(len(await call), 1 << 20)

    async def test_a_name_is_listened_on_once(self) -> None:
        _, address = await self.serve(where="mem:once")
        with self.assertLogs("trunkcall", "ERROR"), self.assertRaisesRegex(OSError, "in use.*mem:once"):
            await self.serve(where=address)
        with self.assertRaisesRegex(ValueError, "there is nothing behind mem:"):
            await self.serve(where="mem:")

    async def test_tls_is_for_sockets(self) -> None:
        _, address = await self.serve(where="mem:clear")
        client = self.client(address, tls=client_tls())
        self.assertEqual((await client.call(ECHO, b"x"), client.secure), (b"x", False))

    async def test_a_client_in_the_loop_of_another_thread_is_joined(self) -> None:
        _, address = await self.serve(where="mem:here")

        async def call() -> bytes:
            async with Client(address, codec=RAW) as client:
                return await client.call(ECHO, b"x")

        self.assertEqual(await asyncio.to_thread(asyncio.run, call()), b"x")

    async def test_a_loop_that_does_not_run_is_told(self) -> None:
        async def listen() -> Server:
            server = Server()
            await server.listen("mem:there")
            return server

        other = asyncio.new_event_loop()
        self.addCleanup(other.close)
        server = await asyncio.to_thread(other.run_until_complete, listen())
        client = self.client("mem:there")
        error = await self.fails(client.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertIn("mem:there is listened on in another event loop, which does not run", error.message)
        await asyncio.to_thread(other.run_until_complete, server.close())


class Ends(unittest.IsolatedAsyncioTestCase):
    """The transport as asyncio's own are."""

    async def asyncSetUp(self) -> None:
        loop = asyncio.get_running_loop()
        self.near, self.far = MemoryTransport(loop, "ends"), MemoryTransport(loop, "ends")
        self.near.peer, self.far.peer = self.far, self.near
        self.near_protocol, self.far_protocol = mock.Mock(), mock.Mock()
        self.near_protocol.eof_received.return_value = self.far_protocol.eof_received.return_value = None
        self.near.set_protocol(self.near_protocol)
        self.far.set_protocol(self.far_protocol)

    async def both_lost(self) -> None:
        lost = (self.near_protocol.connection_lost, self.far_protocol.connection_lost)
        await eventually(lambda: all(one.called for one in lost))
        self.assertEqual([one.call_count for one in lost], [1, 1])

    async def test_an_exception_of_a_protocol_ends_the_connection(self) -> None:
        for function in ("data_received", "eof_received"):
            await self.asyncSetUp()
            told: list[dict[str, Any]] = []
            asyncio.get_running_loop().set_exception_handler(lambda _, context, told=told: told.append(context))  # type: ignore[misc]
            error = KeyError("x")
            getattr(self.far_protocol, function).side_effect = error
            self.near.write(b"x")
            self.near.write_eof()
            await self.both_lost()
            self.assertEqual([one["exception"] for one in told], [error])
            self.far_protocol.connection_lost.assert_called_with(error)

    async def test_both_ends_are_lost_although_one_did_not_read(self) -> None:
        for written in (b"", b"x"):
            await self.asyncSetUp()
            self.far.pause_reading()
            self.near.write(written)
            self.near.close()
            self.far.close()
            await self.both_lost()

    async def test_an_end_that_waits_for_a_reader_is_lost_when_the_reader_aborts(self) -> None:
        self.far.pause_reading()
        self.near.write(b"x")
        self.near.close()
        await asyncio.sleep(0)
        self.far.abort()
        await self.both_lost()

    async def test_bounds_of_the_buffer(self) -> None:
        for given, low, high in (
            ({}, 16 << 10, 64 << 10),
            ({"low": 100 << 10}, 100 << 10, 400 << 10),
            ({"high": 8 << 10}, 2 << 10, 8 << 10),
        ):
            self.near.set_write_buffer_limits(**given)
            self.assertEqual(self.near.get_write_buffer_limits(), (low, high))
        with self.assertRaises(ValueError):
            self.near.set_write_buffer_limits(high=1, low=2)

    async def test_nothing_is_written_behind_the_end(self) -> None:
        self.near.write_eof()
        with self.assertRaisesRegex(RuntimeError, "after write_eof"):
            self.near.write(b"x")


class Abandoned(unittest.TestCase):
    def test_the_name_of_a_loop_that_is_closed_is_free(self) -> None:
        async def listen() -> None:
            await Server().listen("mem:left")

        asyncio.run(listen())
        asyncio.run(listen())
