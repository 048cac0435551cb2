"""Priorities, limits of servers and clients by a policy file, and its exchange, on a clock of the test's own."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from tests.public.kit import ECHO, OTHER, TWICE
from tests.public.policykit import PolicyCase, Served, Told, fails, succeeds, takes
from trunkcall import (
    RAW,
    Admission,
    Arrival,
    Call,
    CallOptions,
    Client,
    Code,
    Codec,
    Delivery,
    Interceptor,
    Next,
    Priority,
    Server,
    ServerCall,
    StatusError,
    current_call,
)
from trunkcall.testing import Clock

WRONG = b"wrong"


class Strict:
    """A codec of raw bytes of which some do not decode."""

    name, number = "strict", 8

    def encoder(self, kind: type[Any]) -> Any:
        return bytes

    def decoder(self, kind: type[Any]) -> Any:
        def decode(data: bytes) -> bytes:
            if data == WRONG:
                raise ValueError("not that")
            return bytes(data)

        return decode


class Servers(PolicyCase):
    # Priorities and servers.

    async def test_a_priority_survives_the_hop(self) -> None:
        policy = self.write("services:\n  test.Service:\n    methods:\n      Echo:\n        priority: critical")
        nothing = self.write("", "nothing.yaml")
        inner = Served(succeeds)
        seen: list[Priority] = []
        async with Server() as back, Server() as front:
            back.register(OTHER.handler(inner))
            onward = Client(await back.listen(f"mem:{self.id()}/back"), codec=RAW, policy_file=nothing)

            async def serve(request: bytes, call: ServerCall) -> bytes:
                self.assertIs(current_call(), call)
                seen.append(call.priority)
                return (await onward.unary(OTHER, request)).message

            front.register(ECHO.handler(serve))
            where = await front.listen(f"mem:{self.id()}/front")
            made = Client(where, codec=RAW, policy_file=policy), Client(where, codec=RAW)
            async with onward, made[0] as client, made[1] as plain:
                await client.call(ECHO, b"x")
                await client.call(ECHO, b"x", priority=Priority.LOW)
                await plain.call(ECHO, b"x")  # without a file only an option says one
                await plain.call(ECHO, b"x", priority=Priority.HIGH)
        self.assertEqual(seen, [Priority.CRITICAL, Priority.LOW, Priority.NORMAL, Priority.HIGH])
        self.assertEqual(inner.priorities, seen)

    async def test_a_priority_replaces_one_in_metadata_that_is_passed_on(self) -> None:
        passed_on = [("trunk-priority", "high")]
        one = Served(succeeds)
        async with Server() as server:
            server.register(ECHO.handler(one))
            where = await server.listen(f"mem:{self.id()}")
            async with (
                Client(where, codec=RAW) as plain,
                Client(where, codec=RAW, policy_file=self.write("")) as client,
            ):
                await plain.unary(ECHO, b"x", CallOptions(metadata=passed_on))
                await plain.unary(ECHO, b"x", CallOptions(metadata=passed_on, priority=Priority.NORMAL))
                await client.unary(ECHO, b"x", CallOptions(metadata=passed_on))
        self.assertEqual(one.priorities, [Priority.HIGH, Priority.NORMAL, Priority.NORMAL])

    async def test_the_priority_of_a_stream_travels_too(self) -> None:
        path = self.write("defaults:\n  priority: high")
        seen: list[Priority] = []

        async def serve(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
            seen.append(call.priority)
            async for one in requests:
                yield one

        async with Server() as server:
            server.register(TWICE.handler(serve))
            where = await server.listen(f"mem:{self.id()}")
            async with Client(where, codec=RAW, policy_file=path) as client, Client(where, codec=RAW) as plain:
                for caller, priority in ((client, None), (client, Priority.LOW), (plain, Priority.CRITICAL)):
                    async with caller.open(TWICE, priority=priority) as stream:
                        await stream.half_close()
                        self.assertIsNone(await stream.receive())
        self.assertEqual(seen, [Priority.HIGH, Priority.LOW, Priority.CRITICAL])

    async def test_streams_that_interceptors_leave_open_end_with_their_call(self) -> None:
        async def serve(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
            async for one in requests:
                yield one

        async def again(call: Call, proceed: Next) -> Any:
            await proceed(call)
            return await proceed(call)

        async def fails(call: Call, proceed: Next) -> Any:
            await proceed(call)
            await proceed(call)
            raise StatusError(Code.ABORTED, "on purpose")

        class Wrapped:
            def __init__(self, first: Any, last: Any) -> None:
                self.first, self.last = first, last

            async def send(self, message: Any) -> bool:
                return bool(await self.first.send(message)) and bool(await self.last.send(message))

            async def receive(self) -> Any:
                return [await self.first.receive(), await self.last.receive()]

        async def wraps(call: Call, proceed: Next) -> Any:
            return Wrapped(await proceed(call), await proceed(call))

        path = self.write("defaults:\n  concurrency:\n    limit: 2")
        async with Server() as server:
            server.register(TWICE.handler(serve))
            where = await server.listen(f"mem:{self.id()}")
            for one in (again, fails, wraps):
                async with Client(where, codec=RAW, policy_file=path, interceptors=[one]) as client:
                    for _ in range(3):  # of which each has two places
                        async with client.stream(TWICE) as stream:
                            if one is fails:
                                with self.assertRaisesRegex(StatusError, "on purpose"):
                                    await stream.receive()
                                continue
                            await stream.send(b"x")
                            self.assertEqual(await stream.receive(), [b"x", b"x"] if one is wraps else b"x")

    async def test_limits_of_a_server_go_by_priority(self) -> None:
        path = self.write("defaults:\n  server_concurrency:\n    limit: 4\n  server_rate:\n    per_second: 1000")
        one = Served(takes(1))
        async with Clock() as clock, Server(policy_file=path) as server:
            server.register(ECHO.handler(one))
            async with Client(await server.listen(f"mem:{self.id()}"), codec=RAW, repeat=False) as client:
                for _ in range(2):
                    calls: list[asyncio.Task[Any]] = []
                    for priority in (Priority.LOW, Priority.NORMAL):
                        for _ in range(3):
                            calls.append(asyncio.create_task(client.unary(ECHO, b"x", CallOptions(priority=priority))))
                            await clock.settle()
                    await clock.advance(1)
                    ends = await asyncio.gather(*calls, return_exceptions=True)
                    self.assertEqual([isinstance(end, StatusError) for end in ends], [False, False, True] * 2)
                    for end in (ends[2], ends[5]):
                        assert isinstance(end, StatusError)
                        self.assertEqual(end.message, "concurrency of defaults of the server is used up")
                        self.assertEqual((end.delivery, end.status.retry_after), (Delivery.REFUSED, 0.001))
        self.assertEqual(Counter(one.priorities), {Priority.LOW: 4, Priority.NORMAL: 4})

    async def test_a_rate_of_a_server_says_when_to_come_back(self) -> None:
        path = self.write("defaults:\n  server_rate:\n    per_second: 2\n    burst: 1")
        one = Served(succeeds)
        async with Clock() as clock, Server(policy_file=path) as server:
            server.register(ECHO.handler(one))
            async with Client(await server.listen(f"mem:{self.id()}"), codec=RAW, repeat=False) as client:
                await client.call(ECHO, b"x")
                with self.assertRaises(StatusError) as caught:
                    await client.call(ECHO, b"x")
                self.assertEqual(caught.exception.message, "rate of defaults of the server is used up")
                self.assertEqual(caught.exception.status.retry_after, 0.5)
                await clock.advance(0.5)
                await client.call(ECHO, b"x")
        self.assertEqual(one.runs, 2)

    async def test_what_admission_refuses_leaves_its_place(self) -> None:
        asked = 0

        def admit(arrival: Arrival) -> Admission:
            nonlocal asked
            asked += 1
            if asked < 3:
                raise StatusError(Code.PERMISSION_DENIED, "not you")
            return Admission()

        path = self.write("defaults:\n  server_concurrency:\n    limit: 1")
        async with Server(policy_file=path, admission=admit) as server:
            server.register(ECHO.handler(Served(succeeds)))
            async with Client(await server.listen(f"mem:{self.id()}"), codec=RAW) as client:
                codes = [await self.code(client) for _ in range(4)]
        self.assertEqual(codes, [Code.PERMISSION_DENIED] * 2 + [Code.OK] * 2)

    async def test_an_adaptive_limit_of_a_server_falls_by_overload_alone(self) -> None:
        path = self.write(
            "defaults:\n  server_concurrency:\n    adaptive:\n      start: 8\n      samples: 2\n      window: 1ms"
        )
        refuses = False

        def admit(arrival: Arrival) -> Admission:
            if refuses:
                raise StatusError(Code.UNAVAILABLE, "not now")
            return Admission()

        for refuses, ran in ((False, 1), (True, 8)):  # what admission refuses says nothing of the server's load
            one = Served(fails(Code.UNAVAILABLE))
            async with Clock() as clock, Server(policy_file=path, admission=admit) as server:
                server.register(ECHO.handler(one))
                async with Client(await server.listen(f"mem:{self.id()}"), codec=RAW, repeat=False) as client:
                    for _ in range(80):
                        await self.code(client)
                        await clock.advance(0.001)
                    one.answer, refuses = takes(1), False
                    calls = [asyncio.create_task(self.code(client)) for _ in range(9)]
                    await clock.advance(1)
                    ends = Counter([await call for call in calls])
            self.assertEqual(ends, {Code.OK: ran, Code.RESOURCE_EXHAUSTED: 9 - ran})

    async def test_an_adaptive_limit_follows_the_handlers(self) -> None:
        """By the numbers of policy.md 13: while calls take a hundred times as long as without a queue, a limit that
        begins at 8 falls to 4, since 4 x 0.5 + 2 is 4."""
        adaptive = (
            "concurrency:\n    adaptive:\n      start: 8\n      samples: 4\n      window: 1ms\n      remeasure: 1h"
        )
        nothing = self.write("", "nothing.yaml")
        for side, delivery in (("", Delivery.NOT_SENT), ("server_", Delivery.REFUSED)):
            path = self.write(f"defaults:\n  {side}{adaptive}", "adaptive.yaml")
            files = (nothing, path) if side else (path, nothing)
            one = Served(succeeds)
            async with Clock() as clock, Server(policy_file=files[1]) as server:
                server.register(ECHO.handler(one))
                where = await server.listen(f"mem:{self.id()}/{side}")
                async with Client(where, codec=RAW, policy_file=files[0]) as client:

                    async def at_once(number: int, seconds: float, one: Served = one) -> int:
                        """How many of so many calls succeed; the others have been refused by the limit."""
                        one.answer = takes(seconds)
                        before = one.runs
                        calls = [asyncio.create_task(client.unary(ECHO, b"x")) for _ in range(number)]
                        await clock.settle()
                        ran = one.runs - before
                        await clock.advance(seconds)
                        ends = await asyncio.gather(*calls, return_exceptions=True)
                        failed = [end for end in ends if isinstance(end, BaseException)]
                        self.assertEqual(number - len(failed), ran)
                        for end in failed:
                            assert isinstance(end, StatusError), end
                            self.assertIs(end.code, Code.RESOURCE_EXHAUSTED)
                            at = " of the server" if side else ""  # noqa: B023
                            self.assertEqual(end.message, f"concurrency of defaults{at} is used up")
                            self.assertIs(end.delivery, delivery)  # noqa: B023
                        return ran

                    await client.connect()
                    for _ in range(4):
                        self.assertEqual(await at_once(4, 0.01), 4)
                    self.assertEqual(await at_once(8, 0.01), 8)
                    for _ in range(100):
                        self.assertEqual(await at_once(4, 1), 4)
                    self.assertEqual(await at_once(9, 1), 4)
                    for _ in range(30):
                        self.assertEqual(await at_once(4, 0.01), 4)
                    self.assertEqual(await at_once(8, 0.01), 8)

    async def test_an_adaptive_limit_does_not_count_calls_whose_handler_did_not_begin(self) -> None:
        path = self.write(
            "defaults:\n  server_concurrency:\n    adaptive:\n      start: 8\n      samples: 2\n      window: 1ms"
        )

        async def reject(call: Call, following: Next) -> Any:
            if call.request == WRONG:
                raise StatusError(Code.INVALID_ARGUMENT, "not so")
            return await following(call)

        cases: tuple[tuple[tuple[Interceptor, ...], Codec], ...] = (((), Strict()), ((reject,), RAW))
        for interceptors, codec in cases:
            async with (
                Clock() as clock,
                Server(policy_file=path, interceptors=interceptors, codecs=[codec]) as server,
            ):
                server.register(ECHO.handler(Served(takes(0.01))))
                async with Client(await server.listen(f"mem:{self.id()}"), codec=codec, repeat=False) as client:
                    for _ in range(80):
                        with self.assertRaises(StatusError) as caught:
                            await client.unary(ECHO, WRONG)
                        self.assertEqual(caught.exception.delivery, Delivery.REFUSED)
                        await clock.advance(0.001)
                    for _ in range(40):
                        call = asyncio.create_task(self.code(client))
                        await clock.advance(0.01)
                        self.assertEqual(await call, Code.OK)
                    calls = [asyncio.create_task(self.code(client)) for _ in range(9)]
                    await clock.advance(1)
                    ends = Counter([await call for call in calls])
            self.assertEqual(ends, {Code.OK: 8, Code.RESOURCE_EXHAUSTED: 1})

    async def test_an_adaptive_limit_does_not_take_open_streams_for_slow_calls(self) -> None:
        adaptive = "adaptive:\n      start: 8\n      samples: 2\n      window: 1ms"

        async def serve(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
            async for one in requests:
                yield one

        for side in ("concurrency", "server_concurrency"):
            path = self.write(f"defaults:\n  {side}:\n    {adaptive}")
            files: dict[str, Any] = {"policy_file": path}
            async with Clock() as clock, Server(**(files if side == "server_concurrency" else {})) as server:
                server.register(ECHO.handler(Served(takes(0.01))), TWICE.handler(serve))
                where = await server.listen(f"mem:{self.id()}")
                given = files if side == "concurrency" else {"repeat": False}
                async with Client(where, codec=RAW, **given) as client:
                    for _ in range(40):
                        call = asyncio.create_task(self.code(client))
                        await clock.advance(0.01)
                        self.assertEqual(await call, Code.OK)
                    for _ in range(40):
                        async with client.open(TWICE) as stream:
                            await stream.send(b"x")
                            self.assertEqual(await stream.receive(), b"x")
                            await clock.advance(1)
                            await stream.half_close()
                            self.assertIsNone(await stream.receive())
                    calls = [asyncio.create_task(self.code(client)) for _ in range(9)]
                    await clock.advance(1)
                    ends = Counter([await call for call in calls])
            self.assertEqual(ends, {Code.OK: 8, Code.RESOURCE_EXHAUSTED: 1}, side)

    async def test_a_stream_gives_its_place_back_at_its_end(self) -> None:
        path = self.write("defaults:\n  concurrency:\n    limit: 1")
        begun = asyncio.Event()

        async def serve(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
            begun.set()
            async for one in requests:
                yield one

        async with Server() as server:
            server.register(TWICE.handler(serve), ECHO.handler(Served(succeeds)))
            async with Client(await server.listen(f"mem:{self.id()}"), codec=RAW, policy_file=path) as client:
                for _ in range(3):
                    async with client.open(TWICE) as stream:
                        await begun.wait()
                        begun.clear()
                        self.assertIs(await self.code(client), Code.RESOURCE_EXHAUSTED)
                        await stream.half_close()
                        self.assertIsNone(await stream.receive())
                    self.assertIs(await self.code(client), Code.OK)

    async def test_a_stream_that_the_breaker_refuses_gives_its_place_back(self) -> None:
        text = "defaults:\n  concurrency:\n    limit: 1\n  breaker:\n    consecutive: 1\n    codes: [UNIMPLEMENTED]"
        async with self.several(text, Served(succeeds)) as client:
            told: list[str] = []
            for _ in range(3):  # of which the server knows nothing
                async with client.open(TWICE) as stream:
                    told.append((await stream.status()).message)
            self.assertEqual(told[1:], [f"breaker of {TWICE.name} is open"] * 2)
            self.assertIs(await self.code(client), Code.OK)

    # The file.

    async def test_the_budget_stays_where_its_rules_do(self) -> None:
        file = "budget:\n  percent: 0\n  least: 1\ndefaults:\n  idempotent: true\n  retries:\n    backoff: 1us"
        one = Served(fails(Code.UNAVAILABLE))
        async with Clock() as clock, self.several(file, one) as client:

            async def repetitions() -> int:
                before = one.runs
                for _ in range(10):
                    call = asyncio.create_task(self.code(client))
                    await clock.advance(0.01)
                    await call
                return one.runs - before - 10

            self.assertEqual(await repetitions(), 10)
            self.write(file + "\n  timeout: 1s")
            await clock.advance(3)
            self.assertEqual(await repetitions(), 0)  # ten seconds have not passed
            self.write(file.replace("least: 1", "least: 2"))
            await clock.advance(3)
            self.assertEqual(await repetitions(), 20)

    async def test_an_observer_is_told_of_files_taken_and_refused(self) -> None:
        limit = "defaults:\n  server_concurrency:\n    limit: %s"
        path = self.write(limit % 1)
        of_server, of_client = Told(), Told()
        async with Clock() as clock, Server(policy_file=path, observer=of_server) as server:
            one = Served(takes(1))
            server.register(ECHO.handler(one))
            where = await server.listen(f"mem:{self.id()}")
            async with Client(where, codec=RAW, policy_file=path, observer=of_client) as client:

                async def ran() -> int:
                    before = one.runs
                    calls = [asyncio.create_task(self.code(client)) for _ in range(5)]
                    await clock.advance(1)
                    await asyncio.gather(*calls)
                    return one.runs - before

                self.assertEqual(await ran(), 1)
                self.write(limit % "many")
                await clock.advance(5)
                self.assertEqual(await ran(), 1)
                self.write(limit % 3)
                await clock.advance(5)
                self.assertEqual(await ran(), 3)
        for told in (of_server, of_client):
            why = 'line 4: defaults.server_concurrency.limit: want a whole number from 1 to 1000000, found "many"'
            self.assertEqual(told.files, [("refused", str(path), why), ("taken", str(path))])

    async def test_a_bad_file_fails_a_server_at_once(self) -> None:
        path = self.write("defaults:\n  timeout: soon")
        with self.assertRaisesRegex(ValueError, "line 3: defaults.timeout: want a duration"):
            Server(policy_file=path)
