"""The report, made from rows alone, so that it can be made again from them at any time."""

import dataclasses
from pathlib import Path

from . import rows as rows_file
from . import tables, verdicts
from .config import HIGHER_IS_BETTER, OLD, Check
from .figures import ENOUGH_PAIRS, Estimate, Runs, fastest, gather, ratio
from .rows import RowsError
from .schedule import AGAIN

FILE = "report.md"
UNITS = {
    "rate": "calls/s",
    "idle_bytes": "bytes",
    "overhead_bytes": "bytes",
    "client_allocs": "a call",
    "server_allocs": "a call",
    "attempts": "a call",
    "ejected": "a run",
    "runs": "a call",
    "goodput": "of the calls due",
}
# Beyond these a reader should know that a run was not alone, or that a client's own CPU figure is in doubt.
OTHERS_NOTABLE = 0.10
CPU_DISAGREEMENT = 0.15
KEPT_UP = 0.97
# In a troubled row the last calls may take as long as their deadline.
KEPT_UP_IN_TROUBLE = 0.85


def write(directory: Path) -> Path:
    """Make the report of a directory with rows; returns where it is."""
    path = Path(directory) / FILE
    path.write_text(render(rows_file.read(directory)), encoding="utf-8")
    return path


def render(rows: list[dict]) -> str:
    """The report of one run."""
    machine, campaign = first(rows, "machine"), first(rows, "campaign")
    cases = [CaseReport(row, rows, campaign) for row in rows if row["type"] == "case"]
    set_beside(cases)
    parts = [_head(rows, machine, campaign), "## Targets", _targets(cases)]
    for case in cases:
        parts.extend(case.sections())
    parts += ["## Where the figures come from", _sources(cases)]
    return "\n\n".join(part for part in parts if part) + "\n"


def set_beside(cases: list["CaseReport"]) -> None:
    """Lets each case know those whose ratios it is to keep."""
    for case in cases:
        case.beside = {each.name: each for each in cases}


def first(rows: list[dict], kind: str) -> dict:
    for row in rows:
        if row.get("type") == kind:
            return row
    raise RowsError(f"no {kind!r} row: nothing to report on")


def _head(rows: list[dict], machine: dict, campaign: dict) -> str:
    pairs = [row["pairs"] for row in rows if row["type"] == "case"]
    lines = [f"# {campaign['title']}", ""]
    lines.append(f"Made by `{' '.join(campaign['command'])}` on {machine['date']}, seed {campaign['seed']}.")
    lines.append(
        f"{machine['cpu']}, {machine['cores']} cores, {machine['kernel']}; load average at the start "
        f"{machine['load'][0]:.2f}; tree {machine['commit'] or 'without a commit'}."
    )
    for name, version in {**machine["versions"], **machine["programs"]}.items():
        lines.append(f"- {name}: {version}")
    lines += ["", READING]
    few = tables.orientation(min(pairs, default=0))
    if few:
        lines += ["", f"**{few}.**"]
    if campaign.get("against"):
        several = f", {campaign['layouts']} layouts of each" if campaign.get("layouts", 1) > 1 else ""
        lines += ["", f"**Two builds: the peer `{OLD} …` is {campaign['against']}{several}.**"]
    if campaign["among"]:
        lines += ["", f"**Only {campaign['among']} were measured: `fastest` and `each` mean these.**"]
    for row in rows:
        if row["type"] == "interrupted":
            lines += ["", f"**Interrupted by {row['signal']}: what follows is what there was until then.**"]
    return "\n".join(lines)


READING = (
    "Ratios are subject ÷ the other, paired by round; shown are the median and a 95 % bootstrap interval. Of rates "
    "more is better, of everything else less. `met` and `not met`: the whole interval agrees; with a question mark "
    "only the median does. CPU is microseconds per call: the client's as it states it, the server's as seen over the "
    "middle of the client's measured time."
)


def _targets(cases: list["CaseReport"]) -> str:
    lines = [line for case in cases for line in case.targets()]
    return tables.table(TARGETS_HEAD, lines) if lines else "No targets in this configuration."


TARGETS_HEAD = ["row", "what", "measured", "must", "", "goal", ""]


def _answer(answer: str | None, estimate: Estimate | None) -> str:
    if answer is None:
        return "–"
    few = estimate and estimate.count < ENOUGH_PAIRS
    return f"{answer} ({estimate.count} pairs)" if few else answer


def _unit(check: Check) -> str:
    return UNITS.get(check.metric, "µs")


def _bound(check: Check, bound: float | None, lenient: bool) -> str:
    if bound is None:
        return "–"
    sign = "≥" if check.metric in HIGHER_IS_BETTER else "≤"
    return f"{sign} {bound:g}" + (" or within the interval" if lenient else "")


class CaseReport:
    """One case: its tables, its doubts, its verdicts."""

    def __init__(self, case: dict, rows: list[dict], campaign: dict):
        self.case = case
        self.runs = gather(rows, case["name"])
        # Open rows only: the runs that their rates were taken from, shared by all points of the row.
        self.capacity_runs = gather(rows, case["row"], "capacity")
        self.capacity = next((r for r in rows if r["type"] == "capacity" and r["row"] == case["row"]), None)
        self.name: str = case["name"]
        self.subject: str = case["subject"]
        self.seed: int = campaign["seed"]
        self.beside: dict[str, CaseReport] = {}

    def labels(self) -> list[str]:
        again = [self.subject + AGAIN] if self.case["aa"] else []
        return [self.subject, *again, *self.case["peers"], *self.case["baselines"]]

    def others(self) -> list[str]:
        return self.labels()[1:]

    def judged(self) -> list[verdicts.Verdict]:
        checks = [self._with_goal(Check(**check)) for check in self.case["checks"]]
        return [verdicts.judge(c, self.runs, self.subject, self.case["peers"], self.seed) for c in checks]

    def targets(self) -> list[list[str]]:
        """A line of the table of targets for each check."""
        return [self._target(verdict) for verdict in self.judged()]

    def _target(self, verdict: verdicts.Verdict) -> list[str]:
        check = verdict.check
        what = f"{check.metric} ÷ {verdict.other}" if verdict.other else f"{check.metric} ({_unit(check)})"
        if self.case.get("left_out"):
            what = what.replace("(fastest)", "(fastest of those run)")
        return [
            self.name,
            what,
            tables.times(verdict.estimate) if verdict.other else tables.plain(verdict.estimate),
            _bound(check, check.must, check.lenient),
            _answer(verdict.must, verdict.estimate),
            _bound(check, check.goal, False) + (f" (as {check.goal_of})" if check.goal_of else ""),
            _answer(verdict.goal, verdict.estimate),
        ]

    def _with_goal(self, check: Check) -> Check:
        """The check; if it is to keep another case's ratio, with the worse end of that one's interval as its goal."""
        other = self.beside.get(check.goal_of)
        kept = other.ratio(check.metric, check.against) if other else None
        if kept is None:
            return check
        return dataclasses.replace(check, goal=round(kept.low if check.metric in HIGHER_IS_BETTER else kept.high, 2))

    def ratio(self, metric: str, other: str) -> Estimate | None:
        return ratio(self.runs, metric, self.subject, other, self.seed)

    def sections(self, level: str = "##") -> list[str]:
        if self.case.get("skipped"):
            return [f"{level} {self.name}", self.case["title"], f"Not measured: {self.case['skipped']}."]
        parts = [f"{level} {self.name}", f"{self.case['title']}. {self.case['note']}".strip()]
        if self.case.get("left_out"):
            parts.append(
                f"A short run, without {', '.join(self.case['left_out'])}: `fastest` and `each` mean the others."
            )
        if self.capacity:
            parts.append(self._rate_line(self.capacity))
        if self.case["kind"] in ("idle", "bytes"):
            metric = "idle_bytes" if self.case["kind"] == "idle" else "overhead_bytes"
            parts.append(self._single_table(metric))
        elif self.case["kind"] == "troubled":
            parts.append(self._troubled_table())
        else:
            parts += [self._figures_table(), self._ratios_table()]
        return [*parts, "\n".join(f"- {doubt}" for doubt in self.doubts())]

    def _rate_line(self, capacity: dict) -> str:
        return (
            f"Slowest peer: {capacity['slowest']}, {capacity['rate']:,.0f} calls/s (median, closed loop, same run); "
            f"offered here: {self.case['rate']:,} calls/s."
        )

    def _figures_table(self) -> str:
        head = ["", "calls/s", "CPU client", "CPU server", "CPU both", "mean µs", "p50", "p99", "p99.9", "server MiB"]
        metrics = ["rate", "cpu_client_us", "cpu_server_us", "cpu_both_us", "mean_us", "p50_us", "p99_us", "p999_us"]
        if any(self.runs.values(label, "client_allocs") for label in self.labels()):
            head[-1:-1] = ["allocs client", "allocs server"]
            metrics += ["client_allocs", "server_allocs"]
        lines = []
        for label in self.labels():
            cells = [tables.number(self.runs.median(label, metric)) for metric in metrics]
            resident = self.runs.median_seen(label, "server_resident")
            lines.append([self._named(label), *cells, tables.mebibytes(resident)])
        return tables.table(head, lines)

    def _ratios_table(self) -> str:
        metrics = {"rate": "rate", "cpu_both_us": "CPU both", "mean_us": "mean", "p99_us": "p99", "p999_us": "p99.9"}
        lines = []
        for other in self.others():
            cells = [tables.times(self.ratio(metric, other), self.case["pairs"]) for metric in metrics]
            lines.append([self._named(other), *cells])
        return tables.table([f"{self.subject} ÷", *metrics.values()], lines)

    def _troubled_table(self) -> str:
        head = ["", "answered", "p50 ms", "p99 ms", "attempts", "at handlers", "ejected", "CPU client"]
        lines = []
        for label in self.labels():
            goodput = self.runs.median(label, "goodput")
            times = [self.runs.median(label, metric) for metric in ("answered_p50_us", "answered_p99_us")]
            counts = [self.runs.median(label, metric) for metric in ("attempts", "runs")]
            cells = ["–" if goodput is None else f"{goodput:.1%}"]
            cells += ["–" if each is None else f"{each / 1000:.1f}" for each in times]
            cells += ["–" if each is None else f"{each:.3f}" for each in counts]
            ejected = self.runs.median(label, "ejected")
            cells.append("–" if ejected is None else f"{ejected:g}")
            lines.append([self._named(label), *cells, tables.number(self.runs.median(label, "cpu_client_us"))])
        return tables.table(head, lines)

    def _single_table(self, metric: str) -> str:
        lines = []
        for label in self.labels():
            held_against = "–" if label == self.subject else tables.times(self.ratio(metric, label))
            lines.append([self._named(label), tables.number(self.runs.median(label, metric)), held_against])
        return tables.table(["", "bytes", f"{self.subject} ÷ it"], lines)

    def _named(self, label: str) -> str:
        if label.endswith(AGAIN):
            return f"{label} (A/A)"
        if label in self.case["baselines"]:
            return f"{label} (baseline)"
        contest = len(self.case["peers"]) > 1 and self.case["kind"] == "capacity"
        top = fastest(self.runs, self.case["peers"]) if contest else None
        return f"**{label}** (fastest peer)" if label == top else label

    def doubts(self) -> list[str]:
        """What a reader must know before quoting the figures."""
        found = []
        for failed in (*self.capacity_runs.failed, *self.runs.failed):
            where = f"{failed['label']}, round {failed['round'] + 1} (#{failed['id']})"
            found.append(f"invalid: {where}: {failed['reason']}")
        for label in self.labels():
            count = len(self.runs.by_label.get(label, {}))
            if count < self.case["pairs"]:
                found.append(f"{label}: {count} valid runs of {self.case['pairs']}")
            stated = self.runs.median(label, "cpu_client_us")
            outside = self.runs.median_seen(label, "cpu_client_outside_us")
            if stated is not None and outside and abs(stated / outside - 1) > CPU_DISAGREEMENT:
                found.append(f"{label}: states {stated:.2f} µs client CPU per call, seen from outside {outside:.2f}")
            rate, offered = self.runs.median(label, "rate"), self.case.get("rate")
            if offered and rate is not None and rate < KEPT_UP * offered:
                found.append(f"{label}: fell behind, {rate:,.0f} of {offered:,} calls/s")
            made, offered = self.runs.median_seen(label, "made"), self.case.get("offered")
            if offered and made is not None and made < KEPT_UP_IN_TROUBLE * offered:
                found.append(f"{label}: fell behind, {made:,.0f} of {offered:,} calls/s were made")
        disturbed = [s for of_label in self.runs.seen.values() for s in of_label.values()]
        loud = [s for s in disturbed if s.get("others_share", 0) + s.get("stolen_share", 0) > OTHERS_NOTABLE]
        if loud:
            found.append(
                f"{len(loud)} of {len(disturbed)} runs shared the machine: others took more than "
                f"{OTHERS_NOTABLE:.0%} of it"
            )
        return found


def _sources(cases: list[CaseReport]) -> str:
    lines = [
        "Each line lists the ids of the runs in `rows.jsonl`, in the order of rounds; a figure is the median over "
        "them, a ratio the median of the quotients of runs that stand at the same place (`round`).",
        "",
    ]
    for case in cases:
        lines += [f"- {case.name}, {label}: {_listed(case.runs, label)}" for label in case.labels()]
        capacity = [f"{label} {_listed(case.capacity_runs, label)}" for label in case.capacity_runs.ids]
        if capacity:
            lines.append(f"- {case.name}, capacity of the peers: {', '.join(capacity)}")
    return "\n".join(lines)


def _listed(runs: Runs, label: str) -> str:
    ids = runs.ids.get(label, {})
    return " ".join(f"#{ids[number]}" for number in sorted(ids)) or "none valid"
