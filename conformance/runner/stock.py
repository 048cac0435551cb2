"""The stock clients, which come through other protocols, and what each of them lacks. scripts/stock.py builds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.languages import ROOT

from .cases import Case
from .parties import Client, Reasons

BUILT = ROOT / "build" / "stock"
TRANSPORTS = ("tcp", "tls")

# What is native, whoever calls over another protocol.
NATIVE: Reasons = {
    "native": "only native clients are promised this (spec/http.md)",
    "one-way": "other protocols answer a one-way call when its handler has ended (spec/http.md 3)",
    "callback": "a server cannot call a client over a connection of HTTP (spec/http.md 2)",
    "several": "an address that names several servers is a native one",
}
GRPC: Reasons = NATIVE | {
    "json": "generated stubs send Protobuf",
    "code-first": "generated stubs send Protobuf, not lists of arguments",
    "zstd": "gRPC's libraries bring gzip",
}
CURL: Reasons = NATIVE | {
    "duplex": "curl sends and takes one message",
    "zstd": "what compresses for curl here has gzip",
}


@dataclass(frozen=True, eq=False)
class Stock(Client):
    """A client whose `why_not` says why it cannot carry a case out, whatever that needs; "" if it can."""

    why_not: Callable[[Case], str] = lambda _: ""

    def cannot(self, case: Case) -> str:
        return self.why_not(case)


def all_lack(case: Case) -> str:
    if case.name == "metadata/most-entries":
        return "user-agent, which libraries add, is one entry more"
    return ""


# What grpcio tells then depends on which of its tasks is quicker.
GRPCIO_EARLY = ("streams/client-stream-early", "streams/bidi-early", "streams/failing-early")
GRPCIO_NO_ANSWER = ("metadata/with-failure-server-stream", "metadata/with-failure-bidi-stream")


def grpcio_lacks(case: Case) -> str:
    if any(call.get("timeoutMs") == 0 for call in case.words["calls"]):
        return "grpcio may begin a call whose time is over, and ends it well if it is quick"
    if case.name in GRPCIO_EARLY:
        return "grpcio may call a stream INTERNAL that its server ends while it sends"
    if case.name in GRPCIO_NO_ANSWER:
        return "grpcio may lose the header of a stream that fails without an answer"
    return all_lack(case)


def grpc_js_lacks(case: Case) -> str:
    if any(call.get("cancel") == "before" for call in case.words["calls"]):
        return "a call can be cancelled when it has begun"
    return all_lack(case)


def curl_lacks(case: Case) -> str:
    for call in case.words["calls"]:
        if call["method"] in ("ServerStream", "ClientStream", "BidiStream"):
            return CURL["duplex"]
        if call.get("cancel") == "before":
            return "a call can be cancelled when it has begun"
    if "maxMessage" in case.words.get("client", {}):
        return "curl takes answers of any size"
    if case.name == "deadlines/forwarded-passes":
        return "curl tells of a deadline, and has no clock for it"
    return all_lack(case)


def grpc(name: str, why_not: Callable[[Case], str] = all_lack) -> Stock:
    return Stock(name, (str(BUILT / name),), TRANSPORTS, (), "grpc", GRPC, why_not=why_not)


def curl(name: str, version: str) -> Stock:
    return Stock(name, (str(BUILT / "curl"),), TRANSPORTS, (version,), "connect", CURL, why_not=curl_lacks)


STOCK = [
    grpc("grpc-go"),
    grpc("grpcio", grpcio_lacks),
    grpc("grpc-js", grpc_js_lacks),
    grpc("grpc-java"),
    curl("curl, HTTP/1.1", "--http1.1"),
    curl("curl, HTTP/2", "--http2-prior-knowledge"),
]
