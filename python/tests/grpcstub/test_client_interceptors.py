"""Interceptors of grpc.aio channels, on Trunkcall's channel and on grpcio's own: both are to do the same."""

from __future__ import annotations

import asyncio
import unittest
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

from example.v1 import user_pb2 as pb
from example.v1 import user_pb2_grpc as stubs
from tests.grpcstub.kit import ID, USER, Users
from tests.public.kit import PATIENCE
from trunkcall import Client, Server
from trunkcall.grpcstub import aio

NAME = "trunkcall.example.v1.UserService"


class Noting(grpc.aio.UnaryUnaryClientInterceptor):
    """Notes what it is told, in the order of the interceptors, and goes on."""

    def __init__(self, mark: str, seen: list[Any]) -> None:
        self.mark = mark
        self.seen = seen

    def note(self, details: Any) -> None:
        told = (details.method, details.timeout, list(details.metadata), details.credentials, details.wait_for_ready)
        self.seen.append((self.mark, type(details.metadata) is grpc.aio.Metadata, *told))

    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        self.note(client_call_details)
        call = await continuation(client_call_details, request)
        self.seen.append((self.mark, isinstance(call, grpc.aio.UnaryUnaryCall), (await call).name))
        return call


class Changing(grpc.aio.UnaryUnaryClientInterceptor):
    """Replaces all that can be, by details of its own."""

    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        metadata = grpc.aio.Metadata(*client_call_details.metadata, ("name", "changed-"))
        details = grpc.aio.ClientCallDetails(client_call_details.method, 30, metadata, None, True)
        return await continuation(details, ID(user_id=request.user_id + 1))


class Answering(grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return USER(name="cached") if request.user_id == 5 else await continuation(client_call_details, request)


class Retrying(grpc.aio.UnaryUnaryClientInterceptor):
    """Calls again, with another request, when it fails."""

    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        call = await continuation(client_call_details, request)
        while await call.code() is grpc.StatusCode.INVALID_ARGUMENT:
            call = await continuation(client_call_details, ID(user_id=9))
        return call


class Raising(grpc.aio.UnaryUnaryClientInterceptor):
    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        raise self.error


class Renaming(grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await continuation(client_call_details._replace(method=f"/{NAME}/Nothing".encode()), request)


class Holding(grpc.aio.UnaryUnaryClientInterceptor):
    """Waits before it goes on, for ever."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()


class Listing(grpc.aio.UnaryStreamClientInterceptor):
    """Answers with an iterator: of the call's responses, and of its own."""

    async def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        call = await continuation(client_call_details, request)
        return call if request.count == 1 else self.with_more(call)

    async def with_more(self, call: Any) -> AsyncIterator[Any]:
        async for user in call:
            yield USER(name=f"[{user.name}]")
        yield USER(name="more")


class AnsweringList(grpc.aio.UnaryStreamClientInterceptor):
    async def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        async def own() -> AsyncIterator[Any]:
            if request.count < 0:
                raise ValueError("less than none")
            for number in range(request.count):
                yield USER(name=f"own {number}")

        return own()


class Importing(grpc.aio.StreamUnaryClientInterceptor):
    """Sends each request twice."""

    async def intercept_stream_unary(self, continuation: Any, client_call_details: Any, request_iterator: Any) -> Any:
        return await continuation(client_call_details, twice(request_iterator))


class Watching(grpc.aio.StreamStreamClientInterceptor):
    async def intercept_stream_stream(self, continuation: Any, client_call_details: Any, request_iterator: Any) -> Any:
        return await continuation(client_call_details, twice(request_iterator))


async def twice(requests: Any) -> AsyncIterator[Any]:
    if hasattr(requests, "__aiter__"):
        async for request in requests:
            yield request
            yield request
    else:
        for request in requests:
            yield request
            yield request


async def failure(call: Any) -> Any:
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error.code(), error.details()
    return None


class SameAsOfGrpc(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.users = Users()
        server = Server()
        stubs.add_UserServiceServicer_to_server(self.users, aio.Server(server))
        self.addAsyncCleanup(server.close)
        self.address = await server.listen("127.0.0.1:0")
        self.client = Client(self.address)
        self.addAsyncCleanup(self.client.close)

    async def both(self, work: Callable[[Any], Awaitable[Any]], *make: Callable[[], Any]) -> Any:
        """What `work` gives with a stub of grpcio's channel and with one of ours, which is to be the same."""
        found = []
        async with grpc.aio.insecure_channel(self.address, interceptors=[one() for one in make]) as channel:
            async with asyncio.timeout(PATIENCE):
                found.append(await work(stubs.UserServiceStub(channel)))
        channel = aio.Channel(self.client, interceptors=[one() for one in make])
        async with asyncio.timeout(PATIENCE):
            found.append(await work(stubs.UserServiceStub(channel)))
        self.assertEqual(found[1], found[0])
        return found[1]

    async def test_they_see_the_call_in_order(self) -> None:
        seen: list[Any] = []

        async def work(stub: Any) -> Any:
            seen.clear()
            await stub.GetUser(ID(user_id=7), timeout=20, metadata=(("name", "x"),), wait_for_ready=True)
            await stub.GetUser(ID(user_id=8))
            return [*seen]

        found = await self.both(work, lambda: Noting("a", seen), lambda: Noting("b", seen))
        method = f"/{NAME}/GetUser".encode()
        told = (True, method, 20, [("name", "x")], None, True)
        self.assertEqual(found[:4], [("a", *told), ("b", *told), ("b", True, "x7"), ("a", True, "x7")])

    async def test_they_replace_what_is_sent(self) -> None:
        async def work(stub: Any) -> Any:
            call = stub.GetUser(ID(user_id=7))
            return (
                (await call).name,
                dict(await call.trailing_metadata())["remaining"],
                list(await call.initial_metadata()),
            )

        self.assertEqual(await self.both(work, Changing), ("changed-8", "True", [("first", "1")]))

    async def test_one_answers_itself(self) -> None:
        async def work(stub: Any) -> Any:
            call = stub.GetUser(ID(user_id=5))
            before = call.done()
            first = (await call).name
            ended = (before, call.done(), call.cancelled(), await call.code(), await call.details())
            return first, ended, (await call).name, (await stub.GetUser(ID(user_id=6))).name

        found = await self.both(work, Answering)
        self.assertEqual(found, ("cached", (False, True, False, grpc.StatusCode.OK, ""), "cached", "6"))

    async def test_one_answers_in_the_place_of_those_behind_it(self) -> None:
        seen: list[Any] = []

        async def work(stub: Any) -> Any:
            seen.clear()
            return (await stub.GetUser(ID(user_id=5))).name, [*seen]

        outer = await self.both(work, lambda: Noting("a", seen), Answering)
        self.assertEqual(outer[1][1], ("a", True, "cached"))
        self.assertEqual(await self.both(work, Answering, lambda: Noting("a", seen)), ("cached", []))

    async def test_one_calls_again(self) -> None:
        async def work(stub: Any) -> Any:
            call = stub.GetUser(ID(user_id=0))
            return (await call).name, await call.code()

        self.assertEqual(await self.both(work, Retrying), ("9", grpc.StatusCode.OK))

    async def test_failures_pass(self) -> None:
        async def work(stub: Any) -> Any:
            call = stub.GetUser(ID(user_id=0))
            how = await failure(call)
            return how, await call.code(), await call.details(), dict(await call.trailing_metadata()), call.done()

        code = grpc.StatusCode.INVALID_ARGUMENT
        found = await self.both(work, Answering)
        self.assertEqual(found, ((code, "no id"), code, "no id", {"why": "zero"}, True))

    async def test_what_one_raises(self) -> None:
        raised = grpc.aio.AioRpcError(
            grpc.StatusCode.PERMISSION_DENIED,
            grpc.aio.Metadata(("early", "1")),
            grpc.aio.Metadata(("late", "2")),
            "not you",
        )

        async def work(stub: Any) -> Any:
            call = stub.GetUser(ID(user_id=7))
            how = await failure(call)
            metadata = dict(await call.initial_metadata()), dict(await call.trailing_metadata())
            return how, await call.code(), await call.details(), metadata, call.done(), call.cancelled()

        denied = (grpc.StatusCode.PERMISSION_DENIED, "not you")
        found = await self.both(work, lambda: Raising(raised))
        self.assertEqual(found, (denied, *denied, ({"early": "1"}, {"late": "2"}), True, False))

        async def other(stub: Any) -> Any:
            with self.assertRaisesRegex(ValueError, "boom"):
                await stub.GetUser(ID(user_id=7))

        await self.both(other, lambda: Raising(ValueError("boom")))

    async def test_another_method(self) -> None:
        async def work(stub: Any) -> Any:
            return (await failure(stub.GetUser(ID(user_id=7))))[0]

        self.assertEqual(await self.both(work, Renaming), grpc.StatusCode.UNIMPLEMENTED)

    async def test_cancelled_while_an_interceptor_holds_it(self) -> None:
        holding: list[Holding] = []

        def make() -> Holding:
            holding.append(Holding())
            return holding[-1]

        async def work(stub: Any) -> Any:
            call = stub.GetUser(ID(user_id=7))
            await holding[-1].begun.wait()
            first = call.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await call
            await holding[-1].cancelled.wait()
            return first, call.cancelled(), call.done(), call.cancel(), await call.code(), await call.details()

        found = await self.both(work, make)
        code = grpc.StatusCode.CANCELLED
        self.assertEqual(found, (True, True, True, False, code, "Locally cancelled by application!"))

    async def test_cancelled_while_it_runs(self) -> None:
        async def work(stub: Any) -> Any:
            self.users.begun.clear()
            self.users.cancelled.clear()
            call = stub.GetUser(ID(user_id=-3))
            await self.users.begun.wait()
            task = asyncio.ensure_future(_awaiting(call))
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            await self.users.cancelled.wait()
            return await call.code(), call.cancelled(), call.done()

        self.assertEqual(await self.both(work, Answering), (grpc.StatusCode.CANCELLED, True, True))

    async def test_the_end_is_told(self) -> None:
        async def work(stub: Any) -> Any:
            told: list[Any] = []
            early = stub.GetUser(ID(user_id=7))
            ends: asyncio.Queue[Any] = asyncio.Queue()
            early.add_done_callback(ends.put_nowait)
            told.append(await ends.get() is early)
            early.add_done_callback(lambda call: told.append(call is early))
            return told

        self.assertEqual(await self.both(work, Answering), [True, True])

    async def test_a_stream_of_responses(self) -> None:
        async def work(stub: Any) -> Any:
            read = []
            call = stub.ListUsers(pb.ListUsersRequest(count=3))
            async for user in call:
                read.append(user.name)
            reading = stub.ListUsers(pb.ListUsersRequest(count=1))
            while (user := await reading.read()) is not grpc.aio.EOF:
                read.append(user.name)
            failing = stub.ListUsers(pb.ListUsersRequest(count=2))
            with self.assertRaises(grpc.aio.AioRpcError) as caught:
                async for user in failing:
                    read.append(user.name)
            codes = [await one.code() for one in (call, reading, failing)]
            return read, codes, caught.exception.details(), call.done(), reading.done()

        found = await self.both(work, Listing)
        self.assertEqual(found[0], ["[0]", "[1]", "[2]", "more", "0", "[0]", "[1]"])
        ok, out = grpc.StatusCode.OK, grpc.StatusCode.OUT_OF_RANGE
        self.assertEqual(found[1:], ([ok, ok, out], "two", True, True))

    async def test_a_stream_of_requests(self) -> None:
        async def work(stub: Any) -> Any:
            given = await stub.ImportUsers(iter([USER(), USER()]))
            call = stub.ImportUsers()
            for _ in range(3):
                await call.write(USER())
            await call.done_writing()
            await call.done_writing()
            written = await call
            with self.assertRaises(asyncio.InvalidStateError):
                await call.write(USER())
            with self.assertRaises(grpc.aio.UsageError):
                await stub.ImportUsers(iter([USER()])).write(USER())
            return given.count, written.count, await call.code()

        self.assertEqual(await self.both(work, Importing), (4, 6, grpc.StatusCode.OK))

    async def test_streams_both_ways(self) -> None:
        async def work(stub: Any) -> Any:
            found = [user.name async for user in stub.WatchUsers(iter([ID(user_id=1)]))]
            call = stub.WatchUsers()
            for number in (2, 3):
                await call.write(ID(user_id=number))
                found += [(await call.read()).name, (await call.read()).name]
            await call.done_writing()
            end = await call.read() is grpc.aio.EOF
            return found, end, await call.code(), call.cancelled()

        found = (["1", "1", "2", "2", "3", "3"], True, grpc.StatusCode.OK, False)
        self.assertEqual(await self.both(work, Watching), found)

    async def test_a_stream_that_is_cancelled(self) -> None:
        async def work(stub: Any) -> Any:
            call = stub.WatchUsers()
            await call.write(ID(user_id=1))
            await call.read()
            cancelled = call.cancel()
            with self.assertRaises(asyncio.CancelledError):
                while await call.read() is not grpc.aio.EOF:
                    pass
            with self.assertRaises(asyncio.InvalidStateError):
                while True:
                    await call.write(ID(user_id=2))
            return cancelled, await call.code(), call.done(), call.cancelled()

        self.assertEqual(await self.both(work, Watching), (True, grpc.StatusCode.CANCELLED, True, True))

    async def test_those_of_other_kinds_do_not_see_it(self) -> None:
        async def work(stub: Any) -> Any:
            return (await stub.GetUser(ID(user_id=5))).name

        self.assertEqual(await self.both(work, Listing, Watching, Importing), "5")


class OursAlone(unittest.IsolatedAsyncioTestCase):
    async def test_an_iterator_in_the_place_of_a_call_that_was_not_made(self) -> None:  # on which grpcio's own fails
        async with Client("127.0.0.1:1") as client:
            stub: Any = stubs.UserServiceStub(aio.Channel(client, interceptors=[Listing(), AnsweringList()]))
            call = stub.ListUsers(pb.ListUsersRequest(count=2))
            told: asyncio.Queue[Any] = asyncio.Queue()
            call.add_done_callback(told.put_nowait)
            self.assertEqual([user.name async for user in call], ["[own 0]", "[own 1]", "more"])
            self.assertIs(await told.get(), call)
            self.assertEqual((await call.code(), await call.details()), (grpc.StatusCode.OK, ""))
            self.assertEqual(list(await call.trailing_metadata()), [])
            self.assertTrue(call.done())
            self.assertFalse(call.cancel())

    async def test_an_iterator_that_is_cancelled_or_raises(self) -> None:
        async with Client("127.0.0.1:1") as client:
            stub: Any = stubs.UserServiceStub(aio.Channel(client, interceptors=[AnsweringList()]))
            call = stub.ListUsers(pb.ListUsersRequest(count=2))
            self.assertEqual((await call.read()).name, "own 0")
            self.assertTrue(call.cancel())
            with self.assertRaises(asyncio.CancelledError):
                await call.read()
            self.assertEqual((await call.code(), call.cancelled()), (grpc.StatusCode.CANCELLED, True))
            call = stub.ListUsers(pb.ListUsersRequest(count=-1))
            with self.assertRaisesRegex(ValueError, "less than none"):
                await call.read()
            self.assertEqual((await call.code(), await call.details()), (grpc.StatusCode.UNKNOWN, "less than none"))

    async def test_what_is_no_interceptor(self) -> None:
        async with Client("127.0.0.1:1") as client:
            for one in (print, object(), Noting):
                with self.assertRaisesRegex(TypeError, "interceptors of grpc.aio"):
                    aio.Channel(client, interceptors=[one])  # type: ignore[list-item]


async def _awaiting(call: Any) -> Any:
    return await call


if __name__ == "__main__":
    unittest.main()
