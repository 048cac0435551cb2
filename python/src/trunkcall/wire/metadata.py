"""Metadata blocks (protocol.md 5): users' entries in order, and the protocol's own beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from .fault import CallFault, LimitError
from .varint import read_varint, varint

COMMON_KEYS = (
    "traceparent",
    "tracestate",
    "baggage",
    "authorization",
    "user-agent",
    "x-request-id",
    "x-forwarded-for",
    "b3",
    "accept-language",
    "cookie",
)
_NUMBER_OF = {key: number for number, key in enumerate(COMMON_KEYS, 1)}
_ATTEMPT = 0x82
_KEY = re.compile(rb"[a-z0-9_.\-]{1,255}\Z")
_TEXT = re.compile(rb"[ -~]*\Z")


@dataclass(slots=True)
class Metadata:
    """Users' `entries` in order: values of keys ending in `-bin` are bytes, all others str of 0x20 to 0x7E.

    `attempt` is the protocol's own (protocol.md 5.2), None when absent. `counted` is how many entries a block that was
    read held, dropped ones included."""

    entries: list[tuple[str, str | bytes]] = field(default_factory=list[tuple[str, "str | bytes"]])
    attempt: int | None = None
    counted: int = 0


def read_block(data: bytes, start: int, end: int, max_bytes: int, max_entries: int) -> tuple[Metadata, int]:
    """The block at `start` of a body that ends at `end`, and the offset behind it.

    Raises CallFault `metadata` or `metadata_limit`, whichever is first from the left (protocol.md 5.5)."""
    length, at = read_varint(data, start, end)
    if length < 0 or length > end - at:
        raise CallFault("metadata", "the length of the metadata block is wrong")
    if length > max_bytes:
        raise CallFault("metadata_limit", f"metadata of {length} bytes, max_metadata_bytes is {max_bytes}")
    end = at + length
    metadata = Metadata()
    while at < end:
        if metadata.counted == max_entries:
            raise CallFault("metadata_limit", f"metadata of more entries than max_metadata_entries, {max_entries}")
        metadata.counted += 1
        at = _read_entry(metadata, data, at, end)
    return metadata, end


def _read_entry(metadata: Metadata, data: bytes, at: int, end: int) -> int:
    number = data[at]
    at += 1
    key = ""
    if number == 0:
        literal, at = _read_bytes(data, at, end, "key")
        if not _KEY.match(literal):
            raise CallFault("metadata", "a metadata key of a wrong length or character")
        key = literal.decode("ascii")
    elif number <= len(COMMON_KEYS):
        key = COMMON_KEYS[number - 1]
    value, at = _read_bytes(data, at, end, "value")
    if key:
        metadata.entries.append((key, _user_value(key, value)))
    elif number == _ATTEMPT:
        attempt, behind = read_varint(value, 0, len(value))
        if metadata.attempt is not None or attempt < 1 or behind < len(value):
            raise CallFault("metadata", f"the protocol's metadata entry 0x{number:02x} is malformed or repeated")
        metadata.attempt = attempt
    return at


def _read_bytes(data: bytes, at: int, end: int, what: str) -> tuple[bytes, int]:
    length, at = read_varint(data, at, end)
    if length < 0 or length > end - at:
        raise CallFault("metadata", f"a metadata {what} is cut off or its length malformed")
    return data[at : at + length], at + length


def _user_value(key: str, value: bytes) -> str | bytes:
    if key.endswith("-bin"):
        return value
    if not _TEXT.match(value):
        raise CallFault("metadata", f"the value of metadata key {key} is not text of 0x20 to 0x7E")
    return value.decode("ascii")


def block(metadata: Metadata, max_bytes: int, max_entries: int, max_body: int) -> bytes:
    """The bytes of a block, its length included, for a receiver with these limits (protocol.md 5.4).

    Raises ValueError for a bad key or value, LimitError for a limit crossed."""
    parts = [_user_entry(entry) for entry in metadata.entries]
    if metadata.attempt is not None:
        if metadata.attempt < 1:
            raise ValueError("the first attempt is 1")
        value = varint(metadata.attempt)
        parts.append(bytes((_ATTEMPT, len(value))) + value)
    entries = b"".join(parts)
    if len(parts) > max_entries:
        raise LimitError(f"metadata of {len(parts)} entries, max_metadata_entries is {max_entries}")
    if len(entries) > max_bytes:
        raise LimitError(f"metadata of {len(entries)} bytes, max_metadata_bytes is {max_bytes}")
    encoded = varint(len(entries)) + entries
    if len(encoded) * 2 >= max_body:
        raise LimitError(f"metadata of {len(encoded)} bytes, half of max_frame_body is {max_body // 2}")
    return encoded


def _user_entry(entry: object) -> bytes:
    """The bytes of one of the user's entries. Raises ValueError, which names the key and not the value: that may be
    secret."""
    kind = type(entry).__name__
    pair = cast("Sequence[object]", entry) if isinstance(entry, tuple | list) else ()
    if len(pair) != 2:
        raise ValueError(f"metadata entry of type {kind}: want a pair of key and value")
    key, value = pair
    if not isinstance(key, str):
        raise ValueError(f"metadata key {key!r}: want a str")
    spelled = key.encode(errors="surrogatepass")
    if not _KEY.match(spelled):
        lower = f": {key.lower()!r}" if _KEY.match(spelled.lower()) else ""
        raise ValueError(f"metadata key {key!r}: want 1 to 255 of a-z, 0-9, _, ., -{lower}")
    if not isinstance(value, str | bytes | bytearray | memoryview):
        raise ValueError(f"the value of metadata key {key!r}: want a str or bytes, not {type(value).__name__}")
    if key.endswith("-bin"):
        if isinstance(value, str):
            raise ValueError(f"the value of metadata key {key!r}: want bytes, not str, where a key ends in -bin")
        encoded = bytes(cast(bytes, value))
    else:
        encoded = value.encode(errors="surrogatepass") if isinstance(value, str) else bytes(cast(bytes, value))
        if not _TEXT.match(encoded):
            wanted = "want text of 0x20 to 0x7E; where the key ends in -bin it is any bytes"
            raise ValueError(f"the value of metadata key {key!r}: {wanted}")
    number = _NUMBER_OF.get(key)
    head = bytes((number,)) if number else b"\0" + varint(len(spelled)) + spelled
    return head + varint(len(encoded)) + encoded
