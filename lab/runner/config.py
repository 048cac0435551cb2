"""Configurations: TOML read into checked, plain values.

The runner knows no language: programs, flags, rows and targets all come from here. Whatever a file gets wrong is a
ConfigError of one line that names the file and the row.
"""

import dataclasses
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

KINDS = ("capacity", "open", "idle", "bytes", "troubled")
METRICS = (
    "rate", "mean_us", "p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "max_us",
    "cpu_client_us", "cpu_server_us", "cpu_both_us", "idle_bytes", "overhead_bytes",
    "client_allocs", "server_allocs", "goodput", "answered_p50_us", "answered_p99_us", "attempts", "runs", "ejected",
)  # fmt: skip
HIGHER_IS_BETTER = ("rate", "goodput")

ROW_KEYS = {
    "name", "title", "kind", "subject", "peers", "baselines", "serve", "bench", "flags", "vary", "check", "aa",
    "duration", "quick_duration", "fractions", "capacity_pairs", "connections", "settle", "client", "payload", "note",
    "quick_peers", "quick_baselines", "warmup", "quick_warmup", "tls", "delay", "quick_delay", "jitter", "rate",
    "brief_peers", "servers", "trouble", "capacity", "loads",
}  # fmt: skip
RUN_KEYS = {"pairs", "quick_pairs", "duration", "quick_duration", "warmup", "quick_warmup"}
PARTICIPANT_KEYS = {"program", "server", "client", "serve", "bench", "without", "made_by", "most_attempts", "servers", "registry"}
CHECK_KEYS = {"metric", "against", "must", "goal", "goal_of", "lenient"}
TOOL_KEYS = {"delay", "certificate", "registry"}


class ConfigError(Exception):
    """One line saying what is wrong, and where."""


@dataclass
class Participant:
    """One side of a comparison: how its server and its client are started.

    `without` names flags of rows that mean nothing to these programs; they are left out, with their values. A run with
    more than `most_attempts` for a call is invalid; 0: there is no such bound. There are `servers` of them, 0: as many as
    the row says, which are found in a registry if `registry` says so.
    """

    name: str
    server: list[str]
    client: list[str]
    serve: list[str]
    bench: list[str]
    without: list[str]
    made_by: str
    most_attempts: float = 0.0
    servers: int = 0
    registry: bool = False

    def of_layout(self, number: int) -> "Participant":
        """The same, run by one of the layouts of its build (`compared`)."""
        server, client = ([word.replace(LAYOUT, str(number)) for word in c] for c in (self.server, self.client))
        return dataclasses.replace(self, server=server, client=client)


@dataclass
class Check:
    """A target: a figure of the subject, alone or as a ratio to another's, and the bounds for it.

    `against` is a participant, `fastest` (the peer with the highest median rate), `each` (every peer in turn, the
    least favourable one counts) or empty (the figure itself). With `lenient`, `must` reads "no worse, beyond the
    interval": it is missed only if the whole interval lies on the wrong side. `goal_of` names another case: the goal is
    to keep the ratio that was measured there.
    """

    metric: str
    against: str = ""
    must: float | None = None
    goal: float | None = None
    goal_of: str = ""
    lenient: bool = False


@dataclass
class Case:
    """One table of the report: a row of the configuration at one point of what it varies."""

    name: str
    row: str
    title: str
    kind: str
    subject: str
    peers: list[str]
    baselines: list[str]
    serve: list[str]
    bench: list[str]
    flags: dict[str, dict[str, list[str]]]
    duration: float
    warmup: float | None
    pairs: int
    aa: bool
    checks: list[Check]
    note: str = ""
    fraction: float | None = None
    capacity_pairs: int = 3
    connections: int = 0
    settle: float = 3.0
    client: list[str] = field(default_factory=list)
    payload: int = 0
    tls: bool = False
    delay: float = 0.0  # of each direction, in seconds
    jitter: float = 0.0
    left_out: list[str] = field(default_factory=list)  # peers of the row that a short run does without
    bandwidth: int = 0  # of each direction, in bytes a second; 0: as many as come
    servers: int = 1
    trouble: list[str] = field(default_factory=list)  # flags of the last of the servers
    offered: int = 0  # calls a second, of a troubled row

    def participants(self) -> list[str]:
        return [self.subject, *self.peers, *self.baselines]

    def tools(self) -> list[str]:
        """The programs that it needs besides the participants'."""
        return ["certificate"] * self.tls + ["delay"] * self.distant()

    def distant(self) -> bool:
        return bool(self.delay or self.jitter or self.bandwidth)


@dataclass
class Config:
    path: str
    title: str
    versions: dict[str, list[str]]
    participants: dict[str, Participant]
    cases: list[Case]
    tools: dict[str, list[str]]
    layouts: int = 1  # of the builds that are compared; rounds take them in turn


LAYOUT = "{layout}"
OLD = "old"  # the participant that compared() adds
NO_WORSE = {"idle": ("idle_bytes",), "bytes": ("overhead_bytes",), "open": ("mean_us", "p99_us", "cpu_both_us")}


def compared(config: Config, cases: list[Case], against: str) -> list[Case]:
    """The cases with another build as the only peer: `against` is PROGRAM=OTHER, where PROGRAM is one of the subject's.

    The other build runs as the subject does but for that program. The subject is to be no worse, beyond the interval.
    If OTHER is a directory, it has both builds, each in several layouts (`lab/layouts.py`).
    """
    program, _, other = against.partition("=")
    if not program or not other:
        raise ConfigError(f"--against wants PROGRAM=OTHER, such as build/peer-go=PATH, not {against!r}")
    ours, laid_out = program, {}
    if Path(other).is_dir():
        config.layouts = _layouts(Path(other))
        ours, other = (f"{other}/{build}-{LAYOUT}" for build in ("new", OLD))
    found = []
    for case in cases:
        subject = config.participants[case.subject]
        if program not in (subject.server[0], subject.client[0]):
            continue
        name = f"{OLD} {case.subject}"
        config.participants[name] = _run_by(other, program, dataclasses.replace(subject, name=name))
        laid_out[case.subject] = _run_by(ours, program, subject)
        flags = {**case.flags, name: case.flags[case.subject]} if case.subject in case.flags else case.flags
        checks = [Check(m, name, must=1, lenient=True) for m in NO_WORSE.get(case.kind, ("rate", "cpu_both_us"))]
        found.append(dataclasses.replace(
            case, peers=[name], baselines=[], flags=flags, checks=checks, left_out=[], aa=False
        ))  # fmt: skip
    if not found:
        raise ConfigError(f"--against {against}: no row has {program} for its subject")
    config.participants |= laid_out
    return found


def _run_by(other: str, program: str, participant: Participant) -> Participant:
    server, client = ([other if w == program else w for w in c] for c in (participant.server, participant.client))
    return dataclasses.replace(participant, server=server, client=client)


def _layouts(directory: Path) -> int:
    """How many layouts of the two builds there are: old-1, new-1, old-2 and so on."""
    number = 0
    while all((directory / f"{build}-{number + 1}").is_file() for build in ("new", OLD)):
        number += 1
    if not number:
        raise ConfigError(f"{directory}: no new-1 and {OLD}-1 in it: make them with lab/layouts.py")
    return number


def seconds(text: str) -> float:
    """`250ms`, `2s`, `1m` in seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m)", text) if isinstance(text, str) else None
    if not match:
        raise ConfigError(f"{text!r} is not a duration such as 250ms or 2s")
    return float(match[1]) * {"ms": 0.001, "s": 1.0, "m": 60.0}[match[2]]


def duration_text(value: float) -> str:
    """The same on a command line."""
    return f"{round(value * 1000)}ms"


def load(path: Path, *, quick: bool = False, brief: bool = False, pairs: int | None = None) -> Config:
    """Read a configuration; `pairs` overrides what it says, `quick` chooses its short settings.

    `brief` does so too, with all the rounds, of the subject beside the fewest others that its targets need.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    try:
        return _config(str(path), data, quick or brief, brief, pairs)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _config(path: str, data: dict, quick: bool, brief: bool, pairs: int | None) -> Config:
    _only(data, {"title", "run", "tools", "versions", "participant", "row"}, "the file")
    run = data.get("run", {})
    _only(run, RUN_KEYS, "[run]")
    _only(data.get("tools", {}), TOOL_KEYS, "[tools]")
    tools = {name: _command(value) for name, value in data.get("tools", {}).items()}
    if pairs is None:
        pairs = run.get("quick_pairs", 3) if quick and not brief else run.get("pairs", 10)
    participants = {n: _participant(n, p) for n, p in data.get("participant", {}).items()}
    cases: list[Case] = []
    rows = data.get("row", [])
    if not rows:
        raise ConfigError("no [[row]] in it")
    for row in rows:
        name = row.get("name")
        if not name:
            raise ConfigError("a row has no name")
        try:
            cases.extend(_cases(row, run, participants, quick, brief, pairs))
        except ConfigError as error:
            raise ConfigError(f"row {name}: {error}") from None
    for case in cases:
        registry = any(participants[name].registry for name in case.participants())
        for tool in [*case.tools(), *["registry"] * registry]:
            if tool not in tools:
                raise ConfigError(f"row {case.row}: [tools] does not name `{tool}`")
    names = [case.name for case in cases]
    for case in cases:
        for check in case.checks:
            if check.goal_of and (check.goal_of not in names or check.against not in case.participants()):
                raise ConfigError(f"row {case.row}: goal_of wants another case, and `against` a participant")
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two rows are called {name}")
    return Config(path, data.get("title", Path(path).stem), data.get("versions", {}), participants, cases, tools)


def _participant(name: str, data: dict) -> Participant:
    _only(data, PARTICIPANT_KEYS, f"participant {name}")
    program = _command(data.get("program", []))
    server, client = _command(data.get("server", program)), _command(data.get("client", program))
    if not server or not client:
        raise ConfigError(f"participant {name}: needs `program`, or `server` and `client`")
    flags = [data.get(key, []) for key in ("serve", "bench", "without")]
    return Participant(name, server, client, *flags, data.get("made_by", "make build"), **_several(data))


def _several(data: dict) -> dict:
    return {key: data[key] for key in ("most_attempts", "servers", "registry") if key in data}


def _cases(row: dict, run: dict, participants: dict, quick: bool, brief: bool, pairs: int) -> list[Case]:
    _only(row, ROW_KEYS, "the row")
    kind = row.get("kind", "capacity")
    if kind not in KINDS:
        raise ConfigError(f"kind {kind!r} is none of {', '.join(KINDS)}")
    duration = row.get("duration", run.get("duration", "2s"))
    warmup = row.get("warmup", run.get("warmup"))
    peers, baselines, delay = row.get("peers", []), row.get("baselines", []), row.get("delay", [])
    if quick:
        peers = row.get("quick_peers", peers)
        baselines = row.get("quick_baselines", baselines)
        delay = row.get("quick_delay", delay)
        duration = row.get("quick_duration", run.get("quick_duration", duration))
        warmup = row.get("quick_warmup", row.get("warmup", run.get("quick_warmup", warmup)))
    if brief:
        peers, baselines = _fewest(row)
    case = Case(
        name=row["name"],
        row=row["name"],
        title=row.get("title", row["name"]),
        kind=kind,
        subject=row.get("subject", ""),
        peers=peers,
        baselines=baselines,
        serve=row.get("serve", []),
        bench=row.get("bench", []),
        flags=row.get("flags", {}),
        duration=seconds(duration),
        warmup=seconds(warmup) if warmup else None,
        pairs=pairs,
        aa=row.get("aa", True) and not brief,
        checks=[_check(c) for c in row.get("check", [])],
        note=row.get("note", ""),
        capacity_pairs=row.get("capacity_pairs", 3),
        connections=row.get("connections", 0),
        settle=seconds(row.get("settle", "3s")),
        client=row.get("client", []),
        payload=row.get("payload", 0),
        left_out=[name for name in row.get("peers", []) if name not in peers],
        tls=row.get("tls", False),
        delay=0.0 if isinstance(delay, list) else seconds(delay),
        jitter=seconds(row.get("jitter", "0s")),
        bandwidth=row.get("rate", 0),
        servers=row.get("servers", 1),
        trouble=row.get("trouble", []),
    )
    _verify(case, participants)
    if kind == "troubled":
        return [_at_load(case, row.get("capacity", 0), load) for load in row.get("loads", [0.3, 0.7, 1.5])]
    if kind == "open":
        return [_at_fraction(case, f) for f in row.get("fractions", [0.3, 0.5, 0.7])]
    if "delay" in row and isinstance(delay, list):
        return [_at_delay(case, seconds(each)) for each in delay]
    vary = row.get("vary")
    return [_at_value(case, vary["flag"], v) for v in vary["values"]] if vary else [case]


def _fewest(row: dict) -> tuple[list[str], list[str]]:
    """The peers and baselines of a brief run: those it names, or the first of all, and whom a check names."""
    peers = row.get("peers", [])
    needed = {*row.get("brief_peers", peers[:1]), *(check.get("against", "") for check in row.get("check", []))}
    return [name for name in peers if name in needed], [name for name in row.get("baselines", []) if name in needed]


def _check(data: dict) -> Check:
    _only(data, CHECK_KEYS, "a check")
    check = Check(**data)
    if check.metric not in METRICS:
        raise ConfigError(f"metric {check.metric!r} is none of {', '.join(METRICS)}")
    if check.must is None and check.goal is None and not check.goal_of:
        raise ConfigError(f"the check of {check.metric} has neither must nor goal")
    return check


def _verify(case: Case, participants: dict) -> None:
    for name in [*case.participants(), *case.flags]:
        if name not in participants:
            raise ConfigError(f"unknown participant {name!r}")
    everyone = case.participants()
    if len(set(everyone)) != len(everyone):
        raise ConfigError("a participant is named twice")
    for check in case.checks:
        if check.against not in ("", "fastest", "each") and check.against not in everyone:
            raise ConfigError(f"a check is against {check.against!r}, which is not in the row")
        if check.against in ("fastest", "each") and not case.peers:
            raise ConfigError(f"a check is against {check.against}, but the row has no peers")
    if case.kind not in ("capacity", "open") and case.tools():
        raise ConfigError(f"`tls`, `delay`, `jitter` and `rate` do not go with kind {case.kind!r}")
    if case.servers < 1 or (case.servers > 1 and (case.kind in ("idle", "bytes") or case.distant())):
        raise ConfigError("`servers` above 1 go with calls over no distance")
    if case.trouble and case.kind != "troubled":
        raise ConfigError("`trouble` goes with kind 'troubled'")
    if case.kind == "idle" and (case.connections < 1 or not case.client):
        raise ConfigError("an idle row needs `connections` and `client`")
    if case.kind == "open" and not case.peers:
        raise ConfigError("an open row needs peers to take its rates from")


def _at_value(case: Case, flag: str, value: object) -> Case:
    copy = Case(**vars(case))
    copy.name, copy.title = f"{case.row}/{value}", f"{case.title}: {value}"
    copy.bench = [*case.bench, flag, str(value)]
    return copy


def _at_delay(case: Case, delay: float) -> Case:
    copy = Case(**vars(case))
    there_and_back = f"{round(2000 * delay)}"
    copy.name, copy.title = f"{case.row}/{there_and_back}ms", f"{case.title}: {there_and_back} ms there and back"
    copy.delay = delay
    return copy


def _at_load(case: Case, capacity: int, load: float) -> Case:
    if capacity < 1:
        raise ConfigError("a troubled row needs `capacity`, of all servers when nothing is wrong with them")
    copy = Case(**vars(case))
    percent = round(load * 100)
    copy.name, copy.title = f"{case.row}/{percent}", f"{case.title}: {percent} % of {capacity:,} calls a second"
    copy.offered = round(capacity * load)
    return copy


def _at_fraction(case: Case, fraction: float) -> Case:
    copy = Case(**vars(case))
    percent = round(fraction * 100)
    copy.name, copy.title = f"{case.row}/{percent}", f"{case.title}: {percent} % of the slowest peer's capacity"
    copy.fraction = fraction
    return copy


def _command(value: object) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _only(data: dict, known: set[str], where: str) -> None:
    for key in data:
        if key not in known:
            raise ConfigError(f"{where} has an unknown key {key!r}")
