"""A test that waits for nothing but a clock that nobody moves is told so, and for what it waits."""

from __future__ import annotations

import asyncio
import math
import threading
import time
import unittest
import unittest.mock
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from tests.public.kit import ECHO, PATIENCE, echo
from trunkcall import RAW, Client, ServerCall
from trunkcall import blocking as threads
from trunkcall.testing import Clock, TestServer, blocking
from trunkcall.testing.standstill import Standstill

HOUR = 3600.0
SOON = 0.05  # seconds of standing still: nothing here runs meanwhile
RAW_CLIENT = partial(Client, codec=RAW)
RAW_THREADS = partial(threads.Client, codec=RAW)
LONG = 2 * PATIENCE  # in tests where something runs: a busy machine may be still for a while
STILL = r"the test's clock stands still, and for \d+ s nothing else has happened: "


async def slow(request: bytes, call: ServerCall) -> bytes:
    await asyncio.sleep(HOUR)
    return request


async def never(request: bytes, call: ServerCall) -> bytes:
    await asyncio.Event().wait()
    return request


class Looks:
    """Has time pass for who watches a clock, by the system's clock."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._looked = threading.Condition()
        self._passing = False
        real: Any = Standstill.reached

        def reached(watch: Standstill) -> bool:
            with self._looked:
                if self._passing:
                    watch._stirred = time.monotonic() - 2 * LONG
            result: bool = real.fget(watch)
            with self._looked:
                here = threading.get_ident()
                self._seen[here] = self._seen.get(here, 0) + 1
                self._looked.notify_all()
            return result

        self.patched = unittest.mock.patch.multiple(
            Standstill, reached=property(reached), pause=property(lambda watch: 0.01), LONGER=10 * LONG
        )

    def pass_by(self, clock: Clock | blocking.Clock) -> None:
        """Behind it all loops of a clock have looked at it, when nothing has happened for long."""
        watch = clock._time.standstill
        with self._looked:
            self._passing = True
            self._seen.clear()
            looked = lambda: len(self._seen) >= len(watch.loops) and min(self._seen.values()) >= 2  # noqa: E731
            if not self._looked.wait_for(looked, PATIENCE):
                raise AssertionError("not all loops have looked")
            self._passing = False


class Awaiting(unittest.IsolatedAsyncioTestCase):
    async def fails(self, test: Callable[[Clock], Awaitable[object]], words: str) -> None:
        with self.assertRaisesRegex(RuntimeError, STILL + "(?s:.*)" + words):
            async with Clock(standstill=SOON) as clock:
                await asyncio.wait_for(test(clock), None)
        self.assertEqual(getattr(asyncio.current_task(), "cancelling", int)(), 0)

    async def test_a_test_that_sleeps(self) -> None:
        async def sleeping(clock: Clock) -> None:
            await asyncio.sleep(HOUR)

        await self.fails(sleeping, r"in 3600\.000 s: Task-\d+ at .*test_standstill\.py:\d+, in .*sleeping")

    async def test_what_to_do_is_told(self) -> None:
        await self.fails(lambda clock: asyncio.sleep(1), r"move the clock with `await clock\.advance\(seconds\)`")

    async def test_a_call_whose_handler_sleeps(self) -> None:
        async def calling(clock: Clock) -> None:
            async with TestServer(ECHO.handler(slow), client=RAW_CLIENT) as server:
                await server.client.call(ECHO, b"x", timeout=2 * HOUR)

        await self.fails(calling, r"test_standstill\.py:\d+, in slow")

    async def test_a_deadline(self) -> None:
        async def calling(clock: Clock) -> None:
            async with TestServer(ECHO.handler(never), client=RAW_CLIENT) as server:
                await clock.advance(7)
                await server.client.call(ECHO, b"x", timeout=2)

        await self.fails(calling, r"\n  in 2\.\d{3} s: ")

    async def test_a_timeout_of_asyncio(self) -> None:
        async def waiting(clock: Clock) -> None:
            async with asyncio.timeout(HOUR):
                await asyncio.Event().wait()

        await self.fails(waiting, r"Timeout of Task-\d+ at .*, in .*waiting")

    async def test_one_that_swallows_its_cancellation_is_told_again(self) -> None:
        swallowed: list[bool] = []

        async def stubborn(clock: Clock) -> None:
            for _ in range(2):
                try:
                    await asyncio.sleep(HOUR)
                except asyncio.CancelledError:
                    swallowed.append(True)

        with self.assertRaisesRegex(RuntimeError, STILL):
            async with Clock(standstill=SOON) as clock:
                await stubborn(clock)
        self.assertEqual(len(swallowed), 2)
        self.assertEqual(getattr(asyncio.current_task(), "cancelling", int)(), 0)

    async def test_many_timers_are_counted(self) -> None:
        await self.fails(lambda clock: asyncio.gather(*[asyncio.sleep(n) for n in range(1, 9)]), "and 3 later ones")

    async def test_what_a_thread_brings_is_waited_for(self) -> None:
        looks = Looks()
        with looks.patched:
            async with Clock(standstill=LONG) as clock:
                running = asyncio.create_task(asyncio.sleep(HOUR))
                await asyncio.to_thread(looks.pass_by, clock)
                running.cancel()

    async def test_a_clock_that_may_stand_still_for_ever(self) -> None:
        loop, brought = asyncio.get_running_loop(), asyncio.Event()
        async with Clock(standstill=math.inf):
            waiting = asyncio.create_task(asyncio.sleep(HOUR))
            bringing = threading.Timer(10 * SOON, loop.call_soon_threadsafe, [brought.set])
            bringing.start()
            await brought.wait()
            waiting.cancel()

    async def test_without_timers_nothing_waits_for_the_clock(self) -> None:
        loop, brought = asyncio.get_running_loop(), asyncio.Event()
        async with Clock(standstill=SOON):
            bringing = threading.Timer(10 * SOON, loop.call_soon_threadsafe, [brought.set])
            bringing.start()
            await brought.wait()

    async def test_times_that_cannot_be_meant(self) -> None:
        for wrong in (0, -1, math.nan):
            with self.assertRaisesRegex(ValueError, "seconds|above 0"):
                Clock(standstill=wrong)
            with self.assertRaisesRegex(ValueError, "seconds|above 0"):
                blocking.Clock(standstill=wrong)
        with self.assertRaisesRegex(TypeError, "want seconds"):
            Clock(standstill="5")  # type: ignore[arg-type]


class EnteredElsewhere(unittest.TestCase):
    def test_a_clock_of_a_fixture_tells_who_runs_the_loop(self) -> None:
        clock = Clock(standstill=SOON)
        with asyncio.Runner() as runner:

            async def enter() -> None:
                await clock.__aenter__()

            runner.run(enter())
            with self.assertRaisesRegex(RuntimeError, STILL):
                runner.run(asyncio.sleep(HOUR))
            runner.run(clock.__aexit__(None, None, None))


class OnThreads(unittest.TestCase):
    def test_the_thread_that_owns_the_clock_calls(self) -> None:
        with (
            blocking.Clock(standstill=SOON) as clock,
            blocking.TestServer(ECHO.handler(slow), client=RAW_THREADS, clock=clock) as server,
        ):
            told = STILL + r"begin the call with `client\.start`(?s:.*)test_standstill\.py:\d+, in slow"
            with self.assertRaisesRegex(RuntimeError, told):
                server.client.call(ECHO, b"x", timeout=2 * HOUR)
            again = server.client.start(ECHO, b"x", timeout=3 * HOUR)
            with self.assertRaisesRegex(RuntimeError, STILL):
                again.result()
            clock.advance(HOUR)
            self.assertEqual(again.result(), b"x")

    def test_another_thread_that_calls_has_more_patience(self) -> None:
        answers: list[bytes] = []
        begun = threading.Event()

        async def noted(request: bytes, call: ServerCall) -> bytes:
            begun.set()
            return await slow(request, call)

        looks = Looks()
        with (
            looks.patched,
            blocking.Clock(standstill=LONG) as clock,
            blocking.TestServer(ECHO.handler(noted), client=RAW_THREADS, clock=clock) as server,
        ):
            calling = threading.Thread(
                target=lambda: answers.append(server.client.call(ECHO, b"x", timeout=2 * HOUR)), daemon=True
            )
            calling.start()
            self.assertTrue(begun.wait(PATIENCE))
            looks.pass_by(clock)
            clock.advance(HOUR)
            calling.join(PATIENCE)
        self.assertEqual(answers, [b"x"])

    def test_another_thread_s_patience_ends(self) -> None:
        failures: list[BaseException] = []
        with (
            unittest.mock.patch.object(Standstill, "LONGER", 2 * SOON),
            blocking.Clock(standstill=SOON) as clock,
            blocking.TestServer(ECHO.handler(slow), client=RAW_THREADS, clock=clock) as server,
        ):

            def call() -> None:
                try:
                    server.client.call(ECHO, b"x", timeout=2 * HOUR)
                except RuntimeError as error:
                    failures.append(error)

            calling = threading.Thread(target=call, daemon=True)
            calling.start()
            calling.join(PATIENCE)
        self.assertRegex(str(failures), STILL)

    def test_a_plain_handler_that_runs_is_waited_for(self) -> None:
        def plain(request: bytes, call: ServerCall) -> bytes:
            looks.pass_by(clock)
            return request

        looks = Looks()
        with (
            looks.patched,
            blocking.Clock(standstill=LONG) as clock,
            blocking.TestServer(ECHO.handler(plain), client=RAW_THREADS, clock=clock) as server,
        ):
            self.assertEqual(server.client.call(ECHO, b"x"), b"x")

    def test_behind_the_clock_nothing_is_watched(self) -> None:
        with blocking.TestServer(ECHO.handler(echo), client=RAW_THREADS) as server:
            with blocking.Clock() as clock:
                clock.attach(server.client)
                driver, _ = server.client._whole()
                self.assertIn("select", vars(driver.loop.selector))
            self.assertNotIn("select", vars(driver.loop.selector))
            self.assertEqual(server.client.call(ECHO, b"x"), b"x")
