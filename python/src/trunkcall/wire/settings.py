"""Settings (protocol.md 2.3): what a side accepts to receive."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from struct import Struct

from .fault import ConnectionFault

_ENTRY = Struct("<HH")
_NUMBER = Struct("<I")
_U32 = 0xFFFFFFFF
_CODECS, _COMPRESSIONS = 7, 8
KNOWN_COMPRESSIONS = frozenset((1, 2))

# type: (name, least, greatest)
_NUMBERS = {
    1: ("max_frame_body", 65_536, 16_777_215),
    2: ("max_message", 1, _U32),
    3: ("max_calls", 0, 1_048_575),
    4: ("max_metadata_bytes", 16_384, _U32),
    5: ("max_metadata_entries", 128, _U32),
    6: ("max_methods", 4_096, 65_535),
    9: ("keepalive_interval", 0, _U32),
    10: ("min_ping_interval", 0, _U32),
    11: ("pool", 0, 0x7FFFFFFF),
}


@dataclass(slots=True, frozen=True)
class Settings:
    """One side's settings. Sizes are bytes, intervals milliseconds; `codecs` are the names of its numbers 8 to 15."""

    max_frame_body: int = 65_536
    max_message: int = 67_108_864
    max_calls: int = 1_024
    max_metadata_bytes: int = 16_384
    max_metadata_entries: int = 128
    max_methods: int = 4_096
    codecs: Mapping[int, bytes] = field(default_factory=dict[int, bytes])
    compressions: frozenset[int] = frozenset()
    keepalive_interval: int = 0
    min_ping_interval: int = 5_000
    pool: int = 0


DEFAULTS = Settings()


def read_settings(data: bytes) -> tuple[Settings, frozenset[str]]:
    """The settings that fill `data`, and the names of those that were in it. Raises ConnectionFault `setting`."""
    numbers: dict[str, int] = {}
    codecs: dict[int, bytes] = {}
    compressions: frozenset[int] = frozenset()
    seen: set[str] = set()
    at, end = 0, len(data)
    while at < end:
        if end - at < 4:
            raise ConnectionFault("setting", "a setting is cut off")
        kind, length = _ENTRY.unpack_from(data, at)
        at += 4
        if length > end - at:
            raise ConnectionFault("setting", f"setting 0x{kind:04x} is cut off")
        value = data[at : at + length]
        at += length
        if kind in _NUMBERS:
            name, number = _read_number(kind, value)
            numbers[name] = number
        elif kind == _CODECS:
            name, codecs = "codecs", _read_codecs(value)
        elif kind == _COMPRESSIONS:
            name, compressions = "compressions", _read_compressions(value)
        elif kind & 0x8000:
            raise ConnectionFault("setting", f"critical setting 0x{kind:04x} is unknown")
        else:
            continue
        if name in seen:
            raise ConnectionFault("setting", f"setting {name} is repeated")
        seen.add(name)
    return Settings(codecs=codecs, compressions=compressions, **numbers), frozenset(seen)


def _read_number(kind: int, value: bytes) -> tuple[str, int]:
    name, least, greatest = _NUMBERS[kind]
    if len(value) != 4:
        raise ConnectionFault("setting", f"setting {name} has {len(value)} bytes")
    (number,) = _NUMBER.unpack(value)
    if not least <= number <= greatest:
        raise ConnectionFault("setting", f"setting {name} is {number}, not {least} to {greatest}")
    return name, number


def _read_codecs(value: bytes) -> dict[int, bytes]:
    codecs: dict[int, bytes] = {}
    at = 0
    while at < len(value):
        number = value[at]
        length = value[at + 1] if at + 1 < len(value) else 0
        name = value[at + 2 : at + 2 + length]
        if not 8 <= number <= 15 or number in codecs or not length or len(name) < length:
            raise ConnectionFault("setting", "setting codecs is malformed")
        codecs[number] = name
        at += 2 + length
    return codecs


def _read_compressions(value: bytes) -> frozenset[int]:
    if any(not 1 <= number <= 15 for number in value):
        raise ConnectionFault("setting", "setting compressions has a number that is not 1 to 15")
    return frozenset(value) & KNOWN_COMPRESSIONS


def settings_bytes(settings: Settings) -> bytes:
    """The entries of all settings that differ from their default. Raises ValueError for one out of its range."""
    parts: list[bytes] = []
    for kind, (name, least, greatest) in _NUMBERS.items():
        number: int = getattr(settings, name)
        if not least <= number <= greatest:
            raise ValueError(f"{name} is {number}, not {least} to {greatest}")
        if number != getattr(DEFAULTS, name):
            parts.append(_ENTRY.pack(kind, 4) + _NUMBER.pack(number))
    if settings.codecs:
        named = b"".join(bytes((number, len(name))) + name for number, name in sorted(settings.codecs.items()))
        _read_codecs(named)
        parts.append(_ENTRY.pack(_CODECS, len(named)) + named)
    if settings.compressions:
        parts.append(_ENTRY.pack(_COMPRESSIONS, len(settings.compressions)) + bytes(sorted(settings.compressions)))
    return b"".join(parts)


def known_codecs(own: Settings, peer: Settings, fixed: Container[int]) -> tuple[bool, ...]:
    """Of each codec number, whether calls may be in it: `fixed` are those below 8 that this side knows,
    the others both sides name alike (protocol.md 3.8)."""
    named = [number in own.codecs and own.codecs[number] == peer.codecs.get(number) for number in range(8, 16)]
    return tuple([number in fixed for number in range(8)] + named)
