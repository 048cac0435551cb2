"""Runs the reference programs as processes: what tests of theirs, and tests across languages, are made of."""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from peer import program

ROOT = Path(__file__).resolve().parents[1]
USERS = "trunkcall.example.v1.UserService/"
BENCH = "trunkcall.bench.v1.BenchService/"
USER_7 = '{"name":"user-7","email":"user-7@example.com"}\n'

# Bounds a test in which something hangs, in seconds.
LIMIT = 60.0

Program = tuple[str, ...]
PYTHON: Program = (sys.executable, "-P", "-W", "error", "-m", "peer")
GO: Program = (str(ROOT / "build" / "peer-go"),)


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    stdout: str
    stderr: str = ""
    status: int = 0


def run(program: Program, *words: str) -> Outcome:
    done = subprocess.run(
        [*program, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=LIMIT,
    )
    return Outcome(done.stdout, done.stderr, done.returncode)


def carried_out(*words: str) -> Outcome:
    """Carries out a command line of the program in Python within this process, for commands that are turned down."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        status = program.main(words)
    return Outcome(out.getvalue(), err.getvalue(), status)


def run_unheard(program: Program, *words: str) -> Outcome:
    """Runs a command none of whose output is taken: writing it fails, and again at the interpreter's end."""
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run(
            [*program, *words],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=LIMIT,
            env=buffered,
        )
    return Outcome("", done.stderr, done.returncode)


class Served:
    """The serve command of a program. `address` is what it announced; `log` can be read once it has ended."""

    def __init__(self, program: Program, *words: str) -> None:
        self.process = subprocess.Popen(
            [*program, "serve", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        line = self._first_line()
        self.address = line.removeprefix("listening ").rstrip("\n")
        if not line.startswith("listening "):
            self.process.kill()
            _, said = self.process.communicate()
            raise AssertionError(f"serve {words} announced {line!r}; it said: {said}")

    def _first_line(self) -> str:
        ready, _, _ = select.select([self.stdout], [], [], LIMIT)
        return self.stdout.readline() if ready else ""

    @property
    def stdout(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def signal(self, number: int = signal.SIGTERM) -> None:
        """Signals the server, and returns once it has stopped listening."""
        self.process.send_signal(number)
        while is_listening(self.address):
            pass

    def wait_log(self, *words: str) -> None:
        """Reads the log up to a line that has all the given words in it."""
        assert self.process.stderr is not None
        while line := self.process.stderr.readline():
            if all(word in line for word in words):
                return
        raise AssertionError(f"no line of the log has {words}")

    def end(self) -> Outcome:
        """Waits for the end of a server that was signalled; what it logged is the outcome's stderr."""
        try:
            stdout, stderr = self.process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        return Outcome(stdout, stderr, self.process.returncode)

    def stop(self) -> Outcome:
        """Signals the server unless it has ended, and waits for its end."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.end()


def is_listening(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port))):
        return True
    return False


class ProgramTest(unittest.TestCase):
    """Tests that serve and call. Servers are stopped when the test ends, and have to end well."""

    maxDiff = None

    def serve(self, program: Program, *words: str) -> Served:
        served = Served(program, *(words or ("--listen", "127.0.0.1:0")))

        def stop() -> None:
            if served.process.returncode is None:
                ended = served.stop()
                self.assertEqual(ended.status, 0, f"serve {words} said: {ended.stderr}")

        self.addCleanup(stop)
        return served

    def assert_failure(self, got: Outcome, code: str, delivery: str, words: str) -> dict[str, Any]:
        """Expects a failed call: one line of JSON on stderr, whose message has the given words in it."""
        self.assertEqual((got.status, got.stderr.count("\n")), (1, 1), got)
        failure: dict[str, Any] = json.loads(got.stderr)
        self.assertEqual(list(failure), ["code", "message", "details", "delivery"])
        self.assertEqual((failure["code"], failure["delivery"]), (code, delivery), got)
        self.assertIn(words, failure["message"])
        return failure

    def assert_usage(self, got: Outcome, words: str) -> None:
        """Expects a command to be turned down with one line that has the given words in it."""
        self.assertEqual((got.status, got.stdout, got.stderr.count("\n")), (2, "", 1), got)
        self.assertIn(words, got.stderr)
