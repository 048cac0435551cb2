"""Encoder for the Trunkcall wire, written from protocol.md alone, to derive the vectors.

It encodes what it is told to, right or wrong: the cases decide what is legal.
"""

from __future__ import annotations

MAGIC = bytes((0xF5, 0x54, 0x4B, 0x31))
WINDOW = 262_144  # least initial stream window, protocol.md 2.1
LEAST_PIECE = 65_536  # least body of a piece with MORE, protocol.md 4.3

TYPES = {
    "DEFINE": 1,
    "CALL": 2,
    "DATA": 3,
    "RESULT": 4,
    "CREDIT": 5,
    "CANCEL": 6,
    "PING": 7,
    "GOAWAY": 8,
}
ANSWER_FLAGS = {"MSG": 0x02, "META": 0x08, "REFUSED": 0x10, "CUT": 0x20, "STRIPPED": 0x40}
FLAGS = {
    "DEFINE": {},
    "CALL": {"END": 0x01, "MSG": 0x02, "MORE": 0x04, "META": 0x08, "ONEWAY": 0x10},
    "DATA": {"END": 0x01, "MSG": 0x02, "MORE": 0x04, "META": 0x08, "POOL": 0x10},
    "RESULT": ANSWER_FLAGS,
    "CREDIT": {},
    "CANCEL": {},
    "PING": {"ACK": 0x01},
    "GOAWAY": {"ACK": 0x01},
}
SETTINGS = {
    "max_frame_body": 0x0001,
    "max_message": 0x0002,
    "max_calls": 0x0003,
    "max_metadata_bytes": 0x0004,
    "max_metadata_entries": 0x0005,
    "max_methods": 0x0006,
    "codecs": 0x0007,
    "compressions": 0x0008,
    "keepalive_interval": 0x0009,
    "min_ping_interval": 0x000A,
    "pool": 0x000B,
}
COMMON_KEYS = {
    "traceparent": 1,
    "tracestate": 2,
    "baggage": 3,
    "authorization": 4,
    "user-agent": 5,
    "x-request-id": 6,
    "x-forwarded-for": 7,
    "b3": 8,
    "accept-language": 9,
    "cookie": 10,
}
OWN_KEYS = {"attempt": 0x82}


def u16(value: int) -> bytes:
    return value.to_bytes(2, "little")


def u32(value: int) -> bytes:
    return value.to_bytes(4, "little")


def varint(value: int) -> bytes:
    """Shortest form, protocol.md 1.3."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def counted(value: bytes) -> bytes:
    return varint(len(value)) + value


# Preface and settings, protocol.md 2


def preface(
    settings: bytes = b"",
    *,
    magic: bytes = MAGIC,
    version: int = 1,
    highest: int = 1,
    reserved: int = 0,
    window: int = WINDOW,
    length: int | None = None,
) -> bytes:
    size = len(settings) if length is None else length
    return magic + bytes((version, highest)) + u16(reserved) + u32(window) + u32(size) + settings


def setting(kind: int, value: bytes) -> bytes:
    return u16(kind) + u16(len(value)) + value


def number_setting(name: str, value: int) -> bytes:
    return setting(SETTINGS[name], u32(value))


def codec_names(*names: tuple[int, bytes]) -> bytes:
    value = b"".join(bytes((number, len(name))) + name for number, name in names)
    return setting(SETTINGS["codecs"], value)


def compressions(*numbers: int) -> bytes:
    return setting(SETTINGS["compressions"], bytes(numbers))


# Frames, protocol.md 3


def header(
    kind: int,
    length: int,
    *,
    slot: int = 0,
    generation: int = 0,
    initiator: int = 0,
    low: int = 0,
    flags: int = 0,
    codec: int = 0,
    compression: int = 0,
    w3: int = 0,
) -> bytes:
    w0 = length | kind << 24
    w1 = slot | generation << 20 | initiator << 31
    w2 = low | flags << 16 | codec << 24 | compression << 28
    return u32(w0) + u32(w1) + u32(w2) + u32(w3)


def flag_bits(kind: str, names: tuple[str, ...]) -> int:
    bits = 0
    for name in names:
        bits |= FLAGS[kind][name]
    return bits


# Metadata, protocol.md 5


def entry(key: bytes, value: bytes) -> bytes:
    """A literal key."""
    return b"\x00" + counted(key) + counted(value)


def numbered(number: int, value: bytes) -> bytes:
    return bytes((number,)) + counted(value)


def common(name: str, value: bytes) -> bytes:
    return numbered(COMMON_KEYS[name], value)


def own(name: str, value: bytes) -> bytes:
    return numbered(OWN_KEYS[name], value)


def block(entries: bytes) -> bytes:
    return counted(entries)


# Status payload, protocol.md 6


def status(message: bytes, *details: tuple[bytes, bytes]) -> bytes:
    out = counted(message) + varint(len(details))
    for type_url, value in details:
        out += counted(type_url) + counted(value)
    return out
