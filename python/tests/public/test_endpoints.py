"""Clients with several endpoints: sets that change, endpoints that come, go, fail and come back."""

from __future__ import annotations

import asyncio
import gc
from typing import Any
from unittest import mock

import trunkcall
from trunkcall import (
    Code,
    Endpoint,
    Limits,
    Pick,
    ServerCall,
    State,
    StatusError,
)
from trunkcall.calling import Calls
from trunkcall.endpoints import ClientEndpoint

from .endpoints import Counting, EndpointsCase, Registry
from .kit import ECHO, PATIENCE, TWICE, Gate, black_hole, echo, eventually


class Spread(EndpointsCase):
    async def test_calls_are_spread_over_all_endpoints_in_turn(self) -> None:
        (_, a), (_, b), (_, c) = [await self.named(name) for name in (b"a", b"b", b"c")]
        client = self.client(f"{a},{b},{c}")
        await client.connect()
        await eventually(lambda: all(one.state is State.READY for one in client.endpoints))
        self.assertEqual(sorted(await self.answers(client)), [b"a"] * 4 + [b"b"] * 4 + [b"c"] * 4)

    async def test_weights_are_heeded(self) -> None:
        (_, a), (_, b) = await self.named(b"a"), await self.named(b"b")
        registry = Registry()
        registry.endpoints = [Endpoint(a, weight=3), Endpoint(b, weight=1)]
        client = self.resolved(registry)
        await client.connect()
        self.assertEqual(sorted(await self.answers(client)), [b"a"] * 9 + [b"b"] * 3)

    async def test_first_goes_to_the_first_and_to_the_next_when_it_fails(self) -> None:
        (first, a), (_, b) = await self.named(b"a"), await self.named(b"b")
        client = self.client(f"{a},{b}", balancer=trunkcall.first())
        self.assertEqual(set(await self.answers(client)), {b"a"})
        self.assertEqual([one.state for one in client.endpoints], [State.READY, State.IDLE])
        await first.close()
        self.assertEqual(set(await self.answers(client)), {b"b"})
        await self.serve(ECHO.handler(echo), where=a)
        async with asyncio.timeout(PATIENCE):
            while await client.call(ECHO, b"back") != b"back":  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def test_a_key_stays_with_its_endpoint(self) -> None:
        servers = [await self.named(name) for name in (b"a", b"b", b"c")]
        client = self.client(",".join(address for _, address in servers), balancer=trunkcall.hash_by("user"))
        found = set()
        for user in range(60):  # that all have one endpoint happens once in 3^59 runs: their ports differ
            answers = {await client.call(ECHO, b"", metadata=[("user", f"user-{user}")]) for _ in range(3)}
            self.assertEqual(len(answers), 1)
            found |= answers
        self.assertGreater(len(found), 1)

    async def test_least_loaded_avoids_an_endpoint_whose_calls_hang(self) -> None:
        gate = Gate()
        (_, a), (_, b) = await self.serve(ECHO.handler(gate)), await self.named(b"b")
        client = self.client(f"{a},{b}", balancer=trunkcall.least_loaded())
        await client.connect()
        await eventually(lambda: all(one.state is State.READY for one in client.endpoints))
        calls: list[asyncio.Task[bytes]] = []
        with mock.patch.object(ClientEndpoint, "latency", 0.001):  # what is measured depends on the machine
            for _ in range(50):
                calls.append(asyncio.create_task(client.call(ECHO, b"")))
                await eventually(lambda: sum(call.done() for call in calls) + gate.runs == len(calls))
        self.assertLessEqual(gate.runs, 1)
        gate.open.set()
        await asyncio.gather(*calls)

    async def test_an_unavailable_call_is_made_again_elsewhere(self) -> None:
        async def refuse(request: bytes, call: ServerCall) -> bytes:
            raise AssertionError("nobody is let in")

        async def reject(call: Any, proceed: Any) -> Any:
            raise StatusError(Code.UNAVAILABLE, "full", retry_after=0.001)

        _, a = await self.serve(ECHO.handler(refuse), interceptors=[reject])
        _, b = await self.named(b"b")
        client = self.client(f"{a},{b}")
        await client.connect()
        await eventually(lambda: all(one.state is State.READY for one in client.endpoints))
        self.assertEqual(set(await self.answers(client)), {b"b"})

    async def test_with_one_endpoint_nobody_picks(self) -> None:
        _, a = await self.named(b"a")
        picks: list[Pick] = []
        client = self.client(a, balancer=Counting(picks))
        await client.connect()
        await self.answers(client)
        self.assertEqual(len(picks), 0)
        self.assertIsNotNone(client._quick)


class Changing(EndpointsCase):
    async def test_a_call_on_an_endpoint_that_leaves_is_answered_and_then_it_is_closed(self) -> None:
        gate = Gate()
        (server, a), (_, b) = await self.serve(ECHO.handler(gate)), await self.named(b"b")
        registry = Registry(a)
        client = self.resolved(registry)
        running = asyncio.create_task(client.call(ECHO, b"runs"))
        stream = client.open(TWICE)
        await gate.begun.wait()
        registry.set(b)
        await eventually(lambda: [str(one.endpoint) for one in client.endpoints] == [b])
        self.assertEqual(set(await self.answers(client)), {b"b"})
        self.assertFalse(running.done())
        stream.cancel()
        gate.open.set()
        self.assertEqual(await running, b"runs")
        await eventually(lambda: not server.connections and len(client._live) == 1)

    async def test_who_takes_turns_follows_what_changes(self) -> None:
        (_, a), (second, b), (_, c) = [await self.named(name) for name in (b"a", b"b", b"c")]
        registry = Registry(a, b)
        client = self.resolved(registry)

        async def take_turns(*names: bytes) -> None:
            await eventually(lambda: sum(one.state is State.READY for one in client.endpoints) == len(names))
            with mock.patch.object(Calls, "unary", None):  # the long way
                self.assertEqual(sorted(await self.answers(client)), sorted([*names] * (12 // len(names))))

        await client.connect()
        await take_turns(b"a", b"b")
        registry.set(a, b, c)
        await take_turns(b"a", b"b", b"c")
        await second.close()
        await take_turns(b"a", b"c")
        registry.set(Endpoint(a, weight=3), Endpoint(c))
        await eventually(lambda: len(client.endpoints) == 2)
        self.assertEqual(sorted(await self.answers(client)), [b"a"] * 9 + [b"c"] * 3)

    async def test_another_weight_leaves_the_connection_where_it_is(self) -> None:
        _, a = await self.named(b"a")
        registry = Registry(a)
        client = self.resolved(registry)
        await client.connect()
        (end,) = client._live
        registry.set(Endpoint(a, weight=7, zone="z"))
        await eventually(lambda: client.endpoints[0].endpoint.weight == 7)
        self.assertEqual(list(client._live), [end])
        self.assertIsNotNone(client._quick)

    async def test_calls_wait_for_the_first_set(self) -> None:
        _, a = await self.named(b"a")
        registry = Registry()
        client = self.resolved(registry)
        call = asyncio.create_task(client.call(ECHO, b""))
        await eventually(lambda: bool(registry.watches))
        registry.set(a)
        self.assertEqual(await call, b"a")

    async def test_calls_that_wait_for_a_slot_of_an_endpoint_that_leaves_go_elsewhere(self) -> None:
        gate = Gate()
        (_, a), (_, b) = await self.serve(ECHO.handler(gate), limits=Limits(calls=1)), await self.named(b"b")
        registry = Registry(a)
        client = self.resolved(registry)
        await client.connect()
        calls = [asyncio.create_task(client.call(ECHO, b"")) for _ in range(3)]
        await gate.begun.wait()
        await eventually(lambda: client._calling.waiting == 2)
        registry.set(b)
        async with asyncio.timeout(PATIENCE):
            self.assertEqual([await calls[1], await calls[2]], [b"b", b"b"])
        gate.open.set()
        await calls[0]

    async def test_updates_by_the_thousand_leave_nothing_behind(self) -> None:
        _, a = await self.named(b"a")
        registry = Registry(a)
        client = self.resolved(registry)
        await client.connect()
        with mock.patch("trunkcall.resolver.SETTLING", 0.0):
            for turn in range(2_000):
                others = [Endpoint(f"127.0.0.1:{1 + (turn + n) % 50}", id=f"{(turn + n) % 70}") for n in range(5)]
                registry.set(Endpoint(a), *others)
                if turn % 50 == 0:
                    await asyncio.sleep(0)
                    self.assertEqual(await client.call(ECHO, b"", timeout=PATIENCE, wait_for_ready=True), b"a")
            registry.set(a)
            await eventually(lambda: len(client.endpoints) == 1)
        await eventually(lambda: len(client._tasks) == 1 and len(client._live) == 1)  # the resolver; the connection
        self.assertEqual(set(await self.answers(client)), {b"a"})
        gc.collect()
        left = [one for one in gc.get_objects() if isinstance(one, ClientEndpoint) and one.client is client]
        self.assertEqual(len(left), 1)
        self.assertEqual(client._calling.waiting, 0)

    async def test_connecting_succeeds_with_one_that_came_though_the_first_was_lost_before_it_greeted(self) -> None:
        _, a = await self.named(b"a")
        async with black_hole() as hole:
            registry = Registry(hole)
            client = self.resolved(registry)
            connecting = asyncio.create_task(client.connect())
            await eventually(lambda: len(client._live) == 1)
            registry.set(hole, a)
            await eventually(lambda: len(client.endpoints) == 2)
        async with asyncio.timeout(PATIENCE):
            await connecting
        self.assertEqual(set(await self.answers(client)), {b"a"})

    async def test_calls_that_no_longer_wait_for_a_connection_leave_nothing_behind(self) -> None:
        client = self.resolved(Registry())
        calls = [asyncio.create_task(client.call(ECHO, b"", wait_for_ready=True)) for _ in range(100)]
        await eventually(lambda: len(client._watching) == len(calls))
        for call in calls[:50]:
            call.cancel()
        await eventually(lambda: len(client._watching) == 50)
        await client.close()
        async with asyncio.timeout(PATIENCE):
            ended = await asyncio.gather(*calls, return_exceptions=True)
        self.assertEqual([type(one) for one in ended], [asyncio.CancelledError] * 50 + [StatusError] * 50)
        self.assertEqual(client._watching, {})

    async def test_at_most_so_many_are_used(self) -> None:
        _, a = await self.named(b"a")
        registry = Registry(*(a.replace("127.0.0.1", f"127.0.1.{n}") for n in range(1, 101)))
        client = self.resolved(registry, most_endpoints=7)
        with self.assertRaises(StatusError):
            await client.connect()
        self.assertEqual(len(client.endpoints), 7)
