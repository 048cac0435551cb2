"""Sends that are cancelled while they wait."""

from __future__ import annotations

import asyncio
import unittest
from collections.abc import AsyncIterator
from typing import Any

from trunkcall import Limits, ServerCall

from .kit import COUNT, JOIN, PATIENCE, TWICE, Case, all_of, eventually

QUARTER = bytes(65_520)  # costs a quarter of a window


def blocked(stream: Any) -> bool:
    """Whether a message of a stream waits for credit."""
    return bool(stream._plain and stream._plain.out.sending.blocked)


class Cancelled(Case):
    async def test_a_message_whose_send_was_cancelled_is_not_sent(self) -> None:
        go_on = asyncio.Event()

        async def read(requests: AsyncIterator[bytes], call: ServerCall) -> bytes:
            await go_on.wait()
            return b",".join([request[:1] async for request in requests])

        _, client = await self.pair(JOIN.handler(read), limits=Limits(pool=0))
        stream = client.open(JOIN)
        for _ in range(4):
            await stream.send(QUARTER)
        waiting = asyncio.create_task(stream.send(b"never"))
        await eventually(lambda: blocked(stream))
        waiting.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await waiting
        go_on.set()
        self.assertTrue(await stream.send(b"later"))
        async with asyncio.timeout(PATIENCE):
            self.assertEqual(await stream.response(), b",".join([bytes(1)] * 4 + [b"l"]))

    async def test_one_of_which_a_part_was_sent_is_sent_whole(self) -> None:
        go_on = asyncio.Event()
        lengths: list[int] = []

        async def read(requests: AsyncIterator[bytes], call: ServerCall) -> bytes:
            await go_on.wait()
            lengths.extend([len(request) async for request in requests])
            return b"done"

        _, client = await self.pair(JOIN.handler(read), limits=Limits(pool=0))
        stream = client.open(JOIN)
        waiting = asyncio.create_task(stream.send(bytes(40_000_000)))
        await eventually(lambda: blocked(stream))
        waiting.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await waiting
        go_on.set()
        async with asyncio.timeout(PATIENCE):
            self.assertTrue(await stream.send(b"later"))
            self.assertEqual(await stream.response(), b"done")
        self.assertEqual(lengths, [40_000_000, 5])

    async def test_an_answer_whose_send_was_cancelled_is_not_sent(self) -> None:
        go_on = asyncio.Event()

        async def answer(request: bytes, call: ServerCall) -> None:
            for _ in range(4):
                await call.send(QUARTER)
            waiting = asyncio.create_task(call.send(b"never"))
            await eventually(lambda: bool(call._incoming.sending and call._incoming.sending.blocked))
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            go_on.set()

        _, address = await self.serve(COUNT.handler(answer))
        client = self.client(address, limits=Limits(pool=0))
        async with asyncio.timeout(PATIENCE):
            stream = client.open(COUNT, b"")
            await go_on.wait()
            messages = await all_of(stream)
        self.assertEqual([len(message) for message in messages], [len(QUARTER)] * 4)

    async def test_a_half_close_behind_a_cancelled_send_arrives(self) -> None:
        go_on = asyncio.Event()

        async def read(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
            await go_on.wait()
            async for request in requests:
                yield request[:1]

        _, client = await self.pair(TWICE.handler(read), limits=Limits(pool=0))
        stream = client.open(TWICE)
        for _ in range(4):
            await stream.send(QUARTER)
        waiting = asyncio.create_task(stream.send(b"never"))
        await eventually(lambda: blocked(stream))
        await stream.half_close()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        go_on.set()
        async with asyncio.timeout(PATIENCE):
            self.assertEqual(await all_of(stream), [bytes(1)] * 4)


if __name__ == "__main__":
    unittest.main()
