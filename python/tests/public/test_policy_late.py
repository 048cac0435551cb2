"""What calls that run out of time say of a server: nothing, where most of their time had passed before they were sent
(spec/policy.md 10). On a clock of the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from tests.public.kit import ECHO, TWICE
from tests.public.policykit import Answer, PolicyCase, Served, fails, takes
from trunkcall import RAW, Client, Code, Limits, Server, ServerCall, StatusError
from trunkcall.testing import Clock

HELD = "  faults:\n    held:\n      per_million: 1000000\n      delay: {}ms"
TIMEOUT = "defaults:\n  timeout: 1s\n"
RETRIES = "  idempotent: true\n  retries:\n    attempts: 2\n    jitter: 0\n    backoff: {}"
ZONES = "\n  zones: {}"
HEDGING = "  idempotent: true\n  hedging:\n    delay: 900ms"
BREAKER = "  breaker:\n    consecutive: 1\n    codes: [DEADLINE_EXCEEDED]\n"


def slowly(seconds: float) -> Answer:
    """Takes so long to fail at its first run."""

    async def answer(run: int) -> None:
        await asyncio.sleep(seconds)
        raise StatusError(Code.UNAVAILABLE, "on purpose")

    return first(answer)


def first(answer: Answer) -> Answer:
    """What the first run does; later ones do not answer."""

    async def answers(run: int) -> None:
        await (answer(run) if run == 1 else takes(3600)(run))

    return answers


class Late(PolicyCase):
    async def ends(self, clock: Clock, client: Client) -> Code:
        call = asyncio.create_task(self.code(client))
        await clock.advance(1.1)
        self.assertTrue(call.done())
        return await call

    async def test_calls_that_were_sent_late_do_not_eject_a_server(self) -> None:
        outliers = "  outliers:\n    consecutive: 2\n    eject: 30s\n    cap: 50\n"
        for delay, ejected in ((1, True), (499, True), (501, False), (999, False)):
            served = [Served(takes(3600)), Served(takes(3600))]
            async with Clock() as clock, self.several(TIMEOUT + outliers + HELD.format(delay), *served) as client:
                for _ in range(12):  # in turn, while both are there
                    self.assertIs(await self.ends(clock, client), Code.DEADLINE_EXCEEDED)
            one, other = (server.runs for server in served)
            self.assertEqual(one + other, 12)
            self.assertEqual(one != other, ejected, f"sent after {delay} ms")

    async def test_a_server_that_answers_nothing_is_ejected_as_soon_as_its_calls_run_out(self) -> None:
        dead, good = Served(takes(3600)), Served(takes(0))
        text = TIMEOUT + "  outliers:\n    consecutive: 5\n    eject: 30s\n    cap: 50"
        async with Clock() as clock, self.several(text, dead, good) as client:
            calls = [asyncio.create_task(self.code(client)) for _ in range(20)]
            await clock.advance(1)
            self.assertEqual([await one for one in calls].count(Code.OK), 10)
            self.assertEqual([await self.code(client) for _ in range(20)], [Code.OK] * 20)
        self.assertEqual((dead.runs, good.runs), (10, 30))

    async def test_a_breaker_does_not_count_calls_that_were_sent_late(self) -> None:
        cases: tuple[tuple[str, str, Answer, bool], ...] = (
            ("a pause", RETRIES.format("400ms"), first(fails(Code.UNAVAILABLE)), True),
            ("a long pause", RETRIES.format("600ms"), first(fails(Code.UNAVAILABLE)), False),
            ("a pause, not on the quick way", RETRIES.format("400ms") + ZONES, first(fails(Code.UNAVAILABLE)), True),
            ("a long pause there", RETRIES.format("600ms") + ZONES, first(fails(Code.UNAVAILABLE)), False),
            ("an attempt", RETRIES.format("1ns"), slowly(0.4), True),
            ("a long attempt", RETRIES.format("1ns"), slowly(0.6), False),
            ("the attempt before a hedge", HEDGING, slowly(0.4), True),
            ("a long one before a hedge", HEDGING, slowly(0.6), False),
            ("a fault of the policy", HELD.format(400), takes(3600), True),
            ("a long one", HELD.format(600), takes(3600), False),
        )  # fmt: skip
        for name, text, answer, opens in cases:
            served = Served(answer)
            async with Clock() as clock, self.several(TIMEOUT + BREAKER + text, served) as client:
                self.assertIs(await self.ends(clock, client), Code.DEADLINE_EXCEEDED)
                self.assertEqual(await self.ends(clock, client) is Code.UNAVAILABLE, opens, name)

    async def test_nor_those_that_waited_for_a_slot(self) -> None:
        path = self.write(TIMEOUT + BREAKER)
        for taken, opens in ((0.4, True), (0.6, False)):
            async with Clock() as clock, Server(limits=Limits(calls=1)) as server:
                server.register(ECHO.handler(Served(first(takes(taken)))))
                where = await server.listen(f"mem:{self.id()}")
                async with Client(where, codec=RAW, policy_file=path) as client:
                    await client.connect()
                    before = asyncio.create_task(self.code(client))
                    await clock.settle()
                    self.assertIs(await self.ends(clock, client), Code.DEADLINE_EXCEEDED)
                    self.assertIs(await before, Code.OK)
                    self.assertEqual(await self.ends(clock, client) is Code.UNAVAILABLE, opens)

    async def test_nor_streams(self) -> None:
        async def silent(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
            await asyncio.sleep(3600)
            yield b""

        method = "services:\n  test.Service:\n    methods:\n      Twice:\n        timeout: 1s\n"
        for delay, opens in ((400, True), (600, False)):
            path = self.write(method + "defaults:\n" + BREAKER + HELD.format(delay))
            async with Clock() as clock, Server() as server:
                server.register(TWICE.handler(silent))
                where = await server.listen(f"mem:{self.id()}")
                async with Client(where, codec=RAW, policy_file=path) as client:
                    codes = []
                    for _ in range(2):
                        async with client.open(TWICE) as stream:
                            ended = asyncio.create_task(stream.status())
                            await clock.advance(1.1)
                            codes.append((await ended).code)
            self.assertIs(codes[0], Code.DEADLINE_EXCEEDED)
            self.assertEqual(codes[1] is Code.UNAVAILABLE, opens)
