"""The files of spec/vectors, and ways of cutting their bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "spec" / "vectors"
Entry = dict[str, Any]


def load(name: str) -> dict[str, list[Entry]]:
    with open(FOLDER / name, encoding="utf-8") as file:
        entries: dict[str, list[Entry]] = json.load(file)
        return entries


def each(entries: list[Entry]) -> pytest.MarkDecorator:
    """A test of each entry, called by its id."""
    return pytest.mark.parametrize("entry", [pytest.param(entry, id=entry["id"]) for entry in entries])


def filled(entry: Entry, field: str = "hex", fill: str = "fill") -> bytes:
    """The bytes of an entry, with what continues them."""
    data = bytes.fromhex(entry.get(field, ""))
    if fill in entry:
        data += bytes.fromhex(entry[fill]["byte"]) * entry[fill]["count"]
    return data


def pieces(data: bytes, least: int = 64, chunk: int = 4_093) -> Iterator[bytes]:
    """Byte by byte; of long input the middle in chunks."""
    middle = len(data) - least if len(data) > 2 * least + chunk else 0
    at = 0
    while at < len(data):
        size = min(chunk, middle - at) if least <= at < middle else 1
        yield data[at : at + size]
        at += size
