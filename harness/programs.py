"""Runs the reference programs as processes: what tests of theirs, and tests across languages, are made of."""

from __future__ import annotations

import json
import os
import unittest
from typing import Any

from harness import processes
from harness.processes import Outcome, Process, Server

USERS = "trunkcall.example.v1.UserService/"
BENCH = "trunkcall.bench.v1.BenchService/"
USER_7 = '{"name":"user-7","email":"user-7@example.com"}\n'

Program = tuple[str, ...]


def run(program: Program, *words: str) -> Outcome:
    return processes.run([*program, *words])


def run_unheard(program: Program, *words: str) -> Outcome:
    """Runs a command none of whose output is taken: writing it fails, and again at the interpreter's end."""
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with (
        open("/dev/full", "w", encoding="ascii") as full,
        Process([*program, *words], env=buffered, stdout=full) as process,
    ):
        return process.finish()


def serving(program: Program, *words: str) -> Server:
    """The serve command of a program."""
    return Server([*program, "serve", *words])


class ProgramTest(unittest.TestCase):
    """Tests that serve and call. Servers are stopped when the test ends, and have to end well."""

    maxDiff = None

    def serve(self, program: Program, *words: str) -> Server:
        server = serving(program, *(words or ("--listen", "127.0.0.1:0")))

        def stop() -> None:
            if not server.closed:
                self.assertEqual(server.stop().status, 0, f"serve {words} said: {server.said()}")

        self.addCleanup(stop)
        return server

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
