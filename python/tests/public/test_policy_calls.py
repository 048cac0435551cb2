"""Where calls go by a policy file, and how they are hedged, on a clock of the test's own."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from tests.public.kit import ECHO, TWICE
from tests.public.policykit import Answer, PolicyCase, Served, Told, fails, succeeds, takes
from trunkcall import (
    RAW,
    Admission,
    Arrival,
    CallOptions,
    Client,
    Code,
    Delivery,
    Pick,
    Server,
    StatusError,
    unary,
)
from trunkcall.testing import Clock


class Calls(PolicyCase):
    # Hedging.

    async def test_a_slow_call_is_hedged_elsewhere(self) -> None:
        text = "defaults:\n  idempotent: true\n  hedging:\n    delay: 100ms"
        slow, quick, told = Served(takes(3600)), Served(succeeds), Told()
        async with Clock() as clock, self.several(text, slow, quick, attempt_observer=told) as client:
            for _ in range(4):  # each of which may go to either first
                before, began = slow.runs, clock.elapsed
                call = asyncio.create_task(client.unary(ECHO, b"x"))
                await clock.advance(0.2)
                self.assertTrue(call.done())
                self.assertEqual((await call).message, b"x")
                self.assertLessEqual(slow.runs - before, 1)
                self.assertGreater(clock.elapsed, began)
            self.assertGreater(slow.runs, 0)
            self.assertEqual((quick.runs, slow.cancelled), (4, slow.runs))
        self.assertEqual([one.number for one in told.attempts].count(2), slow.runs)
        ends = Counter(one.status.code for one in told.attempts if one.status is not None)
        self.assertEqual(ends, {Code.OK: 4, Code.CANCELLED: slow.runs})

    async def test_no_hedge_goes_where_an_attempt_went_while_there_is_another(self) -> None:
        text = "defaults:\n  idempotent: true\n  hedging:\n    delay: 10ms\n    attempts: 4\n  zones: {}"
        for balancer in ("round_robin", "least_loaded"):
            served = [Served(takes(3600)) for _ in range(4)]
            told = Told()
            chosen = f"{text}\n  balancer:\n    name: {balancer}"
            async with (
                Clock() as clock,
                self.several(chosen, *served, attempt_observer=told, zone="here") as client,
            ):
                for _ in range(5):
                    call = asyncio.create_task(self.code(client, CallOptions(timeout=1)))
                    await clock.advance(2)
                    self.assertIs(await call, Code.DEADLINE_EXCEEDED)
            self.assertEqual([one.runs for one in served], [5, 5, 5, 5], balancer)
            zones = [one.endpoint.zone for one in told.attempts if one.endpoint is not None]
            self.assertEqual(zones, ["here", "here", "there", "there"] * 5)

    async def test_hedges_stop_and_stay_within_budget_and_time(self) -> None:
        hedging = "defaults:\n  timeout: 1s\n  idempotent: true\n  hedging:\n    delay: 100ms\n    attempts: 3"
        cases: tuple[tuple[str, str, Answer, Code, float, int], ...] = (
            ("stopped by an answer", "", fails(Code.NOT_FOUND), Code.NOT_FOUND, 0, 1),
            ("all failed", "", fails(Code.UNAVAILABLE), Code.UNAVAILABLE, 0, 3),
            ("the time is over", "", takes(3600), Code.DEADLINE_EXCEEDED, 1, 3),
            ("no budget", "budget:\n  percent: 0\n  least: 0\n", takes(3600), Code.DEADLINE_EXCEEDED, 1, 1),
        )
        for name, budget, answer, code, seconds, runs in cases:
            with self.subTest(name):
                one = Served(answer)
                async with Clock() as clock, self.several(budget + hedging, one) as client:
                    call = asyncio.create_task(self.code(client))
                    await clock.settle()
                    self.assertEqual(call.done(), not seconds)
                    await clock.advance(seconds)
                    self.assertIs(await call, code)
                self.assertEqual(one.runs, runs)

    async def test_the_delivery_of_a_hedged_call_is_the_one_that_promises_least(self) -> None:
        async def answer(run: int) -> None:
            raise StatusError(Code.ABORTED, "on purpose")

        admitted = 0

        def admit(arrival: Arrival) -> Admission:
            nonlocal admitted
            admitted += 1
            if admitted == 2:
                raise StatusError(Code.PERMISSION_DENIED, "not you")
            return Admission()

        path = self.write("defaults:\n  idempotent: true\n  hedging:\n    delay: 1s")
        async with Server(admission=admit) as server:
            server.register(ECHO.handler(Served(answer)))
            async with Client(await server.listen(f"mem:{self.id()}"), codec=RAW, policy_file=path) as client:
                with self.assertRaises(StatusError) as caught:
                    await client.call(ECHO, b"x")
        self.assertEqual(caught.exception.code, Code.PERMISSION_DENIED)
        self.assertIs(caught.exception.delivery, Delivery.EXECUTED)

    async def test_a_breaker_that_refuses_a_hedge_ends_the_call_as_its_attempt_did(self) -> None:
        async def answer(run: int) -> None:
            raise StatusError(Code.UNAVAILABLE, "on purpose")

        text = "defaults:\n  idempotent: true\n  hedging:\n    delay: 1s\n  breaker:\n    consecutive: 1"
        served = Served(answer)
        async with self.several(text, served) as client:
            for want, delivery in (
                ("on purpose", Delivery.EXECUTED),
                (f"breaker of {ECHO.name} is open", Delivery.NOT_SENT),
            ):
                with self.assertRaises(StatusError) as caught:
                    await client.call(ECHO, b"x")
                self.assertEqual(caught.exception.message, want)
                self.assertIs(caught.exception.delivery, delivery)
        self.assertEqual(served.runs, 1)

    async def test_a_hedged_call_that_may_not_be_made_again_ends(self) -> None:
        def admit(arrival: Arrival) -> Admission:
            raise StatusError(Code.RESOURCE_EXHAUSTED, "busy", retry_after=0.02)

        hedging = "  idempotent: true\n  hedging:\n    delay: 1ms"
        for text in (
            f"budget:\n  percent: 0\n  least: 0\ndefaults:\n{hedging}",
            f"defaults:\n  timeout: 10ms\n{hedging}",  # which is over before the server takes calls
        ):
            served = Served(succeeds)
            async with Clock() as clock, Server(admission=admit) as server:
                server.register(ECHO.handler(served))
                where = await server.listen(f"mem:{self.id()}")
                async with Client(where, codec=RAW, policy_file=self.write(text)) as client:
                    call = asyncio.create_task(client.unary(ECHO, b"x"))
                    await clock.advance(1)
                    self.assertTrue(call.done())
                    with self.assertRaises(StatusError) as caught:
                        await call
            self.assertIs(caught.exception.code, Code.RESOURCE_EXHAUSTED)
            self.assertIs(caught.exception.delivery, Delivery.REFUSED)
            self.assertEqual(served.runs, 0)

    async def test_a_balancer_of_the_users_is_told_where_the_attempt_before_went(self) -> None:
        avoided: list[Any] = []

        class Own:
            def balance(self, endpoints: Any) -> Any:
                self.endpoints = endpoints
                return self

            def pick(self, call: Pick) -> Any:
                avoided.append(call.avoid)
                return self.endpoints[0]

        text = "defaults:\n  idempotent: true\n  hedging:\n    delay: 100ms"
        served = [Served(takes(1)), Served(succeeds)]
        async with Clock() as clock, self.several(text, *served, balancer=Own()) as client:
            call = asyncio.create_task(self.code(client))
            await clock.advance(1)
            self.assertIs(await call, Code.OK)
            self.assertEqual([one and one.endpoint.id for one in avoided], [None, "0"])

    async def test_a_hedged_call_that_is_cancelled_ends_all_of_its_attempts(self) -> None:
        text = "defaults:\n  idempotent: true\n  hedging:\n    delay: 100ms\n  concurrency:\n    limit: 1"
        served = [Served(takes(3600)), Served(takes(3600))]
        async with Clock() as clock, self.several(text, *served) as client:
            for runs in (1, 2):  # the first has given its place back
                call = asyncio.create_task(client.unary(ECHO, b"x"))
                await clock.advance(1)
                call.cancel()
                await clock.settle()
                self.assertTrue(call.cancelled())
                self.assertEqual([(one.runs, one.cancelled) for one in served], [(runs, runs)] * 2)

    # Endpoints.

    async def test_endpoints_that_fail_are_left_out_up_to_the_cap(self) -> None:
        text = "defaults:\n  outliers:\n    consecutive: 2\n    eject: 30s\n    cap: 50"
        served = [Served(fails(Code.INTERNAL)), Served(fails(Code.INTERNAL)), Served(succeeds)]
        async with Clock() as clock, self.several(text, *served) as client:
            with self.assertLogs("trunkcall", "WARNING") as logs:
                codes = [await self.code(client) for _ in range(90)]
            bad, worse = sorted(one.runs for one in served[:2])
            self.assertEqual(bad, 2)  # one of three is half of them at most
            self.assertTrue(40 <= worse <= 48, worse)
            self.assertEqual(codes.count(Code.INTERNAL), bad + worse)
            self.assertIn("endpoint ejected", logs.output[0])
            await clock.advance(37)  # it is back
            before = min(served[:2], key=lambda one: one.runs)
            for _ in range(6):
                await self.code(client)
            self.assertGreater(before.runs, 2)

    async def test_gauges_say_by_which_scopes_an_endpoint_is_left_out(self) -> None:
        rules = "outliers:\n{0}  consecutive: 1\n{0}  eject: {1}\n{0}  cap: 50\n"
        at, scope = " " * 8, 'services."test.Service".methods.Echo'
        text = f"services:\n  test.Service:\n    methods:\n      Echo:\n{at}{rules.format(at, '1h')}"
        text += f"defaults:\n  {rules.format('  ', '30s')}    codes: [UNIMPLEMENTED]"
        served = [Served(fails(Code.INTERNAL)), Served(succeeds)]
        async with Clock() as clock, self.several(text, *served) as client:
            self.assertEqual([one.ejected for one in client.endpoints], [(), ()])
            await self.code(client)
            await self.code(client)
            self.assertEqual([one.ejected for one in client.endpoints], [(scope,), ()])
            other = unary("/test.Service/Other", bytes, bytes)
            for _ in range(9):  # which no server has; of two endpoints one may be left out
                with self.assertRaises(StatusError):
                    await client.unary(other, b"x")
                if client.endpoints[0].ejected == ("defaults", scope):
                    break
                await clock.advance(37)
            self.assertEqual([one.ejected for one in client.endpoints], [("defaults", scope), ()])
            await clock.advance(37)
            self.assertEqual([one.ejected for one in client.endpoints], [(scope,), ()])

    async def test_zones_are_preferred_and_overflow(self) -> None:
        served = [Served(takes(1)) for _ in range(3)]  # the first and the last are here
        async with (
            Clock() as clock,
            self.several("defaults:\n  zones:\n    overflow_calls: 3", *served, zone="here") as client,
        ):
            calls = []
            for _ in range(10):
                calls.append(asyncio.create_task(self.code(client)))
                await clock.settle()
            await clock.advance(2)
            self.assertEqual([await one for one in calls], [Code.OK] * 10)
            self.assertEqual([one.runs for one in served], [3, 4, 3])

    async def test_a_zone_is_left_as_far_as_it_is_not_healthy(self) -> None:
        """Of two endpoints in the zone one is ejected."""
        for healthy, elsewhere in ((50, range(1)), (100, range(1, 200))):
            with self.subTest(healthy=healthy):
                text = f"outliers:\n    consecutive: 1\n    eject: 1h\n    cap: 50\n  zones:\n    healthy: {healthy}"
                served = [Served(succeeds), Served(succeeds), Served(fails(Code.UNAVAILABLE))]
                async with self.several(f"defaults:\n  {text}", *served, zone="here") as client:
                    while not served[2].runs:
                        await self.code(client)
                    before = served[1].runs
                    self.assertEqual({await self.code(client) for _ in range(200)}, {Code.OK})
                self.assertIn(served[1].runs - before, elsewhere)
                self.assertEqual(served[2].runs, 1)

    async def test_a_client_without_a_zone_goes_everywhere(self) -> None:
        served = [Served(succeeds) for _ in range(3)]
        async with self.several("defaults:\n  zones: {}", *served) as client:
            for _ in range(9):
                await self.code(client)
        self.assertEqual([one.runs for one in served], [3, 3, 3])

    async def test_a_balancer_of_the_file_goes_by_the_key(self) -> None:
        served = [Served(succeeds) for _ in range(3)]
        text = "services:\n  test.Service:\n    balancer:\n      name: hash\n      key: user"
        async with self.several(text, *served) as client:
            for _ in range(30):
                await self.code(client, CallOptions(metadata=[("user", "ada")]))
        self.assertEqual(sorted(one.runs for one in served), [0, 0, 30])

    async def test_a_balancer_of_the_file_chooses_for_streams(self) -> None:
        served = [Served(succeeds) for _ in range(3)]
        told = Told()
        text = "defaults:\n  balancer:\n    name: first"
        async with self.several(text, *served, attempt_observer=told) as client:
            for _ in range(6):
                async with client.open(TWICE) as stream:
                    await stream.status()
        self.assertEqual([one.endpoint and one.endpoint.id for one in told.attempts], ["0"] * 6)

    async def test_what_stands_before_our_balancers_only_is_refused_before_others(self) -> None:
        class Own:
            def balance(self, endpoints: Any) -> Any:
                return self

        path = self.write("defaults:\n  outliers:\n    consecutive: 1\n  zones: {}")
        with self.assertRaises(ValueError) as caught:
            Client("mem:x", policy_file=path, balancer=Own())
        for part in ("outliers", "zones"):
            self.assertIn(f"line 2: defaults: {part} before the balancer Own is not done", str(caught.exception))
        self.write("defaults:\n  outliers:\n    consecutive: 1\n  balancer:\n    name: first")
        Client("mem:x", policy_file=path, balancer=Own())
