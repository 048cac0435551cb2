"""Connections that nobody uses."""

from __future__ import annotations

import asyncio
import tempfile

from trunkcall import Client, Code, Delivery, State, first, least_loaded, round_robin

from .endpoints import EndpointsCase
from .kit import ECHO, OTHER, PATIENCE, Gate, black_hole, echo, eventually
from .test_client_vectors import VECTORS


class Idle(EndpointsCase):
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

    async def test_one_of_several_stays_while_another_is_used_or_opened(self) -> None:
        """Calls would go to those that are left, and to no other."""
        gate = Gate()
        (one, a), (two, b) = await self.serve(ECHO.handler(gate)), await self.serve(ECHO.handler(gate))
        client = self.client(f"{a},{b}", idle_timeout=10_000)
        await client.connect()
        await eventually(lambda: len(client.connections) == 2)
        call = asyncio.create_task(client.call(ECHO, b"x"))
        await gate.begun.wait()
        self.look(client)
        self.assertEqual((len(one.connections), len(two.connections)), (1, 1))
        gate.open.set()
        await call
        self.look(client)
        await eventually(lambda: not one.connections and not two.connections)

    async def test_one_of_several_stays_while_an_attempt_is_under_way(self) -> None:
        async with black_hole() as hole:
            server, a = await self.named(b"a")
            client = self.client(f"{a},{hole}", idle_timeout=10_000)
            self.assertEqual(set(await self.answers(client)), {b"a"})
            connectors = [connector for one in client._endpoints.order for connector in one.connectors]
            await eventually(lambda: connectors[1].attempt is not None)
            self.look(client)
            self.assertEqual((len(server.connections), connectors[0].connection is None), (1, False))

    async def test_one_that_had_failed_before_is_opened_again(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())  # a port may be another's by then
        server, address = await self.serve(ECHO.handler(echo), where=f"unix:{folder}/s")
        await server.close()
        client = self.client(address, balancer=first(), idle_timeout=10_000)
        await self.fails(client.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        await self.serve(ECHO.handler(echo), where=address)
        await self.answers(client)
        self.look(client)
        self.assertIs(client.endpoints[0].state, State.IDLE)
        self.assertEqual(await client.call(ECHO, b"again", timeout=PATIENCE), b"again")

    async def test_a_failing_one_is_dialled_no_more_once_the_client_is_idle(self) -> None:
        (server, a), (gone, b) = await self.named(b"a"), await self.named(b"b")
        await gone.close()
        client = self.client(f"{a},{b}", idle_timeout=10_000)
        self.assertEqual(set(await self.answers(client)), {b"a"})
        failing = client._endpoints.order[1].connectors[0]
        await eventually(lambda: failing.timer is not None)
        self.look(client)
        await eventually(lambda: not server.connections)
        await eventually(lambda: {each.state for each in client.endpoints} == {State.IDLE})
        self.assertIsNone(failing.next_attempt)
        self.assertEqual(await client.call(ECHO, b"", timeout=PATIENCE), b"a")

    async def test_a_client_that_is_idle_has_its_endpoints_as_the_vectors_say(self) -> None:
        balancers = {"first": first, "round_robin": round_robin, "least_loaded": least_loaded}
        for case in VECTORS["idle"]:
            with self.subTest(case["id"]):
                targets: list[str] = []
                for serves in case["serves"]:
                    server, address = await self.named(b"a")
                    if not serves:
                        await server.close()
                    targets.append(address)
                client = self.client(",".join(targets), balancer=balancers[case["balancer"]](), idle_timeout=10_000)
                for _ in range(2):
                    async with asyncio.timeout(PATIENCE):
                        while [one.state.value for one in client.endpoints] != case["before"]:
                            await self.answers(client, 1)
                    async with asyncio.timeout(PATIENCE):
                        while [one.state.value for one in client.endpoints] != case["after"]:
                            self.look(client)
                            await asyncio.sleep(0.001)

    def look(self, client: Client) -> None:
        """What happens again and again in the idle timeout, and some more."""
        for _ in range(10):
            for one in client._endpoints.order:
                for connector in one.connectors:
                    if connector.connection is not None:
                        if connector._idle is not None:
                            connector._idle.cancel()
                        connector._look(connector.connection)
