"""Input of every kind and cut: a session never raises, and gives the same outcome however its input is split."""

from __future__ import annotations

import random
import unittest

from trunkcall.wire import Config, Events, IncomingCall, Metadata, Method, OutgoingCall, Session, Settings, kept
from trunkcall.wire.fault import CONNECTION_CLASSES
from trunkcall.wire.frame import CALL, GOAWAY, HEADER, INITIATOR_BIT, check_header
from trunkcall.wire.preface import preface_bytes

UNARY, STREAM = b"/t.S/Unary", b"/t.S/Both"
METHODS = {UNARY: Method(UNARY, takes_one=True), STREAM: Method(STREAM, takes_one=False)}


class Log(Events):
    """Answers every call with what it got, and keeps what was said."""

    def __init__(self) -> None:
        self.lines: list[tuple[object, ...]] = []
        self.hasty = False  # handlers return behind their first answer

    def start(self, call: IncomingCall) -> None:
        self.lines.append(("start", call.id, call.message))
        if call.method.takes_one:
            call.finish(call.message)

    def arrived(self, call: IncomingCall | OutgoingCall) -> None:
        message, compression = call.take_message() or (b"", 0)
        message = kept(message)
        self.lines.append(("message", call.id, message, compression))
        if isinstance(call, IncomingCall):
            call.send(message)
            if self.hasty:
                call.finish()

    def half_closed(self, call: IncomingCall) -> None:
        self.lines.append(("half_closed", call.id))
        call.finish()

    def stopped(self, call: IncomingCall) -> None:
        self.lines.append(("stopped", call.id))

    def ended(self, call: OutgoingCall) -> None:
        self.lines.append(("ended", call.id, call.status, call.message))

    def failed(self, kind: str, text: str) -> None:
        self.lines.append(("failed", kind, text))


def acceptor() -> tuple[Session, Log]:
    log = Log()
    config = Config(settings=Settings(compressions=frozenset((1,))), keepalive=0)
    return Session(log, initiator=False, now=0, config=config, methods=METHODS), log


def conversation() -> bytes:
    """What an initiator writes: calls of several kinds, some long, with metadata, credit, a cancel and a ping."""
    session = Session(Events(), initiator=True, now=0, config=Config(keepalive=0))
    session.receive(preface_bytes(Settings(compressions=frozenset((1,))), 262_144), 0)
    session.unary(UNARY, b"one", deadline=1_000_000)
    session.open(UNARY, b"two", metadata=Metadata([("authorization", "x"), ("k-bin", b"\xff")], attempt=3))
    session.open(UNARY, bytes(70_000), inline=True)
    stream = session.open(STREAM, None, end=False, single=False)
    assert stream is not None
    stream.send(b"three")
    stream.send(b"zipped", 1)
    session.open(b"/t.S/None", b"")
    cancelled = session.open(STREAM, b"x", end=False, single=False)
    assert cancelled is not None
    cancelled.cancel()
    session.open(UNARY, b"four", oneway=True)
    session.lifecycle.ping()
    stream.half_close()
    return drained(session)


def conversation_in_pieces() -> bytes:
    """What an initiator writes that sends large messages on two streams at once, and on one of a single message."""
    peer, _ = acceptor()
    session = Session(Events(), initiator=True, now=0, config=Config(keepalive=0))
    written = bytearray(drained(session))
    peer.receive(bytes(written), 5)
    session.receive(drained(peer), 5)
    streams = [session.open(STREAM, None, end=False, single=False) for _ in range(2)]
    for size in (700_000, 200_000):
        for stream in streams:
            assert stream is not None
            stream.send(bytes(size))
    session.open(UNARY, bytes(400_000))
    while data := drained(session):
        written += data
        peer.receive(data, 5)
        peer.dispatch(5)
        session.receive(drained(peer), 5)
    return bytes(written)


def drained(session: Session) -> bytes:
    written = bytearray()
    while data := session.take():
        session.wrote(len(data))
        written += data
    return bytes(written)


class Robustness(unittest.TestCase):
    def outcome(self, data: bytes, at: int) -> tuple[list[tuple[object, ...]], bytes]:
        session, log = acceptor()
        for part in (data[:at], data[at:]):
            session.receive(part, 5)
        session.dispatch(session.now)
        return log.lines, drained(session)

    def test_split_at_every_offset_gives_the_same_outcome(self) -> None:
        data = conversation()
        whole = self.outcome(data, len(data))
        self.assertEqual(sum(line[0] == "start" for line in whole[0]), 5)
        long_from = data.index(bytes(70))
        for at in [*range(long_from + 80), *range(len(data) - 300, len(data))]:
            self.assertEqual(self.outcome(data, at), whole, f"split at {at}")

    def test_cut_off_at_every_offset_ends_cleanly(self) -> None:
        data = conversation()
        for at in [*range(400), *range(len(data) - 300, len(data))]:
            session, log = acceptor()
            session.receive(data[:at], 5)
            session.dispatch(session.now)
            session.end_of_stream(6)
            self.assertTrue(session.closed)
            self.assertEqual(session.callee.open, 0)
            self.assertEqual([line for line in log.lines if line[0] == "failed"], [], f"cut at {at}")

    def test_mutated_input_ends_the_connection_or_is_legal(self) -> None:
        data = conversation()
        dice = random.Random(20_261_121)
        kinds: set[object] = set()
        for _ in range(1_500):
            mutated = bytearray(data)
            for _ in range(dice.randrange(1, 4)):
                at = dice.choice((dice.randrange(200), dice.randrange(len(data))))
                mutated[at] = dice.randrange(256)
            kinds |= self.feed(bytes(mutated), dice)
        self.assertGreater(len(kinds), 8, "the mutations find too little")
        self.assertLessEqual(kinds, CONNECTION_CLASSES)

    def test_input_in_memory_that_is_used_again_gives_the_same_outcome(self) -> None:
        data = conversation_in_pieces()
        dice = random.Random(9)
        frames = [at for at in range(len(data) - 15) if data[at : at + 4] == b"\x00\x00\x01\x03"]
        self.assertGreater(len(frames), 20)
        kinds: set[object] = set()
        for round_ in range(300):
            mutated = bytearray(data)
            for _ in range(dice.randrange(3) if round_ else 0):
                at = dice.choice(frames)
                mutated[at + dice.randrange(16)] ^= 1 << dice.randrange(8)
            size, hasty = dice.choice((70_000, 200_000)), dice.random() < 0.3
            outcomes: list[object] = []
            for reused in (False, True):
                session, log = acceptor()
                log.hasty = hasty
                written, held = b"", list[tuple[int, ...]]()
                for at in range(0, len(mutated), size):
                    memory = bytearray(mutated[at : at + size])
                    session.receive(memoryview(memory) if reused else bytes(memory), 5)
                    memory[:] = b"\xff" * len(memory)
                    session.dispatch(5)
                    written += drained(session)
                    pool, share = session.pool, session.share
                    held.append((share.promised, share.held, pool.charged, pool.left))
                outcomes.append((log.lines, held, written))
                kinds |= {line[1] for line in log.lines if line[0] == "failed"}
            self.assertEqual(outcomes[0], outcomes[1], f"round {round_}")
        self.assertGreater(len(kinds), 5, "the mutations find too little")

    def test_random_headers_never_raise_anything_else(self) -> None:
        dice = random.Random(7)
        preface = preface_bytes(Settings(), 262_144)
        kinds: set[object] = set()
        for _ in range(1_500):
            frames = b"".join(self.random_frame(dice) for _ in range(6))
            kinds |= self.feed(preface + frames, dice)
        self.assertGreaterEqual(len(kinds), 7, "the frames find too little")
        self.assertLessEqual(kinds, CONNECTION_CLASSES)

    def random_frame(self, dice: random.Random) -> bytes:
        body = dice.randbytes(dice.choice((0, 0, 1, 4, 20)))
        word = dice.choice((0, 1 << 20 | 1, 1 << 20 | 2, INITIATOR_BIT | 1 << 20 | 1, 2 << 20 | 1))
        flags = dice.choice((0, 1, 2, 3, 6, 8, 10, 11, 0x10, 0x13, 0x20))
        low = dice.choice((0, 0, 1, 5))
        w3 = dice.choice((0, 1, 1_000_000, 0xFFFFFFFF))
        numbers = dice.choice((0, 0, 1, 0x11, 0x30))
        w2 = numbers << 24 | flags << 16 | low
        return HEADER.pack(dice.choice((1, 2, 2, 3, 4, 5, 6, 7, 8, 0x80)) << 24 | len(body), word, w2, w3) + body

    def feed(self, data: bytes, dice: random.Random) -> set[object]:
        """The classes of error that the input gave; what is answered must be legal frames."""
        session, log = acceptor()
        at = 0
        while at < len(data):
            size = dice.choice((1, 16, 100, 100_000))
            session.receive(data[at : at + size], 5)
            session.dispatch(session.now)
            at += size
        session.tick(70_000_000)
        self.check_written(drained(session))
        session.end_of_stream(70_000_001)
        self.assertTrue(session.closed)
        self.assertEqual((session.share.promised, session.share.held, session.pool.charged), (0, 0, 0))
        return {line[1] for line in log.lines if line[0] == "failed"} - {"silent"}

    def check_written(self, data: bytes) -> None:
        if not data:
            return
        at = len(preface_bytes(Settings(compressions=frozenset((1,))), 262_144))
        goaway = False
        while at < len(data):
            self.assertFalse(goaway, "frames behind the GOAWAY of a connection error")
            w0, w1, w2, w3 = HEADER.unpack_from(data, at)
            check_header(w0, w1, w2, w3, 0, 65_536, 4_096)
            goaway = w0 >> 24 == GOAWAY and w3 == 1
            self.assertNotEqual(w0 >> 24, CALL)
            at += 16 + (w0 & 0xFFFFFF)
        self.assertEqual(at, len(data))

    def test_random_bytes_are_no_preface(self) -> None:
        dice = random.Random(3)
        for _ in range(200):
            session, log = acceptor()
            session.receive(dice.randbytes(40), 1)
            self.assertEqual([line[:2] for line in log.lines], [("failed", "preface")])
            self.assertEqual(drained(session), b"")
            self.assertTrue(session.closed)
