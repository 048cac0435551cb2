"""What a run told, counted.

A behaviour is one named test or case. An execution is each time that one was carried out: as built and under the race
detector, over TLS, by each pair of languages. A test that only holds other tests is neither.
"""

from __future__ import annotations

import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Outcome:
    """Of a run: executions that passed and failed, what was skipped, and what else is told of it."""

    passed: int
    failed: int
    skipped: Counter[str] = field(default_factory=Counter[str])  # how many, by the reason
    output: str = ""  # shown if anything failed
    behaviours: frozenset[str] = frozenset()  # the names of those that were executed
    retries: list[str] = field(default_factory=list[str])  # a line for each case that was carried out once more
    failures: list[str] = field(default_factory=list[str])  # the names of those that failed, where they have one


def single(name: str, done: subprocess.CompletedProcess[str], passed: bool) -> Outcome:
    failures = [] if passed else [name]
    return Outcome(int(passed), int(not passed), output=done.stdout, behaviours=frozenset([name]), failures=failures)


# What is left of a name that go test made of a number: seeds of a fuzz target, and tests of the same name.
_NUMBERED = re.compile(r"^(Fuzz[^/]*)/.*|#\d+(?=/|$)")


def _behaviour(package: str, test: str) -> str:
    return f"{package}.{_NUMBERED.sub(lambda found: found[1] or '', test)}"


def go_outcome(events: str, status: int) -> Outcome:
    """Counts what `go test -json` tells. A package that fails without a failing test counts as one failure, and so does
    a test that fails though all tests in it passed. Attr("retry", why) says that a test does something once more."""
    printed: dict[tuple[str, str], list[str]] = {}  # by package and test, until it has passed
    ended: dict[tuple[str, str], str] = {}
    failed_packages: list[str] = []
    outcome = Outcome(0, 0)
    for line in events.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict) or "Action" not in event:
            event = {"Action": "build-output", "Output": line + "\n"}  # of go itself, or of what a test started
        package = event.get("Package", event.get("ImportPath", ""))
        test = event.get("Test", "")
        match event["Action"]:
            case "output" | "build-output":
                printed.setdefault((package, test), []).append(event.get("Output", ""))
            case "attr" if event["Key"] == "retry":
                outcome.retries.append(f"{package}.{test}: {event['Value']}")
            case "pass" | "skip" | "fail" as action if test:
                ended[package, test] = action
                if action == "skip":
                    outcome.skipped[_reason(printed.get((package, test), []))] += 1
                if action != "fail":
                    printed.pop((package, test), None)
            case "pass" | "skip":
                printed.pop((package, test), None)
            case "fail":
                failed_packages.append(package)
    _count(outcome, ended)
    blamed = {package for (package, _), action in ended.items() if action == "fail"}
    outcome.failed += sum(1 for package in failed_packages if package not in blamed)
    if status != 0 and outcome.failed == 0:
        outcome.failed = 1
    if outcome.passed + outcome.failed == 0:
        outcome.failed, outcome.output = 1, "no test was run\n"
    outcome.output += "".join("".join(lines) for lines in printed.values())
    return outcome


def _count(outcome: Outcome, ended: dict[tuple[str, str], str]) -> None:
    holds: dict[tuple[str, str], list[str]] = {}  # the ends of the tests in a test
    for (package, test), action in ended.items():
        while "/" in test:
            test = test.rpartition("/")[0]
            holds.setdefault((package, test), []).append(action)
    executed: set[str] = set()
    for key, action in ended.items():
        inner = holds.get(key, [])
        if action == "fail" and "fail" not in inner:
            outcome.failed += 1
            outcome.failures.append(".".join(key))
        elif action == "pass" and not inner:
            outcome.passed += 1
        if action != "skip" and not inner:
            executed.add(_behaviour(*key))
    outcome.behaviours = frozenset(executed)


def _reason(printed: list[str]) -> str:
    """Why a test of Go was skipped: what it said, without the line that it said it at."""
    said = [line for line in printed if line.startswith("    ") and not line.lstrip().startswith("---")]
    return re.sub(r"^[\w./-]+:\d+: ", "", said[-1].strip()) if said else "it did not say why"


def junit_outcome(results: Iterable[Path], status: int, output: str, behaviour: str = "{classname}.{name}") -> Outcome:
    """Counts what files of JUnit's format tell together: failures and errors as failed. `behaviour` is what of a test case
    names the behaviour. A property `retry` says that a case was carried out once more, and why."""
    outcome = Outcome(0, 0, output=output)
    executed: set[str] = set()
    try:
        trees = [ElementTree.fromstring(path.read_bytes()) for path in results]
    except (OSError, ElementTree.ParseError) as error:
        return Outcome(0, 1, output=f"{output.rstrip()}\nno results in JUnit's format: {error}\n")
    # A case may be there several times: what failed in it, what failed as it was cleared up.
    failed: dict[tuple[str, str], bool] = {}
    for case in (case for tree in trees for case in tree.iter("testcase")):
        key = case.get("classname", ""), case.get("name", "")
        retries = [prop.get("value", "") for prop in case.iter("property") if prop.get("name") == "retry"]
        outcome.retries += [f"{'.'.join(key)}: {why}" for why in retries]
        fails = case.find("failure") is not None or case.find("error") is not None
        skipped = case.find("skipped")
        if skipped is not None and not fails:
            outcome.skipped[skipped.get("message") or "it did not say why"] += 1
            continue
        failed[key] = fails or failed.get(key, False)
        executed.add(behaviour.format(**{"classname": "", "name": "", **case.attrib}))
    outcome.failures = [".".join(key) for key, fails in failed.items() if fails]
    outcome.failed = len(outcome.failures)
    outcome.passed = len(failed) - outcome.failed
    outcome.behaviours = frozenset(executed)
    if status != 0 and outcome.failed == 0:
        outcome.failed = 1
    if outcome.passed + outcome.failed == 0:
        outcome.failed, outcome.output = 1, output + "no test was run\n"
    return outcome
