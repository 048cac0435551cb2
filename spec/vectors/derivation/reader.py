"""A slow, plain reader of the Trunkcall wire, written from protocol.md to check the vectors against a second reading.

Each function takes all the bytes there are and returns what they mean, raises Incomplete, or raises Fault.
"""

from __future__ import annotations

from typing import Any

from .reader_body import read_block, read_status, text
from .reader_input import Fault, Incomplete, Input

MAGIC = b"\xf5TK1"
NAMES = {1: "DEFINE", 2: "CALL", 3: "DATA", 4: "RESULT", 5: "CREDIT", 6: "CANCEL", 7: "PING", 8: "GOAWAY"}
END, MSG, MORE, META, ONEWAY, POOL = 0x01, 0x02, 0x04, 0x08, 0x10, 0x10
REFUSED, CUT, STRIPPED = 0x10, 0x20, 0x40
STREAM_FLAGS = [(END, "END"), (MSG, "MSG"), (MORE, "MORE"), (META, "META")]
FLAG_NAMES = {
    "DEFINE": [],
    "CALL": [*STREAM_FLAGS, (ONEWAY, "ONEWAY")],
    "DATA": [*STREAM_FLAGS, (POOL, "POOL")],
    "RESULT": [(MSG, "MSG"), (META, "META"), (REFUSED, "REFUSED"), (CUT, "CUT"), (STRIPPED, "STRIPPED")],
    "CREDIT": [],
    "CANCEL": [],
    "PING": [(1, "ACK")],
    "GOAWAY": [(1, "ACK")],
}
RANGES = {
    1: ("max_frame_body", 65_536, 16_777_215),
    2: ("max_message", 1, 2**32 - 1),
    3: ("max_calls", 0, 1_048_575),
    4: ("max_metadata_bytes", 16_384, 2**32 - 1),
    5: ("max_metadata_entries", 128, 2**32 - 1),
    6: ("max_methods", 4_096, 65_535),
    9: ("keepalive_interval", 0, 2**32 - 1),
    10: ("min_ping_interval", 0, 2**32 - 1),
    11: ("pool", 0, 2**31 - 1),
}


def little(data: bytes) -> int:
    return int.from_bytes(data, "little")


def read_preface(data: bytes) -> tuple[dict[str, Any], int]:
    if not MAGIC.startswith(data[:4]):
        raise Fault("preface")
    if len(data) < 16:
        raise Incomplete
    version, highest = data[4], data[5]
    if version == 0 or highest < version:
        raise Fault("preface")
    if version != 1:
        raise Fault("version")
    window, length = little(data[8:12]), little(data[12:16])
    if not 262_144 <= window <= 2**31 - 1 or length > 16_384:
        raise Fault("preface")
    if len(data) < 16 + length:
        raise Incomplete
    settings = read_settings(data[16 : 16 + length])
    decoded = {
        "version": version,
        "highest": highest,
        "window": window,
        "settings": settings,
    }
    return decoded, 16 + length


def read_settings(data: bytes) -> dict[str, Any]:
    out: dict[str, Any] = {}
    at = 0
    while at < len(data):
        if len(data) - at < 4:
            raise Fault("setting")
        kind, length = little(data[at : at + 2]), little(data[at + 2 : at + 4])
        value = data[at + 4 : at + 4 + length]
        at += 4 + length
        if len(value) < length:
            raise Fault("setting")
        name, meaning = read_setting(kind, value)
        if name in out:
            raise Fault("setting")
        if name:
            out[name] = meaning
    return out


def read_setting(kind: int, value: bytes) -> tuple[str, Any]:
    if kind in RANGES:
        name, least, most = RANGES[kind]
        if len(value) != 4 or not least <= little(value) <= most:
            raise Fault("setting")
        return name, little(value)
    if kind == 7:
        return "codecs", read_codecs(value)
    if kind == 8:
        if any(not 1 <= number <= 15 for number in value):
            raise Fault("setting")
        return "compressions", [number for number in dict.fromkeys(value) if number in (1, 2)]
    if kind & 0x8000:
        raise Fault("setting")
    return "", None


def read_codecs(value: bytes) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    at = 0
    while at < len(value):
        if len(value) - at < 2:
            raise Fault("setting")
        number, length = value[at], value[at + 1]
        name = value[at + 2 : at + 2 + length]
        at += 2 + length
        if not 8 <= number <= 15 or length == 0 or len(name) < length:
            raise Fault("setting")
        if any(known["number"] == number for known in out):
            raise Fault("setting")
        out.append({"number": number, "name": text(name)})
    return out


class Context:
    """What the receiver knows when the frame arrives, as the entry says it."""

    def __init__(self, entry: dict[str, Any]) -> None:
        limits = entry.get("limits", {})
        accepts = entry.get("accepts", {})
        self.acceptor = entry.get("receiver", "acceptor") == "acceptor"
        self.max_frame_body = limits.get("max_frame_body", 65_536)
        self.max_message = limits.get("max_message", 67_108_864)
        self.max_metadata_bytes = limits.get("max_metadata_bytes", 16_384)
        self.max_metadata_entries = limits.get("max_metadata_entries", 128)
        self.max_methods = limits.get("max_methods", 4_096)
        self.window = 262_144
        self.pool = 1_048_576
        self.codecs = accepts.get("codecs", [0, 1, 2, 3, 4])
        self.compressions = accepts.get("compressions", [1, 2])
        self.progress = entry.get("progress")


class Header:
    def __init__(self, data: bytes) -> None:
        w0, w1, w2, self.w3 = (little(data[at : at + 4]) for at in (0, 4, 8, 12))
        self.length, self.number = w0 & 0xFFFFFF, w0 >> 24
        self.slot, self.generation, self.initiator = w1 & 0xFFFFF, w1 >> 20 & 0x7FF, w1 >> 31
        self.low, self.flags = w2 & 0xFFFF, w2 >> 16 & 0xFF
        self.codec, self.compression = w2 >> 24 & 0xF, w2 >> 28
        self.w1 = w1
        self.kind = NAMES.get(self.number, "UNKNOWN")

    def has(self, flag: int) -> bool:
        return bool(self.flags & flag)


def read_frame(data: bytes, context: Context) -> tuple[dict[str, Any], int]:
    if len(data) < 16:
        raise Incomplete
    head = Header(data)
    check_header(head, context)
    if len(data) < 16 + head.length:
        raise Incomplete
    decoded = meaning(head)
    if head.kind != "UNKNOWN":
        read_body(head, data[16 : 16 + head.length], context, decoded)
    return decoded, 16 + head.length


def check_header(head: Header, context: Context) -> None:
    """In the order of protocol.md 3.9."""
    if head.number == 0 or 9 <= head.number < 0x80:
        raise Fault("type")
    if head.length > context.max_frame_body:
        raise Fault("length")
    if head.kind == "UNKNOWN":
        return
    if head.flags & ~sum(bit for bit, _ in FLAG_NAMES[head.kind]) or clashes(head):
        raise Fault("flags")
    if reserved(head):
        raise Fault("reserved")
    of_pool = head.kind == "CREDIT" and head.w1 == 0
    on_stream = head.kind in ("CALL", "DATA", "RESULT", "CREDIT", "CANCEL") and not of_pool
    if on_stream and (head.slot == 0 or head.generation == 0):
        raise Fault("stream_id")
    if head.kind == "RESULT" and head.low > 16 or head.kind == "CREDIT" and not 0 < head.w3 < 2**31:
        raise Fault("value")
    if head.kind == "DEFINE" and not 1 <= head.low <= context.max_methods:
        raise Fault("method")
    if on_stream and wrong_way(head, context):
        raise Fault("direction")


def clashes(head: Header) -> bool:
    has = head.has
    if head.kind in ("CALL", "DATA"):
        if has(MORE) and (not has(MSG) or has(END)):
            return True
        if head.kind == "DATA":
            return has(END) and has(META) or has(POOL) and not has(MSG)
        return has(ONEWAY) and not (has(MSG) and (has(END) or has(MORE)))
    if head.kind == "RESULT":
        ends = has(REFUSED) + has(CUT)
        return ends == 2 or ends == 1 and (head.low == 0 or has(MSG)) or has(MSG) and head.low != 0
    return False


def reserved(head: Header) -> bool:
    of_connection = head.kind in ("DEFINE", "PING", "GOAWAY")
    message = head.kind in ("CALL", "DATA", "RESULT") and head.has(MSG)
    return any(
        (
            of_connection and head.w1,
            head.kind in ("DATA", "CREDIT", "CANCEL", "PING", "GOAWAY") and head.low,
            not message and head.kind != "CALL" and head.codec,
            not message and head.compression,
            head.kind in ("DEFINE", "DATA") and head.w3,
        )
    )


def wrong_way(head: Header, context: Context) -> bool:
    from_caller = context.acceptor == (head.initiator == 0)
    if head.kind in ("CALL", "CANCEL") or head.kind == "DATA" and head.has(END):
        return not from_caller
    if head.kind == "RESULT" or head.kind == "DATA" and head.has(META):
        return from_caller
    return False


def meaning(head: Header) -> dict[str, Any]:
    if head.kind == "UNKNOWN":
        return {"type": "UNKNOWN", "number": head.number, "length": head.length}
    out: dict[str, Any] = {
        "type": head.kind,
        "length": head.length,
        "slot": head.slot,
        "generation": head.generation,
        "initiator": head.initiator,
        "flags": [name for bit, name in FLAG_NAMES[head.kind] if head.flags & bit],
        "codec": head.codec,
        "compression": head.compression,
        "w3": head.w3,
    }
    if head.kind in ("CALL", "DEFINE"):
        out["method"] = head.low
    if head.kind == "RESULT":
        out["status"] = head.low
    return out


def read_body(head: Header, data: bytes, context: Context, out: dict[str, Any]) -> None:
    if head.kind == "DEFINE":
        read_define(data, out)
    elif head.kind in ("CALL", "DATA", "RESULT"):
        read_stream_body(head, data, context, out)
    elif head.kind == "GOAWAY" and not head.has(1):
        out["text"] = text(data, 1_024)
    elif data:
        out["ignored"] = data.hex()


def read_name(source: Input) -> dict[str, str]:
    length = source.varint()
    if not 1 <= length <= 1_024:
        raise Fault(source.error)
    name = source.take(length)
    try:
        return {"name": name.decode()}
    except UnicodeDecodeError:
        return {"name_hex": name.hex()}


def read_define(data: bytes, out: dict[str, Any]) -> None:
    source = Input(data, "method")
    out |= read_name(source)
    while source.left():
        kind = little(source.take(2))
        source.take(little(source.take(2)))
        if kind & 0x8000:
            raise Fault("method")


def read_stream_body(head: Header, data: bytes, context: Context, out: dict[str, Any]) -> None:
    """In the order of protocol.md 4.6."""
    pooled = head.kind == "DATA" and head.has(POOL)
    if pooled and len(data) + 16 > context.pool:
        raise Fault("credit")
    body = len(data)
    message = head.has(MSG)
    more = head.kind != "RESULT" and head.has(MORE)
    if more and len(data) < 65_536:
        raise Fault("piece")
    if head.has(META):
        out["metadata"], data = read_block(data, context.max_metadata_bytes, context.max_metadata_entries)
    source = Input(data, "name")
    if head.kind == "CALL" and head.low == 0:
        out |= read_name(source)
    total = None
    if more and context.progress is None:
        source.error = "piece"
        total = out["total"] = source.varint()
    payload = source.rest()
    if message:
        size = check_sum(head, more, total, len(payload), context.progress)
        out["cost"] = (body if pooled else len(payload)) + 16
        if not pooled and out["cost"] > context.window:
            raise Fault("credit")
        if size > context.max_message:
            raise Fault("message_size")
    elif head.kind == "RESULT" and head.low != 0:
        out["status_payload"] = read_status(payload)
    elif payload or context.progress and (head.kind == "RESULT" or head.has(END)):
        raise Fault("piece")
    if (message or head.kind == "CALL") and head.codec not in context.codecs:
        raise Fault("codec")
    if head.compression and head.compression not in context.compressions:
        raise Fault("compression")
    out["payload"] = payload.hex()


def check_sum(head: Header, more: bool, total: int | None, payload: int, progress: dict[str, int] | None) -> int:
    """Returns the size of the whole message."""
    if progress is None:
        if total is None:
            return payload
        if total == 0 or payload > total:
            raise Fault("piece")
        return total
    if head.kind == "RESULT" or (head.codec, head.compression) != (progress["codec"], progress["compression"]):
        raise Fault("piece")
    got = progress["received"] + payload
    if got > progress["total"] or not more and got != progress["total"]:
        raise Fault("piece")
    return progress["total"]
