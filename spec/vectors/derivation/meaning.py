"""What the cases are made of: bytes and their meaning built side by side."""

from __future__ import annotations

from typing import Any

from . import encode

Entry = dict[str, Any]


def fill(byte: str, count: int) -> Entry:
    """Bytes too many to write out: `count` copies of one byte, behind what the hex says."""
    return {"byte": byte.encode().hex(), "count": count}


def fill_bytes(what: Entry | None) -> bytes:
    return bytes.fromhex(what["byte"]) * what["count"] if what else b""


def text_or_hex(name: str, value: bytes) -> Entry:
    """JSON strings hold only Unicode, so a name that is not UTF-8 is given as hex."""
    try:
        return {name: value.decode("utf-8")}
    except UnicodeDecodeError:
        return {name + "_hex": value.hex()}


class Meta:
    """A META block: add entries in order, then take the bytes and the meaning."""

    def __init__(self) -> None:
        self.bytes = b""
        self.entries: list[Entry] = []
        self.own_values: Entry = {}
        self.counted = 0
        self.fill: Entry | None = None

    def _add(self, data: bytes) -> None:
        self.bytes += data
        self.counted += 1

    def common(self, key: str, value: str) -> Meta:
        self._add(encode.common(key, value.encode()))
        self.entries.append({"key": key, "text": value})
        return self

    def literal(self, key: str, value: str) -> Meta:
        self._add(encode.entry(key.encode(), value.encode()))
        self.entries.append({"key": key, "text": value})
        return self

    def binary(self, key: str, value: bytes) -> Meta:
        self._add(encode.entry(key.encode(), value))
        self.entries.append({"key": key, "hex": value.hex()})
        return self

    def own(self, name: str, value: bytes, meaning: int | str) -> Meta:
        self._add(encode.own(name, value))
        self.own_values[name] = meaning
        return self

    def unknown(self, number: int, value: bytes) -> Meta:
        """A number that version 1 does not know: dropped, but counted."""
        self._add(encode.numbered(number, value))
        return self

    def filled(self, key: str, length: int) -> Meta:
        """Last entry: so many times `a` that the entries take `length` bytes."""
        head = b"\x00" + encode.counted(key.encode())
        room = length - len(self.bytes) - len(head)
        count = next(c for c in (room - 1, room - 2, room - 3) if len(encode.varint(c)) + c == room)
        self._add(head + encode.varint(count))
        self.fill = fill("a", count)
        self.entries.append({"key": key, "text": "", "fill": self.fill})
        return self

    def block(self) -> bytes:
        """Without the bytes of the fill."""
        extra = self.fill["count"] if self.fill else 0
        return encode.varint(len(self.bytes) + extra) + self.bytes

    def meaning(self) -> Entry:
        return {"entries": self.entries, "own": self.own_values, "counted": self.counted}


def status_meaning(message: str, *details: tuple[str, bytes]) -> Entry:
    return {
        "message": message,
        "details": [{"type_url": url, "value": value.hex()} for url, value in details],
    }


def valid(ident: str, why: str, data: bytes, decoded: Entry, **context: Any) -> Entry:
    return {"id": ident, "why": why, "hex": data.hex(), **_given(context), "decoded": decoded}


def invalid(ident: str, why: str, data: bytes, error: str, ends: str, **context: Any) -> Entry:
    return {
        "id": ident,
        "why": why,
        "hex": data.hex(),
        **_given(context),
        "error": error,
        "ends": ends,
    }


def _given(context: Entry) -> Entry:
    return {key: value for key, value in context.items() if value is not None}
