"""Writes values by code-first.md 3.1, for code-first.json: from a type and a plain form of the value (README.md) to
MessagePack and to JSON."""

from __future__ import annotations

import base64
import datetime
import json
import math
import struct
from typing import Any

SAFE = 2**53 - 1
SIZES = {"float32": ">f", "float64": ">d"}


def kind(type_: Any) -> tuple[str, Any]:
    """A type's name and what it is made of."""
    if isinstance(type_, str):
        return type_, None
    ((name, inner),) = type_.items()
    return name, inner


def is_whole(name: str) -> bool:
    return name.startswith(("int", "uint"))


def number(text: str) -> float:
    return float(text.replace("Infinity", "inf").replace("NaN", "nan"))


def instant(text: str) -> tuple[int, int]:
    """Seconds since 1970 and nanoseconds of a time as `2026-01-02T03:04:05.123456789Z`."""
    whole, _, fraction = text.removesuffix("Z").partition(".")
    moment = datetime.datetime.fromisoformat(whole + "+00:00")
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return (moment - epoch) // datetime.timedelta(seconds=1), int(fraction.ljust(9, "0") or "0")


def sized(length: int, *forms: tuple[int, int, str]) -> bytes:
    for limit, byte, form in forms:
        if length <= limit:
            return bytes([byte + length]) if form == "" else bytes([byte]) + struct.pack(form, length)
    raise ValueError(length)


def array_header(n: int) -> bytes:
    return sized(n, (15, 0x90, ""), (0xFFFF, 0xDC, ">H"), (0xFFFFFFFF, 0xDD, ">I"))


def map_header(n: int) -> bytes:
    return sized(n, (15, 0x80, ""), (0xFFFF, 0xDE, ">H"), (0xFFFFFFFF, 0xDF, ">I"))


def string(text: str) -> bytes:
    data = text.encode()
    return sized(len(data), (31, 0xA0, ""), (255, 0xD9, ">B"), (0xFFFF, 0xDA, ">H"), (0xFFFFFFFF, 0xDB, ">I")) + data


def binary(data: bytes) -> bytes:
    return sized(len(data), (255, 0xC4, ">B"), (0xFFFF, 0xC5, ">H"), (0xFFFFFFFF, 0xC6, ">I")) + data


def integer(n: int) -> bytes:
    if n >= 0:
        if n < 128:
            return bytes([n])
        forms = ((0xCC, ">B", 8), (0xCD, ">H", 16), (0xCE, ">I", 32), (0xCF, ">Q", 64))
        return next(bytes([byte]) + struct.pack(form, n) for byte, form, bits in forms if n < 2**bits)
    if n >= -32:
        return struct.pack(">b", n)
    signed = ((0xD0, ">b", 7), (0xD1, ">h", 15), (0xD2, ">i", 31), (0xD3, ">q", 63))
    return next(bytes([byte]) + struct.pack(form, n) for byte, form, bits in signed if n >= -(2**bits))


def timestamp(seconds: int, nanoseconds: int) -> bytes:
    if 0 <= seconds < 2**34:
        both = nanoseconds << 34 | seconds
        return b"\xd6\xff" + struct.pack(">I", both) if both < 2**32 else b"\xd7\xff" + struct.pack(">Q", both)
    return b"\xc7\x0c\xff" + struct.pack(">Iq", nanoseconds, seconds)


def msgpack(type_: Any, value: Any) -> bytes:
    name, inner = kind(type_)
    if name == "any":
        return msgpack(value["type"], value["value"])
    if value is None:
        return b"\xc0"
    if is_whole(name) or name == "duration":
        return integer(int(value))
    match name:
        case "optional":
            return msgpack(inner, value)
        case "boolean":
            return b"\xc3" if value else b"\xc2"
        case "float32" | "float64":
            return (b"\xca" if name == "float32" else b"\xcb") + struct.pack(SIZES[name], number(value))
        case "text" | "enumeration":
            return string(value)
        case "bytes":
            return binary(bytes.fromhex(value))
        case "time":
            return timestamp(*instant(value))
        case "list":
            return array_header(len(value)) + b"".join(msgpack(inner, v) for v in value)
        case "map":
            pairs = (msgpack(inner["key"], k) + msgpack(inner["value"], v) for k, v in value)
            return map_header(len(value)) + b"".join(pairs)
        case "record":
            fields = (string(f["name"]) + msgpack(f["type"], value[f["name"]]) for f in inner)
            return map_header(len(inner)) + b"".join(fields)
    raise ValueError(name)


def duration_text(nanoseconds: int) -> str:
    seconds, rest = divmod(abs(nanoseconds), 10**9)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{'-' if nanoseconds < 0 else ''}{seconds}{fraction}s"


def plain(type_: Any, value: Any) -> Any:
    """A value as Python's json writes it by code-first.md."""
    name, inner = kind(type_)
    if name == "any":
        return plain(value["type"], value["value"])
    if value is None or name in ("boolean", "text", "time", "enumeration"):
        return value
    if is_whole(name):
        return int(value) if abs(int(value)) <= SAFE else value
    match name:
        case "optional":
            return plain(inner, value)
        case "float32" | "float64":
            return number(value) if math.isfinite(number(value)) else value
        case "bytes":
            return base64.b64encode(bytes.fromhex(value)).decode()
        case "duration":
            return duration_text(int(value))
        case "list":
            return [plain(inner, v) for v in value]
        case "map":
            return {k: plain(inner["value"], v) for k, v in value}
        case "record":
            return {f["name"]: plain(f["type"], value[f["name"]]) for f in inner}
    raise ValueError(name)


def as_json(type_: Any, value: Any) -> str:
    return json.dumps(plain(type_, value), ensure_ascii=False, separators=(",", ":"))
