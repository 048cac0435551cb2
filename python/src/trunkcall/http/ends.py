"""How calls end, as each protocol tells it (http.md 3 and 5)."""

from __future__ import annotations

import dataclasses
import json
from math import ceil
from typing import Any

from trunkcall.wire import Code, Delivery, Metadata, Status

from .fields import DELIVERY, DETAILS, Fields, grpc_fields, size, to_base64, web_fields

_SHORT = 128  # characters of a message that does not fit
_HTTP = {
    Code.OK: 200,
    Code.CANCELLED: 499,
    Code.INVALID_ARGUMENT: 400,
    Code.FAILED_PRECONDITION: 400,
    Code.OUT_OF_RANGE: 400,
    Code.DEADLINE_EXCEEDED: 504,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.ABORTED: 409,
    Code.PERMISSION_DENIED: 403,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.UNIMPLEMENTED: 501,
    Code.UNAVAILABLE: 503,
    Code.UNAUTHENTICATED: 401,
}


# gRPC.


def grpc_end(status: Status, trailers: Metadata | None) -> Fields:
    """The trailers of a call."""
    fields = [("grpc-status", str(int(status.code)))]
    if status.code:
        if status.message:
            fields.append(("grpc-message", percent_encoded(status.message)))
        if status.details:
            fields.append((DETAILS, to_base64(rpc_status(status))))
        if status.delivery is not Delivery.EXECUTED:
            fields.append((DELIVERY, status.delivery.value))
        after = _retry_after(status)
        if after:
            fields.append(("grpc-retry-pushback-ms", str(after)))
    return fields + grpc_fields(trailers)


def fitting_end(status: Status, trailers: Metadata | None, most: int) -> Fields:
    """The same, short enough for a peer that takes so many bytes."""
    fields = grpc_end(status, trailers)
    if size(fields) > most:
        status = dataclasses.replace(status, details=())
        fields = grpc_end(status, trailers)
    if size(fields) > most:
        fields = grpc_end(dataclasses.replace(status, message=status.message[:_SHORT]), None)
    return fields


def _retry_after(status: Status) -> int:
    """ms; 0: not said."""
    if status.delivery is not Delivery.REFUSED or status.retry_after <= 0:
        return 0
    return max(ceil(status.retry_after * 1_000 - 1e-6), 1)


def percent_encoded(text: str) -> str:
    """As in grpc-message: what is not printable ASCII, and %; no field begins or ends with a space."""
    data = text.encode("utf-8", "replace")
    last = len(data) - 1
    return "".join(
        chr(one) if 0x20 <= one <= 0x7E and one != 0x25 and not (one == 0x20 and at in (0, last)) else f"%{one:02X}"
        for at, one in enumerate(data)
    )


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _field(number: int, value: bytes) -> bytes:
    return bytes((number << 3 | 2,)) + _varint(len(value)) + value


def rpc_status(status: Status) -> bytes:
    """A google.rpc.Status: code 1, message 2, details 3, each an Any of type URL 1 and value 2."""
    parts = [b"\x08", _varint(int(status.code))]
    if status.message:
        parts.append(_field(2, status.message.encode("utf-8", "replace")))
    for url, value in status.details:
        parts.append(_field(3, _field(1, url.encode("utf-8", "replace")) + (_field(2, value) if value else b"")))
    return b"".join(parts)


def web_end(status: Status, trailers: Metadata | None) -> bytes:
    """The last message of gRPC-Web."""
    lines = [f"{name}: {value}\r\n" for name, value in grpc_end(status, trailers)]
    return "".join(lines).encode("latin-1", "replace")


# Connect.


def http_status(code: Code) -> int:
    """The status of HTTP that goes with a code."""
    return _HTTP.get(code, 500)


def _error(status: Status) -> dict[str, Any]:
    name = "canceled" if status.code is Code.CANCELLED else status.code.name.lower()
    error: dict[str, Any] = {"code": name}
    if status.message:
        error["message"] = status.message.encode("utf-8", "replace").decode()
    if status.details:
        error["details"] = [
            {"type": url.rpartition("/")[2].encode("utf-8", "replace").decode(), "value": to_base64(value)}
            for url, value in status.details
        ]
    return error


def connect_error(status: Status) -> bytes:
    """The body of the answer to a unary call that failed."""
    return _json(_error(status))


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def connect_end(status: Status, trailers: Metadata | None) -> bytes:
    """The last message of a stream."""
    end: dict[str, Any] = {"error": _error(status)} if status.code else {}
    metadata: dict[str, list[str]] = {}
    for name, value in web_fields(trailers) + delivery_fields(status):
        metadata.setdefault(name, []).append(value)
    if metadata:
        end["metadata"] = metadata
    return _json(end)


def delivery_fields(status: Status) -> Fields:
    """Tells of a failure whether its handler ran, and when it may be tried again."""
    fields: Fields = []
    if status.code:
        if status.delivery is not Delivery.EXECUTED:
            fields.append((DELIVERY, status.delivery.value))
        if after := _retry_after(status):
            fields.append(("retry-after", str(-(-after // 1_000))))
    return fields
