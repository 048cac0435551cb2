"""How much memory the records of a message may need (limits.md 2): an empty map, one byte, is a record of any type."""

from __future__ import annotations

import math
import threading

from .faults import Fault

RECORD, FIELD = 16, 8  # bytes that count for each
LIST, MAP = 24, 64  # for an empty one in place of a field that is missing
_ALWAYS = 1 << 20
_PER_BYTE = 64


class _Room(threading.local):
    left: float = math.inf  # for the message that this thread reads


_room = _Room()


def make_room(size: int) -> float:
    """A message of so many bytes is about to be read. Returns what `give_back` takes when that is done."""
    before, _room.left = _room.left, _ALWAYS + _PER_BYTE * size
    return before


def give_back(before: float) -> None:
    _room.left = before


def need(some: int) -> None:
    """Counts bytes before they are taken. Raises Fault."""
    _room.left -= some
    if _room.left < 0:
        text = f"its records need more memory than {_PER_BYTE} bytes for each byte of the message"
        raise Fault(text, limit=True)
