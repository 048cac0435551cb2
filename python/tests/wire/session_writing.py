"""What a session under test has written, parsed, and its comparison with what a script expects."""

from __future__ import annotations

import unittest
from collections import defaultdict
from dataclasses import dataclass, field

from trunkcall.wire.body import cut_text, read_body, read_define
from trunkcall.wire.frame import (
    CALL,
    CREDIT,
    DATA,
    DEFINE,
    FLAG_NAMES,
    GOAWAY,
    HEADER,
    INITIATOR_BIT,
    MORE,
    RESULT,
    TYPE_NAMES,
    check_header,
)
from trunkcall.wire.preface import PREFACE_SIZE, read_preface
from trunkcall.wire.settings import DEFAULTS, Settings, read_settings
from trunkcall.wire.status import read_payload

from .test_metadata_vectors import metadata_meaning
from .vectors import Entry, filled

CONNECTION = "0"
PSEUDO = ("HALF_CLOSE", "CLOSE")
READER = Settings(
    max_frame_body=16_777_215, max_metadata_bytes=1 << 24, max_metadata_entries=1 << 16, max_methods=65_535
)


def stream_name(word: int) -> str:
    return f"{'a' if word & INITIATOR_BIT else 'i'}{word & 0xFFFFF}.{word >> 20 & 0x7FF}"


@dataclass
class Written:
    """One frame that was written; `payload` is what stands behind META, name and total."""

    type: str
    stream: str = CONNECTION
    flags: frozenset[str] = frozenset()
    method: str = ""
    inline: bool = False
    status: int = 0
    codec: int = 0
    compression: int = 0
    w3: int = 0
    total: int = 0
    length: int = 0
    payload: bytes = b""
    metadata: list[dict[str, str]] | None = None
    text: str = ""
    details: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    preface: tuple[int, int, int] = (0, 0, 0)
    pooled: bool = False


class Parser:
    """Takes apart all that one side writes, with the checks that its peer would make of the headers."""

    def __init__(self, test: unittest.TestCase, initiator: bool, peer: Settings) -> None:
        self.test = test
        self.peer = peer
        self.reader_bit = INITIATOR_BIT if initiator else 0
        self.data = bytearray()
        self.preface_read = False
        self.names: dict[int, str] = {}
        self.defines = 0
        self.granted: dict[str, int] = defaultdict(int)
        self.credits: dict[str, int] = defaultdict(int)
        self.pooled = 0  # what was spent of the pool
        self.frames: list[Written] = []
        self.in_message: set[str] = set()

    def feed(self, data: bytes) -> None:
        self.data += data
        if not self.preface_read and self.data:
            self.preface_read = True
            preface = read_preface(self.data)
            end = PREFACE_SIZE + preface.settings_length
            read_settings(bytes(self.data[PREFACE_SIZE:end]))
            del self.data[:end]
            shown = (preface.version, preface.highest, preface.window)
            self.frames.append(Written("PREFACE", preface=shown))
        while len(self.data) >= 16:
            w0, w1, w2, w3 = HEADER.unpack_from(self.data)
            end = 16 + (w0 & 0xFFFFFF)
            self.test.assertGreaterEqual(len(self.data), end, "a frame is written in part")
            check_header(w0, w1, w2, w3, self.reader_bit, self.peer.max_frame_body, self.peer.max_methods)
            self._frame(w0 >> 24, w1, w2, w3, bytes(self.data[16:end]))
            del self.data[:end]

    def _frame(self, kind: int, w1: int, w2: int, w3: int, body: bytes) -> None:
        if kind == DEFINE:
            self.test.assertNotIn(w2 & 0xFFFF, self.names)
            self.names[w2 & 0xFFFF] = read_define(body, 0, len(body)).decode()
            self.defines += 1
            return
        stream = stream_name(w1) if CALL <= kind <= 6 and w1 else CONNECTION
        if kind == CREDIT:
            self.granted[stream] += w3
            self.credits[stream] += 1
            return
        flags = frozenset(name for bit, name in FLAG_NAMES.get(kind, {}).items() if w2 >> 16 & bit)
        pooled = "POOL" in flags
        if pooled:
            self.pooled += len(body) + 16
        frame = Written(TYPE_NAMES[kind], stream, flags - {"POOL"}, w3=w3, length=len(body), pooled=pooled)
        frame.codec, frame.compression = w2 >> 24 & 15, w2 >> 28
        if kind in (CALL, DATA, RESULT):
            self._parts(frame, kind, w2, body)
        elif kind == GOAWAY and "ACK" not in flags:
            frame.text = cut_text(body)
        self.frames.append(frame)

    def _parts(self, frame: Written, kind: int, w2: int, body: bytes) -> None:
        parts = read_body(body, 0, len(body), w2, kind, frame.stream in self.in_message, READER)
        frame.total = parts.total
        frame.payload = body[parts.payload :]
        if "MSG" in frame.flags:
            (self.in_message.add if w2 >> 16 & MORE else self.in_message.discard)(frame.stream)
        if parts.metadata is not None:
            frame.metadata = metadata_meaning(parts.metadata)["entries"]
        if kind == CALL:
            frame.inline = not w2 & 0xFFFF
            frame.method = (parts.name or b"").decode() if frame.inline else self.names[w2 & 0xFFFF]
        elif kind == RESULT:
            frame.status = w2 & 0xFFFF
            if frame.status:
                frame.text, details = read_payload(body, parts.payload, len(body))
                frame.details = [{"type_url": url, "value": value.hex()} for url, value in details]

    def take_credits(self) -> dict[str, int]:
        """How many CREDIT frames came on each stream since the last time."""
        credits, self.credits = self.credits, defaultdict(int)
        return credits

    def take(self) -> list[Written]:
        self.test.assertFalse(self.data, "a frame is written in part")
        frames, self.frames = self.frames, []
        return frames


def expanded(frames: list[Entry]) -> list[Entry]:
    """Expected frames, those with `times` written out."""
    result: list[Entry] = []
    for frame in frames:
        slot, dot, generation = frame.get("stream", "").partition(".")
        for step in range(frame.get("times", 1)):
            one = dict(frame)
            if dot:
                one["stream"] = f"{slot}.{(int(generation) + step - 1) % 2047 + 1}"
            result.append(one)
    return result


class Comparison:
    """Compares sequences of frames; remembers what is known of messages of which a part was written."""

    def __init__(self, test: unittest.TestCase, peer: Settings) -> None:
        self.test = test
        self.peer = peer
        self.partial: dict[str, tuple[bytes, int]] = {}  # by stream: what was written of its message, and its cost

    def compare(self, frames: list[Written], expected: list[Entry], ignore: tuple[str, ...]) -> None:
        actual: dict[str, list[Written]] = defaultdict(list)
        for frame in frames:
            actual[frame.stream].append(frame)
        wanted: dict[str, list[Entry]] = defaultdict(list)
        for entry in expanded(expected):
            if entry["type"] not in ignore:
                wanted[entry.get("stream", CONNECTION)].append(entry)
        for stream in actual.keys() | wanted.keys():
            self._sequence(stream, actual[stream], wanted[stream])

    def _sequence(self, stream: str, actual: list[Written], wanted: list[Entry]) -> None:
        left = list(actual)
        for entry in wanted:
            if entry.get("optional") and not (left and self._matches(left[0], entry)):
                continue
            self.test.assertTrue(left, f"{stream}: nothing written for {brief(entry)}")
            if entry.get("cut"):
                self._cut(stream, left, entry)
            else:
                self._one(left.pop(0), entry)
        self.test.assertEqual([], left, f"{stream}: written beyond what is expected")

    def _matches(self, frame: Written, entry: Entry) -> bool:
        try:
            self._one(frame, entry)
        except AssertionError:
            return False
        return True

    def _one(self, frame: Written, entry: Entry) -> None:
        same = self.test.assertEqual
        same(frame.type, entry["type"], f"{frame} is not {brief(entry)}")
        if frame.type in PSEUDO:
            return
        if frame.type == "PREFACE":
            for at, name in enumerate(("version", "highest", "window")):
                same(frame.preface[at], entry.get(name, frame.preface[at]), name)
            return
        same(sorted(frame.flags), sorted(entry.get("flags", [])), f"flags of {frame}, {brief(entry)}")
        self._header(frame, entry)
        if "MSG" in frame.flags:
            same(frame.payload, filled(entry, "payload", "payload_fill"), "payload")

    def _header(self, frame: Written, entry: Entry) -> None:
        same = self.test.assertEqual
        same(frame.method, entry.get("method", frame.method), "method")
        same(frame.inline, entry.get("inline", frame.inline), "inline")
        same(frame.status, entry.get("status", frame.status), f"status of {frame}")
        if frame.type == "CALL":
            same(frame.w3, entry.get("time_us", frame.w3), "time_us")
        if frame.type == "RESULT":
            same(frame.w3, entry.get("server_time_us", entry.get("retry_after", frame.w3)), "w3 of RESULT")
            self.test.assertGreaterEqual(frame.w3, entry.get("retry_after_at_least", 0))
        same(frame.w3, entry.get("reason", entry.get("w3", frame.w3)), f"reason or w3 of {frame}")
        if "MSG" in frame.flags or frame.type == "CALL":
            same(frame.codec, entry.get("codec", 1), "codec")
        if "MSG" in frame.flags:
            same(frame.compression, entry.get("compression", 0), "compression")
        same(frame.metadata, entry.get("metadata"), f"metadata of {frame}")
        for part in entry.get("text", []):
            self.test.assertIn(part.lower(), frame.text.lower(), f"text of {frame.type}")
        same(frame.text, entry.get("message", frame.text), "message")
        same(frame.details, entry.get("details", frame.details), "details")

    def _cut(self, stream: str, left: list[Written], entry: Entry) -> None:
        """A message in pieces, and the frame it stands for."""
        message = filled(entry, "payload", "payload_fill")
        flags = set(entry["flags"])
        got, cost = self.partial.pop(stream, (b"", 0)) if entry.get("rest") else (b"", 0)
        if entry["type"] == "CALL":
            opening = left[0]
            self._header(opening, {name: value for name, value in entry.items() if name != "compression"})
            self.test.assertEqual(opening.type, "CALL")
            self.test.assertEqual(opening.flags & {"META", "ONEWAY"}, flags & {"META", "ONEWAY"})
            if "MSG" not in opening.flags:
                left.pop(0)
        whole = False
        ended = False
        while left and "MSG" in left[0].flags and not whole and left[0].type != "RESULT":
            piece = left.pop(0)
            whole = "MORE" not in piece.flags
            ended = "END" in piece.flags
            self._piece(piece, entry, len(message), got)
            got += piece.payload
            cost += (piece.length if piece.pooled else len(piece.payload)) + 16
        self.test.assertEqual(got, message[: len(got)], f"{stream}: the pieces of {brief(entry)}")
        if "unfinished" in entry:
            least, most = entry["unfinished"]
            self.test.assertFalse(whole)
            self.test.assertTrue(least <= cost <= most, f"{stream}: {cost} sent, not {least} to {most}")
            self.partial[stream] = (got, cost)
            return
        self.test.assertEqual(len(got), len(message), f"{stream}: the message is not whole")
        self._behind(left, entry, flags, ended)

    def _piece(self, piece: Written, entry: Entry, total: int, got: bytes) -> None:
        self.test.assertLessEqual(piece.length, self.peer.max_frame_body)
        self.test.assertEqual(piece.compression, entry.get("compression", 0))
        self.test.assertEqual(piece.codec, entry.get("codec", 1))
        if "MORE" in piece.flags:
            self.test.assertGreaterEqual(piece.length, 65_536)
            if not got:
                self.test.assertEqual(piece.total, total)

    def _behind(self, left: list[Written], entry: Entry, flags: set[str], ended: bool) -> None:
        if entry["type"] == "RESULT":
            self.test.assertTrue(left, "no RESULT behind the pieces")
            self._one(left.pop(0), entry | {"flags": sorted(flags - {"MSG"})})
        elif "END" in flags and not ended:
            self.test.assertTrue(left and left[0].type == "DATA" and sorted(left[0].flags) == ["END"], "no END")
            left.pop(0)
        elif "END" not in flags:
            self.test.assertFalse(ended, "END too early")


def brief(entry: Entry) -> str:
    return str({name: value for name, value in entry.items() if name != "payload" or len(str(value)) < 40})


def peer_settings(preface: bytes) -> Settings:
    return read_settings(preface[PREFACE_SIZE:])[0] if preface else DEFAULTS
