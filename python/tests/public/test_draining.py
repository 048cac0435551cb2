"""Draining: nothing is lost, nothing runs twice."""

from __future__ import annotations

import asyncio
import unittest
from collections.abc import AsyncIterator

import trunkcall
from trunkcall import Code, Delivery, ServerCall

from .kit import COUNT, ECHO, OTHER, Case, Gate, echo, eventually


class Draining(Case):
    async def test_calls_that_run_are_answered_before_the_server_stops(self) -> None:
        gate = Gate()
        server, client = await self.pair(ECHO.handler(gate))
        task = asyncio.create_task(client.call(ECHO, b"x"))
        await gate.begun.wait()
        stopping = asyncio.create_task(server.stop(10))
        await eventually(lambda: not client._ready)
        gate.open.set()
        self.assertEqual(await task, b"x")
        self.assertTrue(await stopping)

    async def test_new_calls_go_to_the_server_that_takes_over(self) -> None:
        gate = Gate()
        first, a = await self.serve(ECHO.handler(gate), OTHER.handler(echo))
        _, b = await self.serve(OTHER.handler(echo))
        client = self.client(f"{a},{b}", balancer=trunkcall.first())
        task = asyncio.create_task(client.call(ECHO, b"x"))
        await gate.begun.wait()
        stopping = asyncio.create_task(first.stop(10))
        await eventually(lambda: not client._ready)
        self.assertEqual(await client.call(OTHER, b"y", wait_for_ready=True, timeout=10), b"y")
        self.assertFalse(task.done())
        gate.open.set()
        self.assertEqual(await task, b"x")
        self.assertTrue(await stopping)

    async def test_attempts_that_failed_are_forgotten_once_a_connection_was_drained(self) -> None:
        server, client = await self.pair(ECHO.handler(echo))
        await client.call(ECHO, b"x")
        (connector,) = next(iter(client._live)).endpoint.connectors
        connector.failures = 7  # before this connection could be opened
        stopping = asyncio.create_task(server.stop(10))
        await eventually(lambda: not client._ready)
        self.assertLess(connector.failures, 7)
        await stopping

    async def test_load_on_two_servers_loses_nothing_when_one_drains(self) -> None:
        runs: dict[bytes, int] = {}

        async def serve(request: bytes, call: ServerCall) -> bytes:
            runs[request] = runs.get(request, 0) + 1
            await asyncio.sleep(0)
            return request

        first, a = await self.serve(ECHO.handler(serve))
        _, b = await self.serve(ECHO.handler(serve))
        client = self.client(f"{a},{b}", connections=2)
        await client.connect()
        made = 0

        async def caller(name: int) -> None:
            nonlocal made
            for n in range(100):
                message = b"%d-%d" % (name, n)
                self.assertEqual(await client.call(ECHO, message, wait_for_ready=True, timeout=20), message)
                made += 1

        work = asyncio.gather(*(caller(name) for name in range(20)))
        await eventually(lambda: made > 200)
        self.assertTrue(await first.stop(10))
        await work
        self.assertEqual(len(runs), 2_000)
        self.assertEqual(set(runs.values()), {1})

    async def test_what_outlives_the_grace_period_is_cut_off(self) -> None:
        gate = Gate()

        async def endless(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
            while True:
                yield b"x"
                await asyncio.sleep(0.01)

        server, client = await self.pair(ECHO.handler(gate), COUNT.handler(endless))
        task = asyncio.create_task(client.call(ECHO, b"x"))
        stream = client.open(COUNT, b"")
        await stream.receive()
        await gate.begun.wait()
        self.assertFalse(await server.stop(0.05))
        error = await self.fails(task, Code.UNAVAILABLE, Delivery.UNKNOWN)
        self.assertIn("grace", error.message)
        self.assertEqual((await stream.status()).code, Code.UNAVAILABLE)
        self.assertEqual((server.running, server.connections), (0, []))
        self.assertTrue(gate.cancelled.is_set())

    async def test_a_stopped_server_listens_no_more(self) -> None:
        server, _ = await self.pair()
        waiting = asyncio.create_task(server.serve())
        await server.stop()
        await waiting
        with self.assertRaises(RuntimeError):
            await server.listen("127.0.0.1:0")


if __name__ == "__main__":
    unittest.main()
