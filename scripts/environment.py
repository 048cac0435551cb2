#!/usr/bin/env python3
"""Makes a virtual environment that holds exactly what its lock names.

    scripts/environment.py build/python

Packages are installed with their hashes checked, and none that the lock does not name. When all is there already,
nothing is done: a stamp in the environment tells what it was made from. Exit status: 0 it is there, 1 it could not be
made, and stderr says why.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAMP = "made-from"

# Each environment with its lock and with the folders of this tree that it imports from.
ENVIRONMENTS = {
    "build/java-21": ("java/requirements.lock", ()),
    "build/python": ("python/requirements.lock", ("python/src", "python/gen", "python", ".")),
    "build/peers/java-runtime": ("lab/peers/java/requirements.lock", ()),
    "build/peers/python": ("lab/peers/python/requirements.lock", ("python/gen", "python", "lab/peers/python")),
}


class Failed(Exception):
    """Why the environment is not there; one line or a few."""


def digest(lock: Path, paths: list[Path], folder: Path) -> str:
    """What an environment depends on: the lock, the interpreter, and where both and the paths lie."""
    parts = [sys.version, sys.base_prefix, str(folder), *map(str, paths)]
    return hashlib.sha256(lock.read_bytes() + "\n".join(parts).encode()).hexdigest()


def is_made(folder: Path, wanted: str) -> bool:
    try:
        return (folder / STAMP).read_text(encoding="ascii") == wanted
    except OSError:
        return False


def ensure(folder: Path, lock: Path, paths: list[Path]) -> bool:
    """Makes the environment unless it is there; says whether it had to. Several processes may ask at once."""
    wanted = digest(lock, paths, folder)
    if is_made(folder, wanted):
        return False
    with alone(folder):
        if is_made(folder, wanted):
            return False
        make(folder, lock, paths)
        (folder / STAMP).write_text(wanted, encoding="ascii")
    return True


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keeps other processes from making the same environment meanwhile."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.parent / f".{folder.name}.making", "w", encoding="ascii") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        yield


def make(folder: Path, lock: Path, paths: list[Path]) -> None:
    for module in ("venv", "ensurepip"):
        if importlib.util.find_spec(module) is None:
            raise Failed(
                f"{sys.executable} has no module {module}, which virtual environments are made with: install it (on "
                "Debian and its like the package is python3-venv), or set PYTHON to an interpreter that has it"
            )
    print(f"making {shown(folder)} from {shown(lock)} …", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    run([sys.executable, "-m", "venv", str(folder)], "the virtual environment cannot be made")
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-compile"]
    run([*pip, "--require-hashes", "--only-binary", ":all:", "--no-deps", "-r", str(lock)], "its packages cannot be installed")
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "paths.pth").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")


def run(words: list[str], failure: str) -> None:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Failed(f"{failure}:\n{done.stdout.strip()}")


def shown(path: Path) -> str:
    return os.path.relpath(path, ROOT) if path.is_relative_to(ROOT) else str(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=tuple(ENVIRONMENTS), help="the folder in which it lies")
    name = parser.parse_args().name
    lock, paths = ENVIRONMENTS[name]
    try:
        ensure(ROOT / name, ROOT / lock, [ROOT / path for path in paths])
    except (Failed, OSError) as failure:
        print(f"{name}: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
