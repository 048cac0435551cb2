"""Commands of suites, ended with all that they have started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

from harness.guard import kill_marked
from harness.processes import LOOK, Failed, Process

ROOT = Path(__file__).resolve().parent.parent

PATIENCE = 5.0  # for a group to end after a signal, in seconds, before it is killed

_lock = threading.Lock()
_making: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)  # by kind
_made: dict[tuple[str, ...], subprocess.CompletedProcess[str]] = {}
_running: set[Process] = set()
_over = False  # an interrupt came: nothing starts any more
_suite = threading.local()  # the Span of this thread's suite


class Span:
    """Of the commands of one suite: when they are ended, the processor time that they took, and for how long they
    waited for what another suite had made, in seconds; and what they printed."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.cpu = 0.0
        self.waited = 0.0
        self.printed = ""


@contextlib.contextmanager
def until(deadline: float) -> Generator[Span, None, None]:
    """Commands of this thread are ended at a time of time.monotonic()."""
    _suite.span = span = Span(deadline)
    try:
        yield span
    finally:
        del _suite.span


def current() -> Span:
    """That of this thread's suite."""
    return getattr(_suite, "span", None) or Span(float("inf"))


def command(words: list[str], folder: str = ".", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, and tells what it printed. Nothing that it started is left then."""
    span = current()
    with _lock:
        if _over:
            return subprocess.CompletedProcess(words, 1, stdout="interrupted\n")
        try:
            process = Process(words, cwd=ROOT / folder, env=env, merged=True)
        except Failed as failed:
            return subprocess.CompletedProcess(words, 127, stdout=f"{failed}\n")
        _running.add(process)
    try:
        with process:
            if not _ends(process, span):
                _signal(process, signal.SIGQUIT)  # Go's programs then tell what each goroutine does
                _ends(process, Span(time.monotonic() + PATIENCE))
                _signal(process, signal.SIGKILL)
                _ends(process, Span(float("inf")))
            span.cpu += processor_time(process.pid)
            status = process.end()
            printed = process.rest()
    finally:
        kill_marked(process.mark)  # whatever session it is in, and whoever its parent
        with _lock:
            _running.discard(process)
    span.printed += printed
    return subprocess.CompletedProcess(words, status, stdout=printed)


def _ends(process: Process, span: Span) -> bool:
    """Takes in what it prints until it has ended, or the time is over; whether it has."""
    pause = 0.001
    while process.ended() is None:
        if time.monotonic() >= span.deadline:
            return False
        process.read(pause)
        pause = min(2 * pause, LOOK)
    return True


def processor_time(pid: int) -> float:
    """Of a process that has ended and was not reaped, with the children that it waited for."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")


def once(kind: str, *commands: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs commands, each once in a run of this script, those of a kind one after the other: suites that need the same
    may run beside each other. Told is what all that were asked for printed, and the status of the first that failed."""
    with one_at_a_time(kind):
        for words in commands:
            if tuple(words) not in _made:
                _made[tuple(words)] = command(words)
    done = [_made[tuple(words)] for words in commands]
    status = next((one.returncode for one in done if one.returncode), 0)
    return subprocess.CompletedProcess([], status, stdout="".join(one.stdout for one in done))


@contextlib.contextmanager
def one_at_a_time(kind: str) -> Generator[None, None, None]:
    """Of a kind. That a suite waits for another, which has a bound of its own, is not counted as its time."""
    span = current()
    began = time.monotonic()
    with _lock:
        making = _making[kind]
    with making:
        waited = time.monotonic() - began
        span.deadline += waited
        span.waited += waited
        yield


def _signal(process: Process, signum: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signum)


def end_all() -> None:
    """Ends every command that runs, and lets no other start. The threads that run them take note of their ends."""
    global _over
    with _lock:
        _over = True
        for process in _running:
            _signal(process, signal.SIGINT)
    deadline = time.monotonic() + PATIENCE
    while _running and time.monotonic() < deadline:
        time.sleep(LOOK)
    with _lock:
        for process in _running:
            _signal(process, signal.SIGKILL)
    while _running:
        time.sleep(LOOK)
