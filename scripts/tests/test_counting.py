"""What counts as a behaviour, an execution, a failure, a retry."""

import json
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from scripts import counting


def events(*rows: tuple[str, str, str]) -> str:
    lines = []
    for action, name, output in rows:
        event = {"Action": action, "Package": "p"}
        event |= {"Test": name} if name else {}
        event |= {"Output": output} if output else {}
        lines.append(json.dumps(event))
    return "\n".join(lines)


class GoCounts(unittest.TestCase):
    def counted(self, *rows: tuple[str, str, str], status: int = 0) -> counting.Outcome:
        return counting.go_outcome(events(*rows), status)

    def test_a_test_that_holds_others_is_no_behaviour(self):
        outcome = self.counted(
            ("output", "A/x", "loud\n"), ("pass", "A/x", ""), ("pass", "A/y", ""), ("pass", "A", ""), ("pass", "B", ""), ("pass", "", "")
        )
        self.assertEqual((outcome.passed, outcome.failed, outcome.output), (3, 0, ""))
        self.assertEqual(outcome.behaviours, {"p.A/x", "p.A/y", "p.B"})

    def test_what_go_numbers_is_one_behaviour_executed_often(self):
        outcome = self.counted(
            *(("pass", name, "") for name in ("FuzzA/seed#0", "FuzzA/seed#1", "FuzzA/0b1c", "FuzzA", "B/x", "B/x#01", "B/#00", "B"))
        )
        self.assertEqual((outcome.passed, outcome.behaviours), (6, {"p.FuzzA", "p.B/x", "p.B/"}))

    def test_why_a_test_was_skipped_is_told(self):
        outcome = self.counted(
            ("output", "B", "=== RUN   B\n"), ("output", "B", "    b_test.go:7: no curl\n"), ("output", "B", "--- SKIP: B\n"),
            ("skip", "B", ""), ("pass", "A", ""),
        )
        self.assertEqual((outcome.passed, outcome.skipped, outcome.behaviours), (1, Counter({"no curl": 1}), {"p.A"}))

    def test_a_failed_test_is_shown_and_what_holds_it_not_counted_again(self):
        outcome = self.counted(
            ("output", "A/x", "why\n"), ("fail", "A/x", ""), ("fail", "A", ""), ("output", "B", "quiet\n"), ("pass", "B", ""), ("fail", "", ""),
            status=1,
        )
        self.assertEqual((outcome.passed, outcome.failed, outcome.output), (1, 1, "why\n"))
        self.assertEqual(outcome.failures, ["p.A/x"])

    def test_a_test_that_fails_after_those_in_it_passed_counts(self):
        outcome = self.counted(("pass", "A/x", ""), ("fail", "A", ""), ("fail", "", ""), status=1)
        self.assertEqual((outcome.passed, outcome.failed), (1, 1))

    def test_a_package_that_fails_alone_counts(self):
        outcome = self.counted(("output", "", "does not build\n"), ("fail", "", ""), status=1)
        self.assertEqual((outcome.failed, outcome.output), (1, "does not build\n"))

    def test_a_status_without_a_failure_is_one(self):
        self.assertEqual(self.counted(("pass", "A", ""), status=2).failed, 1)

    def test_what_is_no_event_is_shown(self):
        outcome = counting.go_outcome("go: no such tool\n", 2)
        self.assertEqual((outcome.failed, outcome.output), (1, "go: no such tool\n"))

    def test_a_line_of_json_that_is_no_event_is_shown(self):
        for line in ("5", "null", "{}", "[]", '"Action"'):
            outcome = counting.go_outcome(f"{line}\n{events(('pass', 'A', ''))}", 1)
            self.assertEqual((outcome.passed, outcome.failed, outcome.output), (1, 1, line + "\n"))

    def test_no_test_at_all_is_a_failure(self):
        self.assertEqual(self.counted(("skip", "", "")).failed, 1)

    def test_a_retry_is_told(self):
        event = json.dumps({"Action": "attr", "Package": "p", "Test": "A", "Key": "retry", "Value": "too late"})
        outcome = counting.go_outcome(f"{event}\n{events(('pass', 'A', ''))}", 0)
        self.assertEqual(outcome.retries, ["p.A: too late"])


class JUnitCounts(unittest.TestCase):
    def counted(self, xml: str | None, status: int = 0, **words: str) -> counting.Outcome:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.xml"
            if xml is not None:
                path.write_text(xml, encoding="utf-8")
            return counting.junit_outcome([path], status, "said\n", **words)

    def test_cases_count(self):
        outcome = self.counted(
            '<testsuites><testsuite><testcase classname="t.A" name="x"/><testcase classname="t.A" name="y[1]"/>'
            '<testcase classname="t.A" name="z"><skipped message="no JDK"/></testcase></testsuite></testsuites>'
        )
        self.assertEqual((outcome.passed, outcome.failed, outcome.skipped), (2, 0, Counter({"no JDK": 1})))
        self.assertEqual(outcome.behaviours, {"t.A.x", "t.A.y[1]"})

    def test_failures_and_errors_count(self):
        outcome = self.counted(
            '<testsuite><testcase name="x"><failure>no</failure></testcase><testcase name="y"><error/></testcase></testsuite>', status=1
        )
        self.assertEqual((outcome.passed, outcome.failed, outcome.output), (0, 2, "said\n"))

    def test_a_case_of_which_one_part_failed_and_another_was_skipped_has_failed(self):
        outcome = self.counted('<testsuite><testcase name="x"><skipped message="no JDK"/><failure>no</failure></testcase></testsuite>', status=1)
        self.assertEqual((outcome.passed, outcome.failed, outcome.skipped), (0, 1, Counter()))

    def test_a_case_that_is_there_twice_counts_once(self):
        twice = '<testcase classname="t.A" name="x"{0}</testcase><testcase classname="t.A" name="x"{1}</testcase>'
        for first, second, passed in (("><failure/>", "><error/>", 0), (">", "><error/>", 0), (">", ">", 1)):
            outcome = self.counted(f"<testsuite>{twice.format(first, second)}</testsuite>")
            self.assertEqual((outcome.passed, outcome.failed), (passed, 1 - passed), (first, second))

    def test_one_behaviour_may_be_executed_by_many(self):
        outcome = self.counted(
            '<testsuite><testcase classname="unary/empty" name="go to go"/><testcase classname="unary/empty" name="go to python"/></testsuite>',
            behaviour="{classname}",
        )
        self.assertEqual((outcome.passed, outcome.behaviours), (2, {"unary/empty"}))

    def test_a_retry_is_told(self):
        outcome = self.counted(
            '<testsuite><testcase classname="c" name="x"><properties><property name="retry" value="too late"/></properties></testcase></testsuite>'
        )
        self.assertEqual((outcome.passed, outcome.retries), (1, ["c.x: too late"]))

    def test_no_results_are_a_failure(self):
        for xml in (None, "", "<testsuite", "<testsuite/>"):
            self.assertEqual((self.counted(xml).failed, self.counted(xml).passed), (1, 0), xml)

    def test_a_status_without_a_failure_is_one(self):
        self.assertEqual(self.counted('<testsuite><testcase name="x"/></testsuite>', status=3).failed, 1)


if __name__ == "__main__":
    unittest.main()
