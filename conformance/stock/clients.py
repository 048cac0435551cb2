"""The stock clients, and what each of them lacks. scripts/stock.py builds their programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conformance.runner.cases import Case
from conformance.runner.matrix import Way
from conformance.runner.parties import Client, Reasons
from tests.peer.programs import ROOT

BUILT = ROOT / "build" / "stock"
TRANSPORTS = ("tcp", "tls")

# What is native, whoever calls through another door.
NATIVE: Reasons = {
    "native": "only native clients are promised this (spec/doors.md)",
    "one-way": "other doors answer a one-way call when its handler has ended (spec/doors.md 3)",
    "callback": "a server cannot call a client over a connection of HTTP (spec/doors.md 2)",
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
    """A client whose `lack` says why it cannot carry a case out, whatever that needs; "" if it can."""

    lack: Callable[[Case], str] = lambda _: ""


class StockWay(Way):
    def lack(self, case: Case) -> str:
        client = self.client
        return super().lack(case) or (client.lack(case) if isinstance(client, Stock) else "")


def every_lacks(case: Case) -> str:
    if case.name == "metadata/most-entries":
        return "user-agent, which libraries add, is one entry more"
    return ""


def grpcio_lacks(case: Case) -> str:
    if any(call.get("timeoutMs") == 0 for call in case.words["calls"]):
        return "grpcio may begin a call whose time is over, and ends it well if it is quick"
    return every_lacks(case)


def grpc_js_lacks(case: Case) -> str:
    if any(call.get("cancel") == "before" for call in case.words["calls"]):
        return "a call can be cancelled when it has begun"
    return every_lacks(case)


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
    return every_lacks(case)


def stock(name: str, lacks: Reasons, lack: Callable[[Case], str] = every_lacks, **changed: Any) -> Stock:
    words: dict[str, Any] = {"program": (str(BUILT / name),), "words": ()} | changed
    return Stock(name, transports=TRANSPORTS, native=False, lacks=lacks, lack=lack, **words)


CLIENTS = [
    stock("grpc-go", GRPC),
    stock("grpcio", GRPC, grpcio_lacks),
    stock("grpc-js", GRPC, grpc_js_lacks),
    stock("grpc-java", GRPC),
    stock("curl, HTTP/1.1", CURL, curl_lacks, program=(str(BUILT / "curl"),), words=("--http1.1",)),
    stock("curl, HTTP/2", CURL, curl_lacks, program=(str(BUILT / "curl"),), words=("--http2-prior-knowledge",)),
]
