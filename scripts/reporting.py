"""What is printed of a run: a line for each suite, a table by language, and the last line, "N passed, N failed"."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from scripts.commands import ROOT
from scripts.scheduler import Ran

FIGURES = ROOT / "build" / "test.json"
SHARED = "shared"  # what concerns no language alone
FEW = 3  # where more suites than these fail, it is no chance


@dataclass
class Total:
    """Of all suites of a language."""

    passed: int = 0
    failed: int = 0
    retries: int = 0
    seconds: float = 0.0
    behaviours: set[str] = field(default_factory=set[str])
    skipped: Counter[str] = field(default_factory=Counter[str])

    def add(self, ran: Ran) -> None:
        self.passed += ran.outcome.passed
        self.failed += ran.outcome.failed
        self.retries += len(ran.outcome.retries)
        self.seconds += ran.seconds
        self.behaviours |= ran.outcome.behaviours
        self.skipped += ran.outcome.skipped

    def row(self, name: str) -> str:
        counts = (len(self.behaviours), self.passed + self.failed, self.skipped.total(), self.retries)
        return f"{name:<20}" + "".join(f"{count:>12}" for count in counts)


def show(runs: Iterable[Ran], figures: Path | None, again: Callable[[Ran], Ran] | None = None) -> int:
    """Prints what comes of suites as they end; how many failed. Those that failed, if they are few, may be carried out
    `again`, which then counts. Their figures may be kept in a file, for scripts.costs."""
    ended: list[Ran] = []
    for ran in runs:
        ended.append(ran)
        print(text(ran), flush=True)
    broken = [at for at, ran in enumerate(ended) if ran.outcome.failed]
    if again and len(broken) <= FEW:
        for at in broken:
            ended[at] = again(ended[at])
            print(text(ended[at]), flush=True)
    totals: dict[str, Total] = {}
    for ran in ended:
        totals.setdefault(ran.suite.language or SHARED, Total()).add(ran)
    failed = sum(total.failed for total in totals.values())
    if figures:
        keep(ended, figures)
    print(table(totals))
    print(f"{sum(total.passed for total in totals.values())} passed, {failed} failed")
    return failed


def text(ran: Ran) -> str:
    """The line of a suite. What it printed stands before it if something failed, what is to be known of it below."""
    outcome = ran.outcome
    lines = [f"--- {ran.suite.name}\n{outcome.output.rstrip()}\n---"] if outcome.failed else []
    counts = f"{outcome.passed} passed" + (f", {outcome.failed} failed" if outcome.failed else "")
    counts += f", {outcome.skipped.total()} skipped" if outcome.skipped else ""
    word = "FAIL" if outcome.failed else "ok"
    lines.append(f"{word:<5} {ran.suite.name:<28} {counts:<24} {ran.seconds:6.1f} s")
    lines += [f"      retried: {retry}" for retry in outcome.retries]
    return "\n".join(lines)


def table(totals: dict[str, Total]) -> str:
    """By language; below it why something was skipped."""
    lines = ["", f"{'':<20}" + "".join(f"{word:>12}" for word in ("behaviours", "executions", "skipped", "retries"))]
    lines += [total.row(name) for name, total in sorted(totals.items(), key=lambda row: (row[0] == SHARED, row[0]))]
    for name, total in sorted(totals.items()):
        lines += [f"skipped, {name}: {count} times, {why}" for why, count in sorted(total.skipped.items())]
    return "\n".join([*lines, ""])


def keep(ended: list[Ran], figures: Path) -> None:
    rows = [
        {
            "name": ran.suite.name,
            "language": ran.suite.language,
            "meets": ran.suite.meets,
            "began": round(ran.began - min(other.began for other in ended), 1),
            "seconds": round(ran.seconds, 1),
            "cpu": round(ran.cpu, 1),
            "behaviours": len(ran.outcome.behaviours),
            "executions": ran.outcome.passed + ran.outcome.failed,
        }
        for ran in ended
    ]
    figures.parent.mkdir(parents=True, exist_ok=True)
    figures.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
