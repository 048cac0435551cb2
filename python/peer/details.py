"""The standard details of a status, google.rpc, as message classes.

They are made here, in a pool of their own, because the package that has them generated is one that nothing else here
needs; a program that uses that package is not in their way.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import any_pb2, duration_pb2, message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message

# By message: its fields in the order of their numbers, which begin at 1. [] is repeated, {} a map of strings, a name
# with a dot or a capital another message.
SHAPES: dict[str, dict[str, str]] = {
    "Status": {"code": "int32", "message": "string", "details": "google.protobuf.Any[]"},
    "ErrorInfo": {"reason": "string", "domain": "string", "metadata": "{}"},
    "RetryInfo": {"retry_delay": "google.protobuf.Duration"},
    "DebugInfo": {"stack_entries": "string[]", "detail": "string"},
    "QuotaFailure": {"violations": "QuotaFailure.Violation[]"},
    "QuotaFailure.Violation": {"subject": "string", "description": "string"},
    "PreconditionFailure": {"violations": "PreconditionFailure.Violation[]"},
    "PreconditionFailure.Violation": {"type": "string", "subject": "string", "description": "string"},
    "BadRequest": {"field_violations": "BadRequest.FieldViolation[]"},
    "BadRequest.FieldViolation": {
        "field": "string",
        "description": "string",
        "reason": "string",
        "localized_message": "LocalizedMessage",
    },
    "RequestInfo": {"request_id": "string", "serving_data": "string"},
    "ResourceInfo": {"resource_type": "string", "resource_name": "string", "owner": "string", "description": "string"},
    "Help": {"links": "Help.Link[]"},
    "Help.Link": {"description": "string", "url": "string"},
    "LocalizedMessage": {"locale": "string", "message": "string"},
}
PACKAGE = "google.rpc"
SCALARS = {"string": FieldDescriptorProto.TYPE_STRING, "int32": FieldDescriptorProto.TYPE_INT32}


def shape_message(into: DescriptorProto, full_name: str, fields: dict[str, str]) -> None:
    into.name = full_name.rpartition(".")[2]
    for number, (name, kind) in enumerate(fields.items(), 1):
        repeated = kind.endswith("[]") or kind == "{}"
        field = into.field.add(
            name=name,
            number=number,
            label=FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL,
        )
        kind = kind.removesuffix("[]")
        if kind == "{}":
            entry = into.nested_type.add()
            kind = f"{full_name}.{name.capitalize()}Entry"
            shape_message(entry, kind, {"key": "string", "value": "string"})
            entry.options.map_entry = True
        if kind in SCALARS:
            field.type = SCALARS[kind]
        else:
            field.type = FieldDescriptorProto.TYPE_MESSAGE
            field.type_name = f".{kind}" if kind.startswith("google.") else f".{PACKAGE}.{kind}"


def make_pool() -> DescriptorPool:
    pool = DescriptorPool()
    file = FileDescriptorProto(name="google/rpc/details.proto", package=PACKAGE, syntax="proto3")
    for known in (any_pb2.DESCRIPTOR, duration_pb2.DESCRIPTOR):
        pool.AddSerializedFile(known.serialized_pb)
        file.dependency.append(known.name)
    shaped: dict[str, DescriptorProto] = {}
    for name, fields in SHAPES.items():
        outer = name.rpartition(".")[0]
        into = shaped[outer].nested_type.add() if outer else file.message_type.add()
        shaped[name] = into
        shape_message(into, name, fields)
    pool.AddSerializedFile(file.SerializeToString())
    return pool


POOL = make_pool()


def detail(name: str) -> Any:
    """An empty message of google.rpc, by its short name."""
    return message_factory.GetMessageClass(POOL.FindMessageTypeByName(f"{PACKAGE}.{name}"))()


def status(code: int, message: str, *details: Message) -> bytes:
    """An encoded google.rpc.Status, as gRPC has it in the trailer `grpc-status-details-bin`."""
    found = detail("Status")
    found.code, found.message = code, message
    for one in details:
        found.details.add().Pack(one)
    encoded: bytes = found.SerializeToString()
    return encoded
