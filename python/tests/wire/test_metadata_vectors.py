"""Replays spec/vectors/metadata.json and status.json."""

from __future__ import annotations

import unittest
from typing import Any

from trunkcall.wire import Metadata, Settings
from trunkcall.wire.fault import CallFault
from trunkcall.wire.metadata import block, read_block
from trunkcall.wire.status import payload, read_payload

from .vectors import Entry, filled, load


def limits(entry: Entry) -> Settings:
    return Settings(**entry.get("limits", {}))


def metadata_meaning(metadata: Metadata) -> dict[str, Any]:
    """Metadata in the form of the vectors, fills written out."""
    entries: list[dict[str, str]] = []
    for key, value in metadata.entries:
        entries.append({"key": key, "text": value} if isinstance(value, str) else {"key": key, "hex": value.hex()})
    own: dict[str, Any] = {}
    if metadata.attempt is not None:
        own["attempt"] = metadata.attempt
    return {"entries": entries, "own": own, "counted": metadata.counted}


def written_out(meaning: dict[str, Any]) -> dict[str, Any]:
    entries: list[dict[str, Any]] = []
    for entry in meaning["entries"]:
        entry = dict(entry)
        fill = entry.pop("fill", None)
        if fill:
            entry["text"] += chr(int(fill["byte"], 16)) * fill["count"]
        entries.append(entry)
    return meaning | {"entries": entries}


def metadata_of(meaning: dict[str, Any]) -> Metadata:
    entries = [
        (one["key"], one["text"] if "text" in one else bytes.fromhex(one["hex"]))
        for one in written_out(meaning)["entries"]
    ]
    return Metadata(entries, attempt=meaning["own"].get("attempt"))


def read_metadata(data: bytes, settings: Settings) -> tuple[dict[str, Any], int]:
    metadata, at = read_block(data, 0, len(data), settings.max_metadata_bytes, settings.max_metadata_entries)
    return metadata_meaning(metadata), at


def read_status(data: bytes) -> dict[str, Any]:
    message, details = read_payload(data, 0, len(data))
    return {"message": message, "details": [{"type_url": url, "value": value.hex()} for url, value in details]}


class MetadataVectors(unittest.TestCase):
    def setUp(self) -> None:
        self.file = load("metadata.json")

    def test_whole_and_with_a_tail(self) -> None:
        for entry in self.file["valid"] + self.file["degenerate"]:
            data = filled(entry)
            with self.subTest(entry["id"]):
                expected = (written_out(entry["decoded"]), len(data))
                self.assertEqual(read_metadata(data, limits(entry)), expected)
                self.assertEqual(read_metadata(data + b"\0\1\xff", limits(entry)), expected)

    def test_cut_off(self) -> None:
        for entry in self.file["valid"] + self.file["degenerate"]:
            data = filled(entry)
            for end in [*range(min(len(data), 300)), len(data) - 1]:
                with self.subTest(entry["id"], end=end), self.assertRaises(CallFault) as caught:
                    read_metadata(data[:end], limits(entry))
                self.assertEqual(caught.exception.kind, "metadata")

    def test_invalid_gives_its_class(self) -> None:
        for entry in self.file["invalid"]:
            with self.subTest(entry["id"]), self.assertRaises(CallFault) as caught:
                read_metadata(filled(entry), limits(entry))
            self.assertEqual(caught.exception.kind, entry["error"], entry["id"])

    def test_written_again(self) -> None:
        for entry in self.file["valid"]:
            metadata = metadata_of(entry["decoded"])
            bounds = limits(entry)
            written = block(metadata, bounds.max_metadata_bytes, bounds.max_metadata_entries, bounds.max_frame_body)
            with self.subTest(entry["id"]):
                self.assertEqual(len(written), len(filled(entry)))
                self.assertEqual(read_metadata(written, bounds)[0], written_out(entry["decoded"]))
                if not entry["decoded"]["own"]:
                    self.assertEqual(written, filled(entry))


class StatusVectors(unittest.TestCase):
    def setUp(self) -> None:
        self.file = load("status.json")

    def test_whole(self) -> None:
        for entry in self.file["valid"] + self.file["degenerate"]:
            with self.subTest(entry["id"]):
                self.assertEqual(read_status(filled(entry)), entry["decoded"])

    def test_cut_off(self) -> None:
        for entry in self.file["valid"] + self.file["degenerate"]:
            data = filled(entry)
            for end in range(1, len(data)):
                with self.subTest(entry["id"], end=end), self.assertRaises(CallFault) as caught:
                    read_status(data[:end])
                self.assertEqual(caught.exception.kind, "status")

    def test_invalid_gives_its_class(self) -> None:
        for entry in self.file["invalid"]:
            with self.subTest(entry["id"]), self.assertRaises(CallFault) as caught:
                read_status(filled(entry))
            self.assertEqual(caught.exception.kind, entry["error"], entry["id"])

    def test_written_again(self) -> None:
        for entry in self.file["valid"]:
            meaning = entry["decoded"]
            details = tuple((one["type_url"], bytes.fromhex(one["value"])) for one in meaning["details"])
            with self.subTest(entry["id"]):
                self.assertEqual(payload(meaning["message"], details, 65_536), (filled(entry), False))

    def test_what_does_not_fit_is_stripped(self) -> None:
        details = (("t", bytes(100)),)
        self.assertEqual(payload("ab", details, 60), (b"\x02ab\0", True))
        written, stripped = payload("\u00fc" * 100, details, 60)
        self.assertTrue(stripped)
        self.assertLessEqual(len(written), 60)
        self.assertEqual(read_status(written), {"message": "\u00fc" * 27, "details": []})
