"""The stock clients, and what each of them lacks. scripts/stock.py builds their programs."""

from __future__ import annotations

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


def client(name: str, lacks: Reasons, *words: str, program: str = "") -> Client:
    return Client(name, (str(BUILT / (program or name)),), TRANSPORTS, words, native=False, lacks=lacks)


CLIENTS = [
    client("grpc-go", GRPC),
    client("grpcio", GRPC),
    client("grpc-js", GRPC),
    client("grpc-java", GRPC),
]
