"""How calls end at their deadlines, what is told of it, and how deadlines are handed on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from trunkcall import Call, Code, Delivery, Limits, Next, ServerCall, StatusError

from .kit import COUNT, ECHO, OTHER, TWICE, Case, Gate, black_hole, echo, eventually


class Deadlines(Case):
    async def test_a_call_ends_at_its_deadline_and_its_handler_is_cancelled(self) -> None:
        gate = Gate()
        server, client = await self.pair(ECHO.handler(gate))
        await self.runs_out(lambda timeout: client.call(ECHO, b"", timeout=timeout), gate.begun.is_set)
        await eventually(gate.cancelled.is_set)
        await eventually(lambda: server.running == 0)

    async def test_a_deadline_that_has_passed_sends_nothing(self) -> None:
        gate = Gate()
        _, client = await self.pair(ECHO.handler(gate), OTHER.handler(echo))
        for timeout in (0.0, -1.0):
            work = client.call(ECHO, b"", timeout=timeout)
            await self.fails(work, Code.DEADLINE_EXCEEDED, Delivery.NOT_SENT)
        await client.call(OTHER, b"")
        self.assertEqual(gate.runs, 0)

    async def test_a_timeout_larger_than_the_field_is_no_error(self) -> None:
        _, client = await self.pair()
        for timeout in (4_294.0, 4_295.0, 1e8, 1e300, float("inf")):
            self.assertEqual(await client.call(ECHO, b"x", timeout=timeout), b"x")

    async def test_the_handler_sees_the_time_that_remains(self) -> None:
        seen: list[float | None] = []

        async def serve(request: bytes, call: ServerCall) -> bytes:
            seen.append(call.time_remaining())
            return b""

        _, client = await self.pair(ECHO.handler(serve))
        await client.call(ECHO, b"")
        await client.call(ECHO, b"", timeout=100)
        self.assertIsNone(seen[0])
        self.assertTrue(90 < (seen[1] or 0) <= 100, seen)

    async def test_a_handlers_own_calls_inherit_its_deadline(self) -> None:
        seen: list[float] = []

        async def inner(request: bytes, call: ServerCall) -> bytes:
            seen.append(call.time_remaining() or 1e9)
            return request

        _, second = await self.serve(ECHO.handler(inner))
        relay = self.client(second)

        async def serve(request: bytes, call: ServerCall) -> bytes:
            await relay.call(ECHO, request)
            await relay.call(ECHO, request, timeout=1_000)
            await relay.call(ECHO, request, timeout=50)
            return request

        _, client = await self.pair(ECHO.handler(serve))
        await client.call(ECHO, b"", timeout=100)
        self.assertEqual([round(remaining, -1) for remaining in seen], [100, 100, 50])

    async def test_a_stream_ends_at_its_deadline(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
            yield b"1"
            await asyncio.Event().wait()

        _, client = await self.pair(COUNT.handler(serve))
        received: list[bytes | None] = []

        async def receive(limit: float) -> None:
            stream = client.open(COUNT, b"", timeout=limit)
            while True:
                received.append(await stream.receive())

        await self.runs_out(receive, lambda: bool(received))
        self.assertEqual(set(received), {b"1"})

    async def test_a_deadline_that_passes_is_told_with_its_method_and_length(self) -> None:
        told = "the deadline passed: /test.Service/{}"

        async def hangs(requests: AsyncIterator[bytes], call: ServerCall) -> None:
            await asyncio.Event().wait()

        async def passes_on(call: Call, proceed: Next) -> object:
            return await proceed(call)

        _, client = await self.pair(ECHO.handler(Gate()), TWICE.handler(hangs))
        around = self.client(client.target, interceptors=[passes_on])

        async def says(call: Callable[[float], Awaitable[object]], words: str) -> None:
            timeout = 0.2
            while True:  # on a busy machine it may pass before the call was sent, or the server may tell it first
                with self.assertRaises(StatusError) as caught:
                    await call(timeout)
                if caught.exception.local and caught.exception.delivery is Delivery.UNKNOWN:
                    break
                timeout *= 2
                self.assertLess(timeout, 60)
            had = f"{timeout:g}s" if timeout >= 1 else f"{timeout * 1e3:g}ms"
            self.assertEqual(caught.exception.message, f"{words} had {had}")

        for one in (client, around):
            await says(lambda timeout: one.call(ECHO, b"", timeout=timeout), told.format("Echo"))  # noqa: B023
            await says(lambda timeout: one.open(TWICE, timeout=timeout).receive(), told.format("Twice"))  # noqa: B023

    async def test_a_deadline_that_a_handler_has_from_its_caller_is_told_with_the_method_alone(self) -> None:
        made: list[asyncio.Task[bytes]] = []

        async def onward(request: bytes, call: ServerCall) -> bytes:
            made.append(asyncio.create_task(client.call(ECHO, b"", timeout=3_600)))
            return await asyncio.shield(made[-1])

        _, client = await self.pair(ECHO.handler(Gate()), OTHER.handler(onward))
        timeout = 0.2
        while True:  # on a busy machine it may pass before the call was sent, or the server may tell it first
            with self.assertRaises(StatusError):
                await client.call(OTHER, b"", timeout=timeout)
            if made:
                with self.assertRaises(StatusError) as caught:
                    await made[-1]
                if caught.exception.local and caught.exception.delivery is Delivery.UNKNOWN:
                    break
            timeout *= 2
            self.assertLess(timeout, 60)
        self.assertEqual(caught.exception.message, "the deadline passed: /test.Service/Echo")

    async def test_a_deadline_that_passes_while_a_call_waits_is_told_with_its_method_and_length(self) -> None:
        gate = Gate()
        _, client = await self.pair(ECHO.handler(gate), limits=Limits(calls=1))
        holding = asyncio.create_task(client.call(ECHO, b""))
        await gate.begun.wait()
        error = await self.fails(client.call(ECHO, b"", timeout=1), Code.DEADLINE_EXCEEDED, Delivery.NOT_SENT)
        self.assertIn("while it waited for a slot: /test.Service/Echo had 1s", error.message)
        holding.cancel()

    async def test_a_server_that_says_nothing_costs_no_more_than_the_deadline(self) -> None:
        async with black_hole() as address:
            client = self.client(address)
            await self.fails(client.call(ECHO, b"", timeout=0.05), Code.DEADLINE_EXCEEDED, Delivery.NOT_SENT)

    async def test_a_port_that_accepts_and_says_nothing_is_told_apart(self) -> None:
        silent = "it has accepted the connection and said nothing for [0-9.]+ s: check that a Trunkcall serv"
        async with black_hole() as address, black_hole() as other:
            for target in (address, f"{address},{other}"):
                client = self.client(target)
                timeout = 0.1
                while True:  # where the machine stood still, nobody had accepted the connection yet
                    with self.assertRaises(StatusError) as caught:
                        await client.call(ECHO, b"", timeout=timeout)
                    self.assertEqual(caught.exception.code, Code.DEADLINE_EXCEEDED)
                    self.assertEqual(caught.exception.delivery, Delivery.NOT_SENT)
                    if "said nothing" in caught.exception.message:
                        break
                    timeout *= 2
                    self.assertLess(timeout, 20, caught.exception.message)
                self.assertRegex(caught.exception.message, silent)
