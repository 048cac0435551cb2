"""The commands on standard input: a letter, a length and as many bytes; an answer has no letter."""

from __future__ import annotations

import json
import struct
from typing import BinaryIO

from .side import Side

_HEAD = struct.Struct("<cI")
_ROUND = struct.Struct("<QB")
_LENGTH = struct.Struct("<I")


def serve(commands: BinaryIO, answers: BinaryIO) -> None:
    """Carries commands out until there are no more."""
    side: Side | None = None
    while head := commands.read(_HEAD.size):
        letter, size = _HEAD.unpack(head)
        body = commands.read(size)
        answer = b""
        if letter == b"S":
            side = Side(json.loads(body))
        elif side is not None:
            answer = command(side, letter, body)
        else:
            raise ValueError("no session was begun")
        answers.write(_LENGTH.pack(len(answer)) + answer)
        answers.flush()


def command(side: Side, letter: bytes, body: bytes) -> bytes:
    match letter:
        case b"R":
            now, phase = _ROUND.unpack_from(body)
            return side.round(now, phase, body[_ROUND.size :])
        case b"E":
            now, lost = _ROUND.unpack(body)
            side.end(now, bool(lost))
            return b""
        case b"L":
            return json.dumps(side.ledger()).encode()
        case _:
            raise ValueError(f"unknown command {letter!r}")
