"""Who takes part: clients, servers, transports, and what each of them lacks, as languages/NAME.toml has it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field

from harness.languages import TRANSPORTS
from harness.programs import Program

from ..languages import LANGUAGES
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


# What transports lack.
LACKS: dict[str, Reasons] = {"unix": {"stop": "nobody can try whether a Unix socket is listened on"}}


def own(transports: tuple[str, ...]) -> tuple[str, ...]:
    """In this order: all cases go over the first that a pair has."""
    return tuple(one for one in TRANSPORTS if one in transports)


CLIENTS = [
    Client(key, language.program, own(language.peer.transports), lacks=language.lacks.client)
    for key, language in LANGUAGES.items()
]
SERVERS = [
    Server(key, language.program, own(language.peer.transports), language.peer.protocols, language.lacks.server)
    for key, language in LANGUAGES.items()
]
