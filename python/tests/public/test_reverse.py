"""Calls from a server to its client, over the client's own connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from trunkcall import (
    RAW,
    Call,
    CallAttempt,
    Caller,
    CallOptions,
    Client,
    Code,
    Connection,
    Delivery,
    Limits,
    Next,
    Server,
    ServerCall,
    Status,
    StatusError,
    unary,
)
from trunkcall.wire import IncomingCall

from .kit import COUNT, ECHO, HANDLERS, JOIN, OTHER, PATIENCE, TWICE, Case, Gate, all_of, connector, echo, eventually

BACK = unary("/test.Service/Back", bytes, bytes)
NEST = unary("/test.Service/Nest", bytes, bytes)


async def call_back(request: bytes, call: ServerCall) -> bytes:
    """Answers with what the caller's own echo makes of the request."""
    return await call.connection.call(ECHO, request)


async def descend(request: bytes, call: ServerCall) -> bytes:
    return await call.connection.call(NEST, request[1:]) if request else b"bottom"


class Joined(Case):
    async def joined(self, *handlers: object, **options: object) -> tuple[Server, Client, Connection]:
        """A server, a client, and the server's end of their connection."""
        server, client = await self.pair(*handlers, codec=RAW, **options)  # type: ignore[arg-type]
        await client.connect()
        await eventually(lambda: bool(server.connections))
        (connection,) = server.connections
        return server, client, connection


class Reverse(Joined):
    async def test_a_server_calls_its_client_with_every_kind(self) -> None:
        _, client, connection = await self.joined()
        client.register(ECHO.handler(echo), *HANDLERS)  # while the connection is open
        self.assertEqual(await connection.call(ECHO, b"unary"), b"unary")
        self.assertEqual(await connection.call(ECHO, bytes(300_000)), bytes(300_000))
        self.assertEqual(await all_of(connection.open(COUNT, b"3")), [b"0", b"1", b"2"])
        async with connection.open(JOIN) as joining:
            for part in (b"a", b"b", bytes(200_000)):
                await joining.send(part)
            self.assertEqual(await joining.response(), b"a,b," + bytes(200_000))
        async with connection.open(TWICE) as both:
            for part in (b"x", b"y"):
                await both.send(part)
                self.assertEqual(await both.receive(), part * 2)
            await both.half_close()
            self.assertIsNone(await both.receive())

    async def test_an_attempt_observer_is_told_of_the_calls_of_a_server(self) -> None:
        class Observing:
            def __init__(self) -> None:
                self.told: list[tuple[str, CallAttempt]] = []

            def attempt_began(self, attempt: CallAttempt) -> None:
                self.told.append(("began", attempt))

            def attempt_ended(self, attempt: CallAttempt) -> None:
                self.told.append(("ended", attempt))

        observer = Observing()
        _, client, connection = await self.joined(attempt_observer=observer)
        client.register(ECHO.handler(echo), *HANDLERS)
        self.assertEqual(await connection.call(ECHO, b"unary"), b"unary")
        self.assertEqual(await all_of(connection.open(COUNT, b"2")), [b"0", b"1"])
        await client.call(ECHO, b"none of its own")
        self.assertEqual([what for what, _ in observer.told], ["began", "ended"] * 2)
        for _, attempt in observer.told:
            self.assertEqual((attempt.endpoint, attempt.peer), (None, connection.remote))
            assert attempt.status is not None
            self.assertEqual(attempt.status.code, Code.OK)

    async def test_a_handler_calls_its_caller_who_waits(self) -> None:
        _, client, _ = await self.joined(BACK.handler(call_back))
        client.register(ECHO.handler(lambda request, _: request, inline=True))
        self.assertEqual(await client.call(BACK, b"alone"), b"alone")
        calls = [client.call(BACK, b"%d" % number) for number in range(500)]
        self.assertEqual(await asyncio.gather(*calls), [b"%d" % number for number in range(500)])

    async def test_calls_nest_both_ways(self) -> None:
        _, client, _ = await self.joined(NEST.handler(descend))
        client.register(NEST.handler(descend))
        self.assertEqual(await client.call(NEST, b"....."), b"bottom")

    async def test_what_is_registered_before_connecting_is_served(self) -> None:
        server, address = await self.serve(BACK.handler(call_back), codec=RAW)
        client = self.client(address)
        client.register(ECHO.handler(echo))
        self.assertEqual((client.services, [method.name for method in client.methods]), (["test.Service"], [ECHO.name]))
        self.assertEqual(await client.call(BACK, b"x"), b"x")
        self.assertEqual(len(server.connections), 1)

    async def test_a_client_that_serves_nothing_refuses(self) -> None:
        *_, connection = await self.joined()
        await self.fails(connection.call(ECHO, b""), Code.UNIMPLEMENTED, Delivery.REFUSED)

    async def test_metadata_status_and_deadline_travel_to_a_client(self) -> None:
        _, client, connection = await self.joined()
        left: list[float | None] = []

        async def serve(request: bytes, call: ServerCall) -> bytes:
            left.append(call.time_remaining())
            call.set_header([("seen", dict(call.metadata)["who"])])
            call.set_trailer([("by", "client")])
            if request:
                raise StatusError(Code.NOT_FOUND, "not here")
            return b"found"

        client.register(ECHO.handler(serve))
        who = [("who", "server")]
        answer = await connection.unary(ECHO, b"", CallOptions(60, who))
        self.assertEqual(answer.message, b"found")
        self.assertEqual((answer.header, answer.trailer), ([("seen", "server")], [("by", "client")]))
        self.assertEqual(answer.peer, connection.remote)
        error = await self.fails(connection.call(ECHO, b"x", metadata=who), Code.NOT_FOUND)
        self.assertEqual((error.message, error.trailer), ("not here", [("by", "client")]))
        self.assertTrue(left[0] is not None and 0 < left[0] <= 60 and left[1] is None, left)

    async def test_the_deadline_and_the_end_of_a_task_end_the_client_s_handler(self) -> None:
        _, client, connection = await self.joined()
        late, gone = Gate(), Gate()
        client.register(ECHO.handler(late), OTHER.handler(gone))
        await self.runs_out(lambda timeout: connection.call(ECHO, b"", timeout=timeout), late.begun.is_set)
        task = asyncio.create_task(connection.call(OTHER, b""))
        await gone.begun.wait()
        task.cancel()
        async with asyncio.timeout(PATIENCE):
            await late.cancelled.wait()
            await gone.cancelled.wait()

    async def test_a_handler_s_deadline_goes_along_with_its_calls_back(self) -> None:
        _, client, _ = await self.joined(BACK.handler(call_back))
        gate = Gate()
        client.register(ECHO.handler(gate))
        await self.runs_out(lambda timeout: client.call(BACK, b"", timeout=timeout), gate.begun.is_set)
        async with asyncio.timeout(PATIENCE):
            await gate.cancelled.wait()

    async def test_a_server_s_calls_wait_for_slots_of_their_client(self) -> None:
        server, address = await self.serve(codec=RAW, waiting_calls=3)
        client = self.client(address, limits=Limits(calls=2))
        gate = Gate()
        client.register(ECHO.handler(gate))
        await client.connect()
        await eventually(lambda: bool(server.connections))
        (connection,) = server.connections
        calls = [asyncio.create_task(connection.call(ECHO, b"%d" % number)) for number in range(5)]
        await eventually(lambda: len(connection._waiting) == 3)
        error = await self.fails(connection.call(ECHO, b""), Code.RESOURCE_EXHAUSTED, Delivery.NOT_SENT)
        self.assertIn("3", error.message)
        await eventually(lambda: gate.runs == 2)
        gate.open.set()
        self.assertEqual(await asyncio.gather(*calls), [b"0", b"1", b"2", b"3", b"4"])

    async def test_running_handlers_of_a_client_are_bounded(self) -> None:
        server, address = await self.serve(codec=RAW)
        client = self.client(address, running_handlers=1)
        gate = Gate()
        client.register(ECHO.handler(gate))
        await client.connect()
        await eventually(lambda: bool(server.connections))
        (connection,) = server.connections
        running = asyncio.create_task(connection.call(ECHO, b"first"))
        await gate.begun.wait()
        error = await self.fails(
            connection.call(ECHO, b"second", timeout=PATIENCE), Code.RESOURCE_EXHAUSTED, Delivery.REFUSED
        )
        self.assertIn("1 handlers", error.message)
        self.assertEqual(client.running, 1)
        gate.open.set()
        self.assertEqual(await running, b"first")

    async def test_those_who_wait_for_one_connection_and_for_any_are_let_in_as_they_came(self) -> None:
        gate = Gate()
        _, client = await self.pair(ECHO.handler(gate), limits=Limits(calls=1))
        await client.connect()
        (own,) = client.connections
        order: list[str] = []

        async def make(name: str, caller: Caller) -> None:
            await caller.call(ECHO, b"")
            order.append(name)

        tasks = []
        for number, caller in enumerate((client, client, own, client, own, own)):
            tasks.append(asyncio.create_task(make(f"{number}", caller)))
            await asyncio.sleep(0)
        await eventually(lambda: len(client._waiting) + len(own._waiting) == 5)
        gate.open.set()
        await asyncio.gather(*tasks)
        self.assertEqual(order, ["0", "1", "2", "3", "4", "5"])
        self.assertEqual(client._calling.waiting, 0)

    async def test_interceptors_of_the_other_way_wrap_it_and_nothing_else(self) -> None:
        seen: list[str] = []

        def note(who: str) -> Callable[[Call, Next], object]:
            async def intercept(call: Call, proceed: Next) -> object:
                seen.append(f"{who} {'serves' if call.server else 'calls'}")
                return await proceed(call)

            return intercept

        _, address = await self.serve(
            BACK.handler(call_back), ECHO.handler(echo), codec=RAW, reverse_interceptors=[note("server")]
        )
        client = self.client(address, reverse_interceptors=[note("client")])
        client.register(ECHO.handler(echo))
        self.assertEqual(await client.call(ECHO, b"not wrapped"), b"not wrapped")
        self.assertEqual(seen, [])
        self.assertEqual(await client.call(BACK, b"wrapped"), b"wrapped")
        self.assertEqual(seen, ["server calls", "client serves"])

    async def test_a_connection_tells_of_its_ends(self) -> None:
        _, client, connection = await self.joined()
        (own,) = client.connections
        self.assertEqual((own.remote, own.local), (connection.local, connection.remote))
        self.assertEqual((own.target, own.secure, own.tls, own.error), (client.target, False, None, None))


class Ends(Joined):
    async def test_a_handler_that_runs_while_its_server_drains_calls_back(self) -> None:
        gate = Gate()

        async def serve(request: bytes, call: ServerCall) -> bytes:
            await gate(request, call)
            return await call.connection.call(ECHO, request)

        server, client, connection = await self.joined(BACK.handler(serve))
        client.register(ECHO.handler(echo))
        running = asyncio.create_task(client.call(BACK, b"x"))
        await gate.begun.wait()
        stopping = asyncio.create_task(server.stop())
        await eventually(lambda: not client._ready)  # the farewell has come
        gate.open.set()
        self.assertEqual(await running, b"x")
        self.assertTrue(await stopping)
        await self.fails(connection.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)

    async def test_calls_to_a_client_hold_up_the_end_of_a_server_and_no_others_begin(self) -> None:
        server, client, connection = await self.joined()
        gate = Gate()
        client.register(ECHO.handler(gate), OTHER.handler(echo))
        running = asyncio.create_task(connection.call(ECHO, b"x"))
        await gate.begun.wait()
        stopping = asyncio.create_task(server.stop())
        await eventually(lambda: connection.error is not None)
        error = await self.fails(connection.call(OTHER, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertIn("drains", error.message)
        await eventually(lambda: not client._ready)
        self.assertFalse(stopping.done())
        gate.open.set()
        self.assertEqual(await running, b"x")
        self.assertTrue(await stopping)

    async def test_the_end_of_a_connection_ends_calls_both_ways(self) -> None:
        async def out_of_patience(server: Server, client: Client, connection: Connection) -> None:
            self.assertFalse(await server.stop(0.01))

        async def close_client(server: Server, client: Client, connection: Connection) -> None:
            await client.close()

        async def close_server(server: Server, client: Client, connection: Connection) -> None:
            await server.close()

        async def disconnect(server: Server, client: Client, connection: Connection) -> None:
            connection.disconnect()

        for end in (out_of_patience, close_client, close_server, disconnect):
            with self.subTest(end.__name__):
                served, serving = Gate(), Gate()
                server, client, connection = await self.joined(ECHO.handler(served))
                client.register(ECHO.handler(serving))
                callers: tuple[Caller, ...] = (client, connection)
                calls = [asyncio.create_task(caller.call(ECHO, b"")) for caller in callers]
                await served.begun.wait()
                await serving.begun.wait()
                await end(server, client, connection)
                for call in calls:
                    with self.assertRaises(StatusError) as caught:
                        async with asyncio.timeout(PATIENCE):
                            await call
                    self.assertIs(caught.exception.delivery, Delivery.UNKNOWN, caught.exception)
                async with asyncio.timeout(PATIENCE):
                    await served.cancelled.wait()
                    await serving.cancelled.wait()
                await eventually(lambda client=client: client.running == 0)  # type: ignore[misc]
                self.assertIsNotNone(connection.error)
                self.assertEqual(server.connections, [])
                await self.fails(connection.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)

    async def test_a_connection_changes_once(self) -> None:
        _, _, connection = await self.joined()
        changing = asyncio.create_task(connection._changed())
        await asyncio.sleep(0)
        self.assertFalse(changing.done())
        connection.disconnect()
        await changing
        again = asyncio.create_task(connection._changed())
        await asyncio.sleep(0)
        self.assertFalse(again.done())  # else who waits for another state in a loop would hold up everything
        again.cancel()

    async def test_those_who_wait_for_a_slot_fail_with_the_connection(self) -> None:
        server, address = await self.serve(codec=RAW)
        client = self.client(address, limits=Limits(calls=1))
        gate = Gate()
        client.register(ECHO.handler(gate))
        await client.connect()
        await eventually(lambda: bool(server.connections))
        (connection,) = server.connections
        calls = [asyncio.create_task(connection.call(ECHO, b"")) for _ in range(3)]
        await eventually(lambda: len(connection._waiting) == 2)
        await client.close()
        for call, delivery in zip(calls, (Delivery.UNKNOWN, Delivery.NOT_SENT, Delivery.NOT_SENT), strict=True):
            await self.fails(call, Code.UNAVAILABLE, delivery)

    async def test_a_client_that_disconnects_opens_another_at_once(self) -> None:
        _, client, _ = await self.joined()
        for number in range(5):
            (own,) = client.connections
            own.disconnect()
            self.assertEqual(own.error, "disconnected by this side")
            self.assertEqual(await client.call(ECHO, b"%d" % number), b"%d" % number)
            self.assertEqual(connector(client).failures, 0)
            await self.fails(own.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)

    async def test_a_client_whose_server_disconnects_comes_back(self) -> None:
        server, client, connection = await self.joined()
        (own,) = client.connections
        connection.disconnect()
        await eventually(lambda: own.error is not None)
        self.assertEqual(await client.call(ECHO, b"x", timeout=PATIENCE), b"x")
        self.assertEqual(connector(client).failures, 0)
        await eventually(lambda: len(server.connections) == 1)
        self.assertIsNot(server.connections[0], connection)

    async def test_a_handler_cannot_await_the_end_of_its_own_client(self) -> None:
        _, client, connection = await self.joined()

        async def serve(request: bytes, call: ServerCall) -> bytes:
            with self.assertRaisesRegex(RuntimeError, "own client"):
                await client.close()
            return b"refused"

        client.register(ECHO.handler(serve))
        self.assertEqual(await connection.call(ECHO, b""), b"refused")

    async def test_a_refused_call_is_repeated_only_where_that_may_help(self) -> None:
        _, client, connection = await self.joined()
        client.register(ECHO.handler(echo))
        (end,) = client._live
        start, asked = end.start, 0

        def refuse_first(call: IncomingCall) -> None:
            nonlocal asked
            asked += 1
            if asked == 1:
                call.refuse(Status(code, "not now", retry_after=0.001))
            else:
                start(call)

        end.start = refuse_first  # type: ignore[method-assign]
        code = Code.UNAVAILABLE  # this connection has no other in its place
        await self.fails(connection.call(ECHO, b""), Code.UNAVAILABLE, Delivery.REFUSED)
        self.assertEqual(asked, 1)
        asked, code = 0, Code.RESOURCE_EXHAUSTED
        self.assertEqual(await connection.call(ECHO, b"x"), b"x")
        self.assertEqual(asked, 2)
