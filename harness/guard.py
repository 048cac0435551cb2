"""Kills what a process has started, and removes its folders, once it is gone, also where it was killed outright.

Whatever harness.processes starts has a mark in an environment variable, behind the marks of what has started its
starter. What it starts in turn inherits them, whatever its group, session and parent, so that all of it can be found.
Beside the starter runs a guard, which is this file as a program: it waits for the end of a pipe that the starter alone
holds, kills all that the starter has marked, and removes the folders that it has named there. A starter that ends in
order waits for it (dismiss), so that all is gone then and no zombie is left where nobody reaps orphans. Linux only, and
the standard library.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import shutil
import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

MARKS = "TRUNKCALL_STARTED_BY"

END = b"\0"  # of the path of a folder

# How long what is killed may take to be gone, in seconds.
PATIENCE = 20.0
# Who is about to become another program has no mark of its own yet: it is looked again so much later, in seconds.
AGAIN = 0.02

_lock = threading.Lock()
_numbers = itertools.count(1)
_starter = ""  # this process's part of the marks that it gives
_pipe = _guard = -1


def marking(env: Mapping[str, str] | None) -> tuple[str, dict[str, str]]:
    """A mark for a process that is about to be started, and its environment with it. A guard is there from then on."""
    env = dict(os.environ if env is None else env)
    with _lock:
        if not _starter:
            _watch()
    mark = f"{_starter}.{next(_numbers)}"
    # Of this process's own, whatever of them the environment had that was given.
    env[MARKS] = f"{os.environ.get(MARKS, '')} {mark}".strip()
    return mark, env


def removing(folder: Path) -> None:
    """Has a folder of this process's own removed when the process is gone and all that it has started, if the folder is
    still there then."""
    with _lock:
        if not _starter:
            _watch()
        with contextlib.suppress(BrokenPipeError):  # somebody has killed the guard
            os.write(_pipe, os.fsencode(folder.absolute()) + END)


def _watch() -> None:
    global _starter, _pipe, _guard
    starter = f"{os.getpid()}-{secrets.token_hex(4)}"
    read, _pipe = os.pipe()
    nowhere = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    _guard = os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", __file__, starter],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, read, 0), *nowhere],
        setsid=True,
    )
    os.close(read)
    _starter = starter


def dismiss() -> None:
    """At the end of this process: the guard kills what is left, and is reaped, unless that takes too long."""
    global _starter, _pipe, _guard
    with _lock:
        if not _starter:
            return
        guard = _guard
        os.close(_pipe)
        _starter, _pipe, _guard = "", -1, -1
    deadline = time.monotonic() + PATIENCE
    with contextlib.suppress(ChildProcessError):  # somebody has reaped every child
        while os.waitpid(guard, os.WNOHANG)[0] == 0 and time.monotonic() < deadline:
            time.sleep(0.001)


def _forked() -> None:
    """A fork of the interpreter has a guard of its own when it starts something, and does not hold its parent's up."""
    global _starter, _pipe, _guard, _lock
    _lock = threading.Lock()
    if _starter:
        os.close(_pipe)
        _starter, _pipe, _guard = "", -1, -1


os.register_at_fork(after_in_child=_forked)


def marked(mark: str) -> list[int]:
    """The processes that have a mark, or one that began with it and a dot, and that have not ended."""
    word, beginning = mark.encode(), f"{mark}.".encode()
    found: list[int] = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as environ:
                for variable in environ.read().split(b"\0"):
                    key, _, value = variable.partition(b"=")
                    if key == MARKS.encode() and any(w == word or w.startswith(beginning) for w in value.split()):
                        found.append(int(name))
    return found


def kill_marked(mark: str) -> None:
    """Kills all that has a mark. Looked again, for what was started meanwhile, until there is none in two looks: a
    process that is about to become another program has no environment for a moment."""
    deadline = time.monotonic() + PATIENCE
    nobody = 0
    while nobody < 2 and time.monotonic() < deadline:
        found = marked(mark)
        nobody = 0 if found else nobody + 1
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)


def main() -> None:
    said = b""
    while read := os.read(0, 4096):
        said += read
    kill_marked(sys.argv[1])
    time.sleep(AGAIN)
    kill_marked(sys.argv[1])
    for folder in said.split(END)[:-1]:  # behind the last end is nothing, or what was not said whole
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
