"""The methods of ConformanceService, each described once for both ends."""

from __future__ import annotations

from typing import Any

import trunkcall
from conformance.v1.conformance_pb2 import Answer, Observed, ObserveRequest, Request
from trunkcall import codefirst

SERVICE = "/trunkcall.conformance.v1.ConformanceService/"

UNARY = trunkcall.unary(SERVICE + "Unary", Request, Answer)
READ = trunkcall.unary(SERVICE + "Read", Request, Answer)
SERVER_STREAM = trunkcall.server_stream(SERVICE + "ServerStream", Request, Answer)
CLIENT_STREAM = trunkcall.client_stream(SERVICE + "ClientStream", Request, Answer)
BIDI_STREAM = trunkcall.bidi_stream(SERVICE + "BidiStream", Request, Answer)
TELL = trunkcall.one_way(SERVICE + "Tell", Request)
UNSERVED = trunkcall.unary(SERVICE + "Unserved", Request, Answer)
OBSERVE = trunkcall.unary(SERVICE + "Observe", ObserveRequest, Observed)

BY_NAME: dict[str, trunkcall.Method[Any, Any]] = {
    method.name.removeprefix(SERVICE): method
    for method in (UNARY, READ, SERVER_STREAM, CLIENT_STREAM, BIDI_STREAM, TELL, UNSERVED)
}


def method_of(line: dict[str, Any]) -> trunkcall.Method[Any, Any]:
    """The method of a call: of ConformanceService, or a code-first one."""
    return codefirst.untyped(line["method"]) if "arguments" in line else BY_NAME[line["method"]]
