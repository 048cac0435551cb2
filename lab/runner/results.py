"""What several runs have found, as one document that is checked in, and as a short table in README.md.

Of each case the newest measurement counts that rests on enough pairs. Everything is made from rows, nothing by hand.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from . import rows as rows_file
from . import tables, targets
from .figures import ENOUGH_PAIRS
from .report import READING, TARGETS_HEAD, CaseReport, first, set_beside

FILE = Path("lab") / "RESULTS.md"
README = Path("README.md")
BEGIN, END = "<!-- measured:begin -->", "<!-- measured:end -->"
NOTHING = f"No measurement of at least {ENOUGH_PAIRS} pairs is kept at present."


@dataclass
class Run:
    """One directory of rows."""

    name: str
    machine: dict
    campaign: dict

    @property
    def date(self) -> str:
        return self.machine["date"]

    def command(self) -> str:
        """As one would give it, with the settings of the environment; where rows are kept is nobody's business."""
        settings = [f"{name}={value}" for name, value in self.machine.get("environment", {}).items()]
        words = iter(self.campaign["command"])
        kept = [word for word in words if word not in ("--out", "--root") or not next(words)]
        return " ".join([*settings, "python3", *kept])


@dataclass
class Result:
    """A case with the run that it is from."""

    run: Run
    case: CaseReport


def collect(directories: Iterable[Path], tell: Callable[[str], None]) -> list[Result]:
    """The newest measurement of each case, by configurations; `tell` hears what is left out."""
    newest: dict[tuple[str, str], Result] = {}
    for directory in directories:
        rows = rows_file.read(directory)
        run = Run(Path(directory).name, first(rows, "machine"), first(rows, "campaign"))
        if run.campaign.get("against"):
            tell(f"{directory} is left out: it compares two builds of ours")
            continue
        for row in rows:
            if row["type"] != "case":
                continue
            case = CaseReport(row, rows, run.campaign)
            pairs = len(case.runs.by_label.get(case.subject, {}))
            if pairs < ENOUGH_PAIRS:
                tell(f"{directory}: {case.name} is left out: {pairs} valid runs of {case.subject}")
                continue
            key = (config_name(run), case.name)
            if key not in newest or newest[key].run.date <= run.date:
                newest[key] = Result(run, case)
    found = sorted(newest.values(), key=lambda result: config_name(result.run))
    for title in dict.fromkeys(config_name(result.run) for result in found):
        set_beside([result.case for result in found if config_name(result.run) == title])
    return found


def config_name(run: Run) -> str:
    return Path(run.campaign["config"]).name


def write(results: list[Result], root: Path) -> list[Path]:
    """Writes both documents; returns where they are."""
    lists = targets.load(root / targets.FILE)
    (root / FILE).write_text(render(results, lists), encoding="utf-8")
    readme = root / README
    before, rest = readme.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    readme.write_text(
        f"{before}{BEGIN}\n{summary(results, targets.summary(root / targets.FILE))}\n{END}{after}", encoding="utf-8"
    )
    return [root / FILE, readme]


HEAD = (
    "# Results\n\nMade by `make results` from the rows of runs of the lab ([README.md](README.md)) and never edited. Of "
    f"each row the newest measurement stands here that rests on at least {ENOUGH_PAIRS} pairs; all programs of a run had "
    "the same environment, and so the same settings of the collector."
)


def render(results: list[Result], lists: Iterable[targets.TargetList] = ()) -> str:
    if not results:
        return f"{HEAD}\n\n{NOTHING}\n"
    runs = _runs(results)
    parts = [HEAD, READING]
    for each in lists:
        parts += [f"## {each.title}", targets.table(each, _answers(results))]
    parts += ["## Runs", _run_table(runs), _run_details(runs)]
    for title, group in _by_title(results).items():
        lines = [[*line, runs_name(runs, r.run)] for r in group for line in r.case.targets()]
        parts += [f"## {title}", tables.table([*TARGETS_HEAD, "run"], lines) if lines else "No targets."]
        for result in group:
            heading, *sections = result.case.sections("###")
            parts += [heading, _origin(result, runs_name(runs, result.run)), *sections]
    return "\n\n".join(part for part in parts if part) + "\n"


def _answers(results: list[Result]) -> targets.Answers:
    found = {(config_name(result.run), result.case.name): result.case.judged() for result in results}

    def answers(config: str, case: str) -> list[tuple[str | None, str | None]] | None:
        verdicts = found.get((config, case))
        return None if verdicts is None else [(verdict.must, verdict.goal) for verdict in verdicts]

    return answers


def _runs(results: list[Result]) -> list[Run]:
    by_name = {result.run.name: result.run for result in results}
    return sorted(by_name.values(), key=lambda run: run.date)


def runs_name(runs: list[Run], run: Run) -> str:
    return f"R{[each.name for each in runs].index(run.name) + 1}"


def _by_title(results: list[Result]) -> dict[str, list[Result]]:
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.run.campaign["title"], []).append(result)
    return groups


def _run_table(runs: list[Run]) -> str:
    head = ["run", "date", "tree", "machine", "load before", "rows in"]
    lines = []
    for run in runs:
        m = run.machine
        where = f"{m['cpu']}, {m['cores']} cores, {m['kernel']}"
        lines.append(
            [runs_name(runs, run), run.date, m["commit"] or "none", where, f"{m['load'][0]:.2f}", f"`{run.name}`"]
        )
    return tables.table(head, lines)


def _run_details(runs: list[Run]) -> str:
    lines = []
    for run in runs:
        versions = {**run.machine["versions"], **run.machine["programs"]}
        lines.append(f"- {runs_name(runs, run)}: `{run.command()}`, seed {run.campaign['seed']}")
        lines += [f"  - {name}: {version}" for name, version in versions.items()]
    return "\n".join(lines)


def _origin(result: Result, run: str) -> str:
    return f"{run}: {result.case.case['pairs']} pairs, {result.case.case['duration']:g} s a run."


def summary(results: list[Result], rows: list[tuple[str, str]]) -> str:
    """The short table of README.md, in the order of `rows`."""
    found = {(config_name(result.run), result.case.name): result for result in results}
    shown = [found[row] for row in rows if row in found]
    if not shown:
        return NOTHING
    runs = _runs(shown)
    lines = []
    for result in shown:
        rates = [[what, measured] for _, what, measured, *_ in result.case.targets() if what.startswith("rate")]
        lines += [["" if number else result.case.case["title"], *cells] for number, cells in enumerate(rates)]
    where = sorted({f"{r.machine['cpu']}, {r.machine['cores']} cores, {r.machine['kernel']}" for r in runs})
    dates = [run.date.split()[0] for run in runs]
    when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    trees = ", ".join(dict.fromkeys(run.machine["commit"] or "none" for run in runs))
    head = f"{when}, {'; '.join(where)}, tree {trees}; client and server on one machine, at least {ENOUGH_PAIRS} pairs."
    return f"{head}\n\n{tables.table(['', 'Trunkcall beside', 'measured'], lines)}"
