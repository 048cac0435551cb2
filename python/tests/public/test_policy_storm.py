"""Servers that call each other, each with retries, while the last one fails: budgets bound what comes there."""

from __future__ import annotations

import asyncio
import contextlib
import unittest

from tests.public.kit import ECHO
from tests.public.policykit import Answer, PolicyCase, Served, fails
from trunkcall import RAW, Client, Code, Server
from trunkcall.testing import Clock

TIERS = 4
RATE, SECONDS = 20, 15  # calls a second, for longer than the budget's window

RETRYING = """\
budget:
  percent: 10
  least: 0
defaults:
  idempotent: true
  timeout: 5s
  retries:
    attempts: 3
    backoff: 10ms
    max_backoff: 20ms
    jitter: 0"""


def calls(client: Client) -> Answer:
    async def answer(run: int) -> None:
        await client.unary(ECHO, b"x")

    return answer


class Storm(PolicyCase):
    async def test_retries_of_four_tiers_make_no_storm(self) -> None:
        path, served = self.write(RETRYING), list[Served]()
        async with Clock() as clock, contextlib.AsyncExitStack() as stack:
            answer = fails(Code.UNAVAILABLE)
            for tier in range(TIERS, 0, -1):
                served.insert(0, one := Served(answer))
                server = await stack.enter_async_context(Server())
                server.register(ECHO.handler(one))
                where = await server.listen(f"mem:{self.id()}/{tier}")
                client = await stack.enter_async_context(Client(where, codec=RAW, policy_file=path))
                answer = calls(client)
            made = [asyncio.create_task(self.code(client))]
            while len(made) < RATE * SECONDS:
                await clock.advance(1 / RATE)
                made.append(asyncio.create_task(self.code(client)))
            await clock.advance(5)
            self.assertEqual(set(await asyncio.gather(*made)), {Code.UNAVAILABLE})
        # Each client makes a tenth more of what it is asked for. Without a budget the last server would run 81 times as
        # often as the first is called.
        before = len(made)
        for one in served:
            self.assertGreater(one.runs, before)
            self.assertLessEqual(one.runs, before + before // 10 + 1)
            before = one.runs


if __name__ == "__main__":
    unittest.main()
