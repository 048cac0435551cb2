"""The package as its users have it: a wheel, in a virtual environment that has nothing else of this tree.

Both lie under build/wheel and are made anew when what the wheel is made of has changed. What the package requires is
taken from the environment of the tests, so that nothing is fetched."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from scripts import stamps

ROOT = Path(__file__).resolve().parents[3]
PYTHON = ROOT / "python"
FOLDER = ROOT / "build" / "wheel"
ENVIRONMENT = FOLDER / "env"
INTERPRETER = ENVIRONMENT / "bin" / "python"
PATIENCE = 300.0

# What the README's commands install beside the wheel, with what that requires; and the types of Protobuf's library.
BESIDE = ("protobuf", "grpcio", "grpcio-tools", "setuptools", "typing-extensions", "types-protobuf")


def sources() -> list[Path]:
    found = [path for path in (PYTHON / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return [*found, *(PYTHON / name for name in ("pyproject.toml", "README.md", "LICENSE", "requirements.lock"))]


@functools.cache
def installed() -> str:
    """Makes wheel and environment unless they are there; a digest of what they were made of."""
    wanted = stamps.digest([sys.version, str(FOLDER), *BESIDE], sources())
    with stamps.alone(FOLDER / ".making", "the wheel of python/"):
        stamps.make(FOLDER / "made-from", wanted, _make, INTERPRETER.exists())
    return wanted


@functools.cache
def wheel() -> Path:
    installed()
    (found,) = FOLDER.glob("*.whl")
    return found


def environment() -> dict[str, str]:
    """The variables of a shell that knows nothing of this tree."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MYPY", "VIRTUAL_ENV"))}


def run(*words: str | Path, folder: Path) -> str:
    """What a command prints. Raises AssertionError with all of it if it fails."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}")
    return done.stdout


def _make() -> None:
    for old in FOLDER.glob("*.whl"):
        old.unlink()
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")
    offline = ("--quiet", "--no-index", "--no-deps")
    run(*pip, "wheel", *offline, "--no-build-isolation", "-w", FOLDER, PYTHON, folder=FOLDER)
    run(sys.executable, "-m", "venv", "--without-pip", ENVIRONMENT, folder=FOLDER)
    (packages,) = ENVIRONMENT.glob("lib/python*/site-packages")
    for name in BESIDE:
        _copy(name, packages)
    (made,) = FOLDER.glob("*.whl")
    run(*pip, "--python", INTERPRETER, "install", *offline, made, folder=FOLDER)
    run(*pip, "--python", INTERPRETER, "check", folder=FOLDER)


def _copy(name: str, packages: Path) -> None:
    for file in metadata.distribution(name).files or ():
        if ".." in file.parts or "__pycache__" in file.parts:
            continue  # commands, and what is compiled anew
        target = packages / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(str(file.locate()), target)
