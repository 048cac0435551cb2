"""Input that was changed, read by a fresh session of two languages: both must understand the same."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise

from .play import ONE_REQUEST, SERVED, Play, plan
from .side import Entry, Side

ROUNDS = 12
HEADER = struct.Struct("<IIII")
PREFACE_SIZE = 16
DATA, RESULT, CREDIT, CANCEL, PING, GOAWAY = 3, 4, 5, 6, 7, 8
WORDS = (0, 1, 2, 16, 17, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
Step = tuple[int, bytes]  # when what came
Change = Callable[[list[bytes], int], None]


@dataclass
class Recording:
    """What a reader was told, by the round, and how it is made."""

    config: Entry
    steps: list[Step]


def record(seed: int, first: Side, second: Side) -> Recording:
    """Plays a session between a reader and a user who acts at random, and keeps what the reader was sent."""
    chance = random.Random(seed ^ 0x0BEAD)
    made = plan(seed)
    at = chance.randrange(2)
    kinds = [*SERVED.items(), ("/nobody.Serves/This", "unary")]
    opens = []
    for _ in range(chance.randrange(7)):
        method, kind = chance.choice(kinds)
        size = chance.choice((0, 5, 300, 65_536, 100_000)) if kind in ONE_REQUEST else 0
        deadline = chance.choice((0, 0, 0, 1_500_000))
        opens.append(
            {"method": method, "kind": kind, "size": size, "deadline": deadline, "inline": chance.random() < 0.2}
        )
    made.configs[at] |= {
        "reader": {"consumes": chance.random() < 0.7, "opens": opens},
        "max_pool": 0,
        "running": 16_384,
    }
    made.configs[1 - at] |= {"max_calls": max(8, made.configs[1 - at]["max_calls"]), "heavy": chance.random() < 0.1}
    made.configs[1 - at]["max_message"] = max(100_000, made.configs[1 - at]["max_message"])
    made.rounds, made.lost_in = ROUNDS, 0
    sides = (first, second) if chance.random() < 0.5 else (second, first)
    play = Play(made, sides)
    play.act()
    return Recording(made.configs[at], play.passed[at])


def frames(data: bytes) -> list[bytes]:
    """A direction cut into its preface and its frames."""
    if len(data) < PREFACE_SIZE:
        return [data]
    end = PREFACE_SIZE + int.from_bytes(data[12:16], "little")
    parts = [data[:end]]
    while end < len(data):
        size = HEADER.size + int.from_bytes(data[end : end + 3], "little")
        parts.append(data[end : end + size])
        end += size
    return parts


class Mutator:
    """Changes the frames of one direction, mostly one of them."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def mutate(self, parts: list[bytes]) -> list[bytes]:
        parts = list(parts)
        for _ in range(self.chance.choice((1, 1, 1, 2, 4))):
            changes: tuple[Change, ...] = (
                self._drop,
                self._repeat,
                self._swap,
                self._move,
                self._flip,
                self._flip,
                self._word,
                self._flags,
            )
            changes += (self._body, self._body, self._stream, self._made, self._length)
            self.chance.choice(changes)(parts, self._place(parts))
        return parts

    def _place(self, parts: list[bytes]) -> int:
        """A frame, and seldom the preface."""
        return self.chance.randrange(1, len(parts)) if len(parts) > 1 and self.chance.random() < 0.96 else 0

    def _drop(self, parts: list[bytes], at: int) -> None:
        if len(parts) > 1:
            del parts[at]

    def _repeat(self, parts: list[bytes], at: int) -> None:
        times = 1 if self.chance.random() < 0.9 or len(parts[at]) > 200 else 1_100
        parts[at:at] = [parts[at]] * times

    def _swap(self, parts: list[bytes], at: int) -> None:
        if at:
            parts[at], parts[at - 1] = parts[at - 1], parts[at]

    def _move(self, parts: list[bytes], at: int) -> None:
        parts.insert(self.chance.randint(0, len(parts) - 1), parts.pop(at))

    def _flip(self, parts: list[bytes], at: int) -> None:
        self._change(parts, at, self.chance.randrange(16))

    def _body(self, parts: list[bytes], at: int) -> None:
        self._change(parts, at, 16 + self.chance.randrange(40))

    def _change(self, parts: list[bytes], at: int, place: int) -> None:
        if place < len(parts[at]):
            changed = bytearray(parts[at])
            changed[place] = self.chance.choice(
                (changed[place] ^ 1 << self.chance.randrange(8), self.chance.randrange(256))
            )
            parts[at] = bytes(changed)

    def _with_words(self, parts: list[bytes], at: int, *words: int | None) -> None:
        if at and len(parts[at]) >= HEADER.size:
            old = HEADER.unpack_from(parts[at])
            new = [was if word is None else word for was, word in zip(old, words, strict=True)]
            parts[at] = HEADER.pack(*new) + parts[at][HEADER.size :]

    def _word(self, parts: list[bytes], at: int) -> None:
        self._with_words(parts, at, None, None, None, self.chance.choice(WORDS))

    def _flags(self, parts: list[bytes], at: int) -> None:
        if len(parts[at]) >= HEADER.size:
            w2 = HEADER.unpack_from(parts[at])[2] & ~0xFF0000 | self.chance.randrange(128) << 16
            self._with_words(parts, at, None, None, w2, None)

    def _stream(self, parts: list[bytes], at: int) -> None:
        """The frame goes to another stream of the session, or to one near by."""
        other = self.chance.choice(parts)
        if len(other) >= HEADER.size:
            word = HEADER.unpack_from(other)[1]
            word = self.chance.choice((word, word ^ 0x80000000, word + 1, word + 0x100000)) & 0xFFFFFFFF
            self._with_words(parts, at, None, word, None, None)

    def _length(self, parts: list[bytes], at: int) -> None:
        """The body is cut or padded, and the header says so."""
        if at and len(parts[at]) >= HEADER.size:
            w0, *words = HEADER.unpack_from(parts[at])
            body = parts[at][HEADER.size :]
            body = (
                body[: self.chance.randint(0, len(body))]
                if self.chance.random() < 0.6
                else body + bytes(self.chance.randrange(9))
            )
            parts[at] = HEADER.pack(w0 & 0xFF000000 | len(body), *words) + body

    def _made(self, parts: list[bytes], at: int) -> None:
        """A frame of our own on a stream of the session."""
        kind = self.chance.choice((DATA, RESULT, CREDIT, CANCEL, PING, GOAWAY, 0x80, 9))
        other = parts[at]
        stream = HEADER.unpack_from(other)[1] if at and len(other) >= HEADER.size else 0x100001
        stream = 0 if kind in (PING, GOAWAY) else stream
        flags = self.chance.choice((0, 0, 1, 2, 2, 3, 8, 10, 16, 32))
        codec = 1 if flags & 2 else 0
        status = self.chance.choice((0, 0, 1, 8, 16)) if kind == RESULT else 0
        w3 = self.chance.choice((1, 65_536, 1 << 30, 0x7FFFFFFF)) if kind == CREDIT else 0
        w3 = self.chance.choice((0, 1, 5, 6)) if kind in (GOAWAY, CANCEL) else w3
        body = bytes(self.chance.choice((0, 0, 0, 1, 3)))
        frame = HEADER.pack(kind << 24 | len(body), stream, codec << 24 | flags << 16 | status, w3) + body
        parts.insert(at + 1, frame)


def answers(written: bytes, ends: bool) -> dict[str, list[str]]:
    """The decisions in what a reader wrote: RESULTs, CANCELs and the connection's own frames, by stream. `ends`: the
    peer's GOAWAY ends the connection, and needs no ACK (protocol.md 11.3)."""
    told: dict[str, list[str]] = {}
    for frame in frames(written)[1:]:
        w0, w1, w2, w3 = HEADER.unpack_from(frame)
        kind, flags = w0 >> 24, w2 >> 16 & 0xFF
        if kind == RESULT:
            text = f"RESULT {w2 & 0xFFFF} flags {flags}"
        elif kind == CANCEL:
            text = f"CANCEL {w3}"
        elif kind == PING and flags:
            text = f"PING ACK {w3}"
        elif kind == GOAWAY and not (ends and flags):
            text = f"GOAWAY {flags} {w3}"
        else:
            continue
        told.setdefault(f"{w1:08x}", []).append(text)
    return told


def delivered(steps: list[Step], parts: list[bytes], chance: random.Random) -> list[Step]:
    """The parts at the times of the recording, none earlier than it was: it may have waited for credit. Some come
    later, in two halves."""
    data = b"".join(parts)
    cuts = list(accumulate(len(come) for _, come in steps[:-1]))
    shrunk = max(0, sum(len(come) for _, come in steps) - len(data))
    cuts = [max(0, cut - shrunk) for cut in cuts]
    late = chance.choice((0, 0, 1, 30, 2_000))
    cuts = [min(max(0, cut - chance.randint(0, late)), len(data)) for cut in cuts]
    cuts.sort()
    came = [(now, data[a:b]) for (now, _), (a, b) in zip(steps, pairwise([0, *cuts, len(data)]), strict=True)]
    return [*came, (steps[-1][0] + 1_000, b"")]


class Mutations:
    """Records sessions, changes what was read, and compares the readers of two languages."""

    def __init__(self, first: Side, second: Side) -> None:
        self.first, self.second = first, second
        self._recorded: tuple[int, Recording] | None = None

    def compare(self, seed: int, number: int) -> str:
        """What differs in mutation `number` of the session of a seed; empty: nothing."""
        if self._recorded is None or self._recorded[0] != seed:
            self._recorded = seed, record(seed, self.first, self.second)
        recording = self._recorded[1]
        chance = random.Random(seed << 8 | number)
        parts = Mutator(chance).mutate(frames(b"".join(data for _, data in recording.steps)))
        faults = self._differences(recording, parts, chance.getrandbits(32))
        if not faults:
            return ""
        shown = [
            f"    {frame[:48].hex(' ')}{f' and {len(frame) - 48} more bytes' if len(frame) > 48 else ''}"
            for frame in parts
        ]
        return "\n".join(
            [f"seed {seed}, mutation {number}, reader {recording.config}:", *faults, "  what was read:", *shown]
        )

    def _differences(self, recording: Recording, parts: list[bytes], seed: int) -> list[str]:
        steps = delivered(recording.steps, parts, random.Random(seed))
        first, second = (self._read(side, recording.config, steps) for side in (self.first, self.second))
        return list(compared(first, second, names=(self.first.language, self.second.language)))

    def _read(self, side: Side, config: Entry, steps: list[Step]) -> Entry:
        side.begin(config)
        written = bytearray()
        for now, data in steps:
            written += side.round(now, 0, data)
        ledger = side.ledger()
        ends = any(reason in "12345" for reason in ledger["away"])
        granted = any(frame[3] == CREDIT for frame in frames(bytes(written))[1:])
        return ledger | {"wrote": answers(bytes(written), ends), "granted": granted}


def compared(first: Entry, second: Entry, names: tuple[str, str]) -> Iterable[str]:
    """Where two readers of the same input differ.

    When a reader grants is free, as long as it is in time (protocol.md 9.4). So one that has granted may go on where
    another finds that the window is overspent. A wrong preface closes the connection: what was to be written then may
    leave or not."""
    if "credit" in (first["failed"], second["failed"]) and (first["granted"] or second["granted"]):
        return
    one, other = names
    if first["failed"] != second["failed"]:
        yield f"  {one}: {first['failed']!r} {first['text']}; {other}: {second['failed']!r} {second['text']}"
        return
    for what in ("events", "wrote") if first["failed"] != "preface" else ("events",):
        for key in sorted(first[what].keys() | second[what].keys()):
            mine, theirs = first[what].get(key, []), second[what].get(key, [])
            if len(mine) != len(theirs) or not all(map(same, mine, theirs)):
                yield f"  {what} of {key or 'the connection'}:"
                yield f"    {one}: {mine}"
                yield f"    {other}: {theirs}"


def same(mine: str, theirs: str) -> bool:
    """Whether two events are the same. Texts that a session makes itself are free, and how many U+FFFD stand for a run
    of bad bytes (protocol.md 1.4)."""
    mine, theirs = (re.sub("\ufffd+", "\ufffd", text) for text in (mine, theirs))
    if mine == theirs:
        return True
    if not (mine.startswith("end ") and theirs.startswith("end ")) or "§" in mine + theirs:
        return False
    return [mine.split("[", 1)[0], mine.rsplit("]", 1)[-1]] == [theirs.split("[", 1)[0], theirs.rsplit("]", 1)[-1]]
