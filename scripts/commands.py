"""Commands of suites: each in a process group of its own, which is ended with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Generator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 5.0  # for a group to end after a signal, in seconds, before it is killed

_lock = threading.Lock()
_running: set[subprocess.Popen[bytes]] = set()
_making = threading.Lock()
_made: dict[str, subprocess.CompletedProcess[str]] = {}
_over = False  # an interrupt came: nothing starts any more
_thread = threading.local()  # until: when the commands of this thread's suite are ended


class Interrupted(BaseException):
    """A signal asked for the end."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


@contextlib.contextmanager
def until(deadline: float) -> Generator[None, None, None]:
    """Commands of this thread are ended at a time of time.monotonic()."""
    _thread.until = deadline
    try:
        yield
    finally:
        del _thread.until


def command(words: list[str], folder: str = ".", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end. Of its group nothing is left then."""
    deadline = getattr(_thread, "until", None)
    with tempfile.TemporaryFile() as output:  # no pipe: a process that outlives its parent would hold it open
        with _lock:
            if _over:
                return subprocess.CompletedProcess(words, 1, stdout="interrupted\n")
            process = subprocess.Popen(
                words,
                cwd=ROOT / folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            _running.add(process)
        try:
            process.wait(None if deadline is None else max(deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            _end(process, signal.SIGQUIT)  # Go's programs then tell what each goroutine does
        finally:
            with _lock:
                _running.discard(process)
            _signal(process, signal.SIGKILL)
        output.seek(0)
        text = output.read().decode(errors="replace")
    return subprocess.CompletedProcess(words, process.returncode, stdout=text)


def made(*targets: str) -> subprocess.CompletedProcess[str]:
    """Makes targets of the Makefile, each once in a run of this script: suites that need one may run beside each other.
    Told is what all that were asked for printed, and the status of one that failed."""
    with _making:
        for target in targets:
            if target not in _made:
                _made[target] = command(["make", target])
    done = [_made[target] for target in targets]
    status = next((one.returncode for one in done if one.returncode), 0)
    return subprocess.CompletedProcess(["make", *targets], status, stdout="".join(one.stdout for one in done))


def _signal(process: subprocess.Popen[bytes], signum: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signum)


def _end(process: subprocess.Popen[bytes], signum: signal.Signals) -> None:
    _signal(process, signum)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)
        process.wait()


def end_all() -> None:
    """Ends every command that runs, and lets no other start."""
    global _over
    with _lock:
        _over = True
        running = list(_running)
    for process in running:
        _signal(process, signal.SIGINT)
    deadline = time.monotonic() + PATIENCE
    for process in running:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(deadline - time.monotonic(), 0))
        _signal(process, signal.SIGKILL)


@contextlib.contextmanager
def interruptible() -> Generator[None, None, None]:
    """Signals that ask for the end raise Interrupted in the main thread, and end every command."""

    def asked(signum: int, _frame: object) -> None:
        for other in signals:
            signal.signal(other, signal.SIG_IGN)
        raise Interrupted(signum)

    signals = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # which nohup asks for
        signals.append(signal.SIGHUP)
    before = [signal.signal(signum, asked) for signum in signals]
    try:
        yield
    except Interrupted:
        end_all()
        raise
    finally:
        for signum, handler in zip(signals, before, strict=True):
            signal.signal(signum, handler)
