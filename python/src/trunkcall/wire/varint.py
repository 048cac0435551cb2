"""Varints (protocol.md 1.3): at most five bytes, below 2^32, the shortest form only."""

from __future__ import annotations


def read_varint(data: bytes | bytearray | memoryview, start: int, end: int) -> tuple[int, int]:
    """The varint at `start` and the offset behind it; (-1, start) when it is unreadable before `end`."""
    value = shift = 0
    at = start
    while at < end and shift < 35:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if (byte == 0 and shift) or value > 0xFFFFFFFF:
                return -1, start
            return value, at
        shift += 7
    return -1, start


def varint(value: int) -> bytes:
    """The varint of 0 <= value < 2^32."""
    if value < 0x80:
        return bytes((value,))
    if value > 0xFFFFFFFF:
        raise ValueError(f"{value} does not fit into a varint")
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
