"""Cases of metadata.json, protocol.md 5. The hex is the block with its length; the body ends behind it."""

from __future__ import annotations

from . import encode as e
from .meaning import Entry, Meta, invalid, valid

DESCRIPTION = "META blocks with their length, at the end of a body (protocol.md 5)."
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def good(ident: str, why: str, meta: Meta, limits: Entry | None = None) -> Entry:
    return valid(ident, why, meta.block(), meta.meaning(), fill=meta.fill, limits=limits)


def bad(ident: str, why: str, data: bytes, error: str = "metadata") -> Entry:
    return invalid(ident, why, data, error, "call")


def bad_entry(ident: str, why: str, *entries: bytes) -> Entry:
    return bad(ident, why, e.block(b"".join(entries)))


def every_common_key() -> Meta:
    meta = Meta()
    for key in e.COMMON_KEYS:
        meta.common(key, "v")
    return meta


def many(count: int) -> Meta:
    meta = Meta()
    for _ in range(count):
        meta.literal("k", "v")
    return meta


VALID = [
    good("meta-one-common", "a common key costs one byte", Meta().common("traceparent", TRACE)),
    good("meta-every-common-key", "all ten common keys, by number", every_common_key()),
    good("meta-literal", "a key that has no number", Meta().literal("tenant-id", "acme")),
    good("meta-literal-characters", "every sort of character a key may have", Meta().literal("a0_z.9-y", "1")),
    good("meta-binary", "a key ending in -bin has any bytes", Meta().binary("sig-bin", bytes((0, 0x1F, 0x80, 0xFF)))),
    good("meta-value-bounds", "the lowest and the highest byte of a text value", Meta().literal("k", " ~")),
    good("meta-key-255", "the longest key", Meta().literal("k" * 255, "v")),
    good("meta-value-127", "a length of one byte at its largest", Meta().literal("k", "v" * 127)),
    good("meta-value-128", "a length of two bytes at its least", Meta().literal("k", "v" * 128)),
    good("meta-equal-keys", "equal keys keep their order",
         Meta().literal("k", "1").common("baggage", "b").literal("k", "2")),
    good("meta-attempt", "the protocol's own: the second attempt", Meta().own("attempt", b"\x02", 2)),
    good("meta-attempt-300", "a varint of two bytes", Meta().own("attempt", e.varint(300), 300)),
    good("meta-attempt-largest", "the largest varint", Meta().own("attempt", b"\xff\xff\xff\xff\x0f", 2**32 - 1)),
    good("meta-mixed", "users' keys and the protocol's own together",
         Meta().own("attempt", b"\x01", 1).common("user-agent", "t/1").literal("x", "y")),
    good("meta-entries-128", "as many entries as the default limit allows", many(128)),
    good("meta-bytes-16384", "as many bytes as the default limit allows", Meta().filled("k", 16_384)),
    good("meta-entries-129-raised", "more entries, where the receiver allows them", many(129),
         limits={"max_metadata_entries": 129}),
    good("meta-bytes-16385-raised", "more bytes, where the receiver allows them", Meta().filled("k", 16_385),
         limits={"max_metadata_bytes": 20_000}),
]

DEGENERATE = [
    good("meta-empty", "a block of length 0 is legal", Meta()),
    good("meta-empty-value", "a value may be empty", Meta().literal("k", "").common("cookie", "")),
    good("meta-empty-binary", "a binary value may be empty", Meta().binary("k-bin", b"")),
    good("meta-spaces-kept", "nothing is trimmed", Meta().literal("k", "  v ")),
    good("meta-common-spelled-out", "the literal spelling of a common key means the same",
         Meta().literal("authorization", "Bearer x")),
    good("meta-common-both-ways", "by number and spelled out: one key, two values, in order",
         Meta().common("user-agent", "a").literal("user-agent", "b")),
    good("meta-own-spelled-out", "the literal spelling of an own key is an ordinary key",
         Meta().literal("attempt", "second")),
    good("meta-unknown-common", "unknown common numbers are dropped, but they count",
         Meta().unknown(0x0B, b"?").literal("k", "v").unknown(0x7F, b"")),
    good("meta-unknown-own", "unknown own numbers are dropped, but they count",
         Meta().unknown(0x80, b"?").unknown(0x84, b"?").unknown(0xFF, b"?")),
    good("meta-unknown-value-unread", "the value of an unknown number may be any bytes",
         Meta().unknown(0x0B, b"\x00\xff").unknown(0x84, b"\x00\xff")),
    good("meta-unknown-repeated", "unknown own numbers may be repeated",
         Meta().unknown(0x84, b"1").unknown(0x84, b"2")),
    good("meta-key-only-suffix", "the suffix alone is a binary key", Meta().binary("-bin", b"\x00")),
    good("meta-key-bin-inside", "-bin elsewhere than at the end makes no binary key", Meta().literal("a-bin-b", "v")),
    good("meta-key-dot", "one character is enough, even this one", Meta().literal(".", "v")),
]

LONG_BLOCK = e.varint(16_385)

INVALID = [
    bad("meta-no-length", "the body ends before the length", b""),
    bad("meta-length-unfinished", "the body ends inside the length", b"\x80"),
    bad("meta-length-not-shortest", "0 in two bytes", b"\x80\x00"),
    bad("meta-length-six-bytes", "a varint has at most five bytes", b"\x80\x80\x80\x80\x80\x01"),
    bad("meta-length-33-bits", "the fifth byte may hold four bits only", b"\x80\x80\x80\x80\x10"),
    bad("meta-length-past-body", "one byte more than the body has", b"\x05" + e.entry(b"k", b"")[:4]),
    bad("meta-length-lies", "4 GiB promised: no memory for it", b"\xff\xff\xff\xff\x0f" + e.entry(b"k", b"v")),
    bad("meta-over-limit-and-past-body", "past the body is found before over the limit", LONG_BLOCK + b"\x00"),
    {**bad("meta-bytes-16385", "one byte over the default limit: the entries are not read", LONG_BLOCK,
           "metadata_limit"), "fill": {"byte": "00", "count": 16_385}},
    bad("meta-entries-129", "one entry over the default limit", many(129).block(), "metadata_limit"),
    bad("meta-entries-129-unknown", "unknown numbers count",
        e.block(many(128).bytes + e.numbered(0x7F, b"")), "metadata_limit"),
    bad("meta-entry-129-broken", "the limit is found before the entry is read",
        e.block(many(128).bytes + b"\x00\x00"), "metadata_limit"),
    bad("meta-broken-before-limit", "the first fault from the left counts", e.block(b"\x00\x00" + many(128).bytes)),
    bad_entry("meta-key-byte-only", "an entry cut off behind its key byte", b"\x01"),
    bad_entry("meta-literal-cut-at-length", "an entry cut off before its key length", b"\x00"),
    bad_entry("meta-literal-cut-in-key", "an entry cut off inside its key", b"\x00\x03ab"),
    bad_entry("meta-literal-cut-before-value", "an entry cut off behind its key", b"\x00\x01k"),
    bad_entry("meta-value-cut", "an entry cut off inside its value", b"\x01\x04abc"),
    bad("meta-value-past-block", "a value may not borrow bytes that stand behind the block", b"\x03\x01\x02ab"),
    bad_entry("meta-second-entry-cut", "a good entry does not save a bad one", e.entry(b"k", b"v"), b"\x00\x01"),
    bad_entry("meta-unknown-value-cut", "an unknown number is dropped, not forgiven", b"\x84\x02a"),
    bad_entry("meta-key-length-0", "a literal key has at least one byte", e.entry(b"", b"v")),
    bad_entry("meta-key-length-256", "a literal key has at most 255 bytes", e.entry(b"k" * 256, b"v")),
    bad_entry("meta-key-length-not-shortest", "a length not in its shortest form", b"\x00\x81\x00k\x01v"),
    bad_entry("meta-value-length-not-shortest", "a length not in its shortest form", b"\x01\x81\x00v"),
    bad_entry("meta-value-length-six-bytes", "a length of six bytes", b"\x01\x81\x80\x80\x80\x80\x00v"),
    bad_entry("meta-key-upper-case", "keys are lower case", e.entry(b"Tenant", b"v")),
    bad_entry("meta-key-space", "no space in a key", e.entry(b"a b", b"v")),
    bad_entry("meta-key-colon", "no pseudo-headers here", e.entry(b":path", b"v")),
    bad_entry("meta-key-nul", "no control bytes in a key", e.entry(b"k\x00", b"v")),
    bad_entry("meta-key-not-ascii", "no UTF-8 in a key", e.entry("ü".encode(), b"v")),
    bad_entry("meta-value-newline", "no line breaks in a text value", e.entry(b"k", b"a\r\nb: c")),
    bad_entry("meta-value-nul", "no control bytes in a text value", e.entry(b"k", b"\x00")),
    bad_entry("meta-value-0x1f", "one below the lowest byte", e.entry(b"k", b"\x1f")),
    bad_entry("meta-value-0x7f", "one above the highest byte", e.entry(b"k", b"\x7f")),
    bad_entry("meta-value-not-ascii", "UTF-8 goes into a -bin key", e.entry(b"k", "ü".encode())),
    bad_entry("meta-common-value-not-ascii", "common keys have text values", e.common("cookie", b"\x80")),
    bad_entry("meta-common-spelled-out-bad-value", "and so have their literal spellings", e.entry(b"b3", b"\x80")),
    bad_entry("meta-attempt-0", "the first attempt is 1", e.own("attempt", b"\x00")),
    bad_entry("meta-attempt-empty", "no varint at all", e.own("attempt", b"")),
    bad_entry("meta-attempt-tail", "the varint fills its length", e.own("attempt", b"\x01\x00")),
    bad_entry("meta-attempt-not-shortest", "a varint in its shortest form only", e.own("attempt", b"\x81\x00")),
    bad_entry("meta-attempt-unfinished", "a varint that does not end", e.own("attempt", b"\x81")),
    bad_entry("meta-attempt-twice", "an own key at most once", e.own("attempt", b"\x01"), e.own("attempt", b"\x02")),
]
