"""Where endpoints come from, and users' resolvers, balancers and pickers that do what they must not."""

from __future__ import annotations

import asyncio
import contextlib
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
    Outcome,
    Pick,
    State,
    Watch,
    round_robin,
)

from .endpoints import Counting, EndpointsCase, Registry
from .kit import ECHO, PATIENCE, TWICE, black_hole, eventually


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
            (bad, 'nowhere: target "nowhere": it has no port'),
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
                if isinstance(self.found, BaseException):
                    raise self.found
                return self.found

        for found, text in (
            (ValueError("no idea"), "balancer mine: the picker failed: ValueError('no idea')"),
            (asyncio.CancelledError(), "balancer mine: the picker failed: CancelledError()"),
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

    async def test_a_balancer_that_is_cancelled_has_failed(self) -> None:
        (_, a), (_, b) = await self.named(b"a"), await self.named(b"b")

        class Cancelled:
            def balance(self, endpoints: Sequence[EndpointState]) -> Any:
                raise asyncio.CancelledError

        client = self.client(f"{a},{b}", balancer=Cancelled())
        error = await self.fails(client.call(ECHO, b""), Code.INTERNAL, Delivery.NOT_SENT)
        self.assertIn("balancer Cancelled: it failed: CancelledError()", error.message)

    async def test_a_picker_that_was_kept_and_chooses_who_has_left_is_asked_again(self) -> None:
        (_, a), (_, b), (_, c) = [await self.named(name) for name in (b"a", b"b", b"c")]
        fails = False

        class Moody:
            own = round_robin()

            def balance(self, endpoints: Sequence[EndpointState]) -> Any:
                if fails:
                    raise RuntimeError("not today")
                return self.own.balance(endpoints)

        registry = Registry(a, b)
        client = self.resolved(registry, balancer=Moody())
        await client.connect()
        await eventually(lambda: all(one.state is State.READY for one in client.endpoints))
        self.assertEqual(set(await self.answers(client)), {b"a", b"b"})
        fails = True
        registry.set(b, c)
        await eventually(lambda: str(client.endpoints[0].endpoint) == b)
        self.assertEqual(set(await self.answers(client)), {b"b"})
        registry.set(c)  # nobody whom the picker knows is there
        await eventually(lambda: str(client.endpoints[0].endpoint) == c and client.endpoints[0].state is State.READY)
        registry.set(c, a.replace("127.0.0.1", "127.0.0.2"))
        await eventually(lambda: len(client.endpoints) == 2 and not client._endpoints.hopeful)
        error = await self.fails(client.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertIn("the picker chose no endpoint", error.message)

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
        with self.assertRaisesRegex(
            ValueError, '^target "consul:web": no resolver was given for the scheme "consul"; as'
        ):
            Client("consul:web", resolvers={"test": Registry()})
