"""The event loop belongs to all: streams of many small messages, which nothing makes wait, let others have turns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from trunkcall import ServerCall

from .kit import COUNT, JOIN, PATIENCE, Case

MESSAGES = 5_000  # less than a window holds
MOST = 1_000  # of them in one turn of the loop


class Counted:
    """Counts messages, and how many of them fell into one turn of the loop."""

    def __init__(self) -> None:
        self.count = self.most = 0

    async def watch(self) -> None:
        """Until all have come."""
        seen = self.count
        async with asyncio.timeout(PATIENCE):
            while self.count < MESSAGES:
                await asyncio.sleep(0)
                self.most = max(self.most, self.count - seen)
                seen = self.count


class Turns(Case):
    async def test_who_answers_and_receives_small_messages_lets_others_have_turns(self) -> None:
        sent, received = Counted(), Counted()

        async def pour(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
            for _ in range(MESSAGES):
                sent.count += 1
                yield b""

        _, client = await self.pair(COUNT.handler(pour))
        stream = client.open(COUNT, b"")
        await sent.watch()

        async def receive() -> None:
            async for _ in stream:
                received.count += 1

        task = asyncio.create_task(receive())
        await received.watch()
        await task
        self.assertLess(max(sent.most, received.most), MOST)

    async def test_who_sends_and_serves_small_messages_lets_others_have_turns(self) -> None:
        sent, received = Counted(), Counted()
        go_on = asyncio.Event()

        async def take(requests: Any, call: ServerCall) -> bytes:
            await go_on.wait()
            async for _ in requests:
                received.count += 1
            return b""

        _, client = await self.pair(JOIN.handler(take))
        await client.connect()
        stream = client.open(JOIN)

        async def send() -> None:
            for _ in range(MESSAGES):
                sent.count += 1
                await stream.send(b"")
            await stream.half_close()

        task = asyncio.create_task(send())
        await sent.watch()
        await task
        go_on.set()
        await received.watch()
        self.assertEqual(await stream.response(), b"")
        self.assertLess(max(sent.most, received.most), MOST)
