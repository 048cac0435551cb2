"""The load generator: what it counts, and when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import io
import json
import threading
import unittest
import weakref
from array import array

import load
from load.flags import UsageError, parse
from load.result import Result, percentile
from load.window import Window


def options(*words: str) -> load.Options:
    return parse("program", ("Say", "Echo"), ["--target", "host:1", *words])


class Flags(unittest.TestCase):
    def test_defaults(self) -> None:
        config = options().config()
        self.assertEqual((config.duration, config.calls, config.rate), (5.0, 0, 0.0))
        self.assertEqual((config.warmup, config.warmup_calls), (1.0, 20_000))

    def test_a_warmup_that_is_given_lasts_as_long_as_it_says(self) -> None:
        for text, seconds in (("250ms", 0.25), ("1m30s", 90.0), (".5s", 0.5), ("0", 0.0)):
            config = options("--warmup", text).config()
            self.assertEqual((config.warmup, config.warmup_calls), (seconds, 0))

    def test_methods_have_short_and_long_names(self) -> None:
        for name in ("Echo", "trunkcall.bench.v1.BenchService/Echo", "/trunkcall.bench.v1.BenchService/Echo"):
            self.assertEqual(options("--method", name).method, "Echo")

    def test_mistakes_are_named(self) -> None:
        for words, text in (
            (("--method", "Sing"), "--method Sing is not there"),
            (("--callers", "0"), "at least 1"),
            (("--calls", "5", "--duration", "1s"), "cannot go together"),
            (("--duration", "0s"), "above 0"),
            (("--calls", "-1"), "above 0"),
            (("--rate", "-1"), "above 0"),
            (("--rate", "0"), "above 0"),
            (("--size", "-1"), "negative"),
            (("--duration", "3"), "want a time"),
            (("--dur", "3s"), "--dur"),
        ):
            with self.subTest(words), self.assertRaisesRegex(UsageError, text):
                options(*words)
        for target in ("host", ":1", "host:x"):
            with self.subTest(target), self.assertRaisesRegex(UsageError, "want HOST:PORT"):
                parse("program", ("Say",), ["--target", target]).address()


class Figures(unittest.TestCase):
    def window(self, *samples: int) -> Window:
        window = Window(0, 0)
        window.samples = [array("q", samples[::2]), array("q", samples[1::2])]
        window.length, window.cpu = 2_000_000_000, 40_000
        return window

    def test_they_follow_from_the_samples(self) -> None:
        result = Result.of(self.window(*(1000 * n for n in range(1000, 0, -1))))
        self.assertEqual((result.calls, result.errors, result.seconds, result.rate), (1000, 0, 2.0, 500.0))
        self.assertEqual((result.mean_us, result.p50_us, result.p99_us, result.p999_us), (500.5, 500.0, 990.0, 999.0))
        self.assertEqual((result.max_us, result.cpu_us), (1000.0, 0.04))

    def test_a_percentile_is_a_value_that_occurred(self) -> None:
        self.assertEqual([percentile([7], share) for share in (50, 99.9)], [7, 7])
        self.assertEqual([percentile([1, 2], share) for share in (50, 51)], [1, 2])

    def test_none_at_all(self) -> None:
        result = Result.of(self.window())
        self.assertEqual((result.calls, result.rate, result.p99_us), (0, 0.0, 0.0))

    def told(self, result: Result, rate: float = 0.0) -> tuple[int, dict[str, float], str]:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            status = result.tell("program", rate)
        return status, json.loads(out.getvalue()), err.getvalue()

    def test_the_line_has_the_keys_that_the_lab_reads(self) -> None:
        status, line, stderr = self.told(Result.of(self.window(1000, 2000)))
        keys = "calls errors seconds rate mean_us p50_us p90_us p95_us p99_us p999_us max_us cpu_us "
        keys += "answered_p50_us answered_p99_us"
        self.assertEqual((status, list(line), stderr), (0, keys.split(), ""))

    def test_failures_and_falling_behind_are_told(self) -> None:
        window = self.window(1000, 2000)
        window.failures = [ValueError("a\nb")]
        status, line, stderr = self.told(Result.of(window), rate=2.0)
        self.assertEqual((status, line["errors"]), (0, 1))
        self.assertEqual(
            stderr, "program: fell behind: 1/s of 2/s\nprogram: 1 of 2 calls failed, the first with: ValueError: a b\n"
        )
        window.failures *= 2
        self.assertEqual(self.told(Result.of(window))[0], 1)


class Loops(unittest.TestCase):
    """Both kinds of callers, with calls that end at once."""

    def both(self, config: load.Config, fail_at: int = 0) -> list[tuple[Result, int]]:
        results = []
        for run in (self.asynchronous, self.threaded):
            made: list[int] = []

            def call(made: list[int] = made) -> None:
                made.append(1)
                if len(made) == fail_at:
                    raise ValueError("that one")

            results.append((run(config, call), len(made)))
        return results

    def asynchronous(self, config: load.Config, call: load.BlockingCall) -> Result:
        async def one() -> None:
            await asyncio.sleep(0)
            call()

        async def main() -> Result:
            return await load.run_async(config, [one] * config.callers)

        return asyncio.run(main())

    def threaded(self, config: load.Config, call: load.BlockingCall) -> Result:
        return load.run_threads(config, [call] * config.callers)

    def test_as_many_calls_as_were_asked_for(self) -> None:
        for result, made in self.both(load.Config(callers=3, calls=100)):
            self.assertEqual((result.calls, made, result.errors), (100, 100, 0))

    def test_the_warmup_is_not_counted(self) -> None:
        for result, made in self.both(load.Config(callers=3, calls=10, warmup=60, warmup_calls=7)):
            self.assertEqual((result.calls, made), (10, 17))

    def test_a_failure_is_counted_and_does_not_end_the_run(self) -> None:
        for result, _ in self.both(load.Config(callers=2, calls=10), fail_at=3):
            self.assertEqual((result.calls, result.errors, str(result.first_error)), (10, 1, "that one"))

    def test_what_failed_calls_held_is_let_go(self) -> None:
        for run in (self.asynchronous, self.threaded):
            held: list[weakref.ref[Window]] = []

            def call(held: list[weakref.ref[Window]] = held) -> None:
                message = Window(0, 0)  # whatever has no room a thousand times
                held.append(weakref.ref(message))
                raise ValueError("that one")

            result = run(load.Config(callers=1, calls=5), call)
            self.assertEqual((result.calls, result.errors), (5, 5))
            gc.collect()
            self.assertTrue(held[0]())  # it is told
            self.assertEqual([one() for one in held[1:]], [None] * 4)

    def test_a_failure_in_the_warmup_ends_it(self) -> None:
        for run in (self.asynchronous, self.threaded):

            def call() -> None:
                raise ValueError("not today")

            with self.assertRaisesRegex(load.Failed, "in the warm-up: ValueError: not today"):
                run(load.Config(callers=2, calls=10, warmup=60, warmup_calls=2), call)

    def test_a_duration_ends_the_run(self) -> None:
        for result, made in self.both(load.Config(callers=2, duration=0.02)):
            self.assertEqual(result.calls, made)
            self.assertGreaterEqual(result.seconds, 0.02)

    def test_a_fixed_rate_makes_the_calls_that_are_due_and_no_earlier(self) -> None:
        for result, made in self.both(load.Config(callers=4, duration=0.05, rate=2000)):
            self.assertEqual((result.calls, made), (100, 100))
            self.assertGreaterEqual(result.seconds, 99 / 2000)

    def test_a_late_call_is_timed_from_when_it_was_due(self) -> None:
        # One caller that gets through only when the second call has been due for long.
        config = load.Config(callers=1, calls=2, rate=1000)
        late = threading.Event()
        result = load.run_threads(config, [lambda: None if late.wait(0.05) else late.set()])
        self.assertGreaterEqual(result.max_us, 50_000)
        self.assertGreaterEqual(result.mean_us, 49_000)


if __name__ == "__main__":
    unittest.main()
