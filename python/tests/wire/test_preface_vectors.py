"""Replays spec/vectors/preface.json through the readers and through a session of either role."""

from __future__ import annotations

import unittest
from typing import Any

from trunkcall.wire import Config, Events, Session, Settings
from trunkcall.wire.fault import ConnectionFault
from trunkcall.wire.lifecycle import OPEN
from trunkcall.wire.preface import PREFACE_SIZE, preface_bytes, read_preface
from trunkcall.wire.settings import read_settings

from .vectors import Entry, filled, load, pieces

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


class PrefaceVectors(unittest.TestCase):
    def setUp(self) -> None:
        self.file = load("preface.json")

    def readable(self) -> list[Entry]:
        return self.file["valid"] + self.file["degenerate"]

    def test_whole_and_with_a_tail(self) -> None:
        for entry in self.readable():
            with self.subTest(entry["id"]):
                self.assertEqual(decoded(filled(entry)), (entry["decoded"], b""))
                self.assertEqual(decoded(filled(entry) + PING), (entry["decoded"], PING))

    def test_invalid_gives_its_class(self) -> None:
        for entry in self.file["invalid"]:
            with self.subTest(entry["id"]), self.assertRaises(ConnectionFault) as caught:
                decoded(filled(entry))
            self.assertEqual(caught.exception.kind, entry["error"], entry["id"])

    def test_sessions_agree_however_it_is_cut(self) -> None:
        for entry in self.readable():
            for initiator in (True, False):
                for parts in ([filled(entry)], list(pieces(filled(entry)))):
                    with self.subTest(entry["id"], initiator=initiator, parts=len(parts)):
                        self._opens(initiator, parts)

    def _opens(self, initiator: bool, parts: list[bytes]) -> None:
        events = Failures()
        session = Session(events, initiator=initiator, now=0)
        for part in parts:
            self.assertNotEqual(session.lifecycle.state, OPEN)
            session.receive(part, 1)
        self.assertEqual(session.lifecycle.state, OPEN)
        session.take()
        session.receive(PING, 2)
        self.assertEqual(bytes(session.take()), bytes.fromhex("000000070000000000000100efbeadde"))
        self.assertEqual(events.kinds, [])

    def test_sessions_fail_however_it_is_cut(self) -> None:
        for entry in self.file["invalid"]:
            for initiator in (True, False):
                for parts in ([filled(entry)], list(pieces(filled(entry)))):
                    events = Failures()
                    session = Session(events, initiator=initiator, now=0)
                    for part in parts:
                        session.receive(part, 1)
                    with self.subTest(entry["id"], initiator=initiator, parts=len(parts)):
                        self.assertEqual(events.kinds, [entry["error"]])

    def test_written_again(self) -> None:
        for entry in self.file["valid"]:
            meaning = dict(entry["decoded"])
            settings = dict(meaning["settings"])
            if "codecs" in settings:
                settings["codecs"] = {one["number"]: one["name"].encode() for one in settings["codecs"]}
            if "compressions" in settings:
                settings["compressions"] = frozenset(settings["compressions"])
            written = preface_bytes(Settings(**settings), meaning["window"], highest=meaning["highest"])
            again, rest = decoded(written)
            defaults = {name: value for name, value in meaning["settings"].items() if name not in again["settings"]}
            with self.subTest(entry["id"]):
                self.assertEqual(rest, b"")
                self.assertEqual(again | {"settings": again["settings"] | defaults}, meaning)
                for name, value in defaults.items():
                    self.assertEqual(value, getattr(Settings(), name))
                if not defaults and len(settings) < 2:
                    self.assertEqual(written, filled(entry))

    def test_an_acceptor_answers_at_the_sixteenth_byte(self) -> None:
        session = Session(Events(), initiator=False, now=0, config=Config(settings=Settings(max_calls=5)))
        entry = next(one for one in self.file["valid"] if one["id"] == "preface-every-setting")
        data = filled(entry)
        session.receive(data[:15], 1)
        self.assertEqual(bytes(session.take()), b"")
        session.receive(data[15:16], 1)
        self.assertEqual(decoded(bytes(session.take()))[0]["settings"], {"max_calls": 5})
