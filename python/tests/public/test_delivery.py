"""Whether a handler ran is never guessed (spec/status.md 2)."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import unittest
from collections.abc import AsyncIterator
from typing import Any

from google.protobuf.wrappers_pb2 import StringValue

from trunkcall import Call, Client, Code, Delivery, Next, ServerCall, Status, StatusError
from trunkcall.repeating import LEAST, SPAN, Repeating
from trunkcall.transport import clock

from .kit import COUNT, ECHO, PATIENCE, Case, Gate, all_of, echo


class AtTheServer(Case):
    async def test_what_an_interceptor_rejects_was_refused_with_all_that_it_says(self) -> None:
        async def check(call: Call, proceed: Next) -> Any:
            raise StatusError(
                Code.PERMISSION_DENIED, "not you", [StringValue(value="why")], [("who", "me")], retry_after=70.0
            )

        server, client = await self.pair(interceptors=[check])
        for work in (client.call(ECHO, b""), all_of(client.open(COUNT, b"1"))):
            error = await self.fails(work, Code.PERMISSION_DENIED, Delivery.REFUSED)
            self.assertEqual((error.message, error.retry_after, error.local), ("not you", 70.0, False))
            self.assertEqual((len(error.details), list(error.trailer)), (1, [("who", "me")]))
        self.assertEqual(server.running, 0)

    async def test_a_time_to_come_back_that_cannot_be_told_is_the_nearest_that_can(self) -> None:
        longest = ((1 << 32) - 1) / 1_000
        given: list[Any] = []

        async def check(call: Call, proceed: Next) -> Any:
            raise StatusError(Code.UNAVAILABLE, "later", retry_after=given[-1])

        _, client = await self.pair(interceptors=[check])
        for wait, told in ((-1, 0), (2.0005, 2.001), (1 << 40, longest), (float("inf"), longest)):
            given.append(wait)
            error = await self.fails(client.call(ECHO, b"", timeout=PATIENCE), Code.UNAVAILABLE, Delivery.REFUSED)
            self.assertEqual(error.retry_after, told)

    async def test_a_header_goes_with_the_end_of_a_call_that_is_refused(self) -> None:
        async def check(call: Call, proceed: Next) -> Any:
            assert call.server is not None
            call.server.set_header([("left", "0")])
            raise StatusError(Code.RESOURCE_EXHAUSTED, "quota", trailer=[("who", "me")], retry_after=70.0)

        _, client = await self.pair(interceptors=[check])
        for work in (client.call(ECHO, b""), all_of(client.open(COUNT, b"1"))):
            error = await self.fails(work, Code.RESOURCE_EXHAUSTED, Delivery.REFUSED)
            self.assertEqual(list(error.trailer), [("who", "me"), ("left", "0")])

    async def test_an_interceptors_own_exception_is_told_as_a_handlers_and_was_refused(self) -> None:
        async def fail(call: Call, proceed: Next) -> Any:
            raise KeyError("a secret")

        _, client = await self.pair(interceptors=[fail])
        with self.assertLogs("trunkcall", "ERROR"):
            error = await self.fails(client.call(ECHO, b""), Code.UNKNOWN, Delivery.REFUSED)
        self.assertNotIn("secret", error.message)

    async def test_behind_an_answer_message_nobody_knows(self) -> None:
        async def answer_and_fail(call: Call, proceed: Next) -> Any:
            assert call.stream is not None
            await call.stream.send(b"first")
            raise StatusError(Code.ABORTED, "not the rest")

        _, client = await self.pair(interceptors=[answer_and_fail])
        stream = client.open(COUNT, b"1")
        self.assertEqual(await stream.receive(), b"first")
        await self.fails(stream.receive(), Code.ABORTED, Delivery.UNKNOWN)

    async def test_once_the_handler_is_done_it_was_executed(self) -> None:
        async def fail_after(call: Call, proceed: Next) -> Any:
            await proceed(call)
            raise StatusError(Code.DATA_LOSS, "the journal is full")

        _, client = await self.pair(interceptors=[fail_after])
        await self.fails(client.call(ECHO, b""), Code.DATA_LOSS, Delivery.EXECUTED)

    async def test_an_interceptor_that_leaves_its_handler_running_makes_it_unknown(self) -> None:
        gate = Gate()

        async def abandon(call: Call, proceed: Next) -> Any:
            running = asyncio.ensure_future(proceed(call))
            await gate.begun.wait()
            left.append(running)
            raise StatusError(Code.DEADLINE_EXCEEDED, "too slow")

        left: list[asyncio.Future[Any]] = []
        _, client = await self.pair(ECHO.handler(gate), interceptors=[abandon])
        await self.fails(client.call(ECHO, b""), Code.DEADLINE_EXCEEDED, Delivery.UNKNOWN)
        gate.open.set()
        await left[0]


class AtTheClient(Case):
    async def test_without_going_on_nothing_was_sent(self) -> None:
        async def fail(call: Call, proceed: Next) -> Any:
            raise errors[0]

        _, address = await self.serve()
        client = self.client(address, interceptors=[fail])
        kept = StatusError.of(Status(Code.UNAVAILABLE, "the breaker is open", delivery=Delivery.EXECUTED))
        for error, code in (
            (kept, Code.UNAVAILABLE),
            (TimeoutError(), Code.DEADLINE_EXCEEDED),
            (ValueError("a bad token"), Code.UNKNOWN),
        ):
            errors = [error]
            for work in (client.call(ECHO, b""), all_of(client.open(COUNT, b"1"))):
                told = await self.fails(work, code, Delivery.NOT_SENT)
                self.assertTrue(told.local)
        self.assertIs(kept.delivery, Delivery.EXECUTED)  # of whatever call that one came from
        self.assertIn("a bad token", str(told))

    async def test_after_going_on_a_status_keeps_its_delivery_and_another_error_has_none(self) -> None:
        async def pass_on(call: Call, proceed: Next) -> Any:
            await proceed(call)
            raise ValueError("not what I wanted")

        async def serve(request: bytes, call: ServerCall) -> bytes:
            raise StatusError(Code.NOT_FOUND, "no such thing")

        _, address = await self.serve(ECHO.handler(echo))
        error = await self.fails(
            self.client(address, interceptors=[pass_on]).call(ECHO, b""), Code.UNKNOWN, Delivery.UNKNOWN
        )
        self.assertEqual((str(error), error.local), ("UNKNOWN: ValueError: not what I wanted (delivery unknown)", True))
        _, address = await self.serve(ECHO.handler(serve))
        error = await self.fails(self.client(address, interceptors=[pass_on]).call(ECHO, b""), Code.NOT_FOUND)
        self.assertEqual((str(error), error.local), ("NOT_FOUND: no such thing", False))

    async def test_of_several_attempts_that_one_counts_which_promises_least(self) -> None:
        """Whether interceptors pass an error on, say another or forget to answer, and whichever attempt came last."""

        async def serve(request: bytes, call: ServerCall) -> bytes:
            if request == b"executed":
                raise StatusError(Code.ABORTED, "not now")
            (end,) = server.connections
            end.disconnect()
            return request

        async def turn_away(call: Call, proceed: Next) -> Any:
            if call.request == b"refused":
                raise StatusError(Code.PERMISSION_DENIED, "not you")
            return await proceed(call)

        async def attempts(call: Call, proceed: Next) -> Any:
            last: StatusError | None = None
            for request in tried:
                made = dataclasses.replace(call, request=b"" if request == b"not_sent" else request)
                made.timeout = -1.0 if request == b"not_sent" else None
                try:
                    await proceed(made)
                except StatusError as error:
                    self.assertEqual(error.delivery, request.decode())
                    last = error
            if last is not None and how == "passed on":
                raise last
            if how == "another":
                raise StatusError(Code.ABORTED, "as I say")

        server, address = await self.serve(ECHO.handler(serve), interceptors=[turn_away])
        client = self.client(address, interceptors=[attempts], repeat=False)
        for deliveries in itertools.permutations(("executed", "unknown", "refused", "not_sent"), 2):
            tried = [one.encode() for one in deliveries]
            least = next(one for one in ("executed", "unknown", "refused") if one in deliveries)
            for how in ("passed on", "another", "forgotten"):
                with self.subTest(deliveries=deliveries, how=how), self.assertRaises(StatusError) as caught:
                    async with asyncio.timeout(PATIENCE):
                        await client.call(ECHO, b"")
                self.assertEqual(caught.exception.delivery, least)

    async def test_while_an_attempt_is_under_way_nobody_knows(self) -> None:
        async def leave_one(call: Call, proceed: Next) -> Any:
            left.append(asyncio.ensure_future(proceed(call)))
            await gate.begun.wait()
            await proceed(dataclasses.replace(call, timeout=-1.0))

        gate = Gate()
        left: list[asyncio.Future[Any]] = []
        _, address = await self.serve(ECHO.handler(gate))
        client = self.client(address, interceptors=[leave_one])
        await self.fails(client.call(ECHO, b""), Code.DEADLINE_EXCEEDED, Delivery.UNKNOWN)
        gate.open.set()
        await left[0]

    async def test_a_stream_that_was_opened_counts_when_the_next_attempt_cannot_be_sent(self) -> None:
        async def again(call: Call, proceed: Next) -> Any:
            opened = await proceed(call)
            if call.request == b"ends":
                with contextlib.suppress(StatusError):
                    await opened.receive()
            return await proceed(dataclasses.replace(call, request=None))

        async def serve(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
            if request == b"waits":
                await asyncio.Event().wait()
            for answer in tuple[bytes, ...]():
                yield answer
            raise StatusError(Code.ABORTED, "not now")

        _, address = await self.serve(COUNT.handler(serve))
        client = self.client(address, interceptors=[again])
        for request, delivery in ((b"waits", Delivery.UNKNOWN), (b"ends", Delivery.EXECUTED)):
            await self.fails(client.open(COUNT, request).receive(), Code.INTERNAL, delivery)

    async def test_a_server_that_cannot_be_reached_was_sent_nothing(self) -> None:
        error = await self.fails(
            self.client("127.0.0.1:1").call(ECHO, b"", timeout=PATIENCE), Code.UNAVAILABLE, Delivery.NOT_SENT
        )
        self.assertTrue(error.local)
        self.assertIn("(not sent)", str(error))

    async def test_what_nobody_has_said_is_unknown(self) -> None:
        self.assertIs(Status(Code.ABORTED).delivery, Delivery.UNKNOWN)
        self.assertIs(StatusError(Code.ABORTED).delivery, Delivery.UNKNOWN)


class Repetition(Case):
    async def refusing(self, **options: Any) -> tuple[list[int], Client]:
        """A server whose interceptor refuses every call for a millisecond, and the attempts that come there."""
        attempts: list[int] = []

        async def refuse(call: Call, proceed: Next) -> Any:
            assert call.server is not None
            attempts.append(call.server.attempt)
            raise StatusError(code[0], "not now", retry_after=0.001)

        code = [options.pop("code", Code.RESOURCE_EXHAUSTED)]
        _, address = await self.serve(interceptors=[refuse])
        return attempts, self.client(address, **options)

    async def test_is_made_for_what_may_be_over_soon_and_for_no_other_code(self) -> None:
        for code, attempts in (
            (Code.RESOURCE_EXHAUSTED, [1, 2]),
            (Code.UNAVAILABLE, [1, 2]),
            (Code.ABORTED, [1]),
            (Code.INVALID_ARGUMENT, [1]),
        ):
            seen, client = await self.refusing(code=code)
            await self.fails(client.call(ECHO, b""), code, Delivery.REFUSED)
            self.assertEqual(seen, attempts, code)

    async def test_can_be_switched_off(self) -> None:
        seen, client = await self.refusing(repeat=False)
        await self.fails(client.call(ECHO, b""), Code.RESOURCE_EXHAUSTED, Delivery.REFUSED)
        self.assertEqual(seen, [1])

    async def test_ends_with_the_budget(self) -> None:
        seen, client = await self.refusing()
        for _ in range(LEAST):  # of earlier calls
            self.assertTrue(client._calling.repeating.take(clock()))
        await self.fails(client.call(ECHO, b""), Code.RESOURCE_EXHAUSTED, Delivery.REFUSED)
        self.assertEqual(seen, [1])


class Budget(unittest.TestCase):
    def test_a_few_repetitions_are_always_allowed(self) -> None:
        budget = Repeating()
        self.assertEqual([budget.take(1_000 + n) for n in range(LEAST + 2)], [True] * LEAST + [False] * 2)
        self.assertFalse(budget.take(1_000 + SPAN - 1))
        self.assertTrue(budget.take(1_000 + SPAN))

    def test_beyond_those_one_for_ten_recent_calls(self) -> None:
        budget = Repeating()
        budget.take(0)
        budget.calls += 5_000
        self.assertEqual(sum(budget.take(1_000_000) for _ in range(1_000)), 499)

    def test_calls_of_long_ago_do_not_count(self) -> None:
        budget = Repeating()
        budget.take(0)
        budget.calls += 100_000
        budget.take(SPAN // 2)
        self.assertEqual(sum(budget.take(2 * SPAN) for _ in range(1_000)), LEAST)

    def test_calls_since_nobody_asked_are_taken_to_be_spread_evenly(self) -> None:
        budget = Repeating()
        budget.take(0)
        budget.calls += 100_000
        self.assertEqual(sum(budget.take(10 * SPAN) for _ in range(2_000)), 1_000)


if __name__ == "__main__":
    unittest.main()
