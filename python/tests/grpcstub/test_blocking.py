"""Generated blocking stubs on Trunkcall, as their users see them: calls with one request and one response."""

from __future__ import annotations

import asyncio
import pickle
import sys
import threading
import unittest
from concurrent.futures import Future
from typing import Any

import grpc
from google.protobuf.wrappers_pb2 import StringValue

from example.v1 import user_pb2 as pb
from example.v1 import user_pb2_grpc as stubs
from tests.grpcstub.blockingkit import PATIENCE, Noting, StubCase, Working
from tests.grpcstub.kit import ID, Noted, Users
from trunkcall import GZIP, Response, StatusError
from trunkcall.blocking import Caller, ClientStream
from trunkcall.grpcstub.blocking import CallError, Channel
from trunkcall.grpcstub.blockingcalls import StartedFuture
from trunkcall.grpcstub.callbacks import Callbacks
from trunkcall.grpcstub.conversion import DETAILS_KEY
from trunkcall.grpcstub.outcome import Ending


class Calls(StubCase):
    def test_the_answer_alone_or_with_its_call(self) -> None:
        stub = self.stub(Users())
        self.assertEqual(stub.GetUser(ID(user_id=7)).name, "7")
        answer, call = stub.GetUser.with_call(ID(user_id=7), metadata=(("name", "user-"),), timeout=PATIENCE)
        self.assertEqual(answer.name, "user-7")
        self.assertEqual(call.initial_metadata(), (("first", "1"),))
        self.assertEqual(call.trailing_metadata(), (("last-bin", b"\0"), ("remaining", "True")))
        self.assertEqual(call.trailing_metadata()[0].key, "last-bin")
        self.assertEqual((call.code(), call.details(), call.debug_error_string()), (grpc.StatusCode.OK, "", ""))
        self.assertIsInstance(call, grpc.Call)
        self.assertTrue(call.done())
        self.assertFalse(call.is_active() or call.running() or call.cancelled() or call.cancel())
        self.assertFalse(call.add_callback(lambda: None))
        self.assertIsNone(call.time_remaining() or call.exception() or call.traceback())
        self.assertEqual(call.result().name, "user-7")
        called: list[Any] = []
        call.add_done_callback(called.append)
        self.assertEqual(called, [call])

    def test_what_a_failed_call_raises(self) -> None:
        stub = self.stub(Users())
        for work in (stub.GetUser, stub.GetUser.with_call):
            error = self.rejects(lambda work=work: work(ID()), grpc.StatusCode.INVALID_ARGUMENT)  # type: ignore[misc]
            self.assertIsInstance(error, CallError)
            self.assertEqual((error.details(), error.trailing_metadata()), ("no id", (("why", "zero"),)))
            self.assertEqual(error.delivery, "executed")
            self.assertIsInstance(error.__cause__, StatusError)
            self.assertIn("no id", f"{error} {error!r} {error.debug_error_string()}")
            self.assertTrue(error.done())
            self.assertFalse(error.cancelled() or error.cancel() or error.running() or error.is_active())
            self.assertIs(error.exception(), error)
            self.assertIsNotNone(error.traceback())
            with self.assertRaises(CallError):
                error.result()

    def test_a_rich_status_and_a_copy_of_it(self) -> None:
        stub = self.stub(Users())
        error: Any = self.rejects(lambda: stub.GetUser(ID(user_id=-1)), grpc.StatusCode.NOT_FOUND)
        detail = StringValue()
        self.assertTrue(error.__cause__.details[0].Unpack(detail))
        self.assertEqual(detail.value, "x")
        ((key, value),) = error.trailing_metadata()
        self.assertEqual(key, DETAILS_KEY)
        self.assertIn(b"no such user", value)
        self.assert_copied(error)
        aborted = self.rejects(lambda: stub.GetUser(ID()), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual(len(aborted.trailing_metadata()), 1)
        self.assert_copied(aborted)

    def assert_copied(self, error: CallError) -> None:
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual(copy.trailing_metadata(), error.trailing_metadata())
        self.assertEqual((copy.code(), copy.details(), copy.status), (error.code(), error.details(), error.status))

    def test_deadlines(self) -> None:
        stub = self.stub(Users())
        for timeout in (0.05, 0, -1):
            error = self.rejects(
                lambda timeout=timeout: stub.GetUser(ID(user_id=-3), timeout=timeout),  # type: ignore[misc]
                grpc.StatusCode.DEADLINE_EXCEEDED,
            )
            self.assertNotEqual(error.details(), "")

    def test_a_server_that_is_not_there_and_one_that_comes(self) -> None:
        users = Users()
        stub = self.stub(users, where=self.unix())
        self.there.run(self.server.close())
        error = self.rejects(lambda: stub.GetUser(ID(user_id=1)), grpc.StatusCode.UNAVAILABLE)
        self.assertEqual(error.delivery, "not_sent")
        waiting = Working(lambda: stub.GetUser(ID(user_id=1), wait_for_ready=True, timeout=PATIENCE))
        self.rejects(lambda: stub.GetUser(ID(user_id=1), wait_for_ready=False), grpc.StatusCode.UNAVAILABLE)

        self.serve_users(users, where=self.address)
        self.assertEqual(waiting.result().name, "1")

    def test_credentials_of_a_call_are_refused_with_advice(self) -> None:
        stub = self.stub(Users())
        credentials = grpc.access_token_call_credentials("x")
        for method in (stub.GetUser, stub.GetUser.with_call, stub.GetUser.future, stub.ListUsers, stub.WatchUsers):
            with self.assertRaisesRegex(ValueError, "metadata=.*authorization"):
                method(ID(), credentials=credentials)

    def test_compression_of_a_call(self) -> None:
        noted = Noted()
        channel = self.channel(Users(), attempt_observer=noted, compression=GZIP)
        self.native.connect()  # by now it knows what the server takes
        call = channel.unary_unary("/test.Service/None")
        for compression, small in (
            (None, True),
            (grpc.Compression.NoCompression, False),
            (grpc.Compression.Gzip, True),
            (grpc.Compression.Deflate, True),
        ):
            noted.sent.clear()
            self.rejects(
                lambda compression=compression: call(b"x" * 10_000, compression=compression),  # type: ignore[misc]
                grpc.StatusCode.UNIMPLEMENTED,
            )
            self.assertEqual(noted.sent[0] < 1_000, small, compression)

    def test_a_request_that_cannot_be_written(self) -> None:
        stub = self.stub(Users())
        error = self.rejects(lambda: stub.GetUser("no message"), grpc.StatusCode.INTERNAL)
        self.assertEqual(error.delivery, "not_sent")

    def test_a_client_that_is_closed(self) -> None:
        stub = self.stub(Users())
        self.native.close()
        with self.assertRaises(CallError):
            stub.GetUser(ID(user_id=1))
        with self.assertRaises(CallError):
            stub.GetUser.future(ID(user_id=1)).result()
        with self.assertRaises(CallError):
            list(stub.ListUsers(pb.ListUsersRequest(count=1)))

    def test_the_end_of_the_client_ends_a_call(self) -> None:
        users = Users()
        stub = self.stub(users)
        waiting = Working(lambda: stub.GetUser(ID(user_id=-3)))
        future = stub.GetUser.future(ID(user_id=-3))
        self.wait_for(users.begun)
        self.native.close()
        self.rejects(waiting.result, grpc.StatusCode.CANCELLED)
        self.assertIs(future.code(), grpc.StatusCode.CANCELLED)

    def test_many_threads(self) -> None:
        stub = self.stub(Users())
        threads = [
            Working(lambda first=first: [stub.GetUser(ID(user_id=first + n)).name for n in range(50)])  # type: ignore[misc]
            for first in range(100, 900, 100)
        ]
        for first, thread in zip(range(100, 900, 100), threads, strict=True):
            self.assertEqual(thread.result(), [str(first + n) for n in range(50)])


class Futures(StubCase):
    def test_the_answer_and_what_is_beside_it(self) -> None:
        stub = self.stub(Users())
        future = stub.GetUser.future(ID(user_id=7), timeout=PATIENCE)
        self.assertIsInstance(future, grpc.Future)
        self.assertIsInstance(future, grpc.Call)
        self.assertLessEqual(future.time_remaining(), PATIENCE)
        self.assertIsNone(stub.GetUser.future(ID(user_id=7)).time_remaining())
        self.assertEqual(future.initial_metadata(), (("first", "1"),))
        self.assertEqual(future.result().name, "7")
        self.assertEqual(future.trailing_metadata()[0], ("last-bin", b"\0"))
        self.assertEqual((future.code(), future.details()), (grpc.StatusCode.OK, ""))
        self.assertTrue(future.done())
        self.assertFalse(future.running() or future.is_active() or future.cancelled() or future.cancel())
        self.assertIsNone(future.exception() or future.traceback())

    def test_a_failure(self) -> None:
        stub = self.stub(Users())
        future = stub.GetUser.future(ID())
        error = self.rejects(future.result, grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual((future.code(), future.details()), (error.code(), "no id"))
        self.assertEqual(future.trailing_metadata(), (("why", "zero"),))
        self.assertIs(future.exception(), error)
        self.assertIsNotNone(future.traceback())
        self.assertIn("no id", future.debug_error_string())

    def test_metadata_that_is_none_is_told_at_once(self) -> None:
        stub = self.stub(Users())
        with self.assertRaises((TypeError, ValueError)):
            stub.GetUser.future(ID(user_id=1), metadata={"key": "value"})
        future = stub.GetUser.future(ID(user_id=1), metadata=[("Key of no kind", "value")])
        with self.assertRaises(CallError):
            future.result()

    def test_a_wait_that_takes_too_long_leaves_the_call_alone(self) -> None:
        users = Users()
        stub = self.stub(users)
        future = stub.GetUser.future(ID(user_id=-3))
        for wait in (future.result, future.exception, future.traceback):
            with self.assertRaises(grpc.FutureTimeoutError):
                wait(timeout=0.01)
        self.assertTrue(future.running() and future.is_active())
        self.wait_for(users.begun)
        future.cancel()

    def test_another_thread_cancels_it(self) -> None:
        users = Users()
        stub = self.stub(users)
        future = stub.GetUser.future(ID(user_id=-3))
        waiting = Working(future.result)
        self.wait_for(users.begun)
        self.assertTrue(future.cancel())
        self.assertTrue(future.cancelled() and future.done())
        self.assertIs(future.code(), grpc.StatusCode.CANCELLED)
        self.assertEqual(future.details(), "Locally cancelled by application!")
        for work in (waiting.result, future.result, future.exception, future.traceback):
            with self.assertRaises(grpc.FutureCancelledError):
                work()
        self.assertFalse(future.cancel())
        self.wait_for(users.cancelled)

    def test_the_thread_of_an_event_loop_cancels_it(self) -> None:
        users = Users()
        stub = self.stub(users)
        future = stub.GetUser.future(ID(user_id=-3))
        self.wait_for(users.begun)

        async def cancel() -> bool:
            return bool(future.cancel())

        self.assertTrue(asyncio.run(cancel()))
        self.wait_for(users.cancelled)

    def test_who_asks_before_the_end_is_told_has_the_answer(self) -> None:
        class Late(Future[bytes]):
            """Has ended, and the thread that ended it stands before the functions that are told."""

            header = trailer = ()

            def add_done_callback(self, fn: Any) -> None:
                pass

        for answer in (b"a", ZeroDivisionError("b")):
            late: Any = Late()
            late.set_result(answer) if isinstance(answer, bytes) else late.set_exception(answer)
            call = StartedFuture(late, Ending(Callbacks()), None)
            if isinstance(answer, bytes):
                self.assertEqual(call.result(PATIENCE), b"a")
            self.assertEqual(call.cancelled(), False)
            self.assertEqual(call.code(), grpc.StatusCode.OK if answer == b"a" else grpc.StatusCode.UNKNOWN)

    def test_callbacks_make_calls_and_wait(self) -> None:
        stub = self.stub(Users())
        noting = Noting(lambda future: stub.GetUser.future(ID(user_id=int(future.result().name) + 1)).result().name)
        future = stub.GetUser.future(ID(user_id=7))
        future.add_done_callback(noting)
        self.assertTrue(noting.wait())
        self.assertEqual(noting.given, ["8"])
        future.add_done_callback(noting)  # at once, in this thread
        self.assertEqual(noting.given, ["8", "8"])
        self.assertFalse(future.add_callback(noting))

    def test_a_callback_that_raises_harms_nobody(self) -> None:
        users = Users()
        stub = self.stub(users)
        noting, failing, leaving = Noting(), Noting(lambda future: 1 // 0), Noting(lambda future: sys.exit("gone"))
        future = stub.GetUser.future(ID(user_id=-3))
        self.assertTrue(future.add_callback(noting))
        with self.assertLogs("trunkcall", "ERROR") as logged:
            future.add_done_callback(failing)
            future.add_done_callback(leaving)
            future.add_done_callback(noting)
            future.cancel()
            self.assertTrue(noting.wait())
            self.assertTrue(noting.wait())
        self.assertEqual(noting.given, [None, future])
        self.assertIn("ZeroDivisionError", logged.output[0])
        self.assertIn("SystemExit: gone", logged.output[1])

    def test_many_at_once(self) -> None:
        stub = self.stub(Users())
        noting = Noting()
        futures = [stub.GetUser.future(ID(user_id=n)) for n in range(1, 300)]
        for future in futures:
            future.add_done_callback(noting)
        self.assertEqual([future.result().name for future in futures], [str(n) for n in range(1, 300)])
        for _ in futures:
            self.assertTrue(noting.wait())
        self.assertEqual(set(noting.given), set(futures))


class Answering(Caller):
    """A caller of the user's own, which answers by itself."""

    def __init__(self, go_on: threading.Event) -> None:
        self._go_on = go_on

    def unary(self, method: Any, request: Any, options: Any) -> Response[Any]:
        if not request.user_id:
            raise StatusError(3, "no id")
        if request.user_id < 0:
            sys.exit("gone")
        self._go_on.wait(PATIENCE)
        return Response(pb.GetUserResponse(name=f"{method.name[-7:]} {request.user_id}"), [("a", "1")], [("b", "2")])

    def stream(self, method: Any, request: Any, options: Any) -> ClientStream[Any, Any]:
        raise NotImplementedError


class CallersOfUsers(unittest.TestCase):
    def test_every_form_of_a_unary_call(self) -> None:
        go_on = threading.Event()
        channel = Channel(Answering(go_on))
        stub: Any = stubs.UserServiceStub(channel)
        future = stub.GetUser.future(ID(user_id=1))
        with self.assertRaises(grpc.FutureTimeoutError):
            future.result(timeout=0.01)
        noting, dropped = Noting(), stub.GetUser.future(ID(user_id=2))
        waiting = Working(dropped.result)
        future.add_done_callback(noting)
        self.assertTrue(dropped.cancel())
        with self.assertRaises(grpc.FutureCancelledError):
            waiting.result()
        go_on.set()
        self.assertEqual(future.result().name, "GetUser 1")
        self.assertTrue(noting.wait())
        self.assertEqual((future.initial_metadata(), future.trailing_metadata()), ((("a", "1"),), (("b", "2"),)))
        self.assertEqual(stub.GetUser(ID(user_id=3)).name, "GetUser 3")
        _, call = stub.GetUser.with_call(ID(user_id=3))
        self.assertEqual(call.trailing_metadata(), (("b", "2"),))
        with self.assertRaises(CallError):
            stub.GetUser(ID())
        self.assertIs(stub.GetUser.future(ID()).code(), grpc.StatusCode.INVALID_ARGUMENT)
        gone = stub.GetUser.future(ID(user_id=-1)).exception(PATIENCE)
        self.assertEqual((gone.code(), gone.details()), (grpc.StatusCode.UNKNOWN, "gone"))

    def test_its_channel_is_ready(self) -> None:
        channel = Channel(Answering(threading.Event()))
        grpc.channel_ready_future(channel).result(timeout=PATIENCE)
        channel.close()


if __name__ == "__main__":
    unittest.main()
