"""How calls end, for users: StatusError beside the wire's Status (spec/status.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message

from .wire import Code, Delivery, Status

Metadata = Sequence[tuple[str, str | bytes]]
"""What travels beside a call's messages: pairs in order, keys in lower case. Values of keys that end in "-bin" are
bytes, all others printable ASCII."""


def pairs(metadata: Metadata | None) -> list[tuple[str, str | bytes]]:
    """Metadata as a list of one's own. Raises TypeError for a mapping, which would give its keys only."""
    if isinstance(metadata, Mapping):
        raise TypeError("metadata are pairs, of which several may have one key: give list(metadata.items())")
    return list(metadata or ())


class StatusError(Exception):
    """A call that failed. Handlers raise it to choose the code, the message and the details that the caller sees.

    `details` are messages, or Any. `trailer` is the metadata that came with the failure, or that goes with it."""

    def __init__(
        self, code: Code | int, message: str = "", details: Iterable[Message] = (), trailer: Metadata = ()
    ) -> None:
        self.status = Status(Code(code), message, tuple(packed(detail) for detail in details))
        self.trailer: Metadata = trailer
        super().__init__(code, message)

    @classmethod
    def of(cls, status: Status, trailer: Metadata = ()) -> StatusError:
        """The error for a status that is not OK."""
        error = cls.__new__(cls)
        error.status = status
        error.trailer = trailer
        Exception.__init__(error, status.code, status.message)
        return error

    @property
    def code(self) -> Code:
        return self.status.code

    @property
    def message(self) -> str:
        return self.status.message

    @property
    def details(self) -> tuple[AnyMessage, ...]:
        return tuple(AnyMessage(type_url=url, value=value) for url, value in self.status.details)

    @property
    def delivery(self) -> Delivery:
        """Whether the handler ran. Only `not_sent` and `refused` are safe to repeat blindly (spec/status.md 2)."""
        return self.status.delivery

    @property
    def retry_after(self) -> int:
        """Of a refusal: after how many milliseconds the same server may be asked again; 0: never."""
        return self.status.retry_after

    def __str__(self) -> str:
        text = f"{self.code.name}: {self.message}"
        return text if self.delivery is Delivery.EXECUTED else f"{text} ({self.delivery})"

    def __reduce__(self) -> tuple[object, ...]:
        return (StatusError.of, (self.status, tuple(self.trailer)))


def packed(detail: Message) -> tuple[str, bytes]:
    """A detail as the wire has it: type URL and bytes."""
    if isinstance(detail, AnyMessage):
        return detail.type_url, detail.value
    return f"type.googleapis.com/{detail.DESCRIPTOR.full_name}", detail.SerializeToString()


def failure(code: Code, message: str, delivery: Delivery) -> StatusError:
    """A failure that this side itself found."""
    return StatusError.of(Status(code, message, (), delivery))
