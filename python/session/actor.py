"""What the user of a session does at random, and what one who only reads does."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from trunkcall.wire import OK, Code, Metadata, OutgoingCall, Status
from trunkcall.wire.metadata import COMMON_KEYS, block

from .record import ONE_ANSWER, ONE_REQUEST, Entry, Record, described, noted

if TYPE_CHECKING:
    from .side import Side

# Phases of a session: the user acts at random; consumes what is there; ends all calls; asks to drain.
ACTING, CONSUMING, FINISHING, DRAINING = range(4)

PATTERN = random.Random(1).randbytes(2 << 20)  # what messages are cut from

# Sizes at which something changes: frames, pieces, the least window.
EDGES: tuple[int, ...] = (
    0,
    1,
    15,
    16,
    17,
    16384,
    65503,
    65504,
    65519,
    65520,
    65521,
    65535,
    65536,
    65537,
    65552,
    65553,
    131056,
    131072,
    262127,
    262128,
    262129,
    262144,
    327680,
)
KEYS = (*COMMON_KEYS, "a", "x-binary-bin", "-bin", "some.key_with-all", "k" * 255)
STREAMS = ("unary", "client_streaming", "server_streaming", "bidi")


class Actor:
    """The user. `script` tells what was done, in words."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.script: list[str] = []
        self.opened = False
        config = side.config
        self.actions = [one["action"] for one in config["weights"]]
        self.weights = [one["weight"] for one in config["weights"]]
        self.rounds = None if config["rounds"] is None else set(config["rounds"])

    @property
    def random(self) -> random.Random:
        return self.side.random

    def note(self, text: str) -> None:
        self.script.append(f"{self.side.turn}: {text}")

    def act(self, phase: int) -> None:
        if phase == ACTING:
            if (self.rounds is None or self.side.turn in self.rounds) and any(self.weights):
                for _ in range(self.random.randrange(5)):
                    getattr(self, self.random.choices(self.actions, self.weights)[0])()
            return
        if phase == FINISHING:
            for record in list(self.side.records):
                self.finish(record)
        elif phase == DRAINING:
            self.side.session.drain(self.side.session.now)
        self.consume_all()

    def consume_all(self) -> None:
        for record in self.side.records:
            while record.unread and (record.own or record.running):
                record.consume()

    def read(self, reader: Entry) -> None:
        """What a user does who only reads, once the input was taken in."""
        self.open_all(reader)
        if reader["consumes"]:
            self.consume_all()

    def open_all(self, reader: Entry) -> None:
        """Opens a reader's calls: an initiator's before it has read anything, an acceptor's when it has the preface."""
        if not self.opened and (self.side.config["initiator"] or self.side.away):
            self.opened = True
            for one in reader["opens"]:
                message = PATTERN[: one["size"]] if one["kind"] in ONE_REQUEST else None
                if message is not None and len(message) > self.side.session.peer.max_message:
                    continue  # a mutation of the preface made it so
                deadline = self.side.session.now + one["deadline"] if one["deadline"] else 0
                self.begin(
                    one["method"], one["kind"], message, 0, None, 1, deadline, message is not None, one["inline"]
                )

    def finish(self, record: Record) -> None:
        """Ends what the user has to end of a call."""
        if record.own and not record.told["ended"] and record.open:
            self._half_close(record)
        elif record.running:
            self._answer(record)

    def pick(self, able: Callable[[Record], bool]) -> Record | None:
        able_ones = [record for record in self.side.records if able(record)]
        return self.random.choice(able_ones) if able_ones else None

    # Opening.

    def open(self) -> None:
        served = self.side.served
        method = self.random.choice(sorted(served)) if self.random.randrange(30) else "/nobody.Serves/This"
        kind = served.get(method, "")
        if not kind or not self.random.randrange(30):
            kind = self.random.choice(STREAMS)
        message, compression, fits = self.message()
        metadata = self.metadata(own=True)
        end = kind in ONE_REQUEST or not self.random.randrange(5)
        has_message = kind in ONE_REQUEST or not self.random.randrange(3)
        if kind == "server_streaming" and not self.random.randrange(4):
            has_message = end = False  # the message comes later
        deadline = 0 if self.random.randrange(4) else self.side.session.now + self.random.randrange(1, 2_000_000)
        codec = self.random.choice([0, 1, 1, 1, 2, 3, 4, *map(int, self.side.config["codecs"])])
        if has_message and not fits:
            return
        payload = message if has_message else None
        compression = compression if has_message else 0
        self.begin(method, kind, payload, compression, metadata, codec, deadline, end, not self.random.randrange(6))

    def begin(
        self,
        method: str,
        kind: str,
        message: bytes | None,
        compression: int,
        metadata: Metadata | None,
        codec: int,
        deadline: int,
        end: bool,
        inline: bool,
    ) -> None:
        session = self.side.session
        plain = kind == "unary" and end and not (compression or metadata or inline)
        if plain and message is not None and self.random.randrange(2):
            call = session.unary(method.encode(), message, codec=codec, deadline=deadline)
        else:
            call = session.open(
                method.encode(),
                message,
                codec=codec,
                compression=compression,
                metadata=metadata,
                deadline=deadline,
                end=end,
                single=kind in ONE_ANSWER,
                oneway=kind == "oneway",
                inline=inline,
            )
        if call is None or call.status is not None:
            return
        record = self.side.know(call, own=True, method=method, kind=kind, codec=self.side.codec_name(codec))
        record.told["metadata"] = described(metadata)
        record.told["ended"] = end
        if message is not None:
            record.told["sent"].append(noted(message, compression))
        size = "no message" if message is None else f"{len(message)} bytes"
        left = deadline - session.now if deadline else 0
        more = f"end {end}, deadline {left} µs, inline {inline}, codec {codec}, compression {compression}"
        self.note(f"open {call.id:08x}: {method} as {kind}, {size}, {more}")

    # On open calls.

    def send(self) -> None:
        record = self.pick(self._can_send)
        if record is None:
            return
        message, compression, fits = self.message()
        if not fits:
            return
        record.told["sent"].append(noted(message, compression))
        if isinstance(record.call, OutgoingCall):
            end = not self.random.randrange(4)
            record.told["ended"] = end
            record.call.send(message, compression, end=end)
        else:
            end = False
            record.call.send(message, compression)
        self.note(f"send {record.call.id:08x}, {len(message)} bytes, end {end}")

    def _can_send(self, record: Record) -> bool:
        told = record.told
        if told["oneway"] or not record.open:
            return False
        if record.own:
            return not told["ended"] and not (record.kind in ONE_REQUEST and told["sent"])
        return record.running and not told["stopped"] and record.kind not in ONE_ANSWER

    def half_close(self) -> None:
        record = self.pick(lambda one: one.own and not one.told["ended"] and one.open and not one.told["oneway"])
        if record is not None:
            self._half_close(record)

    def _half_close(self, record: Record) -> None:
        self.note(f"half-close {record.call.id:08x}")
        record.told["ended"] = True
        assert isinstance(record.call, OutgoingCall)
        record.call.half_close()

    def cancel(self) -> None:
        record = self.pick(lambda one: one.own and not one.told["ends"])
        if record is not None:
            self.note(f"cancel {record.call.id:08x}")
            assert isinstance(record.call, OutgoingCall)
            record.call.cancel()

    def consume(self) -> None:
        record = self.pick(lambda one: one.unread > 0 and (one.own or one.running))
        if record is not None:
            count = self.random.randrange(1, record.unread + 1)
            self.note(f"consume {record.call.id:08x}, {count} messages")
            for _ in range(count):
                record.consume()

    def header(self) -> None:
        def able(one: Record) -> bool:
            quiet = not (one.told["early"] or one.told["sent"] or one.told["oneway"])
            return one.running and one.open and quiet

        record = self.pick(able)
        metadata = self.metadata(own=False)
        if record is not None and metadata is not None and metadata.entries:
            self.note(f"header {record.call.id:08x}")
            record.told["early"] = described(metadata)
            assert not isinstance(record.call, OutgoingCall)
            record.call.send_metadata(metadata)

    def answer(self) -> None:
        record = self.pick(lambda one: one.running)
        if record is not None:
            self._answer(record)

    def _answer(self, record: Record) -> None:
        call, told = record.call, record.told
        assert not isinstance(call, OutgoingCall)
        metadata = self.metadata(own=True)
        status, message, compression = OK, None, 0
        chance = self.random.randrange
        if not chance(5):
            text, details = self.error_text()
            status = Status(Code(1 + chance(16)), text, details)
        elif (record.kind in ONE_ANSWER) != (not chance(25)) or not chance(3):
            message, compression, fits = self.message()
            if not fits or told["oneway"]:
                message = None
        if message is not None:
            told["sent"].append(noted(message, compression))
        told["returned"] = True
        told["ending"] = {
            "status": int(status.code),
            "text": status.message,
            "details": [f"{url}={value.hex()}" for url, value in status.details],
            "trailers": described(metadata),
        }
        size = "no message" if message is None else f"{len(message)} bytes"
        self.note(f"answer {call.id:08x}: {status.code.name}, {size}")
        call.finish(message, status, compression=compression if message is not None else 0, metadata=metadata)

    def drain(self) -> None:
        self.note("drain")
        self.side.session.drain(self.side.session.now)

    # What is sent.

    def error_text(self) -> tuple[str, tuple[tuple[str, bytes], ...]]:
        chance = self.random.randrange
        text = "§" + "é" * chance(20)
        details: list[tuple[str, bytes]] = []
        for _ in range(chance(3)):
            size = chance(60) if chance(20) else 66_000
            details.append(("t/ü", PATTERN[:size]))
        if not chance(40):
            text += "aé€" * 12_000
        return text, tuple(details)

    def message(self) -> tuple[bytes, int, bool]:
        """A message, its compression, and whether the peer takes it."""
        chance = self.random.randrange
        size, k = chance(1_200), chance(100)
        heavy = self.side.config["heavy"]
        if k < 10:
            size = chance(18)
        elif k < 12 or (heavy and k < 40):
            size = self.random.choice(EDGES)
        elif heavy and k < 45:
            size = chance(700_000)
        peer = self.side.session.peer
        at = chance(len(PATTERN) - size)
        number = 1 + chance(8)
        compression = number if size and number in peer.compressions else 0
        return PATTERN[at : at + size], compression, size <= peer.max_message

    def metadata(self, *, own: bool) -> Metadata | None:
        """Entries of every sort that the peer takes, perhaps none."""
        chance = self.random.randrange
        if chance(3):
            return None
        count = chance(5) if chance(30) else 126 + chance(4)
        metadata = Metadata()
        for _ in range(count):
            key = self.random.choice(KEYS)
            value = "~ v" * chance(12) if chance(200) else "x" * (16_000 + chance(500))
            metadata.entries.append((key, PATTERN[: len(value)] if key.endswith("-bin") else value))
        if own and not chance(3):
            metadata.attempt = chance(1, 300) if chance(2) else None
        peer = self.side.session.peer
        try:
            block(metadata, peer.max_metadata_bytes, peer.max_metadata_entries, peer.max_frame_body)
        except ValueError:
            return None
        return metadata
