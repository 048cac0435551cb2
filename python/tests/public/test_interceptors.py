"""Interceptors: the same shape at both ends and for all kinds."""

from __future__ import annotations

import unittest
from typing import Any

from trunkcall import Call, Code, Delivery, MessageStream, Next, StatusError

from .kit import COUNT, ECHO, JOIN, Case, all_of


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


if __name__ == "__main__":
    unittest.main()
