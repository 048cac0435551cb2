"""What a run costs, and what it would cost with more languages."""

import unittest

from scripts import costs


def row(name: str, seconds: float, language: str = "", meets: bool = False, began: float = 0.0) -> dict[str, object]:
    counts = {"cpu": 2 * seconds, "behaviours": 1, "executions": 2}
    return {"name": name, "language": language, "meets": meets, "began": began, "seconds": seconds, **counts}


ROWS = [
    row("go tests", 100.0, "Go"),
    row("python tests", 50.0, "Python", began=40.0),
    row("matrix", 40.0, meets=True),
    row("check a", 2.0),
    row("check b", 3.0),
]


class Costs(unittest.TestCase):
    def test_with_the_languages_that_are_there_it_is_the_sum(self):
        self.assertEqual(costs.reckoned(ROWS, 2), 195.0)

    def test_languages_add_their_own_suites_and_the_pairs_in_which_they_meet(self):
        self.assertEqual(costs.reckoned(ROWS, 4), 150.0 * 2 + 40.0 * 10 / 4 + 5.0)

    def test_the_table(self):
        lines = costs.table(ROWS).splitlines()
        self.assertIn("| Go | go tests | 100 | 200 | 1 | 2 |", lines)
        self.assertIn("| shared | 2 below 5 s | 5 | 10 | 2 | 4 |", lines)
        self.assertIn("| **all** | | 195 | 390 | | 10 |", lines)
        self.assertIn(" and 810 seconds of the processor instead of 390.", lines[-1])
        self.assertIn("took 1 min 40 s with 2 languages. With 4 it is reckoned to take 3 min 28 s", lines[-1])

    def test_there_is_a_place_for_it(self):
        self.assertEqual(len(costs.PLACE.findall(costs.README.read_text(encoding="utf-8"))), 1)


if __name__ == "__main__":
    unittest.main()
