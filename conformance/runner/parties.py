"""Who takes part: clients, servers, transports, and what each of them lacks. A feature joins when its line goes."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field

from harness.programs import GO, PYTHON, Program

from .cases import Case

Reasons = dict[str, str]


@dataclass(frozen=True, eq=False)
class Client:
    """`program` and `words` are the command that takes cases. `protocol` is the one that it comes through (http.md).
    `lacks` says why needs of cases are not met."""

    name: str
    program: Program
    transports: tuple[str, ...]
    words: tuple[str, ...] = ("conformance",)
    protocol: str = "native"
    lacks: Reasons = field(default_factory=dict[str, str])

    @property
    def missing(self) -> bool:
        """Whether its program is not there, as where the tools of its language are not."""
        return shutil.which(self.program[0]) is None

    def cannot(self, case: Case) -> str:
        """Why it cannot carry a case out, whatever that needs; "" if it can."""
        return ""


@dataclass(frozen=True, eq=False)
class Server:
    """The reference program of a language."""

    name: str
    program: Program
    transports: tuple[str, ...]
    protocols: tuple[str, ...] = ("native",)
    lacks: Reasons = field(default_factory=dict[str, str])


# In this order: a case that is carried out once for a pair goes over the first.
TRANSPORTS = ("tcp", "tls", "unix", "websocket")
# What transports lack.
LACKS: dict[str, Reasons] = {"unix": {"stop": "nobody can try whether a Unix socket is listened on"}}

PYTHON_LACKS: Reasons = {
    "code-first": "Python has no code-first services yet",
    "json": "Python has no codec for JSON yet",
    "zstd": "Python has no zstd",
}
CLIENTS = [
    Client("go", GO, TRANSPORTS),
    Client("python", PYTHON, TRANSPORTS, lacks=PYTHON_LACKS),
]
SERVERS = [
    Server("go", GO, TRANSPORTS, ("native", "grpc", "grpc-web", "connect")),
    Server("python", PYTHON, TRANSPORTS, lacks=PYTHON_LACKS),
]
