"""A server that is to go: drain delay, maximum age of connections, serve; observers and gauges."""

from __future__ import annotations

import asyncio
from typing import Any

from trunkcall import Code, Connection, Delivery, Observer, ServerCall, StatusError

from .kit import COUNT, ECHO, PATIENCE, TWICE, Case, Gate, eventually


class Leaving(Case):
    async def test_serve_returns_when_the_server_has_stopped_and_all_is_answered(self) -> None:
        gate = Gate()
        server, _ = await self.serve(ECHO.handler(gate))
        serving = asyncio.create_task(server.serve("127.0.0.1:0"))
        await eventually(lambda: len(server.addresses) == 2)
        call = asyncio.create_task(self.client(server.addresses[1]).call(ECHO, b"x"))
        await gate.begun.wait()
        stopping = asyncio.create_task(server.stop())
        await server.stopping.wait()
        self.assertFalse(serving.done())
        gate.open.set()
        self.assertTrue(await stopping)
        async with asyncio.timeout(PATIENCE):
            await serving
        self.assertEqual(await call, b"x")

    async def test_during_the_drain_delay_calls_and_connections_are_served(self) -> None:
        server, address = await self.serve(drain_delay=3600.0)
        client = self.client(address)
        await client.call(ECHO, b"")
        stopping = asyncio.create_task(server.stop())
        await server.leaving.wait()
        self.assertFalse(server.stopping.is_set())
        self.assertEqual(await client.call(ECHO, b"x"), b"x")
        self.assertEqual(await self.client(address).call(ECHO, b"y"), b"y")
        await server.close()
        async with asyncio.timeout(PATIENCE):
            await stopping

    async def test_after_the_drain_delay_the_server_drains(self) -> None:
        server, address = await self.serve(drain_delay=0.01)
        await self.client(address).call(ECHO, b"")
        async with asyncio.timeout(PATIENCE):
            self.assertTrue(await server.stop())

    async def test_a_connection_of_its_age_is_replaced_without_losing_a_call(self) -> None:
        gate = Gate()
        server, address = await self.serve(ECHO.handler(gate), COUNT.handler(lambda n, c: []), max_connection_age=0.5)
        client = self.client(address)
        calls = [asyncio.create_task(client.call(ECHO, b"x"))]
        await gate.begun.wait()
        first = server.connections[0]
        async with asyncio.timeout(PATIENCE):
            # Another takes its place while its call still runs.
            await eventually(lambda: server.connections[-1] is not first)
            calls.append(asyncio.create_task(client.call(ECHO, b"y")))
            await eventually(lambda: gate.runs == 2)
            self.assertEqual(first.error, "the connection has reached its maximum age")
            gate.open.set()
            self.assertEqual(await asyncio.gather(*calls), [b"x", b"y"])


class Seen(Observer):
    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def listening(self, address: str) -> None:
        self.events.append(("listening", address))

    def listen_failed(self, where: str, error: OSError) -> None:
        self.events.append(("listen_failed", where, type(error).__name__))

    def connected(self, connection: Connection) -> None:
        self.events.append(("connected", connection))
        raise ValueError("an observer's own")

    def read_failed(self, connection: Connection, error: Exception) -> None:
        self.events.append(("read_failed", connection, type(error).__name__))

    def disconnected(self, connection: Connection, why: str) -> None:
        self.events.append(("disconnected", connection, why))


class Observing(Case):
    async def test_listeners_and_connections(self) -> None:
        seen = Seen()
        server, address = await self.serve(observer=seen)
        with self.assertRaises(OSError):
            await server.listen(address)
        client = self.client(address)
        with self.assertLogs("trunkcall", "ERROR") as logs:
            await client.call(ECHO, b"")
        self.assertIn("an observer's own", "".join(logs.output))
        (connection,) = server.connections
        await client.close()
        await eventually(lambda: len(seen.events) >= 4)
        self.assertEqual(seen.events[:3], [
            ("listening", address), ("listen_failed", address, "OSError"), ("connected", connection)
        ])  # fmt: skip
        self.assertEqual(seen.events[3][:2], ("disconnected", connection))

    async def test_a_socket_that_fails_is_told_before_the_end(self) -> None:
        seen = Seen()
        server, address = await self.serve(observer=seen)
        client = self.client(address)
        with self.assertLogs("trunkcall", "ERROR"):
            await client.call(ECHO, b"")
        (connection,) = server.connections
        connection._carrier.transport._fatal_error(ConnectionResetError(104, "reset"))  # type: ignore[attr-defined]
        await eventually(lambda: len(seen.events) == 4)
        self.assertEqual([event[0] for event in seen.events[2:]], ["read_failed", "disconnected"])

    async def test_an_observer_is_an_observer(self) -> None:
        wrong: Any = print
        with self.assertRaisesRegex(
            TypeError, "option observer: .* want an object of a class derived of trunkcall.Observer"
        ):
            await self.serve(observer=wrong)


class Measuring(Case):
    async def test_gauges_of_a_server_and_of_a_connection(self) -> None:
        gate = Gate()

        async def refuse(request: bytes, call: ServerCall) -> bytes:
            raise StatusError(Code.NOT_FOUND, "none")

        server, address = await self.serve(TWICE.handler(twice_waiting(gate)), ECHO.handler(refuse))
        client = self.client(address)
        async with client.open(TWICE) as stream:
            await stream.send(b"x")
            await gate.begun.wait()
            gauges = server.gauges()
            self.assertEqual((gauges.connections, gauges.calls_served, gauges.running_handlers), (1, 1, 1))
            mine = client.connections[0].gauges()
            self.assertEqual((mine.state, mine.calls_made, mine.calls_served, mine.error), ("open", 1, 0, ""))
            self.assertGreaterEqual(mine.age, 0)
        await gate.cancelled.wait()
        missing = type(ECHO)("/test.Service/Missing", bytes, bytes)
        await self.fails(client.call(missing, b""), Code.UNIMPLEMENTED, Delivery.REFUSED)
        self.assertEqual((server.gauges().refused, server.gauges().cut_off), (1, 1))
        leaving = server.connections[0]
        leaving.disconnect()
        await eventually(lambda: leaving not in server.connections)  # the client may have another by then

    async def test_credit_that_a_side_withholds_is_gauged_at_either_end(self) -> None:
        gate = Gate()
        server, address = await self.serve(TWICE.handler(twice_waiting(gate)))
        client = self.client(address)
        async with client.open(TWICE) as stream:
            await stream.send(bytes(100_000))
            await gate.begun.wait()
            await eventually(lambda: server.gauges().withheld_credit > 100_000)
            self.assertGreater(server.connections[0].gauges().withheld_credit, 100_000)
            self.assertEqual(client.gauges().withheld_credit, 0)
        await eventually(lambda: server.gauges().withheld_credit == 0)


def twice_waiting(gate: Gate) -> Any:
    async def serve(requests: Any, call: ServerCall) -> None:
        await gate(b"", call)

    return serve
