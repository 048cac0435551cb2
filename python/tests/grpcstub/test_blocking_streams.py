"""Generated blocking stubs on Trunkcall, as their users see them: calls with many requests or responses."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
import unittest
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import grpc

from example.v1 import user_pb2 as pb
from example.v1 import user_pb2_grpc as stubs
from tests.grpcstub.blockingkit import PATIENCE, Noting, StubCase, Working
from tests.grpcstub.kit import ID, USER, Users
from trunkcall.grpcstub.blocking import CallError

LISTED = pb.ListUsersRequest


class Asked:
    """Requests that a test gives one by one; it blocks until there is one."""

    def __init__(self) -> None:
        self._given: SimpleQueue[Any] = SimpleQueue()
        self.blocks = threading.Semaphore(0)  # released each time it is asked

    def give(self, request: Any) -> None:
        self._given.put(request)

    def end(self) -> None:
        self._given.put(None)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.blocks.release()
        request = self._given.get(timeout=2 * PATIENCE)  # a test that waits for what follows has failed before
        if request is None:
            raise StopIteration
        return request


class Early(stubs.UserServiceServicer):
    """Answers before it has all requests, and notices when a call is given up."""

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()

    async def ImportUsers(self, request_iterator: Any, context: Any) -> Any:
        return pb.ImportUsersResponse(count=-1)

    async def ListUsers(self, request: Any, context: Any) -> Any:
        await context.send_initial_metadata((("first", "1"),))
        context.set_trailing_metadata((("last", "2"),))
        yield USER(name="0")
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()

    async def WatchUsers(self, request_iterator: Any, context: Any) -> Any:
        try:
            async for request in request_iterator:
                yield USER(name=str(request.user_id))
        finally:
            self.cancelled.set()


class ManyResponses(StubCase):
    def test_an_iterator_of_them(self) -> None:
        stub = self.stub(Users())
        call = stub.ListUsers(LISTED(count=3), timeout=PATIENCE)
        self.assertIsInstance(call, grpc.Call)
        self.assertIsInstance(call, grpc.Future)
        self.assertIs(iter(call), call)
        self.assertEqual(next(call).name, "0")
        self.assertEqual(call.next().name, "1")
        self.assertEqual([user.name for user in call], ["2"])
        for _ in range(2):
            with self.assertRaises(StopIteration):
                next(call)
        self.assertEqual((call.code(), call.details()), (grpc.StatusCode.OK, ""))
        self.assertTrue(call.done())
        self.assertFalse(call.is_active() or call.cancel() or call.cancelled())
        self.assertIsNone(call.result() or call.exception() or call.traceback())

    def test_what_is_asked_before_the_responses(self) -> None:
        stub = self.stub(Users())
        call = stub.ListUsers(LISTED(count=1))
        self.assertIs(call.code(), grpc.StatusCode.OK)
        self.assertEqual(call.trailing_metadata(), ())
        self.assertEqual(call.initial_metadata(), ())
        self.assertEqual([user.name for user in call], ["0"])

    def test_metadata_ahead_of_the_end(self) -> None:
        early = Early()
        stub = self.stub(early)
        call = stub.ListUsers(LISTED())
        self.assertEqual(call.initial_metadata(), (("first", "1"),))
        self.assertEqual(next(call).name, "0")
        self.assertTrue(call.is_active() and call.running())
        for wait in (call.result, call.exception, call.traceback):
            with self.assertRaises(grpc.FutureTimeoutError):
                wait(timeout=0.01)
        call.cancel()
        self.assertEqual(call.initial_metadata(), (("first", "1"),))

    def test_responses_ahead_of_a_failure(self) -> None:
        stub = self.stub(Users())
        call = stub.ListUsers(LISTED(count=2))
        self.assertEqual([next(call).name for _ in range(2)], ["0", "1"])
        for work in (lambda: next(call), lambda: next(call), call.result):
            self.assertEqual(self.rejects(work, grpc.StatusCode.OUT_OF_RANGE).details(), "two")
        self.assertEqual((call.code(), call.details()), (grpc.StatusCode.OUT_OF_RANGE, "two"))
        self.assertIsInstance(call.exception(), CallError)
        self.assertIsNotNone(call.traceback())

    def test_a_deadline(self) -> None:
        stub = self.stub(Early())
        call = stub.ListUsers(LISTED(), timeout=0.5)
        self.rejects(lambda: list(call), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertLess(call.time_remaining(), 0.5)

    def test_another_thread_cancels_it(self) -> None:
        early = Early()
        stub = self.stub(early)
        call = stub.ListUsers(LISTED())
        self.assertEqual(next(call).name, "0")
        reading = Working(lambda: next(call))
        waiting = Working(lambda: call.code())
        self.assertTrue(call.cancel())
        self.assertTrue(call.cancelled() and call.done())
        for work in (reading.result, lambda: next(call)):
            self.assertEqual(
                self.rejects(work, grpc.StatusCode.CANCELLED).details(), "Locally cancelled by application!"
            )
        self.assertIs(waiting.result(), grpc.StatusCode.CANCELLED)
        with self.assertRaises(grpc.FutureCancelledError):
            call.result()
        self.wait_for(early.cancelled)

    def test_what_has_come_is_dropped_by_cancel(self) -> None:
        stub = self.stub(Users())
        call = stub.ListUsers(LISTED(count=3))
        self.assertEqual(next(call).name, "0")
        call._stream.status()  # by now all have come
        self.assertTrue(call.cancel())
        self.rejects(lambda: next(call), grpc.StatusCode.CANCELLED)

    def test_the_thread_of_an_event_loop_cancels_it(self) -> None:
        early = Early()
        stub = self.stub(early)
        call = stub.ListUsers(LISTED())
        next(call)

        async def cancel() -> bool:
            return bool(call.cancel())

        self.assertTrue(asyncio.run(cancel()))
        self.wait_for(early.cancelled)

    def test_one_that_nobody_has_any_more_is_cancelled(self) -> None:
        early, asked = Early(), Asked()
        stub = self.stub(early)
        call = stub.WatchUsers(asked)
        asked.give(ID(user_id=1))
        self.assertEqual(next(call).name, "1")
        del call
        gc.collect()
        self.wait_for(early.cancelled)
        asked.end()

    def test_callbacks_make_calls(self) -> None:
        stub = self.stub(Users())
        noting = Noting(lambda *call: stub.GetUser(ID(user_id=7)).name)
        call = stub.ListUsers(LISTED(count=1))
        call.add_done_callback(noting)
        self.assertTrue(call.add_callback(noting))
        self.assertEqual(len(list(call)), 1)
        self.assertTrue(noting.wait() and noting.wait())
        self.assertEqual(noting.given, ["7", "7"])
        self.assertFalse(call.add_callback(noting))

    def test_callbacks_of_one_that_nobody_reads(self) -> None:
        stub = self.stub(Users())
        noting = Noting()
        call = stub.ListUsers(LISTED(count=2))
        call.add_done_callback(noting)
        self.assertTrue(noting.wait())
        self.assertEqual(noting.given, [call])
        self.assertIs(call.code(), grpc.StatusCode.OUT_OF_RANGE)
        self.assertEqual([next(call).name for _ in range(2)], ["0", "1"])


class ManyRequests(StubCase):
    def test_every_form(self) -> None:
        stub = self.stub(Users())
        self.assertEqual(stub.ImportUsers(iter([USER()] * 3)).count, 3)
        self.assertEqual(stub.ImportUsers([USER()] * 4).count, 4)
        answer, call = stub.ImportUsers.with_call((USER() for _ in range(2)), metadata=(("a", "b"),))
        self.assertEqual((answer.count, call.code()), (2, grpc.StatusCode.OK))
        future = stub.ImportUsers.future(iter([USER()]))
        noting = Noting(lambda future: future.result().count)
        future.add_done_callback(noting)
        self.assertEqual(future.result(timeout=PATIENCE).count, 1)
        self.assertEqual((future.code(), future.trailing_metadata()), (grpc.StatusCode.OK, ()))
        self.assertTrue(noting.wait())
        self.assertEqual(noting.given, [1])

    def test_an_answer_while_the_iterator_blocks(self) -> None:
        stub, asked = self.stub(Early()), Asked()
        self.assertEqual(stub.ImportUsers(asked).count, -1)
        self.assertEqual(stub.ImportUsers.future(asked).result().count, -1)
        asked.end()
        asked.end()

    def test_a_deadline_while_the_iterator_blocks(self) -> None:
        stub, asked = self.stub(Users()), Asked()
        self.rejects(lambda: stub.ImportUsers(asked, timeout=0.1), grpc.StatusCode.DEADLINE_EXCEEDED)
        future = stub.ImportUsers.future(asked, timeout=0.1)
        self.rejects(future.result, grpc.StatusCode.DEADLINE_EXCEEDED)
        asked.end()
        asked.end()

    def test_cancel_while_the_iterator_blocks(self) -> None:
        stub, asked = self.stub(Users()), Asked()
        future = stub.ImportUsers.future(asked)
        waiting = Working(future.result)
        self.assertTrue(asked.blocks.acquire(timeout=PATIENCE))
        self.assertTrue(future.cancel())
        with self.assertRaises(grpc.FutureCancelledError):
            waiting.result()
        self.assertIs(future.code(), grpc.StatusCode.CANCELLED)
        self.assertEqual(future.initial_metadata(), ())
        asked.end()

    def test_an_iterator_that_raises(self) -> None:
        def given() -> Iterator[Any]:
            yield USER()
            raise ValueError("broken")

        stub = self.stub(Users())
        for work in (
            lambda: stub.ImportUsers(given()),
            lambda: stub.ImportUsers.future(given()).result(),
            lambda: list(stub.WatchUsers(ID() if user is None else 1 // 0 for user in (None, 1))),
            lambda: stub.ImportUsers(None),  # which is none
        ):
            with self.assertLogs("trunkcall", "ERROR"):
                error = self.rejects(work, grpc.StatusCode.UNKNOWN)
            self.assertIn("the request iterator raised an exception", str(error.details()))
            self.assertIsNotNone(error.__cause__)

    def test_an_iterator_that_makes_calls_of_the_same_stub(self) -> None:
        stub = self.stub(Users())
        requests = (USER(name=stub.GetUser(ID(user_id=n)).name) for n in range(1, 4))
        self.assertEqual(stub.ImportUsers(requests).count, 3)

    def test_an_iterator_sees_the_context_of_the_call(self) -> None:
        variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
        seen: list[str] = []

        def given() -> Iterator[Any]:
            seen.append(variable.get())
            yield USER()

        stub = self.stub(Users())
        variable.set("mine")
        stub.ImportUsers(given())
        self.assertEqual(seen, ["mine"])

    def test_a_request_that_cannot_be_written(self) -> None:
        stub = self.stub(Users())
        self.rejects(lambda: stub.ImportUsers(iter(["no message"])), grpc.StatusCode.INTERNAL)

    def test_both_ways(self) -> None:
        stub, asked = self.stub(Users()), Asked()
        call = stub.WatchUsers(asked)
        for number in ("4", "5"):
            asked.give(ID(user_id=int(number)))
            self.assertEqual(next(call).name, number)
        asked.end()
        self.assertEqual(list(call), [])
        self.assertIs(call.code(), grpc.StatusCode.OK)

    def test_more_than_fits_both_ways(self) -> None:
        stub = self.stub(Users())
        call = stub.WatchUsers(ID(user_id=n) for n in range(5_000))
        self.assertEqual(sum(1 for _ in call), 5_000)

    def test_no_server(self) -> None:
        stub, asked = self.stub(Users()), Asked()
        self.there.run(self.server.close())
        self.rejects(lambda: stub.ImportUsers(asked), grpc.StatusCode.UNAVAILABLE)
        call = stub.WatchUsers(asked)  # raises nothing yet, as grpc's
        self.rejects(lambda: next(call), grpc.StatusCode.UNAVAILABLE)
        asked.end()
        asked.end()


if __name__ == "__main__":
    unittest.main()
