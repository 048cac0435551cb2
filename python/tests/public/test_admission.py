"""Admission: asked before anything is done for a call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NoReturn

from google.protobuf.wrappers_pb2 import StringValue

from trunkcall import (
    GZIP,
    Admission,
    Arrival,
    Call,
    Code,
    Delivery,
    Next,
    Server,
    ServerCall,
    StatusError,
    current_call,
    one_way,
)

from .kit import COUNT, ECHO, PATIENCE, Case, Gate, all_of, count, echo, eventually, inline

TELL = one_way("/test.Service/Tell", bytes)


class Counted:
    """A codec of raw bytes that counts what it decodes."""

    name, number = "counted", 8
    decoded = 0

    def encoder(self, kind: type[Any]) -> Any:
        return bytes

    def decoder(self, kind: type[Any]) -> Any:
        def decode(data: bytes) -> bytes:
            self.decoded += 1
            return bytes(data)

        return decode


class Admitting(Case):
    async def test_it_is_told_of_the_call_and_says_who_calls(self) -> None:
        seen: list[Arrival] = []
        principals: list[Any] = []

        async def admit(arrival: Arrival) -> Admission:
            seen.append(arrival)
            await asyncio.sleep(0)
            return Admission(principal=dict(arrival.metadata)["who"])

        async def serve(request: bytes, call: ServerCall) -> bytes:
            around = current_call()
            principals.append((call.principal, around.principal if around else None))
            return request

        async def many(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
            principals.append(call.principal)
            yield request

        _, client = await self.pair(ECHO.handler(serve), COUNT.handler(many), admission=admit)
        self.assertEqual(await client.call(ECHO, b"x", metadata=[("who", "ada")], timeout=PATIENCE), b"x")
        self.assertEqual(await all_of(client.open(COUNT, b"y", metadata=[("who", "bob")])), [b"y"])
        self.assertEqual(principals, [("ada", "ada"), "bob"])
        one, other = seen
        self.assertEqual((one.method, one.protocol, one.tls), (ECHO, "trunk", None))
        self.assertTrue(one.peer.startswith("127.0.0.1:"))
        self.assertTrue(one.time_remaining is not None and 0 < one.time_remaining <= PATIENCE)
        self.assertEqual((other.method, other.time_remaining), (COUNT, None))

    async def test_what_it_rejects_was_refused_with_all_that_it_says_and_is_not_decoded(self) -> None:
        runs: list[str] = []

        def admit(arrival: Arrival) -> NoReturn:
            details = [StringValue(value="why")]
            raise StatusError(Code.UNAUTHENTICATED, "no token", details, [("a", "b")], retry_after=70.0)

        async def serve(request: bytes, call: ServerCall) -> bytes:
            runs.append("handler")
            return request

        async def tell(request: bytes, call: ServerCall) -> None:
            runs.append("one-way")

        async def intercept(call: Call, proceed: Next) -> Any:
            runs.append("interceptor")
            return await proceed(call)

        counted = Counted()
        server, address = await self.serve(
            ECHO.handler(serve),
            COUNT.handler(count),
            TELL.handler(tell),
            admission=admit,
            interceptors=[intercept],
            codecs=[counted],
        )
        client = self.client(address, codec=counted, compression=GZIP)
        for work in (client.call(ECHO, bytes(5_000)), all_of(client.open(COUNT, b"1")), client.send(TELL, b"")):
            error = await self.fails(work, Code.UNAUTHENTICATED, Delivery.REFUSED)
            self.assertEqual((error.message, error.retry_after), ("no token", 70.0))
            self.assertEqual((error.detail(StringValue), list(error.trailer)), (StringValue(value="why"), [("a", "b")]))
        self.assertEqual((runs, counted.decoded, server.running), ([], 0, 0))

    async def test_its_own_exception_is_told_by_an_id_and_was_refused(self) -> None:
        def admit(arrival: Arrival) -> NoReturn:
            raise KeyError("a secret")

        _, client = await self.pair(admission=admit)
        with self.assertLogs("trunkcall", "ERROR") as logs:
            error = await self.fails(client.call(ECHO, b""), Code.UNKNOWN, Delivery.REFUSED)
        self.assertNotIn("secret", error.message)
        self.assertIn("a secret", "".join(logs.output))

        def wrong(arrival: Arrival) -> Any:
            return "ada"

        _, client = await self.pair(admission=wrong)
        with self.assertLogs("trunkcall", "ERROR") as logs:
            await self.fails(client.call(ECHO, b""), Code.UNKNOWN, Delivery.REFUSED)
        self.assertIn("want an Admission", "".join(logs.output))

    async def test_one_that_returns_nothing_lets_nobody_in(self) -> None:
        gate = Gate()

        def falls_off(arrival: Arrival) -> Any:
            pass

        async def later(arrival: Arrival) -> Any:
            await asyncio.sleep(0)

        for admit in (falls_off, later):
            _, client = await self.pair(ECHO.handler(gate), admission=admit)
            with self.assertLogs("trunkcall", "ERROR") as logs:
                await self.fails(client.call(ECHO, b""), Code.UNKNOWN, Delivery.REFUSED)
            self.assertIn("admission returned None, want an Admission", "".join(logs.output))
        self.assertEqual(gate.runs, 0)

    async def test_a_place_is_released_once_when_the_handler_is_done(self) -> None:
        places: list[int] = []

        def admit(arrival: Arrival) -> Admission:
            if len(places) >= 1:
                raise StatusError(Code.RESOURCE_EXHAUSTED, "full")
            places.append(1)
            return Admission(release=lambda: places.remove(1))

        gate = Gate()
        _, client = await self.pair(ECHO.handler(gate), admission=admit)
        first = asyncio.create_task(client.call(ECHO, b"1"))
        await gate.begun.wait()
        await self.fails(client.call(ECHO, b"2"), Code.RESOURCE_EXHAUSTED, Delivery.REFUSED)
        gate.open.set()
        self.assertEqual(await first, b"1")
        await eventually(lambda: not places)
        gate.begun.clear()
        gate.open.clear()
        again = asyncio.create_task(client.call(ECHO, b"3"))
        await gate.begun.wait()
        again.cancel()
        await eventually(lambda: not places)
        self.assertEqual(len(places), 0)

    async def test_a_request_that_does_not_decode_releases_its_place(self) -> None:
        released: list[str] = []

        class Strict(Counted):
            def decoder(self, kind: type[Any]) -> Any:
                def decode(data: bytes) -> bytes:
                    raise ValueError("not today")

                return decode

        _, address = await self.serve(
            ECHO.handler(echo),
            admission=lambda arrival: Admission(release=lambda: released.append(arrival.method.name)),
            codecs=[Strict()],
        )
        client = self.client(address, codec=Counted())
        await self.fails(client.call(ECHO, b"x"), Code.INVALID_ARGUMENT, Delivery.REFUSED)
        await eventually(lambda: bool(released))
        self.assertEqual(released, [ECHO.name])

    async def test_it_waits_within_the_time_of_the_call_and_ends_with_it(self) -> None:
        waiting = Gate()

        async def admit(arrival: Arrival) -> Admission:
            await waiting(b"", None)  # type: ignore[arg-type]
            return Admission()

        _, client = await self.pair(ECHO.handler(echo), admission=admit)
        task = asyncio.create_task(client.call(ECHO, b""))
        await waiting.begun.wait()
        task.cancel()
        async with asyncio.timeout(PATIENCE):
            await waiting.cancelled.wait()

    async def test_inline_handlers_and_one_way_calls_wait_for_it(self) -> None:
        told: list[bytes] = []

        async def admit(arrival: Arrival) -> Admission:
            await asyncio.sleep(0)
            return Admission()

        async def tell(request: bytes, call: ServerCall) -> None:
            told.append(request)

        _, client = await self.pair(ECHO.handler(inline, inline=True), TELL.handler(tell), admission=admit)
        self.assertEqual(await client.call(ECHO, b"x"), b"x")
        await client.send(TELL, b"y")
        await eventually(lambda: told == [b"y"])

    async def test_what_is_no_function_is_named_where_it_is_given(self) -> None:
        wrong: Any = "token"
        with self.assertRaisesRegex(TypeError, "option admission: 'token' was given, want a function"):
            await self.serve(admission=wrong)
        with self.assertRaisesRegex(TypeError, "option interceptors: 'token' was given, want a list of functions"):
            await self.serve(interceptors=[wrong])
        for option in ("running_handlers", "drain_delay", "max_connection_age", "waiting_calls"):
            with self.assertRaisesRegex(ValueError, f"option {option}: -1 was given, want .*, at least 0|at least 1"):
                Server(**{option: -1})  # type: ignore[arg-type]
