"""Deadlines, retries, keepalive and idle times under a clock that a test moves: nothing here sleeps."""

from __future__ import annotations

import asyncio
import threading
import time
import unittest
import unittest.mock
from functools import partial

import uvloop

from tests.public.kit import ECHO, PATIENCE, Gate, echo
from trunkcall import RAW, Admission, Arrival, Client, Code, Policy, Server, ServerCall, StatusError, current_call
from trunkcall import blocking as threads
from trunkcall.testing import Clock, TestServer, assert_fails, blocking
from trunkcall.transport import clock as framework_clock
from trunkcall.transport import monotonic

HOUR = 3600.0
RAW_CLIENT = partial(Client, codec=RAW)
RAW_THREADS = partial(threads.Client, codec=RAW)


async def never(request: bytes, call: ServerCall) -> bytes:
    await asyncio.Event().wait()
    return request


class Overloaded:
    """Admits no call at first, and says when it is to be asked again."""

    def __init__(self, pause: float) -> None:
        self.pause = pause
        self.asked = 0

    def __call__(self, arrival: Arrival) -> Admission:
        self.asked += 1
        if self.asked == 1:
            raise StatusError(Code.RESOURCE_EXHAUSTED, "overloaded", retry_after=self.pause)
        return Admission()


class Deadlines(unittest.IsolatedAsyncioTestCase):
    async def test_a_call_ends_at_its_deadline_and_not_before(self) -> None:
        began = time.monotonic()
        async with Clock() as clock, TestServer(ECHO.handler(never), client=RAW_CLIENT) as server:
            call = asyncio.create_task(server.client.call(ECHO, b"x", timeout=HOUR))
            await clock.advance(HOUR - 1)
            self.assertFalse(call.done())
            await clock.advance(1)
            self.assertTrue(call.done())
            with assert_fails(Code.DEADLINE_EXCEEDED):
                await call
            self.assertEqual(clock.elapsed, HOUR)
        self.assertLess(time.monotonic() - began, PATIENCE)

    async def test_a_handler_sees_what_is_left(self) -> None:
        left: list[float | None] = []

        async def look(request: bytes, call: ServerCall) -> bytes:
            await asyncio.sleep(10)
            left.append(call.time_remaining())
            return request

        async with Clock() as clock, TestServer(ECHO.handler(look), client=RAW_CLIENT) as server:
            call = asyncio.create_task(server.client.call(ECHO, b"x", timeout=HOUR))
            await clock.advance(10)
            self.assertEqual(await call, b"x")
        self.assertAlmostEqual(left[0] or 0, HOUR - 10, places=3)

    async def test_a_plain_handler_sees_the_same_and_is_waited_for(self) -> None:
        left: list[float | None] = []

        def look(request: bytes, call: ServerCall) -> bytes:
            left.append(call.time_remaining())
            return request

        async with Clock() as clock, TestServer(ECHO.handler(look), client=RAW_CLIENT) as server:
            await clock.advance(HOUR)
            call = asyncio.create_task(server.client.call(ECHO, b"x", timeout=HOUR))
            await clock.settle()
            self.assertTrue(call.done())
        self.assertAlmostEqual(left[0] or 0, HOUR, places=3)

    async def test_time_stands_still_until_it_is_moved(self) -> None:
        async with Clock() as clock:
            loop = asyncio.get_running_loop()
            before = loop.time(), framework_clock()
            for _ in range(100):
                await asyncio.sleep(0)
            self.assertEqual((loop.time(), framework_clock()), before)
            self.assertEqual(clock.elapsed, 0)
            await clock.advance(0.25)
            self.assertEqual(framework_clock() - before[1], 250_000)

    async def test_timers_go_off_one_after_the_other_each_at_its_time(self) -> None:
        seen: list[tuple[str, float]] = []

        async def tick(name: str, pause: float, times: int) -> None:
            for _ in range(times):
                await asyncio.sleep(pause)
                seen.append((name, round(clock.elapsed, 6)))

        async with Clock() as clock:
            both = asyncio.gather(tick("a", 2, 3), tick("b", 3, 1))
            await clock.advance(6)
            self.assertTrue(both.done())
        self.assertEqual(seen, [("a", 2), ("b", 3), ("a", 4), ("a", 6)])


class Retries(unittest.IsolatedAsyncioTestCase):
    async def test_a_refused_call_is_made_again_when_the_server_said(self) -> None:
        admit = Overloaded(0.5)
        given = Server(admission=admit)
        async with Clock() as clock, TestServer(ECHO.handler(echo), server=given, client=RAW_CLIENT) as server:
            call = asyncio.create_task(server.client.call(ECHO, b"x"))
            await clock.advance(0.49)
            self.assertEqual((admit.asked, call.done()), (1, False))
            await clock.advance(0.01)
            self.assertEqual(await call, b"x")

    async def test_a_client_dials_again_after_its_pauses(self) -> None:
        target = "mem:nobody-yet"
        async with Clock() as clock, Client(target, codec=RAW) as client:
            call = asyncio.create_task(client.call(ECHO, b"x", wait_for_ready=True, timeout=HOUR))
            await clock.advance(10)
            self.assertFalse(call.done())
            async with Server() as server:
                server.register(ECHO.handler(echo))
                await server.listen(target)
                await clock.advance(HOUR / 2)
                self.assertEqual(await call, b"x")


class Connections(unittest.IsolatedAsyncioTestCase):
    async def test_keepalive_keeps_a_connection_on_which_nothing_happens(self) -> None:
        async with Clock() as clock, TestServer(ECHO.handler(echo), client=RAW_CLIENT) as server:
            await server.client.call(ECHO, b"x")
            (before,) = server.client.connections
            await clock.advance(HOUR)
            self.assertEqual(server.client.connections, [before])

    async def test_idle_connections_are_closed(self) -> None:
        client = partial(Client, codec=RAW, idle_timeout=60)
        async with Clock() as clock, TestServer(ECHO.handler(echo), client=client) as server:
            await server.client.call(ECHO, b"x")
            await clock.advance(50)
            self.assertEqual(len(server.server.connections), 1)
            await clock.advance(100)
            self.assertEqual(len(server.server.connections), 0)
            self.assertEqual(await server.client.call(ECHO, b"y"), b"y")

    async def test_a_grace_period(self) -> None:
        gate = Gate()
        async with Clock() as clock, TestServer(ECHO.handler(gate), client=RAW_CLIENT) as server:
            call = asyncio.create_task(server.client.call(ECHO, b"x"))
            await clock.settle()
            stopping = asyncio.create_task(server.server.stop(30))
            await clock.advance(29)
            self.assertFalse(stopping.done())
            await clock.advance(2)
            self.assertFalse(await stopping)
            with assert_fails(Code.UNAVAILABLE):
                await call


class Misuse(unittest.IsolatedAsyncioTestCase):
    async def test_a_clock_that_was_not_entered(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "has not been entered"):
            await Clock().advance(1)

    async def test_a_loop_has_one_clock(self) -> None:
        async with Clock():
            with self.assertRaisesRegex(RuntimeError, "already"):
                await Clock().__aenter__()

    async def test_time_does_not_go_back(self) -> None:
        async with Clock() as clock:
            for wrong in (-1, float("nan"), float("inf")):
                with self.assertRaisesRegex(ValueError, "seconds"):
                    await clock.advance(wrong)
            for typed in ("1", True):
                with self.assertRaisesRegex(TypeError, "seconds"):
                    await clock.advance(typed)  # type: ignore[arg-type]

    async def test_behind_it_the_system_s_time_is_back(self) -> None:
        loop = asyncio.get_running_loop()
        async with Clock() as clock:
            await clock.advance(HOUR)
        self.assertIs(monotonic.nanoseconds, time.monotonic_ns)
        self.assertNotIn("time", vars(loop))
        self.assertLess(abs(loop.time() - time.monotonic()), HOUR / 2)

    async def test_another_thread_s_loop_goes_by_the_system_s_time(self) -> None:
        async with Clock() as clock:
            await clock.advance(HOUR)
            there = await asyncio.to_thread(asyncio.run, time_of_the_framework())
            self.assertLess(abs(there - time.monotonic_ns() // 1000), HOUR / 2 * 1e6)
            self.assertEqual(await asyncio.to_thread(framework_clock), framework_clock())

    def test_the_clock_of_another_loop(self) -> None:
        clock = Clock()

        async def enter() -> None:
            await clock.__aenter__()

        runner = asyncio.Runner()
        runner.run(enter())
        with self.assertRaisesRegex(RuntimeError, "another event loop"):
            asyncio.run(clock.advance(1))
        runner.run(clock.__aexit__(None, None, None))
        runner.close()

    def test_uvloop_s_time_cannot_be_set(self) -> None:
        async def enter() -> None:
            with self.assertRaisesRegex(RuntimeError, "asyncio's own, and this one is a uvloop"):
                await Clock().__aenter__()

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(enter())


async def time_of_the_framework() -> int:
    return framework_clock()


class OnThreads(unittest.TestCase):
    def test_a_started_call_ends_at_its_deadline(self) -> None:
        with (
            blocking.Clock() as clock,
            blocking.TestServer(ECHO.handler(never), client=RAW_THREADS, clock=clock) as server,
        ):
            call = server.client.start(ECHO, b"x", timeout=HOUR)
            clock.advance(HOUR - 1)
            self.assertFalse(call.done())
            clock.advance(1)
            self.assertTrue(call.done())
            with assert_fails(Code.DEADLINE_EXCEEDED):
                call.result()
            self.assertEqual(clock.elapsed, HOUR)

    def test_threads_that_wait_in_calls(self) -> None:
        begun = threading.Semaphore(0)

        async def slow(request: bytes, call: ServerCall) -> bytes:
            begun.release()
            await asyncio.sleep(100)
            return request

        answers: list[bytes] = []
        with (
            blocking.Clock() as clock,
            blocking.TestServer(ECHO.handler(slow), client=RAW_THREADS, clock=clock) as server,
        ):

            def call(number: int) -> None:
                answers.append(server.client.call(ECHO, b"%d" % number, timeout=HOUR))
                answers.append(server.client.call(ECHO, b"%d again" % number, timeout=HOUR))

            callers = [threading.Thread(target=call, args=[number], daemon=True) for number in range(3)]
            for caller in callers:
                caller.start()
            for _ in (1, 2):
                for _ in callers:
                    self.assertTrue(begun.acquire(timeout=PATIENCE))
                clock.advance(100)
            for caller in callers:
                caller.join(PATIENCE)
                self.assertFalse(caller.is_alive())
        self.assertEqual(sorted(answers), sorted(f"{n}{more}".encode() for n in range(3) for more in ("", " again")))

    def test_a_thread_goes_on_with_its_call_before_more_time_passes(self) -> None:
        admit = Overloaded(0.5)

        async def slow(request: bytes, call: ServerCall) -> bytes:
            await asyncio.sleep(100)
            return request

        given, answers = Server(admission=admit), list[bytes]()
        with (
            blocking.Clock() as clock,
            blocking.TestServer(ECHO.handler(slow), server=given, client=RAW_THREADS, clock=clock) as server,
        ):
            calling = threading.Thread(target=lambda: answers.append(server.client.call(ECHO, b"x")), daemon=True)
            calling.start()
            while not admit.asked:
                clock.settle()
            clock.advance(100.5)
            calling.join(PATIENCE)
        self.assertEqual(answers, [b"x"])

    def test_one_time_for_several_clients_and_plain_handlers(self) -> None:
        left: list[float | None] = []

        def look(request: bytes, call: ServerCall) -> bytes:
            seen = current_call()
            left.append(None if seen is None else seen.time_remaining())
            return request

        with (
            blocking.Clock() as clock,
            blocking.TestServer(ECHO.handler(look), client=RAW_THREADS, clock=clock) as server,
            threads.Client(server.target, codec=RAW) as another,
        ):
            clock.attach(another)
            clock.advance(HOUR)
            for client in (server.client, another):
                call = client.start(ECHO, b"x", timeout=5)
                clock.settle()
                self.assertTrue(call.done())
                self.assertEqual(call.result(), b"x")
        self.assertEqual([round(one or 0, 3) for one in left], [5, 5])

    def test_idle_connections_are_closed(self) -> None:
        client = partial(threads.Client, codec=RAW, idle_timeout=60)
        with blocking.Clock() as clock, blocking.TestServer(ECHO.handler(echo), client=client, clock=clock) as server:
            server.client.call(ECHO, b"x")
            clock.advance(50)
            self.assertEqual(len(server.client.connections), 1)
            clock.advance(100)
            self.assertEqual(server.client.connections, [])
            self.assertEqual(server.client.call(ECHO, b"y"), b"y")

    def test_a_policy_s_timeout(self) -> None:
        client = partial(threads.Client, codec=RAW, policies=[Policy(timeout=20)])
        with blocking.Clock() as clock, blocking.TestServer(ECHO.handler(never), client=client, clock=clock) as server:
            call = server.client.start(ECHO, b"x")
            clock.advance(20)
            with assert_fails(Code.DEADLINE_EXCEEDED):
                call.result()

    def test_behind_it_the_system_s_time_is_back(self) -> None:
        with blocking.Clock() as clock, threads.Client("mem:nobody", codec=RAW) as client:
            clock.attach(client)
            with self.assertRaisesRegex(RuntimeError, "already"):
                clock.attach(client)
            clock.advance(HOUR)
        self.assertIs(monotonic.nanoseconds, time.monotonic_ns)


class Restless(unittest.IsolatedAsyncioTestCase):
    async def test_what_never_comes_to_rest_is_told(self) -> None:
        async def spin() -> None:
            while True:  # noqa: ASYNC110
                await asyncio.sleep(0)

        with unittest.mock.patch("trunkcall.testing.moving.PATIENCE", 0.0):
            async with Clock() as clock:
                spinning = asyncio.create_task(spin())
                with self.assertRaisesRegex(RuntimeError, "come to rest"):
                    await clock.settle()
                spinning.cancel()

    async def test_a_plain_function_that_outlasts_the_patience_is_told(self) -> None:
        release = threading.Event()
        with unittest.mock.patch("trunkcall.testing.moving.PATIENCE", 0.0):
            async with Clock() as clock:
                running = asyncio.create_task(asyncio.to_thread(release.wait))
                with self.assertRaisesRegex(RuntimeError, "plain functions, and 1 still run"):
                    await clock.settle()
                release.set()
                await running
