"""The checker of ledgers finds each breach, and nothing where there is none."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import TestCase, mock

from .faults import ledger
from .faults.ledger import Line, check, check_files, expired, read

MS = 1_000_000


def begin(call: str = "a", at: int = 0, **more: Any) -> Line:
    return {"event": "begin", "call": call, "at": at, "method": "/s/M", **more}


def end(call: str = "a", at: int = 10 * MS, code: str = "OK", delivery: str = "executed", **more: Any) -> Line:
    return {"event": "end", "call": call, "at": at, "code": code, "delivery": delivery, **more}


def ran(call: str = "a", execution: str = "x", code: str = "OK", outcome: str = "returned") -> list[Line]:
    return [begin(call, 2 * MS, execution=execution), end(call, 4 * MS, code, execution=execution, outcome=outcome)]


class Checker(TestCase):
    def assert_breach(self, words: str, client: list[Line], server: list[Line], **options: Any) -> None:
        found = check(client, server, **options).breaches
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def assert_good(self, client: list[Line], server: list[Line], **options: Any) -> None:
        self.assertEqual(check(client, server, **options).breaches, [])

    def test_calls_in_order_pass(self) -> None:
        client = [
            *(begin(call) for call in "abcdefg"),
            end("a"),
            end("b", code="UNAVAILABLE", delivery="not_sent"),
            end("c", code="RESOURCE_EXHAUSTED", delivery="refused"),
            end("d", code="CANCELLED", delivery="unknown"),
            end("e", code="CANCELLED", delivery="unknown"),
            end("f", code="INTERNAL"),
            end("g", code="NOT_FOUND"),
        ]
        server = [
            *ran("a", "1"),
            *ran("d", "2", code="CANCELLED"),
            *ran("f", "3", code="", outcome="panicked"),
            *ran("g", "4", code="NOT_FOUND"),
        ]
        report = check(client, server)
        self.assertEqual((report.calls, report.executions, report.breaches), (7, 4, []))
        self.assertEqual(report.outcomes["CANCELLED", "unknown"], 2)

    def test_a_call_without_end(self) -> None:
        self.assert_breach("I1: 0 ends", [begin()], [])
        self.assert_good([begin()], [], killed=True)

    def test_a_call_with_two_ends(self) -> None:
        self.assert_breach("I1: 2 ends", [begin(), end(), end()], ran())

    def test_an_end_without_a_beginning(self) -> None:
        self.assert_breach("I1: 0 beginnings", [end()], ran())
        self.assert_breach("I1: 0 beginnings", [], ran())

    def test_an_end_after_the_deadline(self) -> None:
        late = [begin(deadline=5 * MS), end(at=1006 * MS, code="DEADLINE_EXCEEDED", delivery="unknown")]
        self.assert_breach("I1: ended 1.001 s late", late, [], bound=1.0)
        self.assert_good(late, [], bound=1.1)
        self.assertAlmostEqual(check(late, []).latest, 1.001)

    def test_an_end_long_after_the_caller_gave_up(self) -> None:
        calls = [
            begin(deadline=9000 * MS),
            {"event": "cancel", "call": "a", "at": 5 * MS},
            end(at=2000 * MS, code="CANCELLED", delivery="unknown"),
        ]
        self.assert_breach("I1: ended 1.995 s late", calls, [])

    def test_a_deadline_that_had_passed_before_the_call(self) -> None:
        self.assert_good(
            [begin(at=9000 * MS, deadline=1), end(at=9001 * MS, code="DEADLINE_EXCEEDED", delivery="not_sent")], []
        )

    def test_ok_without_an_execution(self) -> None:
        self.assert_breach("I2: 0 executions", [begin(), end()], [])

    def test_ok_of_an_execution_that_failed_or_never_ended(self) -> None:
        self.assert_breach("I2: 1 executions, none", [begin(), end()], ran(code="INTERNAL"))
        self.assert_breach("I2: 1 executions, none", [begin(), end()], ran()[:1])

    def test_executed_without_an_execution(self) -> None:
        self.assert_breach("I2: not executed", [begin(), end(code="NOT_FOUND")], [])

    def test_what_was_provably_not_run_did_run(self) -> None:
        for delivery in ("not_sent", "refused"):
            failed = [begin(), end(code="UNAVAILABLE", delivery=delivery)]
            self.assert_breach("I3: executed 1 times", failed, ran())
            self.assert_breach("I3: executed 1 times", failed, ran()[:1])

    def test_a_call_executed_twice(self) -> None:
        self.assert_breach("executed 2 times", [begin(), end()], ran() + ran(execution="y"))

    def test_a_delivery_that_there_is_not(self) -> None:
        self.assert_breach("no such delivery", [begin(), end(code="UNAVAILABLE", delivery="perhaps")], [])

    def test_work_that_began_expired(self) -> None:
        late = begin(at=1500 * MS, deadline=400 * MS, execution="x")
        self.assertEqual(len(expired([late, begin(at=500 * MS, deadline=400 * MS), begin(at=1)], 1.0)), 1)

    def test_a_line_that_a_killed_process_left_unfinished_is_not_written(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ledger"
            path.write_text(json.dumps(begin()) + '\n{"event":"en', encoding="utf-8")
            self.assertEqual(list(read([path])), [begin()])

    def test_a_line_that_is_being_written_is_not_written(self) -> None:
        """Its rest may come between two looks at the file."""
        line = json.dumps(begin()) + "\n"
        looks = contextlib.nullcontext(iter([line, line[:9], line[9:]]))
        with mock.patch.object(ledger, "open", lambda *_, **__: looks, create=True):
            self.assertEqual(list(read([Path("ledger")])), [begin()])

    def test_long_ledgers_are_checked_in_parts_as_if_they_were_one(self) -> None:
        calls = [f"call{number}" for number in range(100)]
        client = [line for call in calls for line in (begin(call), end(call))]
        server = [line for call in calls[1:] for line in ran(call, f"execution of {call}")]
        with tempfile.TemporaryDirectory() as folder:
            paths = Path(folder) / "client", Path(folder) / "server"
            for path, lines in zip(paths, (client, server), strict=True):
                path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            together = check_files(paths[:1], paths[1:])
            with mock.patch.object(ledger, "PART", 4_000), mock.patch.object(ledger, "check", wraps=check) as checked:
                apart = check_files(paths[:1], paths[1:])
        self.assertGreater(checked.call_count, 5)
        self.assertEqual(apart, together)
        self.assertEqual((apart.calls, apart.executions, len(apart.breaches)), (100, 99, 1))

    def test_the_program_says_what_is_wrong(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ledger"
            path.write_text(f"{json.dumps(begin())}\n{json.dumps(end())}\n", encoding="utf-8")
            words = [sys.executable, "-m", "conformance.faults.ledger", "--client", str(path)]
            done = subprocess.run(words, capture_output=True, encoding="utf-8", cwd=Path(__file__).parents[1])
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("1 calls, 0 executions", done.stdout)
        self.assertIn("I2: 0 executions", done.stdout)
