"""Invalid cases of frames.json, in the order of checks of protocol.md 3.9 and 4.6."""

from __future__ import annotations

from . import encode as e
from .frame import Frame, Progress, bad
from .meaning import Entry, Meta, fill

PIECE = e.LEAST_PIECE
META = Meta().literal("k", "v")
HALF_DONE = {"total": 150_000, "received": 65_533}
UNARY = Frame("CALL", "MSG", "END", codec=1, payload=b"\x08\x07")


def of_type(ident: str, why: str, kind: int, **raw: int) -> Entry:
    return bad(ident, why, "type", Frame("PING"), kind=kind, **raw)


TYPES = [
    of_type("type-0", "type 0 is not defined", 0),
    of_type("type-9", "the first above the last defined type", 9),
    of_type("type-0x7f", "the last that is not skipped", 0x7F),
    of_type("type-before-length", "the type is judged before the length", 9, length=65_537),
]

LENGTHS = [
    bad("length-call-65537", "one over the default limit: judged at the header", "length", UNARY, length=65_537,
        body=b""),
    bad("length-ping-65537", "bodies that are ignored have the same limit", "length", Frame("PING"), length=65_537),
    bad("length-largest", "the largest length there is", "length", Frame("DATA", "MSG"), length=2**24 - 1),
    bad("length-unknown-type", "frames that are skipped have the same limit", "length", Frame("PING"), kind=0x80,
        length=65_537),
    bad("length-over-raised-limit", "one over a limit the receiver has raised", "length", UNARY, length=131_073,
        body=b"", limits={"max_frame_body": 131_072}),
    bad("length-before-flags", "the length is judged before the flags", "length", UNARY, length=65_537, body=b"",
        flags=0xFF),
]


def no_such_flag(ident: str, kind: str, bit: int, *also: str) -> Entry:
    status = 5 if kind == "RESULT" else 0
    frame = Frame(kind, status=status, w3=1 if kind == "CREDIT" else 0)
    flags = bit | e.flag_bits(kind, also)
    return bad(ident, f"{kind} has no flag {bit:#04x}", "flags", frame, flags=flags, body=b"")


UNDEFINED_FLAGS = [
    no_such_flag("flags-define-0x01", "DEFINE", 0x01),
    no_such_flag("flags-define-0x80", "DEFINE", 0x80),
    no_such_flag("flags-call-0x20", "CALL", 0x20),
    no_such_flag("flags-call-0x40", "CALL", 0x40),
    no_such_flag("flags-call-0x80", "CALL", 0x80, "END"),
    no_such_flag("flags-data-0x20", "DATA", 0x20),
    no_such_flag("flags-data-0x40", "DATA", 0x40),
    no_such_flag("flags-data-0x80", "DATA", 0x80),
    no_such_flag("flags-result-0x01", "RESULT", 0x01),
    no_such_flag("flags-result-0x04", "RESULT", 0x04),
    no_such_flag("flags-result-0x80", "RESULT", 0x80),
    no_such_flag("flags-credit-0x01", "CREDIT", 0x01),
    no_such_flag("flags-credit-0x80", "CREDIT", 0x80),
    no_such_flag("flags-cancel-0x01", "CANCEL", 0x01),
    no_such_flag("flags-cancel-0x02", "CANCEL", 0x02),
    no_such_flag("flags-ping-0x02", "PING", 0x02),
    no_such_flag("flags-ping-0x80", "PING", 0x80, "ACK"),
    no_such_flag("flags-goaway-0x02", "GOAWAY", 0x02),
    no_such_flag("flags-goaway-0x80", "GOAWAY", 0x80, "ACK"),
]


def clash(ident: str, why: str, frame: Frame) -> Entry:
    return bad(ident, why, "flags", frame)


def clashes_of_call() -> list[Entry]:
    """All of the 32 combinations of CALL that 3.4 leaves out, those with META once for each kind of breach."""
    no_message = "MORE needs MSG"
    both = "MORE excludes END"
    oneway = "ONEWAY needs MSG with END or MORE"
    return [
        clash("flags-call-more", no_message, Frame("CALL", "MORE")),
        clash("flags-call-more-meta", no_message, Frame("CALL", "MORE", "META", meta=META)),
        clash("flags-call-more-end", no_message, Frame("CALL", "MORE", "END")),
        clash("flags-call-more-end-meta", no_message, Frame("CALL", "MORE", "END", "META", meta=META)),
        clash("flags-call-message-more-end", both, Frame("CALL", "MSG", "MORE", "END", total=9)),
        clash("flags-call-message-more-end-meta", both,
              Frame("CALL", "MSG", "MORE", "END", "META", meta=META, total=9)),
        clash("flags-call-oneway", oneway, Frame("CALL", "ONEWAY")),
        clash("flags-call-oneway-end", oneway, Frame("CALL", "ONEWAY", "END")),
        clash("flags-call-oneway-end-meta", oneway, Frame("CALL", "ONEWAY", "END", "META", meta=META)),
        clash("flags-call-oneway-message", oneway, Frame("CALL", "ONEWAY", "MSG")),
        clash("flags-call-oneway-message-meta", oneway, Frame("CALL", "ONEWAY", "MSG", "META", meta=META)),
        clash("flags-call-oneway-more", no_message, Frame("CALL", "ONEWAY", "MORE")),
        clash("flags-call-oneway-more-end", no_message, Frame("CALL", "ONEWAY", "MORE", "END")),
        clash("flags-call-oneway-message-more-end", both, Frame("CALL", "ONEWAY", "MSG", "MORE", "END", total=9)),
    ]


CLASHES = clashes_of_call() + [
    clash("flags-data-more", "MORE needs MSG", Frame("DATA", "MORE")),
    clash("flags-data-more-meta", "MORE needs MSG", Frame("DATA", "MORE", "META", meta=META)),
    clash("flags-data-more-end", "MORE needs MSG", Frame("DATA", "MORE", "END")),
    clash("flags-data-message-more-end", "MORE excludes END", Frame("DATA", "MSG", "MORE", "END", total=9)),
    clash("flags-data-pool", "POOL needs MSG", Frame("DATA", "POOL")),
    clash("flags-data-pool-end", "POOL needs MSG", Frame("DATA", "POOL", "END")),
    clash("flags-data-pool-meta", "POOL needs MSG, whoever sends it", Frame("DATA", "POOL", "META", meta=META)),
    clash("flags-data-message-pool-more-end", "MORE excludes END", Frame("DATA", "MSG", "POOL", "MORE", "END", total=9)),
    clash("flags-data-end-meta", "no side may send both", Frame("DATA", "END", "META", meta=META, receiver="acceptor")),
    clash("flags-data-message-end-meta", "no side may send both",
          Frame("DATA", "MSG", "END", "META", meta=META, receiver="initiator")),
    clash("flags-result-message-error", "MSG needs status 0", Frame("RESULT", "MSG", status=5)),
    clash("flags-result-message-refused", "MSG excludes REFUSED", Frame("RESULT", "MSG", "REFUSED", status=8)),
    clash("flags-result-message-cut", "MSG excludes CUT", Frame("RESULT", "MSG", "CUT", status=8)),
    clash("flags-result-message-refused-ok", "MSG excludes REFUSED, whatever the status",
          Frame("RESULT", "MSG", "REFUSED")),
    clash("flags-result-refused-cut", "either not started or cut", Frame("RESULT", "REFUSED", "CUT", status=8)),
    clash("flags-result-refused-ok", "what was refused is not OK", Frame("RESULT", "REFUSED")),
    clash("flags-result-cut-ok", "what was cut is not OK", Frame("RESULT", "CUT")),
    clash("flags-result-cut-ok-meta-stripped", "what was cut is not OK",
          Frame("RESULT", "CUT", "META", "STRIPPED", meta=META)),
    bad("flags-before-reserved", "flags are judged before reserved fields", "flags", Frame("DATA", "MORE"), low=1),
]


def not_zero(ident: str, why: str, frame: Frame, **raw: int) -> Entry:
    return bad(ident, why, "reserved", frame, **raw)


DEFINE = Frame("DEFINE", method=1, name=b"/a/b")
CREDIT = Frame("CREDIT", w3=1)
RESULT = Frame("RESULT", status=5)

RESERVED = [
    not_zero("reserved-define-slot", "DEFINE belongs to the connection", DEFINE, slot=1),
    not_zero("reserved-define-generation", "DEFINE belongs to the connection", DEFINE, generation=1),
    not_zero("reserved-define-initiator", "DEFINE belongs to the connection", DEFINE, initiator=1),
    not_zero("reserved-define-codec", "no codec on DEFINE", DEFINE, codec=1),
    not_zero("reserved-define-compression", "no compression on DEFINE", DEFINE, compression=1),
    not_zero("reserved-define-w3", "nothing in w3 of DEFINE", DEFINE, w3=1),
    not_zero("reserved-ping-slot", "PING belongs to the connection", Frame("PING"), slot=1),
    not_zero("reserved-ping-initiator", "PING belongs to the connection", Frame("PING"), initiator=1),
    not_zero("reserved-ping-low", "no id on PING", Frame("PING"), low=1),
    not_zero("reserved-ping-codec", "no codec on PING", Frame("PING"), codec=1),
    not_zero("reserved-ping-compression", "no compression on PING", Frame("PING"), compression=8),
    not_zero("reserved-ping-ack-generation", "an ACK is no exception", Frame("PING", "ACK"), generation=1),
    not_zero("reserved-goaway-slot", "GOAWAY belongs to the connection", Frame("GOAWAY"), slot=1),
    not_zero("reserved-goaway-generation", "GOAWAY belongs to the connection", Frame("GOAWAY"), generation=2_047),
    not_zero("reserved-goaway-low", "no status on GOAWAY", Frame("GOAWAY"), low=0xFFFF),
    not_zero("reserved-goaway-codec", "no codec on GOAWAY", Frame("GOAWAY"), codec=15),
    not_zero("reserved-goaway-compression", "no compression on GOAWAY", Frame("GOAWAY", "ACK"), compression=1),
    not_zero("reserved-data-low", "DATA repeats no method id", Frame("DATA", "MSG"), low=7),
    not_zero("reserved-data-w3", "nothing in w3 of DATA", Frame("DATA", "MSG"), w3=1),
    not_zero("reserved-data-codec", "no codec without MSG", Frame("DATA", "END"), codec=1),
    not_zero("reserved-data-compression", "no compression without MSG", Frame("DATA", "END"), compression=1),
    not_zero("reserved-call-compression", "no compression without MSG", Frame("CALL", "END", codec=1), compression=1),
    not_zero("reserved-result-codec", "no codec without MSG", RESULT, codec=1),
    not_zero("reserved-result-compression", "no compression without MSG", RESULT, compression=1),
    not_zero("reserved-result-ok-codec", "no codec without MSG, with OK either", Frame("RESULT"), codec=1),
    not_zero("reserved-credit-low", "no id on CREDIT", CREDIT, low=1),
    not_zero("reserved-credit-codec", "no codec on CREDIT", CREDIT, codec=1),
    not_zero("reserved-credit-compression", "no compression on CREDIT", CREDIT, compression=1),
    not_zero("reserved-credit-pool-low", "no id on a CREDIT of the pool either",
             Frame("CREDIT", w3=1, slot=0, generation=0), low=1),
    not_zero("reserved-cancel-low", "the reason stands in w3", Frame("CANCEL"), low=1),
    not_zero("reserved-cancel-codec", "no codec on CANCEL", Frame("CANCEL"), codec=1),
    not_zero("reserved-cancel-compression", "no compression on CANCEL", Frame("CANCEL"), compression=1),
    not_zero("reserved-before-stream-id", "reserved fields are judged before the stream id", Frame("DATA", "MSG"),
             low=1, slot=0),
]


def stream_ids() -> list[Entry]:
    out = []
    for frame in (UNARY, Frame("DATA", "MSG"), RESULT, CREDIT, Frame("CANCEL")):
        kind = frame.kind.lower()
        out.append(bad(f"stream-id-{kind}-slot-0", "slot 0 is no stream", "stream_id", frame, slot=0))
        out.append(bad(f"stream-id-{kind}-generation-0", "generations begin at 1", "stream_id", frame, generation=0))
    out.append(bad("stream-id-credit-initiator-bit", "only w1 zero means the pool", "stream_id", CREDIT, slot=0,
                   generation=0, initiator=1))
    last = bad("stream-id-before-value", "the stream id is judged before values", "stream_id", CREDIT, slot=0, w3=0)
    return [*out, last]


VALUES = [
    bad("value-status-17", "there are 17 codes, 0 to 16", "value", Frame("RESULT", status=17)),
    bad("value-status-largest", "the largest that 16 bits can say", "value", Frame("RESULT", status=0xFFFF)),
    bad("value-status-17-refused", "no status above 16 with REFUSED either", "value",
        Frame("RESULT", "REFUSED", status=17)),
    bad("value-credit-0", "a CREDIT of nothing", "value", Frame("CREDIT")),
    bad("value-credit-2-31", "one above the largest window", "value", Frame("CREDIT", w3=2**31)),
    bad("value-credit-pool-0", "a CREDIT of nothing for the pool", "value", Frame("CREDIT", slot=0, generation=0)),
    bad("value-credit-pool-2-31", "one above the largest pool", "value",
        Frame("CREDIT", slot=0, generation=0, w3=2**31)),
    bad("value-credit-largest", "a CREDIT with the sign bit", "value", Frame("CREDIT", w3=2**32 - 1)),
    bad("method-define-0", "id 0 means that the name stands in the body", "method",
        Frame("DEFINE", method=0, name=b"/a/b")),
    bad("method-define-4097", "one over the default limit", "method", Frame("DEFINE", method=4_097, name=b"/a/b")),
    bad("method-define-over-raised-limit", "one over a limit the receiver has raised", "method",
        Frame("DEFINE", method=5_001, name=b"/a/b"), limits={"max_methods": 5_000}),
    bad("value-before-direction", "values are judged before the direction", "value",
        Frame("RESULT", status=17, receiver="acceptor")),
]

DIRECTIONS = [
    bad("direction-call-from-callee", "a CALL in the name of a call that is the receiver's to open", "direction",
        Frame("CALL", "END", initiator=1, receiver="acceptor")),
    bad("direction-call-to-initiator", "the same at the other side", "direction",
        Frame("CALL", "END", receiver="initiator")),
    bad("direction-cancel-from-callee", "only the caller cancels", "direction", Frame("CANCEL", receiver="initiator")),
    bad("direction-cancel-to-acceptor", "the same at the other side", "direction",
        Frame("CANCEL", initiator=1, receiver="acceptor")),
    bad("direction-data-end-pool-from-callee", "nor does a message from the pool end them", "direction",
        Frame("DATA", "MSG", "END", "POOL", receiver="initiator")),
    bad("direction-data-end-from-callee", "answers end with RESULT", "direction",
        Frame("DATA", "END", receiver="initiator")),
    bad("direction-data-message-end-from-callee", "with a message either", "direction",
        Frame("DATA", "MSG", "END", receiver="initiator")),
    bad("direction-data-meta-from-caller", "request metadata comes with CALL", "direction",
        Frame("DATA", "META", meta=META, receiver="acceptor")),
    bad("direction-data-message-meta-from-caller", "with a message either", "direction",
        Frame("DATA", "MSG", "META", meta=META, receiver="acceptor")),
    bad("direction-result-from-caller", "only the callee ends a call so", "direction",
        Frame("RESULT", receiver="acceptor")),
    bad("direction-result-to-initiator", "the same at the other side", "direction",
        Frame("RESULT", initiator=1, receiver="initiator")),
]


def body(
    ident: str, why: str, error: str, frame: Frame, *, progress: Progress | None = None, **more: bytes | Entry
) -> Entry:
    return bad(ident, why, error, frame, stage="body", progress=progress, **more)


def piece(ident: str, why: str, frame: Frame, *, progress: Progress | None = None, **more: bytes | Entry) -> Entry:
    return body(ident, why, "piece", frame, progress=progress, **more)


def first_with_total(total: bytes) -> Entry:
    """Arguments for a first piece of the least length whose total is these bytes."""
    frame = Frame("CALL", "MSG", "MORE", codec=1, fill=fill("a", PIECE - len(total)))
    return {"frame": frame, "body": total}


PIECES = [
    piece("piece-first-too-short", "a body of 65,535 bytes with MORE",
          Frame("CALL", "MSG", "MORE", codec=1, total=150_000, fill=fill("a", PIECE - 4))),
    piece("piece-middle-too-short", "a piece in the middle is no exception",
          Frame("DATA", "MSG", "MORE", fill=fill("a", PIECE - 1)), progress=HALF_DONE),
    piece("piece-empty-with-more", "an empty piece with MORE", Frame("DATA", "MSG", "MORE"), progress=HALF_DONE),
    piece("piece-too-short-before-metadata", "the length of a piece is judged before its metadata",
          Frame("CALL", "MSG", "MORE", "META"), body=b"\x80\x00"),
    piece("piece-total-0", "a message of no bytes is not cut", **first_with_total(b"\x00")),
    piece("piece-total-not-shortest", "a varint in its shortest form only", **first_with_total(b"\xf0\x93\x89\x00")),
    piece("piece-total-33-bits", "a varint is below 2^32", **first_with_total(b"\xff\xff\xff\xff\x1f")),
    piece("piece-total-six-bytes", "a varint has at most five bytes", **first_with_total(b"\xff\xff\xff\xff\xff\x01")),
    piece("piece-total-below-payload", "the first piece alone is more than the total",
          **first_with_total(e.varint(PIECE - 4))),
    piece("piece-sum-over-total", "a piece in the middle goes past the total",
          Frame("DATA", "MSG", "MORE", fill=fill("a", PIECE)), progress={"total": 131_068, "received": 65_533}),
    piece("piece-last-too-long", "the last piece goes past the total by one", Frame("DATA", "MSG", payload=b"ab"),
          progress={"total": 65_534, "received": 65_533}),
    piece("piece-last-missing-bytes", "the last piece leaves one byte owed", Frame("DATA", "MSG", payload=b"ab"),
          progress={"total": 65_536, "received": 65_533}),
    piece("piece-codec-changes", "pieces have one codec", Frame("DATA", "MSG", codec=2, payload=b"abc"),
          progress={"total": 65_536, "received": 65_533, "codec": 1}),
    piece("piece-compression-changes", "pieces have one compression", Frame("DATA", "MSG", payload=b"abc"),
          progress={"total": 65_536, "received": 65_533, "compression": 1}),
    piece("piece-end-in-message", "half-close while a message is owed", Frame("DATA", "END"), progress=HALF_DONE),
    piece("piece-result-in-message", "OK while an answer message is owed", Frame("RESULT"), progress=HALF_DONE),
    piece("piece-result-message-in-message", "a last message while another is owed",
          Frame("RESULT", "MSG", payload=b"x"), progress=HALF_DONE),
    piece("piece-call-payload-without-message", "bytes that belong to nothing", Frame("CALL", "END", payload=b"x")),
    piece("piece-call-payload-behind-name", "bytes that belong to nothing, behind a name",
          Frame("CALL", "END", name=b"/a/b", payload=b"x")),
    piece("piece-data-payload-without-message", "bytes that belong to nothing", Frame("DATA", "END", payload=b"x")),
    piece("piece-data-payload-behind-meta", "bytes that belong to nothing, behind a META block",
          Frame("DATA", "META", meta=META, payload=b"x")),
    piece("piece-result-ok-payload", "OK has no status payload", Frame("RESULT", payload=b"\x01m\x00")),
    piece("piece-before-message-size", "a wrong sum is judged before the size", limits={"max_message": 5},
          **first_with_total(b"\x06")),
]


def define(ident: str, why: str, data: bytes) -> Entry:
    return body(ident, why, "method", DEFINE, body=data)


DEFINE_BODIES = [
    define("method-define-empty", "no name length", b""),
    define("method-define-name-0", "an empty name", b"\x00"),
    define("method-define-name-1025", "a name of one byte over 1,024", e.counted(b"n" * 1_025)),
    define("method-define-name-cut", "the name reaches past the body", b"\x05/a/b"),
    define("method-define-length-not-shortest", "a varint in its shortest form only", b"\x84\x00/a/b"),
    define("method-define-length-unfinished", "the body ends inside the length", b"\x84"),
    define("method-define-field-header-cut", "three bytes are no field header", b"\x04/a/b\x01\x00\x00"),
    define("method-define-field-cut", "a field reaches past the body", b"\x04/a/b\x01\x00\x02\x00x"),
    define("method-define-field-critical", "an unknown critical field cannot be skipped",
           b"\x04/a/b" + e.setting(0x8001, b"")),
]


def name(ident: str, why: str, data: bytes) -> Entry:
    return bad(ident, why, "name", Frame("CALL", "MSG", "END", codec=1, method=0), stage="body", ends="call", body=data)


NAMES = [
    name("name-missing", "id 0 and an empty body", b""),
    name("name-empty", "a name has at least one byte", b"\x00payload"),
    name("name-1025", "a name has at most 1,024 bytes", e.counted(b"n" * 1_025)),
    name("name-past-body", "the name reaches past the body", b"\x06/a/b"),
    name("name-lies", "a name of 4 GiB promised", b"\xff\xff\xff\xff\x0f/a/b"),
    name("name-length-not-shortest", "a varint in its shortest form only", b"\x84\x00/a/b"),
    name("name-length-six-bytes", "a varint has at most five bytes", b"\x84\x80\x80\x80\x80\x00/a/b"),
    bad("name-ends-reading", "what stands behind a bad name is not judged: no `piece` for these bytes", "name",
        Frame("CALL", "END", method=0), stage="body", ends="call", body=b"\x00x"),
]


def of_call(ident: str, why: str, error: str, frame: Frame, stage: str = "session", **more: bytes | Entry) -> Entry:
    return bad(ident, why, error, frame, stage=stage, ends="call", **more)


TWO_BLOCKS = Meta().filled("k", 16_385)

CALL_FAULTS = [
    of_call("metadata-past-body", "the META block of a CALL reaches past the body", "metadata",
            Frame("CALL", "END", "META"), stage="body", body=b"\x05\x00\x01k\x01"),
    of_call("metadata-missing", "META and an empty body", "metadata", Frame("CALL", "END", "META"), stage="body"),
    of_call("metadata-ends-reading", "what stands behind a bad block is not judged: no `piece`, no `name`", "metadata",
            Frame("CALL", "END", "META", method=0), stage="body", body=b"\x02\x00\x00\x00x"),
    of_call("metadata-in-answer", "early metadata malformed", "metadata", Frame("DATA", "META"), stage="body",
            body=b"\x02\x01\x05"),
    of_call("metadata-in-trailers", "trailers malformed: the delivery is what the flags say", "metadata",
            Frame("RESULT", "META", status=5), stage="body", body=b"\x02\x01\x05\x00\x00"),
    of_call("metadata-limit-bytes", "a block of 16,385 bytes in a CALL", "metadata_limit",
            Frame("CALL", "END", "META", fill=TWO_BLOCKS.fill), stage="body", body=TWO_BLOCKS.block()),
    of_call("status-malformed", "a status payload that ends early: the code is kept", "status",
            Frame("RESULT", status=5, payload=b"\x05abc"), stage="body"),
    of_call("status-malformed-behind-meta", "the same behind trailers", "status",
            Frame("RESULT", "META", "CUT", status=5, meta=META, payload=b"\x01m"), stage="body"),
    of_call("message-size-whole", "a message of one byte over max_message", "message_size",
            Frame("CALL", "MSG", "END", codec=1, payload=b"123456"), limits={"max_message": 5}),
    of_call("message-size-total", "a total of one over the default: nothing is kept", "message_size",
            Frame("CALL", "MSG", "MORE", codec=1, total=2**26 + 1, fill=fill("a", PIECE - 4))),
    of_call("message-size-total-4-gib", "the largest total there is", "message_size",
            Frame("CALL", "MSG", "MORE", codec=1, total=2**32 - 1, fill=fill("a", PIECE - 5))),
    of_call("message-size-data", "a later message over the limit", "message_size",
            Frame("DATA", "MSG", payload=b"123456"), limits={"max_message": 5}),
    of_call("message-size-result", "a last answer message over the limit", "message_size",
            Frame("RESULT", "MSG", payload=b"123456"), limits={"max_message": 5}),
    of_call("codec-5", "the first reserved codec", "codec", Frame("CALL", "MSG", "END", codec=5, payload=b"x")),
    of_call("codec-7-without-message", "the codec of a CALL counts without MSG too", "codec",
            Frame("CALL", "END", codec=7)),
    of_call("codec-8-not-named", "a number the sender has not named", "codec",
            Frame("CALL", "MSG", "END", codec=8, payload=b"x")),
    of_call("compression-3", "the first reserved compression", "compression",
            Frame("CALL", "MSG", "END", codec=1, compression=3, payload=b"x")),
    of_call("compression-not-listed", "gzip, which this receiver has not listed", "compression",
            Frame("CALL", "MSG", "END", codec=1, compression=1, payload=b"x"), accepts={"compressions": [2]}),
    bad("credit-first-frame", "the first frame costs one more than the window", "credit",
        Frame("CALL", "MSG", "END", codec=1, fill=fill("a", e.WINDOW - 15)), stage="session",
        limits={"max_frame_body": 524_288}),
    bad("credit-before-message-size", "credit is judged before the size", "credit",
        Frame("CALL", "MSG", "END", codec=1, fill=fill("a", e.WINDOW - 15)), stage="session",
        limits={"max_frame_body": 524_288, "max_message": 1}),
]

INVALID = (
    TYPES
    + LENGTHS
    + UNDEFINED_FLAGS
    + CLASHES
    + RESERVED
    + stream_ids()
    + VALUES
    + DIRECTIONS
    + PIECES
    + DEFINE_BODIES
    + NAMES
    + CALL_FAULTS
)
