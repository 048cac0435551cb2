"""The lines of conformance/cases/README.md, section 3."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from google.protobuf import json_format

from conformance.v1 import conformance_pb2 as pb

from .calling import Result
from .data import make_data, to_lines


def request_of(line: dict[str, Any]) -> pb.Request | bytes:
    """A request, or the bytes to send in its place."""
    if "bytes" in line:
        return base64.b64decode(line["bytes"])
    request = json_format.ParseDict(line.get("message", {}), pb.Request())
    if line.get("size"):
        request.data = make_data(line["size"], line.get("noise", False))
    return request


def outcome_line(result: Result) -> dict[str, Any]:
    """How a call ended. A call whose task was cancelled has no status, and so no delivery, that could be told."""
    line: dict[str, Any] = {
        "code": "OK",
        "message": "",
        "details": [],
        "header": to_lines(result.header),
        "trailer": to_lines(result.trailer),
        "answers": [answer_line(answer) for answer in result.answers],
    }
    if result.given_up:
        line["code"] = "CANCELLED"
    else:
        line["delivery"] = ""
    if result.failure is not None:
        failed = result.failure
        line |= {"code": failed.code.name, "message": failed.message, "delivery": failed.delivery.value}
        line["details"] = [
            {"typeUrl": detail.type_url, "value": base64.b64encode(detail.value).decode()} for detail in failed.details
        ]
    if result.results is not None:
        several: Any = result.results
        line["results"] = several if isinstance(several, list) else [several]
    if result.observed is not None:
        line["observed"] = json_format.MessageToDict(result.observed)
    return line


def answer_line(answer: pb.Answer) -> dict[str, Any]:
    rest = pb.Answer(seen=answer.seen if answer.HasField("seen") else None)
    if answer.HasField("onward"):
        rest.onward.CopyFrom(answer.onward)
    told = {"size": len(answer.data), "sha256": hashlib.sha256(answer.data).hexdigest()}
    return told | json_format.MessageToDict(rest)
