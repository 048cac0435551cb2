"""Clients with several endpoints: sets that change, endpoints that come, go, fail and come back."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import socket
from collections.abc import Sequence
from typing import Any
from unittest import mock

import trunkcall
from trunkcall import (
    Client,
    Code,
    Delivery,
    Endpoint,
    EndpointState,
    InvalidSet,
    Limits,
    Outcome,
    Pick,
    Picker,
    Server,
    ServerCall,
    State,
    StatusError,
    Watch,
)
from trunkcall.endpoints import ClientEndpoint

from .kit import ECHO, OTHER, PATIENCE, TWICE, Case, Gate, black_hole, echo, eventually


class Registry:
    """A resolver that tells what the test has it tell."""

    def __init__(self, *endpoints: str) -> None:
        self.endpoints = [Endpoint(address) for address in endpoints]
        self.watches: list[Watch] = []

    async def __call__(self, watch: Watch) -> None:
        self.watches.append(watch)
        if self.endpoints:
            watch.set(self.endpoints)
        await asyncio.Event().wait()

    def set(self, *endpoints: str | Endpoint) -> None:
        self.endpoints = [one if isinstance(one, Endpoint) else Endpoint(one) for one in endpoints]
        self.watches[-1].set(self.endpoints)


class EndpointsCase(Case):
    async def named(self, name: bytes, **options: Any) -> tuple[Server, str]:
        """A server that answers its name."""

        async def say(request: bytes, call: ServerCall) -> bytes:
            return name

        return await self.serve(ECHO.handler(say), OTHER.handler(echo), TWICE.handler(_twice), **options)

    def resolved(self, resolver: Any, **options: Any) -> Client:
        return self.client("test:here", resolvers={"test": resolver}, **options)

    async def answers(self, client: Client, calls: int = 12) -> list[bytes]:
        return [await client.call(ECHO, b"", wait_for_ready=True, timeout=PATIENCE) for _ in range(calls)]


async def _twice(requests: Any, call: ServerCall) -> Any:
    async for request in requests:
        yield request * 2


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
        found = {}
        for user in ("ada", "bob", "cyd", "dan", "eve", "fay"):
            answers = {await client.call(ECHO, b"", metadata=[("user", user)]) for _ in range(5)}
            self.assertEqual(len(answers), 1)
            found[user] = answers.pop()
        self.assertGreater(len(set(found.values())), 1)

    async def test_least_loaded_avoids_an_endpoint_whose_calls_hang(self) -> None:
        gate = Gate()
        (_, a), (_, b) = await self.serve(ECHO.handler(gate)), await self.named(b"b")
        client = self.client(f"{a},{b}", balancer=trunkcall.least_loaded())
        await client.connect()
        await eventually(lambda: all(one.state is State.READY for one in client.endpoints))
        calls: list[asyncio.Task[bytes]] = []
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


class Counting:
    def __init__(self, picks: list[Pick]) -> None:
        self.picks = picks

    def balance(self, endpoints: Sequence[EndpointState]) -> Picker:
        return CountingPicker(endpoints, self.picks)


class CountingPicker:
    def __init__(self, endpoints: Sequence[EndpointState], picks: list[Pick]) -> None:
        self.endpoints = [one for one in endpoints if one.state is State.READY]
        self.picks = picks

    def pick(self, call: Pick) -> EndpointState | None:
        self.picks.append(call)
        return self.endpoints[0] if self.endpoints else None


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

    async def test_at_most_so_many_are_used(self) -> None:
        _, a = await self.named(b"a")
        registry = Registry(*(a.replace("127.0.0.1", f"127.0.1.{n}") for n in range(1, 101)))
        client = self.resolved(registry, most_endpoints=7)
        with self.assertRaises(StatusError):
            await client.connect()
        self.assertEqual(len(client.endpoints), 7)

    async def test_idle_connections_are_closed_and_opened_again(self) -> None:
        (one, a), (two, b) = await self.named(b"a"), await self.named(b"b")
        client = self.client(f"{a},{b}", idle_timeout=0.2)
        await client.connect()
        await eventually(lambda: {each.state for each in client.endpoints} == {State.IDLE})
        await eventually(lambda: not one.connections and not two.connections)
        seen: set[bytes] = set()
        async with asyncio.timeout(PATIENCE):
            while len(seen) < 2:
                seen |= set(await self.answers(client))

    async def test_a_call_keeps_a_connection_from_being_idle(self) -> None:
        gate = Gate()
        _, address = await self.serve(ECHO.handler(gate), OTHER.handler(echo))
        kept, other = self.client(address, idle_timeout=0.04), self.client(address, idle_timeout=0.04)
        call = asyncio.create_task(kept.call(ECHO, b"x"))
        await gate.begun.wait()
        (end,) = kept._live
        await other.call(OTHER, b"")
        await eventually(lambda: not other._live)
        self.assertEqual(list(kept._live), [end])
        gate.open.set()
        self.assertEqual(await call, b"x")


class Names(EndpointsCase):
    """dns:HOST:PORT."""

    async def test_each_address_is_an_endpoint_and_is_asked_for_again_when_one_fails(self) -> None:
        server, _ = await self.named(b"a", where="0.0.0.0:0")
        service = server.port
        hosts = ["127.0.0.3", "127.0.0.2"]
        asked = 0

        async def getaddrinfo(host: str, port: int, **options: Any) -> Any:
            nonlocal asked
            if host != "service.test":
                return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))]
            asked += 1
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in hosts]

        with (
            mock.patch.object(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo),
            mock.patch("trunkcall.resolver.DNS_PAUSE", 0.01),
        ):
            client = self.client(f"dns:service.test:{service}")
            await client.connect()
            known = [one.endpoint for one in client.endpoints]
            self.assertEqual([one.addresses for one in known], [(f"{host}:{service}",) for host in hosts])
            self.assertEqual({one.server_name for one in known}, {"service.test"})
            self.assertEqual(asked, 1)
            hosts[0] = "127.0.0.4"
            await server.close()
            await eventually(lambda: asked > 1)
            await eventually(lambda: client.endpoints[0].endpoint.addresses == (f"127.0.0.4:{service}",))

    async def test_a_name_that_has_no_address_is_told(self) -> None:
        async def getaddrinfo(*args: Any, **options: Any) -> Any:
            raise socket.gaierror(-2, "Name or service not known")

        with mock.patch.object(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo):
            client = self.client("dns:no.such.name:1")
            error = await self.fails(client.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertIn("resolver dns: ", error.message)
        self.assertIn("Name or service not known", error.message)


class Faulty(EndpointsCase):
    """Resolvers, balancers, pickers and dialers of users that do what they must not."""

    def setUp(self) -> None:
        super().setUp()
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

    async def test_a_resolver_that_raises_is_named_and_called_again(self) -> None:
        _, a = await self.named(b"a")
        asked = 0

        async def resolve(watch: Watch) -> None:
            nonlocal asked
            asked += 1
            if asked < 3:
                raise OSError("the registry is away")
            watch.set([Endpoint(a)])

        client = self.resolved(resolve)
        error = await self.fails(client.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertEqual(error.message, "resolver test: OSError: the registry is away")
        self.assertTrue(error.status.local)
        self.assertEqual(await client.call(ECHO, b"", wait_for_ready=True, timeout=PATIENCE), b"a")

    async def test_a_resolver_that_tells_nothing_or_what_is_wrong(self) -> None:
        async def nothing(watch: Watch) -> None:
            pass

        async def empty(watch: Watch) -> None:
            watch.set([])

        async def bad(watch: Watch) -> None:
            watch.set([Endpoint("127.0.0.1:1"), Endpoint("nowhere")])

        async def none(watch: Watch) -> None:
            watch.set(None)  # type: ignore[arg-type]

        async def cancels(watch: Watch) -> None:
            raise asyncio.CancelledError

        for resolver, text in (
            (nothing, "returned without a set"),
            (empty, "is empty"),
            (bad, "'nowhere' is not HOST:PORT"),
            (none, "a list of them, not None"),
            (cancels, "was cancelled"),
        ):
            with self.subTest(text):
                client = self.resolved(resolver)
                error = await self.fails(client.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
                self.assertIn(text, error.message)

    async def test_a_resolver_that_hangs_keeps_calls_until_their_deadline(self) -> None:
        client = self.resolved(Registry())
        error = await self.fails(client.call(ECHO, b"", timeout=0.05), Code.DEADLINE_EXCEEDED, Delivery.NOT_SENT)
        self.assertIn("waited for the resolver", error.message)

    async def test_a_resolver_that_does_not_end_holds_up_no_closing(self) -> None:
        let_go = asyncio.Event()

        async def clings(watch: Watch) -> None:
            while not let_go.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await let_go.wait()

        client = self.resolved(clings)
        call = asyncio.create_task(client.call(ECHO, b""))
        await eventually(lambda: bool(client._tasks))
        async with asyncio.timeout(PATIENCE):
            await client.close()
        await self.fails(call, Code.CANCELLED, Delivery.NOT_SENT)
        let_go.set()

    async def test_a_picker_that_chooses_none(self) -> None:
        (_, a), (_, b) = await self.named(b"a"), await self.named(b"b")

        class Nobody:
            def balance(self, endpoints: Sequence[EndpointState]) -> Any:
                return self

            def pick(self, call: Pick) -> None:
                return None

        client = self.client(f"{a},{b}", balancer=Nobody())
        error = await self.fails(client.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertEqual(error.message, "balancer Nobody: the picker chose no endpoint")

    async def test_the_last_good_set_stays(self) -> None:
        _, a = await self.named(b"a")
        registry = Registry(a)
        client = self.resolved(registry)
        self.assertEqual(await client.call(ECHO, b""), b"a")
        for bad in ([], [Endpoint()], [Endpoint("x")], [Endpoint(a, weight=-1)], [Endpoint("a:1")] * 100_001):
            with self.assertRaises(InvalidSet):
                registry.watches[0].set(bad)
        self.assertEqual(set(await self.answers(client)), {b"a"})

    async def test_a_resolver_that_floods_is_applied_now_and_then(self) -> None:
        _, a = await self.named(b"a")
        registry = Registry(a)
        client = self.resolved(registry)
        await client.connect()
        applied = 0
        apply = client._endpoints.apply

        def count(found: Any) -> None:
            nonlocal applied
            applied += 1
            apply(found)

        resolving = client._endpoints._resolving
        assert resolving is not None
        with mock.patch.object(resolving, "_apply", count):
            for n in range(1_000):
                registry.set(a, f"127.0.0.1:{1 + n % 7}")
            registry.set(a)
            await eventually(lambda: len(client.endpoints) == 1 and resolving._pending is None)
        self.assertLess(applied, 10)
        self.assertEqual(await client.call(ECHO, b""), b"a")

    async def test_pickers_at_fault_end_the_call_and_are_named(self) -> None:
        (_, a), (_, b) = await self.named(b"a"), await self.named(b"b")

        class Faults:
            name = "mine"

            def __init__(self, found: Any) -> None:
                self.found = found

            def balance(self, endpoints: Sequence[EndpointState]) -> Any:
                return self

            def pick(self, call: Pick) -> Any:
                if isinstance(self.found, Exception):
                    raise self.found
                return self.found

        for found, text in (
            (ValueError("no idea"), "balancer mine: the picker failed: ValueError('no idea')"),
            ("a", "balancer mine: the picker chose 'a', which it was not given"),
            (EndpointState(Endpoint("x:1")), "balancer mine: the picker chose"),
        ):
            with self.subTest(text):
                client = self.client(f"{a},{b}", balancer=Faults(found))
                error = await self.fails(client.call(ECHO, b""), Code.INTERNAL, Delivery.NOT_SENT)
                self.assertIn(text, error.message)
                self.assertTrue(error.status.local)

    async def test_a_picker_that_keeps_to_an_endpoint_that_has_left(self) -> None:
        (_, a), (_, b), (_, c) = [await self.named(name) for name in (b"a", b"b", b"c")]

        class Stubborn:
            kept: Any = None

            def balance(self, endpoints: Sequence[EndpointState]) -> Any:
                self.kept = self.kept or endpoints[0]
                return self

            def pick(self, call: Pick) -> Any:
                return self.kept

        registry = Registry(a, b)
        client = self.resolved(registry, balancer=Stubborn())
        self.assertEqual(set(await self.answers(client)), {b"a"})
        registry.set(b, c)
        await eventually(lambda: str(client.endpoints[0].endpoint) == b)
        error = await self.fails(client.call(ECHO, b""), Code.INTERNAL, Delivery.NOT_SENT)
        self.assertIn(f"balancer Stubborn: the picker chose {a}, which has left", error.message)

    async def test_a_balancer_that_fails_keeps_its_last_picker(self) -> None:
        (_, a), (_, b) = await self.named(b"a"), await self.named(b"b")
        fails = True

        class Moody(Counting):
            def balance(self, endpoints: Sequence[EndpointState]) -> Any:
                if fails:
                    raise RuntimeError("not today")
                return super().balance(endpoints)

        client = self.client(f"{a},{b}", balancer=Moody([]))
        error = await self.fails(client.call(ECHO, b""), Code.INTERNAL, Delivery.NOT_SENT)
        self.assertIn("balancer Moody: it failed: RuntimeError('not today')", error.message)
        fails = False
        await eventually(lambda: all(one.state is State.READY for one in client.endpoints))
        self.assertIn(await client.call(ECHO, b"", wait_for_ready=True), (b"a", b"b"))
        fails = True
        client._endpoints.changed()
        self.assertIn(await client.call(ECHO, b""), (b"a", b"b"))

    async def test_a_picker_is_told_once_of_each_endpoint_that_it_chose(self) -> None:
        (_, a), (_, b) = await self.named(b"a"), await self.named(b"b")
        open_picks: dict[int, int] = {}
        outcomes: list[Outcome] = []

        class Observing:
            def balance(self, endpoints: Sequence[EndpointState]) -> Any:
                return ObservingPicker(endpoints)

        class ObservingPicker:
            def __init__(self, endpoints: Sequence[EndpointState]) -> None:
                self.endpoints = endpoints

            def pick(self, call: Pick) -> EndpointState | None:
                one = self.endpoints[len(outcomes) % len(self.endpoints)]
                open_picks[id(one)] = open_picks.get(id(one), 0) + 1
                return one

            def ended(self, endpoint: EndpointState, outcome: Outcome) -> None:
                open_picks[id(endpoint)] -= 1
                outcomes.append(outcome)

        client = self.client(f"{a},{b}", balancer=Observing())
        await self.answers(client)
        async with client.open(TWICE) as stream:
            await stream.send(b"x")
            self.assertEqual(sum(open_picks.values()), 1)
        await self.fails(client.call(ECHO, b"", timeout=0), Code.DEADLINE_EXCEEDED, Delivery.NOT_SENT)
        del stream
        self.assertEqual(set(open_picks.values()), {0})
        self.assertEqual(sum(one.status.code is Code.OK for one in outcomes), 12)
        one = self.client(a, balancer=Observing())  # with a single endpoint as well
        before = len(outcomes)
        await self.answers(one)
        self.assertGreaterEqual(len(outcomes), before + 12)

    async def test_one_that_says_nothing_does_not_hold_up_calls(self) -> None:
        _, b = await self.named(b"b")
        async with black_hole() as hole:
            client = self.client(f"{hole},{b}")
            self.assertEqual(set(await self.answers(client)), {b"b"})

    async def test_contradictory_options_are_named_at_once(self) -> None:
        for options, text in (
            ({"balancer": object()}, "option balancer: .* with `balance`"),
            ({"dialer": 5}, "option dialer: 5 was given, want an asynchronous function"),
            (
                {"attempt_observer": 5},
                "option attempt_observer: 5 was given, .* with `attempt_began` and `attempt_ended`",
            ),
            ({"server_hostname": "a.example"}, "option server_hostname: .a.example. was given, and no TLS"),
            ({"connections": 0}, "option connections: 0 was given, want a whole number, at least 1"),
            ({"most_endpoints": -1}, "option most_endpoints: -1"),
            ({"idle_timeout": float("nan")}, "idle_timeout"),
            ({"resolvers": {"unix": Registry()}}, "'unix'"),
            ({"resolvers": {"test": "x"}}, "option resolvers\\['test'\\]: 'x' was given"),
            ({"timeout": 0}, "option timeout: 0 was given, want seconds above 0"),
            ({"timeout": 1, "policies": [trunkcall.Policy(timeout=2)]}, "of the client and one of a policy"),
            ({"policies": [trunkcall.Policy("Get", timeout=2)]}, "policy of Get"),
        ):
            with self.subTest(text), self.assertRaisesRegex((ValueError, TypeError), text):
                Client("127.0.0.1:1", **options)
        with self.assertRaisesRegex(ValueError, "no resolver for consul:, only for dns, test"):
            Client("consul:web", resolvers={"test": Registry()})
