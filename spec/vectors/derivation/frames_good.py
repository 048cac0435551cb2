"""Valid and degenerate cases of frames.json, protocol.md 3 and 4."""

from __future__ import annotations

from . import encode as e
from .frame import Frame, good
from .meaning import Entry, Meta, fill, status_meaning, valid

TRACE = Meta().common("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
NAME = b"/trunkcall.example.v1.UserService/GetUser"
USER = b"\x08\x07"
PIECE = e.LEAST_PIECE
HALF_DONE = {"total": 150_000, "received": 65_533}


def define(ident: str, why: str, method: int, name: bytes, fields: bytes = b"", **context: Entry) -> Entry:
    frame = Frame("DEFINE", method=method, name=name, payload=fields)
    return good(ident, why, frame, **context)


def skipped(ident: str, why: str, kind: int, body: bytes, **fields: int) -> Entry:
    decoded = {"type": "UNKNOWN", "number": kind, "length": len(body)}
    return valid(ident, why, e.header(kind, len(body), **fields) + body, decoded, receiver="acceptor")


def error_result(
    ident: str, why: str, status: int, *flags: str, message: str = "", w3: int = 0, meta: Meta | None = None
) -> Entry:
    frame = Frame("RESULT", *flags, status=status, w3=w3, payload=e.status(message.encode()), meta=meta)
    return good(ident, why, frame, status_payload=status_meaning(message))


DEFINES = [
    define("define", "binds id 1", 1, NAME),
    define("define-id-4096", "the last id that the default allows", 4_096, NAME),
    define("define-id-65535", "the last id there is, where the receiver allows it", 65_535, NAME,
           limits={"max_methods": 65_535}),
    define("define-name-1", "the shortest name", 2, b"/"),
    define("define-name-1024", "the longest name", 3, b"/" + b"n" * 1_023),
]

CALLS = [
    good("call-unary", "a unary call: the whole request in one frame",
         Frame("CALL", "MSG", "END", method=1, codec=1, payload=USER)),
    good("call-open", "opens a stream, no message yet", Frame("CALL", codec=1)),
    good("call-open-meta", "opens a stream with metadata", Frame("CALL", "META", codec=1, meta=TRACE)),
    good("call-end", "a call without messages", Frame("CALL", "END", codec=1)),
    good("call-end-meta", "the same with metadata", Frame("CALL", "END", "META", codec=1, meta=TRACE)),
    good("call-message", "first message of a client's stream", Frame("CALL", "MSG", codec=1, payload=USER)),
    good("call-message-meta", "the same with metadata",
         Frame("CALL", "MSG", "META", codec=1, meta=TRACE, payload=USER)),
    good("call-unary-meta", "a unary call with metadata",
         Frame("CALL", "MSG", "END", "META", codec=1, meta=TRACE, payload=USER)),
    good("call-first-piece", "first piece of a cut message: the body is 65,536 bytes, the least allowed",
         Frame("CALL", "MSG", "MORE", codec=1, total=150_000, fill=fill("a", PIECE - 3))),
    good("call-first-piece-meta", "the META block counts as body of the piece, but costs no credit",
         Frame("CALL", "MSG", "MORE", "META", codec=1, meta=Meta().literal("k", "v"), total=150_000,
               fill=fill("a", PIECE - 3 - 6))),
    good("call-first-piece-all-parts", "META block, inline name, total, payload, in that order",
         Frame("CALL", "MSG", "MORE", "META", codec=1, meta=Meta().literal("k", "v"), name=b"/a/b", total=150_000,
               fill=fill("a", PIECE - 3 - 6 - 5))),
    good("call-oneway", "a one-way call", Frame("CALL", "MSG", "END", "ONEWAY", codec=1, payload=USER)),
    good("call-oneway-meta", "a one-way call with metadata",
         Frame("CALL", "MSG", "END", "ONEWAY", "META", codec=1, meta=TRACE, payload=USER)),
    good("call-oneway-piece", "a one-way call whose message is cut",
         Frame("CALL", "MSG", "MORE", "ONEWAY", codec=1, total=150_000, fill=fill("a", PIECE - 3))),
    good("call-oneway-piece-meta", "the same with metadata",
         Frame("CALL", "MSG", "MORE", "ONEWAY", "META", codec=1, meta=Meta().literal("k", "v"), total=150_000,
               fill=fill("a", PIECE - 3 - 6))),
    good("call-inline-name", "id 0: the name stands in the body",
         Frame("CALL", "MSG", "END", codec=1, name=NAME, payload=USER)),
    good("call-inline-name-meta", "the name stands behind the META block",
         Frame("CALL", "MSG", "END", "META", codec=1, meta=TRACE, name=NAME, payload=USER)),
    good("call-inline-name-1024", "the longest name, and no message", Frame("CALL", "END", name=b"n" * 1_024)),
    good("call-inline-name-1", "the shortest name", Frame("CALL", "END", name=b"/")),
    good("call-of-acceptor", "the accepting side may call too",
         Frame("CALL", "MSG", "END", initiator=1, codec=1, payload=USER, receiver="initiator")),
    good("call-largest-numbers", "slot, generation, method and time at their largest",
         Frame("CALL", "END", slot=1_048_575, generation=2_047, method=65_535, w3=2**32 - 1),
         limits={"max_methods": 65_535, "max_calls": 1_048_575}),
    good("call-time-1", "one microsecond remains", Frame("CALL", "END", w3=1)),
    good("call-time-1-s", "the example of protocol.md 3.1",
         Frame("CALL", "MSG", "END", codec=1, w3=1_000_000, payload=b"\x0a\x01a")),
    good("call-codec-raw", "raw bytes: codec 0", Frame("CALL", "MSG", "END", payload=b"\x00\xff")),
    good("call-codec-4", "the last codec with a meaning of its own",
         Frame("CALL", "MSG", "END", codec=4, payload=b"x")),
    good("call-codec-15", "a codec the sender has named in its settings",
         Frame("CALL", "MSG", "END", codec=15, payload=b"x"), accepts={"codecs": [0, 1, 2, 15]}),
    good("call-compression-zstd", "a compressed message is opaque to the frame",
         Frame("CALL", "MSG", "END", codec=1, compression=2, payload=b"\x28\xb5\x2f\xfd")),
    good("call-compression-15", "a number listed by a receiver that knows it",
         Frame("CALL", "MSG", "END", codec=1, compression=15, payload=b"x"), accepts={"compressions": [15]}),
    good("call-body-65536", "the largest body the default allows",
         Frame("CALL", "MSG", "END", codec=1, fill=fill("a", PIECE))),
    good("call-message-at-limit", "a message as long as the receiver's max_message",
         Frame("CALL", "MSG", "END", codec=1, payload=b"12345"), limits={"max_message": 5}),
    good("call-total-at-limit", "a total as large as the receiver's max_message",
         Frame("CALL", "MSG", "MORE", codec=1, total=2**26, fill=fill("a", PIECE - 4))),
    good("call-spends-window", "payload + 16 is all the window there is",
         Frame("CALL", "MSG", "END", codec=1, fill=fill("a", e.WINDOW - 16)),
         limits={"max_frame_body": 524_288}),
]

DATAS = [
    good("data-message", "another request message", Frame("DATA", "MSG", codec=1, payload=USER)),
    good("data-last-message", "last request message", Frame("DATA", "MSG", "END", codec=1, payload=USER)),
    good("data-end", "half-close without a message", Frame("DATA", "END")),
    good("data-first-piece", "first piece of a later message",
         Frame("DATA", "MSG", "MORE", codec=1, total=150_000, fill=fill("b", PIECE - 3))),
    good("data-middle-piece", "a piece in the middle has no total",
         Frame("DATA", "MSG", "MORE", codec=1, fill=fill("b", PIECE)), progress={**HALF_DONE, "codec": 1}),
    good("data-last-piece", "the last piece may be short",
         Frame("DATA", "MSG", codec=1, payload=b"end"), progress={"total": 65_536, "received": 65_533, "codec": 1}),
    good("data-last-piece-end", "the last piece of the last message",
         Frame("DATA", "MSG", "END", codec=1, compression=1, payload=b"end"),
         progress={"total": 65_536, "received": 65_533, "codec": 1, "compression": 1}),
    good("data-answer", "an answer message", Frame("DATA", "MSG", codec=1, payload=USER, receiver="initiator")),
    good("data-answer-meta", "early metadata with the first answer message",
         Frame("DATA", "MSG", "META", codec=1, meta=TRACE, payload=USER)),
    good("data-meta-only", "early metadata before any message", Frame("DATA", "META", meta=TRACE)),
    good("data-answer-first-piece-meta", "early metadata with the first piece of an answer",
         Frame("DATA", "MSG", "MORE", "META", codec=1, meta=Meta().literal("k", "v"), total=70_000,
               fill=fill("b", PIECE - 3 - 6))),
    good("data-answer-first-piece", "first piece of an answer",
         Frame("DATA", "MSG", "MORE", codec=1, total=70_000, fill=fill("b", PIECE - 3), receiver="initiator")),
    good("data-answer-to-acceptor", "an answer to a call the acceptor opened",
         Frame("DATA", "MSG", codec=1, initiator=1, payload=USER, receiver="acceptor")),
    good("data-pool", "a message charged to the pool", Frame("DATA", "MSG", "POOL", codec=1, payload=USER)),
    good("data-pool-last-message", "the last request message", Frame("DATA", "MSG", "END", "POOL", codec=1, payload=USER)),
    good("data-pool-first-piece", "first piece of a message: the pool pays the total as well",
         Frame("DATA", "MSG", "MORE", "POOL", codec=1, total=150_000, fill=fill("b", PIECE - 3))),
    good("data-pool-middle-piece", "a piece in the middle costs 65,552",
         Frame("DATA", "MSG", "MORE", "POOL", codec=1, fill=fill("b", PIECE)), progress={**HALF_DONE, "codec": 1}),
    good("data-pool-last-piece", "the pool and the window may pay for pieces of one message",
         Frame("DATA", "MSG", "POOL", codec=1, payload=b"end"),
         progress={"total": 65_536, "received": 65_533, "codec": 1}),
    good("data-pool-answer", "an answer charged to the pool",
         Frame("DATA", "MSG", "POOL", codec=1, payload=USER, receiver="initiator")),
    good("data-pool-answer-meta", "the pool pays the META block as well",
         Frame("DATA", "MSG", "META", "POOL", codec=1, meta=TRACE, payload=USER)),
    good("data-end-of-acceptor", "half-close of a call the acceptor opened",
         Frame("DATA", "END", initiator=1, receiver="initiator")),
]

RESULTS = [
    good("result-message", "the answer to a unary call", Frame("RESULT", "MSG", codec=1, w3=153, payload=b"\x0a\x01u")),
    good("result-message-meta", "the same with trailers",
         Frame("RESULT", "MSG", "META", codec=1, w3=153, meta=Meta().own("attempt", b"\x05", 5),
               payload=b"\x0a\x01u")),
    good("result-ok", "OK without a last message", Frame("RESULT", w3=2**32 - 1)),
    good("result-ok-meta", "OK with trailers alone", Frame("RESULT", "META", meta=Meta().literal("k", "v"))),
    good("result-message-compressed", "an answer may be compressed",
         Frame("RESULT", "MSG", codec=1, compression=1, payload=b"\x1f\x8b")),
    good("result-to-acceptor", "the answer to a call the acceptor opened",
         Frame("RESULT", "MSG", codec=1, initiator=1, receiver="acceptor", payload=b"u")),
    error_result("result-error", "the handler's own status", 5, message="no such user", w3=40),
    error_result("result-error-meta", "with trailers", 5, "META", message="no such user",
                 meta=Meta().literal("k", "v")),
    error_result("result-status-1", "the lowest code of a failure", 1, message="m"),
    error_result("result-status-16", "the highest code", 16, message="m"),
    error_result("result-refused", "refused; may be sent again after 250 ms", 8, "REFUSED", message="full", w3=250),
    error_result("result-refused-final", "refused, and sending it again is pointless", 12, "REFUSED",
                 message="unknown method"),
    error_result("result-refused-meta", "a refusal may carry trailers", 14, "REFUSED", "META", message="draining",
                 w3=1, meta=Meta().own("attempt", b"\x7f", 127)),
    error_result("result-cut", "the session ended a started call", 4, "CUT", message="deadline", w3=1_000_000),
    error_result("result-cut-meta", "with trailers", 8, "CUT", "META", message="limit", meta=Meta().literal("k", "v")),
    error_result("result-stripped", "details were dropped", 3, "STRIPPED", message="too many details"),
    error_result("result-refused-stripped", "STRIPPED goes with REFUSED", 3, "REFUSED", "STRIPPED", message="m"),
    error_result("result-cut-stripped-meta", "STRIPPED goes with CUT and META", 3, "CUT", "STRIPPED", "META",
                 message="m", meta=Meta().literal("k", "v")),
]

OTHERS = [
    good("credit", "grants 64 KiB", Frame("CREDIT", w3=65_536)),
    good("credit-1", "the least there is", Frame("CREDIT", w3=1)),
    good("credit-largest", "the most one frame can say; too much for a stream whose window is not used up",
         Frame("CREDIT", w3=2**31 - 1)),
    good("credit-pool", "grants the pool: no stream, and no direction", Frame("CREDIT", slot=0, generation=0, w3=65_536)),
    good("credit-pool-initiator", "the same at the other side",
         Frame("CREDIT", slot=0, generation=0, w3=1, receiver="initiator")),
    good("credit-of-callee", "both sides grant", Frame("CREDIT", w3=65_536, receiver="initiator")),
    good("cancel-0", "the caller gave up", Frame("CANCEL")),
    good("cancel-1", "its deadline passed", Frame("CANCEL", w3=1)),
    good("cancel-2", "it cannot take the answer", Frame("CANCEL", w3=2)),
    good("ping", "w3 is opaque", Frame("PING", w3=0xDEADBEEF)),
    good("ping-ack", "and comes back", Frame("PING", "ACK", w3=0xDEADBEEF)),
    good("goaway", "draining, without a text", Frame("GOAWAY"), text=""),
    good("goaway-text", "a protocol error with a text",
         Frame("GOAWAY", w3=1, payload=b"frame at byte 4711: slot 0"), text="frame at byte 4711: slot 0"),
    good("goaway-4", "an internal error", Frame("GOAWAY", w3=4), text=""),
    good("goaway-5", "the highest reason: nothing is served here", Frame("GOAWAY", w3=5), text=""),
    good("goaway-ack", "I open no more calls", Frame("GOAWAY", "ACK")),
]

VALID = DEFINES + CALLS + DATAS + RESULTS + OTHERS

DEGENERATE = [
    define("define-field-skipped", "unknown fields behind the name are skipped", 1, NAME,
           e.setting(0x0001, b"hash") + e.setting(0x7FFF, b"")),
    define("define-name-not-utf-8", "names are bytes: nobody will serve this one", 1, b"/\xff\xfe"),
    good("call-empty-message", "an empty message is a message, and costs 16", Frame("CALL", "MSG", "END", codec=1)),
    good("call-empty-meta", "a META block without entries", Frame("CALL", "END", "META", meta=Meta())),
    good("call-inline-name-odd", "any bytes are a name: the call ends as an unknown method",
         Frame("CALL", "END", name=b"\x00\xff")),
    good("call-inline-and-total", "an inline name before a total",
         Frame("CALL", "MSG", "MORE", name=b"/a/b", total=65_537, fill=fill("a", PIECE - 3 - 5))),
    good("call-first-piece-complete", "all bytes of the message, and yet MORE: an empty piece will follow",
         Frame("CALL", "MSG", "MORE", total=PIECE - 3, fill=fill("a", PIECE - 3))),
    good("data-last-piece-empty", "that empty piece", Frame("DATA", "MSG"),
         progress={"total": 65_533, "received": 65_533}),
    good("data-nothing", "no flags, no body: allowed to both sides, means nothing", Frame("DATA")),
    good("data-nothing-in-message", "it does not disturb a message in progress", Frame("DATA"), progress=HALF_DONE),
    good("data-empty-message", "an empty message costs 16", Frame("DATA", "MSG", codec=1)),
    good("data-pool-empty-message", "an empty message costs 16 of the pool", Frame("DATA", "MSG", "POOL", codec=1)),
    good("credit-pool-body", "its body is ignored like that of any CREDIT",
         Frame("CREDIT", slot=0, generation=0, w3=1, payload=b"?"), ignored=b"?".hex()),
    good("data-empty-meta", "early metadata that says nothing", Frame("DATA", "META", meta=Meta())),
    good("result-empty-message", "an empty last message, unlike none", Frame("RESULT", "MSG", codec=1)),
    good("result-error-empty", "no status payload: empty message, no details", Frame("RESULT", status=2),
         status_payload=status_meaning("")),
    good("result-ok-stripped", "STRIPPED means nothing with OK", Frame("RESULT", "STRIPPED")),
    good("result-error-in-message", "a status other than OK discards an unfinished message",
         Frame("RESULT", "CUT", status=8), progress=HALF_DONE, status_payload=status_meaning("")),
    good("result-refused-retry-largest", "asked to wait for 49 days",
         Frame("RESULT", "REFUSED", status=14, w3=2**32 - 1), status_payload=status_meaning("")),
    good("credit-body", "bodies of CREDIT are ignored", Frame("CREDIT", w3=1, payload=b"?"), ignored=b"?".hex()),
    good("cancel-body", "bodies of CANCEL are ignored", Frame("CANCEL", payload=b"?"), ignored=b"?".hex()),
    good("cancel-reason-unknown", "counts as 0", Frame("CANCEL", w3=3)),
    good("ping-body", "bodies of PING are ignored", Frame("PING", w3=1, payload=b"?!"), ignored=b"?!".hex()),
    good("goaway-reason-unknown", "counts as 0", Frame("GOAWAY", w3=6), text=""),
    good("goaway-text-1024", "all of it is kept", Frame("GOAWAY", w3=2, payload=b"t" * 1_024), text="t" * 1_024),
    good("goaway-text-1025", "what is over 1,024 bytes is dropped", Frame("GOAWAY", w3=2, payload=b"t" * 1_025),
         text="t" * 1_024),
    good("goaway-text-cut-in-character", "cut at a character boundary",
         Frame("GOAWAY", w3=2, payload=b"t" * 1_023 + "é".encode()), text="t" * 1_023),
    good("goaway-text-not-utf-8", "an invalid byte becomes U+FFFD", Frame("GOAWAY", w3=4, payload=b"a\xffb"),
         text="a\ufffdb"),
    good("goaway-ack-body", "text and reason mean nothing on an ACK", Frame("GOAWAY", "ACK", w3=3, payload=b"t"),
         ignored=b"t".hex()),
    skipped("unknown-0x80", "the first type that is skipped", 0x80, b"later"),
    skipped("unknown-0xff-all-bits", "every other bit of its header is ignored", 0xFF, b"", slot=2**20 - 1,
            generation=2_047, initiator=1, low=0xFFFF, flags=0xFF, codec=15, compression=15, w3=2**32 - 1),
]
