import random
import statistics
import unittest

from lab.runner.figures import Estimate, bootstrap, fastest, gather, paired_ratios
from lab.tests.made_rows import run


class Bootstrap(unittest.TestCase):
    def test_equal_values_leave_no_doubt(self):
        self.assertEqual(bootstrap([3.0] * 10), Estimate(3.0, 3.0, 3.0, 10))

    def test_no_values_give_no_estimate(self):
        self.assertIsNone(bootstrap([]))

    def test_three_values_span_their_range(self):
        # The median of a resample of three is the smallest with probability 7/27, far above 2.5 %.
        self.assertEqual(bootstrap([2.0, 1.0, 3.0]), Estimate(2.0, 1.0, 3.0, 3))

    def test_same_seed_same_interval_whatever_the_order(self):
        values = [random.Random(4).gauss(10, 1) for _ in range(10)]
        self.assertEqual(bootstrap(values, 7), bootstrap(values[::-1], 7))

    def test_agrees_with_resampling_spelt_out(self):
        values = [random.Random(5).gauss(100, 10) for _ in range(11)]
        generator = random.Random(6)
        medians = sorted(statistics.median(generator.choices(values, k=11)) for _ in range(10_000))
        estimate = bootstrap(values)
        # Medians of eleven are values of the sample, so the ends agree exactly unless a tail hits a boundary.
        self.assertAlmostEqual(estimate.low, medians[250], delta=2)
        self.assertAlmostEqual(estimate.high, medians[9750], delta=2)

    def test_covers_the_true_median_about_as_often_as_it_says(self):
        generator = random.Random(8)
        hits = 0
        for _ in range(300):
            estimate = bootstrap([generator.gauss(50, 5) for _ in range(15)])
            hits += estimate.low <= 50 <= estimate.high
        self.assertGreater(hits / 300, 0.90)
        self.assertLess(hits / 300, 0.99)


class Pairing(unittest.TestCase):
    def test_ratios_pair_runs_of_the_same_round(self):
        rows = [run("c", 0, "a", rate=20), run("c", 1, "a", rate=40)]
        rows += [run("c", 1, "b", rate=10), run("c", 0, "b", rate=20)]
        self.assertEqual(paired_ratios(gather(rows, "c"), "rate", "a", "b"), [1.0, 4.0])

    def test_a_round_without_one_side_is_no_pair(self):
        rows = [run("c", 0, "a", rate=20), run("c", 1, "a", rate=40)]
        rows += [run("c", 1, "b", rate=10), run("c", 2, "b", rate=5)]
        self.assertEqual(paired_ratios(gather(rows, "c"), "rate", "a", "b"), [4.0])

    def test_invalid_runs_other_cases_and_zero_denominators_do_not_count(self):
        rows = [
            run("c", 0, "a", rate=20), run("c", 0, "b", ok=False),
            run("d", 1, "a", rate=20), run("d", 1, "b", rate=10),
            run("c", 2, "a", rate=20), run("c", 2, "b", rate=0),
        ]  # fmt: skip
        runs = gather(rows, "c")
        self.assertEqual(paired_ratios(runs, "rate", "a", "b"), [])
        self.assertEqual(len(runs.failed), 1)

    def test_fastest_is_by_median_rate(self):
        rows = [run("c", n, "b", rate=r) for n, r in enumerate([10, 10, 90])]
        rows += [run("c", n, "d", rate=20) for n in range(3)]
        self.assertEqual(fastest(gather(rows, "c"), ["b", "d", "absent"]), "d")


if __name__ == "__main__":
    unittest.main()
