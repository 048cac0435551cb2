"""Generated asyncio stubs and servicers on Trunkcall, as their users see them."""

from __future__ import annotations

import asyncio
import pickle
import unittest
from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import grpc.aio
from google.protobuf.wrappers_pb2 import StringValue

from example.v1 import user_pb2 as pb
from example.v1 import user_pb2_grpc as stubs
from tests.grpcstub.kit import ID, USER, Noted, PlainUsers, Users
from trunkcall import Call, Client, Next, Server, StatusError
from trunkcall.grpcstub import aio
from trunkcall.grpcstub.conversion import DETAILS_KEY


class Case(unittest.IsolatedAsyncioTestCase):
    async def stub(self, servicer: Any, hide_errors: bool = False, **options: Any) -> Any:
        self.server = Server()
        stubs.add_UserServiceServicer_to_server(servicer, aio.Server(self.server, hide_errors=hide_errors))
        self.addAsyncCleanup(self.server.close)
        self.native = Client(await self.server.listen("127.0.0.1:0"), **options)
        self.addAsyncCleanup(self.native.close)
        return stubs.UserServiceStub(aio.Channel(self.native))

    async def fails(self, work: Any, code: grpc.StatusCode) -> grpc.aio.AioRpcError:
        with self.assertRaises(grpc.aio.AioRpcError) as caught:
            await work
        self.assertEqual(caught.exception.code(), code, caught.exception)
        return caught.exception


class Policies(unittest.IsolatedAsyncioTestCase):
    async def test_timeouts_of_a_client_hold_for_stubs_that_ask_for_it(self) -> None:
        given: list[float | None] = []

        async def note(call: Call, proceed: Next) -> Any:
            given.append(call.timeout)
            return await proceed(call)

        server = Server()
        stubs.add_UserServiceServicer_to_server(Users(), aio.Server(server))
        address = await server.listen("127.0.0.1:0")
        async with server, Client(address, timeout=30, interceptors=[note]) as client:
            for channel in (aio.Channel(client), aio.Channel(client, policies=True)):
                await stubs.UserServiceStub(channel).GetUser(pb.GetUserRequest(user_id=1))
        self.assertEqual(given, [None, 30])


class UnaryCalls(Case):
    async def test_answer_metadata_code_and_details(self) -> None:
        users = Users()
        stub = await self.stub(users)
        call = stub.GetUser(ID(user_id=7), metadata=(("name", "user-"),), timeout=20)
        self.assertFalse(call.done())
        self.assertEqual((await call).name, "user-7")
        self.assertEqual((await call).email, "ipv4")  # awaited twice, answered once
        self.assertEqual(list(await call.initial_metadata()), [("first", "1")])
        self.assertEqual(list(await call.trailing_metadata()), [("last-bin", b"\0"), ("remaining", "True")])
        self.assertEqual((await call.code(), await call.details()), (grpc.StatusCode.OK, ""))
        self.assertTrue(call.done())
        self.assertFalse(call.cancelled())
        self.assertEqual(len(users.ended), 1)

    async def test_metadata_of_the_answer_on_a_warm_connection(self) -> None:
        stub = await self.stub(Users())
        await self.native.connect()
        call = stub.GetUser(ID(user_id=7))
        await call
        self.assertEqual(list(await call.initial_metadata()), [("first", "1")])
        self.assertEqual(len(await call.trailing_metadata()), 2)
        call = stub.GetUser(ID(user_id=7))
        self.assertEqual(list(await call.initial_metadata()), [("first", "1")])
        self.assertEqual((await call).name, "7")
        await self.fails(stub.GetUser(ID()), grpc.StatusCode.INVALID_ARGUMENT)

    async def test_what_is_asked_before_the_call_is_awaited(self) -> None:
        stub = await self.stub(Users())
        call = stub.GetUser(ID(user_id=7))
        self.assertEqual(await call.code(), grpc.StatusCode.OK)
        self.assertEqual((await call).name, "7")
        seen: list[Any] = []
        call = stub.GetUser(ID(user_id=8))
        call.add_done_callback(seen.append)
        await call
        self.assertEqual(seen, [call])

    async def test_many_at_once(self) -> None:
        stub = await self.stub(Users())
        answers = await asyncio.gather(*(stub.GetUser(ID(user_id=n)) for n in range(1, 500)))
        self.assertEqual([user.name for user in answers], [str(n) for n in range(1, 500)])

    async def test_a_request_of_another_type_is_refused_by_its_name(self) -> None:
        stub = await self.stub(Users())
        for wrong, got in (({"user_id": 7}, "got a dict"), (None, "got None"), (ID, "got the class: call it, ")):
            error = await self.fails(stub.GetUser(wrong), grpc.StatusCode.INTERNAL)
            self.assertIn(f"GetUser takes a GetUserRequest, {got}", str(error.details()))

    async def test_abort(self) -> None:
        stub = await self.stub(Users())
        error: Any = await self.fails(stub.GetUser(ID()), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual(error.details(), "no id")
        self.assertEqual(list(error.trailing_metadata()), [("why", "zero")])
        self.assertEqual(error.delivery, "executed")
        self.assertIsInstance(error.__cause__, StatusError)

    async def test_a_rich_status_arrives_as_such(self) -> None:
        stub = await self.stub(Users())
        error: Any = await self.fails(stub.GetUser(ID(user_id=-1)), grpc.StatusCode.NOT_FOUND)
        detail = StringValue()
        self.assertTrue(error.__cause__.details[0].Unpack(detail))
        self.assertEqual(detail.value, "x")
        ((key, value),) = error.trailing_metadata()
        self.assertEqual(key, DETAILS_KEY)
        self.assertIn(b"no such user", value)
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual(list(copy.trailing_metadata()), [(key, value)])
        self.assertEqual((copy.code(), copy.details(), copy.status), (error.code(), error.details(), error.status))

    async def test_a_code_that_was_set_ends_the_call(self) -> None:
        stub = await self.stub(Users())
        error = await self.fails(stub.GetUser(ID(user_id=-2)), grpc.StatusCode.ABORTED)
        self.assertEqual(error.details(), "set, not raised")

    async def test_a_method_that_was_not_written_is_unimplemented(self) -> None:
        stub = await self.stub(stubs.UserServiceServicer())
        await self.fails(stub.GetUser(ID()), grpc.StatusCode.UNIMPLEMENTED)

    async def test_a_deadline(self) -> None:
        users = Users()
        stub = await self.stub(users)
        timeout = 0.05  # may be over before the handler has begun, where the machine stands still
        while not users.begun.is_set() and timeout < 20:
            await self.fails(stub.GetUser(ID(user_id=-3), timeout=timeout), grpc.StatusCode.DEADLINE_EXCEEDED)
            timeout *= 4
        async with asyncio.timeout(60):
            await users.cancelled.wait()

    async def test_a_deadline_is_told_with_its_method_and_length(self) -> None:
        stub = await self.stub(Users())
        timeout = 0.25
        while True:  # on a busy machine it may pass before the call was sent, or the server may tell it first
            with self.assertRaises(grpc.aio.AioRpcError) as caught:
                await stub.GetUser(ID(user_id=-3), timeout=timeout)
            details = caught.exception.details() or ""
            if details.startswith("the deadline passed: "):
                break
            timeout *= 2
            self.assertLess(timeout, 60)
        had = f"{timeout:g}s" if timeout >= 1 else f"{timeout * 1e3:g}ms"
        self.assertEqual(details, f"the deadline passed: /trunkcall.example.v1.UserService/GetUser had {had}")

    async def test_cancel(self) -> None:
        users = Users()
        stub = await self.stub(users)
        await self.native.connect()
        call = stub.GetUser(ID(user_id=-3))
        waiting = asyncio.ensure_future(call)
        await users.begun.wait()
        self.assertTrue(call.cancel())
        with self.assertRaises(asyncio.CancelledError):
            await waiting
        self.assertTrue(call.cancelled())
        self.assertEqual(await call.code(), grpc.StatusCode.CANCELLED)
        await users.cancelled.wait()
        self.assertFalse(call.cancel())

    async def test_cancelling_the_task_that_waits(self) -> None:
        users = Users()
        stub = await self.stub(users)
        waiting = asyncio.ensure_future(stub.GetUser(ID(user_id=-3)))
        await users.begun.wait()
        waiting.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await waiting
        await users.cancelled.wait()

    async def test_no_server(self) -> None:
        stub = await self.stub(Users())
        await self.server.close()
        error: Any = await self.fails(stub.GetUser(ID()), grpc.StatusCode.UNAVAILABLE)
        self.assertEqual(error.delivery, "not_sent")

    async def test_a_call_that_is_never_awaited_is_made_all_the_same(self) -> None:
        users = Users()
        stub = await self.stub(users)
        await self.native.connect()
        stub.GetUser(ID(user_id=-3))
        async with asyncio.timeout(10):
            await users.begun.wait()

    async def test_interceptors_of_the_client_run(self) -> None:
        async def add(call: Call, proceed: Next) -> Any:
            call.metadata.append(("name", "added-"))
            return await proceed(call)

        stub = await self.stub(Users(), interceptors=[add])
        call = stub.GetUser(ID(user_id=7))
        self.assertEqual((await call).name, "added-7")
        self.assertEqual(list(await call.initial_metadata()), [("first", "1")])
        await self.fails(stub.GetUser(ID()), grpc.StatusCode.INVALID_ARGUMENT)


class Serializers(unittest.IsolatedAsyncioTestCase):
    async def test_one_that_takes_none_has_its_word_behind_interceptors(self) -> None:
        async def around(call: Call, proceed: Next) -> Any:
            return await proceed(call)

        async def forgets(call: Call, proceed: Next) -> Any:
            await proceed(call)

        async def nothing(request: Any, context: Any) -> None:
            pass

        async def something(request: Any, context: Any) -> bytes:
            return b"x"

        for interceptors in ((), (around,), (around, forgets)):
            server = Server(interceptors=interceptors)
            handlers: dict[str, Any] = {
                "Nothing": grpc.unary_unary_rpc_method_handler(nothing, None, lambda answer: b"none"),
                "Something": grpc.unary_unary_rpc_method_handler(something),
            }
            generic = grpc.method_handlers_generic_handler("test.Service", handlers)
            aio.Server(server).add_generic_rpc_handlers((generic,))
            address = await server.listen("127.0.0.1:0")
            async with server, Client(address) as client:
                channel = aio.Channel(client)
                self.assertEqual(await channel.unary_unary("/test.Service/Nothing")(b""), b"none")
                call = channel.unary_unary("/test.Service/Something")
                if forgets not in interceptors:
                    self.assertEqual(await call(b""), b"x")
                    continue
                with self.assertLogs("trunkcall", "ERROR"), self.assertRaises(grpc.aio.AioRpcError) as caught:
                    await call(b"")
                self.assertEqual(caught.exception.details(), "an interceptor of the server left no response")


class Compressed(Case):
    async def test_a_call_says_whether_its_requests_are(self) -> None:
        noted = Noted()
        stub = await self.stub(Users(), attempt_observer=noted)
        user = USER(name="x" * 10_000)
        for compression, small in ((grpc.Compression.Gzip, True), (grpc.Compression.NoCompression, False)):
            await stub.ImportUsers([user], compression=compression)
            self.assertEqual(noted.sent.pop() < 1_000, small, compression)
        echo: Any = aio.Channel(self.native).unary_unary("/test.Service/None")
        for given, small in ((None, False), (grpc.Compression.Gzip, True), (grpc.Compression.Deflate, False)):
            noted.sent.clear()
            with self.assertRaises(grpc.aio.AioRpcError):
                await echo(b"x" * 10_000, compression=given)
            self.assertEqual(noted.sent[0] < 1_000, small, given)


class Streams(Case):
    async def test_many_answers(self) -> None:
        stub = await self.stub(Users())
        call = stub.ListUsers(pb.ListUsersRequest(count=3))
        self.assertEqual([user.name async for user in call], ["0", "1", "2"])
        self.assertEqual(await call.code(), grpc.StatusCode.OK)
        call = stub.ListUsers(pb.ListUsersRequest(count=1))
        self.assertEqual((await call.read()).name, "0")
        self.assertIs(await call.read(), grpc.aio.EOF)

    async def test_answers_before_a_failure(self) -> None:
        stub = await self.stub(Users())
        call = stub.ListUsers(pb.ListUsersRequest(count=2))
        self.assertEqual([(await call.read()).name for _ in range(2)], ["0", "1"])
        await self.fails(call.read(), grpc.StatusCode.OUT_OF_RANGE)
        self.assertEqual(await call.details(), "two")

    async def test_many_requests_of_every_shape(self) -> None:
        async def given() -> AsyncIterator[Any]:
            for _ in range(3):
                yield USER()

        stub = await self.stub(Users())
        self.assertEqual((await stub.ImportUsers(given())).count, 3)
        self.assertEqual((await stub.ImportUsers(iter([USER()] * 4))).count, 4)
        self.assertEqual((await stub.ImportUsers(request_iterator=[USER()])).count, 1)
        call = stub.ImportUsers()
        await call.write(USER())
        await call.done_writing()
        self.assertEqual((await call).count, 1)
        self.assertEqual(await call.code(), grpc.StatusCode.OK)

    async def test_both_ways(self) -> None:
        stub = await self.stub(Users())
        call = stub.WatchUsers()
        for number in (4, 5):
            await call.write(ID(user_id=number))
            self.assertEqual((await call.read()).name, str(number))
        await call.done_writing()
        self.assertIs(await call.read(), grpc.aio.EOF)
        answers = [user.name async for user in stub.WatchUsers(iter([ID(user_id=6)]))]
        self.assertEqual(answers, ["6"])

    async def test_cancel(self) -> None:
        stub = await self.stub(Users())
        call = stub.WatchUsers()
        ended = asyncio.Event()
        call.add_done_callback(lambda _: ended.set())
        await call.write(ID(user_id=1))
        await call.read()
        self.assertTrue(call.cancel())
        with self.assertRaises(asyncio.CancelledError):
            await call.read()
        self.assertTrue(call.cancelled())
        await ended.wait()

    async def test_a_request_iterator_that_fails_cancels_the_call(self) -> None:
        def given() -> Iterator[Any]:
            yield USER()
            raise ValueError("broken")

        stub = await self.stub(Users())
        with self.assertLogs("trunkcall", "ERROR"), self.assertRaises(asyncio.CancelledError):
            await stub.ImportUsers(given())


class Raising(stubs.UserServiceServicer):
    """Servicers that raise what is no status."""

    async def GetUser(self, request: Any, context: Any) -> Any:
        if request.user_id:
            context.set_code(grpc.StatusCode.NOT_FOUND)
            context.set_details("not what is told")
        raise ValueError("boom")

    def ListUsers(self, request: Any, context: Any) -> Iterator[Any]:
        yield USER()
        raise ValueError("boom")


class Exceptions(Case):
    async def test_are_told_as_by_grpc_aio(self) -> None:
        stub = await self.stub(Raising())
        with self.assertLogs("trunkcall", "ERROR") as logged:
            for work, code in (
                (stub.GetUser(ID()), grpc.StatusCode.UNKNOWN),
                (stub.GetUser(ID(user_id=1)), grpc.StatusCode.NOT_FOUND),
                (self.all_of(stub.ListUsers(pb.ListUsersRequest())), grpc.StatusCode.UNKNOWN),
            ):
                error = await self.fails(work, code)
                self.assertEqual(error.details(), "Unexpected <class 'ValueError'>: boom")
        self.assertEqual(len(logged.output), 3)

    async def test_are_hidden_where_the_server_says_so(self) -> None:
        stub = await self.stub(Raising(), hide_errors=True)
        with self.assertLogs("trunkcall", "ERROR") as logged:
            error = await self.fails(stub.GetUser(ID()), grpc.StatusCode.UNKNOWN)
        self.assertNotIn("boom", str(error.details()))
        self.assertIn("boom", logged.output[0])

    async def all_of(self, call: Any) -> list[Any]:
        return [answer async for answer in call]


class PlainServicers(Case):
    async def test_every_kind(self) -> None:
        stub = await self.stub(PlainUsers())
        call = stub.GetUser(ID(user_id=7))
        self.assertEqual((await call).name, "7")
        self.assertEqual(list(await call.initial_metadata()), [("first", "1")])
        await self.fails(stub.GetUser(ID()), grpc.StatusCode.INVALID_ARGUMENT)
        listed = [user.name async for user in stub.ListUsers(pb.ListUsersRequest(count=3))]
        self.assertEqual(listed, ["0", "1", "2"])
        self.assertEqual((await stub.ImportUsers(iter([USER()] * 3))).count, 3)
        watched = [user.name async for user in stub.WatchUsers(iter([ID(user_id=1), ID(user_id=2)]))]
        self.assertEqual(watched, ["1", "2"])


class Channels(Case):
    async def test_its_state(self) -> None:
        await self.stub(Users())
        async with aio.Channel(self.native) as channel:
            self.assertIs(channel.get_state(), grpc.ChannelConnectivity.IDLE)
            await channel.channel_ready()
            self.assertIs(channel.get_state(), grpc.ChannelConnectivity.READY)
            changed = asyncio.create_task(channel.wait_for_state_change(grpc.ChannelConnectivity.READY))
            await asyncio.sleep(0)
            await self.server.close()
            await changed
        await self.native.close()
        self.assertIs(channel.get_state(), grpc.ChannelConnectivity.SHUTDOWN)

    async def test_credentials_of_a_call_are_not_dropped_in_silence(self) -> None:
        stub = await self.stub(Users())
        with self.assertRaisesRegex(ValueError, "credentials"):
            stub.GetUser(ID(), credentials=grpc.access_token_call_credentials("x"))


if __name__ == "__main__":
    unittest.main()
