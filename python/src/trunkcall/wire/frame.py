"""The frame header (protocol.md 3): its numbers, its checks and its writing."""

from __future__ import annotations

from struct import Struct

from .fault import ConnectionFault

HEADER = Struct("<IIII")
HEADER_SIZE = 16

DEFINE, CALL, DATA, RESULT, CREDIT, CANCEL, PING, GOAWAY = range(1, 9)
TYPE_NAMES = ("", "DEFINE", "CALL", "DATA", "RESULT", "CREDIT", "CANCEL", "PING", "GOAWAY")

END = ACK = 0x01
MSG = 0x02
MORE = 0x04
META = 0x08
ONEWAY = REFUSED = POOL = 0x10
CUT = 0x20
STRIPPED = 0x40

FLAG_NAMES: dict[int, dict[int, str]] = {
    CALL: {END: "END", MSG: "MSG", MORE: "MORE", META: "META", ONEWAY: "ONEWAY"},
    DATA: {END: "END", MSG: "MSG", MORE: "MORE", META: "META", POOL: "POOL"},
    RESULT: {MSG: "MSG", META: "META", REFUSED: "REFUSED", CUT: "CUT", STRIPPED: "STRIPPED"},
    PING: {ACK: "ACK"},
    GOAWAY: {ACK: "ACK"},
}

MAX_WINDOW = 0x7FFFFFFF
MAX_SLOT = 0xFFFFF
INITIATOR_BIT = 0x80000000
FIRST_GENERATION = 1 << 20
PIECE_FLOOR = 65_536  # the least body of a piece with MORE (protocol.md 4.3)
MESSAGE_COST = 16  # on top of its payload (protocol.md 9.1)

# Reasons of CANCEL (protocol.md 7.7) and GOAWAY (11.3).
GAVE_UP, DEADLINE_PASSED, CANNOT_TAKE = range(3)
DRAINING, PROTOCOL_ERROR, RESOURCE_LIMIT, PEER_SILENT, INTERNAL_ERROR, NOT_SERVED = range(6)


def _with(flags: set[int], *more: int) -> set[int]:
    for flag in more:
        flags = flags | {one | flag for one in flags}
    return flags


_ALLOWED: dict[int, frozenset[int]] = {
    DEFINE: frozenset({0}),
    CALL: frozenset(_with({0, END, MSG, MSG | END, MSG | MORE, ONEWAY | MSG | END, ONEWAY | MSG | MORE}, META)),
    DATA: frozenset({0, END, META} | _with({MSG, MSG | END, MSG | MORE, META | MSG, META | MSG | MORE}, POOL)),
    CREDIT: frozenset({0}),
    CANCEL: frozenset({0}),
    PING: frozenset({0, ACK}),
    GOAWAY: frozenset({0, ACK}),
}
_RESULT_OK = frozenset(_with({0, MSG}, META, STRIPPED))
_RESULT_ERROR = frozenset(_with({0, REFUSED, CUT}, META, STRIPPED))

_ALL = 0xFFFFFFFF
_LOW, _CODEC, _COMPRESSION = 0xFFFF, 0x0F000000, 0xF0000000
_NUMBERS = _CODEC | _COMPRESSION
# By type: what must be zero in w1, in w2, in w2 when MSG is not set, in w3 (protocol.md 3.5).
_RESERVED: tuple[tuple[int, int, int, int], ...] = (
    (0, 0, 0, 0),
    (_ALL, _NUMBERS, 0, _ALL),
    (0, 0, _COMPRESSION, 0),
    (0, _LOW, _NUMBERS, _ALL),
    (0, 0, _NUMBERS, 0),
    (0, _LOW | _NUMBERS, 0, 0),
    (0, _LOW | _NUMBERS, 0, 0),
    (_ALL, _LOW | _NUMBERS, 0, 0),
    (_ALL, _LOW | _NUMBERS, 0, 0),
)


def check_header(w0: int, w1: int, w2: int, w3: int, own_bit: int, max_body: int, max_methods: int) -> None:
    """Makes every check of protocol.md 3 in the order of 3.9 and raises ConnectionFault for the first that fails.

    `own_bit` is the initiator bit (0 or 1 << 31) of the calls that the receiver opens, the limits are the receiver's.
    A header of an unknown type from 0x80 up passes when its length does."""
    kind = w0 >> 24
    length = w0 & 0xFFFFFF
    if not 1 <= kind <= 8 and kind < 0x80:
        raise ConnectionFault("type", f"frame type {kind} is undefined")
    if length > max_body:
        raise ConnectionFault("length", f"body of {length} bytes, max_frame_body is {max_body}")
    if kind >= 0x80:
        return
    _check_flags(kind, w2)
    w1_mask, w2_mask, unless_msg, w3_mask = _RESERVED[kind]
    flags = w2 >> 16 & 0xFF
    if not flags & MSG:
        w2_mask |= unless_msg
    if w1 & w1_mask or w2 & w2_mask or w3 & w3_mask:
        raise ConnectionFault("reserved", f"a reserved field of {TYPE_NAMES[kind]} is not zero")
    if CALL <= kind <= CANCEL and not (w1 & 0xFFFFF and w1 & 0x7FF00000) and (w1 or kind != CREDIT):
        raise ConnectionFault("stream_id", f"{TYPE_NAMES[kind]} on slot {w1 & 0xFFFFF}, generation {w1 >> 20 & 0x7FF}")
    _check_value(kind, w2, w3, max_methods)
    _check_direction(kind, flags, (w1 & INITIATOR_BIT) == own_bit)


def _check_flags(kind: int, w2: int) -> None:
    flags = w2 >> 16 & 0xFF
    if kind == RESULT:
        allowed = _RESULT_ERROR if w2 & 0xFFFF else _RESULT_OK
    else:
        allowed = _ALLOWED[kind]
    if flags not in allowed:
        raise ConnectionFault("flags", f"flags 0x{flags:02x} on {TYPE_NAMES[kind]}")


def _check_value(kind: int, w2: int, w3: int, max_methods: int) -> None:
    if kind == RESULT and w2 & 0xFFFF > 16:
        raise ConnectionFault("value", f"status {w2 & 0xFFFF}")
    if kind == CREDIT and not 1 <= w3 <= MAX_WINDOW:
        raise ConnectionFault("value", f"CREDIT of {w3}")
    if kind == DEFINE and not 1 <= w2 & 0xFFFF <= max_methods:
        raise ConnectionFault("method", f"DEFINE of id {w2 & 0xFFFF}, max_methods is {max_methods}")


def _check_direction(kind: int, flags: int, from_callee: bool) -> None:
    if kind == CALL or kind == CANCEL or (kind == DATA and flags & END):
        wrong = from_callee
    elif kind == RESULT or (kind == DATA and flags & META):
        wrong = not from_callee
    else:
        return
    if wrong:
        raise ConnectionFault("direction", f"{TYPE_NAMES[kind]} from the {'callee' if from_callee else 'caller'}")


def next_generation(w1: int) -> int:
    """The word of the next call on the same slot (protocol.md 7.1)."""
    if w1 & 0x7FF00000 == 0x7FF00000:
        return w1 & 0x800FFFFF | FIRST_GENERATION
    return w1 + FIRST_GENERATION


def control(kind: int, w1: int, w2: int, w3: int, body: bytes = b"") -> bytes:
    """One whole frame of the given words and body."""
    return HEADER.pack(kind << 24 | len(body), w1, w2, w3) + body
