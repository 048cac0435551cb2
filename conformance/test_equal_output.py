"""The same command line does the same, whichever program calls and whichever answers, as peer.md says: statuses, and
lines as JSON values. The words of usage texts, and of failures that a framework makes, are each language's own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from harness.prerequisites import pairs_here
from harness.processes import Outcome
from harness.programs import BENCH, USERS, ProgramTest, run

from .languages import HUB, PROGRAMS, each_language, each_pair

GET, LIST, IMPORT, WATCH = (USERS + name for name in ("GetUser", "ListUsers", "ImportUsers", "WatchUsers"))

# Method, request, further flags; and how many lines of stdout and which exit status are to be expected.
CASES: list[tuple[tuple[str, ...], int, int]] = [
    ((GET, '{"userId":7}'), 1, 0),
    (("/" + GET, '{"user_id":"999999999"}'), 1, 0),
    ((GET, '{"userId":7}', "--metadata", "key=value", "--metadata", "raw-bin=AP8=", "--timeout", "20s"), 1, 0),
    ((GET, "{}"), 0, 1),
    ((GET, '{"userId":-9223372036854775808}'), 0, 1),
    ((GET, '{"userId":1000000000}'), 0, 1),
    ((GET, '{"userId":9223372036854775807}'), 0, 1),
    ((LIST, '{"count":3}'), 3, 0),
    ((LIST, '{"count":5000}'), 5000, 0),
    ((LIST, "{}"), 0, 0),
    ((LIST, '{"count":-1}'), 0, 1),
    ((IMPORT, "[]"), 1, 0),
    ((IMPORT, '[{},{"name":"Ada"},{"email":"许多往事"}]'), 1, 0),
    ((WATCH, "[]"), 0, 0),
    ((WATCH, '[{"userId":2},{"userId":1}]'), 2, 0),
    ((WATCH, '[{"userId":2},{"userId":0},{"userId":1}]'), 1, 1),
    ((WATCH, '[{"userId":3},{"userId":1000000001}]'), 1, 1),
    ((BENCH + "Say", '{"field1":"许多 <b>&\\u2028\\u0001\\"","field2":1,"field3":-1,"field22":"5"}'), 1, 0),
    (
        (BENCH + "Say", '{"field1":"","field2":0,"field3":0,"field5":["18446744073709551615"],"field12":false}'),
        1,
        0,
    ),
    ((BENCH + "Echo", '{"data":"AP8="}'), 1, 0),
    ((BENCH + "Echo", "{}"), 1, 0),
    ((BENCH + "EchoStream", '[{"data":"AA=="},{},{"data":""}]'), 3, 0),
    ((BENCH + "GetDictionary", "{}"), 1, 0),
    ((BENCH + "GetUser", '{"userId":"7","name":"","age":0}'), 1, 0),
    ((BENCH + "GetUsers", '{"users":[{"userId":1,"name":"a"},{},{"age":-3}]}'), 1, 0),
]


@dataclass(frozen=True)
class Told:
    """What a program left behind, its lines as JSON values."""

    status: int
    stdout: list[Any]
    stderr: list[Any]

    @classmethod
    def of(cls, outcome: Outcome) -> Told:
        return cls(
            outcome.status,
            *([json.loads(line) for line in text.splitlines()] for text in (outcome.stdout, outcome.stderr)),
        )


@each_pair([(client.key, server.key) for client, server in pairs_here()])
class EqualOutput(ProgramTest):
    """What comes of a pair is what comes of the hub with itself."""

    client: str
    server: str

    def test_calls(self) -> None:
        target = self.serve(PROGRAMS[self.server]).address
        of_hub = self.serve(PROGRAMS[HUB]).address
        for words, lines, status in CASES:
            with self.subTest(words):
                wanted = Told.of(run(PROGRAMS[HUB], "call", "--target", of_hub, *words))
                self.assertEqual((len(wanted.stdout), wanted.status, len(wanted.stderr)), (lines, status, status))
                self.assertEqual(Told.of(run(PROGRAMS[self.client], "call", "--target", target, *words)), wanted)


@each_language(PROGRAMS)
class EqualFailures(ProgramTest):
    """What a program does by itself is what the hub's does."""

    language: str

    def test_what_nobody_serves(self) -> None:
        target = self.serve(PROGRAMS[self.language]).address
        outcome = run(PROGRAMS[HUB], "call", "--target", target, "trunkcall.fault.v1.FaultService/ReadGauges", "{}")
        self.assertEqual(self.without_text(outcome), {"code": "UNIMPLEMENTED", "details": [], "delivery": "refused"})

    def test_what_no_server_gets_to_see(self) -> None:
        target = self.serve(PROGRAMS[HUB]).address
        for words in (
            ("--target", target, GET, "{}", "--metadata", "a b=c"),
            ("--target", "127.0.0.1:1", GET, "{}"),
            ("--target", "127.0.0.1:1,127.0.0.1:2", GET, "{}"),
            ("--target", "unix:/nowhere/s", GET, "{}"),
            ("--target", "ws://127.0.0.1:1/path", GET, "{}"),
        ):
            self.assert_fails_alike(*words)

    def test_calls_that_cannot_be_sent(self) -> None:
        for method, messages in (
            (GET, "{"),
            (GET, '{"id": 1}'),
            (WATCH, "{}"),
            ("GetUser", "{}"),
            ("a.B/GetUser", "{}"),
            (USERS + "SetUser", "{}"),
        ):
            self.assert_fails_alike("--target", "127.0.0.1:1", method, messages)

    def test_what_is_turned_down(self) -> None:
        to = ("call", "--target", "127.0.0.1:1")
        listening = ("serve", "--listen", "127.0.0.1:0")
        load = ("bench", "--target", "127.0.0.1:1")
        for words in (
            ("call", GET, "{}"),
            (*to, GET),
            ("call", "--target", "http://127.0.0.1:1", GET, "{}"),
            ("call", "--target", "127.0.0.1:0", GET, "{}"),
            (*to, GET, "{}", "{}"),
            (*to, GET, "{}", "--nope"),
            (*to, GET, "{}", "--timeout", "5"),
            (*to, GET, "{}", "--metadata", "k-bin=!"),
            (*to, GET, "{}", "--tls-ca", "nofile"),
            ("serve",),
            ("serve", "--listen", "127.0.0.1"),
            (*listening, "--codec", "xml"),
            (*listening, "--compression", "zip"),
            (*listening, "--inline", "--codec", "protobuf-stock"),
            (*listening, "--allow-cleartext"),
            (*listening, "--tls-cert", "x"),
            ("bench",),
            (*load, "--callers", "0"),
            (*load, "--calls", "1", "--duration", "1s"),
            (*load, "--method", "Nobody"),
            (*load, "--method", "Emit", "--connection-per-call"),
            ("connect-client", "--schema", "nofile"),
        ):
            with self.subTest(words):
                got = run(PROGRAMS[self.language], *words)
                self.assertEqual((got.status, got.stdout, got.stderr.count("\n")), (2, "", 1), got)
                self.assertTrue(got.stderr.startswith(f"peer-{self.language} {words[0]}: "), got.stderr)

    def test_commands_that_there_are_not(self) -> None:
        program = PROGRAMS[self.language]
        listed = run(program, "help")
        self.assertEqual((listed.status, listed.stderr), (0, ""))
        for words in ((), ("answer",), ("--listen", "127.0.0.1:0")):
            got = run(program, *words)
            self.assertEqual((got.status, got.stdout), (2, ""))
            self.assertTrue(got.stderr.endswith(listed.stdout), got.stderr)
        for command in ("serve", "call", "bench", "conformance"):
            got = run(program, command, "--help")
            self.assertEqual((got.status, got.stderr), (0, ""), command)
            self.assertTrue(got.stdout, command)
        got = run(program, "version")
        self.assertEqual((got.status, got.stderr, got.stdout.count("\n")), (0, "", 1))
        self.assertTrue(got.stdout.startswith(f"peer-{self.language} "), got.stdout)

    def assert_fails_alike(self, *words: str) -> None:
        """Expects a call to fail as the hub's does, and that nothing of it was sent."""
        with self.subTest(words):
            got, of_hub = (self.without_text(run(PROGRAMS[key], "call", *words)) for key in (self.language, HUB))
            self.assertEqual(got, of_hub)
            self.assertEqual(got["delivery"], "not_sent")

    def without_text(self, outcome: Outcome) -> dict[str, Any]:
        self.assertEqual((outcome.stdout, outcome.stderr.count("\n"), outcome.status), ("", 1, 1), outcome)
        failure: dict[str, Any] = json.loads(outcome.stderr)
        self.assertTrue(failure.pop("message"))
        return failure
