"""What makes random policies up: that it reaches what it is to reach, and that a difference is seen. And clients and
servers of the pairs that meet, under the same policy file, which behave alike: servers' ledgers say what ran."""

from __future__ import annotations

import collections
import json
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from harness.prerequisites import pairs_here
from harness.programs import ProgramTest, run

from . import random_policies
from .faults.ledger import read
from .languages import (
    LANGUAGES,
    PROGRAMS,
    bench_words,
    each_language,
    each_pair,
    having,
)
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


def calls(files: list[Path]) -> tuple[int, collections.Counter[str]]:
    """How many calls began by a ledger, and how they ended."""
    lines = list(read(files))
    begun = sum(line["event"] == "begin" for line in lines)
    return begun, collections.Counter(line["code"] for line in lines if line["event"] == "end")


@each_pair([(client.key, server.key) for client, server in pairs_here() if client in POLICIES and server in POLICIES])
class Pairs(ProgramTest):
    client: str
    server: str

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def load(
        self,
        of_client: str,
        of_server: str = "",
        behaviour: dict[str, Any] | None = None,
        *flags: str,
    ) -> tuple[int, collections.Counter[str], int]:
        """Has calls made for a moment. Returns how many there were, how they ended, and how often handlers ran."""
        ledgers = {side: self.folder / side for side in ("client", "server")}
        words: dict[str, tuple[str, ...]] = {}
        for side, text in (("client", of_client), ("server", of_server)):
            ledgers[side].unlink(missing_ok=True)
            file = self.folder / f"{side}.yaml"
            file.write_text(f"policy: 1\n{text}\n...\n")
            words[side] = ("--policy-file", str(file), "--ledger", str(ledgers[side]))
        server = self.serve(
            PROGRAMS[self.server],
            "--listen",
            "127.0.0.1:0",
            "--faults",
            *words["server"],
        )
        more = (
            "--mix",
            "Behave",
            "--behaviour",
            json.dumps(behaviour or {}),
            "--duration",
            "500ms",
            *flags,
        )
        done = run(
            PROGRAMS[self.client],
            *bench_words(self.client, server.address, *words["client"], *more),
        )
        self.assertEqual(done.status, 0, done.stderr)
        self.result = json.loads(done.stdout)
        self.assertEqual(server.stop().status, 0)
        made, ends = calls([ledgers["client"]])
        ran, _ = calls([ledgers["server"]])
        self.assertGreater(made, 0)
        return made, ends, ran

    def test_retries_run_as_often_as_the_file_says(self) -> None:
        retries = (
            "budget:\n  least: 1000000\ndefaults:\n  idempotent: %s\n  retries:\n    backoff: 1ms\n    attempts: 4"
        )
        for idempotent, times in (("true", 4), ("false", 1)):
            made, ends, ran = self.load(retries % idempotent, behaviour={"code": 14})
            self.assertEqual((ends, ran), ({"UNAVAILABLE": made}, made * times), idempotent)

    def test_attempts_are_counted(self) -> None:
        retries = (
            "budget:\n  least: 1000000\ndefaults:\n  idempotent: true\n  retries:\n    backoff: 1ms\n    attempts: 4"
        )
        made, _, ran = self.load(retries, "", {"code": 14}, "--observe")
        self.assertEqual(ran, 4 * made)
        # Observers may be told a moment later.
        self.assertGreater(self.result["attempts"], 3)
        self.assertLessEqual(self.result["attempts"], 4)

    def test_a_hedged_call_that_is_refused_ends_with_its_budget(self) -> None:
        hedging = "budget:\n  percent: 0\n  least: 0\ndefaults:\n  idempotent: true\n  hedging:\n    delay: 1s"
        limit = "defaults:\n  server_concurrency:\n    limit: 1"
        made, ends, ran = self.load(hedging, limit, {"wait_ms": 50}, "--callers", "4")
        self.assertEqual(set(ends), {"OK", "RESOURCE_EXHAUSTED"})
        self.assertEqual((sum(ends.values()), ran), (made, ends["OK"]))

    def test_retries_stay_within_the_budget(self) -> None:
        file = "budget:\n  percent: 0\n  least: 1\ndefaults:\n  idempotent: true\n  retries:\n    backoff: 1ms"
        made, ends, ran = self.load(file, "", {"code": 14}, "--callers", "4")
        # Ten in ten seconds: a machine that stands still for so long gives another ten.
        self.assertLessEqual(ran - made, 20)
        self.assertEqual(
            (ends, ran - made),
            ({"UNAVAILABLE": made}, min(2 * made, max(ran - made, 10))),
        )

    def test_a_slow_call_is_hedged(self) -> None:
        file = "budget:\n  least: 1000000\ndefaults:\n  idempotent: true\n  hedging:\n    delay: 1ms\n    attempts: 3"
        made, ends, ran = self.load(file, behaviour={"waitMs": 2000})
        self.assertEqual((ends, ran), ({"OK": made}, made * 3))

    def test_a_breaker_opens(self) -> None:
        file = "defaults:\n  breaker:\n    consecutive: 3\n    open: 1h\n    codes: [INTERNAL]"
        made, ends, ran = self.load(file, behaviour={"code": 13})
        ran_at_most = min(made, 3)
        self.assertEqual((ends["INTERNAL"], ran), (ran_at_most, ran_at_most))
        self.assertEqual(ends["UNAVAILABLE"], made - ran_at_most)

    def test_faults_for_drills_come_before_anything_is_sent(self) -> None:
        made, ends, ran = self.load("defaults:\n  faults:\n    all:\n      per_million: 1000000\n      code: DATA_LOSS")
        self.assertEqual((ends, ran), ({"DATA_LOSS": made}, 0))

    def test_the_rate_of_a_client_and_of_a_server(self) -> None:
        rate = "defaults:\n  %srate:\n    per_second: 1\n    burst: 5"
        for files in (
            (rate % "", ""),
            ("defaults:\n  retries: none", rate % "server_"),
        ):
            made, ends, ran = self.load(*files, {}, "--callers", "4")
            self.assertEqual(
                ends,
                {"OK": ran, "RESOURCE_EXHAUSTED": made - ran} if made > ran else {"OK": ran},
            )
            self.assertTrue(min(made, 5) <= ran <= 25, (made, ran))  # the file allows one more each second

    def test_a_server_runs_so_many_at_once_by_priority(self) -> None:
        limit = "defaults:\n  server_concurrency:\n    limit: 4"
        for priority, at_once in (("low", 2), ("normal", 4)):
            own = f"defaults:\n  retries: none\n  priority: {priority}"
            made, ends, ran = self.load(own, limit, {"waitMs": 2000}, "--callers", "12")
            self.assertEqual((ends["OK"], ran), (at_once, at_once), (made, ends))
            self.assertEqual(ends["RESOURCE_EXHAUSTED"], made - at_once)
