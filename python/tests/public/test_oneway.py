"""One-way calls: accepted, run, and nothing more said of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from example.v1.user_pb2 import GetUserRequest, GetUserResponse
from trunkcall import PROTOBUF, RAW, Call, Code, Delivery, Next, ServerCall, StatusError, one_way, unary
from trunkcall.wire import INITIAL_WINDOW, PREFACE_SIZE, Settings
from trunkcall.wire.frame import HEADER, MSG, ONEWAY, REFUSED
from trunkcall.wire.preface import preface_bytes

from .kit import ECHO, JOIN, PATIENCE, TWICE, Case, Gate, echo, eventually

TELL = unary("/test.Service/Tell", GetUserRequest, GetUserResponse)
CALL, END = 2, 1


POST = one_way("/test.Service/Post", bytes)


def into(gate: Gate) -> Callable[[bytes, ServerCall], Awaitable[None]]:
    async def serve(request: bytes, call: ServerCall) -> None:
        await gate(request, call)

    return serve


class Frames(Case):
    """From a client that writes frames itself."""

    async def tell(self, address: str, codec: int, message: bytes) -> tuple[int, int]:
        """Sends one one-way call; the status and the flags of its RESULT."""
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            name = TELL._wire_name
            body = bytes([len(name)]) + name + message
            flags = MSG | END | ONEWAY
            writer.write(preface_bytes(Settings(), INITIAL_WINDOW))
            writer.write(HEADER.pack(CALL << 24 | len(body), 1 << 20 | 1, codec << 24 | flags << 16, 0) + body)
            async with asyncio.timeout(PATIENCE):
                preface = await reader.readexactly(PREFACE_SIZE)
                await reader.readexactly(int.from_bytes(preface[12:16], "little"))
                _, _, w2, _ = HEADER.unpack(await reader.readexactly(HEADER.size))
            return w2 & 0xFFFF, w2 >> 16 & 0xFF
        finally:
            writer.close()
            await writer.wait_closed()

    async def test_is_accepted_before_its_handler_has_said_anything(self) -> None:
        got: list[int] = []

        async def serve(request: GetUserRequest, call: ServerCall) -> GetUserResponse:
            got.append(request.user_id)
            raise RuntimeError("nobody hears it")

        _, address = await self.serve(TELL.handler(serve))
        with self.assertLogs("trunkcall", "ERROR"):
            self.assertEqual(await self.tell(address, PROTOBUF.number, b"\x08\x07"), (0, 0))
        self.assertEqual(got, [7])

    async def test_that_does_not_decode_is_refused(self) -> None:
        async def serve(request: GetUserRequest, call: ServerCall) -> GetUserResponse:
            raise AssertionError("not reached")

        _, address = await self.serve(TELL.handler(serve))
        self.assertEqual(await self.tell(address, PROTOBUF.number, b"\xff"), (Code.INVALID_ARGUMENT, REFUSED))
        self.assertEqual(await self.tell(address, RAW.number, b"\xff"), (Code.UNIMPLEMENTED, REFUSED))

    async def test_in_a_codec_that_nobody_has_is_refused(self) -> None:
        async def serve(request: GetUserRequest, call: ServerCall) -> GetUserResponse:
            raise AssertionError("not reached")

        _, address = await self.serve(TELL.handler(serve))
        self.assertEqual(await self.tell(address, 3, b""), (12, REFUSED))


class OneWay(Case):
    async def test_is_over_for_its_caller_once_it_is_accepted(self) -> None:
        for size in (0, 10, 1_000_000):
            gate = Gate()
            got: list[tuple[int, list[tuple[str, str | bytes]], bool]] = []

            async def serve(
                request: bytes,
                call: ServerCall,
                got: list[tuple[int, list[tuple[str, str | bytes]], bool]] = got,
                gate: Gate = gate,
            ) -> None:
                got.append((len(request), call.metadata, call.oneway))
                await gate(request, call)

            server, client = await self.pair(POST.handler(serve))
            await client.send(POST, bytes(size), metadata=[("who", "me")])
            await eventually(gate.begun.is_set)
            self.assertEqual((got, server.running), ([(size, [("who", "me")], True)], 1))
            gate.open.set()
            await eventually(lambda server=server: not server.running)  # type: ignore[misc]

    async def test_that_is_refused_is_told(self) -> None:
        _, client = await self.pair(running_handlers=1)
        await self.fails(client.send(POST, b""), Code.UNIMPLEMENTED, Delivery.REFUSED)
        await self.fails(client.send(POST, b"", timeout=0), Code.DEADLINE_EXCEEDED, Delivery.NOT_SENT)

    async def test_counts_as_a_handler_that_runs(self) -> None:
        gate = Gate()
        _, client = await self.pair(ECHO.handler(echo), POST.handler(into(gate)), running_handlers=1)
        await client.send(POST, b"")
        await self.fails(client.call(ECHO, b"", timeout=PATIENCE), Code.RESOURCE_EXHAUSTED, Delivery.REFUSED)
        gate.open.set()

    async def test_what_its_handler_raises_is_logged_with_the_method(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> None:
            raise StatusError(Code.ABORTED, "a conflict")

        _, client = await self.pair(POST.handler(serve))
        with self.assertLogs("trunkcall", "WARNING") as logged:
            await client.send(POST, b"")
            await eventually(lambda: bool(logged.output))
        (line,) = logged.output
        self.assertIn("/test.Service/Post", line)
        self.assertIn("ABORTED: a conflict", line)

    async def test_its_deadline_ends_its_handler_and_the_loss_of_the_connection_does_not(self) -> None:
        late, lost = Gate(), Gate()
        server, client = await self.pair(
            POST.handler(into(late)), one_way("/test.Service/Lost", bytes).handler(into(lost))
        )
        await client.send(one_way("/test.Service/Lost", bytes), b"")
        with self.assertLogs("trunkcall", "WARNING") as logged:
            timeout = 0.1  # may be over before the handler has begun, where the machine stands still
            while not late.begun.is_set() and timeout < 20:
                with contextlib.suppress(StatusError):
                    await client.send(POST, b"", timeout=timeout)
                timeout *= 4
            await eventually(lost.begun.is_set)
            await client.close()
            await eventually(lambda: not server.connections)
            await eventually(late.cancelled.is_set)
            await eventually(lambda: bool(logged.output))
        self.assertIn("DEADLINE_EXCEEDED", logged.output[0])
        self.assertEqual((server.running, lost.cancelled.is_set()), (1, False))
        lost.open.set()
        await eventually(lambda: not server.running)

    async def test_is_waited_for_when_the_server_stops(self) -> None:
        gate = Gate()
        server, client = await self.pair(POST.handler(into(gate)))
        await client.send(POST, b"")
        stopping = asyncio.create_task(server.stop())
        await eventually(lambda: not server.connections)
        self.assertFalse(stopping.done())
        gate.open.set()
        self.assertTrue(await stopping)

    async def test_is_cut_off_at_the_end_of_the_grace_and_by_close(self) -> None:
        for close in (False, True):
            gate = Gate()
            server, client = await self.pair(POST.handler(into(gate)))
            with self.assertLogs("trunkcall", "WARNING"):
                await client.send(POST, b"")
                await gate.begun.wait()
                if close:
                    await server.close()
                else:
                    self.assertFalse(await server.stop(0.05))
            self.assertTrue(gate.cancelled.is_set())
            self.assertEqual((server.running, len(server._serving.tasks)), (0, 0))

    async def test_a_server_sends_one_to_its_client(self) -> None:
        server, client = await self.pair(codec=RAW)
        gate = Gate()
        client.register(POST.handler(into(gate)))
        await client.connect()
        await eventually(lambda: bool(server.connections))
        (connection,) = server.connections
        await connection.send(POST, b"x")
        await gate.begun.wait()
        with self.assertLogs("trunkcall", "WARNING"):
            await client.close()
        self.assertTrue(gate.cancelled.is_set())

    async def test_of_a_method_that_streams_has_one_message(self) -> None:
        got: list[bytes] = []

        async def join(requests: AsyncIterator[bytes], call: ServerCall) -> bytes:
            got.extend([request async for request in requests])
            return b"heard by nobody"

        async def twice(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
            async for request in requests:
                got.append(request)
                yield request

        async def pass_on(call: Call, proceed: Next) -> object:
            return await proceed(call)

        for interceptors in ((), (pass_on,)):
            got.clear()
            server, client = await self.pair(JOIN.handler(join), TWICE.handler(twice), interceptors=interceptors)
            for method in (JOIN, TWICE):
                await client.send(one_way(method.name, bytes), b"only")
                await eventually(lambda server=server: not server.running)  # type: ignore[misc]
            self.assertEqual(got, [b"only", b"only"])

    async def test_a_one_way_method_has_no_answer_for_those_who_want_one(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> None:
            pass

        _, client = await self.pair(POST.handler(serve))
        await self.fails(client.call(unary(POST.name, bytes, bytes), b""), Code.UNIMPLEMENTED)

    async def test_that_an_interceptor_rejects_is_refused(self) -> None:
        ran: list[bytes] = []

        async def serve(request: bytes, call: ServerCall) -> None:
            ran.append(request)

        async def check(call: Call, proceed: Next) -> object:
            if call.request == b"no":
                raise StatusError(Code.PERMISSION_DENIED, "not you")
            return await proceed(call)

        server, client = await self.pair(POST.handler(serve), interceptors=[check])
        await self.fails(client.send(POST, b"no"), Code.PERMISSION_DENIED, Delivery.REFUSED)
        await client.send(POST, b"yes")
        await eventually(lambda: not server.running)
        self.assertEqual(ran, [b"yes"])

    async def test_goes_through_interceptors_at_both_ends(self) -> None:
        seen: list[tuple[str, object]] = []

        async def note(call: Call, proceed: Next) -> object:
            seen.append((call.method.kind.value, call.stream))
            return await proceed(call)

        async def serve(request: bytes, call: ServerCall) -> None:
            pass

        server, address = await self.serve(POST.handler(serve), interceptors=[note])
        await self.client(address, interceptors=[note]).send(POST, b"")
        await eventually(lambda: len(seen) == 2 and not server.running)
        self.assertEqual(seen, [("one-way", None)] * 2)
