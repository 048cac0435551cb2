"""How calls end without their handler's word: cancellation, lost connections, limits."""

from __future__ import annotations

import asyncio
import gc
import tempfile
import unittest
from collections.abc import AsyncIterator
from unittest import mock

from trunkcall import Client, Code, Delivery, Limits, ServerCall, Status, StatusError
from trunkcall.transport import clock
from trunkcall.wire import IncomingCall

from .kit import COUNT, ECHO, HANDLERS, OTHER, PATIENCE, TWICE, Case, Gate, black_hole, echo, eventually, listener


class Cancellation(Case):
    async def test_cancelling_the_task_cancels_the_handler(self) -> None:
        gate = Gate()
        server, client = await self.pair(ECHO.handler(gate))
        task = asyncio.create_task(client.call(ECHO, b""))
        await gate.begun.wait()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await gate.cancelled.wait()
        await eventually(lambda: server.running == 0)

    async def test_cancelling_the_task_on_a_warm_connection(self) -> None:
        gate = Gate()
        server, client = await self.pair(ECHO.handler(gate), OTHER.handler(echo))
        await client.call(OTHER, b"")
        task = asyncio.create_task(client.call(ECHO, b""))
        await gate.begun.wait()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await gate.cancelled.wait()
        await eventually(lambda: server.running == 0)

    async def test_a_handler_that_ignores_cancellation_counts_until_it_returns(self) -> None:
        begun, leave = asyncio.Event(), asyncio.Event()

        async def serve(request: bytes, call: ServerCall) -> bytes:
            begun.set()
            while not leave.is_set():
                try:
                    await leave.wait()
                except asyncio.CancelledError:
                    self.assertTrue(call.cancelled)
            return b""

        server, client = await self.pair(ECHO.handler(serve))
        await self.runs_out(lambda timeout: client.call(ECHO, b"", timeout=timeout), begun.is_set)
        self.assertGreaterEqual(server.running, 1)
        leave.set()
        await eventually(lambda: server.running == 0)

    async def test_a_cancelled_stream_cancels_its_handler(self) -> None:
        gate = asyncio.Event()

        async def serve(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
            try:
                async for request in requests:
                    yield request
            finally:
                gate.set()

        server, client = await self.pair(TWICE.handler(serve))
        async with client.open(TWICE) as stream:
            await stream.send(b"1")
            await stream.receive()
        await gate.wait()
        self.assertEqual((await stream.status()).code, Code.CANCELLED)
        self.assertFalse(await stream.send(b"2"))
        await eventually(lambda: server.running == 0)

    async def test_a_forgotten_stream_is_cancelled(self) -> None:
        gate = asyncio.Event()

        async def serve(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
            try:
                yield b"1"
                await asyncio.Event().wait()
            finally:
                gate.set()

        _, client = await self.pair(COUNT.handler(serve))
        await client.open(COUNT, b"").receive()
        gc.collect()
        await eventually(gate.is_set)

    async def test_a_plain_handler_counts_until_its_thread_returns(self) -> None:
        import threading

        begun, leave = threading.Event(), threading.Event()

        def serve(request: bytes, call: ServerCall) -> bytes:
            begun.set()
            leave.wait(PATIENCE)
            return b""

        server, client = await self.pair(ECHO.handler(serve))
        await self.runs_out(lambda timeout: client.call(ECHO, b"", timeout=timeout), begun.is_set)
        (end,) = server._connections  # pyright: ignore[reportPrivateUsage]
        await eventually(lambda: end.connection.session.callee.open == 0)
        for _ in range(10):
            await asyncio.sleep(0)
        self.assertGreaterEqual(server.running, 1)
        leave.set()
        await eventually(lambda: server.running == 0)

    async def test_a_call_stopped_before_its_task_ran_does_not_run(self) -> None:
        gate = Gate()
        server, client = await self.pair(ECHO.handler(gate), OTHER.handler(echo))
        await client.call(OTHER, b"")
        end = next(iter(server._connections))  # pyright: ignore[reportPrivateUsage]
        start = end.start

        def start_and_stop(call: object) -> None:
            start(call)  # type: ignore[arg-type]
            end.stopped(call)  # type: ignore[arg-type]

        end.start = start_and_stop  # type: ignore[method-assign]
        await self.fails(client.call(ECHO, b""), Code.CANCELLED)
        self.assertEqual((gate.runs, server.running, len(server._serving.tasks)), (0, 0, 0))


class Connections(Case):
    async def test_a_call_whose_connection_is_lost_may_have_run(self) -> None:
        gate = Gate()
        server, client = await self.pair(ECHO.handler(gate))
        task = asyncio.create_task(client.call(ECHO, b""))
        await gate.begun.wait()
        await server.close()
        await self.fails(task, Code.UNAVAILABLE, Delivery.UNKNOWN)
        self.assertTrue(gate.cancelled.is_set())

    async def test_what_a_library_says_as_it_cancels_a_handler_stays_here(self) -> None:
        async def cancelled(request: bytes, call: ServerCall) -> bytes:
            raise asyncio.CancelledError("a secret")

        _, client = await self.pair(ECHO.handler(cancelled))
        error = await self.fails(client.call(ECHO, b""), Code.CANCELLED, Delivery.EXECUTED)
        self.assertNotIn("secret", error.message)

    async def test_an_address_that_refuses_is_named(self) -> None:
        server, address = await self.serve()
        await server.close()
        client = self.client(address)
        error = await self.fails(client.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertIn(address, error.message)
        await self.fails(client.connect(), Code.UNAVAILABLE, Delivery.NOT_SENT)

    async def test_the_next_address_is_tried(self) -> None:
        gone, refuses = await self.serve()
        await gone.close()
        _, address = await self.serve()
        client = self.client(f"{refuses},{address}")
        self.assertEqual(await client.call(ECHO, b"x"), b"x")

    async def test_a_client_comes_back_after_the_server_does(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())  # a port may be another's by then
        server, address = await self.serve(where=f"unix:{folder}/s")
        client = self.client(address)
        await client.call(ECHO, b"1")
        await server.close()
        await eventually(lambda: not client._ready)
        await self.serve(where=address)
        self.assertEqual(await client.call(ECHO, b"2", wait_for_ready=True, timeout=PATIENCE), b"2")

    async def test_something_else_than_a_server_is_said_to_be_so(self) -> None:
        async def web(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        client = self.client(await self.enterAsyncContext(listener(web)))
        error = await self.fails(client.connect(), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertIn("not a Trunkcall server", error.message)

    async def test_a_silent_server_is_given_up(self) -> None:
        # Of two servers one falls silent behind its preface: a transport that is not read any more.
        gate = Gate()
        server, address = await self.serve(ECHO.handler(gate))
        client = self.client(address, keepalive=0.05, keepalive_timeout=0.05)
        task = asyncio.create_task(client.call(ECHO, b""))
        await gate.begun.wait()
        for end in server._connections:  # pyright: ignore[reportPrivateUsage]
            end.connection.transport.pause_reading()
            end.connection.session.granter.due.clear()
        # The least distance of PINGs is the peer's setting, 5 s: for the test it is none.
        for own in client._live:
            session = own.connection.session
            session.lifecycle.ping_at = clock() - 10_000_000
            session.tick(clock() + 60_000)
            session.tick(clock() + 10_000_000)
            own.connection.schedule()
        error = await self.fails(task, Code.UNAVAILABLE, Delivery.UNKNOWN)
        self.assertIn("nothing received", error.message)

    async def test_several_connections_share_the_calls(self) -> None:
        server, address = await self.serve()
        client = self.client(address, connections=3)
        await client.connect()
        await asyncio.gather(*(client.call(ECHO, b"x") for _ in range(1_000)))
        self.assertEqual(len(server.connections), 3)
        used = [end.connection.session.caller.fresh for end in client._live]
        self.assertTrue(all(slots > 1 for slots in used), used)


class Repetition(Case):
    """The client repeats a unary call once, when it is certain that it did not run (status.md 2)."""

    async def refusing(self, times: int, code: Code, retry_after: int) -> tuple[Client, list[int]]:
        """A client of a server that refuses the first calls, and the attempts that its handler saw."""
        attempts: list[int] = []

        async def serve(request: bytes, call: ServerCall) -> bytes:
            attempts.append(call.attempt)
            return request

        server, client = await self.pair(ECHO.handler(serve))
        await client.connect()
        (end,) = server._connections  # pyright: ignore[reportPrivateUsage]
        start, left = end.start, times

        def refuse_first(call: IncomingCall) -> None:
            nonlocal left
            left -= 1
            if left >= 0:
                call.refuse(Status(code, "not now", retry_after=retry_after / 1_000))
            else:
                start(call)

        end.start = refuse_first  # type: ignore[method-assign]
        return client, attempts

    async def test_a_refused_call_is_repeated_and_says_so(self) -> None:
        client, attempts = await self.refusing(1, Code.UNAVAILABLE, 1)
        self.assertEqual(await client.call(ECHO, b"x"), b"x")
        self.assertEqual(await client.call(ECHO, b"y", metadata=[("k", "v")]), b"y")
        self.assertEqual(attempts, [2, 1])

    async def test_it_is_repeated_once_only(self) -> None:
        client, attempts = await self.refusing(2, Code.UNAVAILABLE, 1)
        await self.fails(client.call(ECHO, b"x"), Code.UNAVAILABLE, Delivery.REFUSED)
        self.assertEqual(attempts, [])

    async def test_where_it_is_pointless_or_too_late_it_is_not(self) -> None:
        for retry_after in (0, 60_000):
            client, _ = await self.refusing(1, Code.UNAVAILABLE, retry_after)
            await self.fails(client.call(ECHO, b"x"), Code.UNAVAILABLE, Delivery.REFUSED)
        with mock.patch("trunkcall.unarycall.LONGEST_PAUSE", 2**62):
            client, _ = await self.refusing(1, Code.UNAVAILABLE, 1_000 * int(PATIENCE))
            await self.fails(client.call(ECHO, b"x", timeout=PATIENCE / 2), Code.UNAVAILABLE, Delivery.REFUSED)

    async def test_a_handlers_own_unavailable_is_not_repeated(self) -> None:
        runs = 0

        async def serve(request: bytes, call: ServerCall) -> bytes:
            nonlocal runs
            runs += 1
            raise StatusError(Code.UNAVAILABLE, "mine")

        _, client = await self.pair(ECHO.handler(serve))
        await self.fails(client.call(ECHO, b"x"), Code.UNAVAILABLE)
        self.assertEqual(runs, 1)


class LimitsOfCalls(Case):
    async def test_calls_above_the_servers_slots_wait_in_turn(self) -> None:
        order: list[bytes] = []

        async def serve(request: bytes, call: ServerCall) -> bytes:
            order.append(request)
            await asyncio.sleep(0)
            return request

        _, client = await self.pair(ECHO.handler(serve), limits=Limits(calls=2))
        await client.connect()
        await asyncio.gather(*(client.call(ECHO, b"%02d" % n) for n in range(50)))
        self.assertEqual(order, [b"%02d" % n for n in range(50)])

    async def test_too_many_waiting_calls_fail_at_once(self) -> None:
        gate = Gate()
        _, address = await self.serve(ECHO.handler(gate), limits=Limits(calls=1))
        client = self.client(address, waiting_calls=1)
        await client.connect()
        first = asyncio.create_task(client.call(ECHO, b"1"))
        await gate.begun.wait()
        second = asyncio.create_task(client.call(ECHO, b"2"))
        await eventually(lambda: len(client._waiting) == 1)
        error = await self.fails(client.call(ECHO, b"3"), Code.RESOURCE_EXHAUSTED, Delivery.NOT_SENT)
        self.assertIn("limit of 1", error.message)
        gate.open.set()
        self.assertEqual(await asyncio.gather(first, second), [b"1", b"2"])

    async def test_too_many_calls_that_wait_for_a_connection_fail_at_once(self) -> None:
        async with black_hole() as hole:
            client = self.client(f"{hole},{hole.replace('127.0.0.1', '127.0.0.2')}", waiting_calls=2)
            waiting = [asyncio.create_task(client.call(ECHO, b"", wait_for_ready=True))]
            stream = client.open(COUNT, b"1", wait_for_ready=True)
            await eventually(lambda: client.gauges().waiting_calls == 2)
            error = await self.fails(client.call(ECHO, b""), Code.RESOURCE_EXHAUSTED, Delivery.NOT_SENT)
            self.assertIn("limit of 2", error.message)
            stream.cancel()
            await eventually(lambda: client.gauges().waiting_calls == 1)
            waiting.append(asyncio.create_task(client.call(ECHO, b"")))
            await eventually(lambda: client.gauges().waiting_calls == 2)
            for call in waiting:
                call.cancel()
            await asyncio.wait(waiting)
            self.assertEqual(client.gauges().waiting_calls, 0)

    async def test_a_waiting_call_ends_at_its_deadline(self) -> None:
        gate = Gate()
        _, client = await self.pair(ECHO.handler(gate), limits=Limits(calls=1))
        await client.connect()
        first = asyncio.create_task(client.call(ECHO, b"1"))
        await gate.begun.wait()
        await self.fails(client.call(ECHO, b"2", timeout=0.05), Code.DEADLINE_EXCEEDED, Delivery.NOT_SENT)
        gate.open.set()
        await first
        self.assertEqual((len(client._waiting), gate.runs), (0, 1))

    async def test_calls_above_the_running_handlers_are_refused_then_repeated_once(self) -> None:
        gate = Gate()
        server, client = await self.pair(ECHO.handler(gate), OTHER.handler(echo), running_handlers=1)
        first = asyncio.create_task(client.call(ECHO, b"1"))
        await gate.begun.wait()
        error = await self.fails(client.call(OTHER, b"2", timeout=PATIENCE), Code.RESOURCE_EXHAUSTED, Delivery.REFUSED)
        self.assertGreater(error.retry_after, 0)
        gate.open.set()
        await first
        self.assertEqual(server.running, 0)


class Loops(unittest.TestCase):
    def test_a_client_of_another_loop_says_so(self) -> None:
        client = Client("127.0.0.1:1")

        async def use() -> None:
            with self.assertRaises(Exception):  # noqa: B017
                await client.call(ECHO, b"")

        async def use_again() -> None:
            with self.assertRaisesRegex(RuntimeError, "another event loop, which is closed"):
                await client.call(ECHO, b"")

        async def close_first() -> None:
            await use()
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

        asyncio.run(close_first())
        asyncio.run(use_again())


class Closing(Case):
    async def test_closing_the_client_ends_its_calls(self) -> None:
        gate = Gate()
        server, client = await self.pair(ECHO.handler(gate), *HANDLERS)
        task = asyncio.create_task(client.call(ECHO, b""))
        await gate.begun.wait()
        stream = client.open(TWICE)
        await client.close()
        await self.fails(task, Code.CANCELLED, Delivery.UNKNOWN)
        self.assertEqual((await stream.status()).code, Code.CANCELLED)
        await self.fails(client.call(ECHO, b""), Code.CANCELLED, Delivery.NOT_SENT)
        await eventually(lambda: server.running == 0 and not server.connections)


if __name__ == "__main__":
    unittest.main()
