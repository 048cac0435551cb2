"""Bodies of CALL, DATA and RESULT, taken apart from left to right (protocol.md 4.1, 4.6), and of DEFINE (4.4)."""

from __future__ import annotations

from struct import Struct

from .fault import CallFault, ConnectionFault
from .frame import CALL, META, MORE, MSG, PIECE_FLOOR, RESULT, TYPE_NAMES
from .metadata import Metadata, read_block
from .settings import Settings
from .varint import read_varint

MAX_NAME = 1_024
MAX_TEXT = 1_024
_FIELD = Struct("<HH")


class Body:
    """What stands in a body: `payload` is the offset at which the payload begins; `total` is 0 when there is none."""

    __slots__ = ("metadata", "name", "payload", "total")

    def __init__(self) -> None:
        self.metadata: Metadata | None = None
        self.name: bytes | None = None
        self.total = 0
        self.payload = 0


def read_body(
    data: bytes | memoryview, start: int, end: int, w2: int, kind: int, in_message: bool, limits: Settings
) -> Body:
    """The parts of data[start:end], the body of a CALL, DATA or RESULT with this w2.

    Raises ConnectionFault `piece`, CallFault `metadata`, `metadata_limit` or `name`."""
    flags = w2 >> 16 & 0xFF
    body = Body()
    if flags & MORE and end - start < PIECE_FLOOR:
        raise ConnectionFault("piece", f"a piece with MORE has a body of {end - start} bytes, not {PIECE_FLOOR}")
    if flags & META:
        body.metadata, start = read_block(
            bytes(data), start, end, limits.max_metadata_bytes, limits.max_metadata_entries
        )
    if kind == CALL and not w2 & 0xFFFF:
        body.name, start = _read_name(bytes(data), start, end)
    if flags & MORE and not in_message:
        body.total, start = read_varint(data, start, end)
        if body.total < 1:
            raise ConnectionFault("piece", "the total of a message is unreadable or 0")
    if start < end and not flags & MSG and not (kind == RESULT and w2 & 0xFFFF):
        raise ConnectionFault("piece", f"{end - start} bytes of payload on {TYPE_NAMES[kind]} without MSG")
    body.payload = start
    return body


def _read_name(data: bytes, start: int, end: int) -> tuple[bytes, int]:
    length, at = read_varint(data, start, end)
    if not 1 <= length <= min(MAX_NAME, end - at):
        raise CallFault("name", "the length of the method name is wrong")
    return data[at : at + length], at + length


def read_define(data: bytes, start: int, end: int) -> bytes:
    """The name in the body of a DEFINE. Raises ConnectionFault `method`."""
    length, at = read_varint(data, start, end)
    if not 1 <= length <= min(MAX_NAME, end - at):
        raise ConnectionFault("method", "the length of the name in DEFINE is wrong")
    name = data[at : at + length]
    at += length
    while at < end:
        kind, size = _FIELD.unpack_from(data, at) if end - at >= 4 else (0, end)
        at += 4 + size
        if at > end:
            raise ConnectionFault("method", "a field of DEFINE is cut off")
        if kind & 0x8000:
            raise ConnectionFault("method", f"critical field 0x{kind:04x} of DEFINE is unknown")
    return name


def cut_text(text: bytes) -> str:
    """The text of a GOAWAY: at most 1,024 of its bytes, cut at a character boundary (protocol.md 4.5)."""
    if len(text) > MAX_TEXT:
        at = MAX_TEXT
        while at > MAX_TEXT - 4 and text[at] & 0xC0 == 0x80:
            at -= 1
        text = text[:at]
    return text.decode("utf-8", "replace")
