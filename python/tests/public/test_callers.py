"""Callers of one's own: what wraps, routes or stands in for a client gets every call."""

from __future__ import annotations

import asyncio
import unittest
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from trunkcall import (
    Binding,
    Call,
    Caller,
    CallOptions,
    Client,
    ClientStream,
    Code,
    Delivery,
    Handler,
    Method,
    Next,
    Response,
    ServerCall,
    Status,
    StatusError,
    one_way,
)
from trunkcall.grpcstub import aio

from .kit import COUNT, ECHO, JOIN, TWICE, Case, all_of

STUBBED = Binding(bytes, bytes, bytes, bytes)  # as generated code gives its functions
TELL = one_way("/test.Service/Tell", bytes)


class Router(Caller):
    """Sends calls that say where they are to go to one of several."""

    def __init__(self, *routes: Caller) -> None:
        self.routes = routes

    def route(self, options: CallOptions) -> Caller:
        return self.routes[int(dict(options.metadata).get("to", "0"))]

    async def unary(self, method: Any, request: Any, options: CallOptions) -> Response[Any]:
        return await self.route(options).unary(method, request, options)

    def stream(self, method: Any, request: Any, options: CallOptions) -> ClientStream[Any, Any]:
        return self.route(options).stream(method, request, options)


class Marking(Client):
    """A client that is derived of ours and adds something to each call."""

    async def unary(self, method: Any, request: Any, options: CallOptions = CallOptions()) -> Response[Any]:  # noqa: B008
        return await super().unary(method, request, replace(options, metadata=[*options.metadata, ("mark", "yes")]))

    def stream(
        self,
        method: Any,
        request: Any = None,
        options: CallOptions = CallOptions(),  # noqa: B008
    ) -> ClientStream[Any, Any]:
        return super().stream(method, request, replace(options, metadata=[*options.metadata, ("mark", "yes")]))


class Canned(ClientStream[Any, Any]):
    """A stream of answers that stand ready."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)

    async def send(self, message: bytes) -> bool:
        return True

    async def half_close(self) -> None:
        pass

    async def receive(self) -> bytes | None:
        return self.answers.pop(0) if self.answers else None

    async def status(self) -> Status:
        return Status(Code.OK)

    def cancel(self) -> None:
        self.answers.clear()

    @property
    def done(self) -> bool:
        return not self.answers


class Mock(Caller):
    """Answers by itself, as in a test without a server."""

    async def unary(self, method: Any, request: Any, options: CallOptions) -> Response[Any]:
        if request == b"missing":
            raise StatusError(Code.NOT_FOUND, "not here", trailer=[("a", "b")])
        return Response(b"canned " + request, header=[("h", "1")])

    def stream(self, method: Any, request: Any, options: CallOptions) -> ClientStream[Any, Any]:
        return Canned(b"1", b"2")


def handlers(name: bytes, binding: Binding | None = None) -> list[Any]:
    async def serve(request: bytes, call: ServerCall) -> bytes:
        return name + b":" + request

    async def tell(request: bytes, call: ServerCall) -> None:
        pass

    async def many(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
        yield name

    async def gather(requests: AsyncIterator[bytes], call: ServerCall) -> bytes:
        return name + b":" + b"".join([request async for request in requests])

    async def both(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
        async for request in requests:
            yield name + b":" + request

    def named(method: Method[bytes, Any]) -> Any:
        return type(method)(method.name, bytes, bytes, binding) if binding else method

    functions = ((ECHO, serve), (TELL, tell), (COUNT, many), (JOIN, gather), (TWICE, both))
    return [Handler(named(method), function) for method, function in functions]


class Routing(Case):
    async def asyncSetUp(self) -> None:
        self.servers = [await self.serve(*handlers(name)) for name in (b"a", b"b")]
        self.router = Router(*[self.client(address) for _, address in self.servers])

    async def test_a_router_gets_calls_of_every_kind(self) -> None:
        for index, name in enumerate((b"a", b"b")):
            where: Any = {"metadata": [("to", str(index))], "timeout": 60}
            self.assertEqual(await self.router.call(ECHO, b"x", **where), name + b":x")
            self.assertEqual(await all_of(self.router.open(COUNT, b"", **where)), [name])
            async with self.router.open(JOIN, **where) as stream:
                await stream.send(b"y")
                self.assertEqual(await stream.response(), name + b":y")
            async with self.router.open(TWICE, **where) as stream:
                await stream.send(b"z")
                self.assertEqual(await stream.receive(), name + b":z")
            await self.router.send(TELL, b"", **where)

    async def test_stubs_go_through_a_router(self) -> None:
        servers = [await self.serve(*handlers(name, STUBBED)) for name in (b"a", b"b")]
        channel = aio.Channel(Router(*[self.client(address) for _, address in servers]))
        for index, name in enumerate((b"a", b"b")):
            where: Any = {"metadata": [("to", str(index))], "timeout": 60}
            self.assertEqual(await channel.unary_unary(ECHO.name)(b"x", **where), name + b":x")
            self.assertEqual([one async for one in channel.unary_stream(COUNT.name)(b"", **where)], [name])
            self.assertEqual(await channel.stream_unary(JOIN.name)(iter([b"y"]), **where), name + b":y")
        call = channel.unary_unary("/test.Service/Missing")(b"", timeout=60)
        with self.assertRaises(aio.CallError) as caught:
            await call
        self.assertEqual(caught.exception.delivery, Delivery.REFUSED)

    async def test_a_class_derived_of_client_gets_every_call(self) -> None:
        marks: list[str] = []

        async def see(call: Call, proceed: Next) -> Any:
            marks.append(dict(call.metadata).get("mark", ""))  # type: ignore[arg-type]
            return await proceed(call)

        _, address = await self.serve(*handlers(b"a", STUBBED), interceptors=[see])
        client = Marking(address)
        self.addAsyncCleanup(client.close)
        for _ in range(2):  # the second finds a connection
            await client.call(type(ECHO)(ECHO.name, bytes, bytes, STUBBED), b"", timeout=60)
            await all_of(client.open(type(COUNT)(COUNT.name, bytes, bytes, STUBBED), b"", timeout=60))
            await aio.Channel(client).unary_unary(ECHO.name)(b"", timeout=60)
        self.assertEqual(marks, ["yes"] * 6)

    async def test_a_method_is_called_in_the_way_of_its_kind(self) -> None:
        client: Any = self.router.routes[0]
        for _ in range(2):
            with self.assertRaisesRegex(TypeError, "/test.Service/Count is server-streaming"):
                await client.call(COUNT, b"")
            with self.assertRaisesRegex(TypeError, "/test.Service/Echo is unary"):
                client.open(ECHO, b"")
            await client.connect()


class Mocked(unittest.IsolatedAsyncioTestCase):
    async def test_a_caller_stands_in_for_a_server(self) -> None:
        caller = Mock()
        self.assertEqual(await caller.call(ECHO, b"x"), b"canned x")
        self.assertEqual(await all_of(caller.open(COUNT, b"")), [b"1", b"2"])
        self.assertEqual(await Canned(b"1").response(), b"1")

    async def test_stubs_take_a_mock(self) -> None:
        channel = aio.Channel(Mock())
        call = channel.unary_unary(ECHO.name)(b"x")
        self.assertEqual((await call, list(await call.initial_metadata())), (b"canned x", [("h", "1")]))
        failing = channel.unary_unary(ECHO.name)(b"missing")
        with self.assertRaises(aio.CallError) as caught:
            await failing
        self.assertEqual(list(caught.exception.trailing_metadata()), [("a", "b")])
        self.assertEqual([one async for one in channel.unary_stream(COUNT.name)(b"")], [b"1", b"2"])
        async with asyncio.timeout(60):
            await channel.channel_ready()


class Ends(Case):
    """Interceptors are told of the end of calls of all kinds, at either end."""

    async def asyncSetUp(self) -> None:
        self.ends: list[tuple[str, str]] = []

        def telling(side: str) -> Any:
            async def tell(call: Call, proceed: Next) -> Any:
                call.on_end(lambda status: self.ends.append((side, status.code.name)))
                return await proceed(replace(call, metadata=[*call.metadata]))

            return tell

        _, address = await self.serve(interceptors=[telling("server")])
        self.caller = self.client(address, interceptors=[telling("client")])

    async def test_of_calls_that_end_well(self) -> None:
        await self.caller.call(ECHO, b"", timeout=60)
        await all_of(self.caller.open(COUNT, b"1", timeout=60))
        self.assertEqual(self.ends, [("server", "OK"), ("client", "OK")] * 2)

    async def test_of_a_stream_that_its_user_drops(self) -> None:
        async with self.caller.open(TWICE, timeout=60) as stream:
            await stream.send(b"a")
            await stream.receive()
            self.assertEqual(self.ends, [])
        self.assertEqual(self.ends, [("client", "CANCELLED")])

    async def test_of_calls_that_fail(self) -> None:
        missing: Method[bytes, bytes] = type(ECHO)("/test.Service/Missing", bytes, bytes)
        await self.fails(self.caller.unary(missing, b""), Code.UNIMPLEMENTED, Delivery.REFUSED)
        gone = self.client("unix:/nowhere/at/all", interceptors=self.caller._interceptors)
        await self.fails(all_of(gone.open(COUNT, b"1")), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertEqual(self.ends, [("client", "UNIMPLEMENTED"), ("client", "UNAVAILABLE")])
