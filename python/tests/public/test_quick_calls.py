"""The quick way of calls with features: what observers, limits and balancers are told of them, however they end."""

from __future__ import annotations

import asyncio
import tempfile
import time
import unittest
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from trunkcall import (
    CallAttempt,
    Client,
    Code,
    Delivery,
    Endpoint,
    Limits,
    Priority,
    ServerCall,
    State,
    StatusError,
    least_loaded,
    round_robin,
)
from trunkcall.balancer import Pick, even_turns
from trunkcall.calling import Calls
from trunkcall.endpoint import EndpointState

from .kit import ECHO, Case, Gate, eventually

POLICY = """policy: 1
defaults:
  timeout: 1000s
  idempotent: true
  retries:
    attempts: 2
  breaker:
    consecutive: 1
    open: 1h
  concurrency:
    limit: 1
...
"""


def all_ready(client: Client) -> bool:
    return all(one.state is State.READY for one in client.endpoints)


def use_up(call: ServerCall) -> None:
    """Keeps the loop, which would end the handler, until the call's time is over."""
    while call.time_remaining():
        time.sleep(0.01)


class Observing:
    def __init__(self, fails: bool = False) -> None:
        self.began: list[CallAttempt] = []
        self.ended: list[CallAttempt] = []
        self.fails = fails

    def attempt_began(self, attempt: CallAttempt) -> None:
        assert attempt.status is None
        self.began.append(attempt)
        if self.fails:
            raise ValueError("the observer")

    def attempt_ended(self, attempt: CallAttempt) -> None:
        self.ended.append(attempt)
        if self.fails:
            raise ValueError("the observer")

    def ends(self) -> list[tuple[Code, Delivery]]:
        return [(one.status.code, one.status.delivery) for one in self.ended if one.status]


class QuickCalls(Case):
    def setUp(self) -> None:
        unary = Calls.unary
        self.long = 0

        async def counted(*given: Any) -> Any:
            self.long += 1
            return await unary(*given)

        patched = mock.patch.object(Calls, "unary", counted)
        patched.start()
        self.addCleanup(patched.stop)

    def governed(self, target: str, policy: str, **options: Any) -> Client:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "policy.yaml")
            file.write_text(policy)
            return self.client(target, policy_file=file, **options)

    async def featured(self, *addresses: str, policy: str = POLICY, **options: Any) -> Client:
        """A client, connected to all, whose calls have gone no other way when the test is over."""
        client = self.governed(",".join(addresses), policy, **options)
        await client.connect()
        await eventually(partial(all_ready, client))
        self.addCleanup(lambda: self.assertEqual(self.long, 0))
        return client

    async def test_attempts_take_turns_and_their_observer_knows_all_of_them(self) -> None:
        addresses = [(await self.serve())[1] for _ in range(3)]
        observer = Observing()
        client = await self.featured(*addresses, attempt_observer=observer)
        for size in range(6):
            self.assertEqual(await client.call(ECHO, bytes(size)), bytes(size))
        self.assertEqual(observer.began, observer.ended)
        self.assertEqual([(one.sent, one.received) for one in observer.ended], [(size, size) for size in range(6)])
        peers = [one.peer for one in observer.ended]
        self.assertEqual((set(peers), peers[:3]), (set(addresses), peers[3:]))
        for one in observer.ended:
            self.assertEqual((one.method, one.number, one.endpoint), (ECHO, 1, Endpoint(one.peer)))
            self.assertGreater(one.duration, 0)
            self.assertGreaterEqual(one.queued, 0)
        self.assertEqual(observer.ends(), [(Code.OK, Delivery.EXECUTED)] * 6)
        self.assertTrue(all(one.latency for one in client.endpoints))

    async def test_without_a_file_too(self) -> None:
        addresses = [(await self.serve())[1] for _ in range(3)]
        for options in ({}, {"balancer": least_loaded()}, {"connections": 2}):
            with self.subTest(options):
                observer = Observing()
                client = self.client(",".join(addresses), attempt_observer=observer, timeout=60.0, **options)
                await client.connect()
                await eventually(partial(all_ready, client))
                for _ in range(6):
                    await client.call(ECHO, b"x")
                self.assertEqual(observer.ends(), [(Code.OK, Delivery.EXECUTED)] * 6)
                self.assertEqual(self.long, 0)

    async def test_an_observer_that_fails_harms_no_call(self) -> None:
        observer = Observing(fails=True)
        client = await self.featured((await self.serve())[1], attempt_observer=observer)
        with self.assertLogs("trunkcall", "ERROR") as logs:
            self.assertEqual(await client.call(ECHO, b"x"), b"x")
        self.assertEqual((len(logs.output), len(observer.ended)), (2, 1))

    async def test_a_call_that_is_cancelled_has_ended_and_gives_its_place_back(self) -> None:
        gate, observer = Gate(), Observing()
        client = await self.featured((await self.serve(ECHO.handler(gate)))[1], attempt_observer=observer)
        call = asyncio.create_task(client.call(ECHO, b"x"))
        await gate.begun.wait()
        call.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await call
        await gate.cancelled.wait()
        gate.open.set()
        self.assertEqual(await client.call(ECHO, b"y"), b"y")
        self.assertEqual(observer.ends(), [(Code.CANCELLED, Delivery.UNKNOWN), (Code.OK, Delivery.EXECUTED)])

    async def test_a_coroutine_that_is_closed_too(self) -> None:
        gate, observer = Gate(), Observing()
        client = await self.featured((await self.serve(ECHO.handler(gate)))[1], attempt_observer=observer)
        coroutine = client.call(ECHO, b"x")
        coroutine.send(None)
        await gate.begun.wait()
        coroutine.close()
        await gate.cancelled.wait()
        gate.open.set()
        self.assertEqual(await client.call(ECHO, b"y"), b"y")
        self.assertEqual(observer.ends(), [(Code.CANCELLED, Delivery.UNKNOWN), (Code.OK, Delivery.EXECUTED)])

    async def test_a_request_that_the_server_does_not_accept_gives_its_place_back(self) -> None:
        observer = Observing()
        _, address = await self.serve(limits=Limits(message_bytes=100))
        client = await self.featured(address, attempt_observer=observer)
        await self.fails(client.call(ECHO, bytes(101)), Code.RESOURCE_EXHAUSTED, Delivery.NOT_SENT)
        self.assertEqual(await client.call(ECHO, bytes(100)), bytes(100))
        self.assertEqual(observer.ends(), [(Code.OK, Delivery.EXECUTED)])

    async def test_a_lost_connection_ends_the_attempt_and_later_calls_go_to_the_others(self) -> None:
        gate, observer = Gate(), Observing()
        servers = [await self.serve(ECHO.handler(gate)) for _ in range(3)]
        policy = POLICY.replace("limit: 1", "limit: 9").replace("  breaker:\n    consecutive: 1\n    open: 1h\n", "")
        client = await self.featured(*(address for _, address in servers), policy=policy, attempt_observer=observer)
        call = asyncio.create_task(client.call(ECHO, b"x"))
        await gate.begun.wait()
        (lost,) = [server for server, address in servers if address == observer.began[0].peer]
        await lost.close()
        gate.open.set()
        self.assertEqual(await call, b"x")
        first, second = observer.ended
        self.assertEqual((first.number, second.number), (1, 2))
        self.assertNotEqual(first.peer, second.peer)
        self.assertEqual(observer.ends()[1], (Code.OK, Delivery.EXECUTED))
        for _ in range(4):
            await client.call(ECHO, b"x")
        self.assertEqual({one.peer for one in observer.ended[1:]}, {address for _, address in servers} - {first.peer})

    async def test_what_was_closed_for_being_idle_is_opened_again(self) -> None:
        addresses = [(await self.serve())[1] for _ in range(3)]
        client = self.client(",".join(addresses), idle_timeout=1)
        await client.connect()
        await eventually(lambda: not client._live)
        self.assertEqual(await client.call(ECHO, b"x"), b"x")
        await eventually(lambda: len(client._live) == 3)

    async def test_in_a_handler_too_with_the_time_that_is_left_there(self) -> None:
        left: list[float | None] = []

        async def last(request: bytes, call: ServerCall) -> bytes:
            left.append(call.time_remaining())
            return request

        addresses = [(await self.serve(ECHO.handler(last)))[1] for _ in range(3)]
        for policy in (POLICY, POLICY.replace("  timeout: 1000s\n", "")):
            inner = await self.featured(*addresses, policy=policy)
            outer = await self.passing(inner)
            for timeout, most in ((None, 1000.0), (500.0, 500.0), (2000.0, 1000.0)):
                with self.subTest(policy=policy, timeout=timeout):
                    self.assertEqual(await outer.call(ECHO, b"x", timeout=timeout, metadata=[("a", "b")]), b"x")
                    found = left.pop()
                    if "timeout" not in policy:
                        most = timeout or 0.0
                    if not most:
                        self.assertIsNone(found)
                    else:
                        self.assertIsNotNone(found)
                        self.assertTrue(most / 2 < (found or 0.0) <= most, found)
        self.assertEqual(self.long, 6)  # those with metadata
        self.long = 0

    async def test_in_a_handler_whose_time_is_over(self) -> None:
        inner = await self.featured((await self.serve())[1], policy=POLICY.replace("consecutive: 1", "consecutive: 9"))
        told: list[StatusError] = []

        async def pass_on(request: bytes, call: ServerCall) -> bytes:
            use_up(call)
            try:
                return await inner.call(ECHO, request)
            except StatusError as error:
                told.append(error)
                raise

        outer = self.client((await self.serve(ECHO.handler(pass_on)))[1])
        await outer.connect()
        with self.assertRaises(StatusError):
            await outer.call(ECHO, b"x", timeout=2.0)
        await eventually(lambda: bool(told))
        self.assertEqual((told[0].code, told[0].delivery), (Code.DEADLINE_EXCEEDED, Delivery.NOT_SENT))
        self.assertEqual(await inner.call(ECHO, b"x"), b"x")

    async def test_a_priority_goes_on_the_long_way(self) -> None:
        """It is told in metadata, which the quick way does not send."""
        found: list[Priority] = []

        async def last(request: bytes, call: ServerCall) -> bytes:
            found.append(call.priority)
            return request

        inner = self.governed((await self.serve(ECHO.handler(last)))[1], POLICY)
        await inner.connect()
        outer = await self.passing(inner)
        for priority in ("high", "normal", "low"):
            await outer.call(ECHO, b"x", metadata=[("trunk-priority", priority)])
        self.assertEqual(found, [Priority.HIGH, Priority.NORMAL, Priority.LOW])
        self.assertEqual(self.long, 3 + 2)

    async def passing(self, inner: Client) -> Client:
        """A client of a server whose handler passes calls on by another."""

        async def pass_on(request: bytes, call: ServerCall) -> bytes:
            return await inner.call(ECHO, request)

        outer = self.client((await self.serve(ECHO.handler(pass_on)))[1])
        await outer.connect()
        return outer

    async def test_a_breaker_counts_failures_behind_successes(self) -> None:
        failing = False

        async def serve(request: bytes, call: ServerCall) -> bytes:
            if failing:
                raise ConnectionError
            return request

        policy = (
            "policy: 1\ndefaults:\n  breaker:\n    percent: 50\n    calls: 4\n    codes: [UNKNOWN]\n    open: 1h\n...\n"
        )
        client = await self.featured((await self.serve(ECHO.handler(serve)))[1], policy=policy)
        for _ in range(4):
            await client.call(ECHO, b"x")
        failing = True
        with self.assertLogs("trunkcall", "ERROR"):
            for _ in range(4):  # the last makes it half of eight
                await self.fails(client.call(ECHO, b"x"), Code.UNKNOWN)
        error = await self.fails(client.call(ECHO, b"x"), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertIn("is open", error.message)

    async def test_nothing_goes_quickly_when_the_client_is_closed(self) -> None:
        addresses = [(await self.serve())[1] for _ in range(3)]
        client = self.client(",".join(addresses))
        await client.connect()
        await client.call(ECHO, b"x")
        await client.close()
        await self.fails(client.call(ECHO, b"x"), Code.CANCELLED, Delivery.NOT_SENT)


class TurnsOfPickers(unittest.TestCase):
    def ready(self, *weights: int) -> list[EndpointState]:
        found = [EndpointState(Endpoint(f"{at}:1", weight=weight)) for at, weight in enumerate(weights)]
        for one in found:
            one._state = State.READY
        return found

    def test_they_are_what_the_picker_does(self) -> None:
        for weights in ((1, 1, 1), (0, 1), (7, 7, 7, 7)):
            for start in (0, 5, (1 << 64) - 2):
                picker, same = (round_robin(draw=partial(int, start)).balance(self.ready(*weights)) for _ in range(2))
                turns = even_turns(same)
                assert turns is not None
                among, counter = turns
                for _ in range(9):
                    found = picker.pick(Pick(ECHO))
                    assert found is not None
                    self.assertEqual(found.endpoint, among[counter.value % len(among)].endpoint)
                    counter.value = counter.value + 1 & 0xFFFFFFFF_FFFFFFFF

    def test_there_are_none_of_others(self) -> None:
        self.assertIsNone(even_turns(round_robin().balance(self.ready(1, 2))))
        self.assertIsNone(even_turns(least_loaded().balance(self.ready(1, 1))))
        self.assertIsNone(even_turns(round_robin().balance([])))
        coming = self.ready(1, 1)
        for one in coming:
            one._state = State.CONNECTING
        self.assertIsNone(even_turns(round_robin().balance(coming)))


if __name__ == "__main__":
    unittest.main()
