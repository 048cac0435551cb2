"""The preface (protocol.md 2.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from struct import Struct

from .fault import ConnectionFault
from .frame import GOAWAY, NOT_SERVED, control
from .settings import DEFAULTS, Settings, settings_bytes

MAGIC = b"\xf5TK1"
PREFACE_SIZE = 16
VERSION = 1
INITIAL_WINDOW = 262_144
_FIXED = Struct("<4sBB2xII")
_MAX_WINDOW = 0x7FFFFFFF
_MAX_SETTINGS = 16_384
_SETTINGS = 4  # the type of the frame that HTTP/2 begins with (RFC 9113 6.5)
_WORDS = re.compile(rb"[ -~\r\n\t]+\Z")
_TLS_ALERT = b"\x15\x03"  # what TLS answers to what is no TLS (RFC 8446 5.1)


@dataclass(slots=True, frozen=True)
class Preface:
    """The 16 fixed bytes. `settings_length` bytes of settings follow."""

    version: int
    highest: int
    window: int
    settings_length: int

    @property
    def spoken(self) -> bool:
        """Whether this implementation speaks the version it names (protocol.md 2.2)."""
        return self.version == VERSION


def check_preface(data: bytes | bytearray, *, answer: bool = False) -> None:
    """Checks those of the 16 bytes that have arrived. The version and the length are checked once all are there.
    `answer`: they are the acceptor's. Raises ConnectionFault `preface`."""
    if data[:4] != MAGIC[: len(data)]:
        raise ConnectionFault("preface", _stranger(bytes(data)) if answer else f"its first bytes are {data[:24]!r}")
    if len(data) > 4 and data[4] == 0:
        raise ConnectionFault("preface", "version 0")
    if len(data) > 5 and data[5] < data[4]:
        raise ConnectionFault("preface", f"highest version {data[5]} below version {data[4]}")
    if len(data) >= 12 and data[4] == VERSION:
        window = int.from_bytes(data[8:12], "little")
        if not INITIAL_WINDOW <= window <= _MAX_WINDOW:
            raise ConnectionFault("preface", f"initial stream window of {window}")


def _stranger(data: bytes) -> str:
    """What speaks instead of Trunkcall, by its first bytes, and what to do."""
    if data.startswith(b"HTTP/"):
        return (
            "it answered HTTP/1.1: call it with a client of HTTP, or, if a Trunkcall server is behind it, "
            "by ws://HOST:PORT/PATH"
        )
    if len(data) >= 9 and data[3] == _SETTINGS and data[4] & ~1 == 0 and data[5:9] == bytes(4):
        return (
            "it answered HTTP/2, as servers of gRPC do: call it with a client of gRPC, or dial the port of a "
            "Trunkcall server"
        )
    if data[:2] == _TLS_ALERT:
        return "it answered an alert of TLS: dial it with TLS"
    first = data[:24]
    said: object = first.decode().rstrip() if _WORDS.match(first) else first
    return f"it answered {said!r}: check the port"


def read_preface(data: bytes | bytearray, *, answer: bool = False) -> Preface:
    """The preface of which `data` holds the first 16 bytes at least. Raises ConnectionFault `preface`.

    A version that is not spoken is not judged further: see Preface.spoken."""
    check_preface(data, answer=answer)
    _, version, highest, window, length = _FIXED.unpack_from(data)
    preface = Preface(version, highest, window, length)
    if preface.spoken and length > _MAX_SETTINGS:
        raise ConnectionFault("preface", f"{length} bytes of settings")
    return preface


def preface_bytes(settings: Settings, window: int, highest: int = VERSION) -> bytes:
    """A preface with its settings."""
    entries = settings_bytes(settings)
    return _FIXED.pack(MAGIC, VERSION, highest, window, len(entries)) + entries


def not_served(text: str) -> bytes:
    """What an acceptor says to an initiator whose calls it will not start: preface, GOAWAY (protocol.md 11.3)."""
    return preface_bytes(DEFAULTS, INITIAL_WINDOW) + control(GOAWAY, 0, 0, NOT_SERVED, text.encode()[:1_024])
