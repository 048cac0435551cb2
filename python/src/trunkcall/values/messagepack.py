"""MessagePack's syntax. Lengths that a header announces are compared with what there is before anything is made."""

# What comes may be anything, so that its parts have no type:
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from .faults import MAX_NESTING, Fault, too_deep
from .tree import Broken, Ext, Pairs

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND, _MICROSECOND = timedelta(seconds=1), timedelta(microseconds=1)
_FLOAT32, _FLOAT64 = struct.Struct(">f"), struct.Struct(">d")


def _cut_off() -> Fault:
    return Fault("the message is cut off")


class Reader:
    """Reads one message. `value` raises Fault."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def end(self) -> None:
        """Raises Fault unless all was read."""
        if self._at != len(self._data):
            raise Fault("bytes follow the message")

    def _take(self, size: int) -> bytes:
        begin, end = self._at, self._at + size
        if end > len(self._data):
            raise _cut_off()
        self._at = end
        return self._data[begin:end]

    def _unsigned(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big")

    def array_header(self) -> int | None:
        """The number of elements of an array that comes next; None if something else does."""
        if self._at >= len(self._data):
            raise Fault("the message is empty") if not self._data else _cut_off()
        first = self._data[self._at]
        if 0x90 <= first <= 0x9F:
            self._at += 1
            return first & 15
        if first in (0xDC, 0xDD):
            self._at += 1
            return self._unsigned(2 if first == 0xDC else 4)
        return None

    def value(self, depth: int = 0) -> Any:
        """The next value as a tree; `depth` arrays and maps are around it."""
        at = self._at
        if at >= len(self._data):
            raise Fault("the message is empty") if not self._data else _cut_off()
        first = self._data[at]
        self._at = at + 1
        if first < 0x80:
            return first
        if first >= 0xE0:
            return first - 256
        if first >= 0xC0:
            return self._long(first, depth)
        if first >= 0xA0:
            return self._text(first & 31)
        if first >= 0x90:
            return self._array(first & 15, depth)
        return self._map(first & 15, depth)

    def _long(self, first: int, depth: int) -> Any:
        match first:
            case 0xC0:
                return None
            case 0xC2 | 0xC3:
                return first == 0xC3
            case 0xC4 | 0xC5 | 0xC6:
                return self._take(self._unsigned(1 << first - 0xC4))
            case 0xC7 | 0xC8 | 0xC9:
                return self._extension(self._unsigned(1 << first - 0xC7))
            case 0xCA:
                return _FLOAT32.unpack(self._take(4))[0]
            case 0xCB:
                return _FLOAT64.unpack(self._take(8))[0]
            case 0xCC | 0xCD | 0xCE | 0xCF:
                return self._unsigned(1 << first - 0xCC)
            case 0xD0 | 0xD1 | 0xD2 | 0xD3:
                return int.from_bytes(self._take(1 << first - 0xD0), "big", signed=True)
            case 0xD4 | 0xD5 | 0xD6 | 0xD7 | 0xD8:
                return self._extension(1 << first - 0xD4)
            case 0xD9 | 0xDA | 0xDB:
                return self._text(self._unsigned(1 << first - 0xD9))
            case 0xDC | 0xDD:
                return self._array(self._unsigned(2 << first - 0xDC), depth)
            case 0xDE | 0xDF:
                return self._map(self._unsigned(2 << first - 0xDE), depth)
            case _:
                raise Fault("the byte 0xc1 begins no value")

    def _text(self, size: int) -> Any:
        data = self._take(size)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return Broken(Fault("want text, got bytes that are not UTF-8"))

    def _extension(self, size: int) -> Ext:
        number = int.from_bytes(self._take(1), "big", signed=True)
        return Ext(number, self._take(size))

    def _array(self, count: int, depth: int) -> list[Any]:
        self._nest(count, depth)
        value, inner = self.value, depth + 1
        return [value(inner) for _ in range(count)]

    def _map(self, count: int, depth: int) -> Pairs:
        self._nest(2 * count, depth)
        value, inner = self.value, depth + 1
        return Pairs([(value(inner), value(inner)) for _ in range(count)])

    def _nest(self, count: int, depth: int) -> None:
        if depth >= MAX_NESTING:
            raise too_deep()
        if count > len(self._data) - self._at:  # of a byte each at least
            raise _cut_off()


def instant(ext: Ext) -> tuple[int, int] | None:
    """Seconds since 1970 and nanoseconds of a timestamp; None for what is none."""
    if ext.number != -1:
        return None
    match len(ext.data):
        case 4:
            return int.from_bytes(ext.data, "big"), 0
        case 8:
            both = int.from_bytes(ext.data, "big")
            return both & 0x3_FFFF_FFFF, both >> 34
        case 12:
            return int.from_bytes(ext.data[4:], "big", signed=True), int.from_bytes(ext.data[:4], "big")
        case _:
            return None


def write(value: Any) -> bytes:
    """A message of None, booleans, numbers, texts, bytes, times, lists and dicts."""
    out: list[bytes] = []
    _write(out.append, value)
    return b"".join(out)


def _write(add: Callable[[bytes], None], value: Any) -> None:
    match value:
        case None:
            add(b"\xc0")
        case bool():
            add(b"\xc3" if value else b"\xc2")
        case int():
            add(_integer(value))
        case float():
            add(b"\xcb" + _FLOAT64.pack(value))
        case str():
            data = value.encode()
            add(_header(len(data), (31, 0xA0, 0), (0xFF, 0xD9, 1), (0xFFFF, 0xDA, 2), (0xFFFFFFFF, 0xDB, 4)))
            add(data)
        case bytes():
            add(_header(len(value), (0xFF, 0xC4, 1), (0xFFFF, 0xC5, 2), (0xFFFFFFFF, 0xC6, 4)))
            add(value)
        case list() | tuple():
            add(_header(len(value), (15, 0x90, 0), (0xFFFF, 0xDC, 2), (0xFFFFFFFF, 0xDD, 4)))
            for one in value:
                _write(add, one)
        case dict():
            add(_header(len(value), (15, 0x80, 0), (0xFFFF, 0xDE, 2), (0xFFFFFFFF, 0xDF, 4)))
            for key, one in value.items():
                _write(add, key)
                _write(add, one)
        case datetime():
            add(_timestamp(value))
        case _:
            raise TypeError(f"MessagePack has nothing for {type(value).__name__}")


def _header(size: int, *forms: tuple[int, int, int]) -> bytes:
    """The shortest header for a size: forms are the most that they hold, their first byte, and the bytes of the size,
    0: it is added to the first."""
    for most, first, width in forms:
        if size <= most:
            return bytes([first]) + size.to_bytes(width, "big") if width else bytes([first + size])
    raise Fault("what is longer than 2^32 - 1 cannot be written")


def _integer(value: int) -> bytes:
    if -32 <= value < 128:
        return bytes([value & 0xFF])
    if value >= 0:
        width = next(at for at in range(4) if value < 1 << (8 << at))
        return bytes([0xCC + width]) + value.to_bytes(1 << width, "big")
    width = next(at for at in range(4) if value >= -1 << (8 << at) - 1)
    return bytes([0xD0 + width]) + value.to_bytes(1 << width, "big", signed=True)


def _timestamp(value: datetime) -> bytes:
    since = value - EPOCH
    seconds = since // _SECOND
    nanoseconds = (since - seconds * _SECOND) // _MICROSECOND * 1_000
    if not 0 <= seconds < 1 << 34:
        return b"\xc7\x0c\xff" + nanoseconds.to_bytes(4, "big") + seconds.to_bytes(8, "big", signed=True)
    both = nanoseconds << 34 | seconds
    return b"\xd6\xff" + both.to_bytes(4, "big") if both < 1 << 32 else b"\xd7\xff" + both.to_bytes(8, "big")
