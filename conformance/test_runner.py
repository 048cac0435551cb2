"""The runner itself: that it sees what is not as it should be."""

from __future__ import annotations

import hashlib
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import TestCase, mock
from xml.etree import ElementTree

from harness.languages import ROOT
from harness.processes import Failed, Process

from .runner import carrying, servers
from .runner.cases import Case, expand, read_cases
from .runner.comparing import faults, made
from .runner.matrix import Matrix, Pair, Result, Tally, Way
from .runner.parties import CLIENTS, SERVERS, Client
from .runner.report import part, rows_of, write_junit, written
from .runner.stock import STOCK


def outcome(**more: Any) -> dict[str, Any]:
    """How a call ended that ended well."""
    return {"code": "OK", "message": "", "details": [], "delivery": "", "header": [], "trailer": [], **more}


def answer(size: int) -> dict[str, Any]:
    return {"size": size, "sha256": hashlib.sha256(made(size)).hexdigest()}


class Comparing(TestCase):
    def assert_fault(self, got: dict[str, Any], want: dict[str, Any], words: str, native: bool = True) -> None:
        found = faults(got, want, native)
        self.assertTrue(found and all(words in fault for fault in found), found)

    def test_what_is_as_wanted_has_no_fault(self) -> None:
        self.assertEqual(faults(outcome(answers=[answer(70_000)]), {"answers": [{"data": {"size": 70_000}}]}, True), [])

    def test_what_is_not_named_has_to_be_absent(self) -> None:
        self.assert_fault(outcome(header=[["a", "b"]]), {}, "/header")
        self.assert_fault(outcome(trailer=[["a", "b"]]), {}, "/trailer")
        self.assert_fault(outcome(details=[{"typeUrl": "a/b", "value": ""}]), {}, "/details")
        self.assert_fault(outcome(code="INTERNAL"), {"message": ""}, "/code")

    def test_codes_messages_and_deliveries_are_compared(self) -> None:
        got = outcome(code="ABORTED", message="why", delivery="executed")
        want = {"code": "ABORTED", "message": "why", "delivery": "executed"}
        self.assertEqual(faults(got, want, True), [])
        for name in want:
            self.assert_fault(got, want | {name: "other"}, f"/{name}")

    def test_a_delivery_that_nobody_can_know_is_not_compared(self) -> None:
        got = outcome(code="CANCELLED")
        del got["delivery"]
        self.assertEqual(faults(got, {"code": "CANCELLED", "delivery": "unknown"}, True), [])

    def test_answers_are_compared_by_number_size_and_digest(self) -> None:
        want = {"answers": [{"data": {"size": 3}}]}
        self.assert_fault(outcome(), want, "/answers")
        self.assert_fault(outcome(answers=[answer(3), answer(3)]), want, "/answers")
        self.assert_fault(outcome(answers=[answer(3) | {"sha256": "0"}]), want, "/answers/0/sha256")

    def test_choices(self) -> None:
        got = outcome(code="ABORTED", message="one two")
        for want in ({"anyOf": ["OK", "ABORTED"]}, {"native": "ABORTED", "other": "OK"}):
            self.assertEqual(faults(got, {"code": want}, True), [])
        self.assert_fault(got, {"code": {"anyOf": ["OK", "INTERNAL"]}}, "/code")
        self.assert_fault(got, {"code": {"native": "ABORTED", "other": "OK"}}, "/code", native=False)
        self.assert_fault(got, {"code": "ABORTED", "message": {"contains": "three"}}, "/message")
        seen = outcome(answers=[{"seen": {"leftMs": 301}}])
        self.assert_fault(seen, {"answers": [{"seen": {"leftMs": {"between": [1, 300]}}}]}, "/answers/0/seen/leftMs")

    def test_metadata_is_exact_for_native_peers_and_by_key_for_others(self) -> None:
        got = outcome(header=[["b", "3"], ["date", "now"], ["a", "1"], ["a", "2"]])
        want = {"header": [["a", "1"], ["a", "2"], ["b", "3"]]}
        self.assert_fault(got, want, "/header")
        self.assertEqual(faults(got, want, False), [])
        self.assert_fault(got, {"header": [["a", "2"], ["a", "1"]]}, "/header/a", native=False)

    def test_values_may_come_in_one_over_other_protocols(self) -> None:
        got, want = outcome(header=[["a", "1, 2"]]), {"header": [["a", "1"], ["a", "2"]]}
        self.assert_fault(got, want, "/header")
        self.assertEqual(faults(got, want, False), [])
        self.assert_fault(got, {"header": [["a", "2"], ["a", "1"]]}, "/header/a", native=False)

    def test_less_is_promised_over_other_protocols(self) -> None:
        for name, got, want in (
            ("delivery", {"code": "ABORTED", "delivery": "refused"}, {"code": "ABORTED", "delivery": "not_sent"}),
            ("end", {"observed": {"end": "CANCELLED"}}, {"observed": {"end": "DEADLINE"}}),
            ("leftMs", {"observed": {"leftMs": 303}}, {"observed": {"leftMs": {"between": [1, 300]}}}),
        ):
            self.assert_fault(outcome(**got), want, name)
            self.assertEqual(faults(outcome(**got), want, False), [])
        self.assert_fault(
            outcome(code="ABORTED", delivery="unknown"),
            {"code": "ABORTED", "delivery": "not_sent"},
            "delivery",
            native=False,
        )


class Cases(TestCase):
    def test_all_are_as_the_schema_says(self) -> None:
        self.assertGreater(len(read_cases()), 200)

    def test_what_is_repeated_is_put_in(self) -> None:
        value = {"list": [{"repeat": 2, "of": [1]}, "$id"], "text": {"repeat": 3, "of": "ab"}}
        self.assertEqual(expand(value, {"$id": "7"}), {"list": [[1], [1], "7"], "text": "ababab"})

    def test_every_want_can_fail(self) -> None:
        for case in read_cases():
            for want in case.wants({}):
                with self.subTest(case.name):
                    self.assertTrue(faults({"code": "none of them"}, want, True))


class Trying(TestCase):
    def assert_tally(self, outcomes: list[list[str]], timeout: int, passed: int) -> None:
        case = Case("group", {"name": "name", "calls": [{"method": "Unary", "timeoutMs": timeout}]})
        way = Way(CLIENTS[0], SERVERS[0], "tcp")
        matrix = Matrix({(way, "group"): Tally()})
        with mock.patch.object(Pair, "_carry_out", lambda *_: outcomes.pop(0)):
            Pair(matrix, mock.Mock(), {}).run([case], [way])
        self.assertEqual((matrix.passed, matrix.failed, outcomes), (passed, 1 - passed, []))

    def test_a_case_whose_time_runs_out_has_three_tries(self) -> None:
        self.assert_tally([["wrong"], ["wrong"], []], 300, 1)
        self.assert_tally([["wrong"], ["wrong"], ["wrong"]], 300, 0)
        self.assert_tally([[]], 300, 1)

    def test_another_has_one(self) -> None:
        for timeout in (0, 60_000):
            self.assert_tally([["wrong"]], timeout, 0)


class Carrying(TestCase):
    def test_a_client_that_prints_no_outcomes_has_failed(self) -> None:
        for line in ("no JSON", "5", "{}", '{"name":"one"}', '{"name":"one","outcomes":[5]}', '{"name":"two"}'):
            program = f"input(); print({line!r}, flush=True); input()"
            with (
                self.subTest(line),
                carrying.Carrying([sys.executable, "-c", program]) as client,
                self.assertRaisesRegex(Failed, "printed no outcomes|told of two"),
            ):
                client.carry_out({"name": "one"}, lambda _: None)


# Two pairs, whose servers and clients write down their ids and then do nothing.
HANGING = """
import sys
from pathlib import Path
from unittest import mock
from conformance.runner import __main__ as runner, matrix
from conformance.runner.cases import Case
from conformance.runner.parties import Client, Server
hangs = 'echo $$ >>"$0"; [ "$1" = serve ] && echo listening 127.0.0.1:1; exec sleep 1000'
program = ("sh", "-c", hangs, sys.argv.pop())
ways = [matrix.Way(Client(str(n), program, ("tcp",)), Server(str(n), program, ("tcp",)), "tcp") for n in range(2)]
case = Case("group", {"name": "one", "calls": []})
others = {way.server.name: way.server for way in ways}
with mock.patch.object(runner, "carry_out", lambda _: matrix.run_all([case, case], ways, others)):
    sys.exit(runner.main())
"""


class Interrupted(TestCase):
    def test_nothing_is_left_of_an_interrupted_run(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            ids = Path(folder) / "ids"
            with Process([sys.executable, "-c", HANGING, str(ids)], cwd=ROOT) as runner:
                while not ids.exists() or len(ids.read_text().split()) < 4:
                    self.assertIsNone(runner.ended(), runner.said())
                    runner.read(0.01)
                runner.signal(signal.SIGINT)
                self.assertEqual(runner.wait(), 128 + signal.SIGINT, runner.said())
            started = [int(word) for word in ids.read_text().split()]
        self.assertEqual([one for one in started if Path(f"/proc/{one}").exists()], [])


class Serving(TestCase):
    def test_a_server_that_is_restarted_has_its_flags_again(self) -> None:
        kept = servers.Servers()
        self.addCleanup(kept.stop)
        with mock.patch.object(servers, "serve") as serve:
            serve.return_value.closed = True
            own = kept.own(SERVERS[0], "tls", {"maxCalls": 3}, 1)
            own.do("restart")
        started, again = ([*call.args[3:]] for call in serve.call_args_list)
        self.assertIn("--tls-cert", started)
        self.assertEqual(again, started)


class Reporting(TestCase):
    def test_each_retry_is_told(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.xml"
            write_junit([Result("case", "way", retried=("late", "later"))], path)
            told = [one.attrib for one in ElementTree.parse(path).iter("property")]
        self.assertEqual(told, [{"name": "retry", "value": "late"}, {"name": "retry", "value": "later"}])

    def test_a_failure_is_seen_in_the_table(self) -> None:
        case = Case("group", {"name": "name"})
        ways = [Way(client, SERVERS[0], "tcp") for client in CLIENTS]
        matrix = Matrix({(way, "group"): Tally(passed=1) for way in ways})
        good = written(matrix, [case], ways)
        matrix.tallies[ways[0], "group"] = Tally(failed=1)
        self.assertIn("| 0/1 |", written(matrix, [case], ways))
        self.assertNotEqual(written(matrix, [case], ways), good)

    def test_what_a_stock_client_cannot_do_has_its_reason(self) -> None:
        (curl, *_) = (client for client in STOCK if client.protocol == "connect")
        way = Way(curl, SERVERS[0], "tcp")
        self.assertEqual(way.lack(Case("group", {"name": "unary", "calls": [{"method": "Unary"}]})), "")
        self.assertIn("one message", way.lack(Case("group", {"name": "many", "calls": [{"method": "BidiStream"}]})))

    def test_rows_of_pairs_that_have_not_met_are_left_out(self) -> None:
        head = "What came\n| client | server | transport |\n| --- | --- | --- |\n"
        rows = "| go | go | tcp |\n| curl, HTTP/1.1 | go | tcp |\n"
        self.assertEqual(rows_of(head + rows), {("go", "go"), ("curl, HTTP/1.1", "go")})
        self.assertEqual(part(head + rows, {("go", "go")}), head + "| go | go | tcp |\n")
        self.assertEqual(part(head + rows, rows_of(head + rows)), head + rows)

    def test_a_client_without_its_program_is_missing(self) -> None:
        self.assertTrue(Client("none", ("/there/is/none",), ("tcp",)).missing)
        self.assertEqual([client.missing for client in CLIENTS], [False] * len(CLIENTS))
