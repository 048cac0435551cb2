"""Runs of servers in trouble: what is counted, what makes a run invalid, and how a configuration asks for them."""

import sys
import unittest
from pathlib import Path

from harness.processes import Failed
from lab.runner import troubled
from lab.runner.campaign import commands
from lab.runner.config import ConfigError
from lab.tests.test_config import HEAD, ROW, loaded

FAKE = [sys.executable, str(Path(__file__).parent / "fake_peer.py")]
TROUBLED = ROW + 'kind = "troubled"\nservers = 3\ntrouble = ["--trouble", "slow"]\n'
RESULT = {"calls": 1000, "errors": 400, "cpu_us": 9.0, "answered_p50_us": 1.0, "answered_p99_us": 2.0, "attempts": 1.05}


class Figures(unittest.TestCase):
    def test_what_was_answered_is_set_against_what_was_offered(self):
        found = troubled.figures(RESULT, runs=1020, offered=500, most_attempts=1.1)
        self.assertEqual((found["goodput"], found["rate"], found["runs"]), (0.6, 300, 1.02))

    def test_more_attempts_than_allowed_make_a_run_invalid(self):
        for result, runs in ((RESULT | {"attempts": 1.11}, 1000), (RESULT, 1110)):
            with self.assertRaisesRegex(Failed, "1.110 attempts for a call, where at most 1.1 are allowed"):
                troubled.figures(result, runs, 500, 1.1)
        troubled.figures(RESULT, 1110, 500, 0)

    def test_a_client_has_to_tell_of_its_attempts(self):
        with self.assertRaisesRegex(Failed, "lacks a number for 'attempts'"):
            troubled.figures({k: v for k, v in RESULT.items() if k != "attempts"}, 1000, 500, 0)


class Runs(unittest.TestCase):
    def run_fakes(self, *bench, serve=("--runs", "40")):
        server = [*FAKE, "serve", *serve]
        client = [*FAKE, "bench", "--target", "{target}", "--rate", "1000", *bench]
        return troubled.bench(
            [server, server], lambda address: [w.replace("{target}", address) for w in client], ".", 10, 1000, 1.1
        )

    def test_calls_that_fail_are_counted_and_the_servers_tell_of_runs(self):
        found = self.run_fakes("--errors", "25", "--attempts", "1.05", "--ejected", "2").figures
        self.assertEqual((found["goodput"], found["rate"], found["runs"], found["attempts"]), (0.75, 750, 0.8, 1.05))
        self.assertEqual(found["ejected"], 2)

    def test_what_goes_wrong_is_told(self):
        with self.assertRaisesRegex(Failed, "1.200 attempts for a call"):
            self.run_fakes("--attempts", "1.2")
        with self.assertRaisesRegex(Failed, "server does not tell of its runs"):
            self.run_fakes(serve=())


class Configurations(unittest.TestCase):
    def test_a_row_is_a_case_for_each_load(self):
        cases = loaded(HEAD + TROUBLED + "capacity = 1000\n").cases
        self.assertEqual([(case.name, case.offered) for case in cases], [("r/30", 300), ("r/70", 700), ("r/150", 1500)])
        config = loaded(HEAD + TROUBLED + "capacity = 1000\nloads = [2]\n")
        _, client = commands(config.cases[0], config.participants["a"], None, "measure")
        self.assertEqual(client[-2:], ["--rate", "2000"])

    def test_what_is_wrong_is_named(self):
        for text, words in (
            (TROUBLED, "row r: a troubled row needs `capacity`"),
            (ROW + 'trouble = ["--x"]\n', "row r: `trouble` goes with kind 'troubled'"),
            (ROW + "servers = 0\n", "row r: `servers`"),
        ):
            with self.assertRaisesRegex(ConfigError, words):
                loaded(HEAD + text)

    def test_servers_may_be_found_in_a_registry(self):
        found = "[participant.c]\nprogram = 'c'\nregistry = true\nservers = 3\n"
        row = ROW.replace('["b"]', '["c"]')
        with self.assertRaisesRegex(ConfigError, r"\[tools\] does not name `registry`"):
            loaded(HEAD + found + row)
        config = loaded(HEAD + found + '[tools]\nregistry = ["r", "registry"]\n' + row)
        serve, client = commands(config.cases[0], config.participants["c"], None, "measure")
        for words in (serve, client):
            self.assertIn("trunkcall:{registry}", words)
