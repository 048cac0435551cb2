"""Who takes part: clients, servers, transports, and what each of them lacks, as languages/NAME.toml has it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field

from harness.languages import TRANSPORTS, Language
from harness.programs import Program

from ..languages import LANGUAGES
from .cases import Case

Reasons = dict[str, str]


@dataclass(frozen=True, eq=False)
class Client:
    """`program` and `words` are the command that takes cases. `protocol` is the one that it comes through (http.md).
    `lacks` says why needs of cases are not met. `language` is the key of one of ours; `smoke` has it carry out the
    smoke group alone."""

    name: str
    program: Program
    transports: tuple[str, ...]
    words: tuple[str, ...] = ("conformance",)
    protocol: str = "native"
    lacks: Reasons = field(default_factory=dict[str, str])
    language: str = ""
    smoke: bool = False

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


def names(language: Language) -> list[str]:
    """Those of a language's clients in the matrix."""
    return [language.key, *(f"{language.key}, {other.name}" for other in language.peer.clients)]


def clients(language: Language) -> list[Client]:
    """The client of a language, which carries out all cases, and the others that it has."""
    transports, lacks = own(language.peer.transports), language.lacks.client
    first, *names_ = names(language)
    return [
        Client(first, language.program, transports, lacks=lacks, language=language.key),
        *(
            Client(
                name,
                language.program,
                transports,
                ("conformance", *other.flags),
                lacks=lacks | other.lacks,
                language=language.key,
                smoke=True,
            )
            for name, other in zip(names_, language.peer.clients, strict=True)
        ),
    ]


CLIENTS = [client for language in LANGUAGES.values() for client in clients(language)]
SERVERS = [
    Server(key, language.program, own(language.peer.transports), language.peer.protocols, language.lacks.server)
    for key, language in LANGUAGES.items()
]
