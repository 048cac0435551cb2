"""Two things in one turn of the loop, two tasks on one stream, one process that becomes two."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import unittest
from collections.abc import AsyncIterator, Callable
from typing import Any
from unittest import mock

from trunkcall import Code, Delivery, Limits, ServerCall, client_tls
from trunkcall.transport import Connection

from .kit import ECHO, OTHER, PATIENCE, TWICE, Case, Gate, black_hole, connector, echo, eventually

HOUR = 3_600.0


class WaitingForASlot(Case):
    async def test_a_slot_found_as_the_time_runs_out_does_not_count_as_not_sent(self) -> None:
        gate = Gate()
        _, client = await self.pair(ECHO.handler(gate), OTHER.handler(echo), limits=Limits(calls=1))
        await client.connect()
        first = asyncio.create_task(client.call(ECHO, b""))
        await gate.begun.wait()
        second = asyncio.create_task(client.call(OTHER, b"2", timeout=HOUR))
        await eventually(lambda: bool(client._waiting))
        loop = asyncio.get_running_loop()
        time, loop.slow_callback_duration = loop.time, HOUR * 10
        write = Connection._write

        def late(connection: Connection) -> None:
            write(connection)
            if gate.open.is_set():  # the answer is in the socket: the loop's next turn finds it and the timer due
                loop.time = lambda: time() + 2 * HOUR  # type: ignore[method-assign]

        with mock.patch.object(Connection, "_write", late):
            gate.open.set()
            await first
            self.assertEqual(await second, b"2")
        loop.time = time  # type: ignore[method-assign]

    async def test_a_call_cancelled_as_it_finds_its_slot_is_cancelled_at_the_server(self) -> None:
        first, second = Gate(), Gate()
        _, client = await self.pair(ECHO.handler(first), OTHER.handler(second), limits=Limits(calls=1))
        await client.connect()
        running = asyncio.create_task(client.call(ECHO, b""))
        await first.begun.wait()
        waiting = asyncio.create_task(client.call(OTHER, b""))
        await eventually(lambda: bool(client._waiting))
        slots = client._endpoints.order[0].slots
        let_in = slots.let_in

        def let_in_and_cancel(connection: Connection) -> bool:
            try:
                return let_in(connection)
            finally:
                waiting.cancel()

        with mock.patch.object(slots, "let_in", let_in_and_cancel):
            first.open.set()
            await running
            with self.assertRaises(asyncio.CancelledError):
                await waiting
        session = connector(client).connection.session  # type: ignore[union-attr]
        await eventually(lambda: session.caller.open == 0)  # for which CANCEL must have left


class Closing(Case):
    async def test_a_call_that_waits_for_a_connection_ends_with_its_client(self) -> None:
        client = self.client("127.0.0.1:1")
        connector(client).failures = 100
        with mock.patch("trunkcall.backoff.random.uniform", lambda low, high: high):
            waiting = asyncio.create_task(client.call(ECHO, b"", wait_for_ready=True))
            await eventually(lambda: bool(connector(client).last))
        await client.close()
        async with asyncio.timeout(5):
            await self.fails(waiting, Code.CANCELLED, Delivery.NOT_SENT)

    async def test_a_call_that_waits_for_a_handshake_ends_with_its_client(self) -> None:
        async with black_hole() as address:
            client = self.client(address, tls=client_tls())
            waiting = [asyncio.create_task(client.call(ECHO, b"")), asyncio.create_task(client.connect())]
            stream = client.open(TWICE)
            await eventually(lambda: connector(client).attempt is not None)
            await asyncio.sleep(0)
            await client.close()
            for call in (*waiting, stream.receive()):
                await self.fails(call, Code.CANCELLED, Delivery.NOT_SENT)

    async def test_a_handler_is_told_that_it_cannot_wait_for_its_own_end(self) -> None:
        texts: list[str] = []
        ends: list[Callable[[], Any]] = []

        async def serve(request: bytes, call: ServerCall) -> bytes:
            for end in ends:
                try:
                    await end()
                except RuntimeError as error:
                    texts.append(str(error))
            return request

        server, client = await self.pair(ECHO.handler(serve))
        ends += [server.stop, server.close]
        async with asyncio.timeout(PATIENCE):
            self.assertEqual(await client.call(ECHO, b"x"), b"x")
        self.assertEqual(len(texts), 2)
        self.assertIn("a handler cannot", texts[0])


class TwoTasks(Case):
    async def test_a_second_reader_or_writer_of_a_call_is_told_so(self) -> None:
        done = asyncio.Event()

        async def serve(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
            reading = asyncio.create_task(call.receive())
            writing = asyncio.create_task(call.send(bytes(1 << 20)))
            await asyncio.sleep(0)
            with self.assertRaisesRegex(RuntimeError, "receiving"):
                await call.receive()
            with self.assertRaisesRegex(RuntimeError, "sending"):
                await call.send(b"")
            done.set()
            await asyncio.gather(reading, writing)
            yield b"end"

        _, client = await self.pair(TWICE.handler(serve))
        async with asyncio.timeout(PATIENCE), client.open(TWICE) as stream:
            await done.wait()
            await stream.send(b"")
            self.assertEqual([len(message) async for message in stream], [1 << 20, 3])


class OddExceptions(Case):
    async def test_an_inline_handler_that_is_cancelled_harms_its_call_alone(self) -> None:
        def serve(request: bytes, call: ServerCall) -> bytes:
            raise asyncio.CancelledError

        server, client = await self.pair(ECHO.handler(serve, inline=True), OTHER.handler(echo))
        await client.connect()
        both = asyncio.gather(client.call(ECHO, b""), client.call(OTHER, b"x"), return_exceptions=True)
        async with asyncio.timeout(PATIENCE):
            failed, answered = await both
        self.assertEqual((getattr(failed, "code", failed), answered), (Code.CANCELLED, b"x"))
        self.assertEqual(server.running, 0)


FORKED = """
import asyncio, os, sys
from trunkcall import RAW, Client, Server, unary
ECHO = unary("/test.Service/Echo", bytes, bytes)
async def echo(request, call): return request
async def use(client): return await client.call(ECHO, b"x", timeout=5)
async def main():
    server = Server()
    server.register(ECHO.handler(echo))
    address = await server.listen("127.0.0.1:0")
    client = Client(address, codec=RAW)
    assert await use(client) == b"x"
    child = os.fork()
    if not child:
        asyncio._set_running_loop(None)
        try:
            asyncio.run(use(client))
        except RuntimeError as error:
            print(error, flush=True)
        async def anew():
            async with Client(address, codec=RAW) as client:
                print(await use(client), flush=True)
        asyncio.run(anew())
        os._exit(0)
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        await asyncio.sleep(0.01)
    print(await use(client))
    await client.close()
    await server.close()
asyncio.run(main())
"""


class Forking(unittest.TestCase):
    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_a_client_from_before_the_fork_says_so_and_lives_on_in_the_parent(self) -> None:
        done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        error, child, parent = done.stdout.splitlines()
        self.assertIn("belongs to another event loop", error)
        self.assertEqual((child, parent), ("b'x'", "b'x'"))
