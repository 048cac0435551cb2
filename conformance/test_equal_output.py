"""The same input gives the same output, whichever program calls and whichever answers."""

from __future__ import annotations

import json
from typing import Any

from harness.processes import Outcome, Server
from harness.programs import BENCH, GO, USERS, ProgramTest, carried_out, run, serving

from .languages import PROGRAMS

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


class EqualOutput(ProgramTest):
    servers: dict[str, Server]

    @classmethod
    def setUpClass(cls) -> None:
        cls.servers = {}
        for name, program in PROGRAMS.items():
            cls.servers[name] = serving(program, "--listen", "127.0.0.1:0")
            cls.addClassCleanup(cls.servers[name].stop)

    def test_calls(self) -> None:
        for words, lines, status in CASES:
            got = {
                (client, server): run(program, "call", "--target", served.address, *words)
                for client, program in PROGRAMS.items()
                for server, served in self.servers.items()
            }
            wanted = got["go", "go"]
            self.assertEqual((wanted.stdout.count("\n"), wanted.status), (lines, status), (words, wanted))
            self.assertEqual(wanted.stderr.count("\n"), status)
            for pair, outcome in got.items():
                with self.subTest(words, client=pair[0], server=pair[1]):
                    self.assertEqual(outcome, wanted)

    def test_what_nobody_serves(self) -> None:
        method = "trunkcall.fault.v1.FaultService/ReadGauges"
        for name, served in self.servers.items():
            with self.subTest(server=name):
                outcome = run(GO, "call", "--target", served.address, method, "{}")
                self.assertIn(f'"message":"method /{method} is not served by this server"', outcome.stderr)
                self.assertEqual((outcome.stdout, outcome.status), ("", 1))

    def test_what_no_server_gets_to_see(self) -> None:
        target = self.servers["go"].address
        for words in (
            ("call", "--target", target, GET, "{}", "--metadata", "a b=c"),
            ("call", "--target", "127.0.0.1:1", GET, "{}"),
            ("call", "--target", "127.0.0.1:1,127.0.0.1:2", GET, "{}"),
            ("call", "--target", "unix:/nowhere/s", GET, "{}"),
            ("call", "--target", "ws://127.0.0.1:1/path", GET, "{}"),
        ):
            with self.subTest(words):
                # The text is each language's own, as it knows the cause by its own names.
                failures = [self.without_text(run(program, *words)) for program in PROGRAMS.values()]
                self.assertEqual(failures, failures[:1] * len(PROGRAMS))

    def test_calls_that_cannot_be_sent(self) -> None:
        for method, messages in (
            (GET, "{"),
            (GET, '{"id": 1}'),
            (WATCH, "{}"),
            ("GetUser", "{}"),
            ("a.B/GetUser", "{}"),
            (USERS + "SetUser", "{}"),
        ):
            with self.subTest((method, messages)):
                # Parsers differ in their words.
                failures = [
                    self.without_text(run(program, "call", "--target", "127.0.0.1:1", method, messages))
                    for program in PROGRAMS.values()
                ]
                self.assertEqual(failures, failures[:1] * len(PROGRAMS))
                self.assertEqual(failures[0]["delivery"], "not_sent")

    def test_what_is_turned_down(self) -> None:
        # The wording of parsers differs, what they say first and the status do not.
        for words in (
            ("call", GET, "{}"),
            ("call", "--target", "127.0.0.1:1", GET),
            ("call", "--target", "http://127.0.0.1:1", GET, "{}"),
            ("call", "--target", "ws://", GET, "{}"),
            ("call", "--target", "127.0.0.1:1", GET, "{}", "{}"),
            ("call", "--target", "127.0.0.1:1", GET, "{}", "--timeout", "0"),
            ("call", "--target", "127.0.0.1:1", GET, "{}", "--tls-ca", "nofile"),
            ("serve",),
            ("serve", "--listen", "127.0.0.1"),
            ("serve", "--listen", "127.0.0.1:0", "--codec", "json"),
            ("serve", "--listen", "127.0.0.1:0", "--allow-cleartext"),
        ):
            with self.subTest(words):
                wanted = self.without_name("go", run(GO, *words))
                self.assertEqual(wanted.status, 2)
                self.assertEqual(self.without_name("python", carried_out(*words)), wanted)

    def without_text(self, outcome: Outcome) -> dict[str, Any]:
        self.assertEqual((outcome.stdout, outcome.stderr.count("\n"), outcome.status), ("", 1, 1), outcome)
        failure: dict[str, Any] = json.loads(outcome.stderr)
        self.assertTrue(failure.pop("message"))
        return failure

    def without_name(self, name: str, outcome: Outcome) -> Outcome:
        return Outcome(outcome.stdout, outcome.stderr.replace(f"peer-{name} ", "", 1), outcome.status)
