"""What makes random policies up: that it reaches what it is to reach, and that a difference is seen."""

from __future__ import annotations

import collections
import sys
import unittest
from typing import Any

from . import random_policies
from .languages import LANGUAGES, each_language, having
from .policies.sequences import CORES
from .random_policies import Ended, difference, made, outcomes

POLICIES = having("random-policies")


@each_language([language.key for language in POLICIES])
class Reach(unittest.TestCase):
    language: str

    def test_files_are_good_and_bad_in_many_ways(self) -> None:
        told = self.outcomes(range(1, 1001, 2))
        good = [one for one in told if "methods" in one]
        self.assertGreater(len(good), 50)
        said = {name for one in good for holds in one["methods"].values() for name in holds}
        for name in ("timeout", "retries", "hedging", "breaker", "rate", "concurrency", "server_rate", "faults"):
            self.assertIn(name, said)
        faults = {fault.rpartition(": ")[2] for one in told if "faults" in one for fault in one["faults"]}
        self.assertGreater(len(faults), 100)

    def test_cores_decide_in_every_way(self) -> None:
        seeds = range(0, 1000, 2)
        decided = collections.defaultdict[str, set[Any]](set)
        for seed, one in zip(seeds, self.outcomes(seeds), strict=True):
            core = made(seed)["core"]
            for decision in one["decisions"]:
                for name, value in decision.items():
                    decided[core].add((name, value) if isinstance(value, str | bool) else name)
        self.assertEqual(set(decided), set(CORES))
        ends = {name[1] for name in decided["retries"] if name[0] == "end"}
        self.assertEqual(len(ends), 10, ends)
        self.assertLessEqual({"start", "look", "finish"}, decided["hedging"])
        self.assertLessEqual({("state", "closed"), ("state", "open"), ("state", "half_open")}, decided["breaker"])
        self.assertIn("until", decided["outliers"])
        self.assertLessEqual({("allowed", True), ("allowed", False)}, decided["rate"] & decided["concurrency"])
        self.assertLessEqual({("place", "own"), ("place", "others"), ("place", "all")}, decided["zones"])
        self.assertIn("code", {name if isinstance(name, str) else name[0] for name in decided["faults"]})

    def outcomes(self, seeds: range) -> list[Any]:
        language = LANGUAGES[self.language]
        return outcomes(language.words(language.peer.policies), [made(seed) for seed in seeds])


class Differences(unittest.TestCase):
    def test_a_case_is_decided_by_its_seed(self) -> None:
        for seed in range(10):
            self.assertEqual(made(seed), made(seed))

    def test_one_in_a_file_is_seen(self) -> None:
        case = {"file": b"policy: 1".hex(), "methods": []}
        self.assertEqual(difference(case, {"faults": ["line 1: x"]}, {"faults": ["line 1: x"]}), "")
        told = difference(case, {"faults": ["line 1: x"]}, {"faults": ["line 2: x"]})
        for words in ("policy: 1", "line 1: x", "line 2: x"):
            self.assertIn(words, told)

    def test_one_of_decisions_is_seen_and_told_without_what_follows(self) -> None:
        case = {"core": "rate", "steps": [{"at": 1}, {"at": 2}, {"at": 3}]}
        told = difference(case, {"decisions": [1, 2, 3]}, {"decisions": [1, 4, 5]})
        self.assertIn('{"at": 2}]', told)
        self.assertNotIn('{"at": 3}', told)

    def test_a_program_that_ends_is_told(self) -> None:
        program = (sys.executable, "-c", "import sys; sys.stdin.read(); sys.exit('cannot')")
        with self.assertRaisesRegex(Ended, "has ended with 1 at case 0: cannot"):
            outcomes(program, [made(1)])

    def test_those_that_meet(self) -> None:
        for pair in random_policies.joined():
            self.assertEqual(len(set(pair) & {language.key for language in POLICIES}), 2)
