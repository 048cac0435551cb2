"""Interceptors: the same shape at both ends and for all kinds."""

from __future__ import annotations

import asyncio
import contextlib
import unittest
from collections.abc import AsyncIterator
from typing import Any

from trunkcall import Call, CallOptions, Code, Delivery, MessageStream, Next, ServerCall, StatusError, for_method

from .kit import COUNT, ECHO, JOIN, OTHER, TWICE, Case, all_of, count, echo, eventually


class Upper:
    """A stream whose messages are put into capitals."""

    def __init__(self, inner: MessageStream) -> None:
        self.inner = inner

    async def send(self, message: Any) -> bool:
        return await self.inner.send(message.upper())

    async def receive(self) -> Any | None:
        message = await self.inner.receive()
        return None if message is None else message.upper()


class Interceptors(Case):
    async def test_the_first_is_the_outermost_at_both_ends(self) -> None:
        seen: list[str] = []

        def named(name: str) -> Any:
            async def intercept(call: Call, proceed: Next) -> Any:
                seen.append(f"{name} in")
                answer = await proceed(call)
                seen.append(f"{name} out")
                return answer

            return intercept

        _, address = await self.serve(interceptors=[named("c"), named("d")])
        client = self.client(address, interceptors=[named("a"), named("b")])
        self.assertEqual(await client.call(ECHO, b"x"), b"x")
        self.assertEqual(seen, ["a in", "b in", "c in", "d in", "d out", "c out", "b out", "a out"])

    async def test_the_time_of_a_call_is_not_begun_anew_by_them(self) -> None:
        left: list[float | None] = []

        async def asks(request: bytes, call: ServerCall) -> bytes:
            left.append(call.time_remaining())
            return request

        async def asked(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
            left.append(call.time_remaining())
            async for one in requests:
                yield one

        async def late(call: Call, proceed: Next) -> Any:
            await asyncio.sleep(0.1)
            return await proceed(call)

        _, address = await self.serve(ECHO.handler(asks), TWICE.handler(asked))
        client = self.client(address, interceptors=[late])
        await client.call(ECHO, b"x", timeout=60)
        async with client.stream(TWICE, options=CallOptions(timeout=60)) as stream:
            await stream.half_close()
            self.assertIsNone(await stream.receive())
        self.assertEqual([one is not None and one <= 59.9 for one in left], [True, True], left)

    async def test_what_was_not_received_is_dropped_by_cancel(self) -> None:
        _, address = await self.serve(COUNT.handler(count))

        async def passes(call: Call, proceed: Next) -> Any:
            return await proceed(call)

        for interceptors in ([], [passes]):
            client = self.client(address, interceptors=interceptors)
            stream = client.stream(COUNT, b"3")
            await stream.header()
            await stream.status()
            stream.cancel()
            self.assertIsNone(await stream.receive())

    async def test_one_of_a_method_is_passed_by_the_calls_of_others(self) -> None:
        async def shouts(call: Call[bytes, bytes], proceed: Next[bytes, bytes]) -> bytes:
            call.request += b"!"
            return (await proceed(call)).upper()

        async def counts(call: Call[bytes, bytes], proceed: Next) -> Any:
            self.assertEqual(call.request, b"2")
            return Upper(await proceed(call))

        async def again(call: Call[bytes, bytes], proceed: Next[bytes, bytes]) -> bytes:
            return await proceed(call) + b"?"

        _, address = await self.serve(
            ECHO.handler(echo), OTHER.handler(echo), COUNT.handler(count), interceptors=[for_method(ECHO, again)]
        )
        client = self.client(address, interceptors=[for_method(ECHO, shouts), for_method(COUNT, counts)])
        self.assertEqual(await client.call(ECHO, b"x"), b"X!?")
        self.assertEqual(await client.call(OTHER, b"x"), b"x")
        self.assertEqual(await all_of(client.open(COUNT, b"2")), [b"0", b"1"])

    async def test_one_of_a_method_that_forgets_to_answer_is_named(self) -> None:
        async def forgets(call: Call[bytes, bytes], proceed: Next[bytes, bytes]) -> bytes:
            await proceed(call)
            return None  # type: ignore[return-value]

        _, address = await self.serve()
        client = self.client(address, interceptors=[for_method(ECHO, forgets)])
        error = await self.fails(client.call(ECHO, b"x"), Code.INTERNAL)
        self.assertIn("forgets returned None", error.message)

    def test_one_of_no_method(self) -> None:
        async def known(call: Call, proceed: Next) -> Any:
            return await proceed(call)

        with self.assertRaisesRegex(TypeError, "option method: '/a/b' was given, want a method"):
            for_method("/a/b", known)  # type: ignore[call-overload]
        with self.assertRaisesRegex(TypeError, "option intercept: None"):
            for_method(ECHO, None)  # type: ignore[call-overload]

    async def test_a_clients_interceptor_adds_metadata_that_the_servers_checks(self) -> None:
        async def add(call: Call, proceed: Next) -> Any:
            call.metadata.append(("authorization", "token"))
            return await proceed(call)

        async def check(call: Call, proceed: Next) -> Any:
            if ("authorization", "token") not in call.metadata:
                raise StatusError(Code.UNAUTHENTICATED, "who are you")
            return await proceed(call)

        _, address = await self.serve(interceptors=[check])
        await self.fails(self.client(address).call(ECHO, b""), Code.UNAUTHENTICATED, Delivery.REFUSED)
        await self.fails(all_of(self.client(address).open(COUNT, b"1")), Code.UNAUTHENTICATED, Delivery.REFUSED)
        trusted = self.client(address, interceptors=[add])
        self.assertEqual(await trusted.call(ECHO, b"x"), b"x")
        self.assertEqual(await all_of(trusted.open(COUNT, b"2")), [b"0", b"1"])
        stream = trusted.open(JOIN)
        await stream.send(b"a")
        self.assertEqual(await stream.response(), b"a")

    async def test_an_interceptor_may_answer_itself_or_call_again(self) -> None:
        async def cache(call: Call, proceed: Next) -> Any:
            return b"cached" if call.request == b"known" else await proceed(call)

        async def retry(call: Call, proceed: Next) -> Any:
            try:
                return await proceed(call)
            except StatusError:
                call.request = b"again"
                return await proceed(call)

        async def fail_first(call: Call, proceed: Next) -> Any:
            if call.request != b"again":
                raise StatusError(Code.ABORTED, "not yet")
            return await proceed(call)

        _, address = await self.serve(interceptors=[fail_first])
        client = self.client(address, interceptors=[cache, retry])
        self.assertEqual(await client.call(ECHO, b"known"), b"cached")
        self.assertEqual(await client.call(ECHO, b"x"), b"again")

    async def test_a_stream_may_be_wrapped_at_either_end(self) -> None:
        async def at_client(call: Call, proceed: Next) -> Any:
            return Upper(await proceed(call))

        async def at_server(call: Call, proceed: Next) -> Any:
            if call.stream is not None:
                call.stream = Upper(call.stream)
            return await proceed(call)

        _, address = await self.serve()
        stream = self.client(address, interceptors=[at_client]).open(JOIN)
        await stream.send(b"a")
        self.assertEqual(await stream.response(), b"A")
        _, address = await self.serve(interceptors=[at_server])
        stream = self.client(address).open(JOIN)
        await stream.send(b"b")
        self.assertEqual(await stream.response(), b"B")

    async def test_the_answer_beside_the_message_is_seen(self) -> None:
        seen: list[Any] = []

        async def look(call: Call, proceed: Next) -> Any:
            answer = await proceed(call)
            seen.append(call.response.peer)
            return answer

        _, address = await self.serve()
        await self.client(address, interceptors=[look]).call(ECHO, b"")
        self.assertEqual(seen, [address])

    async def test_one_of_a_client_that_forgets_to_return_fails_the_call_which_was_executed(self) -> None:
        ended: list[Any] = []

        async def forgets(call: Call, proceed: Next) -> Any:
            await proceed(call)

        async def outer(call: Call, proceed: Next) -> Any:
            call.on_end(lambda status: ended.append((status.code, status.delivery)))
            return await proceed(call)

        _, address = await self.serve()
        error = await self.fails(
            self.client(address, interceptors=[outer, forgets]).call(ECHO, b"x"), Code.INTERNAL, Delivery.EXECUTED
        )
        self.assertIn("forgets returned None for a call of /test.Service/Echo", error.message)
        self.assertTrue(error.local)
        self.assertEqual(ended, [(Code.INTERNAL, Delivery.EXECUTED)])

    async def test_one_of_a_client_that_neither_goes_on_nor_answers_fails_the_call_which_was_not_sent(self) -> None:
        async def idle(call: Call, proceed: Next) -> Any:
            pass

        async def hides(call: Call, proceed: Next) -> Any:
            with contextlib.suppress(StatusError):
                return await proceed(call)

        async def reject(call: Call, proceed: Next) -> Any:
            raise StatusError(Code.UNAUTHENTICATED, "who are you")

        _, address = await self.serve()
        await self.fails(self.client(address, interceptors=[idle]).call(ECHO, b"x"), Code.INTERNAL, Delivery.NOT_SENT)
        _, address = await self.serve(interceptors=[reject])
        hidden = self.client(address, interceptors=[hides]).call(ECHO, b"x")
        await self.fails(hidden, Code.INTERNAL, Delivery.REFUSED)  # as the attempt was

    async def test_one_of_a_client_that_forgets_the_stream_ends_the_call(self) -> None:
        async def forgets(call: Call, proceed: Next) -> Any:
            await proceed(call)

        async def idle(call: Call, proceed: Next) -> Any:
            pass

        server, address = await self.serve()
        stream = self.client(address, interceptors=[forgets]).open(TWICE)
        error = await self.fails(stream.receive(), Code.INTERNAL, Delivery.UNKNOWN)
        self.assertIn("forgets returned None for a call of /test.Service/Twice", error.message)
        await eventually(lambda: server.running == 0)
        await self.fails(
            self.client(address, interceptors=[idle]).open(TWICE).receive(), Code.INTERNAL, Delivery.NOT_SENT
        )

    async def test_one_of_a_server_that_forgets_to_return_is_logged_and_the_handler_not_blamed(self) -> None:
        async def forgets(call: Call, proceed: Next) -> Any:
            await proceed(call)

        async def idle(call: Call, proceed: Next) -> Any:
            pass

        for one, delivery, said in (
            (forgets, Delivery.EXECUTED, "an interceptor of the server left no response"),
            (idle, Delivery.REFUSED, "an interceptor of the server neither went on nor answered"),
        ):
            _, address = await self.serve(interceptors=[one])
            client = self.client(address)
            with self.assertLogs("trunkcall", "ERROR") as logged:
                error = await self.fails(client.call(ECHO, b"x"), Code.INTERNAL, delivery)
            self.assertEqual(error.message, said)
            self.assertIn(f"{one.__name__} returned None for a call of /test.Service/Echo", logged.output[0])
            self.assertEqual(await all_of(client.open(COUNT, b"0")), [])  # nothing is to be returned of this

    async def test_a_handler_that_forgets_to_return_is_named_behind_interceptors(self) -> None:
        async def forgets(request: bytes, call: ServerCall) -> Any:
            pass

        async def around(call: Call, proceed: Next) -> Any:
            return await proceed(call)

        _, address = await self.serve(OTHER.handler(forgets), interceptors=[around])
        with self.assertLogs("trunkcall", "ERROR"):
            error = await self.fails(self.client(address).call(OTHER, b"x"), Code.INTERNAL, Delivery.EXECUTED)
        self.assertIn("the handler of /test.Service/Other returned", error.message)


if __name__ == "__main__":
    unittest.main()
