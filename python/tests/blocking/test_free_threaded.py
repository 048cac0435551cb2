"""The tests of the blocking client under a build of Python without the global lock, where the machine has one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from .kit import PYTHON

# Of the others, one wants certificates, whose library is not made for such builds yet.
MODULES = ("test_calls", "test_processes", "test_signals", "test_started", "test_threads")
NAMES = tuple(f"python3.{minor}t" for minor in range(sys.version_info.minor, sys.version_info.minor + 8))
ASKED = "import sys, sysconfig; sys.exit(not sysconfig.get_config_var('Py_GIL_DISABLED') or sys._is_gil_enabled())"
HANGS = 600.0  # seconds


def interpreters() -> list[str]:
    """On the PATH, and of pyenv whichever versions are in use."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = [shutil.which(name) or "" for name in NAMES]
    found += [str(path) for name in NAMES for path in pyenv.glob(f"versions/*/bin/{name}")]
    return [one for one in dict.fromkeys(found) if one and run(one, "-c", ASKED).returncode == 0]


def run(interpreter: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [interpreter, *words],
        cwd=PYTHON,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=HANGS,
        check=False,
    )


def passes(interpreter: str, folder: Path) -> None:
    """Protobuf's library is that of the tests, in Python alone: its other half is for builds with the lock."""
    for file in metadata.distribution("protobuf").files or ():
        if file.suffix == ".py":
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(file.locate()), folder / file)
    done = run(
        interpreter,
        "-W",
        "error",
        "-m",
        "unittest",
        *(f"tests.blocking.{name}" for name in MODULES),
        PYTHONPATH=os.pathsep.join(map(str, (PYTHON / "src", PYTHON / "gen", PYTHON, PYTHON.parent, folder))),
        PYTHON_GIL="0",
        PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python",
    )
    assert done.returncode == 0 and "\nOK" in done.stdout, f"{interpreter}:\n{done.stdout}"


def test_it_runs_without_the_global_lock(tmp_path: Path) -> None:
    found = interpreters()
    if not found:
        pytest.skip(f"there is no free-threaded Python here: want {NAMES[2]} or a later one, on the PATH or in pyenv")
    for number, interpreter in enumerate(found):
        passes(interpreter, tmp_path / str(number))
