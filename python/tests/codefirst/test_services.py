"""Code-first services and their clients, over a connection."""

from __future__ import annotations

import ast
import asyncio
import unittest
from collections.abc import AsyncIterator, Callable
from typing import Any

from tests.public.kit import PATIENCE, Case
from trunkcall import JSON, MSGPACK, RAW, Call, CallOptions, Client, Code, Delivery, Next, Server, codefirst, unary

from .calculator import Blocking, Calculator, Division, Item, RemoteCalculator, divide

REFUSED, NOT_SENT, EXECUTED = Delivery.REFUSED, Delivery.NOT_SENT, Delivery.EXECUTED
RAW_DIV = unary("/calc/div", bytes, bytes)


class Numbered:
    """Bytes as they are, by the number of another codec."""

    def __init__(self, number: int) -> None:
        self.number, self.name = number, "bytes"

    def encoder(self, kind: type[Any]) -> Any:
        return bytes

    def decoder(self, kind: type[Any]) -> Any:
        return bytes


class Own:
    """A user's codec, of Python's own literals."""

    number, name = 9, "literals"

    def encoder(self, kind: type[Any]) -> Any:
        return lambda tree: repr(tree).encode()

    def decoder(self, kind: type[Any]) -> Any:
        return lambda data: ast.literal_eval(data.decode())


async def numbers(end: int) -> AsyncIterator[int]:
    for number in range(end):
        yield number


class Services(Case):
    async def begin(self, **options: Any) -> Client:
        _, address = await self.serve(*codefirst.handlers(Calculator(), strict_json=True), **options)
        client = Client(address, codecs=options.get("codecs", ()))
        self.addAsyncCleanup(client.close)
        return client

    async def test_a_protocol_class_calls_what_a_decorated_class_serves(self) -> None:
        client = await self.begin(codecs=[Own()])
        for codec in (MSGPACK, JSON, Own()):
            with self.subTest(codec.name):
                remote = codefirst.client(RemoteCalculator, client, codec=codec)
                division = await remote.div(7, b=2)
                self.assertEqual(division, Division(3, 1))
                self.assertIs(type(division), Division)
                self.assertEqual(await remote.add(1, 2, 3), 6)
                self.assertEqual(await remote.add(), 0)
                self.assertEqual(await remote.next_item(Item(4, ["a"])), Item(5, ["a"]))
                self.assertEqual(await remote.next_item(Item(4), CallOptions(timeout=60.0)), Item(5))
                await self.fails(remote.next_item(Item(4), CallOptions(max_receive=1)), Code.RESOURCE_EXHAUSTED)
                await remote.forget()
        self.assertEqual(await divide(client), 4)

    async def test_a_codec_that_the_client_does_not_know_is_refused(self) -> None:
        remote = codefirst.client(RemoteCalculator, await self.begin(), codec=Own())
        await self.fails(remote.div(1, 2), Code.UNIMPLEMENTED, NOT_SENT)
        await self.fails(remote.div(1, 2), Code.UNIMPLEMENTED, NOT_SENT)

    async def test_plain_methods_run_on_threads(self) -> None:
        remote = codefirst.client(RemoteCalculator, await self.begin())
        self.assertFalse(await remote.on_loop())

    async def test_streams_are_asynchronous_iterators(self) -> None:
        client = await self.begin()
        for codec in (MSGPACK, JSON):
            remote = codefirst.client(RemoteCalculator, client, codec=codec)
            self.assertEqual([n async for n in remote.count(4)], [0, 1, 2, 3])
            self.assertEqual(await remote.summed(numbers(5)), 10)
            self.assertEqual([n async for n in remote.doubled(numbers(3))], [0, 2, 4])

    async def test_what_an_iterator_of_requests_raises_comes_out(self) -> None:
        remote = codefirst.client(RemoteCalculator, await self.begin())

        async def broken() -> AsyncIterator[int]:
            yield 1
            raise LookupError("no more")

        with self.assertRaises(LookupError):
            await remote.summed(broken())
        with self.assertRaises(LookupError):
            [n async for n in remote.doubled(broken())]

    async def test_who_is_cancelled_while_an_iterator_of_requests_ends_is_cancelled(self) -> None:
        remote = codefirst.client(RemoteCalculator, await self.begin())
        leaving, let_on, left = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def requests() -> AsyncIterator[int]:
            try:
                yield 1
                await asyncio.Event().wait()
            finally:
                leaving.set()
                await let_on.wait()
                left.set()

        async def takes_one() -> None:
            answers: Any = remote.doubled(requests())
            self.assertEqual(await anext(answers), 2)
            await answers.aclose()

        taking = asyncio.create_task(takes_one())
        await asyncio.wait_for(leaving.wait(), PATIENCE)
        taking.cancel()
        await asyncio.wait([taking], timeout=PATIENCE)
        self.assertTrue(taking.cancelled())
        let_on.set()
        await asyncio.wait_for(left.wait(), PATIENCE)

    async def test_a_failure_of_the_handler_is_the_callers(self) -> None:
        remote = codefirst.client(RemoteCalculator, await self.begin())
        error = await self.fails(remote.div(1, 0), Code.INVALID_ARGUMENT, EXECUTED)
        self.assertEqual(error.message, "division by zero")

    async def test_arguments_that_do_not_fit_are_not_sent(self) -> None:
        remote: Any = codefirst.client(RemoteCalculator, await self.begin())
        calls: list[tuple[Callable[[], Any], str]] = [
            (lambda: remote.div("secret", 1), "parameter 1 of /calc/div: want a whole number from "),
            (lambda: remote.next_item(Item(300)), "parameter 1 of /calc/nextItem, at .itemId: want a whole number"),
            (lambda: remote.div(1 << 70, 1), "parameter 1 of /calc/div: want a whole number"),
        ]
        for call, said in calls:
            error = await self.fails(call(), Code.INVALID_ARGUMENT, NOT_SENT)
            self.assertIn(said, error.message)
            self.assertNotIn("secret", error.message)

    async def test_arguments_that_do_not_fit_the_server_are_refused_by_name(self) -> None:
        client = await self.begin(codecs=[RAW])
        await client.connect()
        for number, data, said in (
            (2, b'[7,"two"]', "parameter 2 of /calc/div: want a whole number from -9223372036854775808 to"),
            (2, b"[7]", "/calc/div takes 2 parameters, got 1"),
            (2, b"[7", "the request of /calc/div: the JSON is not valid"),
            (3, b"\x93\x01\x02\x03", "/calc/div takes 2 parameters, got 3"),
            (3, b"\x92\x01\xc0", "parameter 2 of /calc/div: want a whole number"),
        ):
            other = Client(client.target, codec=Numbered(number))
            self.addAsyncCleanup(other.close)
            error = await self.fails(other.call(RAW_DIV, data), Code.INVALID_ARGUMENT, REFUSED)
            self.assertIn(said, error.message)

    async def test_a_strict_service_names_the_field_that_there_is_not(self) -> None:
        client = await self.begin()
        other = Client(client.target, codec=Numbered(2))
        self.addAsyncCleanup(other.close)
        method = unary("/calc/nextItem", bytes, bytes)
        error = await self.fails(other.call(method, b'[{"itemId":1,"z":2}]'), Code.INVALID_ARGUMENT, REFUSED)
        self.assertEqual(error.message, 'parameter 1 of /calc/nextItem: there is no field "z"')

    async def test_a_result_of_the_wrong_type_is_internal_and_the_log_names_it(self) -> None:
        remote = codefirst.client(RemoteCalculator, await self.begin())
        with self.assertLogs("trunkcall", "ERROR") as logged:
            error = await self.fails(remote.wrong(), Code.INTERNAL, EXECUTED)
        self.assertIn("the result of /calc/wrong cannot be sent", error.message)
        self.assertNotIn("int", error.message.replace("cannot", ""))
        self.assertIn("the result of /calc/wrong: want text, got a value of type int", logged.output[0])

    async def test_what_is_not_decorated_cannot_be_reached(self) -> None:
        remote = codefirst.client(RemoteCalculator, await self.begin())
        await self.fails(remote.hidden(), Code.UNIMPLEMENTED, REFUSED)

    async def test_other_codecs_are_refused_and_the_right_ones_named(self) -> None:
        client = await self.begin()
        error = await self.fails(client.call(RAW_DIV, b"", codec=RAW), Code.UNIMPLEMENTED, REFUSED)
        self.assertIn("2 (json), 3 (msgpack)", error.message)
        remote = codefirst.client(RemoteCalculator, client, codec=RAW)
        error = await self.fails(remote.div(1, 2), Code.UNIMPLEMENTED, NOT_SENT)
        self.assertIn("3 (msgpack), 2 (json)", error.message)

    async def test_interceptors_see_values_and_may_replace_them(self) -> None:
        async def swap(call: Call, proceed: Next) -> Any:
            call.request = call.request[::-1]
            quotient, remainder = await proceed(call)
            return quotient * 100, remainder

        remote = codefirst.client(RemoteCalculator, await self.begin(interceptors=[swap]))
        self.assertEqual(await remote.div(2, 7), (300, 1))

    async def test_a_blocking_caller_goes_behind_the_same_class(self) -> None:
        class Caller:
            def call(self, method: Any, request: Any, **options: Any) -> Any:
                binding = method.binding(method.codec)
                a, b = binding.decode_request(binding.encode_request(request))
                return binding.decode_response(binding.encode_response((a // b, a % b)))

        self.assertEqual(codefirst.client(Blocking, Caller(), "calc").div(7, 2), (3, 1))

    async def test_a_server_calls_a_service_of_its_client(self) -> None:
        server = Server()
        self.addAsyncCleanup(server.close)
        client = Client(await server.listen("127.0.0.1:0"))
        self.addAsyncCleanup(client.close)
        client.register(*codefirst.handlers(Calculator(), "own"))
        await client.connect()
        (connection,) = server.connections
        self.assertEqual(await codefirst.client(RemoteCalculator, connection, "own").div(9, 2), (4, 1))


if __name__ == "__main__":
    unittest.main()
