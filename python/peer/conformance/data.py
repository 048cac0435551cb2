"""Bytes and metadata as the cases have them."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from functools import cache

import trunkcall
from conformance.v1.conformance_pb2 import Entry

Pairs = list[tuple[str, str | bytes]]
_PATTERN = bytes(range(251))


@cache
def make_data(size: int, noise: bool = False) -> bytes:
    """The bytes that conformance.proto describes."""
    if not noise:
        return (_PATTERN * (size // len(_PATTERN) + 1))[:size]
    data = bytearray(size)
    state = 1
    for index in range(size):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        data[index] = state >> 24
    return bytes(data)


def from_entries(entries: Iterable[Entry]) -> Pairs:
    return [(entry.key, entry.value if is_binary(entry.key) else entry.value.decode()) for entry in entries]


def to_entries(metadata: trunkcall.Metadata) -> list[Entry]:
    return [Entry(key=key, value=value if isinstance(value, bytes) else value.encode()) for key, value in metadata]


def from_lines(pairs: Iterable[list[str]]) -> Pairs:
    """Metadata of a line: a value of a key that ends in -bin is base64."""
    return [(key, base64.b64decode(value) if is_binary(key) else value) for key, value in pairs]


def to_lines(metadata: trunkcall.Metadata) -> list[list[str]]:
    return [[key, base64.b64encode(value).decode() if isinstance(value, bytes) else value] for key, value in metadata]


def is_binary(key: str) -> bool:
    return key.endswith("-bin")
