import unittest

from lab.runner.config import Check
from lab.runner.figures import Estimate, gather
from lab.runner.verdicts import NO_DATA, answer, judge
from lab.tests.made_rows import run


class Answers(unittest.TestCase):
    def test_of_rates_more_is_better(self):
        estimate = Estimate(2.5, 2.4, 2.6, 10)
        for bound, expected in [(2.3, "met"), (2.45, "met?"), (2.55, "not met?"), (2.7, "not met")]:
            self.assertEqual(answer(estimate, bound, higher=True, lenient=False), expected)

    def test_of_times_less_is_better(self):
        estimate = Estimate(2.5, 2.4, 2.6, 10)
        for bound, expected in [(2.7, "met"), (2.55, "met?"), (2.45, "not met?"), (2.3, "not met")]:
            self.assertEqual(answer(estimate, bound, higher=False, lenient=False), expected)

    def test_lenient_is_missed_only_beyond_the_interval(self):
        self.assertEqual(answer(Estimate(1.1, 0.99, 1.2, 10), 1.0, higher=False, lenient=True), "met")
        self.assertEqual(answer(Estimate(1.1, 1.01, 1.2, 10), 1.0, higher=False, lenient=True), "not met")
        self.assertEqual(answer(Estimate(0.9, 0.8, 1.01, 10), 1.0, higher=True, lenient=True), "met")

    def test_nothing_measured_is_never_met(self):
        self.assertEqual(answer(None, 1.0, higher=True, lenient=True), NO_DATA)


class Judging(unittest.TestCase):
    def rows(self, **rates):
        return gather([run("c", n, who, rate=r, p99_us=r) for who, r in rates.items() for n in range(10)], "c")

    def test_fastest_peer_is_found_by_itself(self):
        verdict = judge(Check("rate", "fastest", 2.5, 3.5), self.rows(a=300, b=100, d=60), "a", ["b", "d"], 1)
        self.assertEqual((verdict.other, verdict.must, verdict.goal), ("b (fastest)", "met", "not met"))
        self.assertEqual(verdict.estimate.value, 3.0)

    def test_against_each_the_least_favourable_counts(self):
        runs = self.rows(a=100, b=200, d=50)
        verdict = judge(Check("p99_us", "each", 1.0, 1.0, lenient=True), runs, "a", ["b", "d"], 1)
        self.assertEqual((verdict.must, verdict.estimate.value), ("not met", 2.0))
        self.assertEqual(verdict.other, "d (least favourable of all)")
        verdict = judge(Check("p99_us", "each", 1.0), self.rows(a=10, b=200, d=50), "a", ["b", "d"], 1)
        self.assertEqual(verdict.must, "met")

    def test_a_peer_without_runs_spoils_a_claim_against_each(self):
        verdict = judge(Check("p99_us", "each", 1.0), self.rows(a=10, b=200), "a", ["b", "d"], 1)
        self.assertEqual(verdict.must, NO_DATA)

    def test_a_peer_without_runs_is_named_beside_the_fastest(self):
        verdict = judge(Check("rate", "fastest", 2.5), self.rows(a=300, b=100), "a", ["b", "d"], 1)
        self.assertEqual((verdict.other, verdict.must), ("b (fastest of those without d)", "met"))

    def test_a_figure_alone(self):
        verdict = judge(Check("p99_us", "", goal=6.5), self.rows(a=6.0), "a", [], 1)
        self.assertEqual((verdict.other, verdict.must, verdict.goal), ("", None, "met"))


if __name__ == "__main__":
    unittest.main()
