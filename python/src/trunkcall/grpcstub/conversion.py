"""Statuses and metadata between the two worlds (spec/status.md 4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, cast

import grpc
import grpc.aio
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory

from trunkcall import Code, Status
from trunkcall.status import StatusError

DETAILS_KEY = "grpc-status-details-bin"
Entries = list[tuple[str, str | bytes]]

LOCALLY_CANCELLED = "Locally cancelled by application!"  # what grpcio says, and programs look for

CODES = {code.value[0]: code for code in grpc.StatusCode}


class Entry(NamedTuple):
    """One pair of metadata."""

    key: str
    value: str | bytes


def _status_message() -> Any:
    """google.rpc.Status, in a pool of its own, as the users' programs may have the standard one or not."""
    file = descriptor_pb2.FileDescriptorProto(
        name="trunkcall_status.proto", package="google.rpc", syntax="proto3", dependency=["google/protobuf/any.proto"]
    )
    message = file.message_type.add(name="Status")
    field = descriptor_pb2.FieldDescriptorProto
    message.field.add(name="code", number=1, type=field.TYPE_INT32, label=field.LABEL_OPTIONAL)
    message.field.add(name="message", number=2, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    message.field.add(
        name="details",
        number=3,
        type=field.TYPE_MESSAGE,
        label=field.LABEL_REPEATED,
        type_name=".google.protobuf.Any",
    )
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(any_pb2.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("google.rpc.Status"))


_RPC_STATUS = _status_message()


def details_entry(status: Status) -> bytes:
    """A status as the bytes of google.rpc.Status."""
    message = _RPC_STATUS(code=int(status.code), message=status.message)
    for url, value in status.details:
        message.details.add(type_url=url, value=value)
    return cast(bytes, message.SerializeToString())


def entries(metadata: Any) -> Entries:
    """Metadata as users of gRPC give it: pairs, or a grpc.aio.Metadata; None is none."""
    return [] if not metadata else [(key, value) for key, value in metadata]


def to_metadata(found: Iterable[tuple[str, str | bytes]]) -> grpc.aio.Metadata:
    return grpc.aio.Metadata(*found)


def to_entries(found: Iterable[tuple[str, str | bytes]]) -> tuple[Entry, ...]:
    """Metadata as blocking code has it."""
    return tuple(Entry(key, value) for key, value in found)


def with_details(status: Status, trailer: Iterable[tuple[str, str | bytes]]) -> Entries:
    """Trailers as grpcio has them: the details stand among them."""
    found = [*trailer]
    if status.details:
        found.append((DETAILS_KEY, details_entry(status)))
    return found


def trailing(status: Status, trailer: Iterable[tuple[str, str | bytes]]) -> grpc.aio.Metadata:
    return to_metadata(with_details(status, trailer))


def failed(code: grpc.StatusCode | int, details: str, trailer: Iterable[tuple[str, str | bytes]] = ()) -> StatusError:
    """The failure that a servicer has asked for. Details in the trailers become the status's own."""
    number = code.value[0] if isinstance(code, grpc.StatusCode) else int(code)
    rest: Entries = []
    found: tuple[tuple[str, bytes], ...] = ()
    for key, value in trailer:
        if key == DETAILS_KEY and isinstance(value, bytes):
            message = _RPC_STATUS.FromString(value)
            found = tuple((detail.type_url, detail.value) for detail in message.details)
        else:
            rest.append((key, value))
    known = Code(number) if 0 < number <= 16 else Code.UNKNOWN
    return StatusError.of(Status(known, details or "", found), rest)


class CallError(grpc.aio.AioRpcError):
    """A failed call as callers of gRPC stubs know it. `delivery` says whether the handler ran (spec/status.md 2)."""

    def __init__(self, error: StatusError, header: Iterable[tuple[str, str | bytes]] = ()) -> None:
        status = error.status
        super().__init__(
            CODES[int(status.code)],
            to_metadata(header),
            trailing(status, error.trailer),
            status.message,
            str(error),
        )
        self.status = status
        self.delivery = status.delivery

    def __reduce__(self) -> Any:
        return copied(type(self), self.status, self.trailing_metadata(), self.initial_metadata())


def copied(kind: Any, status: Status, trailer: Any, header: Any) -> Any:
    """What makes the copy of a CallError, as pickle wants it."""
    kept = [(key, value) for key, value in trailer if key != DETAILS_KEY]
    return (_restored, (kind, status, kept, [*map(tuple, header)]))


def _restored(kind: Any, status: Status, trailer: Entries, header: Entries) -> Any:
    return kind(StatusError.of(status, trailer), header)
