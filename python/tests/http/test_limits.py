"""What takes too long over HTTP, and what memory holds of it: connections look at the time that they are given."""

from __future__ import annotations

import asyncio
import socket
import unittest
from typing import Any

from h2.errors import ErrorCodes

from tests.public.kit import COUNT, ECHO, JOIN, PATIENCE, Gate, eventually
from trunkcall import Limits, Server, ServerCall
from trunkcall.http.frames import PREFACE
from trunkcall.transport import clock

from .kit import ECHO_PATH, Answer, HttpCase, answer_of, framed, post

SECOND = 1_000_000  # µs


def line(server: Server) -> Any:
    """The one connection of a server."""
    (end,) = server._connections
    return end.connection


def seconds_later(connection: Any, seconds: float) -> None:
    """Has a connection look as it will when this time has passed."""
    connection.check(clock() + int(seconds * SECOND))


class Waiting:
    """The transport of a connection of which as much output waits as a test says."""

    def __init__(self, connection: Any, waiting: int) -> None:
        self._transport = connection.transport
        self.waiting = waiting
        connection.transport = self

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return len(body).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + body


async def rest(reader: asyncio.StreamReader) -> bytes:
    """What comes until the connection ends."""
    return await asyncio.wait_for(reader.read(), PATIENCE)


class TimeOfHttp1(HttpCase):
    async def test_a_first_header_has_ten_seconds(self) -> None:
        server, address = await self.serve()
        reader, _ = await self.http1(address, b"POST /test.Service/Echo HTTP/1.1\r\nHost")
        (listener,) = server._listeners
        await eventually(lambda: bool(listener.upgrading))
        connection: Any = next(iter(listener.upgrading))
        seconds_later(connection, 11)
        self.assertEqual(await rest(reader), b"")
        self.assertEqual(server.gauges().rejected_connections, 1)

    async def test_a_later_header_has_ten_seconds_from_its_first_byte(self) -> None:
        server, address = await self.serve()
        reader, writer = await self.http1(address, post(b"x"))
        await answer_of(reader)
        writer.write(b"POST /test")
        connection = line(server)
        await eventually(lambda: bool(connection._head))
        seconds_later(connection, 11)
        self.assertEqual(connection.why, "a header took longer than 10 s")
        self.assertEqual(await rest(reader), b"")

    async def test_without_a_request_a_connection_has_fifteen_minutes(self) -> None:
        server, address = await self.serve()
        reader, _ = await self.http1(address, post(b"x"))
        await answer_of(reader)
        connection = line(server)
        await eventually(lambda: connection._current is None)
        seconds_later(connection, 14 * 60)
        self.assertFalse(connection.transport.is_closing())
        seconds_later(connection, 15 * 60 + 1)
        self.assertEqual(await rest(reader), b"")

    async def test_what_comes_behind_an_answer_has_a_minute(self) -> None:
        server, address = await self.serve()
        request = post(b"12345", ECHO_PATH, "text/plain")[:-4]
        reader, _ = await self.http1(address, request)
        self.assertEqual((await answer_of(reader))[0], 415)
        connection = line(server)
        seconds_later(connection, 59)
        self.assertFalse(connection._over)
        seconds_later(connection, 61)
        self.assertEqual(await rest(reader), b"")

    async def test_behind_that_of_a_method_that_takes_many_requests_it_has_a_second(self) -> None:
        async def answers(requests: Any, call: ServerCall) -> bytes:
            return b""

        server, address = await self.serve(JOIN.handler(answers))
        reader, _ = await self.http1(address, post(b"12345", JOIN.name, "application/connect+raw")[:-4])
        self.assertEqual((await answer_of(reader))[0], 200)
        seconds_later(line(server), 2)
        self.assertEqual(await rest(reader), b"")

    async def test_what_comes_behind_an_answer_is_a_mebibyte_at_most(self) -> None:
        server, address = await self.serve()
        head = post(b"", ECHO_PATH, "text/plain").replace(b"Length: 0", b"Length: 9000000")
        reader, writer = await self.http1(address, head)
        self.assertEqual((await answer_of(reader))[0], 415)
        connection = line(server)
        writer.write(bytes(1 << 20))
        await eventually(lambda: connection._current.dropped == 1 << 20)
        self.assertFalse(connection._over)
        writer.write(b"x")
        self.assertEqual(await rest(reader), b"")

    async def test_behind_the_last_answer_what_comes_has_a_second(self) -> None:
        server, address = await self.serve()
        reader, _ = await self.http1(address, b"POST /\n\r\n\r\n")
        connection = await self.known(server)
        self.assertEqual((await answer_of(reader))[0], 400)
        await eventually(lambda: connection._lingering)
        seconds_later(connection, 2)
        await eventually(lambda: connection.lost)

    async def test_an_answer_on_its_way_has_a_minute_and_more_as_it_goes(self) -> None:
        for taken, seconds in ((10_000, 61), (20 * 65_536, 81)):
            server, address = await self.serve()
            await self.http1(address, post(b"x"))
            connection = await self.known(server)
            connection._written += 2 << 20
            output = Waiting(connection, 2 << 20)
            now = clock()
            connection.check(now)
            output.waiting -= taken - 1
            connection.check(now + (seconds - 2) * SECOND)
            self.assertFalse(connection.transport.is_closing())
            output.waiting -= 1
            connection.check(now + seconds * SECOND)
            self.assertIn("under way for longer than 60 s", connection.why)

    async def test_a_peer_that_takes_nothing_has_a_minute(self) -> None:
        server, address = await self.serve()
        await self.http1(address, post(b"x"))
        connection = await self.known(server)
        Waiting(connection, 1)
        now = clock()
        connection.check(now)
        connection.check(now + 60 * SECOND)
        self.assertFalse(connection.transport.is_closing())
        connection.check(now + 61 * SECOND)
        self.assertIn("has read nothing for 60 s", connection.why)

    async def test_what_waits_before_the_end_of_a_stopped_call_is_not_waited_for(self) -> None:
        async def pours(request: bytes, call: ServerCall) -> None:
            while await call.send(bytes(65_536)):
                pass

        server, address = await self.serve(COUNT.handler(pours))
        request = post(framed(b""), COUNT.name, "application/connect+raw", "Connect-Timeout-Ms: 1000")
        await self.http1(address, request)  # which reads nothing
        connection = await self.known(server)
        await eventually(lambda: connection.lost)
        self.assertEqual(connection.why, "the peer did not take what waited when its call was stopped")

    async def known(self, server: Server) -> Any:
        await eventually(lambda: bool(server._connections))
        return line(server)

    async def test_a_request_under_way_has_a_minute_and_more_as_it_comes(self) -> None:
        server, address = await self.serve()
        size = 4 << 20
        head = post(b"", ECHO_PATH, "application/raw").replace(b"Length: 0", f"Length: {size + 1}".encode())
        reader, writer = await self.http1(address, head)
        await eventually(lambda: bool(server._connections))
        writer.write(bytes(size))
        connection = line(server)
        await eventually(lambda: connection._current.receiver._under_way._passed == size)
        seconds_later(connection, 90)
        self.assertFalse(connection._current.answered)
        seconds_later(connection, 130)
        status, _, body = await answer_of(reader)
        self.assertEqual(status, 429)
        self.assertIn(b"under way for longer than 60 s", body)


class TimeOfHttp2(HttpCase):
    async def test_the_preface_and_settings_have_ten_seconds(self) -> None:
        server, address = await self.serve()
        reader, _ = await self.http1(address, PREFACE)
        await eventually(lambda: bool(server._connections))
        seconds_later(line(server), 11)
        self.assertIn(b"the preface and SETTINGS took longer than 10 s", await rest(reader))

    async def test_a_frame_that_has_begun_has_ten_seconds(self) -> None:
        server, address = await self.serve()
        client = await self.http2(address)
        await client.settle()
        client.writer.write(bytes((0, 0, 8, 6, 0)))
        connection = line(server)
        await eventually(lambda: bool(connection._follower._header))
        seconds_later(connection, 11)
        await client.until(lambda: bool(client.goaways))
        self.assertEqual(client.goaways[0].additional_data, b"a frame took longer than 10 s")

    async def test_a_frame_of_data_that_has_begun_has_a_minute(self) -> None:
        server, address = await self.serve()
        client = await self.http2(address)
        client.ask(body=b"", end=False)
        await client.settle()
        client.writer.write(bytes((0, 0, 8, 0, 0, 0, 0, 0, 1, 0)))
        connection = line(server)
        await eventually(lambda: connection._follower._missing == 7)
        seconds_later(connection, 59)
        self.assertFalse(connection.ending)
        seconds_later(connection, 61)
        await client.until(lambda: bool(client.goaways))
        self.assertEqual(client.goaways[0].additional_data, b"a frame of DATA took longer than 60 s")

    async def test_a_message_of_an_answer_has_a_minute(self) -> None:
        async def answers(request: bytes, call: ServerCall) -> bytes:
            return bytes(66_000)

        server, address = await self.serve(ECHO.handler(answers))
        client = await self.http2(address)
        client.credits = False
        answer = client.ask(body=framed(b""))
        await client.until(lambda: len(answer.body) == 65_535)
        seconds_later(line(server), 59)
        await client.settle()
        self.assertIsNone(answer.reset)
        seconds_later(line(server), 62)
        await client.until(lambda: answer.reset is not None)
        self.assertEqual(answer.reset, ErrorCodes.ENHANCE_YOUR_CALM)

    async def test_the_first_step_of_draining_is_answered_within_ten_seconds_or_the_second_follows(self) -> None:
        gate = Gate()
        server, address = await self.serve(ECHO.handler(gate))
        client = await self.http2(address)
        client.ask(body=framed(b""))
        await asyncio.wait_for(gate.begun.wait(), PATIENCE)
        connection = line(server)
        stopping = asyncio.create_task(server.stop(PATIENCE))
        await eventually(lambda: connection.draining)  # the client reads nothing of it
        seconds_later(connection, 9)
        self.assertFalse(connection.parting.takes_none)
        seconds_later(connection, 11)
        self.assertTrue(connection.parting.takes_none)
        gate.open.set()
        await stopping

    async def test_a_header_block_has_ten_seconds(self) -> None:
        server, address = await self.serve()
        client = await self.http2(address)
        await client.settle()
        client.writer.write(bytes((0, 0, 1, 1, 0, 0, 0, 0, 1)) + b"\x83")  # HEADERS, and more of them to come
        connection = line(server)
        await eventually(lambda: bool(connection._follower._in_headers))
        seconds_later(connection, 11)
        await client.until(lambda: bool(client.goaways))
        self.assertEqual(client.goaways[0].additional_data, b"a header block took longer than 10 s")

    async def test_a_request_that_goes_on_behind_its_answer_is_reset_after_a_second(self) -> None:
        server, address = await self.serve()
        client = await self.http2(address)
        answer = client.ask(body=b"", end=False, content_type="text/plain")
        await client.until(lambda: answer.ended)
        self.assertIsNone(answer.reset)
        seconds_later(line(server), 2)
        await client.until(lambda: answer.reset is not None)
        self.assertEqual(answer.reset, ErrorCodes.NO_ERROR)

    async def test_that_second_begins_when_the_answer_is_sent(self) -> None:
        async def answers(requests: Any, call: ServerCall) -> bytes:
            return bytes(200_000)

        server, address = await self.serve(JOIN.handler(answers))
        client = await self.http2(address)
        client.credits = False
        answer = client.ask(JOIN.name, framed(b""), end=False)
        await client.until(lambda: len(answer.body) == 65_535)
        seconds_later(line(server), 2)
        client.h2.increment_flow_control_window(200_000)
        client.h2.increment_flow_control_window(200_000, client.number(answer))
        client.flush()
        await client.until(lambda: answer.ended)
        self.assertEqual((len(answer.body), answer.trailers.get("grpc-status")), (200_005, "0"))
        self.assertIsNone(answer.reset)
        seconds_later(line(server), 2)
        await client.until(lambda: answer.reset is not None)

    async def test_a_message_under_way_has_a_minute(self) -> None:
        server, address = await self.serve()
        client = await self.http2(address)
        answer = client.ask(body=framed(b"whole")[:-1], end=False)
        await client.settle()
        seconds_later(line(server), 45)
        await client.settle()
        self.assertFalse(answer.ended)
        seconds_later(line(server), 61)
        await client.until(lambda: answer.ended)
        self.assertEqual((answer.head["grpc-status"], answer.head["trunk-delivery"]), ("8", "refused"))

    async def test_a_silent_peer_is_asked_and_given_up(self) -> None:
        server, address = await self.serve()
        client = await self.http2(address)
        await client.settle()
        connection = line(server)
        connection.parting.tick(connection.read_at + 59 * SECOND)
        self.assertFalse(connection.parting._asked)
        asked = connection.read_at + 61 * SECOND
        connection.parting.tick(asked)  # what it sends is answered only later: the client reads nothing meanwhile
        self.assertEqual(connection.parting._asked, asked)
        connection.parting.tick(asked + 21 * SECOND)
        self.assertIn("silent", connection.why)
        await client.until(lambda: False)
        self.assertTrue(client.closed)

    async def test_without_a_request_a_connection_is_ended_in_order(self) -> None:
        server, address = await self.serve(keepalive=0)
        client = await self.http2(address)
        await client.answer(client.ask(body=framed(b"x")))
        connection = line(server)
        await eventually(lambda: connection.counted == 0)
        seconds_later(connection, 15 * 60 + 1)
        await client.until(lambda: bool(client.goaways))
        self.assertEqual((client.goaways[0].error_code, client.goaways[0].last_stream_id), (ErrorCodes.NO_ERROR, 1))


class Memory(HttpCase):
    async def test_when_memory_is_full_the_oldest_request_gives_up(self) -> None:
        gate = asyncio.Event()

        async def reads_nothing(requests: Any, call: ServerCall) -> bytes:
            await gate.wait()
            return b"kept"

        server, address = await self.serve(JOIN.handler(reads_nothing), memory=1 << 20)
        client = await self.http2(address)
        answers = [client.ask(JOIN.name, b"", end=False) for _ in range(8)]
        for answer in answers:
            await client.send(answer, framed(bytes(200_000)), end=False)
        await client.until(lambda: answers[0].ended)
        first = answers[0].head | answers[0].trailers
        self.assertEqual(first["grpc-status"], "8")
        self.assertIn("memory 1048576", first["grpc-message"])
        self.assertLessEqual(server.gauges().held_bytes, (1 << 20) + (64 << 10))
        self.assertFalse(answers[-1].ended)
        gate.set()
        await client.until(lambda: answers[-1].ended)
        self.assertEqual(answers[-1].trailers["grpc-status"], "0")
        await eventually(lambda: server.gauges().held_bytes == 0)

    async def test_a_unary_request_that_finds_no_room_is_refused(self) -> None:
        gate = Gate()
        server, address = await self.serve(ECHO.handler(gate), memory=1 << 20, limits=Limits(message_bytes=8 << 20))
        head = post(b"", ECHO_PATH).replace(b"Length: 0", b"Length: 3000000")
        reader, writer = await self.http1(address, head)
        writer.write(bytes(2_000_000))
        status, _, body = await answer_of(reader)
        self.assertEqual(status, 429)
        self.assertIn(b"memory 1048576", body)
        self.assertEqual((gate.runs, server.gauges().refused), (0, 1))

    async def test_a_peer_that_reads_none_of_its_acknowledgements_loses_its_connection(self) -> None:
        server, address = await self.serve(limits=Limits(calls=1))
        client = await self.http2(address)
        await client.settle()
        line(server).pause_writing()  # as its transport does, once the system takes no more
        client.writer.write((bytes((0, 0, 8, 6, 0, 0, 0, 0, 0)) + b"12345678") * 2_000)
        await client.until(lambda: bool(client.goaways))
        self.assertEqual(client.goaways[0].error_code, ErrorCodes.ENHANCE_YOUR_CALM)
        self.assertIn(b"that are not read", client.goaways[0].additional_data or b"")

    async def test_answers_that_nobody_reads_are_bounded(self) -> None:
        sent = 0

        async def pours(request: bytes, call: ServerCall) -> None:
            nonlocal sent
            while await call.send(bytes(65_536)):
                sent += 1

        server, address = await self.serve(COUNT.handler(pours), memory=1 << 20)
        client = await self.http2(address)
        client.credits = False
        answers = [client.ask(COUNT.name, framed(b"")) for _ in range(100)]
        await client.until(lambda: bool(client.goaways) or sum(len(one.body) for one in answers) >= 60_000)
        self.assertLessEqual(server.gauges().held_bytes, 3 << 20)
        client.writer.close()
        await eventually(lambda: server.running == 0 and server.gauges().held_bytes == 0)


class Defaults(HttpCase):
    """What a server keeps to that was told nothing."""

    async def test_peers_of_http2_are_told(self) -> None:
        _, address = await self.serve()
        client = await self.http2(address)
        await client.settle()
        told = client.h2.remote_settings
        self.assertEqual((told.max_concurrent_streams, told.initial_window_size), (1_024, 256 << 10))
        self.assertEqual((told.max_header_list_size, told.max_frame_size), (32 << 10, 16_384))
        self.assertEqual(client.h2.outbound_flow_control_window, 4 << 20)

    async def test_a_header_of_http1_has_32_kib(self) -> None:
        _, address = await self.serve()
        head = b"GET /no/where HTTP/1.1\r\nHost: here\r\nLong: "
        for length, expected in ((32 << 10, 404), ((32 << 10) + 1, 431)):
            status, _, _ = await self.exchanged(address, head.ljust(length, b"x") + b"\r\n\r\n")
            self.assertEqual(status, expected)

    async def test_a_header_list_of_http2_has_32_kib_with_what_the_request_line_is_in_it(self) -> None:
        _, address = await self.serve()
        client = await self.http2(address)
        await client.settle()
        least = sum(len(one) for one in (":method", "GET", ":scheme", "http", ":path", ":authority", "here"))
        least += sum(len(one) for one in ("content-type", "application/grpc+raw", "te", "trailers")) + 6 * 32
        for length, expected in (((32 << 10) - least, "405"), ((32 << 10) - least + 1, "8")):
            answer = await client.answer(client.ask("/".ljust(length, "x"), None))
            self.assertEqual(answer.head.get("grpc-status", answer.head[":status"]), expected)

    async def test_a_header_list_of_http2_has_192_fields_of_which_128_are_metadata(self) -> None:
        _, address = await self.serve()
        client = await self.http2(address)
        for many, text in ((128, ""), (129, "max_metadata_entries"), (190, "192 fields")):
            fields: dict[str, Any] = {f"k{number}": "v" for number in range(many)}
            answer = await client.answer(client.ask(body=framed(b""), **fields))
            self.assertIn(text, answer.head.get("grpc-message", ""))
            self.assertEqual(answer.head.get("grpc-status", "0"), "8" if text else "0")

    async def test_metadata_over_http1_has_128_entries(self) -> None:
        _, address = await self.serve()
        for many, status in ((128, 200), (129, 429), (1_000, 429)):
            fields = [f"K{number}: v" for number in range(many)]
            answer = await self.exchanged(address, post(b"x", ECHO_PATH, "application/raw", *fields))
            self.assertEqual(answer[0], status)

    async def test_a_header_block_has_64_frames_of_continuation(self) -> None:
        server, address = await self.serve()
        client = await self.http2(address)
        await client.settle()
        for number, strewn in ((1, True), (3, False)):  # what each brings, or the first all of it
            fields = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "h"), ("k", "v" * 100)]
            client.h2.send_headers(number, fields, end_stream=True)
            block = client.h2.data_to_send()[9:]  # behind the header of its one frame
            parts = [block[at : at + 1] for at in range(64)] + [block[64:]] if strewn else [block, *[b""] * 64]
            answer = client.answers[number] = Answer()
            client.writer.write(frame(1, 1, number, parts[0]))
            for part in parts[1:-1]:
                client.writer.write(frame(9, 0, number, part))
            client.writer.write(frame(9, 4, number, parts[-1]))
            await client.answer(answer)
            self.assertEqual(answer.head[":status"], "404")
        client.writer.write(frame(1, 1, 5, client.h2.encoder.encode([(":method", "GET")])) + frame(9, 0, 5, b"") * 64)
        await eventually(lambda: line(server)._follower._continued == 64)
        self.assertFalse(line(server).ending)
        client.writer.write(frame(9, 4, 5, b""))
        await client.until(lambda: bool(client.goaways))
        self.assertEqual(client.goaways[0].error_code, ErrorCodes.ENHANCE_YOUR_CALM)
        self.assertIn(b"CONTINUATION", client.goaways[0].additional_data or b"")

    async def test_a_message_has_64_mib_by_what_is_said_of_it(self) -> None:
        _, address = await self.serve()
        head = post(b"", ECHO_PATH).replace(b"Length: 0", b"Length: 67108865")
        status, _, body = await self.exchanged(address, head)
        self.assertEqual(status, 429)
        self.assertIn(b"max_message 67108864", body)
        client = await self.http2(address)
        answer = await client.answer(client.ask(body=b"\0\4\0\0\1", end=False))
        self.assertEqual(answer.head["grpc-status"], "8")

    async def test_messages_that_are_announced_have_256_mib_together(self) -> None:
        _, address = await self.serve()
        client = await self.http2(address)
        fields: dict[str, Any] = {"content_type": "application/raw", "content_length": str(64 << 20)}
        answers = [client.ask(body=b"", end=False, **fields) for _ in range(5)]
        await client.until(lambda: answers[4].ended)
        self.assertEqual(answers[4].head[":status"], "429")
        self.assertIn(b"268435456", answers[4].body)
        self.assertFalse(any(one.head for one in answers[:4]))

    @unittest.skipUnless(hasattr(socket, "TCP_USER_TIMEOUT"), "the system has no such thing")
    async def test_the_system_gives_up_a_peer_of_http2_that_acknowledges_nothing_for_80_s(self) -> None:
        server, address = await self.serve()
        await (await self.http2(address)).settle()
        raw = line(server).transport.get_extra_info("socket")
        self.assertEqual(raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT), 80_000)
        server, address = await self.serve()
        reader, _ = await self.http1(address, post(b"x"))
        await answer_of(reader)
        raw = line(server).transport.get_extra_info("socket")
        self.assertEqual(raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT), 0)
