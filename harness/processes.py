"""Starts processes and ends them, whichever way the one that started them ends.

    done = run(["go", "version"])                          to its end: status, stdout, stderr
    with Process([...]) as process:                        while the block lasts
        process.line()
    with Server(["build/peer-go", "serve", ...]) as server:    one that says `listening ADDRESS` first
        server.address

Each process leads a session of its own, and ends with its group: at the end of the block, by end(), when the
interpreter exits, and where that is killed outright. What it has started and has left its group is killed by the guard
(guard.py) when the interpreter is gone, and before that by who calls kill_marked with its `mark`. What it writes to
stderr is kept in a file and told when something goes wrong; stdout is a pipe, read line by line.

Nothing here waits without end. In code of asyncio read(0) takes what is there, and ended() looks. Linux only, and the
standard library.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from harness import guard, interrupts

# In seconds: how long a process may take to begin, to say a line, or to end.
PATIENCE = 60.0
# How long one that is told to end has before it is killed.
TERM_PATIENCE = 5.0
# How often somebody who waits looks whether a process has ended, once it has waited a moment.
LOOK = 0.05
# How much of what a process logged is told when it fails, in bytes.
TOLD = 3000

Words = Sequence[str | os.PathLike[str]]

_running: set[Process] = set()


class Failed(Exception):
    """A process did not do as it should; the text says what, then the last that it logged."""

    def __init__(self, what: str, said: str = "") -> None:
        super().__init__(f"{what}\n{said[-TOLD:]}".rstrip())
        last = said.strip().rpartition("\n")[2]
        self.brief = f"{what}: {last[:300]}" if last else what  # in one line


@dataclass(frozen=True)
class Outcome:
    """What a process left behind. The status is negative where a signal ended it."""

    stdout: str
    stderr: str = ""
    status: int = 0


class Process:
    """A started process. `lines` are those of stdout that nobody has taken, each with the time at which it arrived;
    `mark` is what it and all that it starts are found by (guard.py)."""

    def __init__(
        self,
        words: Words,
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bool = False,
        stdout: IO[str] | None = None,
        log: Path | None = None,
        merged: bool = False,
    ) -> None:
        """`stdin` asks for a pipe to it. `stdout` may go to a file instead of a pipe. stderr goes to a file that is
        thrown away, is added to the file `log`, or goes where stdout goes. Raises Failed if it cannot be started."""
        self.words = [os.fspath(word) for word in words]
        self.lines: deque[tuple[float, str]] = deque()
        self._partial = b""
        self._spoke = False  # whether a line of stdout was taken
        self._said = ""
        self._ending = threading.Lock()  # two threads may end it, one of them at the interpreter's exit
        self._log: IO[bytes] = open(log, "ab+") if log else tempfile.TemporaryFile()  # noqa: SIM115 (closed by end)
        try:
            with interrupts.held():
                self.mark, env = guard.marking(env)
                self._popen = subprocess.Popen(
                    self.words,
                    cwd=cwd,
                    env=env,
                    stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                    stdout=subprocess.PIPE if stdout is None else stdout,
                    stderr=subprocess.STDOUT if merged else self._log,
                    start_new_session=True,
                )
                # Before the interrupt that waits: who ends it then asks for these.
                self.pid = self._popen.pid
                self.stdin = self._popen.stdin
                self.stdout = self._popen.stdout
                self.stdout_open = self.stdout is not None
                _running.add(self)
        except OSError as error:
            self._log.close()
            raise Failed(f"{self.words[0]}: cannot be started: {error.strerror}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()

    # What it says.

    def line(self, patience: float = PATIENCE) -> str:
        """The next line of stdout. If none comes in that time the process is ended, and Failed raised."""
        deadline = time.monotonic() + patience
        while not self.lines:
            left = deadline - time.monotonic()
            if not self.stdout_open:  # which it closes just before it ends, as a rule
                status = self.wait(max(left, TERM_PATIENCE))
                raise self.failure(f"ended with status {status}{'' if self._spoke else ' before it said anything'}")
            if left <= 0:
                raise self.failure(f"said nothing for {patience:g} s")
            self.read(left)
        self._spoke = True
        return self.lines.popleft()[1]

    def read(self, timeout: float) -> bool:
        """Takes in what stdout has, waiting up to that time for the first byte; whether there was something."""
        return read_all([self], timeout)

    def fileno(self) -> int:
        assert self.stdout is not None
        return self.stdout.fileno()

    def take_ready(self) -> None:
        """Takes in what stdout has, which is known to have something, or to be at its end."""
        data = os.read(self.fileno(), 1 << 16)
        now = time.monotonic()
        if not data:
            self.stdout_open = False
            if self._partial:
                self.lines.append((now, self._partial.decode("utf-8", "replace")))
            return
        *whole, self._partial = (self._partial + data).split(b"\n")
        self.lines.extend((now, line.decode("utf-8", "replace")) for line in whole)

    def write(self, text: str) -> None:
        """Raises Failed if it takes no more."""
        assert self.stdin is not None
        try:
            self.stdin.write(text.encode())
            self.stdin.flush()
        except OSError as error:
            raise self.failure(f"takes no input: {error.strerror}") from None

    def said(self) -> str:
        """All that it has written to stderr so far; of a `log` that several share, all of it."""
        if not self._log.closed:
            size = os.fstat(self._log.fileno()).st_size
            self._said = os.pread(self._log.fileno(), size, 0).decode("utf-8", "replace")
        return self._said

    def wait_said(self, *words: str, patience: float = PATIENCE) -> None:
        """Returns once a line of stderr has all these words in it. Raises Failed if none does in that time."""
        deadline = time.monotonic() + patience
        while not any(all(word in line for word in words) for line in self.said().splitlines()):
            if time.monotonic() > deadline:
                raise self.failure(f"has not told of {' '.join(words)} within {patience:g} s")
            self.read(0.01)

    def failure(self, what: str) -> Failed:
        """Kills it; the failure tells what it did, and what it logged."""
        self.kill()
        return Failed(f"{' '.join(self.words)} {what}", self.said())

    # How it ends.

    def ended(self) -> int | None:
        """The exit status, negative for a signal, or None while it runs.

        It is looked at, not reaped, until end(): so its id and its group's stay its own, and its CPU clock readable.
        """
        if self._popen.returncode is not None:
            return self._popen.returncode
        try:
            state = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # another thread reaps it at this moment
            return self._popen.wait()
        if state is None:
            return None
        return state.si_status if state.si_code == os.CLD_EXITED else -state.si_status

    @property
    def closed(self) -> bool:
        """Whether it has ended, and somebody has looked at how."""
        return self._popen.returncode is not None

    def signal(self, number: int) -> None:
        """Signals it, if it runs."""
        if self.ended() is None:
            os.kill(self.pid, number)

    def wait(self, patience: float = PATIENCE) -> int:
        """The exit status. If it has not ended in that time, the process is killed and Failed raised."""
        deadline = time.monotonic() + patience
        pause = 0.001
        while (status := self.ended()) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise self.failure(f"did not end within {patience:g} s")
            self.read(min(left, pause))
            pause = min(2 * pause, LOOK)
        return status

    def finish(self, patience: float = PATIENCE) -> Outcome:
        """Ends its input and waits for its end. Raises Failed if that takes longer."""
        if self.stdin is not None:
            with contextlib.suppress(OSError):
                self.stdin.close()
        status = self.wait(patience)
        self.end()
        return Outcome(self.rest(), self.said(), status)

    def rest(self) -> str:
        """What nobody has taken of the stdout of a process that has ended."""
        text = "".join(f"{line}\n" for _, line in self.lines)
        self.lines.clear()
        return text[:-1] if self._partial else text

    def finish_well(self, patience: float = PATIENCE) -> None:
        """The same, of one that has to end with status 0. Raises Failed."""
        done = self.finish(patience)
        if done.status != 0:
            raise self.failure(f"ended with status {done.status}")

    def stop(self, patience: float = PATIENCE) -> Outcome:
        """SIGTERM, and its end."""
        self.signal(signal.SIGTERM)
        return self.finish(patience)

    def kill(self) -> int:
        """SIGKILL for the whole group; the exit status."""
        return self.end(patience=0)

    def end(self, patience: float = TERM_PATIENCE) -> int:
        """SIGTERM, patience, SIGKILL, for the whole group; the exit status. Once ended it does nothing more."""
        with interrupts.held(), self._ending:
            if self._popen.returncode is not None:
                return self._popen.returncode
            if patience and self.ended() is None:
                self._signal_group(signal.SIGTERM)
                deadline = time.monotonic() + patience
                while self.ended() is None and time.monotonic() < deadline:
                    time.sleep(0.005)
                if self.ended() is None:
                    print(f"  {self.words[0]} did not end on SIGTERM and is killed", file=sys.stderr, flush=True)
            # Also when the leader has gone by itself: what it started may still be in its group.
            self._signal_group(signal.SIGKILL)
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            self._take_rest()
            status = self._popen.wait()
            self.said()
            for stream in (self.stdin, self.stdout, self._log):
                if stream is not None:
                    with contextlib.suppress(OSError):  # input that it never took
                        stream.close()
            _running.discard(self)
        return status

    def _take_rest(self) -> None:
        """What the pipe holds. It may have no end, where somebody who left the group has it."""
        while self.stdout_open and self.read(0):
            pass

    def _signal_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


class Server(Process):
    """A process whose first line is `listening ADDRESS`. `announced` are the words of that line."""

    def __init__(self, words: Words, *, patience: float = PATIENCE, **streams: object) -> None:
        """Waits for the line. Raises Failed if it does not come, or is another."""
        super().__init__(words, **streams)  # type: ignore[arg-type]
        try:
            line = self.line(patience)
        except BaseException:
            self.kill()
            raise
        self.announced = line.split()
        if not line.startswith("listening ") or len(self.announced) < 2:
            raise self.failure(f"announced {line!r}")
        self.address = self.announced[1]

    def stop_listening(self, number: int = signal.SIGTERM, patience: float = PATIENCE) -> None:
        """Signals it, and returns once nobody listens there. Raises Failed."""
        self.signal(number)
        deadline = time.monotonic() + patience
        while is_listening(self.address):
            if time.monotonic() > deadline:
                raise self.failure("listens although it was signalled")
            time.sleep(0.001)


def run(
    words: Words,
    *,
    patience: float = PATIENCE,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    merged: bool = False,
) -> Outcome:
    """Runs a process to its end, without input. Raises Failed if it cannot be started or takes longer than that."""
    with Process(words, cwd=cwd, env=env, merged=merged) as process:
        return process.finish(patience)


def read_all(processes: Iterable[Process], timeout: float) -> bool:
    """Takes in what the stdouts of several processes have, waiting up to that time for the first byte of any."""
    with selectors.DefaultSelector() as selector:
        for process in processes:
            if process.stdout_open:
                selector.register(process, selectors.EVENT_READ, process)
        if not selector.get_map():
            time.sleep(timeout)
            return False
        ready = selector.select(timeout)
        for key, _ in ready:
            key.data.take_ready()
        return bool(ready)


def kill_all() -> None:
    """Kills whatever runs, and leaves it to the threads that wait for its end to take note of that."""
    for process in list(_running):
        if process.ended() is None:
            process._signal_group(signal.SIGKILL)


def end_all() -> None:
    """Whatever still runs; the last line of defence, after the `finally` blocks of each run."""
    for process in list(_running):
        process.end()
    guard.dismiss()


def plain(printed: str) -> str:
    """What a program has printed, without colours: Maven resets them also where no terminal reads what it says."""
    return re.sub(r"\x1b\[[0-9;]*m", "", printed)


def is_listening(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with contextlib.suppress(OSError), socket.create_connection((host.strip("[]"), int(port))):
        return True
    return False


atexit.register(end_all)
os.register_at_fork(after_in_child=_running.clear)  # they are not the child's
