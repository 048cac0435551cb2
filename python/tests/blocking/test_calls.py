"""Blocking calls of every kind: messages, metadata, statuses, time."""

from __future__ import annotations

import asyncio
import math
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator

from example.v1 import user_pb2 as pb
from tests.public.kit import COUNT, ECHO, HANDLERS, JOIN, OTHER, PATIENCE, TWICE, echo
from tests.public.test_services import SERVICE, Users
from trunkcall import (
    PROTOBUF,
    RAW,
    CallOptions,
    Code,
    Connection,
    Delivery,
    Priority,
    ServerCall,
    State,
    bidi_stream,
    one_way,
    server_stream,
    service_client,
    unary,
)
from trunkcall.blocking import Client
from trunkcall.services import service_handlers

from .kit import Case, Gate, Working, until

TELL = one_way("/test.Service/Tell", bytes)
ENDLESS = server_stream("/test.Service/Endless", bytes, bytes)
SILENT = bidi_stream("/test.Service/Silent", bytes, bytes)
CONFIRM = unary("/test.Client/Confirm", bytes, bytes)
LIST = server_stream("/test.Client/List", bytes, bytes)


async def silent(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
    async for request in requests:
        if not request:
            yield b""


class Kinds(Case):
    def test_a_unary_call_carries_its_message_both_ways(self) -> None:
        _, client = self.pair()
        self.assertEqual(client.call(ECHO, b"hello"), b"hello")
        self.assertEqual(client.call(ECHO, b""), b"")

    def test_a_message_beyond_frame_and_window_arrives_whole(self) -> None:
        _, client = self.pair()
        message = bytes(range(256)) * 12_345
        self.assertEqual(client.call(ECHO, message), message)

    def test_a_server_stream_is_an_iterator(self) -> None:
        _, client = self.pair()
        self.assertEqual(list(client.open(COUNT, b"3")), [b"0", b"1", b"2"])
        self.assertEqual(list(client.open(COUNT, b"0")), [])

    def test_a_client_stream_is_answered_once(self) -> None:
        _, client = self.pair()
        with client.open(JOIN) as stream:
            for word in (b"a", b"b", b"c"):
                self.assertTrue(stream.send(word))
            self.assertEqual(stream.response(), b"a,b,c")
            self.assertEqual(stream.status().code, Code.OK)

    def test_a_service_client_has_functions_that_block(self) -> None:
        _, address = self.serve(*service_handlers(SERVICE, Users()))
        users = service_client(SERVICE, self.client(address, codec=PROTOBUF))
        self.assertEqual(users.get_user(pb.GetUserRequest(user_id=7)).name, "user-7")
        listed = users.list_users(pb.ListUsersRequest(count=2), timeout=60)
        self.assertEqual([user.name for user in listed], ["user-1", "user-2"])

    def test_both_sides_stream_at_once(self) -> None:
        _, client = self.pair()
        with client.open(TWICE) as stream:
            for word in (b"a", b"b"):
                self.assertTrue(stream.send(word))
                self.assertEqual(stream.receive(), word * 2)
            stream.half_close()
            self.assertIsNone(stream.receive())
            self.assertTrue(stream.done)

    def test_a_stream_sends_from_one_thread_and_receives_in_another(self) -> None:
        _, client = self.pair()
        with client.open(TWICE) as stream:

            def send() -> None:
                for number in range(5_000):
                    stream.send(b"%d" % number)
                stream.half_close()

            sending = Working(send)
            self.assertEqual(list(stream), [b"%d" % number * 2 for number in range(5_000)])
            sending.result()

    def test_a_one_way_call_is_accepted(self) -> None:
        gate = Gate()

        async def take(request: bytes, call: ServerCall) -> None:
            gate.begun.release()

        _, client = self.pair(TELL.handler(take))
        client.send(TELL, b"x")
        self.begun(gate)

    def test_what_comes_beside_the_message_is_told(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> bytes:
            call.set_header([("h", "1")])
            call.set_trailer([("t", "2"), *call.metadata])
            return request

        _, client = self.pair(ECHO.handler(serve))
        answer = client.unary(ECHO, b"x", CallOptions(metadata=[("k", "v")]))
        self.assertEqual((answer.header, answer.trailer), ([("h", "1")], [("t", "2"), ("k", "v")]))

    def test_the_priority_of_a_call_of_any_kind_travels(self) -> None:
        seen: list[Priority] = []
        gate = Gate()

        async def serve(request: bytes, call: ServerCall) -> bytes:
            seen.append(call.priority)
            return request

        async def count(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
            seen.append(call.priority)
            yield request

        async def take(request: bytes, call: ServerCall) -> None:
            seen.append(call.priority)
            gate.begun.release()

        _, client = self.pair(ECHO.handler(serve), COUNT.handler(count), TELL.handler(take))
        client.call(ECHO, b"x")
        client.call(ECHO, b"x", priority=Priority.LOW)
        client.start(ECHO, b"x", priority=Priority.HIGH).result(PATIENCE)
        self.assertEqual(list(client.open(COUNT, b"x", priority=Priority.CRITICAL)), [b"x"])
        client.send(TELL, b"x", priority=Priority.LOW)
        self.begun(gate)
        self.assertEqual(seen, [Priority.NORMAL, Priority.LOW, Priority.HIGH, Priority.CRITICAL, Priority.LOW])

    def test_a_stream_tells_its_header_and_trailer(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
            await call.send_header([("h", "1")])
            call.set_trailer([("t", "2")])
            yield request

        _, client = self.pair(COUNT.handler(serve))
        with client.open(COUNT, b"x") as stream:
            self.assertEqual(stream.header(), [("h", "1")])
            self.assertEqual(list(stream), [b"x"])
            self.assertEqual(stream.trailer, [("t", "2")])

    def test_a_method_of_another_kind_is_refused(self) -> None:
        _, client = self.pair()
        with self.assertRaisesRegex(TypeError, "is called by `open`"):
            client.call(COUNT, b"")  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "is called by `call`"):
            client.open(ECHO, b"")  # type: ignore[call-overload]

    def test_messages_go_in_memory_to_a_server_of_another_thread(self) -> None:
        _, address = self.serve(where="mem:blocking")
        self.assertEqual(self.client(address).call(ECHO, b"x"), b"x")


class Endings(Case):
    def test_a_method_that_is_not_served_is_refused(self) -> None:
        _, client = self.pair()
        self.fails(lambda: client.call(OTHER, b""), Code.UNIMPLEMENTED, Delivery.REFUSED)

    def test_nobody_there_is_unavailable(self) -> None:
        server, address = self.serve()
        self.there.run(server.close())
        client = self.client(address)
        self.fails(lambda: client.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.fails(client.connect, Code.UNAVAILABLE, Delivery.NOT_SENT)

    def test_time_runs_out_for_a_leader_and_for_a_follower(self) -> None:
        gate = Gate()
        _, client = self.pair(ECHO.handler(gate))
        client.connect()  # without which they may not be sent in time
        other = Working(lambda: client.call(ECHO, b"", timeout=2))
        self.begun(gate)
        self.fails(lambda: client.call(ECHO, b"", timeout=1.5), Code.DEADLINE_EXCEEDED, Delivery.UNKNOWN)
        self.fails(other.result, Code.DEADLINE_EXCEEDED, Delivery.UNKNOWN)

    def test_time_runs_out_while_nobody_answers_a_connection(self) -> None:
        client = self.client("dns:nobody.invalid:1", resolvers={"some": lambda watch: None})
        with self.assertRaises(TimeoutError):
            client.connect(timeout=0)
        client = self.client("some:where", resolvers={"some": _never})
        self.fails(
            lambda: client.call(ECHO, b"", timeout=0.05, wait_for_ready=True), Code.DEADLINE_EXCEEDED, Delivery.NOT_SENT
        )

    def test_a_timeout_of_infinity_is_none(self) -> None:
        _, client = self.pair()
        self.assertEqual(client.call(ECHO, b"x", timeout=math.inf), b"x")

    def test_a_stream_is_cancelled_by_another_thread_while_one_receives(self) -> None:
        _, client = self.pair(SILENT.handler(silent))
        stream = client.open(SILENT)
        stream.send(b"")
        self.assertEqual(stream.receive(), b"")  # it is open
        receiving = Working(stream.receive)
        stream.cancel()
        self.fails(receiving.result, Code.CANCELLED, Delivery.UNKNOWN)

    def test_a_stream_is_cancelled_when_its_block_is_left(self) -> None:
        over = Gate()

        async def endless(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
            try:
                while True:
                    yield b"x"
                    await asyncio.sleep(0)
            finally:
                over.begun.release()

        _, client = self.pair(ENDLESS.handler(endless))
        with client.open(ENDLESS, b"") as stream:
            self.assertEqual(stream.receive(), b"x")
        self.assertTrue(stream.done)
        self.begun(over)

    def test_closing_ends_what_runs_in_other_threads(self) -> None:
        gate = Gate()
        _, address = self.serve(ECHO.handler(gate))
        client = Client(address, codec=RAW)
        working = [Working(lambda: client.call(ECHO, b"")) for _ in range(3)]
        for _ in working:
            self.begun(gate)
        client.close()
        for one in working:
            self.fails(one.result, Code.CANCELLED, Delivery.UNKNOWN)
        self.fails(lambda: client.call(ECHO, b""), Code.CANCELLED, Delivery.NOT_SENT)
        client.close()

    def test_a_client_that_was_never_used_is_closed(self) -> None:
        with Client("127.0.0.1:1") as client:
            self.assertEqual(client.target, "127.0.0.1:1")
        self.fails(client.connect, Code.CANCELLED, Delivery.NOT_SENT)


class Connections(Case):
    def test_a_connection_is_called_and_told_of(self) -> None:
        _, client = self.pair()
        client.connect()
        self.assertEqual(client.endpoints[0].state, State.READY)
        (connection,) = client.connections
        self.assertEqual(connection.call(ECHO, b"x"), b"x")
        self.assertEqual(list(connection.open(COUNT, b"2")), [b"0", b"1"])
        self.assertEqual(client.gauges().connections, 1)
        connection.disconnect()
        self.fails(lambda: connection.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        self.assertEqual(client.call(ECHO, b"x"), b"x")

    def test_calls_go_to_the_server_that_has_come_back(self) -> None:
        folder = tempfile.TemporaryDirectory()  # a port may be another's by then
        self.addCleanup(folder.cleanup)
        server, address = self.serve(where=f"unix:{folder.name}/s")
        client = self.client(address)
        self.assertEqual(client.call(ECHO, b"x"), b"x")
        self.there.run(server.close())
        until("it is known that the server is gone", lambda: not client.connections)
        self.serve(where=address)
        self.assertEqual(client.call(ECHO, b"x", wait_for_ready=True, timeout=30), b"x")

    def test_servers_call_while_no_thread_waits(self) -> None:
        connections: list[Connection] = []

        async def serve(request: bytes, call: ServerCall) -> bytes:
            connections.append(call.connection)
            return request

        def names(request: bytes, call: ServerCall) -> Iterator[bytes]:
            yield from (request, request * 2)

        _, client = self.pair(ECHO.handler(serve), *HANDLERS)
        client.register(CONFIRM.handler(lambda request, call: b"sure: " + request), LIST.handler(names))
        client.call(ECHO, b"")
        self.assertEqual(self.there.run(connections[0].call(CONFIRM, b"?", codec=RAW)), b"sure: ?")

        async def listed() -> list[bytes]:
            return [one async for one in connections[0].open(LIST, b"a", codec=RAW)]

        self.assertEqual(self.there.run(listed()), [b"a", b"aa"])

    def test_a_handler_of_what_servers_call_may_call_them(self) -> None:
        async def ask(request: bytes, call: ServerCall) -> bytes:
            return await call.connection.call(CONFIRM, request, codec=RAW)

        _, client = self.pair(OTHER.handler(ask), ECHO.handler(echo))
        client.register(CONFIRM.handler(lambda request, call: client.call(ECHO, request + b"!")))
        self.assertEqual(client.call(OTHER, b"x"), b"x!")

    def test_coroutine_functions_are_served_too(self) -> None:
        connections: list[Connection] = []

        async def serve(request: bytes, call: ServerCall) -> bytes:
            connections.append(call.connection)
            return request

        async def confirm(request: bytes, call: ServerCall) -> bytes:
            await asyncio.sleep(0.001)
            answer = await call.connection.call(OTHER, request, codec=RAW)
            return b"sure: " + answer

        async def join(requests: AsyncIterator[bytes], call: ServerCall) -> bytes:
            return b"".join([one async for one in requests])

        async def other(request: bytes, call: ServerCall) -> bytes:
            return request * 2

        _, client = self.pair(ECHO.handler(serve), OTHER.handler(other))
        client.register(CONFIRM.handler(confirm), JOIN.handler(join))
        client.call(ECHO, b"")  # from here on no thread waits for a call

        async def called() -> tuple[bytes, bytes]:
            answer = await connections[0].call(CONFIRM, b"?", codec=RAW)
            stream = connections[0].open(JOIN, codec=RAW)
            for part in (b"a", b"b"):
                await stream.send(part)
            await stream.half_close()
            return answer, await stream.response()

        self.assertEqual(self.there.run(called()), (b"sure: ??", b"ab"))

    def test_a_coroutine_function_that_its_caller_gives_up_is_cancelled(self) -> None:
        connections: list[Connection] = []
        began, cancelled = threading.Event(), threading.Event()

        async def serve(request: bytes, call: ServerCall) -> bytes:
            connections.append(call.connection)
            return request

        async def never(request: bytes, call: ServerCall) -> bytes:
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            return request

        _, client = self.pair(ECHO.handler(serve))
        client.register(CONFIRM.handler(never))
        client.call(ECHO, b"")

        async def give_up() -> None:
            call = asyncio.ensure_future(connections[0].call(CONFIRM, b"", codec=RAW))
            await asyncio.to_thread(began.wait, PATIENCE)
            call.cancel()

        self.there.run(give_up())
        self.assertTrue(cancelled.wait(PATIENCE))


def _never(watch: object) -> None:
    pass
