"""Interceptors that return or raise what they should not: the caller and the log are told which one it was."""

from __future__ import annotations

import unittest
from typing import Any

from trunkcall import Call, Code, Delivery, Next, ServerCall

from .kit import COUNT, ECHO, OTHER, TWICE, Case, all_of


async def noawait(call: Call, proceed: Next) -> Any:
    return proceed(call)


async def text(call: Call, proceed: Next) -> Any:
    await proceed(call)
    return "x"


def plain_none(call: Call, proceed: Next) -> Any:
    return None


def plain_answer(call: Call, proceed: Next) -> Any:
    return b"x"


def plain_passing(call: Call, proceed: Next) -> Any:
    return proceed(call)


async def divides(call: Call, proceed: Next) -> Any:
    return 1 / 0


async def around(call: Call, proceed: Next) -> Any:
    return await proceed(call)


WRONG = (
    (noawait, "noawait returned a coroutine that nobody has awaited: write `await proceed(call)`"),
    (text, "text returned a str for a call of /test.Service/"),
    (plain_none, "plain_none returned None for a call of /test.Service/"),
    (plain_answer, "plain_answer returned a bytes and is a plain function: make it `async def`"),
)


class WrongInterceptors(Case):
    async def test_one_of_a_client_is_named(self) -> None:
        _, address = await self.serve()
        for one, said in WRONG:
            client = self.client(address, interceptors=[around, one])
            ran = one is text
            with self.subTest(one.__name__):
                delivery = Delivery.EXECUTED if ran else Delivery.NOT_SENT
                error = await self.fails(client.call(ECHO, b"x"), Code.INTERNAL, delivery)
                self.assertIn(f"the interceptor {said}", error.message)
                delivery = Delivery.UNKNOWN if ran else Delivery.NOT_SENT
                error = await self.fails(client.open(TWICE).receive(), Code.INTERNAL, delivery)
                self.assertIn(f"the interceptor {said}", error.message)

    async def test_one_of_a_server_is_logged(self) -> None:
        for one, said in WRONG:
            _, address = await self.serve(interceptors=[around, one])
            client = self.client(address)
            with self.subTest(one.__name__), self.assertLogs("trunkcall", "ERROR") as logged:
                delivery = Delivery.EXECUTED if one is text else Delivery.REFUSED
                error = await self.fails(client.call(ECHO, b"x"), Code.INTERNAL, delivery)
            self.assertIn("an interceptor of the server ", error.message)
            self.assertIn(f"the interceptor {said}", logged.output[0])

    async def test_a_stream_that_a_server_forgets_to_await_fails(self) -> None:
        _, address = await self.serve(interceptors=[noawait])
        with self.assertLogs("trunkcall", "ERROR") as logged:
            await self.fails(all_of(self.client(address).open(COUNT, b"1")), Code.INTERNAL, Delivery.REFUSED)
        self.assertIn("the interceptor noawait returned a coroutine", logged.output[0])

    async def test_a_plain_function_may_pass_on_what_is_awaited(self) -> None:
        _, address = await self.serve(interceptors=[plain_passing])
        client = self.client(address, interceptors=[plain_passing])
        self.assertEqual(await client.call(ECHO, b"x"), b"x")
        self.assertEqual(await all_of(client.open(COUNT, b"2")), [b"0", b"1"])

    async def test_what_one_of_a_server_raises_is_not_laid_to_the_handler(self) -> None:
        _, address = await self.serve(interceptors=[around, divides])
        with self.assertLogs("trunkcall", "ERROR") as logged:
            error = await self.fails(self.client(address).call(ECHO, b"x"), Code.UNKNOWN, Delivery.REFUSED)
        self.assertRegex(error.message, r"^an interceptor of the server failed \(error [0-9a-f]{16} in the log")
        self.assertIn("interceptor divides of /test.Service/Echo failed: error ", logged.output[0])
        self.assertIn("ZeroDivisionError", logged.output[0])

    async def test_what_a_handler_raises_is_its_own_behind_interceptors(self) -> None:
        async def fails(request: bytes, call: ServerCall) -> bytes:
            raise ValueError("secret")

        _, address = await self.serve(OTHER.handler(fails), interceptors=[around, plain_passing])
        with self.assertLogs("trunkcall", "ERROR") as logged:
            error = await self.fails(self.client(address).call(OTHER, b"x"), Code.UNKNOWN, Delivery.EXECUTED)
        self.assertRegex(error.message, r"^the handler failed \(error ")
        self.assertIn("handler of /test.Service/Other failed: error ", logged.output[0])


if __name__ == "__main__":
    unittest.main()
