"""Which suites there are, and the command of each."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from scripts.commands import ROOT, command, made
from scripts.counting import Outcome, go_outcome, junit_outcome, single, unittest_outcome
from scripts.scheduler import Suite

GO = os.environ.get("GO", "go")
PYTHON = sys.executable
# From python/, whose pyproject.toml has the rules.
PYTHON_FOLDERS = (".", "../conformance", "../harness", "../examples/python", "../lab/peers/python")
PYTHON_SOURCES = ("conformance", "examples/python", "harness", "lab", "python", "scripts", "spec")
GO_MODULES = ("go", "go/tools", "lab/peers/go", "examples/go", "conformance/connect", "conformance/interop", "conformance/stock/go")


def check(name: str, *words: str, folder: str = ".", silent: bool = False) -> Suite:
    """A command that passes with exit status 0 and, if it is to be silent, by printing nothing."""

    def run() -> Outcome:
        done = command(list(words), folder)
        return single(name, done, done.returncode == 0 and not (silent and done.stdout))

    return Suite(name, run)


def go_tests(
    name: str,
    folder: str,
    *flags: str,
    packages: tuple[str, ...] = (),
    but: str = "",
    always: tuple[str, ...] = (),
) -> Suite:
    """The tests of some packages of a module, or of all `but` one. `always` is what all connections of them have."""

    def run() -> Outcome:
        chosen = packages
        if not chosen:
            listed = command([GO, "list", "./..."], folder)
            if listed.returncode != 0:
                return single(name, listed, False)
            chosen = tuple(package for package in listed.stdout.split() if not (but and package.endswith(but)))
        words = [GO, "test", "-json", "-count=1", *flags, *chosen]
        done = command(["env", *(f"TRUNKCALL_TEST_{what}=always" for what in always), *words], folder)
        return go_outcome(done.stdout, done.returncode)

    return Suite(name, run)


def fuzz_targets(fuzztime: str) -> list[Suite]:
    """A suite for each fuzz target of the Go module. `make test` runs their seeds, as tests."""
    suites = []
    for path in sorted((ROOT / "go").rglob("*_test.go")):
        package = "./" + str(path.parent.relative_to(ROOT / "go"))
        for target in re.findall(r"^func (Fuzz\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE):
            suites.append(fuzzing(target, package, fuzztime))
    return suites


# Up to 1.26, go test may report the end of -fuzztime as a failure (go.dev/issue/75804). It then names no input and no
# line of the test: a target that fails says "Failing input", one that hangs "terminated unexpectedly".
TIME_UP = re.compile(r"^--- FAIL: \w+ \([\d.]+s\)\n    context deadline exceeded\nFAIL$", re.MULTILINE)


# What -fuzztime takes: a time, or a number of runs. Above 0, which would be without end.
FUZZTIME = re.compile(r"(?=.*[1-9])(((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+|\d+x)")


def fuzzing(target: str, package: str, fuzztime: str) -> Suite:
    def run() -> Outcome:
        flags = ["-run", "^$", "-fuzz", f"^{target}$", "-fuzztime", fuzztime]
        done = command([GO, "test", *flags, package], "go")
        return single(target, done, done.returncode == 0 or bool(TIME_UP.search(done.stdout)))

    return Suite(f"fuzz {target}", run, language="Go", alone=True, bound=86_400.0)


def in_environment(environment: str, words: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    """Runs the Python of an environment (scripts/environment.py), which is made if it is not there."""
    there = command([PYTHON, "scripts/environment.py", environment])
    if there.returncode != 0:
        return there
    # Compiled once for all runs, under build/; and nothing that the shell says changes what is imported.
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")}
    env["PYTHONPYCACHEPREFIX"] = str(ROOT / "build" / ".cache" / "python")
    env["PYRIGHT_PYTHON_IGNORE_WARNINGS"] = "1"  # it would ask the registry for newer versions of itself
    return command([str(ROOT / environment / "bin" / "python"), *words], folder, env)


def python_check(name: str, *words: str) -> Suite:
    def run() -> Outcome:
        done = in_environment("build/python", list(words), "python")
        return single(name, done, done.returncode == 0)

    return Suite(name, run)


def unittests(name: str, tests: str, folder: str = ".", environment: str | None = None, build: str = "") -> Suite:
    """The tests below a folder, by the Python that runs this or by that of an environment; `build` are
    targets of the Makefile that they need."""
    words = ["-W", "error", "-m", "unittest", "discover", "-v", "-s", tests, "-t", "."]

    def run() -> Outcome:
        if (built := made(*build.split())).returncode != 0:
            return single(name, built, False)
        done = in_environment(environment, words, folder) if environment else command([PYTHON, *words], folder)
        return unittest_outcome(done)

    return Suite(name, run)


def random_sessions(count: str) -> Suite:
    """Sessions between languages, from a fixed seed and from a random one, which is printed."""

    def run() -> Outcome:
        if (built := made("session-go", "session-python")).returncode != 0:
            return single("random sessions", built, False)
        words = ["-W", "error", "-m", "conformance.random_sessions", "--sessions", count]
        done = in_environment("build/python", words, ".")
        return single("random sessions", done, done.returncode == 0)

    return Suite("random sessions", run, meets=True)


def matrix() -> Suite:
    """The conformance cases. Each counts once for each client, server and transport; a client that this machine cannot
    build is skipped whole."""

    def run() -> Outcome:
        if (built := made("peer-go", "stock")).returncode != 0:
            return single("matrix", built, False)
        results = ROOT / "build" / "matrix.xml"
        results.unlink(missing_ok=True)
        done = in_environment("build/python", ["-W", "error", "-m", "conformance.runner", f"--junit-xml={results}"], ".")
        outcome = junit_outcome(results, done.returncode, done.stdout, "{classname}")
        outcome.skipped.update(line for line in built.stdout.splitlines() if " is left out, " in line)
        return outcome

    return Suite("matrix", run, meets=True)


def suites() -> list[Suite]:
    return [
        check("check gofmt", "gofmt", "-l", *GO_MODULES, silent=True),
        check("check python syntax", PYTHON, "-W", "error", "-m", "compileall", "-q", *PYTHON_SOURCES),
        python_check("check python format", "-m", "ruff", "format", "--check", *PYTHON_FOLDERS),
        python_check("check python lint", "-m", "ruff", "check", "--quiet", *PYTHON_FOLDERS),
        python_check("check python types", "-m", "mypy"),
        python_check("check python types (pyright)", "-m", "pyright"),
        python_check("check python api", "tools/api.py", "--check"),
        python_check("check python reference", "-W", "error", "tools/reference.py"),
        python_check("check python generated code", "tools/generate.py", "--check"),
        check("check python layers", PYTHON, "scripts/python_layers.py"),
        check("check documents", PYTHON, "scripts/docs.py"),
        check("check vectors", PYTHON, "spec/vectors/derive.py", "--check"),
        check("check layers", PYTHON, "scripts/layers.py"),
        check("check generated code", "sh", "go/tools/generate.sh", "-check"),
        check("check public surface", GO, "run", "./api", "-check", folder="go/tools"),
        *(check(f"check go vet {module}", GO, "vet", "./...", folder=module) for module in GO_MODULES),
        unittests("scripts", "scripts/tests"),
        unittests("lab", "lab/tests"),
        go_tests("go tests", "go", "-race", "-bench=.", "-benchtime=1x", but="/go/internal/wire"),
        # It has no goroutine that could race with another, in its tests neither.
        go_tests("go tests of the wire", "go", "-bench=.", "-benchtime=1x", packages=("./internal/wire",)),
        go_tests("connect suite", "conformance/connect"),
        go_tests("go interop", "conformance/interop"),
        # The race detector has the transport use other system calls.
        go_tests("go tests as built", "go", packages=(".", "./internal/transport")),
        # As if there were many connections.
        go_tests("go tests polled", "go", packages=(".", "./internal/transport"), always=("POLL",)),
        go_tests("go tests over TLS", "go", "-race", packages=("./internal/transport",), always=("TLS",)),
        go_tests("go tests over TLS polled", "go", packages=("./internal/transport",), always=("TLS", "POLL")),
        go_tests("go examples", "examples/go", "-race"),
        go_tests("go peers", "lab/peers/go"),
        unittests("python tests", "tests", folder="python", environment="build/python"),
        unittests("python peers", "tests", folder="lab/peers/python", environment="build/peers/python"),
        matrix(),
        unittests("go and python", "conformance", environment="build/python", build="peer-go h2spec examples"),
        random_sessions("1000"),
        check("run", "make", "run", "LOAD=300ms"),
    ]
