"""Replays spec/vectors/preface.json through the readers and through a session of either role."""

from __future__ import annotations

from typing import Any

import pytest

from trunkcall.wire import Config, Events, Session, Settings
from trunkcall.wire.fault import ConnectionFault
from trunkcall.wire.lifecycle import OPEN
from trunkcall.wire.preface import PREFACE_SIZE, preface_bytes, read_preface
from trunkcall.wire.settings import read_settings

from .vectors import Entry, each, filled, load, pieces

PING = bytes.fromhex("000000070000000000000000efbeadde")


class Failures(Events):
    def __init__(self) -> None:
        self.kinds: list[str] = []

    def failed(self, kind: str, text: str) -> None:
        self.kinds.append(kind)


def decoded(data: bytes) -> tuple[dict[str, Any], bytes]:
    preface = read_preface(data)
    if not preface.spoken:
        raise ConnectionFault("version", "not spoken")
    end = PREFACE_SIZE + preface.settings_length
    settings, names = read_settings(data[PREFACE_SIZE:end])
    meaning: dict[str, Any] = {}
    for name in names:
        value = getattr(settings, name)
        if name == "codecs":
            value = [{"number": number, "name": text.decode()} for number, text in value.items()]
        elif name == "compressions":
            value = sorted(value)
        meaning[name] = value
    whole = {
        "version": preface.version,
        "highest": preface.highest,
        "window": preface.window,
        "settings": meaning,
    }
    return whole, data[end:]


FILE = load("preface.json")
READABLE = FILE["valid"] + FILE["degenerate"]


def cuts(entry: Entry) -> tuple[list[bytes], list[bytes]]:
    return [filled(entry)], list(pieces(filled(entry)))


@each(READABLE)
def test_whole_and_with_a_tail(entry: Entry) -> None:
    assert decoded(filled(entry)) == (entry["decoded"], b"")
    assert decoded(filled(entry) + PING) == (entry["decoded"], PING)


@each(FILE["invalid"])
def test_invalid_gives_its_class(entry: Entry) -> None:
    with pytest.raises(ConnectionFault) as caught:
        decoded(filled(entry))
    assert caught.value.kind == entry["error"]


@pytest.mark.parametrize("initiator", [True, False])
@each(READABLE)
def test_sessions_agree_however_it_is_cut(entry: Entry, initiator: bool) -> None:
    for parts in cuts(entry):
        events = Failures()
        session = Session(events, initiator=initiator, now=0)
        for part in parts:
            assert session.lifecycle.state != OPEN
            session.receive(part, 1)
        assert session.lifecycle.state == OPEN
        session.take()
        session.receive(PING, 2)
        assert bytes(session.take()) == bytes.fromhex("000000070000000000000100efbeadde")
        assert events.kinds == []


@pytest.mark.parametrize("initiator", [True, False])
@each(FILE["invalid"])
def test_sessions_fail_however_it_is_cut(entry: Entry, initiator: bool) -> None:
    for parts in cuts(entry):
        events = Failures()
        session = Session(events, initiator=initiator, now=0)
        for part in parts:
            session.receive(part, 1)
        assert events.kinds == [entry["error"]]


@each(FILE["valid"])
def test_written_again(entry: Entry) -> None:
    meaning = dict(entry["decoded"])
    settings = dict(meaning["settings"])
    if "codecs" in settings:
        settings["codecs"] = {one["number"]: one["name"].encode() for one in settings["codecs"]}
    if "compressions" in settings:
        settings["compressions"] = frozenset(settings["compressions"])
    written = preface_bytes(Settings(**settings), meaning["window"], highest=meaning["highest"])
    again, rest = decoded(written)
    defaults = {name: value for name, value in meaning["settings"].items() if name not in again["settings"]}
    assert rest == b""
    assert again | {"settings": again["settings"] | defaults} == meaning
    for name, value in defaults.items():
        assert value == getattr(Settings(), name)
    if not defaults and len(settings) < 2:
        assert written == filled(entry)


def test_an_acceptor_answers_at_the_sixteenth_byte() -> None:
    session = Session(Events(), initiator=False, now=0, config=Config(settings=Settings(max_calls=5)))
    entry = next(one for one in FILE["valid"] if one["id"] == "preface-every-setting")
    data = filled(entry)
    session.receive(data[:15], 1)
    assert bytes(session.take()) == b""
    session.receive(data[15:16], 1)
    assert decoded(bytes(session.take()))[0]["settings"] == {"max_calls": 5}
