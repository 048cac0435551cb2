"""The preface (protocol.md 2.1)."""

from __future__ import annotations

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


def check_preface(data: bytes | bytearray) -> None:
    """Makes the checks of the 16 bytes for those that `data` begins with, but for the version's own and the length,
    which wait for the last of them. Raises ConnectionFault `preface`."""
    if data[:4] != MAGIC[: len(data)]:
        raise ConnectionFault("preface", "not this protocol")
    if len(data) > 4 and data[4] == 0:
        raise ConnectionFault("preface", "version 0")
    if len(data) > 5 and data[5] < data[4]:
        raise ConnectionFault("preface", f"highest version {data[5]} below version {data[4]}")
    if len(data) >= 12 and data[4] == VERSION:
        window = int.from_bytes(data[8:12], "little")
        if not INITIAL_WINDOW <= window <= _MAX_WINDOW:
            raise ConnectionFault("preface", f"initial stream window of {window}")


def read_preface(data: bytes | bytearray) -> Preface:
    """The preface of which `data` holds the first 16 bytes at least. Raises ConnectionFault `preface`.

    A version that is not spoken is not judged further: see Preface.spoken."""
    check_preface(data)
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
