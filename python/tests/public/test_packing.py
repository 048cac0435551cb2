"""Large messages that are compressed do not hold up the event loop."""

from __future__ import annotations

import asyncio
import threading
import unittest
from collections.abc import AsyncIterator

from trunkcall import GZIP, Client, Code, Delivery, ServerCall

from .kit import COUNT, ECHO, JOIN, OTHER, PATIENCE, TWICE, Case, again, all_of, echo, ends, eventually, inline

WORDY = b"a long-distance call " * 20_000


class Watched:
    """gzip that notes on which threads large messages go in, and waits there if it is told to."""

    name, number = "gzip", 1

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self.go_on = threading.Event()
        self.go_on.set()
        self.at_it = threading.Event()

    def compress(self, message: bytes) -> bytes:
        if len(message) > 100_000:
            self.threads.append(threading.current_thread())
        if threading.current_thread() is not threading.main_thread():
            self.at_it.set()
            self.go_on.wait(PATIENCE)
        return GZIP.compress(message)

    def decompress(self, data: bytes, limit: int) -> bytes:
        return GZIP.decompress(data, limit)


async def count(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
    yield request
    yield b"small"


HANDLERS = (
    ECHO.handler(echo),
    OTHER.handler(inline, inline=True),
    COUNT.handler(count),
    JOIN.handler(ends),
    TWICE.handler(again),
)


class Large(Case):
    async def joined(self, ours: Watched | None = None, theirs: Watched | None = None) -> Client:
        _, address = await self.serve(*HANDLERS, compression=theirs or (), decompression=theirs or GZIP)
        client = self.client(address, compression=ours)
        await client.connect()
        return client

    async def test_they_go_in_on_threads(self) -> None:
        ours, theirs = Watched(), Watched()
        client = await self.joined(ours, theirs)
        for method in (ECHO, OTHER):
            self.assertEqual(await client.call(method, WORDY), WORDY)
        self.assertEqual(await all_of(client.open(COUNT, WORDY)), [WORDY, b"small"])
        self.assertEqual((len(ours.threads), len(theirs.threads)), (3, 3))
        self.assertNotIn(threading.main_thread(), ours.threads + theirs.threads)

    async def test_messages_of_a_stream_keep_their_order(self) -> None:
        ours = Watched()
        stream = (await self.joined(ours)).open(JOIN)
        ours.go_on.clear()
        sending = asyncio.create_task(stream.send(WORDY + b"first"))
        await eventually(ours.at_it.is_set)
        with self.assertRaises(RuntimeError):
            await stream.send(b"at the same time")
        ours.go_on.set()
        self.assertTrue(await sending)
        for message in (b"econd", WORDY + b"third"):
            self.assertTrue(await stream.send(message))
        self.assertEqual(await stream.response(), b"firstecondthird")

    async def test_a_half_close_follows_the_message_at_work(self) -> None:
        ours = Watched()
        stream = (await self.joined(ours)).open(TWICE)
        await stream.send(b"small")
        self.assertEqual(await stream.receive(), b"small")
        ours.go_on.clear()
        sending = asyncio.create_task(stream.send(WORDY))
        await eventually(ours.at_it.is_set)
        await stream.half_close()
        ours.go_on.set()
        self.assertTrue(await sending)
        self.assertEqual(await all_of(stream), [WORDY])

    async def test_other_calls_go_on_meanwhile(self) -> None:
        for ours, theirs in ((Watched(), None), (None, Watched())):
            watched = ours or theirs
            assert watched is not None
            client = await self.joined(ours, theirs)
            for method in (ECHO, OTHER):
                watched.at_it.clear()
                watched.go_on.clear()
                waiting = asyncio.create_task(client.call(method, WORDY))
                await eventually(watched.at_it.is_set)
                async with asyncio.timeout(PATIENCE):
                    self.assertEqual(await client.call(ECHO, b"small"), b"small")
                self.assertFalse(waiting.done())
                watched.go_on.set()
                self.assertEqual(await waiting, WORDY)

    async def test_a_call_may_end_meanwhile(self) -> None:
        ours = Watched()
        client = await self.joined(ours)
        ours.go_on.clear()
        await self.fails(client.call(ECHO, WORDY, timeout=0.05), Code.DEADLINE_EXCEEDED, Delivery.NOT_SENT)
        calling = asyncio.create_task(client.call(ECHO, WORDY))
        stream = client.open(JOIN)
        sending = asyncio.create_task(stream.send(WORDY))
        await eventually(ours.at_it.is_set)
        calling.cancel()
        stream.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await calling
        ours.go_on.set()
        self.assertFalse(await sending)
        self.assertEqual(await client.call(ECHO, WORDY), WORDY)

    async def test_a_handler_whose_caller_has_left_meanwhile_is_done(self) -> None:
        theirs = Watched()
        client = await self.joined(None, theirs)
        for method in (ECHO, OTHER):
            theirs.at_it.clear()
            theirs.go_on.clear()
            calling = asyncio.create_task(client.call(method, WORDY))
            await eventually(theirs.at_it.is_set)
            calling.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await calling
            theirs.go_on.set()
            self.assertEqual(await client.call(method, WORDY), WORDY)


if __name__ == "__main__":
    unittest.main()
