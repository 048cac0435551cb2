"""Calls of every kind: messages, metadata, statuses."""

from __future__ import annotations

import asyncio
import re
import unittest
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

from google.protobuf.wrappers_pb2 import StringValue

from example.v1.user_pb2 import GetUserRequest, GetUserResponse
from trunkcall import (
    GZIP,
    PROTOBUF,
    CallOptions,
    Code,
    Delivery,
    Kind,
    Limits,
    ServerCall,
    StatusError,
    current_call,
    unary,
)

from .kit import COUNT, ECHO, HANDLERS, JOIN, OTHER, PATIENCE, TWICE, Case, all_of, echo


class Kinds(Case):
    async def test_a_unary_call_carries_its_message_both_ways(self) -> None:
        _, client = await self.pair()
        self.assertEqual(await client.call(ECHO, b"hello"), b"hello")

    async def test_an_empty_message_is_a_message(self) -> None:
        _, client = await self.pair()
        self.assertEqual(await client.call(ECHO, b""), b"")

    async def test_a_message_beyond_frame_and_window_arrives_whole(self) -> None:
        _, client = await self.pair()
        message = bytes(range(256)) * 12_345
        self.assertEqual(await client.call(ECHO, message), message)

    async def test_many_calls_at_once_get_their_own_answers(self) -> None:
        _, client = await self.pair()
        answers = await asyncio.gather(*(client.call(ECHO, str(n).encode()) for n in range(2_000)))
        self.assertEqual(answers, [str(n).encode() for n in range(2_000)])

    async def test_a_call_bounds_its_answers(self) -> None:
        server, client = await self.pair(compression=GZIP)
        del server
        wordy, options = b"word " * 1000, CallOptions(max_receive=4999)
        packed = CallOptions(max_receive=4999, compression=GZIP)
        for given in (options, packed):
            error = await self.fails(client.unary(ECHO, wordy, given), Code.RESOURCE_EXHAUSTED, Delivery.EXECUTED)
            self.assertRegex(error.message, r"the response .*\b4999\b")
            self.assertEqual((await client.unary(ECHO, wordy[1:], given)).message, wordy[1:])
            stream = client.stream(TWICE, None, given)
            await stream.send(wordy[:2000])
            self.assertEqual(await stream.receive(), wordy[:4000])
            await stream.send(wordy[:2500])
            await self.fails(stream.receive(), Code.RESOURCE_EXHAUSTED, Delivery.UNKNOWN)
        for wrong in (0, -1, "5"):
            with self.assertRaisesRegex((TypeError, ValueError), "option max_receive: "):
                await client.unary(ECHO, b"", CallOptions(max_receive=cast(Any, wrong)))

    async def test_a_server_stream_ends_after_its_messages(self) -> None:
        _, client = await self.pair()
        self.assertEqual(await all_of(client.open(COUNT, b"3")), [b"0", b"1", b"2"])
        self.assertEqual(await all_of(client.open(COUNT, b"0")), [])

    async def test_a_client_stream_is_answered_once(self) -> None:
        _, client = await self.pair()
        stream = client.open(JOIN)
        for word in (b"a", b"b", b"c"):
            self.assertTrue(await stream.send(word))
        self.assertEqual(await stream.response(), b"a,b,c")

    async def test_a_bidi_stream_alternates(self) -> None:
        _, client = await self.pair()
        async with client.open(TWICE) as stream:
            for word in (b"a", b"b"):
                await stream.send(word)
                self.assertEqual(await stream.receive(), word * 2)
            await stream.half_close()
            self.assertIsNone(await stream.receive())
            self.assertEqual((await stream.status()).code, Code.OK)

    async def test_a_stream_carries_more_than_its_window(self) -> None:
        async def many(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
            for _ in range(100):
                yield request

        _, client = await self.pair(COUNT.handler(many))
        total = 0
        async for message in client.open(COUNT, bytes(50_000)):
            total += len(message)
        self.assertEqual(total, 5_000_000)

    async def test_a_coroutine_may_send_on_the_call_instead_of_yielding(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> None:
            await call.send(request + b"1")
            await call.send(request + b"2")

        _, client = await self.pair(COUNT.handler(serve))
        self.assertEqual(await all_of(client.open(COUNT, b"x")), [b"x1", b"x2"])


class PlainFunctions(Case):
    async def test_a_plain_function_runs_on_another_thread(self) -> None:
        import threading

        loop_thread = threading.get_ident()

        def serve(request: bytes, call: ServerCall) -> bytes:
            return b"loop" if threading.get_ident() == loop_thread else b"other"

        _, client = await self.pair(ECHO.handler(serve), OTHER.handler(serve, inline=True))
        self.assertEqual(await client.call(ECHO, b""), b"other")
        self.assertEqual(await client.call(OTHER, b""), b"loop")

    async def test_a_plain_generator_answers_many(self) -> None:
        def serve(request: bytes, call: ServerCall) -> Iterator[bytes]:
            yield from (b"a", b"b")

        _, client = await self.pair(COUNT.handler(serve))
        self.assertEqual(await all_of(client.open(COUNT, b"")), [b"a", b"b"])

    async def test_an_inline_handler_that_fails_answers_with_its_status(self) -> None:
        def serve(request: bytes, call: ServerCall) -> bytes:
            raise StatusError(Code.NOT_FOUND, "no such thing")

        _, client = await self.pair(ECHO.handler(serve, inline=True))
        await self.fails(client.call(ECHO, b""), Code.NOT_FOUND)


class Statuses(Case):
    async def test_code_message_details_and_trailer_of_a_failure_arrive(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> bytes:
            raise StatusError(Code.NOT_FOUND, "no such user", [StringValue(value="7")], [("reason", "gone")])

        _, client = await self.pair(ECHO.handler(serve))
        error = await self.fails(client.call(ECHO, b""), Code.NOT_FOUND)
        self.assertEqual(error.message, "no such user")
        self.assertEqual(str(error), "NOT_FOUND: no such user")
        unpacked = StringValue()
        self.assertTrue(error.details[0].Unpack(unpacked))
        self.assertEqual(unpacked.value, "7")
        self.assertEqual(list(error.trailer), [("reason", "gone")])

    async def test_the_text_of_another_exception_stays_at_the_server(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> bytes:
            raise ValueError("the password is xyzzy")

        _, client = await self.pair(ECHO.handler(serve))
        with self.assertLogs("trunkcall", "ERROR") as logged:
            error = await self.fails(client.call(ECHO, b""), Code.UNKNOWN)
        found = re.fullmatch(r"the handler failed \(error ([0-9a-f]{16}) in the log of the server\)", error.message)
        assert found is not None, error.message
        self.assertIn("xyzzy", logged.output[0])
        self.assertIn(found[1], logged.output[0])

    async def test_a_timeout_within_a_handler_keeps_its_code_and_is_logged(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> bytes:
            raise TimeoutError("of a data base at db:5432")

        _, client = await self.pair(ECHO.handler(serve))
        for timeout in (None, PATIENCE):
            with self.assertLogs("trunkcall", "ERROR") as logged:
                error = await self.fails(client.call(ECHO, b"", timeout=timeout), Code.DEADLINE_EXCEEDED)
            told = r"the handler failed \(error ([0-9a-f]{16}) in the log of the server\)"
            found = re.fullmatch(told, error.message)
            assert found is not None, error.message
            self.assertFalse(error.local)
            self.assertIn(found[1], logged.output[0])
            self.assertIn("of a data base at db:5432", logged.output[0])

    async def test_a_cancellation_within_a_handler_keeps_its_code_and_is_logged(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> bytes:
            inner = asyncio.create_task(asyncio.sleep(PATIENCE))
            inner.cancel()
            await inner
            return request

        _, client = await self.pair(ECHO.handler(serve))
        with self.assertLogs("trunkcall", "ERROR") as logged:
            error = await self.fails(client.call(ECHO, b""), Code.CANCELLED)
        found = re.fullmatch(r"the handler failed \(error ([0-9a-f]{16}) in the log of the server\)", error.message)
        assert found is not None, error.message
        self.assertIn(found[1], logged.output[0])

    async def test_an_answer_that_is_too_large_is_logged_where_it_is_made(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> bytes:
            return bytes(2_000)

        async def many(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
            yield bytes(2_000)

        _, address = await self.serve(ECHO.handler(serve), COUNT.handler(many))
        client = self.client(address, limits=Limits(message_bytes=1_000))
        told = "message of 2000 bytes exceeds the peer's max_message 1000: raise Limits.message_bytes there, or stream"
        for method, begin in ((ECHO, lambda: client.call(ECHO, b"")), (COUNT, lambda: all_of(client.open(COUNT, b"")))):
            with self.assertLogs("trunkcall", "WARNING") as logged:
                error = await self.fails(begin(), Code.RESOURCE_EXHAUSTED)
            self.assertEqual(error.message, told)
            self.assertIn(f"the answer of {method.name} cannot be sent: {told}", logged.output[0])

    async def test_messages_before_a_failure_are_received(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
            yield b"1"
            raise StatusError(Code.ABORTED, "enough")

        _, client = await self.pair(COUNT.handler(serve))
        stream = client.open(COUNT, b"")
        self.assertEqual(await stream.receive(), b"1")
        await self.fails(stream.receive(), Code.ABORTED)

    async def test_an_unknown_method_is_refused(self) -> None:
        _, client = await self.pair()
        error = await self.fails(client.call(OTHER, b""), Code.UNIMPLEMENTED, Delivery.REFUSED)
        self.assertEqual(error.message, f"method {OTHER.name} is not served by this server")

    async def test_a_request_that_does_not_decode_is_refused(self) -> None:
        method = unary("/test.Service/Get", GetUserRequest, GetUserResponse)
        runs: list[Any] = []

        async def serve(request: GetUserRequest, call: ServerCall) -> GetUserResponse:
            runs.append(request)
            return GetUserResponse()

        class Broken:
            name, number = "protobuf", 1

            def encoder(self, kind: type[Any]) -> Any:
                return lambda message: b"\xff\xff"

            def decoder(self, kind: type[Any]) -> Any:
                return bytes

        _, address = await self.serve(method.handler(serve))
        client = self.client(address, codec=Broken())
        await self.fails(client.call(method, GetUserRequest()), Code.INVALID_ARGUMENT, Delivery.REFUSED)
        self.assertEqual(runs, [])

    async def test_a_request_that_does_not_encode_is_not_sent(self) -> None:
        method = unary("/test.Service/Get", GetUserRequest, GetUserResponse)
        _, address = await self.serve()
        client = self.client(address, codec=PROTOBUF)
        wrong: Any = "x"
        await self.fails(client.call(method, wrong), Code.INTERNAL, Delivery.NOT_SENT)

    async def test_an_answer_above_the_callers_limit_is_resource_exhausted(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> bytes:
            return bytes(100_000)

        _, address = await self.serve(ECHO.handler(serve))
        client = self.client(address, limits=Limits(message_bytes=1_000))
        error = await self.fails(client.call(ECHO, b""), Code.RESOURCE_EXHAUSTED)
        self.assertIn("exceeds the peer's max_message 1000: raise Limits.message_bytes there", error.message)

    async def test_a_request_above_the_servers_limit_is_not_sent(self) -> None:
        _, address = await self.serve(limits=Limits(message_bytes=1_000))
        client = self.client(address)
        await client.connect()
        error = await self.fails(client.call(ECHO, bytes(1_001)), Code.RESOURCE_EXHAUSTED, Delivery.NOT_SENT)
        self.assertIn("1000", error.message)
        self.assertEqual(await client.call(ECHO, bytes(1_000)), bytes(1_000))


class MetadataBothWays(Case):
    async def test_header_and_trailer_of_a_unary_call(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> bytes:
            await call.send_header([("first", "1")])
            call.set_trailer([("last-bin", b"\0\xff")])
            return dict(call.metadata)["who"].encode()  # type: ignore[union-attr]

        _, client = await self.pair(ECHO.handler(serve))
        answer = await client.unary(ECHO, b"", CallOptions(metadata=[("who", "ada")]))
        self.assertEqual(answer.message, b"ada")
        self.assertEqual(answer.header, [("first", "1")])
        self.assertEqual(answer.trailer, [("last-bin", b"\0\xff")])
        self.assertTrue(answer.peer.startswith("127.0.0.1:"))

    async def test_header_and_trailer_of_a_stream(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
            call.set_header([("first", "1")])
            call.set_trailer([("last", "2")])
            yield b"x"

        _, client = await self.pair(COUNT.handler(serve))
        stream = client.open(COUNT, b"", metadata=[("a", "b")])
        self.assertEqual(await stream.header(), [("first", "1")])
        self.assertEqual(await all_of(stream), [b"x"])
        self.assertEqual(stream.trailer, [("last", "2")])

    async def test_a_malformed_key_is_not_sent(self) -> None:
        _, client = await self.pair()
        work = client.call(ECHO, b"", metadata=[("Not Lower", "x")])
        await self.fails(work, Code.INVALID_ARGUMENT, Delivery.NOT_SENT)

    async def test_metadata_above_the_limit_is_not_sent(self) -> None:
        _, client = await self.pair()
        work = client.call(ECHO, b"", metadata=[("k", "x" * 20_000)])
        error = await self.fails(work, Code.RESOURCE_EXHAUSTED, Delivery.NOT_SENT)
        self.assertIn("16384", error.message)

    async def test_trailers_above_the_limit_replace_the_answer_by_a_status(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> bytes:
            call.set_trailer([("k", "x" * 20_000)])
            return b""

        _, client = await self.pair(ECHO.handler(serve))
        await self.fails(client.call(ECHO, b""), Code.RESOURCE_EXHAUSTED)


class Registration(Case):
    async def test_services_and_methods_are_listed(self) -> None:
        server, _ = await self.serve()
        self.assertEqual(server.services, ["test.Service"])
        self.assertEqual(server.methods[0].name, "/test.Service/Count")
        self.assertEqual({method.kind for method in server.methods}, set(Kind) - {Kind.ONE_WAY})

    async def test_a_method_is_registered_once(self) -> None:
        server, _ = await self.serve()
        with self.assertRaisesRegex(ValueError, "already"):
            server.register(ECHO.handler(echo))

    async def test_a_method_registered_later_is_served_on_open_connections(self) -> None:
        server, client = await self.pair(*HANDLERS)
        await self.fails(client.call(ECHO, b""), Code.UNIMPLEMENTED, Delivery.REFUSED)
        server.register(ECHO.handler(echo))
        self.assertEqual(await client.call(ECHO, b"x"), b"x")

    async def test_the_current_call_is_known_to_the_handler_alone(self) -> None:
        async def serve(request: bytes, call: ServerCall) -> bytes:
            return b"same" if current_call() is call else b"other"

        _, client = await self.pair(ECHO.handler(serve), OTHER.handler(serve))
        self.assertEqual(await client.call(ECHO, b""), b"same")
        self.assertIsNone(current_call())


if __name__ == "__main__":
    unittest.main()
