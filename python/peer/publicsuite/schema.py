"""The suite's messages, made from a FileDescriptorSet: the generated ones are its own."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, BinaryIO

from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message

from load import UsageError

PACKAGE = "connectrpc.conformance.v1"
# Bounds a message of the suite's own.
MOST_BYTES = 64 << 20

Pairs = list[tuple[str, str | bytes]]


class Schema:
    """`type` finds the class of a message by its short name."""

    def __init__(self, path: str) -> None:
        """Raises UsageError."""
        try:
            with open(path, "rb") as file:
                found = FileDescriptorSet.FromString(file.read())
            self._pool = DescriptorPool()
            for one in found.file:
                self._pool.AddSerializedFile(one.SerializeToString())
            self.type("ClientCompatRequest")
        except OSError as error:
            raise UsageError(f"--schema: open {path}: {(error.strerror or str(error)).lower()}") from None
        except (DecodeError, TypeError, KeyError) as error:
            raise UsageError(f"--schema: {path} has not the messages of the suite: {error}") from None

    def type(self, name: str) -> Any:
        return message_factory.GetMessageClass(self._pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))

    def unpacked(self, packed: Any) -> Any:
        """What an Any holds."""
        return self.type(packed.type_url.rpartition(".")[2]).FromString(packed.value)

    def read(self, file: BinaryIO, name: str) -> Any:
        """A message behind its length; None at the end."""
        head = file.read(4)
        if not head:
            return None
        size = int.from_bytes(head, "big")
        if size > MOST_BYTES:
            raise ValueError(f"a {name} of {size} bytes, more than {MOST_BYTES}")
        return self.type(name).FromString(file.read(size))


def write(file: BinaryIO, message: Message) -> None:
    encoded = message.SerializeToString()
    file.write(len(encoded).to_bytes(4, "big") + encoded)
    file.flush()


def from_headers(headers: Iterable[Any]) -> Pairs:
    """Metadata; values of binary keys are base64 in the suite's headers."""
    pairs: Pairs = []
    for header in headers:
        key = header.name.lower()
        for value in header.value:
            pairs.append((key, base64.b64decode(value + "=" * (-len(value) % 4)) if key.endswith("-bin") else value))
    return pairs


def to_headers(metadata: Iterable[tuple[str, str | bytes]], headers: Any) -> None:
    """Adds metadata to a field of headers."""
    added: dict[str, Any] = {}
    for key, value in metadata:
        if key not in added:
            added[key] = headers.add(name=key)
        added[key].value.append(value if isinstance(value, str) else base64.b64encode(value).decode().rstrip("="))
