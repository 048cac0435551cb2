"""What a server makes of the bytes of HTTP and of WebSockets, without sockets: in any pieces, and when they are bad."""

from __future__ import annotations

import asyncio
import random
import re
from typing import Any, cast
from unittest import mock

from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import OPEN
from websockets.uri import parse_uri

from tests.public.kit import ECHO, Case, connector, echo, eventually
from trunkcall import Server
from trunkcall.connecting import ClientEnd
from trunkcall.transport import Connection, Listener, clock, opening, upgrading
from trunkcall.transport.opening import Opening
from trunkcall.transport.websocket import FRAME, Asking, WebSocket
from trunkcall.wire import not_served

PREFACE = not_served("")[:32]
PING = bytes.fromhex("00000007000000000000000004030201")  # the header of a frame of type 7 (protocol.md 3)
REQUEST = (
    b"GET /any HTTP/1.1\r\nHost: here\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Protocol: chat, trunk\r\n\r\n"
)
ACCEPTED = b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


class Below(asyncio.Transport):
    """A transport that keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = bytearray()
        self.ended = self.closed = False
        self.protocol: Any = None

    def write(self, data: Any) -> None:
        self.sent += data

    def write_eof(self) -> None:
        self.ended = True

    def can_write_eof(self) -> bool:
        return True

    def close(self) -> None:
        self.ended = self.closed = True

    def abort(self) -> None:
        self.close()

    def is_closing(self) -> bool:
        return self.closed

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def resume_reading(self) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def give(self, data: bytes, size: int = 1 << 30) -> None:
        """Hands over input in pieces of `size` bytes, as long as anything is read."""
        for at in range(0, len(data), size):
            if not self.closed:
                self.protocol.data_received(data[at : at + size])


def masked(*frames: tuple[Opcode, bytes, bool]) -> bytes:
    """Frames of a client, with a key that is always the same."""
    with mock.patch("secrets.token_bytes", return_value=b"\x11\x22\x33\x44"):
        return b"".join(Frame(kind, data, fin).serialize(mask=True) for kind, data, fin in frames)


def binary(data: bytes) -> bytes:
    return masked((Opcode.BINARY, data, True))


def outcome(below: Below) -> tuple[bytes, bytes, list[bytes], int, bool]:
    """What was said: the answer of HTTP, the bytes of the connection, what PINGs were answered with, the close code."""
    head, end, rest = bytes(below.sent).partition(b"\r\n\r\n")
    head = re.sub(rb"Date: [^\r]*\r\n", b"", head + end)
    if b" 101 " not in head:
        return head, rest, [], 0, below.ended
    reader = ClientProtocol(parse_uri("ws://a/"), state=OPEN)
    reader.receive_data(rest)
    frames = cast(list[Frame], reader.events_received())
    code = reader.close_rcvd.code if reader.close_rcvd is not None else 0
    data = b"".join(frame.data for frame in frames if frame.opcode is Opcode.BINARY)
    if code in (1002, 1009):
        data = b""  # the library answers a fault at once, ahead of what is owed to the frames before
    return head, data, [bytes(frame.data) for frame in frames if frame.opcode is Opcode.PONG], code, below.ended


class Accepting(Case):
    """A server that is given transports instead of sockets."""

    async def asyncSetUp(self) -> None:
        self.reasons: list[str] = []
        self.server = Server()
        self.server.register(ECHO.handler(echo))
        self.addAsyncCleanup(self.server.close)
        _ = self.server._loop
        self.listener = Listener(
            asyncio.get_running_loop(), self.server._accept, lambda _, why: self.reasons.append(why), origins=()
        )
        self.open: list[Below] = []

    async def asyncTearDown(self) -> None:
        for below in self.open:
            below.protocol.connection_lost(None)

    def connect(self) -> Below:
        below = Below()
        below.protocol = Opening(self.listener, clock())
        below.protocol.connection_made(below)
        self.open.append(below)
        return below

    def given(self, data: bytes, size: int = 1 << 30) -> Below:
        below = self.connect()
        below.give(data, size)
        return below


class Late(Accepting):
    async def test_what_was_accepted_as_its_listener_closed_is_native_and_known(self) -> None:
        self.listener.close()
        below = self.connect()
        self.assertIsInstance(below.protocol, Connection)  # which the server drains, and waits for
        self.assertEqual(self.listener.opening, {})

    async def test_a_server_that_was_closed_serves_nobody(self) -> None:
        await self.server.close()
        below = self.given(PREFACE)
        self.assertTrue(below.closed)
        self.assertEqual(below.sent, b"")

    async def test_a_connection_that_comes_while_a_server_stops_has_the_same_grace(self) -> None:
        first = self.given(PREFACE)
        stopping = asyncio.create_task(self.server.stop())
        await asyncio.sleep(0)
        late = self.given(PREFACE)
        self.open.remove(first)
        first.protocol.connection_lost(None)
        for _ in range(5):
            await asyncio.sleep(0)
        self.assertFalse(late.closed or stopping.done())
        self.open.remove(late)
        late.protocol.connection_lost(None)
        self.assertTrue(await stopping)

    async def test_what_a_client_wrote_is_quoted_in_print_and_cut(self) -> None:
        self.given(REQUEST.replace(b"Key: ", b"Key: \x9b31m" + b"x" * 4_000))
        (why,) = self.reasons
        self.assertIn("no WebSocket", why)
        self.assertTrue(why.isprintable() and len(why) < 400, why)


class Splitting(Accepting):
    async def test_input_cut_anywhere_has_the_same_outcome(self) -> None:
        ping = masked((Opcode.PING, b"are you there", True))
        text = masked((Opcode.TEXT, b"hello", True))
        lying = b"\x82\xff" + (1 << 62).to_bytes(8, "big") + bytes(4)
        streams = [
            REQUEST + binary(PREFACE) + ping + binary(PING),
            REQUEST
            + masked((Opcode.BINARY, PREFACE[:5], False), (Opcode.CONT, b"", False), (Opcode.CONT, PREFACE[5:], True)),
            REQUEST + binary(PREFACE) + text,
            REQUEST + binary(PREFACE) + lying,
            REQUEST + binary(b"no preface"),
            REQUEST.replace(b"trunk", b"drunk"),
            b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
            b"GET / HTTP/1.1\r\nbroken\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX: " + bytes(7_000).replace(b"\0", b"x") + b"\r\n\r\n",
        ]
        for stream in streams:
            whole = self.given(stream)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            wanted = outcome(whole)
            self.assertTrue(wanted[0].startswith(b"HTTP/1.1 "))
            cuts = range(1, len(stream)) if len(stream) < 1_000 else random.sample(range(1, len(stream)), 50)
            ways: list[list[bytes]] = [[stream[:at], stream[at:]] for at in cuts]
            ways.append([stream[at : at + 1] for at in range(len(stream))])
            for way in ways:
                below = self.connect()
                for part in way:
                    below.give(part)
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                self.assertEqual(outcome(below), wanted, (stream, len(way[0])))

    async def test_a_close_behind_it_does_not_unmake_what_came_before(self) -> None:
        stream = REQUEST + binary(PREFACE + PING) + masked((Opcode.CLOSE, b"\x03\xe8", True))
        for at in range(len(REQUEST), len(stream)):
            below = self.given(stream[:at])
            session = below.protocol._above.session
            below.give(stream[at:])  # what is said to that does not leave any more if both come together
            self.assertIsNotNone(session.peer_preface)
            self.assertTrue(below.sent.endswith(b"\x88\x02\x03\xe8") and below.ended and session.closed)

    async def test_garbage_is_a_fault_of_its_connection_alone(self) -> None:
        chance = random.Random(9)
        frames = [
            binary(PREFACE),
            binary(PING),
            masked((Opcode.PING, b"p", True)),
            masked((Opcode.CLOSE, b"", True)),
            masked((Opcode.BINARY, PREFACE[:7], False), (Opcode.CONT, PREFACE[7:], True)),
            masked((Opcode.TEXT, b"t", True)),
        ]
        endings = set()
        for _ in range(1_000):
            garbage = bytearray(b"".join(chance.choices(frames, k=4)))
            for _ in range(chance.randrange(4)):
                garbage[chance.randrange(len(garbage))] = chance.randrange(256)
            below = self.given(REQUEST)
            below.give(bytes(garbage), chance.choice((1, 5, 1 << 20)))
            endings.add(outcome(below)[3:])
        self.assertTrue({(0, False), (1000, False), (1002, True), (1003, True), (1005, True)} <= endings, endings)

    async def test_random_pieces_of_a_call_with_many_frames(self) -> None:
        """A whole client, whose bytes reach the server, and the other way round, in random pieces."""
        chance = random.Random(5)
        message = chance.randbytes(700_000)
        client = self.client("ws://in.memory/")
        asking = Asking(client._loop, client._target.known[0].addresses[0].url)
        below = Below()
        below.protocol = asking
        asking.connection_made(below)
        made = connector(client)._make()
        opened = asyncio.create_task(asking.opened(made))
        other = self.connect()

        def carry(source: Below, target: Below) -> None:
            data = bytes(source.sent)
            source.sent.clear()
            at = 0
            while at < len(data):
                size = chance.choice((1, 2, 3, 7, 100, 5_000, 300_000))
                target.give(data[at : at + size])
                at += size

        async def work() -> bytes:
            await opened
            connector(client)._take(cast(ClientEnd, made.end))
            connector(client).endpoint.tried()
            return await client.call(ECHO, message, timeout=20)

        task = asyncio.create_task(work())
        while not task.done():
            carry(below, other)
            carry(other, below)
            await asyncio.sleep(0)
        self.assertEqual(await task, message)
        below.protocol.connection_lost(None)


class Requests(Accepting):
    def answer_to(self, request: bytes) -> tuple[int, str, str]:
        below = self.given(request)
        head, _, body = bytes(below.sent).partition(b"\r\n\r\n")
        self.assertTrue(below.ended, request)
        self.assertIn(b"Connection: close", head)
        self.assertIn(f"Content-Length: {len(body) or 0}" if body else "Content-Length", head.decode())
        return int(head.split(b" ")[1]), head.decode(), body.decode()

    async def test_a_request_becomes_a_websocket(self) -> None:
        below = self.given(REQUEST)
        head = bytes(below.sent)
        self.assertTrue(head.startswith(b"HTTP/1.1 101 "))
        self.assertIn(b"Sec-WebSocket-Accept: " + ACCEPTED, head)
        self.assertIn(b"Sec-WebSocket-Protocol: trunk\r\n", head)
        self.assertIsInstance(below.protocol, WebSocket)

    async def test_every_other_request_gets_a_proper_answer(self) -> None:
        without = REQUEST.replace
        for request, status, told in (
            (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 426, "Upgrade: websocket"),
            (b"GET / HTTP/1.0\r\nHost: a\r\n\r\n", 505, "HTTP/1.0"),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "HTTP/2"),
            (b"POST /a.B/C HTTP/1.1\r\nHost: a\r\n\r\n", 405, "Allow: GET"),
            (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 405, "Allow: GET"),
            (b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 405, "Allow: GET"),
            (b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", 405, "Allow: GET"),
            (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", 400, "malformed"),
            (b"GET / HTTP/1.1\r\nHost: a\r\n folded: yes\r\n\r\n", 400, "malformed"),
            (b"GET /\r\n\r\n", 400, "malformed"),
            (b"GET / HTTP/1.1\r\n\r\n", 400, "Host"),
            (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "Host"),
            (b"GET /" + b"x" * 9_000 + b" HTTP/1.1\r\n\r\n", 414, "8 KiB"),
            (b"GET / HTTP/1.1\r\nX: " + b"x" * 9_000 + b"\r\n\r\n", 431, "8 KiB"),
            (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n", 431, "header"),
            (b"GET / HTTP/1.1\r\n" + (b"X: " + b"x" * 7_000 + b"\r\n") * 5 + b"\r\n", 431, "32,768"),
            (b"GET / HTTP/1.1\r\n" + b"X" * 40_000, 431, "32,768"),
            (without(b"version: 13", b"").replace(b"Version: 13", b"Version: 8"), 426, "Sec-WebSocket-Version: 13"),
            (without(b"Sec-WebSocket-Version: 13\r\n", b""), 426, "Sec-WebSocket-Version: 13"),
            (without(b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", b""), 400, "Sec-WebSocket-Key"),
            (without(b"dGhlIHNhbXBsZSBub25jZQ==", b"short"), 400, "Sec-WebSocket-Key"),
            (without(b"Connection: keep-alive, Upgrade\r\n", b""), 400, "Connection"),
            (without(b"chat, trunk", b"chat"), 400, "sub-protocol trunk"),
            (without(b"Sec-WebSocket-Protocol: chat, trunk\r\n", b""), 400, "sub-protocol trunk"),
            (without(b"Host: here", b"Host: here\r\nOrigin: http://there"), 403, "http://there"),
            (without(b"Host: here", b"Host: here\r\nOrigin: http://[x"), 403, "may open no"),
            (without(b"Host: here", b"Host: here\r\nOrigin: a\r\nOrigin: b"), 400, "repeated"),
        ):
            with self.subTest(request=request[:80]):
                got, head, body = self.answer_to(request)
                self.assertEqual(got, status, body)
                self.assertIn(told, head + body)
                self.assertEqual(body.count("\n"), 0 if request.startswith(b"HEAD") else 1)
        self.assertEqual(self.server.connections, [])

    async def test_half_a_request_is_closed_in_time(self) -> None:
        with mock.patch.object(upgrading, "HANDSHAKE", 0.01):
            below = self.given(REQUEST[:50])
            await eventually(lambda: below.closed)
        with mock.patch.object(opening, "HANDSHAKE", 0.01):
            silent = self.connect()
            await eventually(lambda: silent.closed)
        self.assertEqual((bytes(below.sent), bytes(silent.sent)), (b"", b""))
        self.assertEqual(self.reasons, ["no request in 0.01 s", opening.SILENT])

    async def test_a_client_that_leaves_is_noted(self) -> None:
        for data in (b"", REQUEST[:50]):
            self.given(data).protocol.connection_lost(None)
        self.assertEqual(self.reasons, [opening.NOTHING_SAID, "closed after 50 bytes of a request"])
        self.assertFalse(self.listener.opening or self.listener.upgrading)

    async def test_half_a_request_is_answered_when_the_server_stops(self) -> None:
        below = self.given(REQUEST[:50])
        self.listener.close()
        self.assertTrue(below.sent.startswith(b"HTTP/1.1 503 "))

    async def test_who_has_said_nothing_counts_as_native_when_the_server_stops(self) -> None:
        below = self.connect()
        self.listener.close()
        self.assertIsInstance(below.protocol, Connection)

    async def test_behind_an_answer_no_more_than_a_megabyte_is_read(self) -> None:
        below = self.given(b"POST / HTTP/1.1\r\n\r\n")
        below.give(bytes(1 << 20))
        self.assertFalse(below.closed)
        below.give(b"x")
        self.assertTrue(below.closed)


class Frames(Accepting):
    def opened(self, data: bytes) -> tuple[Below, bytes]:
        """A WebSocket that was given `data`, and what the server said to it."""
        below = self.given(REQUEST + binary(PREFACE))
        before = len(below.sent)
        below.give(data)
        return below, bytes(below.sent[before:])

    async def test_bad_frames_end_it_with_their_code(self) -> None:
        for data, code in (
            (Frame(Opcode.BINARY, b"unmasked").serialize(mask=False), 1002),
            (b"\x83\x80" + bytes(4), 1002),  # an opcode that there is not
            (b"\xc2\x80" + bytes(4), 1002),  # a reserved bit
            (masked((Opcode.CONT, b"of nothing", True)), 1002),
            (masked((Opcode.BINARY, b"a", False), (Opcode.BINARY, b"b", True)), 1002),
            (b"\x09\x80" + bytes(4), 1002),  # half a PING
            (b"\x82\xff" + (FRAME + 1).to_bytes(8, "big"), 1009),
            (b"\x82\xff" + (1 << 62).to_bytes(8, "big"), 1009),
            (masked((Opcode.TEXT, b"hello", True)), 1003),
            (masked((Opcode.TEXT, b"", False)), 1003),
            (masked((Opcode.CLOSE, b"\x03\xe9", True)), 1001),
        ):
            with self.subTest(data=data):
                below, said = self.opened(data)
                at = said.find(bytes((0x88,)))
                self.assertEqual(int.from_bytes(said[at + 2 : at + 4], "big"), code, said)
                self.assertTrue(below.ended)
                await eventually(lambda below=below: not below.protocol._above.session.accepts_calls)  # type: ignore[misc]

    async def test_a_frame_of_the_longest_payload_is_taken(self) -> None:
        _, said = self.opened(binary(bytes(FRAME)))  # no frames of the protocol: a connection error behind it
        self.assertNotIn((1009).to_bytes(2, "big"), said)
        self.assertIn(b"type", said)

    async def test_pings_to_which_nobody_reads_the_answers_are_bounded(self) -> None:
        below, _ = self.opened(b"")
        below.protocol.pause_writing()
        before = len(below.sent)
        for number in range(10_000):
            below.give(masked((Opcode.PING, b"%d" % number, True)))
        self.assertEqual(len(below.sent), before)
        below.protocol.resume_writing()
        self.assertEqual(bytes(below.sent[before:]), Frame(Opcode.PONG, b"9999").serialize(mask=False))

    async def test_a_full_transport_stops_the_session(self) -> None:
        below, _ = self.opened(b"")
        below.protocol.pause_writing()
        self.assertTrue(below.protocol._above._full)
        below.protocol.resume_writing()
        self.assertFalse(below.protocol._above._full)

    async def test_what_is_written_is_cut_into_frames(self) -> None:
        below, _ = self.opened(b"")
        before = len(below.sent)
        sent = random.Random(1).randbytes(2 * FRAME + 1)
        below.protocol.write(bytearray(sent))
        reader = ClientProtocol(parse_uri("ws://a/"), state=OPEN, max_size=(None, FRAME))
        reader.receive_data(bytes(below.sent[before:]))
        parts = [cast(Frame, frame).data for frame in reader.events_received()]
        self.assertEqual([len(part) for part in parts], [FRAME, FRAME, 1])
        self.assertEqual(b"".join(parts), sent)

    async def test_closing_waits_for_the_peer_and_drops_what_still_comes(self) -> None:
        below, _ = self.opened(b"")
        below.protocol.close()
        said = bytes(below.sent)
        self.assertTrue(said.endswith(b"\x88\x02\x03\xe8"))
        self.assertFalse(below.ended)
        with mock.patch.object(Connection, "data_received") as taken:
            below.give(binary(PING) + masked((Opcode.PING, b"", True)))
            taken.assert_not_called()
        below.give(masked((Opcode.CLOSE, b"\x03\xe8", True)))
        self.assertEqual((bytes(below.sent), below.ended), (said, True))
        below.protocol.eof_received()

    async def test_a_peer_that_does_not_answer_a_close_is_left(self) -> None:
        below, _ = self.opened(b"")
        with mock.patch("trunkcall.transport.websocket.LINGER", 0.01):
            below.protocol.close()
        await eventually(lambda: below.closed)

    async def test_a_stream_that_ends_without_a_close_is_the_end(self) -> None:
        below, _ = self.opened(b"")
        self.assertFalse(below.protocol.eof_received())
        self.assertTrue(below.protocol._above.session.closed)
