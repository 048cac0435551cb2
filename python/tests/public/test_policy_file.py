"""Clients with a policy file: what they do by it, how it is exchanged, and which files are refused."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import tracemalloc
import unittest
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self
from unittest import mock

from tests.public.kit import ECHO, OTHER
from trunkcall import (
    RAW,
    CallAttempt,
    Client,
    Code,
    Delivery,
    Handler,
    Priority,
    Server,
    ServerCall,
    StatusError,
    policyfile,
)
from trunkcall import blocking as threads
from trunkcall.calling import Calls
from trunkcall.policy import File, parse
from trunkcall.policyfile import PolicyFile
from trunkcall.testing import Clock, TestServer, blocking

NO_FILE = "want a file, not a folder or the like"
RETRYING = """
defaults:
  timeout: 10s
  retries:
    attempts: 4
    backoff: 100ms
    jitter: 0
services:
  test.Service:
    methods:
      Echo:
        idempotent: %s
"""


class Counting:
    """A handler that counts its runs, and fails until it has run `bad` times; an attempt observer."""

    def __init__(self, bad: int = 1 << 30, code: Code = Code.UNAVAILABLE) -> None:
        self.bad, self.code = bad, code
        self.runs = 0
        self.numbers: list[int] = []

    async def __call__(self, request: bytes, call: ServerCall) -> bytes:
        self.runs += 1
        if self.runs <= self.bad:
            raise StatusError(self.code, "on purpose")
        return request

    def attempt_began(self, attempt: CallAttempt) -> None:
        self.numbers.append(attempt.number)

    def attempt_ended(self, attempt: CallAttempt) -> None:
        pass


class Probed(Counting):
    """Fails at first, and then is told of each run whether it goes well."""

    def __init__(self) -> None:
        super().__init__(bad=1)
        self.wells: asyncio.Queue[bool] = asyncio.Queue()

    async def __call__(self, request: bytes, call: ServerCall) -> bytes:
        answer = await super().__call__(request, call)
        if not await self.wells.get():
            raise StatusError(self.code, "on purpose")
        return answer


class Files(unittest.IsolatedAsyncioTestCase):
    observed = True  # attempts

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name, "policy.yaml")

    def write(self, text: str) -> Path:
        """Puts a file in the place of the one that is there."""
        new = self.path.with_suffix(".new")
        new.write_text(f"policy: 1\n{text}\n...\n")
        os.replace(new, self.path)
        return self.path

    def server(self, handler: Counting, text: str) -> TestServer:
        made = partial(Client, codec=RAW, policy_file=self.write(text), attempt_observer=handler)
        return TestServer(ECHO.handler(handler), client=made)

    async def fails(self, client: Client, code: Code = Code.UNAVAILABLE) -> StatusError:
        with self.assertRaises(StatusError) as caught:
            await client.call(ECHO, b"x")
        self.assertEqual(caught.exception.code, code)
        return caught.exception

    async def test_idempotent_calls_are_retried_and_others_are_not(self) -> None:
        for idempotent, runs, took in (("true", 4, 0.7), ("false", 1, 0)):
            with self.subTest(idempotent=idempotent):
                handler = Counting()
                async with Clock() as clock, self.server(handler, RETRYING % idempotent) as server:
                    call = asyncio.create_task(self.fails(server.client))
                    await clock.advance(took)
                    self.assertTrue(call.done())
                    self.assertIs((await call).delivery, Delivery.EXECUTED)
                self.assertEqual(handler.runs, runs)
                self.assertEqual(handler.numbers, [*range(1, runs + 1)] if self.observed else [])

    async def test_a_retried_call_succeeds(self) -> None:
        handler = Counting(bad=2)
        async with Clock() as clock, self.server(handler, RETRYING % "true") as server:
            call = asyncio.create_task(server.client.call(ECHO, b"x"))
            await clock.advance(1)
            self.assertEqual((await call, handler.runs), (b"x", 3))

    async def test_retries_stay_within_the_one_budget(self) -> None:
        handler = Counting()
        text = "budget:\n  percent: 20\n  least: 0" + (RETRYING % "true").replace("100ms", "1us")
        async with self.server(handler, text) as server:
            for _ in range(100):
                await self.fails(server.client)
        self.assertTrue(110 <= handler.runs <= 120, handler.runs)

    async def test_a_breaker_opens_and_closes(self) -> None:
        handler = Counting(bad=3)
        async with Clock() as clock, self.server(handler, "defaults:\n  breaker:\n    consecutive: 3") as server:
            for _ in range(3):
                await self.fails(server.client)
            for _ in range(5):
                error = await self.fails(server.client)
                self.assertEqual(str(error), f"UNAVAILABLE: breaker of {ECHO.name} is open (not sent)")
            self.assertEqual(handler.runs, 3)
            await clock.advance(6)
            for _ in range(3):
                self.assertEqual(await server.client.call(ECHO, b"x"), b"x")

    async def test_a_breaker_closes_after_all_its_probes(self) -> None:
        """One that is half open lets as many calls pass as it has probes."""
        handler = Probed()
        text = "defaults:\n  breaker:\n    consecutive: 1\n    open: 5s\n    probes: 3"
        async with Clock() as clock, self.server(handler, text) as server:
            await self.fails(server.client)
            for last in (False, True):
                await clock.advance(6)
                before, calls = handler.runs, list[asyncio.Task[bytes]]()
                for _ in range(5):
                    calls.append(asyncio.create_task(server.client.call(ECHO, b"x")))
                    await clock.settle()
                self.assertEqual(handler.runs - before, 3)
                for refused in calls[3:]:
                    with self.assertRaisesRegex(StatusError, f"breaker of {ECHO.name} is open"):
                        await refused
                for well in (True, True):
                    handler.wells.put_nowait(well)
                self.assertEqual(await asyncio.gather(*calls[:2]), [b"x", b"x"])
                error = await self.fails(server.client)  # two of three are not enough
                self.assertIs(error.delivery, Delivery.NOT_SENT)
                handler.wells.put_nowait(last)
                await asyncio.wait(calls[2:3])
                if not last:
                    error = await self.fails(server.client)
                    self.assertIs(error.delivery, Delivery.NOT_SENT)
            for _ in range(9):
                handler.wells.put_nowait(True)
                self.assertEqual(await server.client.call(ECHO, b"x"), b"x")

    async def test_calls_that_a_breaker_or_a_limit_stops_leave_the_loop_its_turns(self) -> None:
        """Else a program that calls again at once would hold up all others."""
        for text, first in (
            ("defaults:\n  breaker:\n    consecutive: 1", Code.UNAVAILABLE),
            ("defaults:\n  rate:\n    per_second: 1\n    burst: 1", Code.OK),
        ):
            with self.subTest(text):
                handler = Counting(bad=9 if first else 0)
                async with Clock(), self.server(handler, text) as server:
                    if first:
                        await self.fails(server.client)
                    else:
                        await server.client.call(ECHO, b"x")
                    turns = 0

                    async def others() -> None:
                        nonlocal turns
                        while True:
                            turns += 1
                            await asyncio.sleep(0)

                    task = asyncio.create_task(others())
                    for number in range(1, 11):
                        await self.fails(server.client, first or Code.RESOURCE_EXHAUSTED)
                        self.assertGreaterEqual(turns, number)
                    self.assertEqual(handler.runs, 1)
                    task.cancel()

    async def test_limits_of_a_client(self) -> None:
        entered = asyncio.Semaphore(0)

        class Slow(Counting):
            async def __call__(self, request: bytes, call: ServerCall) -> bytes:
                entered.release()
                await asyncio.sleep(1)
                return request

        text = "defaults:\n  rate:\n    per_second: 1\n    burst: 4\n  concurrency:\n    limit: 2"
        async with Clock() as clock, self.server(Slow(), text) as server:
            calls = [asyncio.create_task(server.client.call(ECHO, b"x")) for _ in range(2)]
            for _ in calls:
                await entered.acquire()
            for told in ("concurrency", "concurrency", "rate", "rate"):
                error = await self.fails(server.client, Code.RESOURCE_EXHAUSTED)
                self.assertEqual(error.message, f"{told} of defaults is used up")
                self.assertIs(error.delivery, Delivery.NOT_SENT)
            await clock.advance(1)
            self.assertEqual([await one for one in calls], [b"x", b"x"])
            await clock.advance(2)
            again = [asyncio.create_task(server.client.call(ECHO, b"x")) for _ in range(2)]
            await clock.advance(1)
            self.assertEqual([await one for one in again], [b"x", b"x"])

    async def test_faults_for_drills(self) -> None:
        handler = Counting(bad=0)
        text = "defaults:\n  faults:\n    late:\n      per_million: 1000000\n      delay: 2s\n      code: ABORTED"
        async with Clock() as clock, self.server(handler, text) as server:
            call = asyncio.create_task(self.fails(server.client, Code.ABORTED))
            await clock.advance(1)
            self.assertFalse(call.done())
            await clock.advance(1)
            self.assertEqual((await call).message, "fault late of the policy")
            self.assertEqual(handler.runs, 0)

    async def test_the_file_is_exchanged_while_the_client_is_there(self) -> None:
        handler = Counting()
        good = (RETRYING % "true").replace("100ms", "1us")
        with self.assertLogs("trunkcall", "INFO") as logs:
            async with Clock() as clock, self.server(handler, good) as server:

                async def attempts() -> int:
                    before = handler.runs
                    call = asyncio.create_task(self.fails(server.client))
                    await clock.advance(0.01)
                    await call
                    return handler.runs - before

                self.assertEqual(await attempts(), 4)
                self.write(good.replace("attempts: 4", "attempts: 2"))
                await clock.advance(3)
                self.assertEqual(await attempts(), 2)
                self.write("defaults:\n  timeout: soon\n  retrys: none")
                await clock.advance(5)
                self.assertEqual(await attempts(), 2)
                self.path.unlink()
                await clock.advance(5)
                self.assertEqual(await attempts(), 2)
                self.write("defaults:\n  retries: none")
                await clock.advance(5)
                self.assertEqual(await attempts(), 1)
        told = [one for one in logs.output if "policy file" in one]
        self.assertEqual(len(told), 4, told)
        for text in (
            str(self.path),
            "line 3: defaults.timeout: want a duration",
            "line 4: defaults.retrys: unknown field",
        ):
            self.assertIn(text, told[1])
        self.assertIn("No such file", told[2])

    async def test_a_file_that_changes_while_it_is_read_is_left_alone(self) -> None:
        handler, good = Counting(), (RETRYING % "true").replace("100ms", "1us")
        read = PolicyFile._data

        def reading(file: PolicyFile) -> bytes:
            data = read(file)
            if b"attempts: 2" in data:
                self.write("defaults:\n  retries: none")
            return data

        with self.assertLogs("trunkcall", "INFO") as logs, mock.patch.object(PolicyFile, "_data", reading):
            async with Clock() as clock, self.server(handler, good) as server:
                await server.client.connect()
                self.write(good.replace("attempts: 4", "attempts: 2"))
                while not any("policy file taken" in one for one in logs.output):
                    await clock.advance(1)
                await clock.advance(5)
                await self.fails(server.client)
        self.assertEqual(handler.runs, 1)
        self.assertEqual(len([one for one in logs.output if "policy file taken" in one]), 1)

    async def test_a_state_stays_where_its_rules_do(self) -> None:
        handler = Counting()
        breaker = "defaults:\n  breaker:\n    consecutive: 1\n    open: 1h"
        async with Clock() as clock, self.server(handler, breaker) as server:
            await self.fails(server.client)
            self.write(breaker + "\n  timeout: 1s")
            await clock.advance(3)
            self.assertIn("is open", (await self.fails(server.client)).message)
            self.write(breaker.replace("1h", "30m"))
            await clock.advance(3)
            self.assertIn("on purpose", (await self.fails(server.client)).message)

    async def test_a_state_stays_that_no_method_called_so_far_shares(self) -> None:
        class Slow(Counting):
            async def __call__(self, request: bytes, call: ServerCall) -> bytes:
                await asyncio.sleep(3600)
                return request

        limit = "defaults:\n  concurrency:\n    limit: 1"
        async with Clock() as clock, self.server(Slow(), limit) as server:
            call = asyncio.create_task(server.client.call(ECHO, b"x"))
            await clock.settle()
            self.write(limit + "\nservices:\n  test.Service:\n    methods:\n      Echo:\n        concurrency: none")
            await clock.advance(3)
            with self.assertRaisesRegex(StatusError, "concurrency of defaults is used up"):
                await server.client.call(OTHER, b"x")
            call.cancel()
            await asyncio.wait([call])
            with self.assertRaises(StatusError) as caught:
                await server.client.call(OTHER, b"x")
        self.assertIs(caught.exception.code, Code.UNIMPLEMENTED)

    async def test_the_timeout_holds_over_all_attempts(self) -> None:
        class Slow(Counting):
            async def __call__(self, request: bytes, call: ServerCall) -> bytes:
                if self.runs == 2:
                    self.runs += 1
                    await asyncio.sleep(3600)
                return await super().__call__(request, call)

        file = "defaults:\n  timeout: 1s\n  idempotent: true\n  retries:\n    backoff: 100ms\n    jitter: 0"
        handler = Slow()
        async with Clock() as clock, self.server(handler, file) as server:
            call = asyncio.create_task(self.fails(server.client, Code.DEADLINE_EXCEEDED))
            await clock.advance(0.9)
            self.assertFalse(call.done())
            await clock.advance(0.1)
            error = await call
        self.assertIs(error.delivery, Delivery.EXECUTED)  # the first attempts promise least
        self.assertIn(f"{ECHO.name} had 1s", error.message)
        self.assertEqual(handler.runs, 3)

    async def test_a_call_that_is_cancelled_gives_its_place_back(self) -> None:
        class Slow(Counting):
            async def __call__(self, request: bytes, call: ServerCall) -> bytes:
                self.runs += 1
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    self.bad += 1
                    raise
                return request

        handler = Slow(bad=0)
        async with Clock() as clock, self.server(handler, "defaults:\n  concurrency:\n    limit: 1") as server:
            for n in (1, 2, 3):
                call = asyncio.create_task(server.client.call(ECHO, b"x"))
                await clock.settle()
                call.cancel()
                await clock.settle()
                self.assertTrue(call.cancelled())
                self.assertEqual((handler.runs, handler.bad), (n, n))

    async def test_a_bad_file_fails_at_once(self) -> None:
        path = self.write("defaults:\n  timeout: soon")
        with self.assertRaisesRegex(ValueError, f"{path}: line 3: defaults.timeout: want a duration"):
            Client("mem:x", policy_file=path)
        with self.assertRaisesRegex(ValueError, "policy.none: No such file"):
            Client("mem:x", policy_file=path.with_suffix(".none"))
        with self.assertRaisesRegex(TypeError, "policy_file"):
            Client("mem:x", policy_file=7)  # type: ignore[arg-type]
        self.write("defaults:\n  timeout: 1s")
        for options in ({"timeout": 1.0}, {"repeat": False}):
            with self.assertRaisesRegex(ValueError, "contradict each other"):
                Client("mem:x", policy_file=path, **options)

    async def test_what_is_no_regular_file_is_refused_at_once(self) -> None:
        os.mkfifo(self.path)
        for path in (self.path, self.path.parent, Path("/dev/zero")):
            for made in (partial(Client, "mem:x"), Server):
                with self.assertRaisesRegex(ValueError, f"{path}: {NO_FILE}"):
                    made(policy_file=path)

    async def test_of_a_huge_file_little_is_read(self) -> None:
        with self.path.open("wb") as file:
            file.truncate(256 << 20)
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        with self.assertRaisesRegex(ValueError, "the file has more than 1048576 bytes"):
            Client("mem:x", policy_file=self.path)
        self.assertLess(tracemalloc.get_traced_memory()[1], 16 << 20)

    async def test_a_pipe_in_its_place_stops_neither_watching_nor_calls(self) -> None:
        handler = Counting(bad=0)
        with self.assertLogs("trunkcall", "INFO") as logs:
            async with Clock() as clock, self.server(handler, "defaults:\n  retries: none") as server:
                await server.client.call(ECHO, b"x")
                self.path.unlink()
                os.mkfifo(self.path)
                await clock.advance(5)
                await server.client.call(ECHO, b"x")
                self.write("defaults:\n  timeout: 1s")
                await clock.advance(5)
                await server.client.call(ECHO, b"x")
        told = [one for one in logs.output if "policy file" in one]
        self.assertEqual(len(told), 2, told)
        self.assertIn(NO_FILE, told[0])
        self.assertIn("policy file taken", told[1])

    async def test_calls_go_on_while_a_file_is_parsed(self) -> None:
        handler = Counting(bad=0)
        begun, goes_on = threading.Event(), threading.Event()

        def held(data: bytes) -> File:
            begun.set()
            self.assertTrue(goes_on.wait(60))
            return parse(data)

        async with self.server(handler, "defaults:\n  retries: none") as server:
            with mock.patch.object(policyfile, "parse", held):
                self.write("defaults:\n  timeout: 1s")
                try:
                    while not begun.is_set():
                        await server.client.call(ECHO, b"x")
                    await server.client.call(ECHO, b"x")
                finally:
                    goes_on.set()


class Quick(Files):
    """The same by the quick way of calls."""

    def setUp(self) -> None:
        super().setUp()
        unary = Calls.unary
        self.long = 0  # calls that went another way

        async def counted(*given: Any) -> Any:
            self.long += 1
            return await unary(*given)

        patched = mock.patch.object(Calls, "unary", counted)
        patched.start()
        self.addCleanup(patched.stop)
        self.addCleanup(lambda: self.assertEqual(self.long, 1 if "faults" in self.id() else 0))

    def server(self, handler: Counting, text: str) -> TestServer:
        observer = handler if self.observed else None
        made = partial(Client, codec=RAW, policy_file=self.write(text), attempt_observer=observer)
        return self.connected(ECHO.handler(handler), client=made)

    def connected(self, *handlers: Handler, client: Callable[[str], Client]) -> TestServer:
        return Connected(*handlers, client=client)


class Unobserved(Quick):
    """Of whose attempts nobody wants to know."""

    observed = False


class Several(Quick):
    """Over three endpoints, which take turns."""

    def connected(self, *handlers: Handler, client: Callable[[str], Client]) -> TestServer:
        return Three(*handlers, client=client)


class Connected(TestServer):
    """Its client has a connection: without one no call is quick."""

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        await self.client.connect()
        return self


class Three(Connected):
    """A server that its client takes for three."""

    async def _listen(self) -> str:
        more = [await self.server.listen(f"{self._address}-{number}") for number in (2, 3)]
        return ",".join([await super()._listen(), *more])


class Threads(unittest.TestCase):
    def test_a_blocking_client_has_the_same(self) -> None:
        handler = Counting(bad=2)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "policy.yaml")
            path.write_text("policy: 1" + (RETRYING % "true").replace("100ms", "1ms") + "...\n")
            made = partial(threads.Client, codec=RAW, policy_file=path, attempt_observer=handler)
            with blocking.TestServer(ECHO.handler(handler), client=made) as server:
                self.assertEqual(server.client.call(ECHO, b"x"), b"x")
        self.assertEqual((handler.runs, handler.numbers), (3, [1, 2, 3]))

    def test_a_blocking_client_hedges_and_gives_priorities(self) -> None:
        seen: list[tuple[int, Priority]] = []

        async def serve(request: bytes, call: ServerCall) -> bytes:
            seen.append((call.attempt, call.priority))
            if call.attempt == 1:
                await asyncio.sleep(3600)
            return request

        text = "policy: 1\ndefaults:\n  idempotent: true\n  priority: high\n  hedging:\n    delay: 1ms\n...\n"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "policy.yaml")
            path.write_text(text)
            made = partial(threads.Client, codec=RAW, policy_file=path)
            with blocking.TestServer(ECHO.handler(serve), client=made) as server:
                self.assertEqual(server.client.call(ECHO, b"x"), b"x")
        self.assertEqual(sorted(seen), [(1, Priority.HIGH), (2, Priority.HIGH)])
