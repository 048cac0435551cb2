"""Metadata as fields of HTTP, which fields are none, and the names and times that fields have (http.md 3 to 5)."""

from __future__ import annotations

import binascii
from base64 import b64encode
from collections.abc import Iterable, Sequence
from urllib.parse import unquote_to_bytes

from trunkcall.wire import Code, Metadata

from .refusal import Refusal

Fields = list[tuple[str, str]]

FIELD_COST = 32  # of a field in a header list, beside name and value (RFC 9113 6.5.2)
DELIVERY = "trunk-delivery"
DETAILS = "grpc-status-details-bin"
_OF_HTTP = frozenset(
    (
        "content-type",
        "content-length",
        "accept-encoding",
        "host",
        "te",
        "trailer",
        "expect",
        "connection",
        "proxy-connection",
        "keep-alive",
        "transfer-encoding",
        "upgrade",
        "http2-settings",
    )
)
_OF_GRPC = frozenset(
    (
        "grpc-timeout",
        "grpc-encoding",
        "grpc-accept-encoding",
        "grpc-message-type",
        "grpc-status",
        "grpc-message",
        DETAILS,
    )
)
_OF_WEB = frozenset(("content-encoding", "accept", "x-grpc-web", "x-user-agent"))
_NO_METADATA = _OF_HTTP | _OF_GRPC
ENCODINGS = ("identity", "gzip", "zstd")  # by the numbers of compressions
_FOREVER = 1 << 62
_GRPC_UNITS = {"H": 3_600_000_000, "M": 60_000_000, "S": 1_000_000, "m": 1_000, "u": 1}


class Request:
    """The head of a request. Names of fields are in lower case."""

    __slots__ = ("_first", "fields", "length", "method", "path", "query", "raw_path")

    def __init__(self, method: str, target: str, fields: Fields, length: int) -> None:
        """`length` is that of the body, -1: not said. `target` may be a whole URL, as proxies are sent."""
        if not target.startswith("/") and "://" in target:
            target = "/" + target.split("://", 1)[1].partition("/")[2]
        path, _, self.query = target.partition("?")
        self.method = method
        self.raw_path = path
        self.path = decoded_path(path) if "%" in path else path
        self.fields = fields
        self.length = length
        self._first = dict(reversed(fields))

    def first(self, name: str) -> str:
        """The value of a field, the first of several; "" without one."""
        return self._first.get(name, "")

    def all(self, name: str) -> list[str]:
        if name not in self._first:
            return []
        return [value for key, value in self.fields if key == name]

    def joined(self, name: str) -> str:
        """A list that may stand in several fields."""
        return ",".join(self.all(name))


def decoded_path(path: str) -> str:
    try:
        return unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        return path


def parsed_query(query: str) -> dict[str, bytes] | None:
    """The first value of each parameter; None if the query is malformed."""
    found: dict[str, bytes] = {}
    for part in query.split("&"):
        if not part:
            continue
        name, _, value = part.partition("=")
        for text in (name, value):
            at = text.find("%")
            while at >= 0:
                if len(digits := text[at + 1 : at + 3]) != 2 or not all(c in "0123456789abcdefABCDEF" for c in digits):
                    return None
                at = text.find("%", at + 3)
        plain = unquote_to_bytes(name.replace("+", " ")).decode("utf-8", "replace")
        found.setdefault(plain, unquote_to_bytes(value.replace("+", " ")))
    return found


def read_metadata(request: Request, grpc: bool) -> Metadata:
    """What is metadata of a request's fields. Raises Refusal."""
    entries: list[tuple[str, str | bytes]] = []
    hop = {one.strip().lower() for one in request.joined("connection").split(",")}
    for key, value in request.fields:
        if key in _NO_METADATA or key in hop:
            continue
        if not grpc and (key in _OF_WEB or key.startswith("connect-")):
            continue
        if key.endswith("-bin"):
            for one in value.split(","):
                try:
                    entries.append((key, from_base64(one.strip())))
                except ValueError:
                    raise Refusal(Code.INVALID_ARGUMENT, f'the value of "{key}" is not base64') from None
        else:
            entries.append((key, value))
    return Metadata(entries)


def from_base64(text: str) -> bytes:
    """Decodes base64 with or without padding. Raises ValueError."""
    text = text.rstrip("=")
    return binascii.a2b_base64(text + "=" * (-len(text) % 4), strict_mode=True)


def to_base64(value: bytes) -> str:
    """Base64 without padding."""
    return b64encode(value).decode("ascii").rstrip("=")


def _value(value: str | bytes) -> str:
    return value.strip(" ") if isinstance(value, str) else to_base64(bytes(value))  # no field ends with a space


def grpc_fields(metadata: Metadata | None) -> Fields:
    """The metadata of an answer over gRPC."""
    if metadata is None:
        return []
    return [(key, _value(value)) for key, value in _typed(metadata) if not _reserved(key)]


def web_fields(metadata: Metadata | None, prefix: str = "") -> Fields:
    """The same over the other protocols, with `prefix` before each name."""
    if metadata is None:
        return []
    return [
        (prefix + key, _value(value))
        for key, value in _typed(metadata)
        if not (_reserved(key) or key in _OF_WEB or key in _OF_GRPC or key.startswith("connect-"))
    ]


def _typed(metadata: Metadata) -> Iterable[tuple[str, str | bytes]]:
    """Texts may be given as bytes."""
    for key, value in metadata.entries:
        yield key, value if key.endswith("-bin") or isinstance(value, str) else bytes(value).decode("ascii")


def _reserved(key: str) -> bool:
    """Whether a key of an answer's metadata would be taken for something else."""
    return key in _OF_HTTP or key in (DELIVERY, DETAILS) or (key.startswith("grpc-") and not key.endswith("-bin"))


def size(fields: Sequence[tuple[str, str]]) -> int:
    """What fields come to in a header list (RFC 9113 6.5.2)."""
    return sum(len(name) + len(value) + FIELD_COST for name, value in fields)


# Compressions.


def listed_encodings(numbers: Iterable[int]) -> str:
    return ",".join([ENCODINGS[0], *(ENCODINGS[one] for one in sorted(numbers) if one < len(ENCODINGS))])


def accepted_encodings(text: str) -> frozenset[int]:
    """The numbers of the compressions that a field lists, unless it says that one is not wanted."""
    found: set[int] = set()
    for one in text.split(","):
        name, _, parameter = one.partition(";")
        number = encoding_number(name.strip())
        parameter = parameter.strip()
        if number and not (parameter.startswith("q=") and not parameter[2:].strip("0.")):
            found.add(number)
    return frozenset(found)


def encoding_number(name: str) -> int:
    """0 for one that is not known."""
    return ENCODINGS.index(name) if name in ENCODINGS else 0


# Times.


def grpc_timeout(text: str) -> int:
    """µs, at least 1 unless it says 0. Raises ValueError."""
    digits, unit = text[:-1], text[-1:]
    if not 1 <= len(digits) <= 8 or not digits.isascii() or not digits.isdigit():
        raise ValueError(text)
    number = int(digits)
    if unit == "n":
        return -(-number // 1_000)
    if unit not in _GRPC_UNITS:
        raise ValueError(text)
    return min(number * _GRPC_UNITS[unit], _FOREVER)


def connect_timeout(text: str) -> int:
    """µs. Raises ValueError."""
    if not 1 <= len(text) <= 10 or not text.isascii() or not text.isdigit():
        raise ValueError(text)
    return int(text) * 1_000
