"""One frame as a case: what it says and its bytes, protocol.md 3 and 4."""

from __future__ import annotations

from typing import Any

from . import encode as e
from .meaning import Entry, Meta, fill_bytes, invalid, text_or_hex, valid

STREAM_TYPES = ("CALL", "DATA", "RESULT", "CREDIT", "CANCEL")
ANSWERS = ("RESULT",)


def sender(receiver: str, initiator: int) -> str:
    """Which side of the call sent it, protocol.md 3.6."""
    return "caller" if (receiver == "acceptor") == (initiator == 0) else "callee"


def default_receiver(kind: str, flags: tuple[str, ...]) -> str:
    return "initiator" if kind in ANSWERS or (kind == "DATA" and "META" in flags) else "acceptor"


class Frame:
    """Field by field; what is not given is zero or absent. What is given is put in, allowed or not."""

    def __init__(
        self,
        kind: str,
        *flags: str,
        slot: int | None = None,
        generation: int | None = None,
        initiator: int = 0,
        method: int | None = None,
        status: int = 0,
        codec: int = 0,
        compression: int = 0,
        w3: int = 0,
        meta: Meta | None = None,
        name: bytes | None = None,
        total: int | None = None,
        payload: bytes = b"",
        fill: Entry | None = None,
        receiver: str | None = None,
    ) -> None:
        on_stream = kind in STREAM_TYPES
        self.kind = kind
        self.flags = flags
        self.slot = (1 if on_stream else 0) if slot is None else slot
        self.generation = (1 if on_stream else 0) if generation is None else generation
        self.initiator = initiator
        self.method = (0 if name is not None and kind == "CALL" else 7) if method is None else method
        self.status = status
        self.codec = codec
        self.compression = compression
        self.w3 = w3
        self.meta = meta
        self.name = name
        self.total = total
        self.payload = payload
        self.fill = fill
        self.receiver = receiver or default_receiver(kind, flags)

    def head_of_body(self) -> bytes:
        out = self.meta.block() if self.meta is not None else b""
        if self.name is not None:
            out += e.counted(self.name)
        if self.total is not None:
            out += e.varint(self.total)
        return out

    def body(self) -> bytes:
        """Without the bytes of the fill."""
        return self.head_of_body() + self.payload

    def payload_length(self) -> int:
        return len(self.payload) + len(fill_bytes(self.fill))

    def length(self) -> int:
        return len(self.head_of_body()) + self.payload_length()

    def low(self) -> int:
        return {"CALL": self.method, "DEFINE": self.method, "RESULT": self.status}.get(self.kind, 0)

    def header(self) -> bytes:
        return e.header(
            e.TYPES[self.kind],
            self.length(),
            slot=self.slot,
            generation=self.generation,
            initiator=self.initiator,
            low=self.low(),
            flags=e.flag_bits(self.kind, self.flags),
            codec=self.codec,
            compression=self.compression,
            w3=self.w3,
        )

    def bytes(self) -> bytes:
        return self.header() + self.body()

    def context(self) -> Entry:
        out: Entry = {"receiver": self.receiver}
        if self.kind in STREAM_TYPES and not self.of_pool():
            out["from"] = sender(self.receiver, self.initiator)
        return out

    def of_pool(self) -> bool:
        """A CREDIT that grants the pool, protocol.md 3.6."""
        return self.kind == "CREDIT" and self.slot == self.generation == self.initiator == 0

    def meaning(self) -> Entry:
        out: Entry = {
            "type": self.kind,
            "length": self.length(),
            "slot": self.slot,
            "generation": self.generation,
            "initiator": self.initiator,
        }
        if self.kind in ("CALL", "DEFINE"):
            out["method"] = self.method
        if self.kind == "RESULT":
            out["status"] = self.status
        out |= {
            "flags": sorted(self.flags, key=lambda flag: e.FLAGS[self.kind][flag]),
            "codec": self.codec,
            "compression": self.compression,
            "w3": self.w3,
        }
        if self.meta is not None:
            out["metadata"] = self.meta.meaning()
        if self.name is not None:
            out |= text_or_hex("name", self.name)
        if self.total is not None:
            out["total"] = self.total
        if self.kind in ("CALL", "DATA", "RESULT"):
            out["payload"] = self.payload.hex()
            if self.fill:
                out["payload_fill"] = self.fill
        if "MSG" in self.flags:
            out["cost"] = (self.length() if "POOL" in self.flags else self.payload_length()) + 16
        return out


Progress = dict[str, int]


def in_message(kind: str, progress: Progress | None) -> Entry:
    """The message being put together in this direction when the frame arrives, protocol.md 4.3."""
    if kind not in ("CALL", "DATA", "RESULT"):
        return {}
    if progress is None:
        return {"in_message": False}
    return {"in_message": True, "progress": {"codec": 0, "compression": 0, **progress}}


def good(
    ident: str,
    why: str,
    frame: Frame,
    *,
    progress: Progress | None = None,
    limits: Entry | None = None,
    accepts: Entry | None = None,
    **more: Any,
) -> Entry:
    """`more` adds to the meaning: status payload, text, what a DEFINE says."""
    context = frame.context() | in_message(frame.kind, progress)
    return valid(
        ident,
        why,
        frame.bytes(),
        frame.meaning() | more,
        fill=frame.fill,
        limits=limits,
        accepts=accepts,
        **context,
    )


def bad(
    ident: str,
    why: str,
    error: str,
    frame: Frame,
    *,
    stage: str = "header",
    ends: str = "connection",
    progress: Progress | None = None,
    limits: Entry | None = None,
    accepts: Entry | None = None,
    **raw: int | bytes,
) -> Entry:
    """`raw` replaces what the frame would say: any argument of encode.header, `kind`, `length` or the whole `body`."""
    body = raw.pop("body", frame.body())
    assert isinstance(body, bytes)
    extra = len(fill_bytes(frame.fill))
    fields: dict[str, Any] = {
        "kind": e.TYPES[frame.kind],
        "length": len(body) + extra,
        "slot": frame.slot,
        "generation": frame.generation,
        "initiator": frame.initiator,
        "low": frame.low(),
        "flags": e.flag_bits(frame.kind, frame.flags),
        "codec": frame.codec,
        "compression": frame.compression,
        "w3": frame.w3,
    }
    context = frame.context()
    if fields["kind"] == raw.get("kind", fields["kind"]):
        context |= in_message(frame.kind, progress)
    else:
        context.pop("from", None)
    data = e.header(**(fields | raw)) + body
    return invalid(
        ident,
        why,
        data,
        error,
        ends,
        stage=stage,
        fill=frame.fill,
        limits=limits,
        accepts=accepts,
        **context,
    )
