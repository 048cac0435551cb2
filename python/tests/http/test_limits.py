"""What takes too long over HTTP, and what memory holds of it: connections look at the time that they are given."""

from __future__ import annotations

import asyncio
from typing import Any

from h2.errors import ErrorCodes

from tests.public.kit import COUNT, ECHO, JOIN, PATIENCE, Gate, eventually
from trunkcall import Limits, Server, ServerCall
from trunkcall.http.frames import PREFACE
from trunkcall.transport import clock

from .kit import ECHO_PATH, HttpCase, answer_of, framed, post

SECOND = 1_000_000  # µs


def line(server: Server) -> Any:
    """The one connection of a server."""
    (end,) = server._connections
    return end.connection


def seconds_later(connection: Any, seconds: float) -> None:
    """Has a connection look as it will when this time has passed."""
    connection.look(clock() + int(seconds * SECOND))


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

    async def test_what_comes_behind_an_answer_has_a_second(self) -> None:
        server, address = await self.serve()
        request = post(b"12345", ECHO_PATH, "text/plain")[:-4]
        reader, _ = await self.http1(address, request)
        self.assertEqual((await answer_of(reader))[0], 415)
        seconds_later(line(server), 2)
        self.assertEqual(await rest(reader), b"")

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
        server, address = await self.serve(keepalive=60, keepalive_timeout=20)
        client = await self.http2(address)
        await client.settle()
        connection = line(server)
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
