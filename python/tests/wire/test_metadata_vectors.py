"""Replays spec/vectors/metadata.json and status.json."""

from __future__ import annotations

from typing import Any

import pytest

from trunkcall.wire import Metadata, Settings
from trunkcall.wire.fault import CallFault
from trunkcall.wire.metadata import block, read_block
from trunkcall.wire.status import payload, read_payload

from .vectors import Entry, each, filled, load


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


METADATA = load("metadata.json")
STATUS = load("status.json")


@each(METADATA["valid"] + METADATA["degenerate"])
def test_metadata_whole_and_with_a_tail(entry: Entry) -> None:
    data = filled(entry)
    expected = (written_out(entry["decoded"]), len(data))
    assert read_metadata(data, limits(entry)) == expected
    assert read_metadata(data + b"\0\1\xff", limits(entry)) == expected


@each(METADATA["valid"] + METADATA["degenerate"])
def test_metadata_cut_off(entry: Entry) -> None:
    data = filled(entry)
    for end in [*range(min(len(data), 300)), len(data) - 1]:
        with pytest.raises(CallFault) as caught:
            read_metadata(data[:end], limits(entry))
        assert caught.value.kind == "metadata", end


@each(METADATA["invalid"])
def test_invalid_metadata_gives_its_class(entry: Entry) -> None:
    with pytest.raises(CallFault) as caught:
        read_metadata(filled(entry), limits(entry))
    assert caught.value.kind == entry["error"]


@each(METADATA["valid"])
def test_metadata_written_again(entry: Entry) -> None:
    bounds = limits(entry)
    written = block(
        metadata_of(entry["decoded"]), bounds.max_metadata_bytes, bounds.max_metadata_entries, bounds.max_frame_body
    )
    assert len(written) == len(filled(entry))
    assert read_metadata(written, bounds)[0] == written_out(entry["decoded"])
    if not entry["decoded"]["own"]:
        assert written == filled(entry)


@each(STATUS["valid"] + STATUS["degenerate"])
def test_status_whole(entry: Entry) -> None:
    assert read_status(filled(entry)) == entry["decoded"]


@each(STATUS["valid"] + STATUS["degenerate"])
def test_status_cut_off(entry: Entry) -> None:
    data = filled(entry)
    for end in range(1, len(data)):
        with pytest.raises(CallFault) as caught:
            read_status(data[:end])
        assert caught.value.kind == "status", end


@each(STATUS["invalid"])
def test_an_invalid_status_gives_its_class(entry: Entry) -> None:
    with pytest.raises(CallFault) as caught:
        read_status(filled(entry))
    assert caught.value.kind == entry["error"]


@each(STATUS["valid"])
def test_status_written_again(entry: Entry) -> None:
    meaning = entry["decoded"]
    details = tuple((one["type_url"], bytes.fromhex(one["value"])) for one in meaning["details"])
    assert payload(meaning["message"], details, 65_536) == (filled(entry), False)


def test_what_does_not_fit_a_status_is_stripped() -> None:
    details = (("t", bytes(100)),)
    assert payload("ab", details, 60) == (b"\x02ab\0", True)
    written, stripped = payload("\u00fc" * 100, details, 60)
    assert stripped
    assert len(written) <= 60
    assert read_status(written) == {"message": "\u00fc" * 27, "details": []}
