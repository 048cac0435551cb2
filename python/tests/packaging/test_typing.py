"""What type checkers make of users' programs, with the installed package: tests/typing. A line of theirs that has to be
refused says so, and one that is not refused is an error."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts import stamps

from .installed import FOLDER, INTERPRETER, PYTHON, installed, run

PROGRAMS = PYTHON / "tests" / "typing"
GENERATED = PYTHON / "gen" / "example"


def laid_out(name: str) -> Path:
    """A folder with the programs and the messages that they use."""
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for program in PROGRAMS.glob("*.py"):
        shutil.copy(program, folder)
    (folder / "example" / "v1").mkdir(parents=True)
    for file in ("__init__.py", "v1/__init__.py", "v1/user_pb2.py", "v1/user_pb2.pyi"):
        shutil.copy(GENERATED / file, folder / "example" / file)
    return folder


def by_mypy() -> None:
    folder = laid_out("mypy")
    strict = ("--strict", "--warn-unreachable", "--python-executable", INTERPRETER)
    cache = ("--cache-dir", FOLDER / "mypy-cache", "--config-file=")
    run(sys.executable, "-m", "mypy", *strict, *cache, "awaiting.py", "on_threads.py", folder=folder)


def by_pyright() -> None:
    folder = laid_out("pyright")
    settings = {
        "typeCheckingMode": "strict",
        "reportUnnecessaryTypeIgnoreComment": True,
        "pythonVersion": "3.11",
        "include": ["awaiting.py", "on_threads.py"],
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    said = run(sys.executable, "-m", "pyright", "--pythonpath", INTERPRETER, "--outputjson", folder=folder)
    assert json.loads(said)["summary"]["filesAnalyzed"] == 2


@pytest.mark.parametrize("check", [by_mypy, by_pyright])
def test_programs_of_users(check: Callable[[], None]) -> None:
    """What was found good is not looked at again until something has changed."""
    wanted = stamps.digest([installed()], [*PROGRAMS.glob("*.py"), *GENERATED.rglob("*.py*"), Path(__file__)])
    with stamps.alone(FOLDER / f".{check.__name__}", f"types {check.__name__}"):
        stamps.make(FOLDER / f"types-{check.__name__}", wanted, check)
