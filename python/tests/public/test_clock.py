"""The time at which something was sent or given up counts, not that of the input before it."""

from __future__ import annotations

import asyncio
import unittest
from collections.abc import AsyncIterator

from trunkcall import Limits, ServerCall
from trunkcall.transport import Connection, clock

from .kit import COUNT, TWICE, Case, eventually

QUIET = 100_000_000  # µs in which nothing came


class Clock(Case):
    async def test_a_message_that_waits_for_credit_after_a_quiet_time_does_not_stand_still(self) -> None:
        never = asyncio.Event()

        async def read_nothing(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
            await never.wait()
            yield b""

        _, client = await self.pair(TWICE.handler(read_nothing), limits=Limits(pool=0))
        await client.connect()
        connection = next(iter(client._live)).connection
        async with client.open(TWICE) as stream:
            await stream.send(bytes(200_000))
            connection.session.now = clock() - QUIET
            sending = asyncio.create_task(stream.send(bytes(20_000_000)))
            await eventually(lambda: bool(connection.session.caller.calls[1].sending.blocked))  # type: ignore[union-attr]
            connection.session.tick(clock())
            self.assertFalse(stream.done)
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def test_answers_too(self) -> None:
        sessions: list[Connection] = []

        async def answer(request: bytes, call: ServerCall) -> None:
            connection = call._end.connection
            await call.send(bytes(200_000))
            connection.session.now = clock() - QUIET
            sessions.append(connection)
            await call.send(bytes(20_000_000))

        _, address = await self.serve(COUNT.handler(answer))
        client = self.client(address, limits=Limits(pool=0))
        async with client.open(COUNT, b"1") as stream:
            await eventually(lambda: bool(sessions) and bool(sessions[0].session.callee.calls[1].sending.blocked))  # type: ignore[union-attr]
            sessions[0].session.tick(clock())
            await asyncio.sleep(0)
            self.assertIsNotNone(sessions[0].session.callee.calls[1])
            self.assertFalse(stream.done)

    async def test_an_answer_is_overdue_after_the_cancel_and_not_after_what_was_before(self) -> None:
        never = asyncio.Event()

        async def read_nothing(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
            await never.wait()
            yield b""

        _, client = await self.pair(TWICE.handler(read_nothing), limits=Limits(pool=0))
        await client.connect()
        session = next(iter(client._live)).connection.session
        stream = client.open(TWICE)
        session.now = clock() - QUIET
        stream.cancel()
        session.tick(clock())
        self.assertFalse(session.caller.overdue)


if __name__ == "__main__":
    unittest.main()
