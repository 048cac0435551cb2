"""Which suites there are: those of the languages, from languages/NAME.toml, and those that concern none alone."""

from __future__ import annotations

import contextlib
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from subprocess import CompletedProcess

from harness.languages import Check, Fuzz, Language, Tests, environment, languages
from harness.prerequisites import here, missing
from scripts.commands import ROOT, command, once, one_at_a_time
from scripts.counting import Outcome, go_outcome, junit_outcome, single
from scripts.scheduler import Suite

PYTHON = sys.executable


# The parts that the suites of this run need, by language. All are built before the first of them runs, and none beside
# one that runs: what builds one part may take from another what that has in use.
_needed: defaultdict[str, set[str]] = defaultdict(set)


def expect(chosen: Iterable[Suite]) -> None:
    """Says which suites will run."""
    for suite in chosen:
        for language, part in suite.builds:
            _needed[language].add(part)


def prepared(*builds: tuple[str, str], of: Iterable[str] = ()) -> CompletedProcess[str]:
    """Makes the environments of languages, and those parts of them. Nothing of a language is made twice in a run."""
    status, printed = 0, ""
    for key in dict.fromkeys([*(key for key, _ in builds), *of]):
        once(key, *steps(key, _needed[key]))
        done = once(key, *steps(key, {part for language, part in builds if language == key}))
        status, printed = status or done.returncode, printed + done.stdout
    return CompletedProcess([], status, stdout=printed)


def steps(key: str, parts: Iterable[str]) -> list[list[str]]:
    """The commands that make the environment of a language and build parts of it."""
    language = [PYTHON, "-m", "scripts.language", "--only", key]
    return [[*language, "environment"], *([*language, "build", part] for part in sorted(parts))]


def everywhere(*parts: str) -> tuple[tuple[str, str], ...]:
    """Those parts of all languages that take part here."""
    return tuple((key, row.part) for key, language in here().items() for row in language.build if row.part in parts)


def check(name: str, *words: str) -> Suite:
    """A command of the project itself, which passes with exit status 0."""

    def run() -> Outcome:
        done = command(list(words))
        return single(name, done, done.returncode == 0)

    return Suite(name, run)


def checks(language: Language, row: Check) -> list[Suite]:
    """A suite for each folder; named by it if there are several."""
    name = f"check {language.key} {row.name}"
    return [checked(f"{name} {folder}" if row.folders[1:] else name, language, row, folder) for folder in row.folders]


def checked(name: str, language: Language, row: Check, folder: str) -> Suite:
    def run() -> Outcome:
        if (there := prepared(of=[language.key])).returncode != 0:
            return single(name, there, False)
        done = command(list(language.words(row.command)), folder, environment(row))
        return single(name, done, done.returncode == 0 and not (row.silent and done.stdout))

    return Suite(name, run, language=language.name)


def tests(language: Language, row: Tests) -> list[Suite]:
    """Likewise."""
    name = f"{language.key} {row.name}"
    return [tested(f"{name} {folder}" if row.folders[1:] else name, language, row, folder) for folder in row.folders]


def tested(name: str, language: Language, row: Tests, folder: str) -> Suite:
    builds = tuple((language.key, part) for part in row.builds)

    def run() -> Outcome:
        if (there := prepared(*builds, of=[language.key])).returncode != 0:
            return single(name, there, False)
        # The reports may be the same files for other folders, and for other rows of the language.
        with one_at_a_time(f"reports {language.key}") if row.reports else contextlib.nullcontext():
            return told()

    def told() -> Outcome:
        results = results_of(name)
        for report in files(row.reports):
            report.unlink(missing_ok=True)
        words = [word.replace("{junit}", str(results)) for word in language.words(row.command)]
        done = command(words, folder, environment(row))
        match row.result:
            case "go-json":
                return go_outcome(done.stdout, done.returncode)
            case _:
                reports = files(row.reports) if row.reports else [results]
                if not reports:
                    missing = f"no results in JUnit's format: there is no file {' or '.join(row.reports)}"
                    return Outcome(0, 1, output=f"{done.stdout.rstrip()}\n{missing}\n")
                return junit_outcome(reports, done.returncode, done.stdout)

    return Suite(name, run, language=language.name, alone=row.alone, waits=row.waits, seconds=row.seconds, builds=builds)


def files(patterns: Iterable[str]) -> list[Path]:
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern))


def fuzz_targets(fuzztime: str) -> list[Suite]:
    """A suite for each fuzz target. `make test` runs their seeds, as tests."""
    found = []
    for language in languages().values():
        if language.fuzz:
            found += [fuzzing(language, language.fuzz, *target, fuzztime) for target in language.fuzz.targets()]
    return found


def fuzzing(language: Language, fuzz: Fuzz, target: str, package: str, time: str) -> Suite:
    name = f"fuzz {target}"

    def run() -> Outcome:
        if (there := prepared(of=[language.key])).returncode != 0:
            return single(name, there, False)
        words = [word.format(target=target, package=package, time=time) for word in language.words(fuzz.command)]
        done = command(words, fuzz.folder, environment())
        finished = fuzz.finished and re.search(fuzz.finished, done.stdout, re.MULTILINE)
        return single(target, done, done.returncode == 0 or bool(finished))

    return Suite(name, run, language=language.name, alone=True, bound=86_400.0)


def left_out(language: Language, what: str, lacking: list[str]) -> Suite:
    why = f"{what} left out, for this machine has not {'; '.join(lacking)}"
    return Suite(f"{language.key} left out", lambda: Outcome(0, 0, Counter({why: 1})), language=language.name)


def of_languages() -> list[Suite]:
    """Checks first: they are quick. Of an optional language only what this machine has the tools for."""
    there, without = [], []
    for one in languages().values():
        if one.key not in here():
            without.append(left_out(one, f"{one.name} is", missing(one)))
        elif one.optional and (lacking := missing(one, tests=True)):
            without.append(left_out(one, f"{one.name}'s own checks and tests are", lacking))
        else:
            there.append(one)
    # The hub's last: meanwhile its tests, which are the longest, build what it needs, and others make what they need.
    in_order = sorted(there, key=lambda one: one.hub)
    found = [suite for one in in_order for row in one.checks for suite in checks(one, row)]
    return found + [suite for one in there for row in one.tests for suite in tests(one, row)] + without


def in_environment(environment_folder: str, words: list[str], folder: str) -> CompletedProcess[str]:
    """Runs the Python of an environment (scripts/environment.py), which is made if it is not there."""
    there = command([PYTHON, "scripts/environment.py", environment_folder])
    if there.returncode != 0:
        return there
    return command([str(ROOT / environment_folder / "bin" / "python"), *words], folder, environment())


FAULTS = "conformance/test_faults_*.py"
DISCOVERY = "conformance/test_discovery.py"


def pytests(name: str, *words: str, parts: tuple[str, ...] = (), waits: bool = False, seconds: float = 0.0) -> Suite:
    """Tests in Python, chosen by the words for pytest; `parts` are those of all languages that meet there."""
    builds = everywhere(*parts)

    def run() -> Outcome:
        if (built := prepared(*builds)).returncode != 0:
            return single(name, built, False)
        results = results_of(name)
        done = in_environment("build/python", ["-W", "error", "-m", "pytest", "-q", *words, f"--junit-xml={results}"], ".")
        return junit_outcome([results], done.returncode, done.stdout)

    return Suite(name, run, meets=bool(parts), waits=waits, seconds=seconds, builds=builds)


def results_of(name: str) -> Path:
    """The file that a suite's results are to be written to; what an earlier run wrote is gone."""
    results = ROOT / "build" / "tests" / f"{re.sub(r'[ /]', '-', name)}.xml"
    results.parent.mkdir(parents=True, exist_ok=True)
    results.unlink(missing_ok=True)
    return results


def random_sessions(count: str) -> Suite:
    """Sessions between languages, from a fixed seed and from a random one, which is printed."""
    builds = everywhere("session")

    def run() -> Outcome:
        if (built := prepared(*builds)).returncode != 0:
            return single("random sessions", built, False)
        words = ["-W", "error", "-m", "conformance.random_sessions", "--sessions", count]
        done = in_environment("build/python", words, ".")
        return single("random sessions", done, done.returncode == 0)

    return Suite("random sessions", run, meets=True, seconds=40, builds=builds)


def random_policies(count: str) -> Suite:
    """Policy files and events of their cores between languages, from a fixed seed and from a random one, which is printed."""
    builds = everywhere("policies")

    def run() -> Outcome:
        if (built := prepared(*builds)).returncode != 0:
            return single("random policies", built, False)
        words = ["-W", "error", "-m", "conformance.random_policies", "--cases", count]
        done = in_environment("build/python", words, ".")
        return single("random policies", done, done.returncode == 0)

    return Suite("random policies", run, meets=True, seconds=10, builds=builds)


def matrix() -> Suite:
    """The conformance cases. Each counts once for each client, server and transport; a client that this machine cannot
    build is skipped whole."""
    builds = everywhere("peer")

    def run() -> Outcome:
        for built in (prepared(*builds), stock := once("stock", [PYTHON, "-m", "scripts.stock"])):
            if built.returncode != 0:
                return single("matrix", built, False)
        results = results_of("matrix")
        done = in_environment("build/python", ["-W", "error", "-m", "conformance.runner", f"--junit-xml={results}"], ".")
        outcome = junit_outcome([results], done.returncode, done.stdout, "{classname}")
        outcome.skipped.update(line for line in stock.stdout.splitlines() if " is left out, " in line)
        return outcome

    return Suite("matrix", run, meets=True, seconds=50, builds=builds)


def public_suite() -> Suite:
    """The public suite of Connect, gRPC and gRPC-Web: its cases count once for each server, and client with server."""
    builds = everywhere("peer", "connectconformance")

    def run() -> Outcome:
        if (built := prepared(*builds)).returncode != 0:
            return single("public suite", built, False)
        results = results_of("public suite")
        words = ["-W", "error", "-m", "conformance.public_suite", f"--junit-xml={results}"]
        done = in_environment("build/python", words, ".")
        return junit_outcome([results], done.returncode, done.stdout, "{classname}")

    # Servers that start beside other suites would not be there in the time that it gives them.
    return Suite("public suite", run, meets=True, alone=True, seconds=30, builds=builds)


def demonstration() -> Suite:
    """What `make run` shows."""
    name = "run"
    builds = everywhere("peer", "examples", "echo")

    def run() -> Outcome:
        if (built := prepared(*builds)).returncode != 0:
            return single(name, built, False)
        done = command([PYTHON, "-m", "scripts.run", "--load=300ms"])
        return single(name, done, done.returncode == 0)

    return Suite(name, run, builds=builds)


def suites() -> list[Suite]:
    return [
        *of_languages(),
        check("check documents", PYTHON, "scripts/docs.py"),
        check("check vectors", PYTHON, "spec/vectors/derive.py", "--check"),
        pytests("scripts", "scripts/tests", "harness/tests", waits=True),
        pytests("lab", "lab/tests", waits=True, seconds=14),
        matrix(),
        # Apart, so that they run beside each other.
        pytests("languages", "-n", "2", "--dist", "loadscope", "conformance", f"--ignore-glob={FAULTS}", f"--ignore={DISCOVERY}", parts=("peer", "registries", "session", "policies", "h2spec", "examples"), seconds=140),
        # Servers that stop wait for their clients to hear of it.
        pytests("discovery", DISCOVERY, parts=("peer", "examples"), waits=True, seconds=75),
        # Half of their time they wait.
        pytests("faults", "-n", "2", "--dist", "worksteal", *sorted(str(path) for path in ROOT.glob(FAULTS)), parts=("peer", "registries"), seconds=110),
        public_suite(),
        random_sessions("500"),
        random_policies("2000"),
        demonstration(),
    ]
