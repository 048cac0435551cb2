"""Cases of capnp.json: messages of library.capnp in the framing of client.md 4.5, laid out word by word."""

from __future__ import annotations

import struct
from typing import Any

DESCRIPTION = "Books of library.capnp as Cap'n Proto messages (client.md 4.5). What is not invalid is read as `book`."


def words(*parts: bytes) -> bytes:
    """Parts, each filled up to whole words."""
    return b"".join(part + bytes(-len(part) % 8) for part in parts)


def framed(*segments: bytes, count: int | None = None) -> bytes:
    """A message of these segments; its table says `count` of them."""
    sizes = b"".join(struct.pack("<I", len(segment) // 8) for segment in segments)
    return words(struct.pack("<I", (len(segments) if count is None else count) - 1) + sizes, *segments)


def pointer(offset: int, data: int, pointers: int) -> bytes:
    """To a struct `offset` words behind this pointer: so many words of data, so many pointers."""
    return struct.pack("<IHH", offset << 2 & 0xFFFFFFFF, data, pointers)


def list_of_bytes(offset: int, count: int) -> bytes:
    return struct.pack("<II", offset << 2 | 1, count << 3 | 2)


def far(offset: int, segment: int) -> bytes:
    """To a pointer that stands `offset` words into another segment."""
    return struct.pack("<II", offset << 3 | 2, segment)


NULL = bytes(8)


def book(title: bytes, pages: int, cover: bytes) -> bytes:
    """A book, without the pointer to it: pages, title, cover, and what they point to."""
    text = title + b"\0"
    return words(struct.pack("<q", pages & 0xFFFFFFFF), list_of_bytes(1, len(text)), list_of_bytes((len(text) + 7) // 8, len(cover)), text, cover)


def entry(ident: str, why: str, data: bytes, title: str = "", pages: int = 0, cover: bytes = b"") -> dict[str, Any]:
    return {"id": ident, "why": why, "hex": data.hex(), "book": {"title": title, "pages": pages, "cover": cover.hex()}}


def bad(ident: str, why: str, data: bytes) -> dict[str, Any]:
    return {"id": ident, "why": why, "hex": data.hex()}


WHOLE = framed(pointer(0, 1, 2) + book(b"Ulysses", 736, b"\x01\x02\x03"))

CONTENT: dict[str, Any] = {
    "description": DESCRIPTION,
    "valid": [
        entry("capnp-book", "a struct with a number, a text and bytes", WHOLE, "Ulysses", 736, b"\x01\x02\x03"),
        entry("capnp-no-pointers", "fields whose pointers are null have their defaults", framed(words(pointer(0, 1, 2), struct.pack("<q", 5), NULL, NULL)), pages=5),
        entry("capnp-null-root", "a null root is a struct of defaults", framed(NULL)),
        entry("capnp-two-segments", "the root stands in another segment", framed(far(0, 1), pointer(0, 1, 2) + book(b"far", 3, b"")), "far", 3),
    ],
    "degenerate": [
        entry("capnp-shorter", "a struct of an older schema has less data and fewer pointers", framed(pointer(0, 0, 1) + list_of_bytes(0, 2) + words(b"a\0")), "a"),
        entry("capnp-longer", "a struct of a newer schema has more data and more pointers",
              framed(words(pointer(0, 2, 3), struct.pack("<qq", 9, -1), NULL, NULL, NULL)), pages=9),
        entry("capnp-most-segments", "512 segments, all but one empty", framed(NULL, *[b""] * 511)),
        entry("capnp-unused-words", "words that nothing points to", framed(NULL + bytes(16))),
    ],
    "invalid": [
        bad("capnp-empty", "no table", b""),
        bad("capnp-half-a-table", "the table is cut off", WHOLE[:4]),
        bad("capnp-no-root", "a segment without words has no root", framed(b"")),
        bad("capnp-cut", "the last word is missing", WHOLE[:-8]),
        bad("capnp-left-over", "a word behind the last segment", WHOLE + NULL),
        bad("capnp-many-segments", "513 segments", framed(NULL, *[b""] * 512)),
        bad("capnp-claims-segments", "a table that claims four billion segments", b"\xff" * 64),
        bad("capnp-long-segment", "a segment that is longer than the message", struct.pack("<II", 0, 1 << 24) + WHOLE[8:]),
        bad("capnp-list", "the root is a list", framed(list_of_bytes(0, 2) + words(b"a\0"))),
        bad("capnp-outside", "the root points outside its segment", framed(pointer(9, 1, 2) + NULL)),
        bad("capnp-no-segment", "the root stands in a segment that is not there", framed(far(0, 7))),
    ],
}
