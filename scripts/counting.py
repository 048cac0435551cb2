"""What a run told, counted: passed, failed, skipped."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass, field


@dataclass
class Outcome:
    passed: int
    failed: int
    skipped: int = 0
    output: str = ""  # shown if anything failed
    reasons: list[str] = field(default_factory=list)  # why something was skipped, if that is worth a line


def single(done: subprocess.CompletedProcess[str], passed: bool) -> Outcome:
    return Outcome(int(passed), int(not passed), output=done.stdout)


def go_outcome(events: str, status: int) -> Outcome:
    """Counts what `go test -json` tells. A package that fails without a failing test counts as one failure."""
    outcome = Outcome(0, 0)
    printed: dict[tuple[str, str], list[str]] = {}  # by package and test, until it has passed
    blamed: set[str] = set()
    for line in events.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            event = {"Action": "build-output", "Output": line + "\n"}  # go itself, before it ran anything
        package = event.get("Package", event.get("ImportPath", ""))
        test = event.get("Test", "")
        match event["Action"]:
            case "output" | "build-output":
                printed.setdefault((package, test), []).append(event["Output"])
            case "pass" | "skip" as action:
                printed.pop((package, test), None)
                if test and action == "pass":
                    outcome.passed += 1
                elif test:
                    outcome.skipped += 1
            case "fail" if test:
                outcome.failed += 1
                blamed.add(package)
            case "fail" if package not in blamed:
                outcome.failed += 1
    if status != 0 and outcome.failed == 0:
        outcome.failed = 1
    if outcome.passed + outcome.failed == 0:
        outcome.failed, outcome.output = 1, "no test was run\n"
    outcome.output += "".join("".join(lines) for lines in printed.values())
    return outcome


def unittest_outcome(done: subprocess.CompletedProcess[str]) -> Outcome:
    """Counts what unittest tells at its end."""
    ran = re.search(r"^Ran (\d+) tests?", done.stdout, re.MULTILINE)
    counts = {word: int(n) for word, n in re.findall(r"(failures|errors|skipped)=(\d+)", done.stdout)}
    failed = counts.get("failures", 0) + counts.get("errors", 0)
    if not ran or int(ran[1]) == 0 or done.returncode != 0:
        failed = max(failed, 1)
    skipped = counts.get("skipped", 0)
    return Outcome(max(int(ran[1]) - failed - skipped, 0) if ran else 0, failed, skipped, done.stdout)


def matrix_outcome(done: subprocess.CompletedProcess[str], left_out: list[str]) -> Outcome:
    """Counts what conformance.runner tells at its end; what was left out counts as skipped."""
    counts = re.search(r"^(\d+) passed, (\d+) failed, \d+ not applicable$", done.stdout, re.MULTILINE)
    if not counts:
        return single(done, False)
    failed = max(int(counts[2]), int(done.returncode != 0))
    return Outcome(int(counts[1]), failed, len(left_out), done.stdout, left_out)
