"""Reading of META blocks, status payloads and text, from protocol.md 1.4, 5 and 6."""

from __future__ import annotations

import re
from typing import Any

from .reader_input import Fault, Input

COMMON = (
    "traceparent tracestate baggage authorization user-agent x-request-id x-forwarded-for b3 accept-language cookie"
).split()
OWN = {0x82: "attempt"}
KEY = re.compile(rb"[a-z0-9_.-]{1,255}")
VALUE = re.compile(rb"[ -~]*")


def text(data: bytes, most: int | None = None) -> str:
    """Cut at a character boundary when there is more than `most` bytes."""
    if most is not None and len(data) > most:
        while most and data[most] & 0xC0 == 0x80:
            most -= 1
        data = data[:most]
    return data.decode("utf-8", errors="replace")


def read_block(data: bytes, max_bytes: int, max_entries: int) -> tuple[dict[str, Any], bytes]:
    outer = Input(data, "metadata")
    length = outer.varint()
    if length > outer.left():
        raise Fault("metadata")
    if length > max_bytes:
        raise Fault("metadata_limit")
    source = Input(outer.take(length), "metadata")
    out: dict[str, Any] = {"entries": [], "own": {}, "counted": 0}
    while source.left():
        if out["counted"] == max_entries:
            raise Fault("metadata_limit")
        out["counted"] += 1
        read_entry(source, out)
    return out, outer.rest()


def read_entry(source: Input, out: dict[str, Any]) -> None:
    number = source.take(1)[0]
    if number == 0:
        key = source.take(source.varint())
        if not KEY.fullmatch(key):
            raise Fault("metadata")
        name = key.decode()
    elif number <= len(COMMON):
        name = COMMON[number - 1]
    else:
        name = ""
    value = source.take(source.varint())
    if number >= 0x80:
        if number in OWN:
            read_own(OWN[number], value, out["own"])
    elif name.endswith("-bin"):
        out["entries"].append({"key": name, "hex": value.hex()})
    elif name:
        if not VALUE.fullmatch(value):
            raise Fault("metadata")
        out["entries"].append({"key": name, "text": value.decode()})


def read_own(name: str, value: bytes, out: dict[str, Any]) -> None:
    if name in out or not value:
        raise Fault("metadata")
    source = Input(value, "metadata")
    out[name] = source.varint()
    if source.left() or out[name] == 0:
        raise Fault("metadata")


def read_status(data: bytes) -> dict[str, Any]:
    if not data:
        return {"message": "", "details": []}
    source = Input(data, "status")
    out: dict[str, Any] = {"message": text(source.take(source.varint())), "details": []}
    for _ in range(source.varint()):
        type_url = text(source.take(source.varint()))
        value = source.take(source.varint())
        out["details"].append({"type_url": type_url, "value": value.hex()})
    if source.left():
        raise Fault("status")
    return out
