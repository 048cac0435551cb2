"""All runs of a configuration, in order, each kept as a row."""

import dataclasses
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from harness.processes import Failed, run

from . import machine, measure, schedule, troubled
from .config import Case, Config, Participant, duration_text
from .rows import Writer

GRACE = 30.0
# What a run takes besides the client's own clock: starting, a warm-up that nobody stated, ending.
ESTIMATED_EXTRA = 0.4
UNSTATED_WARMUP = 1.0
FAILURES_IN_A_ROW = 2
MAIN_FIGURE = {"idle": "idle_bytes", "bytes": "overhead_bytes"}


def missing_programs(config: Config, cases: list[Case], root: Path) -> list[str]:
    """One line for each program that is not there, with the command that makes it."""
    lines = {}
    for name in sorted({name for case in cases for name in case.participants()}):
        participant = config.participants[name].of_layout(1)
        for program in (participant.server[0], participant.client[0]):
            if not _found(program, root):
                lines[program] = f"{program} is missing: run `{participant.made_by}`"
    for tool in sorted({tool for case in cases for tool in case.tools()}):
        program = config.tools[tool][0]
        if not _found(program, root):
            lines[program] = f"{program} is missing: run `make peers`"
    return list(lines.values())


def _found(program: str, root: Path) -> bool:
    return shutil.which(root / program if "/" in program else program) is not None


def runs_and_seconds(case: Case) -> tuple[int, float]:
    """How many runs a case makes, and about how long they take."""
    runs = len(schedule.entrants(case)) * case.pairs
    if case.kind == "idle":
        return runs, runs * (case.settle + 1.5 + case.connections / 10000)
    each = case.duration + (UNSTATED_WARMUP if case.warmup is None else case.warmup) + ESTIMATED_EXTRA
    return runs, runs * each


class Campaign:
    """Runs cases one after the other. All state between runs is here; a run itself leaves nothing behind."""

    def __init__(self, config: Config, cases: list[Case], writer: Writer, root: Path, seed: int):
        self.config = config
        self.cases = cases
        self.writer = writer
        self.root = root
        self.seed = seed
        self._slowest: dict[str, tuple[str, float]] = {}
        self._secrets = Path()  # where the certificate and its key are

    def describe(self, command_line: list[str], among: str | None, against: str | None = None) -> None:
        """The head of the rows: everything a later reader needs besides the runs."""
        used = {name for case in self.cases for name in case.participants()}
        programs = {n: p.of_layout(1) for n, p in self.config.participants.items() if n in used}
        named = {n: [*p.client, "version"] for n, p in programs.items()}
        named |= {f"{n}, server": [*p.server, "version"] for n, p in programs.items() if p.server != p.client}
        commit = ["git", "--no-optional-locks", "describe", "--always", "--dirty"]
        self.writer.write(
            "machine",
            **machine.describe(),
            versions=machine.versions(self.config.versions, str(self.root)),
            programs=machine.versions(named, str(self.root)),
            commit=machine.first_line(commit, str(self.root)),
        )
        self.writer.write(
            "campaign",
            title=self.config.title,
            config=self.config.path,
            command=command_line,
            seed=self.seed,
            among=among,
            against=against,
            layouts=self.config.layouts,
            participants={n: dataclasses.asdict(p) for n, p in programs.items()},
        )

    def run(self) -> None:
        with tempfile.TemporaryDirectory() as secrets:
            self._secrets = Path(secrets)
            if any(case.tls for case in self.cases):
                self._certify(secrets)
            self._all()

    def _certify(self, directory: str) -> None:
        done = run([*self.config.tools["certificate"], directory], cwd=self.root)
        if done.status != 0:
            raise Failed(f"no certificate: ended with status {done.status}", done.stderr)

    def _all(self) -> None:
        for number, case in enumerate(self.cases, 1):
            print(f"[{number}/{len(self.cases)}] {case.name}: {case.title}", file=sys.stderr, flush=True)
            self._case(case)

    def _case(self, case: Case) -> None:
        rate = None
        if case.kind == "open":
            slowest = self._capacity(case)
            if not slowest:
                self.writer.write("case", **dataclasses.asdict(case), skipped="no peer's capacity could be measured")
                return
            rate = round(slowest[1] * case.fraction)
        self.writer.write("case", **dataclasses.asdict(case), rate=rate)
        self._rounds(case, schedule.entrants(case), case.pairs, case.name, "measure", rate)

    def _capacity(self, case: Case) -> tuple[str, float] | None:
        """The slowest peer and its capacity; measured once for all fractions of a row."""
        if case.row not in self._slowest:
            peers = [(name, name) for name in case.peers]
            rates = self._rounds(case, peers, case.capacity_pairs, case.row, "capacity", None)
            medians = {name: statistics.median(r) for name, r in rates.items() if r}
            if not medians:
                return None
            name = min(medians, key=medians.__getitem__)
            self._slowest[case.row] = (name, medians[name])
            self.writer.write("capacity", row=case.row, slowest=name, rate=medians[name], medians=medians)
        return self._slowest[case.row]

    def _rounds(
        self, case: Case, who: list[tuple[str, str]], count: int, name: str, phase: str, rate: float | None
    ) -> dict[str, list[float]]:
        """Interleaved rounds of `who`; returns the rates (or what the kind measures) by label.

        Who fails twice in a row is left out from then on.
        """
        main = MAIN_FIGURE.get(case.kind, "rate")
        rates: dict[str, list[float]] = {label: [] for _, label in who}
        failures = dict.fromkeys(rates, 0)
        for slots in schedule.rounds(who, count, f"{self.seed}/{name}/{phase}"):
            for slot in slots:
                if failures[slot.label] >= FAILURES_IN_A_ROW:
                    continue
                figures = self._slot(case, slot, name, phase, rate)
                failures[slot.label] = 0 if figures else failures[slot.label] + 1
                if figures:
                    rates[slot.label].append(figures[main])
                if not figures and failures[slot.label] >= FAILURES_IN_A_ROW:
                    print(f"  {slot.label} is left out of the rest of {name}", file=sys.stderr, flush=True)
            self._progress(slots, rates, count)
            if failures.get(case.subject, 0) >= FAILURES_IN_A_ROW:
                break  # Without the subject there is nothing to compare with.
        return rates

    def _progress(self, slots: list[schedule.Slot], rates: dict[str, list[float]], count: int) -> None:
        medians = [f"{label} {statistics.median(r):,.0f}" for label, r in rates.items() if r]
        print(
            f"  round {slots[0].round + 1}/{count}, medians so far:  {'  '.join(medians)}", file=sys.stderr, flush=True
        )

    def _slot(self, case: Case, slot: schedule.Slot, name: str, phase: str, rate: float | None) -> dict | None:
        participant = self.config.participants[slot.participant].of_layout(slot.round % self.config.layouts + 1)
        serve, client = commands(case, participant, rate, phase, self._secrets)
        about = {"case": name, "phase": phase, **dataclasses.asdict(slot), "server": serve, "client": client}
        try:
            outcome = self._measure(case, participant, serve, client)
        except Failed as failure:
            self.writer.run(**about, ok=False, reason=failure.brief)
            print(f"  {slot.label}: {failure.brief}", file=sys.stderr, flush=True)
            return None
        self.writer.run(**about, ok=True, figures=outcome.figures, printed=outcome.client, seen=outcome.seen)
        return outcome.figures

    def _measure(self, case: Case, participant: Participant, serve: list[str], client: list[str]) -> measure.Outcome:
        def client_for(address: str) -> list[str]:
            return [word.replace("{target}", address) for word in client]

        root = str(self.root)
        limit = case.duration + (case.warmup or 5.0) + GRACE
        if case.kind == "idle":
            return measure.idle(serve, client_for, root, case.connections, case.settle)
        if case.kind == "bytes":
            return measure.overhead(serve, client_for, root, case.payload, limit)
        servers = [serve] * (participant.servers or case.servers)
        if case.kind == "troubled":
            servers[-1] = [*serve, *case.trouble]
            return troubled.bench(servers, client_for, root, limit, case.offered, participant.most_attempts, case.warmup or 0)
        if participant.registry:
            registry = [*self.config.tools["registry"], "--listen", "127.0.0.1:0"]
            return measure.found(registry, servers, client_for, root, limit)
        return measure.bench(servers, client_for, root, limit, self._between(case))

    def _between(self, case: Case) -> measure.ClientFor | None:
        """The program that makes the way long, if it is to be."""
        if not case.distant():
            return None
        flags = [("--delay", duration_text(case.delay)), ("--jitter", duration_text(case.jitter))]
        flags.append(("--rate", str(case.bandwidth)))
        words = [*self.config.tools["delay"], "--listen", "127.0.0.1:0", *(word for flag in flags for word in flag)]
        return lambda address: [*words, "--target", address]


def commands(
    case: Case, participant: Participant, rate: float | None, phase: str, secrets: Path = Path()
) -> tuple[list[str], list[str]]:
    """The server's and the client's command line; `{target}` in the latter stands for the server's address."""
    own = case.flags.get(participant.name, {})
    serve = [*participant.server, "serve", "--listen", "127.0.0.1:0"]
    serve += [*_kept(case.serve, participant), *participant.serve, *own.get("serve", [])]
    certificate, key = str(secrets / "certificate.pem"), str(secrets / "key.pem")
    if case.tls:
        serve += ["--tls-cert", certificate, "--tls-key", key]
    if participant.registry:
        serve += ["--registry", "trunkcall:{registry}"]
    if case.kind == "idle":
        words = own.get("client", case.client)
        return serve, [*participant.client, *(w.replace("{connections}", str(case.connections)) for w in words)]
    client = [*participant.client, "bench", "--target", "{target}"]
    if participant.registry:
        client += ["--registry", "trunkcall:{registry}"]
    client += [*_kept(case.bench, participant), *participant.bench, *own.get("bench", [])]
    if case.tls:
        client += ["--tls-ca", certificate]
    if "--calls" not in client:
        client += ["--duration", duration_text(case.duration)]
    if case.warmup is not None:
        client += ["--warmup", duration_text(case.warmup)]
    if case.kind == "troubled":
        rate = case.offered
    if phase == "measure" and rate is not None:
        client += ["--rate", str(rate)]
    return serve, client


def _kept(flags: list[str], participant: Participant) -> list[str]:
    kept, dropping = [], False
    for word in flags:
        if word.startswith("--"):
            dropping = word in participant.without
        if not dropping:
            kept.append(word)
    return kept
