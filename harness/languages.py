"""The languages there are: languages/NAME.toml, which everything reads that has to do with more than one of them.

languages/README.md tells what each key is. TRUNKCALL_LANGUAGES names another folder.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from harness.tables import Wrong, read

ROOT = Path(__file__).resolve().parent.parent

TRANSPORTS = ("tcp", "tls", "unix", "websocket")
PROTOCOLS = ("native", "grpc", "grpc-web", "connect")
RESULTS = ("go-json", "junit")
# The steps that are only commands, and how `make` calls them.
STEPS = ("format", "lint", "generate", "api", "reference", "vectors")
# What conformance cases need of a client or a server (conformance/cases/README.md 4).
NEEDS = (
    *("native", "one-way", "callback", "gzip", "zstd", "json", "bytes", "code-first", "duplex", "stop", "several"),
    "limits",
)
# Suites that every language has, and may lack.
SUITES = (
    "random-sessions",
    "random-policies",
    "faults",
    "processes",  # several that serve on one listener
    "registries",  # serve and call with --registry
    *("etcd", "zookeeper", "consul", "consul-keys"),  # with --registry of that kind (harness/registries)
    "production",
    "discovery",  # the example of servers that are found
    "newcomer",
    "connect-server",
    "connect-client",
    "h2spec",
    "interop",  # gRPC's own interoperability cases: a suite of its unit tests that is called so
)

# What of the public Connect suite a server may lack (conformance/public_suite.py).
CONNECT = (
    *("http1", "http2", "tls", "client-certificates", "json", "gzip", "zstd"),
    "get",  # requests of Connect by GET
    "half-duplex",  # streams both ways over HTTP/1.1, one after the other
    "receive-limit",  # a limit for messages that are received
)
# Suites of which a language may name cases that fail.
FAIL = ("connect-server", "connect-client", "h2spec")

Words = tuple[str, ...]


@dataclass(frozen=True)
class Prerequisite:
    """A tool of the machine. `variable` is the environment's that names another command in its place."""

    what: str  # as a person calls it
    command: str
    asks: Words = ("--version",)  # prints its version, or fails if it does not serve
    folder: str = "."
    least: str = ""  # version; empty: any
    variable: str = ""
    for_tests: bool = False  # building and running need it not


@dataclass(frozen=True)
class Step:
    """A command, run in each of the folders. Its first word is a file of this tree if it has a slash in it, otherwise a
    command, for which the variable of a prerequisite may name another."""

    command: Words
    folders: Words = (".",)
    variables: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        if not self.command:
            raise Wrong("command is empty")


@dataclass(frozen=True, kw_only=True)
class Making(Step):
    """`outputs` are files or folders that are made of `inputs`, patterns of files: the command is not run again as long
    as these stay as they are and those are there. Without any it is always run, and has to find out itself."""

    inputs: Words = ()
    outputs: Words = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.inputs) != bool(self.outputs):
            raise Wrong("inputs and outputs have to be there both, or neither")


@dataclass(frozen=True, kw_only=True)
class Build(Making):
    part: str  # what it belongs to: peer, peers, examples, or a tool by name


@dataclass(frozen=True, kw_only=True)
class Check(Step):
    name: str
    silent: bool = False  # it passes by printing nothing


@dataclass(frozen=True, kw_only=True)
class Tests(Step):
    """A suite of unit tests. With the result junit, {junit} in the command is the file to be written, or `reports` are
    patterns of the files that the command writes, as build tools have one for each class; older ones are removed."""

    name: str
    result: str
    builds: Words = ()  # parts that have to be built before
    alone: bool = False  # the machine has to be quiet
    waits: bool = False  # most of the time, and may run beside others
    reports: Words = ()
    seconds: float = 0.0  # about, so that long ones begin first

    def __post_init__(self) -> None:
        super().__post_init__()
        among("result", self.result, RESULTS)
        if (self.result == "junit") != (bool(self.reports) or any("{junit}" in word for word in self.command)):
            raise Wrong("{junit} in the command, or reports, belong to the result junit, which wants one of them")


@dataclass(frozen=True)
class Fuzz:
    """Fuzz targets: `pattern` finds their names in `files`. In the command {target}, {package} (the file's folder, as
    the command's folder sees it) and {time} are put in. `finished` is output that is no failure whatever the status."""

    files: str
    pattern: str
    command: Words
    folder: str = "."
    finished: str = ""

    def targets(self) -> list[tuple[str, str]]:
        """Each target with its package."""
        return [
            (target, os.path.relpath(path.parent, ROOT / self.folder))
            for path in sorted(ROOT.glob(self.files))
            for target in re.findall(self.pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
        ]


@dataclass(frozen=True)
class Fast:
    """Flags that make the most of the language under load."""

    serve: Words = ()
    bench: Words = ()


@dataclass(frozen=True)
class OtherClient:
    """A client of the language beside the one that `conformance` has without flags: rows of its own in the matrix."""

    name: str
    flags: Words  # of `conformance`
    lacks: dict[str, str] = field(default_factory=dict[str, str])  # beside what the language's client lacks

    def __post_init__(self) -> None:
        for need in self.lacks:
            among("lacks", need, NEEDS)


@dataclass(frozen=True)
class Peer:
    """The reference program (conformance/peer.md). `tested` is how tests start it, unless as users do."""

    program: Words
    tested: Words = ()
    session: Words = ()  # the session program (conformance/peer.md 9)
    registries: Words = ()  # the program with all registries, where the one above has not all
    policies: Words = ()  # the program that carries out cases of policies (conformance/peer.md 10)
    transports: Words = TRANSPORTS
    protocols: Words = ("native",)  # that its server speaks
    bench: Words = ()  # flags that bench always takes in tests
    clients: tuple[OtherClient, ...] = ()
    fast: Fast = field(default_factory=Fast)

    def __post_init__(self) -> None:
        for one in self.transports:
            among("transports", one, TRANSPORTS)
        for one in self.protocols:
            among("protocols", one, PROTOCOLS)


@dataclass(frozen=True)
class Show:
    """A program that `make run` shows, with the lines that it has to print unless that is another's business. {target}
    is the address of the language's server."""

    title: str
    command: Words
    prints: Words = ()


@dataclass(frozen=True)
class Production:
    """The example of production. In the words {cert}, {key}, {ca}, {target} and {delay} are put in."""

    server: Words
    client: Words


@dataclass(frozen=True)
class Newcomer:
    """The README's service of one's own, below the heading that begins with the language's name. `without` finds the
    lines that only fetch what is here already; `instead` are words and what stands for them; `before` are commands that
    put tools into the folder that TOOLS names, which is searched first."""

    files: Words
    answers: Words  # lines
    without: str = "^$"
    instead: dict[str, str] = field(default_factory=dict[str, str])
    before: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Lacks:
    """What is not there yet, with the reason: needs of conformance cases, what the public suite asks of a server, and
    suites."""

    client: dict[str, str] = field(default_factory=dict[str, str])
    server: dict[str, str] = field(default_factory=dict[str, str])
    connect: dict[str, str] = field(default_factory=dict[str, str])
    suites: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        for side, needs in (("client", self.client), ("server", self.server)):
            for need in needs:
                among(side, need, NEEDS)
        for feature in self.connect:
            among("connect", feature, CONNECT)
        for suite in self.suites:
            among("suites", suite, SUITES)


@dataclass(frozen=True)
class Language:
    key: str  # the file's name
    name: str  # as documents write it
    peer: Peer
    folder: str  # its sources
    hub: bool = False  # in `make test` every language meets it; all others meet only themselves and it
    optional: bool = False  # left out, by name, where its prerequisites are not there
    sources: Words = ()
    test_sources: Words = ()
    variables: dict[str, str] = field(default_factory=dict[str, str])
    without_home: dict[str, str] = field(default_factory=dict[str, str])
    clean: Words = ()
    prerequisites: tuple[Prerequisite, ...] = ()
    environment: tuple[Making, ...] = ()
    build: tuple[Build, ...] = ()
    format: tuple[Step, ...] = ()
    lint: tuple[Step, ...] = ()
    generate: tuple[Step, ...] = ()
    api: tuple[Step, ...] = ()
    reference: tuple[Step, ...] = ()
    vectors: tuple[Step, ...] = ()
    checks: tuple[Check, ...] = ()
    tests: tuple[Tests, ...] = ()
    fuzz: Fuzz | None = None
    shows: tuple[Show, ...] = ()
    echo: Words = ()  # a raw socket echo with the commands of a reference program, which `make run` compares with
    production: Production | None = None
    discovery: Words = ()  # the example of servers that are found: serve REGISTRY NAME [ADDRESS], and call REGISTRY
    newcomer: Newcomer | None = None
    lacks: Lacks = field(default_factory=Lacks)
    fails: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])  # cases of suites, why

    def __post_init__(self) -> None:
        for suite in self.fails:
            among("fails", suite, FAIL)
        for key, rows in (("checks", self.checks), ("tests", self.tests)):
            names = [row.name for row in rows]
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise Wrong(f"{key}: {', '.join(twice)} is there twice")
        needed = {
            "production": self.production,
            "discovery": self.discovery or None,
            "newcomer": self.newcomer,
            "random-sessions": self.peer.session or None,
            "random-policies": self.peer.policies or None,
            "interop": next((row for row in self.tests if row.name == "interop"), None),
        }
        for suite, there in needed.items():
            if (there is None) != (suite in self.lacks.suites):
                raise Wrong(f"{suite} has to be there, or lacks.suites.{suite} with the reason, and not both")
        for suite in () if set(self.peer.protocols) - {"native"} else ("connect-server", "h2spec"):
            if suite not in self.lacks.suites:
                raise Wrong(f"peer.protocols has none that {suite} asks for: lacks.suites.{suite} has to be there")

    @property
    def program(self) -> Words:
        """The reference program as tests start it."""
        return self.words(self.peer.tested or self.peer.program)

    @property
    def with_registries(self) -> Words:
        """The reference program with all registries that the language has, as tests start it."""
        return self.words(self.peer.registries) if self.peer.registries else self.program

    def files(self, patterns: Words) -> list[Path]:
        """The files of patterns, without those that were made. Raises Wrong if there are none for one."""
        made = [ROOT / name for name in self.clean]
        found: list[Path] = []
        for pattern in patterns:
            files = [path for path in sorted(ROOT.glob(pattern)) if path.is_file()]
            if not files:
                raise Wrong(f"there is no file {pattern}")
            found += [path for path in files if not any(path.is_relative_to(folder) for folder in made)]
        return found

    def words(self, command: Words) -> Words:
        """A command as it is run; {root} in it stands for this tree."""
        first, *rest = (word.replace("{root}", str(ROOT)) for word in command)
        if "/" in first:
            return (str(ROOT / first), *rest)
        for one in self.prerequisites:
            if one.command == first and one.variable:
                return (os.environ.get(one.variable) or first, *rest)
        return (first, *rest)


def among(key: str, value: str, choice: Words) -> None:
    if value not in choice:
        raise Wrong(f"{key} has {value!r}; there are {', '.join(choice)}")


def folder() -> Path:
    return Path(os.environ.get("TRUNKCALL_LANGUAGES") or ROOT / "languages")


def languages() -> dict[str, Language]:
    """All languages by their keys, in the order of these. Raises Wrong."""
    return load(folder())


@cache
def load(where: Path) -> dict[str, Language]:
    found: dict[str, Language] = {}
    for path in sorted(where.glob("*.toml")):
        if not re.fullmatch(r"[a-z][a-z0-9]*", path.stem):
            raise Wrong(f"{path}: the name of a language has small letters and digits only")
        found[path.stem] = read(path, Language, key=path.stem)
    hubs = [key for key, language in found.items() if language.hub]
    if len(hubs) != 1:
        raise Wrong(f"{where}: the key hub is true in {', '.join(hubs) or 'no file'}, and has to be in one")
    return found


def named(key: str) -> Language:
    """Raises Wrong if there is none."""
    found = languages()
    if key not in found:
        raise Wrong(f"there is no language {key}; there are {', '.join(found)}")
    return found[key]


def hub() -> Language:
    return next(language for language in languages().values() if language.hub)


def everybody_meets() -> bool:
    """Whether it is to be all languages with all."""
    return os.environ.get("TRUNKCALL_PAIRS") == "all"


def pairs(whole: bool | None = None) -> list[tuple[Language, Language]]:
    """Client and server: each language with itself, and the hub with every other; or all with all, if it is to be the
    whole or, unless that is said, TRUNKCALL_PAIRS=all."""
    everybody = list(languages().values())
    whole = everybody_meets() if whole is None else whole
    return [(a, b) for a in everybody for b in everybody if whole or a is b or a.hub or b.hub]


def environment(step: Step | None = None) -> dict[str, str]:
    """The variables that all commands are given: those of this process, what the languages set, and those of a step. A
    variable that they set to nothing is taken away; {root} stands for this tree, {NAME} for what NAME has."""
    found = dict(os.environ)
    home = os.environ.get("HOME", "")
    at_home = os.path.isdir(home) and os.access(home, os.W_OK)
    for language in languages().values():
        for name, value in language.variables.items():
            assign(found, name, value)
        for name, value in () if at_home else language.without_home.items():
            if not os.environ.get(name) or f"{{{name}}}" in value:
                assign(found, name, value)
    for name, value in (step.variables if step else {}).items():
        assign(found, name, value)
    return found


def assign(variables: dict[str, str], name: str, value: str) -> None:
    before = variables.pop(name, "")
    if f"{{{name}}}" in value:  # words, of which only those are added that are not there
        there = before.split()
        added = (word for word in value.replace(f"{{{name}}}", "").split() if word not in there)
        value = " ".join(filter(None, (before, *added)))
    if value:
        variables[name] = value.replace("{root}", str(ROOT))
