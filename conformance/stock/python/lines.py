"""The lines of conformance/cases/README.md, section 3."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from typing import Any

from google.protobuf import json_format

from conformance.v1 import conformance_pb2 as pb

Pairs = list[tuple[str, "str | bytes"]]


def request_of(line: dict[str, Any]) -> pb.Request | bytes:
    """A request, or the bytes to send in its place."""
    if "bytes" in line:
        return base64.b64decode(line["bytes"])
    request = json_format.ParseDict(line.get("message", {}), pb.Request())
    if line.get("size"):
        request.data = make_data(line["size"], line.get("noise", False))
    return request


@cache
def make_data(size: int, noise: bool) -> bytes:
    """The bytes that conformance.proto describes."""
    if not noise:
        return (bytes(range(251)) * (size // 251 + 1))[:size]
    data, state = bytearray(size), 1
    for index in range(size):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        data[index] = state >> 24
    return bytes(data)


def from_lines(pairs: Iterable[list[str]]) -> Pairs:
    """Metadata of a line: a value of a key that ends in -bin is base64."""
    return [(key, base64.b64decode(value) if key.endswith("-bin") else value) for key, value in pairs]


def to_lines(metadata: Iterable[tuple[str, str | bytes]]) -> list[list[str]]:
    return [[key, base64.b64encode(value).decode() if isinstance(value, bytes) else value] for key, value in metadata]


def answer_line(answer: pb.Answer) -> dict[str, Any]:
    told: dict[str, Any] = {"size": len(answer.data), "sha256": hashlib.sha256(answer.data).hexdigest()}
    answer.ClearField("data")
    return told | json_format.MessageToDict(answer)


def details_of(status: bytes) -> list[dict[str, str]]:
    """Those of a google.rpc.Status, whose fields have the types and numbers of an Outcome's."""
    found = pb.Outcome.FromString(status).details
    return [{"typeUrl": one.type_url, "value": base64.b64encode(one.value).decode()} for one in found]
