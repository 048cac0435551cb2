"""Status codes, deliveries (status.md 1 and 2) and the payload of an error RESULT (protocol.md 6)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from math import ceil

from .fault import CallFault
from .varint import read_varint, varint

LONGEST = 0xFFFFFFFF  # ms that RESULT and CALL can tell


class Code(IntEnum):
    """gRPC's codes."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class Delivery(StrEnum):
    """What is known of the handler when a call has ended (status.md 2)."""

    NOT_SENT = "not_sent"
    REFUSED = "refused"
    EXECUTED = "executed"
    UNKNOWN = "unknown"


@dataclass(slots=True, frozen=True)
class Status:
    """How a call ended. `details` are pairs of type URL and value. `retry_after` is in seconds and counts with
    delivery `refused` only; `stripped` says that the sender dropped details or shortened the message; `local` that the
    caller's side found the failure, no answer brought it."""

    code: Code
    message: str = ""
    details: tuple[tuple[str, bytes], ...] = ()
    delivery: Delivery = Delivery.UNKNOWN
    retry_after: float = 0.0
    stripped: bool = False
    local: bool = False


OK = Status(Code.OK, delivery=Delivery.EXECUTED)
MALFORMED = "malformed status payload"


def local_status(code: Code, message: str, delivery: Delivery) -> Status:
    """What the caller's side says of a call for which no answer speaks."""
    return Status(code, message, (), delivery, local=True)


def read_payload(data: bytes, start: int, end: int) -> tuple[str, tuple[tuple[str, bytes], ...]]:
    """Message and details of the payload data[start:end]. Raises CallFault `status`."""
    if start == end:
        return "", ()
    message, at = _read_bytes(data, start, end)
    count, at = read_varint(data, at, end)
    if count < 0:
        raise CallFault("status", "the number of details is unreadable")
    details: list[tuple[str, bytes]] = []
    while len(details) < count:
        url, at = _read_bytes(data, at, end)
        value, at = _read_bytes(data, at, end)
        details.append((url.decode("utf-8", "replace"), value))
    if at != end:
        raise CallFault("status", "bytes behind the last detail")
    return message.decode("utf-8", "replace"), tuple(details)


def _read_bytes(data: bytes, at: int, end: int) -> tuple[bytes, int]:
    length, at = read_varint(data, at, end)
    if length < 0 or length > end - at:
        raise CallFault("status", "a part is cut off or its length malformed")
    return bytes(data[at : at + length]), at + length


def payload(message: str, details: tuple[tuple[str, bytes], ...], room: int) -> tuple[bytes, bool]:
    """The payload in at most `room` bytes, and whether details or text were dropped for it (protocol.md 6)."""
    if not message and not details:
        return b"", False
    text = message.encode("utf-8", "replace")
    parts = [varint(len(text)), text, varint(len(details))]
    for url, value in details:
        spelled = url.encode("utf-8", "replace")
        parts += (varint(len(spelled)), spelled, varint(len(value)), value)
    if sum(map(len, parts)) <= room:
        return b"".join(parts), False
    if len(text) > room - 6:
        text = text[: max(room - 6, 0)].decode("utf-8", "ignore").encode()
    return varint(len(text)) + text + b"\0", True


def milliseconds(seconds: float) -> int:
    """A time to come back as RESULT tells it: the nearest that can be told, but 0 for none alone."""
    return ceil(max(0.0, min(seconds * 1_000 - 1e-6, LONGEST)))
