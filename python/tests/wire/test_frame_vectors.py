"""Replays spec/vectors/frames.json: by the functions that read frames, and through a session in which each fits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trunkcall.wire import Code, Config, Events, IncomingCall, Load, Method, OutgoingCall, Session, Settings
from trunkcall.wire.fault import Fault
from trunkcall.wire.frame import CALL, CANCEL, DATA, HEADER, INITIATOR_BIT, RESULT
from trunkcall.wire.preface import preface_bytes
from trunkcall.wire.send import SendFlow
from trunkcall.wire.stream import RUNNING

from .frame_meaning import codecs_of, decode, encode, expected, flow_of, settings_of
from .vectors import Entry, each, filled, load, pieces

PING = bytes.fromhex("000000070000000000000000efbeadde")
CODES = {
    "metadata": (Code.INVALID_ARGUMENT, Code.INTERNAL),
    "metadata_limit": (Code.RESOURCE_EXHAUSTED, Code.RESOURCE_EXHAUSTED),
    "name": (Code.INVALID_ARGUMENT, None),
    "message_size": (Code.RESOURCE_EXHAUSTED, Code.RESOURCE_EXHAUSTED),
    "codec": (Code.UNIMPLEMENTED, Code.INTERNAL),
    "compression": (Code.UNIMPLEMENTED, Code.INTERNAL),
}


class Everything(dict[bytes, Method]):
    """Serves every name by a method that takes a stream."""

    def get(self, key: bytes, default: object = None) -> Method:
        return Method(key, takes_one=False)


class Outcome(Events):
    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.stopped_calls: list[IncomingCall] = []

    def failed(self, kind: str, text: str) -> None:
        self.kinds.append(kind)

    def stopped(self, call: IncomingCall) -> None:
        self.stopped_calls.append(call)


class Fitting:
    """A session in which the frame of an entry fits, as README.md says."""

    def __init__(self, entry: Entry) -> None:
        names = {15: b"own"} if 15 in codecs_of(entry) else {}
        own = settings_of(entry)
        own = replace(own, codecs=names)
        self.events = Outcome()
        self.session = Session(
            self.events,
            initiator=entry["receiver"] == "initiator",
            now=0,
            config=Config(settings=own, keepalive=0, incomplete_bytes=1 << 40, load=Load(memory=1 << 40)),
            methods=Everything(),
        )
        self.session.receive(preface_bytes(Settings(codecs=names), 262_144), 0)
        self.session.take()
        self.outgoing: OutgoingCall | None = None
        w0, w1, w2, _ = HEADER.unpack_from(filled(entry))
        kind = w0 >> 24
        from_callee = w1 & INITIATOR_BIT == self.session.own_bit
        if kind == CALL and not from_callee:
            self._expect_call(w1, w2)
        elif DATA <= kind <= CANCEL and w1 & 0xFFFFF and w1 & 0x7FF00000:
            codec = entry["progress"]["codec"] if entry.get("in_message") else w2 >> 24 & 15
            if from_callee:
                self._open(w1, codec, entry)
            elif kind != RESULT:
                self._serve(w1, codec, entry)

    def _expect_call(self, word: int, w2: int) -> None:
        callee = self.session.callee
        callee.names[w2 & 0xFFFF] = b"/a/b"
        slot = word & 0xFFFFF
        if 0 < slot <= self.session.own.max_calls:
            missing = slot + 1 - len(callee.words)
            callee.words += [0] * missing
            callee.calls += [None] * missing
            callee.words[slot] = word

    def _open(self, word: int, codec: int, entry: Entry) -> None:
        caller = self.session.caller
        while caller.fresh < word & 0xFFFFF:
            caller.grow()
        caller.words[caller.grow()] = word
        caller.free.append(word & 0xFFFFF)
        self.outgoing = self.session.open(b"/a/b", None, codec=codec, end=False, single=False)
        if self.outgoing is not None and entry.get("in_message"):
            self.outgoing.receiving = flow_of(entry, self.session)
        if self.outgoing is not None and self.outgoing.sending is not None:
            self.outgoing.sending.window = 0  # CREDIT is judged without looking at it
        self.session.take()

    def _serve(self, word: int, codec: int, entry: Entry) -> None:
        callee = self.session.callee
        callee._grow(word & 0xFFFFF)  # pyright: ignore[reportPrivateUsage]
        call = callee._admit(word, codec << 24, 0)  # pyright: ignore[reportPrivateUsage]
        call.method = Method(b"/a/b", takes_one=False)
        call.state = RUNNING
        call.receiving = flow_of(entry, self.session)
        call.sending = SendFlow(0)

    def result_code(self) -> int:
        """The status of the RESULT that was answered, -1 if none was."""
        answer = bytes(self.session.take())
        while answer:
            w0, _, w2, _ = HEADER.unpack_from(answer)
            if w0 >> 24 == RESULT:
                return int(w2) & 0xFFFF
            answer = answer[16 + (w0 & 0xFFFFFF) :]
        return -1


FILE = load("frames.json")
READABLE = FILE["valid"] + FILE["degenerate"]


def cuts(data: bytes) -> list[list[bytes]]:
    return [[data], [data + PING], list(pieces(data)), [data[:17], data[17:]]]


@each(READABLE)
def test_whole_and_with_a_tail(entry: Entry) -> None:
    data = filled(entry)
    assert decode(data, entry) == (expected(entry["decoded"]), b"")
    assert decode(data + PING, entry) == (expected(entry["decoded"]), PING)


@each(READABLE)
def test_every_prefix_is_incomplete(entry: Entry) -> None:
    data = filled(entry)
    for end in [*range(min(len(data), 100)), len(data) - 1]:
        assert decode(data[:end], entry) is None, end


@each(FILE["invalid"])
def test_invalid_gives_its_class(entry: Entry) -> None:
    with pytest.raises(Fault) as caught:
        decode(filled(entry), entry)
    assert caught.value.kind == entry["error"]


@each([entry for entry in FILE["invalid"] if entry["stage"] == "header"])
def test_a_fault_of_the_header_is_found_in_it(entry: Entry) -> None:
    with pytest.raises(Fault) as caught:
        decode(filled(entry)[:16], entry)
    assert caught.value.kind == entry["error"]


@each([entry for entry in FILE["valid"] if entry["decoded"]["type"] != "UNKNOWN"])
def test_written_again(entry: Entry) -> None:
    assert encode(entry["decoded"]) == filled(entry)


@each(READABLE)
def test_sessions_take_what_is_readable(entry: Entry) -> None:
    for parts in cuts(filled(entry)):
        fitting = Fitting(entry)
        for part in parts:
            fitting.session.receive(part, 1)
        assert fitting.events.kinds == []
        if entry["decoded"]["type"] in ("CALL", "CANCEL"):
            assert fitting.result_code() == (1 if entry["decoded"]["type"] == "CANCEL" else -1)


@each(FILE["invalid"])
def test_sessions_fail_with_the_class(entry: Entry) -> None:
    for parts in cuts(filled(entry)):
        fitting = Fitting(entry)
        for part in parts:
            fitting.session.receive(part, 1)
        if entry["ends"] == "connection":
            assert fitting.events.kinds == [entry["error"]]
        else:
            assert fitting.events.kinds == []
            assert_call_ended(entry, fitting)


def assert_call_ended(entry: Entry, fitting: Fitting) -> None:
    outgoing = fitting.outgoing
    if outgoing is not None:
        assert outgoing.status is not None
        code = CODES[entry["error"]][1] if entry["error"] != "status" else Code.NOT_FOUND
        assert outgoing.status.code == code
    else:
        assert fitting.result_code() == CODES[entry["error"]][0]
