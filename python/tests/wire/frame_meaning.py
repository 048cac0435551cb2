"""Frames read into, and written from, the form of spec/vectors/frames.json, by the functions that sessions use."""

from __future__ import annotations

from typing import Any

from trunkcall.wire import Config, Events, Load, Session, Settings
from trunkcall.wire.assembly import Assembly
from trunkcall.wire.body import cut_text, read_body, read_define
from trunkcall.wire.fault import CallFault, ConnectionFault
from trunkcall.wire.frame import (
    CALL,
    DATA,
    DEFINE,
    END,
    FLAG_NAMES,
    GOAWAY,
    HEADER,
    INITIATOR_BIT,
    MESSAGE_COST,
    META,
    MORE,
    MSG,
    POOL,
    RESULT,
    TYPE_NAMES,
    check_header,
    control,
)
from trunkcall.wire.metadata import block
from trunkcall.wire.receive import ReceiveFlow
from trunkcall.wire.status import payload, read_payload
from trunkcall.wire.varint import varint

from .test_metadata_vectors import metadata_meaning, metadata_of
from .vectors import Entry, filled

Meaning = dict[str, Any]


def settings_of(entry: Entry) -> Settings:
    accepted = entry.get("accepts", {}).get("compressions", [1, 2])
    return Settings(**entry.get("limits", {}), compressions=frozenset(accepted), pool=1 << 20)


def decode(data: bytes, entry: Entry) -> tuple[Meaning, bytes] | None:
    """The meaning of one frame and what is behind it; None while it is incomplete. Raises Fault."""
    own = settings_of(entry)
    if len(data) < 16:
        return None
    w0, w1, w2, w3 = HEADER.unpack_from(data)
    own_bit = 0 if entry["receiver"] == "initiator" else INITIATOR_BIT
    check_header(w0, w1, w2, w3, own_bit, own.max_frame_body, own.max_methods)
    kind, end = w0 >> 24, 16 + (w0 & 0xFFFFFF)
    if len(data) < end:
        return None
    if kind >= 0x80:
        return {"type": "UNKNOWN", "number": kind, "length": end - 16}, data[end:]
    meaning: Meaning = {
        "type": TYPE_NAMES[kind],
        "length": end - 16,
        "slot": w1 & 0xFFFFF,
        "generation": w1 >> 20 & 0x7FF,
        "initiator": w1 >> 31,
        "flags": [name for bit, name in FLAG_NAMES.get(kind, {}).items() if w2 >> 16 & bit],
        "codec": w2 >> 24 & 15,
        "compression": w2 >> 28,
        "w3": w3,
    }
    if kind in (CALL, DEFINE):
        meaning["method"] = w2 & 0xFFFF
    elif kind == RESULT:
        meaning["status"] = w2 & 0xFFFF
    _decode_body(meaning, kind, w2, data, end, entry)
    return meaning, data[end:]


def _decode_body(meaning: Meaning, kind: int, w2: int, data: bytes, end: int, entry: Entry) -> None:
    if kind == DEFINE:
        _put_name(meaning, read_define(data, 16, end))
    elif kind in (CALL, DATA, RESULT):
        _decode_message(meaning, kind, w2, data, end, entry)
    elif kind == GOAWAY and "ACK" not in meaning["flags"]:
        meaning["text"] = cut_text(data[16:end])
    elif end > 16:
        meaning["ignored"] = data[16:end].hex()


def _put_name(meaning: Meaning, name: bytes) -> None:
    try:
        meaning["name"] = name.decode()
    except UnicodeDecodeError:
        meaning["name_hex"] = name.hex()


def _decode_message(meaning: Meaning, kind: int, w2: int, data: bytes, end: int, entry: Entry) -> None:
    flags = w2 >> 16 & 0xFF
    in_message = entry.get("in_message", False)
    if in_message and ((kind == DATA and flags & (END | MSG) == END) or (kind == RESULT and not w2 & 0xFFFF)):
        raise ConnectionFault("piece", "the message in progress is not whole")
    pooled = kind == DATA and bool(flags & POOL)
    flow = flow_of(entry, session_of(entry))
    if pooled:
        flow.pool.charge(end - 16)
    body = read_body(data, 16, end, w2, kind, in_message, settings_of(entry))
    if body.metadata is not None:
        meaning["metadata"] = metadata_meaning(body.metadata)
    if body.name is not None:
        _put_name(meaning, body.name)
    if body.total:
        meaning["total"] = body.total
    content = data[body.payload : end]
    meaning["payload"] = content.hex()
    if flags & MSG:
        meaning["cost"] = (end - 16 if pooled else len(content)) + MESSAGE_COST
        _accept(flow, w2, body.total, content, entry)
    elif kind == RESULT and w2 & 0xFFFF:
        message, details = read_payload(data, body.payload, end)
        listed = [{"type_url": url, "value": value.hex()} for url, value in details]
        meaning["status_payload"] = {"message": message, "details": listed}
    elif kind == CALL and w2 >> 24 & 15 not in codecs_of(entry):
        raise CallFault("codec", "not known")


def codecs_of(entry: Entry) -> list[int]:
    accepted: list[int] = entry.get("accepts", {}).get("codecs", [0, 1, 2, 3, 4])
    return accepted


def session_of(entry: Entry) -> Session:
    """A session with a pool of 1 MiB and room for all messages."""
    config = Config(settings_of(entry), load=Load(memory=1 << 40), incomplete_bytes=1 << 40)
    return Session(Events(), initiator=False, now=0, config=config)


def flow_of(entry: Entry, session: Session) -> ReceiveFlow:
    """The receiving half of a stream in the state that the entry tells."""
    flow = ReceiveFlow(262_144, settings_of(entry).max_message, session.share, session.pool)
    if entry.get("in_message"):
        progress = entry["progress"]
        flow.total, flow.received = progress["total"], progress["received"]
        flow.codec, flow.compression = progress["codec"], progress["compression"]
        flow.messages, flow.promised = 1, flow.total
        flow.share.promise(flow.total)
        flow.whole = Assembly()
        flow.whole.add(bytes(flow.received))
        flow.holds = flow.received
        flow.share.hold(flow.received, flow)
    return flow


def _accept(flow: ReceiveFlow, w2: int, total: int, content: bytes, entry: Entry) -> None:
    codec, compression = w2 >> 24 & 15, w2 >> 28
    listed = compression == 0 or compression in entry.get("accepts", {}).get("compressions", [1, 2])
    flow.accept(bool(w2 >> 16 & MORE), codec, compression, total, content, codec in codecs_of(entry), listed)


def expected(meaning: Meaning) -> Meaning:
    """What an entry's `decoded` says, fills written out."""
    meaning = dict(meaning)
    if "payload_fill" in meaning:
        meaning["payload"] = filled(meaning, "payload", "payload_fill").hex()
        del meaning["payload_fill"]
    return meaning


def encode(meaning: Meaning) -> bytes:
    """The frame that means this."""
    kind = TYPE_NAMES.index(meaning["type"])
    bits = {name: bit for bit, name in FLAG_NAMES.get(kind, {}).items()}
    flags = sum(bits[name] for name in meaning["flags"])
    low = meaning.get("method", meaning.get("status", 0))
    w1 = meaning["initiator"] << 31 | meaning["generation"] << 20 | meaning["slot"]
    w2 = meaning["compression"] << 28 | meaning["codec"] << 24 | flags << 16 | low
    body = b""
    if flags & META and kind in (CALL, DATA, RESULT):
        body += block(metadata_of(meaning["metadata"]), 1 << 24, 1 << 24, 1 << 26)
    if "name" in meaning:
        name = meaning["name"].encode()
        body += varint(len(name)) + name
    if "total" in meaning:
        body += varint(meaning["total"])
    if "status_payload" in meaning:
        status = meaning["status_payload"]
        details = tuple((one["type_url"], bytes.fromhex(one["value"])) for one in status["details"])
        body += payload(status["message"], details, 65_536)[0]
    elif kind in (CALL, DATA, RESULT):
        body += filled(meaning, "payload", "payload_fill")
    body += meaning.get("text", "").encode() + bytes.fromhex(meaning.get("ignored", ""))
    return control(kind, w1, w2, meaning["w3"], body)


__all__ = ["codecs_of", "decode", "encode", "expected", "flow_of", "settings_of"]
