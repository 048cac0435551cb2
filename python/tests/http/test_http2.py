"""gRPC over HTTP/2, and what connections of HTTP/2 may do (http.md 2 and 3, limits.md 5)."""

from __future__ import annotations

import asyncio
import gzip
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from h2.errors import ErrorCodes

from harness.certificates import Authority
from tests.public.kit import COUNT, ECHO, HANDLERS, JOIN, OTHER, TWICE, Gate, echo, eventually, join
from trunkcall import RAW, Code, Delivery, Limits, Observer, ServerCall, StatusError, server_tls
from trunkcall.connection import Connection
from trunkcall.transport import clock

from .kit import ECHO_PATH, Http2Client, HttpCase, framed

# 256 KiB, of which nothing returns before the first message is taken.
WINDOWFUL = framed(b"x") + framed(bytes(131_061)) + framed(bytes(131_067))
# Their headers; the text of GOAWAY is "the server drains".
GOAWAY = bytes((0, 0, 25, 7, 0, 0, 0, 0, 0))
RST_STREAM = bytes((0, 0, 4, 3, 0))
PING = bytes((0, 0, 8, 6, 0, 0, 0, 0, 0)) + b"12345678"


class Grpc(HttpCase):
    async def test_a_call_is_answered_with_its_metadata(self) -> None:
        async def told(request: bytes, call: ServerCall) -> bytes:
            call.set_header([("first", "1")])
            call.set_trailer([("last-bin", b"\xff")])
            values = dict(call.metadata)
            return repr((values["key"], values["some-bin"], call.time_remaining() is not None)).encode()

        _, address = await self.serve(ECHO.handler(told))
        client = await self.http2(address)
        fields: dict[str, Any] = {"key": "value", "some_bin": "AAE", "grpc_timeout": "10S"}
        answer = await client.answer(client.ask(body=framed(b"x"), **fields))
        self.assertEqual((answer.head[":status"], answer.head["content-type"]), ("200", "application/grpc+raw"))
        self.assertEqual((answer.head["first"], answer.trailers["last-bin"]), ("1", "/w"))
        self.assertEqual(answer.body, framed(b"('value', b'\\x00\\x01', True)"))
        self.assertEqual(answer.trailers["grpc-status"], "0")

    async def test_streams_go_both_ways_at_once(self) -> None:
        _, address = await self.serve(*HANDLERS)
        client = await self.http2(address)
        answer = client.ask(TWICE.name, framed(b"a"), end=False)
        await client.until(lambda: answer.body == framed(b"aa"))
        client.h2.send_data(client.number(answer), framed(b"b"), end_stream=True)
        client.flush()
        await client.answer(answer)
        self.assertEqual((answer.body, answer.trailers["grpc-status"]), (framed(b"aa") + framed(b"bb"), "0"))
        counted = await client.answer(client.ask(COUNT.name, framed(b"3")))
        self.assertEqual(counted.body, b"".join(framed(one) for one in (b"0", b"1", b"2")))

    async def test_a_failure_says_code_text_and_whether_the_handler_ran(self) -> None:
        async def fails(request: bytes, call: ServerCall) -> bytes:
            raise StatusError(Code.NOT_FOUND, "no Ä%", trailer=[("why", "so")])

        _, address = await self.serve(ECHO.handler(fails))
        client = await self.http2(address)
        answer = await client.answer(client.ask(body=framed(b"")))
        self.assertEqual(answer.head.get("grpc-status", answer.trailers.get("grpc-status")), "5")
        self.assertEqual((answer.head["grpc-message"], answer.head["why"]), ("no %C3%84%25", "so"))
        self.assertNotIn("trunk-delivery", answer.head)
        unknown = await client.answer(client.ask("/no/where", framed(b"")))
        self.assertEqual((unknown.head["grpc-status"], unknown.head["trunk-delivery"]), ("12", "refused"))

    async def test_bad_requests_are_refused_with_the_reason(self) -> None:
        server, address = await self.serve(limits=Limits(message_bytes=1_000))
        client = await self.http2(address)
        cases: list[tuple[bytes, dict[str, Any], str, str]] = [
            (framed(b"x" * 1_001), {}, "8", "max_message 1000"),
            (framed(b"x", 2), {}, "13", "0x2"),
            (framed(b"x", 1), {}, "13", "no encoding"),
            (framed(b"x")[:-1] + b"", {}, "3", "cut off"),
            (framed(b"") * 2, {}, "12", "more were sent"),
            (b"", {}, "12", "none was sent"),
            (framed(b""), {"grpc_timeout": "1x"}, "3", "grpc-timeout"),
            (framed(b""), {"some_bin": "*"}, "3", "some-bin"),
            (framed(b""), {"grpc_encoding": "br"}, "12", "br"),
            (framed(b""), {"content_type": "application/grpc+nothing"}, "12", "nothing"),
            (framed(b""), {"key": "v" * 17_000}, "8", "max_metadata_bytes"),
        ]
        for body, fields, code, text in cases:
            with self.subTest(text):
                answer = await client.answer(client.ask(body=body, **fields))
                self.assertEqual((answer.head["grpc-status"], answer.head["trunk-delivery"]), (code, "refused"))
                self.assertIn(text, answer.head["grpc-message"])
        self.assertEqual(server.gauges().refused, len(cases))
        self.assertEqual((await client.answer(client.ask(body=framed(b"y")))).body, framed(b"y"))

    async def test_compressed_messages_are_answered_compressed(self) -> None:
        _, address = await self.serve()
        client = await self.http2(address)
        message = b"again " * 1_000
        answer = await client.answer(client.ask(body=framed(gzip.compress(message), 1), grpc_encoding="gzip"))
        self.assertEqual((answer.head["grpc-encoding"], answer.body[0]), ("gzip", 1))
        self.assertEqual(gzip.decompress(answer.body[5:]), message)

    async def test_a_large_message_goes_both_ways(self) -> None:
        _, address = await self.serve()
        client = await self.http2(address)
        message = bytes(range(256)) * 8_000
        answer = client.ask(body=b"", end=False)
        await client.send(answer, framed(message))
        await client.answer(answer)
        self.assertTrue(answer.body == framed(message))

    async def test_a_reset_cancels_the_handler_and_a_deadline_ends_the_call(self) -> None:
        gate = Gate()
        server, address = await self.serve(ECHO.handler(gate))
        client = await self.http2(address)
        answer = client.ask(body=framed(b""))
        await asyncio.wait_for(gate.begun.wait(), 60)
        client.h2.reset_stream(client.number(answer), ErrorCodes.CANCEL)
        client.flush()
        await asyncio.wait_for(gate.cancelled.wait(), 60)
        late = await client.answer(client.ask(body=framed(b""), grpc_timeout="50m"))
        self.assertEqual(late.head["grpc-status"], "4")
        await eventually(lambda: server.running == 0)

    async def test_observers_and_gauges_know_the_connection_which_calls_nobody(self) -> None:
        met: list[Connection] = []

        class Seen(Observer):
            def connected(self, connection: Connection) -> None:
                met.append(connection)

        server, address = await self.serve(observer=Seen())
        client = await self.http2(address)
        await client.answer(client.ask(body=framed(b"")))
        self.assertEqual((server.gauges().connections, len(server.connections)), (1, 1))
        self.assertEqual(met, server.connections)
        error = await self.fails(met[0].call(OTHER, b"", codec=RAW), Code.UNIMPLEMENTED, Delivery.NOT_SENT)
        self.assertIn("over HTTP", error.message)
        met[0].disconnect()
        await client.until(lambda: False)
        await eventually(lambda: server.gauges().connections == 0)


class Connections(HttpCase):
    async def test_a_drained_connection_is_told_twice_and_finishes_what_runs(self) -> None:
        gate = Gate()
        server, address = await self.serve(ECHO.handler(gate))
        client = await self.http2(address)
        client.ask(body=framed(b"last"))
        await asyncio.wait_for(gate.begun.wait(), 60)
        stopping = asyncio.create_task(server.stop())
        # The library of this test has done with a connection that is told of its end: what is left are bytes.
        seen = b""
        while b"draining" not in seen:
            seen += await asyncio.wait_for(client.reader.read(65_536), 60)
        self.assertIn(GOAWAY + b"\x7f\xff\xff\xff", seen)
        client.writer.write(bytes((0, 0, 8, 6, 1, 0, 0, 0, 0)) + b"draining")
        while GOAWAY + b"\0\0\0\1" not in seen:
            seen += await asyncio.wait_for(client.reader.read(65_536), 60)
        gate.open.set()
        rest = await asyncio.wait_for(client.reader.read(), 60)
        self.assertIn(framed(b"last"), rest)
        self.assertTrue(await asyncio.wait_for(stopping, 60))

    async def test_a_request_behind_the_last_one_that_is_served_is_refused(self) -> None:
        gate = Gate()
        server, address = await self.serve(ECHO.handler(gate))
        client = await self.http2(address)
        client.ask(body=framed(b"last"))
        await asyncio.wait_for(gate.begun.wait(), 60)
        head = {":method": "POST", ":scheme": "http", ":path": ECHO_PATH, ":authority": "here"}
        block = client.h2.encoder.encode([*head.items(), ("content-type", "application/grpc+raw")])
        (end,) = server._connections
        connection: Any = end.connection
        stopping = asyncio.create_task(server.stop())
        await server.stopping.wait()
        connection.look(clock() + 11_000_000)  # its PING was not answered for ten seconds
        client.writer.write(len(block).to_bytes(3, "big") + bytes((1, 4, 0, 0, 0, 3)) + block)
        seen = b""
        while RST_STREAM + b"\0\0\0\3\0\0\0\7" not in seen:
            more = await asyncio.wait_for(client.reader.read(65_536), 60)
            self.assertTrue(more, "the connection ended")
            seen += more
        gate.open.set()
        self.assertIn(framed(b"last"), await asyncio.wait_for(client.reader.read(), 60))
        self.assertTrue(await asyncio.wait_for(stopping, 60))
        self.assertEqual(gate.runs, 1)

    async def test_a_client_that_goes_away_hears_what_it_has_asked_for(self) -> None:
        gate = Gate()
        _, address = await self.serve(ECHO.handler(gate))
        client = await self.http2(address)
        client.ask(body=framed(b"asked"))
        await asyncio.wait_for(gate.begun.wait(), 60)
        goaway = bytes((0, 0, 8, 7, 0, 0, 0, 0, 0)) + bytes(8)
        for piece in (goaway[:4], goaway[4:12], goaway[12:]):
            client.writer.write(piece)
            await client.writer.drain()
        gate.open.set()
        answer = await client.answer(client.answers[1])
        self.assertEqual(answer.body, framed(b"asked"))

    async def test_one_request_too_many_is_refused_alone(self) -> None:
        gate = Gate()
        _, address = await self.serve(ECHO.handler(gate), limits=Limits(calls=1))
        client = await self.http2(address)
        first = client.ask(body=framed(b"1"))
        await asyncio.wait_for(gate.begun.wait(), 60)
        client.h2.remote_settings.update({3: 10})
        client.h2.remote_settings.acknowledge()
        second = await client.answer(client.ask(body=framed(b"2")))
        self.assertEqual(second.reset, ErrorCodes.REFUSED_STREAM)
        gate.open.set()
        self.assertEqual((await client.answer(first)).body, framed(b"1"))

    async def test_a_flood_of_frames_ends_the_connection_which_is_told_why(self) -> None:
        _, address = await self.serve()
        client = await self.http2(address)
        await client.answer(client.ask(body=framed(b"")))
        for _ in range(100):
            client.writer.write(PING * 1_000)
        await client.until(lambda: bool(client.goaways))
        self.assertEqual(client.goaways[0].error_code, ErrorCodes.ENHANCE_YOUR_CALM)
        self.assertIn(b"PING", client.goaways[0].additional_data or b"")

    async def test_the_library_has_a_piece_at_once_of_many_requests_that_come_together(self) -> None:
        server, address = await self.serve()
        client = await self.http2(address)
        await client.answer(client.ask(body=framed(b"")))
        for number in range(3, 1_003, 2):
            top = [(":method", "POST"), (":scheme", "http"), (":path", "/no/where"), (":authority", "here")]
            client.h2.send_headers(number, [*top, ("key", f"{number}" * 20)], end_stream=True)
        together = client.h2.data_to_send()
        line: Any = server.connections[0]._carrier
        pieces: list[int] = []
        receive = line.h2.receive_data

        def counted(data: bytes) -> Any:
            pieces.append(len(data))
            return receive(data)

        line.h2.receive_data = counted
        line.data_received(together)
        self.assertEqual(sum(pieces), len(together))
        self.assertLessEqual(max(pieces), 16_384)
        self.assertGreater(len(together), 16_384)

    async def test_a_body_shorter_than_was_stated_ends_its_request_alone(self) -> None:
        gate = Gate()
        _, address = await self.serve(ECHO.handler(gate))
        client = await self.http2(address)
        running = client.ask(body=framed(b"runs"))
        await asyncio.wait_for(gate.begun.wait(), 60)
        for body in (b"", b"12", b"123456"):
            answer = await client.answer(client.ask(body=body, content_type="application/raw", content_length="5"))
            self.assertEqual(answer.reset, ErrorCodes.PROTOCOL_ERROR)
        gate.open.set()
        self.assertEqual((await client.answer(running)).body, framed(b"runs"))
        self.assertEqual(gate.runs, 1)

    async def test_a_frame_that_is_too_long_ends_the_connection(self) -> None:
        _, address = await self.serve()
        client = await self.http2(address)
        client.writer.write((16_385).to_bytes(3, "big") + bytes((0, 0, 0, 0, 0, 1)))
        await client.until(lambda: bool(client.goaways))
        self.assertEqual(client.goaways[0].error_code, ErrorCodes.FRAME_SIZE_ERROR)

    async def test_a_header_that_is_too_long_is_refused_and_one_far_longer_ends_the_connection(self) -> None:
        _, address = await self.serve()
        client = await self.http2(address)
        many: dict[str, Any] = {f"key_{number}": "v" * 200 for number in range(150)}
        answer = await client.answer(client.ask(body=framed(b""), **many))
        self.assertEqual(answer.head["grpc-status"], "8")
        plain = await client.answer(client.ask(body=b"", content_type="application/raw", **many))
        self.assertEqual(plain.head[":status"], "431")
        client.ask(body=framed(b""), **{name: value * 5 for name, value in many.items()})
        await client.until(lambda: bool(client.goaways))
        self.assertEqual(client.goaways[0].error_code, ErrorCodes.ENHANCE_YOUR_CALM)

    async def test_a_stream_waits_for_a_caller_that_reads_nothing(self) -> None:
        sent = 0

        async def pours(request: bytes, call: ServerCall) -> None:
            nonlocal sent
            while await call.send(bytes(65_536)):
                sent += 1

        server, address = await self.serve(COUNT.handler(pours))
        client = await self.http2(address)
        client.credits = False
        answer = client.ask(COUNT.name, framed(b""))
        await client.until(lambda: len(answer.body) >= 60_000)
        for _ in range(50):
            await asyncio.sleep(0)
        self.assertLess(sent, 8)
        client.writer.close()
        await eventually(lambda: server.running == 0)

    async def test_messages_that_no_handler_took_leave_the_window_to_others(self) -> None:
        done = asyncio.Event()

        async def reads_nothing(requests: AsyncIterator[bytes], call: ServerCall) -> bytes:
            await done.wait()
            return b""

        _, address = await self.serve(JOIN.handler(reads_nothing))
        client = await self.http2(address)
        for _ in range(4):  # more, together, than the connection's window of 4 MiB
            done.clear()
            answers = [client.ask(JOIN.name, b"", end=False) for _ in range(12)]
            for answer in answers:
                await client.send(answer, framed(bytes(100_000)) * 2)
            await client.settle()
            done.set()
            for answer in answers:
                self.assertEqual((await client.answer(answer)).trailers["grpc-status"], "0")

    async def test_connect_and_errors_of_http_go_by_the_status(self) -> None:
        _, address = await self.serve()
        client = await self.http2(address)
        for path, method, kind, status in (
            (ECHO_PATH, "POST", "application/raw", "200"),
            (ECHO_PATH, "POST", "text/plain", "415"),
            (ECHO_PATH, "PUT", "application/raw", "405"),
            ("/no/where", "POST", "application/raw", "404"),
            (ECHO_PATH, "PUT", "application/grpc", "405"),
        ):
            with self.subTest(status=status, kind=kind):
                body = b"hello" if status == "200" else b""
                answer = await client.answer(client.ask(path, body, method=method, content_type=kind))
                self.assertEqual(answer.head[":status"], status)
                if status == "200":
                    self.assertEqual(answer.body, b"hello")


class Refused(HttpCase):
    async def test_native_only_servers_speak_no_http(self) -> None:
        _, address = await self.serve(ECHO.handler(echo), native_only=True)
        client = await self.http2(address)
        await client.until(lambda: False)
        self.assertTrue(client.closed)

    async def test_in_the_clear_where_tls_is_wanted_requests_are_answered_one_by_one_for_a_second(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            own = Authority(Path(folder)).server("127.0.0.1")
            _, address = await self.serve(tls=server_tls(own.cert, own.key))
        client = await self.http2(address)
        # Both at once, so that they are there in the first second, however busy the machine.
        grpc, other = client.ask(body=framed(b"")), client.ask(body=None, content_type="text/plain")
        await client.until(lambda: grpc.ended and other.ended)
        self.assertEqual((grpc.head["grpc-status"], grpc.head["trunk-delivery"]), ("14", "refused"))
        self.assertIn("use TLS", grpc.head["grpc-message"])
        self.assertEqual(other.head[":status"], "400")
        await client.until(lambda: bool(client.goaways))
        self.assertEqual(client.goaways[0].error_code, ErrorCodes.INADEQUATE_SECURITY)


class Windows(HttpCase):
    async def unread(self) -> tuple[Any, Http2Client, Gate]:
        """A connection to a server whose JOIN reads nothing until the gate is opened."""
        gate = Gate()

        async def reads_nothing(requests: Any, call: ServerCall) -> bytes:
            return await gate(b"", call)

        server, address = await self.serve(JOIN.handler(reads_nothing), ECHO.handler(echo))
        return server, await self.http2(address), gate

    async def test_more_than_the_window_of_a_stream_ends_that_stream(self) -> None:
        _, client, _ = await self.unread()
        await client.settle()
        answer = client.ask(JOIN.name, b"", end=False)
        stream = client.h2.streams[client.number(answer)]
        stream.outbound_flow_control_window += 1
        await client.send(answer, WINDOWFUL + b"\0", end=False)
        await client.until(lambda: answer.reset is not None)
        self.assertEqual(answer.reset, ErrorCodes.FLOW_CONTROL_ERROR)
        self.assertEqual((await client.answer(client.ask(body=framed(b"x")))).body, framed(b"x"))

    async def test_more_than_the_window_of_the_connection_ends_it(self) -> None:
        server, client, _ = await self.unread()
        await client.settle()
        (end,) = server._connections
        end.connection.windows._left = 16_384
        client.ask(JOIN.name, bytes(16_384), end=False)
        client.ask(JOIN.name, bytes(1), end=False)
        await client.until(lambda: bool(client.goaways))
        self.assertEqual(client.goaways[0].error_code, ErrorCodes.FLOW_CONTROL_ERROR)
        self.assertEqual(client.goaways[0].additional_data, b"DATA exceeds the window of the connection")

    async def test_streams_that_nobody_reads_stop_no_others(self) -> None:
        _, client, gate = await self.unread()
        answers = [client.ask(JOIN.name, b"", end=False) for _ in range(20)]
        for answer in answers:  # 5 MiB, more than the window of the connection
            await client.send(answer, WINDOWFUL, end=False)
        self.assertEqual((await client.answer(client.ask(body=framed(b"x")))).body, framed(b"x"))
        gate.open.set()
        for answer in answers:
            self.assertEqual((await client.answer(answer)).trailers["grpc-status"], "0")

    async def test_windows_make_way_for_a_message_whose_length_is_known(self) -> None:
        _, client, _ = await self.unread()
        await client.settle()
        answer = client.ask(body=b"", end=False)
        message = framed(bytes(2 << 20))
        await client.send(answer, message)
        await client.settle()
        self.assertEqual(client.h2.remote_settings.initial_window_size, 3 << 20)
        self.assertTrue((await client.answer(answer)).body == message)

    async def test_windows_grow_with_the_path(self) -> None:
        server, address = await self.serve(JOIN.handler(join))
        client = await self.http2(address)
        await client.settle()
        connection: Any = next(iter(server._connections)).connection
        now = clock()

        def slow() -> int:  # a path so long that what the test takes makes no difference
            nonlocal now
            now += 1_000
            return now

        connection.windows.now = slow
        answer = client.ask(JOIN.name, b"", end=False)
        for _ in range(32):
            await client.send(answer, framed(bytes(65_000)), end=False)
        await client.send(answer, framed(b""))
        self.assertEqual((await client.answer(answer)).trailers["grpc-status"], "0")
        self.assertGreater(client.h2.remote_settings.initial_window_size, 256 << 10)
