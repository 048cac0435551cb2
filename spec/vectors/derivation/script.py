"""What scripts of sessions are made of: steps, frames that arrive, frames and events that are expected.

A script says how one side of a connection behaves; README.md tells what each step means.
"""

from __future__ import annotations

from typing import Any

from . import encode as e
from .frame import Frame
from .meaning import Entry, fill, fill_bytes

UNARY, UP, DOWN, BOTH, TELL = "/t.S/Unary", "/t.S/Up", "/t.S/Down", "/t.S/Both", "/t.S/Tell"
NOBODYS = "/t.S/Nobodys"
METHODS = {UNARY: "unary", UP: "client_streaming", DOWN: "server_streaming", BOTH: "bidi", TELL: "oneway"}
SMALL = b"\x0a\x01a"
PLAIN = e.preface()
PIECE = e.LEAST_PIECE
FIRST = PIECE - 3  # payload of the first piece of a message of 16,384 to 2,097,151 bytes whose body is the least
FULL_COST = PIECE + 16
FIRST_COST = FIRST + 16


def script(
    ident: str,
    why: str,
    rules: str,
    *steps: Entry,
    role: str = "acceptor",
    layer: str = "wire",
    own: Entry | None = None,
    peer: bytes | None = PLAIN,
    should: bool = False,
) -> Entry:
    """`rules` names keys of rules.py; `peer` is the preface that the peer has sent, None to leave that to the steps."""
    used = repr(steps)
    out: Entry = {"id": ident, "why": why, "rule": rules.split(), "layer": layer, "role": role}
    if should:
        out["should"] = True
    if own:
        out["own"] = own
    methods = {name: kind for name, kind in METHODS.items() if repr(name) in used}
    if methods:
        out["methods"] = methods
    if peer is not None:
        out["peer_preface"] = peer.hex()
    return out | {"steps": list(steps)}


def named(at: str) -> tuple[int, int, int]:
    """Slot, generation and initiator bit of a stream written as `i1.1`."""
    slot, generation = at[1:].split(".")
    return int(slot), int(generation), "ia".index(at[0])


# Bytes that arrive


def arriving(frame: Frame, at: str = "", **more: Any) -> Entry:
    description: Entry = {"type": frame.kind}
    if at:
        description["stream"] = at
    description["flags"] = sorted(frame.flags, key=lambda flag: e.FLAGS[frame.kind][flag])
    for field in ("codec", "compression", "w3", "total"):
        value = getattr(frame, field)
        if value:
            description[field] = value
    if frame.kind in ("CALL", "DEFINE") and frame.method:
        description["method"] = frame.method
    if frame.kind == "RESULT":
        description["status"] = frame.status
    if frame.name is not None:
        description["name"] = frame.name.decode()
    if frame.meta is not None:
        description["metadata"] = frame.meta.entries
    description |= more
    out: Entry = {"frame": description, "hex": frame.bytes().hex()}
    if frame.fill:
        out["fill"] = frame.fill
    return out


def _on(kind: str, at: str, *flags: str, **fields: Any) -> Entry:
    slot, generation, initiator = named(at)
    return arriving(
        Frame(kind, *flags, slot=slot, generation=generation, initiator=initiator, **fields), at
    )


def call(at: str, *flags: str, name: str | bytes | None = UNARY, method: int | None = None, **fields: Any) -> Entry:
    """With the name inline unless an id is given."""
    fields.setdefault("codec", 1)
    if method is not None:
        return _on("CALL", at, *flags, method=method, **fields)
    assert name is not None
    return _on("CALL", at, *flags, name=name.encode() if isinstance(name, str) else name, **fields)


def data(at: str, *flags: str, **fields: Any) -> Entry:
    fields.setdefault("codec", 1 if "MSG" in flags else 0)
    return _on("DATA", at, *flags, **fields)


def result(at: str, *flags: str, **fields: Any) -> Entry:
    fields.setdefault("codec", 1 if "MSG" in flags else 0)
    return _on("RESULT", at, *flags, **fields)


def failure(at: str, status: int, *flags: str, message: str = "", **fields: Any) -> Entry:
    return result(at, *flags, status=status, payload=e.status(message.encode()), **fields)


def credit(at: str, grant: int, **fields: Any) -> Entry:
    return _on("CREDIT", at, w3=grant, **fields)


def pool_credit(grant: int) -> Entry:
    return arriving(Frame("CREDIT", slot=0, generation=0, w3=grant), of="the pool")


def cancel(at: str, reason: int = 0, **fields: Any) -> Entry:
    return _on("CANCEL", at, w3=reason, **fields)


def ping(w3: int, *flags: str, **fields: Any) -> Entry:
    return arriving(Frame("PING", *flags, w3=w3, method=0, **fields))


def goaway(reason: int, *flags: str, text: str = "") -> Entry:
    return arriving(Frame("GOAWAY", *flags, w3=reason, method=0, payload=text.encode()), text=text)


ACKED = goaway(0, "ACK")


def define(method: int, name: str | bytes, fields: bytes = b"") -> Entry:
    return arriving(Frame("DEFINE", method=method, name=name.encode() if isinstance(name, str) else name,
                          payload=fields))


def piece(at: str, total: int | None = None, **fields: Any) -> Entry:
    """The least piece with MORE; the first one has the total."""
    head = 0 if total is None else len(e.varint(total))
    return data(at, "MSG", "MORE", total=total, fill=fill("f", PIECE - head), **fields)


def pool_piece(at: str, total: int | None = None) -> Entry:
    """The least piece with MORE, charged to the pool, of which it takes 65,552."""
    head = 0 if total is None else len(e.varint(total))
    return data(at, "MSG", "MORE", "POOL", total=total, fill=fill("f", PIECE - head))


def piece_call(at: str, total: int, name: str = UNARY, *flags: str, **fields: Any) -> Entry:
    """A CALL with the first piece of its message, of the least length."""
    head = len(e.counted(name.encode())) + len(e.varint(total))
    return call(at, "MSG", "MORE", *flags, name=name, total=total, fill=fill("f", PIECE - head), **fields)


def paid_by(entry: Entry) -> int:
    """How much of the message a piece holds."""
    body = len(bytes.fromhex(entry["hex"])) - 16 + len(fill_bytes(entry.get("fill")))
    frame = entry["frame"]
    if "name" in frame:
        body -= len(e.counted(frame["name"].encode()))
    return body - (len(e.varint(frame["total"])) if "total" in frame else 0)


def raw(what: str, data: bytes) -> Entry:
    return {"what": what, "hex": data.hex()}


def frame_of(what: str, kind: int, body: bytes = b"", at: str = "", tail: Entry | None = None, **fields: Any) -> Entry:
    """A frame that is at fault: any argument of encode.header; `tail` is a fill that ends the body."""
    if at:
        slot, generation, initiator = named(at)
        fields = {"slot": slot, "generation": generation, "initiator": initiator} | fields
    length = fields.pop("length", len(body) + len(fill_bytes(tail)))
    out = raw(what, e.header(kind, length, **fields) + body)
    return out | {"fill": tail} if tail else out


# Steps


def receive(*frames: Entry, apart: int | None = None, late_ms: int | None = None) -> Entry:
    out: Entry = {"do": "receive", "input": list(frames)}
    if apart is not None:
        out["apart"] = apart
    if late_ms is not None:
        out["late_ms"] = late_ms
    return out


def do(action: str, at: str | None = None, payload: bytes | Entry | None = None, **fields: Any) -> Entry:
    out: Entry = {"do": action}
    if at is not None:
        out["call"] = at
    return out | message(payload) | fields


def opened(at: str, method: str, payload: bytes | Entry | None = None, **fields: Any) -> Entry:
    """The user opens a call."""
    if METHODS[method] in ("unary", "server_streaming", "oneway"):
        fields.setdefault("end", True)
    return {"do": "call", "as": at, "method": method} | message(payload) | fields


def answered_calls(at: str, method: str, payload: bytes, answer: bytes, times: int) -> list[Entry]:
    """The user calls so often, each time when the call before was answered."""
    side, (slot, generation, _) = at[0], named(at)
    labels = [f"{side}{slot}.{generation + n}" for n in range(times)]
    answers = {"frame": {"type": "RESULT", "stream": at, "times": times},
               "hex": "".join(result(one, "MSG", payload=answer)["hex"] for one in labels)}
    return [
        opened(at, method, payload, times=times, answers=answers),
        sent(x_call(at, method, "MSG", "END", payload=payload, times=times)),
        events(got(at, answer, times=times), end(at, OK, "executed", times=times)),
    ]


def advance(ms: int) -> Entry:
    return {"do": "advance", "ms": ms}


HOLD: Entry = {"do": "hold"}
RELEASE: Entry = {"do": "release"}


def message(payload: bytes | Entry | None) -> Entry:
    """Bytes, or a fill for what is too long to write out."""
    if payload is None:
        return {}
    if isinstance(payload, bytes):
        return {"payload": payload.hex()}
    return {"payload": "", "payload_fill": payload}


# What is expected


def sent(*frames: Entry, **fields: Any) -> Entry:
    return {"expect": "sent", "frames": list(frames)} | fields


def events(*list_of: Entry) -> Entry:
    return {"expect": "events", "events": list(list_of)}


def gauges(**values: int) -> Entry:
    return {"expect": "gauges"} | values


def granted(at: str, at_least: int, at_most: int, **fields: int) -> Entry:
    return {"stream": at, "at_least": at_least, "at_most": at_most} | fields


def owing(at: str, *moments: int, window: int = e.WINDOW, **fields: int) -> Entry:
    """What may have been granted when the receiver has come to owe, in all and one after the other, `moments`: each
    grant is all that is owed then, and less than half of the window is never left (protocol.md 9.4)."""
    owed = (0, *moments)
    return granted(at, min(value for value in owed if value > owed[-1] - window // 2), owed[-1], **fields)


def x_call(at: str, method: str, *flags: str, payload: bytes | Entry | None = None, **fields: Any) -> Entry:
    return {"type": "CALL", "stream": at, "method": method, "flags": list(flags)} | message(payload) | fields


def x_data(at: str, *flags: str, payload: bytes | Entry | None = None, **fields: Any) -> Entry:
    return {"type": "DATA", "stream": at, "flags": list(flags)} | message(payload) | fields


def x_result(at: str, status: int, *flags: str, payload: bytes | Entry | None = None, **fields: Any) -> Entry:
    return {"type": "RESULT", "stream": at, "status": status, "flags": list(flags)} | message(payload) | fields


def refused(at: str, status: int, retry_after: int | None = 0, **fields: Any) -> Entry:
    """A RESULT that refuses; without a time it asks for 1 ms at least."""
    when = {"retry_after_at_least": 1} if retry_after is None else {"retry_after": retry_after}
    return x_result(at, status, "REFUSED", **when, **fields)


def x_cancel(at: str, reason: int) -> Entry:
    return {"type": "CANCEL", "stream": at, "flags": [], "reason": reason}


def x_ping(*flags: str, **fields: Any) -> Entry:
    return {"type": "PING", "flags": list(flags)} | fields


def x_goaway(reason: int | None, *flags: str, **fields: Any) -> Entry:
    return {"type": "GOAWAY", "flags": list(flags)} | ({} if reason is None else {"reason": reason}) | fields


X_ACK = x_goaway(None, "ACK")
X_PREFACE: Entry = {"type": "PREFACE", "version": 1, "highest": 1}
HALF_CLOSED: Entry = {"type": "HALF_CLOSE", "flags": []}
CLOSED: Entry = {"type": "CLOSE", "flags": []}


def start(at: str, method: str, payload: bytes | Entry | None = None, **fields: Any) -> Entry:
    return {"event": "start", "call": at, "method": method} | message(payload) | fields


def got(at: str, payload: bytes | Entry, **fields: Any) -> Entry:
    return {"event": "message", "call": at} | message(payload) | fields


def event(name: str, at: str | None = None, **fields: Any) -> Entry:
    return {"event": name} | ({} if at is None else {"call": at}) | fields


def end(at: str, status: int, delivery: str, **fields: Any) -> Entry:
    return {"event": "end", "call": at, "status": status, "delivery": delivery} | fields


def failed(error: str) -> Entry:
    return {"event": "failed", "class": error}


def broken(error: str) -> tuple[Entry, Entry]:
    """What the peer is told of a connection error, and what the layer above is."""
    reason = 2 if error == "flood" else 1
    return x_goaway(reason, text=[]), failed(error)


OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND = range(6)
RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE = 8, 12, 13, 14
