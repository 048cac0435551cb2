"""Cases of status.json, protocol.md 6."""

from __future__ import annotations

from . import encode as e
from .meaning import Entry, invalid, status_meaning, valid

DESCRIPTION = "Status payloads of a RESULT whose status is not OK (protocol.md 6)."
URL = "type.googleapis.com/google.rpc.ResourceInfo"


def good(ident: str, why: str, message: str, *details: tuple[str, bytes]) -> Entry:
    data = e.status(message.encode(), *((url.encode(), value) for url, value in details))
    return valid(ident, why, data, status_meaning(message, *details))


def odd(ident: str, why: str, data: bytes, message: str, *details: tuple[str, bytes]) -> Entry:
    return valid(ident, why, data, status_meaning(message, *details))


def bad(ident: str, why: str, data: bytes) -> Entry:
    return invalid(ident, why, data, "status", "call")


VALID = [
    good("status-message", "a message without details", "no such user"),
    good("status-one-detail", "a message and one detail", "no such user", (URL, b"\x0a\x04user\x12\x017")),
    good("status-two-details", "details keep their order", "m", ("a/x", b"\x01"), ("a/y", b"\x02\x03")),
    good("status-unicode", "messages are UTF-8", "Größe überschritten ☎"),
    good("status-message-127", "a length of one byte at its largest", "m" * 127),
    good("status-message-128", "a length of two bytes at its least", "m" * 128),
    good("status-detail-128", "a detail whose value has a length of two bytes", "m", ("t", b"\x00" * 128)),
]

DEGENERATE = [
    odd("status-empty-payload", "nothing at all: empty message, no details", b"", ""),
    good("status-empty-message", "the same, spelled out", ""),
    good("status-detail-without-message", "a detail needs no message", "", ("t", b"v")),
    good("status-detail-empty-value", "a message type without fields encodes to nothing", "m", ("t", b"")),
    good("status-detail-empty", "neither type URL nor value", "m", ("", b"")),
    good("status-equal-details", "equal details are kept", "m", ("t", b"v"), ("t", b"v")),
    good("status-details-200", "a count of two bytes", "m", *[("t", b"")] * 200),
    good("status-message-nul", "control characters are for the one who shows it to escape", "a\x00\nb"),
    odd("status-message-not-utf-8", "an invalid byte becomes U+FFFD, never a failure", e.status(b"a\xffb"), "a\ufffdb"),
    odd("status-type-url-not-utf-8", "so it does in a type URL", e.status(b"m", (b"t\xff", b"v")), "m",
        ("t\ufffd", b"v")),
]

INVALID = [
    bad("status-length-only", "the message is missing", b"\x05"),
    bad("status-message-cut", "the message is cut off", b"\x05abcd"),
    bad("status-no-count", "the number of details is missing", b"\x01m"),
    bad("status-count-unfinished", "the payload ends inside the number of details", b"\x01m\x80"),
    bad("status-count-lies", "4 billion details promised: no memory for them", b"\x01m\xff\xff\xff\xff\x0f"),
    bad("status-detail-missing", "one detail of two", b"\x01m\x02\x01t\x01v"),
    bad("status-type-url-cut", "a type URL is cut off", b"\x01m\x01\x03ty"),
    bad("status-no-value-length", "a detail ends behind its type URL", b"\x01m\x01\x01t"),
    bad("status-value-cut", "a value is cut off", b"\x01m\x01\x01t\x02v"),
    bad("status-value-lies", "a value of 4 GiB promised", b"\x01m\x01\x01t\xff\xff\xff\xff\x0fv"),
    bad("status-trailing-byte", "it fills the payload exactly", b"\x01m\x00\x00"),
    bad("status-message-length-not-shortest", "a varint in its shortest form only", b"\x81\x00m\x00"),
    bad("status-message-length-33-bits", "a varint is below 2^32", b"\x80\x80\x80\x80\x10"),
    bad("status-message-length-six-bytes", "a varint has at most five bytes", b"\x81\x80\x80\x80\x80\x00m\x00"),
    bad("status-count-not-shortest", "no details, in two bytes", b"\x01m\x80\x00"),
]
