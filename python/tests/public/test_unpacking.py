"""Large compressed messages do not hold up the event loop."""

from __future__ import annotations

import asyncio
import threading
import unittest
from collections.abc import AsyncIterator

from trunkcall import GZIP, Client, Code, Delivery, ServerCall

from .kit import COUNT, ECHO, JOIN, OTHER, PATIENCE, TWICE, Case, again, all_of, echo, ends, eventually, inline

WORDY = bytes(5_000_000)  # small when compressed, large again


class Watched:
    """gzip that notes on which threads large messages come out, and waits there if it is told to."""

    name, number = "gzip", 1

    def __init__(self) -> None:
        self.threads: set[threading.Thread] = set()
        self.go_on = threading.Event()
        self.go_on.set()
        self.at_it = threading.Event()

    def compress(self, message: bytes) -> bytes:
        return GZIP.compress(message)

    def decompress(self, data: bytes, limit: int) -> bytes:
        if threading.current_thread() is not threading.main_thread():
            self.at_it.set()
            self.go_on.wait(PATIENCE)
        message = GZIP.decompress(data, limit)
        if len(message) > 100_000:
            self.threads.add(threading.current_thread())
        return message


async def count(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
    yield WORDY
    yield b"small"


class Large(Case):
    async def joined(self) -> tuple[Client, Watched]:
        watched = Watched()
        handlers = (ECHO.handler(echo), OTHER.handler(inline, inline=True), COUNT.handler(count), JOIN.handler(ends))
        _, address = await self.serve(*handlers, TWICE.handler(again), compression=watched, decompression=watched)
        client = self.client(address, compression=watched, decompression=watched)
        await client.connect()
        return client, watched

    async def test_they_come_out_on_threads(self) -> None:
        client, watched = await self.joined()
        for method in (ECHO, OTHER):
            self.assertEqual(await client.call(method, WORDY), WORDY)
        self.assertEqual(await all_of(client.open(COUNT, b"")), [WORDY, b"small"])
        stream = client.open(JOIN)
        for message in (WORDY + b"first", b"econd", WORDY + b"third"):
            await stream.send(message)
        self.assertEqual(await stream.response(), b"firstecondthird")
        self.assertNotIn(threading.main_thread(), watched.threads)
        self.assertTrue(watched.threads)

    async def test_other_calls_go_on_meanwhile(self) -> None:
        client, watched = await self.joined()
        watched.go_on.clear()
        waiting = asyncio.create_task(client.call(ECHO, WORDY))
        await eventually(watched.at_it.is_set)
        async with asyncio.timeout(PATIENCE):
            self.assertEqual(await client.call(ECHO, b"small"), b"small")
        self.assertFalse(waiting.done())
        watched.go_on.set()
        self.assertEqual(await waiting, WORDY)

    async def test_a_receive_that_is_cancelled_loses_no_message(self) -> None:
        client, watched = await self.joined()
        watched.go_on.clear()
        stream = client.open(COUNT, b"")
        receiving = asyncio.create_task(stream.receive())
        await eventually(watched.at_it.is_set)
        with self.assertRaises(RuntimeError):
            await stream.receive()
        receiving.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await receiving
        watched.go_on.set()
        async with asyncio.timeout(PATIENCE):
            self.assertEqual(await all_of(stream), [WORDY, b"small"])

    async def test_a_large_request_that_is_damaged_is_refused(self) -> None:
        class Damaged(Watched):
            def compress(self, message: bytes) -> bytes:
                return GZIP.compress(message)[:-1]

        _, address = await self.serve(ECHO.handler(echo), OTHER.handler(inline, inline=True))
        client = self.client(address, compression=Damaged())
        await client.connect()
        for method in (ECHO, OTHER):
            await self.fails(client.call(method, WORDY), Code.INVALID_ARGUMENT, Delivery.REFUSED)

    async def test_more_of_them_than_turns_come_through(self) -> None:
        client, _ = await self.joined()
        async with asyncio.timeout(PATIENCE):
            answers = await asyncio.gather(*(client.call(ECHO, WORDY) for _ in range(20)))
        self.assertEqual(answers, [WORDY] * 20)

    async def test_calls_cancelled_while_they_wait_for_turns_give_them_back(self) -> None:
        client, watched = await self.joined()
        for _ in range(3):
            watched.at_it.clear()
            watched.go_on.clear()
            calls = [asyncio.create_task(client.call(ECHO, WORDY)) for _ in range(10)]
            await eventually(watched.at_it.is_set)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            watched.go_on.set()
            async with asyncio.timeout(PATIENCE):
                self.assertEqual(await client.call(ECHO, WORDY), WORDY)


if __name__ == "__main__":
    unittest.main()
