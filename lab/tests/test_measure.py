import json
import sys
import unittest
from pathlib import Path
from typing import ClassVar

from harness.processes import Failed
from lab.runner import measure

HERE = Path(__file__).resolve().parent
FAKE = [sys.executable, "-I", str(HERE / "fake_peer.py")]


def serving(*flags):
    return [*FAKE, "serve", *flags]


def benching(*flags):
    return lambda address: [*FAKE, "bench", "--target", address, "--duration", "300ms", *flags]


class OneRun(unittest.TestCase):
    def test_figures_of_client_and_system(self):
        outcome = measure.bench([serving()], benching("--fake-rate", "500"), str(HERE), 10)
        self.assertAlmostEqual(outcome.figures["rate"], 500, delta=10)
        self.assertEqual(outcome.figures["cpu_client_us"], 5.0)
        # A Python process answering some hundred calls in 0.3 s: something, and less than a whole core.
        self.assertTrue(0 < outcome.figures["cpu_server_us"] < 1e6 / 500)
        self.assertEqual(outcome.figures["cpu_both_us"], 5.0 + outcome.figures["cpu_server_us"])
        self.assertGreater(outcome.seen["server_resident"], 1_000_000)

    def test_idle_memory_is_what_each_connection_adds(self):
        def hold(address):
            return [*FAKE, "hold", "--target", address, "--connections", "200"]

        outcome = measure.idle(serving("--memory", "65536"), hold, str(HERE), 200, 0.1)
        self.assertEqual(outcome.seen["connections"], 200)
        self.assertTrue(55_000 < outcome.figures["idle_bytes"] < 90_000, outcome.figures)

    def test_overhead_is_bytes_beyond_the_messages(self):
        outcome = measure.overhead(serving(), benching(), str(HERE), 40, 10)
        self.assertEqual(outcome.figures["overhead_bytes"], 15)


class Allocations(unittest.TestCase):
    RESULT: ClassVar = {"allocations": 48.02}

    def told(self, *samples):
        head = {"client_message": 48, "server_message": 50}
        return [
            (at, "allocations " + json.dumps({"calls": calls, "allocations": count, **head}))
            for at, calls, count in samples
        ]

    def test_they_are_what_is_left_of_each_call_within_the_measured_time(self):
        told = self.told(
            (1.0, 0, 9000), (2.0, 100, 20_000), (2.5, 500, 40_000), (3.0, 1100, 71_120), (4.0, 1100, 99_000)
        )
        found = measure.allocations(self.RESULT, [(0.5, "listening"), *told], (1.5, 3.5))
        self.assertEqual(found, {"client_allocs": 0.0, "server_allocs": 1.1})

    def test_servers_that_do_not_tell_of_them_have_none(self):
        self.assertEqual(measure.allocations(self.RESULT, [(0.5, "listening")], (1.5, 3.5)), {})

    def test_too_few_lines_and_a_client_that_does_not_count_are_told(self):
        for result, samples, words in (
            (self.RESULT, [(2.0, 100, 20_000), (4.0, 200, 30_000)], "too seldom"),
            (self.RESULT, [(2.0, 100, 20_000), (3.0, 100, 30_000)], "too seldom"),
            ({}, [(2.0, 100, 20_000), (3.0, 200, 30_000)], "'allocations'"),
        ):
            with self.subTest(words), self.assertRaisesRegex(Failed, words):
                measure.allocations(result, self.told(*samples), (1.5, 3.5))


class WhatGoesWrong(unittest.TestCase):
    def assert_fails(self, words, serve=(), bench=(), limit=60):
        with self.assertRaises(Failed) as caught:
            measure.bench([serving(*serve)], benching(*bench), str(HERE), limit)
        self.assertRegex(caught.exception.brief, words)

    def test_each_is_named(self):
        self.assert_fails("serve --dies ended with status 1 before it said anything: cannot serve today$", serve=["--dies"])
        self.assert_fails("client ended with status 1 and no result: no route to the moon", bench=["--exit"])
        self.assert_fails("client reports 7 errors", bench=["--errors", "7"])
        self.assert_fails("no result within 0.1 s", limit=0.1)

    def test_a_program_that_cannot_be_started(self):
        with self.assertRaisesRegex(Failed, "nowhere: cannot be started: No such file"):
            measure.bench([["./nowhere"]], benching(), str(HERE), 1)

    def test_results_that_are_none(self):
        whole = dict.fromkeys(measure.CLIENT_KEYS, 1) | {"errors": 0}
        self.assertEqual(measure.parse_result(str(whole).replace("'", '"')), whole)
        for text in ("{", '{"calls": 1}', str(whole).replace("'", '"').replace('"rate": 1', '"rate": NaN')):
            with self.assertRaises(Failed):
                measure.parse_result(text)


if __name__ == "__main__":
    unittest.main()
