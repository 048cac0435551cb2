"""Child processes that are always ended: each in a group of its own, ended by its id, its output read or kept.

Single-threaded on purpose: one selector loop reads what the children print while it samples them.
"""

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time

from . import interrupts

TERM_PATIENCE = 5.0
_PR_SET_PDEATHSIG = 1
_running: set["Child"] = set()

try:
    _prctl = ctypes.CDLL(None).prctl
except (OSError, AttributeError):
    _prctl = None


class RunFailed(Exception):
    """Why one run has no figures. The runner goes on; the row is kept as invalid with this line."""


def _die_with_parent() -> None:
    # For the one end that no `finally` block sees: the runner itself killed outright.
    if _prctl:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Child:
    """A started process. `lines` holds the lines of stdout read so far, each with the time at which it arrived."""

    def __init__(self, command: list[str], cwd: str):
        self.command = command
        self.lines: list[tuple[float, str]] = []
        self._partial = b""
        self._stderr = tempfile.TemporaryFile()
        self.stdout_open = True
        try:
            with interrupts.held():
                self._popen = subprocess.Popen(
                    command,
                    cwd=cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=self._stderr,
                    start_new_session=True,
                    preexec_fn=_die_with_parent,
                )
                self.pid = self._popen.pid
                _running.add(self)
        except OSError as error:
            self._stderr.close()
            raise RunFailed(f"{command[0]}: cannot be started: {error.strerror}") from None
        os.set_blocking(self._popen.stdout.fileno(), False)

    def read(self, timeout: float) -> None:
        """Take in what stdout has, waiting up to `timeout` for the first byte."""
        read_all([self], timeout)

    def take_ready(self) -> None:
        try:
            data = os.read(self._popen.stdout.fileno(), 65536)
        except BlockingIOError:
            return
        now = time.monotonic()
        if not data:
            self.stdout_open = False
            return
        *whole, self._partial = (self._partial + data).split(b"\n")
        self.lines.extend((now, line.decode("utf-8", "replace")) for line in whole)

    def fileno(self) -> int:
        return self._popen.stdout.fileno()

    def ended(self) -> int | None:
        """The exit status (negative: the signal), or None while it runs.

        It is looked at, not reaped, until end(): so its id and its group's stay its own, and its CPU clock readable.
        """
        state = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if state is None:
            return None
        return state.si_status if state.si_code == os.CLD_EXITED else -state.si_status

    def complaint(self) -> str:
        """The last line it wrote to stderr, shortened, for a message."""
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - 2000))
        text = self._stderr.read().decode("utf-8", "replace").strip()
        return text.splitlines()[-1][:300] if text else "nothing on stderr"

    def end(self) -> int:
        """SIGTERM, patience, SIGKILL, for the whole group; returns the exit status."""
        with interrupts.held():
            if self.ended() is None:
                self._signal(signal.SIGTERM)
                deadline = time.monotonic() + TERM_PATIENCE
                while self.ended() is None and time.monotonic() < deadline:
                    time.sleep(0.005)
                if self.ended() is None:
                    print(f"  {self.command[0]} did not end on SIGTERM and is killed", file=sys.stderr, flush=True)
            # Also when the leader has gone by itself: what it started may still be in its group.
            self._signal(signal.SIGKILL)
            self._popen.wait()
            self._popen.stdout.close()
            self._stderr.close()
            _running.discard(self)
        return self._popen.returncode

    def _signal(self, signum: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signum)


def read_all(children: list[Child], timeout: float) -> None:
    """Take in what the stdouts of several children have, waiting up to `timeout` for the first byte of any."""
    with selectors.DefaultSelector() as selector:
        for child in children:
            if child.stdout_open:
                selector.register(child, selectors.EVENT_READ, child)
        if not selector.get_map():
            time.sleep(timeout)
            return
        for key, _ in selector.select(timeout):
            key.data.take_ready()


def end_all() -> None:
    """Whatever still runs; the last line of defence, after the `finally` blocks of each run."""
    for child in list(_running):
        child.end()


@contextlib.contextmanager
def child(command: list[str], cwd: str):
    """A process for the length of a block."""
    started = Child(command, cwd)
    try:
        yield started
    finally:
        started.end()


@contextlib.contextmanager
def server(command: list[str], cwd: str, patience: float = 10.0):
    """A server for the length of a block: yields (child, address) once it has said where it listens."""
    with child(command, cwd) as started:
        yield started, _listening(started, patience)


def _listening(started: Child, patience: float) -> str:
    deadline = time.monotonic() + patience
    while True:
        for _, line in started.lines:
            if line.startswith("listening "):
                return line.removeprefix("listening ").strip()
        left = deadline - time.monotonic()
        name = started.command[0]
        if started.ended() is not None:
            raise RunFailed(f"server {name} ended with status {started.ended()}: {started.complaint()}")
        if left <= 0:
            raise RunFailed(f"server {name} printed no `listening` line within {patience:g} s")
        started.read(min(left, 0.2))
