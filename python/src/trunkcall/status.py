"""How calls end, for users: StatusError beside the wire's Status (spec/status.md)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import DecodeError, Message

from .values import Misfit
from .wire import Code, Delivery, Status, local_status

M = TypeVar("M", bound=Message)

Metadata = Sequence[tuple[str, str | bytes]]
"""What travels beside a call's messages: pairs in order, keys in lower case. Values of keys that end in "-bin" are
bytes, all others printable ASCII."""


def pairs(metadata: Metadata | None) -> list[tuple[str, str | bytes]]:
    """A copy of metadata as a list. Raises TypeError for what is none, such as a mapping, of which a list would have
    the keys only. What is wrong with an entry is told where it is written."""
    if isinstance(metadata, Mapping):
        raise TypeError("metadata are pairs, of which several may have one key: give list(metadata.items())")
    if isinstance(metadata, str | bytes) or not hasattr(metadata or (), "__iter__"):
        raise TypeError(f'metadata are pairs, not {type(metadata).__name__}: give [("key", "value")]')
    return list(metadata or ())


_SAID = {
    Delivery.EXECUTED: "",
    Delivery.UNKNOWN: " (delivery unknown)",
    Delivery.NOT_SENT: " (not sent)",
    Delivery.REFUSED: " (refused)",
}


class StatusError(Exception):
    """A call that failed. Handlers raise it to choose the code, the message and the details that the caller sees.

    `details` are messages of Protobuf; `detail` finds one by its type. `trailer` is the metadata that came with the
    failure, or that goes with it; at the caller `header` is what came ahead of it and `peer` the address of the side
    that answered. If a server's admission or interceptor raises it instead of going on, the call is
    refused, and may be made again after `retry_after` seconds (0: never)."""

    def __init__(
        self,
        code: Code | int,
        message: str = "",
        details: Iterable[Message] = (),
        trailer: Metadata = (),
        retry_after: float = 0.0,
    ) -> None:
        found = tuple(packed(one) for one in details)
        self.status = Status(Code(code), message, found, retry_after=retry_after)
        self.trailer: Metadata = trailer
        self.header: Metadata = ()
        self.peer = ""
        super().__init__(code, message)

    @classmethod
    def of(cls, status: Status, trailer: Metadata = (), header: Metadata = (), peer: str = "") -> StatusError:
        """The error for a status that is not OK."""
        error = cls.__new__(cls)
        error.status = status
        error.trailer = trailer
        error.header = header
        error.peer = peer
        Exception.__init__(error, status.code, status.message)
        return error

    @property
    def code(self) -> Code:
        """Which of the sixteen kinds of failure it is."""
        return self.status.code

    @property
    def message(self) -> str:
        """What went wrong, for people."""
        return self.status.message

    @property
    def details(self) -> tuple[AnyMessage, ...]:
        """What the failed side says besides, as it came; `detail` gives one as a message."""
        return tuple(AnyMessage(type_url=url, value=value) for url, value in self.status.details)

    def detail(self, kind: type[M]) -> M | None:
        """The first detail of a type of messages, `error.detail(BadRequest)`; None if there is none, or what is there
        is no such message."""
        wanted = kind.DESCRIPTOR.full_name
        for url, value in self.status.details:
            if url.rpartition("/")[2] == wanted:
                try:
                    return kind.FromString(value)
                except DecodeError:
                    return None
        return None

    @property
    def delivery(self) -> Delivery:
        """Whether the handler ran. Only `not_sent` and `refused` are safe to repeat blindly (spec/status.md 2)."""
        return self.status.delivery

    @property
    def local(self) -> bool:
        """Whether the caller's side found the failure itself; no answer brought it."""
        return self.status.local

    @property
    def retry_after(self) -> float:
        """Of a refusal: after how many seconds the same server may be asked again; 0: never."""
        return self.status.retry_after

    def __str__(self) -> str:
        return f"{self.code.name}: {self.message}{_SAID[self.delivery]}"

    def __reduce__(self) -> tuple[object, ...]:
        return (StatusError.of, (self.status, tuple(self.trailer), tuple(self.header), self.peer))


def packed(detail: Message) -> tuple[str, bytes]:
    """A detail as the wire has it: type URL and bytes."""
    if isinstance(detail, AnyMessage):
        return detail.type_url, detail.value
    return f"type.googleapis.com/{detail.DESCRIPTOR.full_name}", detail.SerializeToString()


def failure(code: Code, message: str, delivery: Delivery) -> StatusError:
    """A failure that this side itself found."""
    return StatusError.of(local_status(code, message, delivery))


def told(error: Exception, code: Code, text: str) -> tuple[Code, str]:
    """What a codec's exception makes of a call: `code` and `text`, unless it says itself what is wrong."""
    if isinstance(error, Misfit):
        return Code.RESOURCE_EXHAUSTED if error.limit else code, str(error)
    return code, text


def unwritten(error: Exception, text: str) -> tuple[Code, str]:
    """What a request that cannot be written makes of its call: INTERNAL and `text`, unless the codec says what is
    wrong with the arguments."""
    return told(error, Code.INVALID_ARGUMENT if isinstance(error, Misfit) else Code.INTERNAL, text)


def spelled(error: BaseException) -> str:
    """An exception in a line, with its type: the text of a KeyError is a key and no more."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


_BY_PROMISE = (Delivery.EXECUTED, Delivery.UNKNOWN, Delivery.REFUSED, Delivery.NOT_SENT)  # that of the least first


def least(*deliveries: Delivery) -> Delivery:
    """The delivery that promises least: whoever is told it repeats the call least."""
    return min(deliveries, key=_BY_PROMISE.index)


@dataclasses.dataclass(slots=True)
class Attempts:
    """What became of a call each time that its interceptors went on."""

    went_on: bool = False
    _under_way: int = 0
    _ended: Delivery = Delivery.NOT_SENT  # that promises least, of those that ended

    @property
    def delivery(self) -> Delivery:
        """What the call has, of several attempts (client.md 5)."""
        return least(self._ended, Delivery.UNKNOWN) if self._under_way else self._ended

    def begin(self) -> None:
        self.went_on = True
        self._under_way += 1

    def end(self, delivery: Delivery) -> None:
        self._under_way -= 1
        self._ended = least(self._ended, delivery)


def intercepted(error: Exception, went_on: bool, delivery: Delivery) -> StatusError:
    """What a call ends with for which an interceptor of the caller's side raised `error`; `delivery` is that of its
    attempts, whatever the error says. Without going on, nothing of the call was sent; what is no StatusError says
    nothing about the handler (client.md 5)."""
    if not isinstance(error, StatusError):
        code = Code.DEADLINE_EXCEEDED if isinstance(error, TimeoutError) else Code.UNKNOWN
        return failure(code, spelled(error), Delivery.UNKNOWN if went_on else Delivery.NOT_SENT)
    if went_on and error.delivery is delivery:
        return error
    made = type(error).__new__(type(error))
    made.__dict__.update(error.__dict__)
    made.args = error.args
    made.status = dataclasses.replace(error.status, delivery=delivery, local=error.local or not went_on)
    return made
