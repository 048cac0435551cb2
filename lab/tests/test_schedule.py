import unittest
from collections import Counter

from lab.runner.schedule import rounds

WHO = [(name, name) for name in "abcdefg"]


class Interleaving(unittest.TestCase):
    def test_everyone_runs_once_in_every_round(self):
        for slots in rounds(WHO, 10, "seed"):
            self.assertEqual(sorted(s.label for s in slots), list("abcdefg"))

    def test_a_round_is_mirrored_by_the_next(self):
        plan = rounds(WHO, 10, "seed")
        for first, second in zip(plan[::2], plan[1::2], strict=True):
            self.assertEqual([s.label for s in first], [s.label for s in second][::-1])

    def test_a_steady_drift_weighs_on_all_alike(self):
        moments = Counter()
        for number, slots in enumerate(rounds(WHO, 10, "seed")):
            for slot in slots:
                moments[slot.label] += number * len(WHO) + slot.position
        self.assertEqual(len(set(moments.values())), 1)

    def test_orders_differ_from_pair_to_pair_and_repeat_with_the_seed(self):
        plan = rounds(WHO, 20, "seed")
        self.assertGreater(len({tuple(s.label for s in slots) for slots in plan}), 10)
        self.assertEqual(plan, rounds(WHO, 20, "seed"))
        self.assertNotEqual(plan, rounds(WHO, 20, "another seed"))

    def test_the_first_place_goes_round(self):
        first = Counter(slots[0].label for slots in rounds(WHO, 200, "seed"))
        self.assertEqual(set(first), set("abcdefg"))
        self.assertLess(max(first.values()), 60)


if __name__ == "__main__":
    unittest.main()
