"""Suites beside each other, ended when they hang or when somebody interrupts, and what is printed of them."""

import collections
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import unittest.mock
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from harness import languages
from scripts import commands, reporting, scheduler, suites
from scripts.counting import Outcome
from scripts.scheduler import Suite

PATIENCE = 60.0


def ok() -> Outcome:
    return Outcome(1, 0, behaviours=frozenset(["x"]))


def is_there(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int) -> bool:
    deadline = time.monotonic() + PATIENCE
    while is_there(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_there(pid)


class Order(unittest.TestCase):
    def test_two_run_beside_each_other_and_those_alone_after_all(self):
        both = threading.Barrier(2, timeout=PATIENCE)
        running: list[str] = []
        seen: list[list[str]] = []

        def meets() -> Outcome:
            both.wait()
            return ok()

        def alone(name: str) -> Suite:
            def run() -> Outcome:
                running.append(name)
                seen.append(list(running))
                running.remove(name)
                return ok()

            return Suite(name, run, alone=True)

        chosen = [alone("quiet"), Suite("first", meets), Suite("second", meets), alone("quiet too")]
        ran = [ran.suite.name for ran in scheduler.outcomes(chosen)]
        self.assertEqual((set(ran[:2]), ran[2:]), ({"first", "second"}, ["quiet", "quiet too"]))
        self.assertEqual(seen, [["quiet"], ["quiet too"]])

    def test_one_that_waits_runs_beside_two_others_and_at_last_in_any_lane(self):
        meeting = threading.Barrier(3)

        def meets() -> Outcome:
            meeting.wait(PATIENCE)
            return ok()

        waiting = [Suite(name, meets, waits=True) for name in ("first", "third", "fourth")]
        chosen = [waiting[0], Suite("a", meets), Suite("b", meets), *waiting[1:], Suite("c", meets)]
        self.assertEqual({ran.outcome.failed for ran in scheduler.outcomes(chosen)}, {0})

    def test_the_longest_begins_first_and_short_ones_beside_it(self):
        begun: list[str] = []
        long_began, short_ones_ran = threading.Event(), threading.Event()

        def note(name: str) -> Outcome:
            begun.append(name)
            if name == "a":
                long_began.wait(PATIENCE)
            if name == "long":
                long_began.set()
                short_ones_ran.wait(PATIENCE)
            if name == "b":
                short_ones_ran.set()
            return ok()

        chosen = [Suite(name, lambda name=name: note(name), seconds=seconds) for name, seconds in (("a", 0), ("b", 1), ("long", 9))]
        ended = [ran.suite.name for ran in scheduler.outcomes(chosen)]
        self.assertEqual(ended[0], "a")
        self.assertEqual(set(begun[:2]), {"long", "a"})

    def test_a_suite_that_raises_fails_and_the_others_run(self):
        def raises() -> Outcome:
            raise OSError("no such tool")

        def prints_first() -> Outcome:
            commands.command(["echo", "half done"])
            return raises()

        suites = [Suite("a", raises), Suite("b", ok), Suite("c", prints_first), Suite("d", lambda: sys.exit("it gave up"))]
        ran = {ran.suite.name: ran.outcome for ran in scheduler.outcomes(suites)}
        self.assertEqual((ran["a"].failed, ran["a"].output), (1, "OSError: no such tool\n"))
        self.assertEqual((ran["c"].failed, ran["c"].output), (1, "half done\nOSError: no such tool\n"))
        self.assertEqual((ran["d"].failed, ran["d"].output), (1, "SystemExit: it gave up\n"))
        self.assertEqual(ran["b"].passed, 1)


class Ends(unittest.TestCase):
    def test_a_suite_that_hangs_is_ended_with_all_it_started_and_its_output_shown(self):
        # The shell's child outlives the shell's own end, and ignores the first signal.
        script = "trap '' QUIT INT TERM; sleep 1000 & echo child $! >$0; cat $0; wait; wait; wait"
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(commands, "PATIENCE", 0.2):
            said = Path(folder) / "said"

            def hang() -> Outcome:
                self.past(commands.current(), said)
                return Outcome(1, 0, output=commands.command(["sh", "-c", script, str(said)]).stdout)

            (ran,) = scheduler.outcomes([Suite("hangs", hang)])
        self.assertEqual(ran.outcome.failed, 1)
        self.assertRegex(ran.outcome.output, r"hangs was ended after \d+ s")
        self.assertTrue(gone(int(ran.outcome.output.split()[1])))

    def past(self, span: commands.Span, said: Path) -> None:
        """Has a suite's time be over once its command has written a file."""

        def end() -> None:
            self.wait_for(said)
            span.deadline = time.monotonic()

        thread = threading.Thread(target=end)
        thread.start()
        self.addCleanup(thread.join)

    def test_time_in_which_a_suite_waits_for_what_another_makes_is_not_its_own(self):
        making, waiting = threading.Event(), threading.Event()
        spans: dict[str, commands.Span] = {}

        def make(*_: object) -> "subprocess.CompletedProcess[str]":
            making.set()
            waiting.wait(PATIENCE)
            while time.monotonic() < spans["waits"].deadline:  # until it would have been over
                time.sleep(0.01)
            return subprocess.CompletedProcess([], 0, stdout="")

        def makes() -> Outcome:
            commands.once("kind", ["one"])
            return ok()

        def waits() -> Outcome:
            making.wait(PATIENCE)
            spans["waits"] = commands.current()
            waiting.set()
            return makes()

        with unittest.mock.patch.object(commands, "command", make), unittest.mock.patch.object(commands, "_made", {}):
            ran = {ran.suite.name: ran for ran in scheduler.outcomes([Suite("makes", makes), Suite("waits", waits, bound=1.0)])}
        self.assertEqual((ran["waits"].outcome.failed, ran["waits"].outcome.output), (0, ""))
        self.assertLess(ran["waits"].seconds, ran["makes"].seconds)

    def test_suites_of_a_language_with_reports_are_not_beside_each_other(self):
        begun = collections.Counter[str]()
        beside: list[str] = []

        def run(words: list[str], *_: object) -> "subprocess.CompletedProcess[str]":
            begun[words[0]] += 1
            deadline = time.monotonic() + 1
            while len(begun) == 1 and time.monotonic() < deadline:  # the other one could begin
                time.sleep(0.01)
            if len(begun) > 1:
                beside.extend(begun)
            del begun[words[0]]
            return subprocess.CompletedProcess(words, 0, stdout="ran\n")

        rows = [languages.Tests(command=(name,), name=name, result="junit", reports=("nowhere/*.xml",)) for name in ("unit", "whole")]
        chosen = [suite for row in rows for suite in suites.tests(languages.hub(), row)]
        prepared = subprocess.CompletedProcess([], 0, stdout="")
        with (
            unittest.mock.patch.object(suites, "command", run),
            unittest.mock.patch.object(suites, "prepared", lambda *_, **__: prepared),
        ):
            outcomes = [ran.outcome for ran in scheduler.outcomes(chosen)]
        self.assertEqual(beside, [])
        for outcome in outcomes:
            self.assertEqual(outcome.failed, 1)
            self.assertEqual(outcome.output, "ran\nno results in JUnit's format: there is no file nowhere/*.xml\n")

    def test_a_suite_leaves_nothing_running(self):
        done = commands.command(["sh", "-c", "sleep 1000 & echo $!"])
        self.assertTrue(gone(int(done.stdout)))

    def test_nor_in_another_session(self):
        script = "setsid sh -c 'echo $$ >$0; exec sleep 1000' $0 & until [ -s $0 ]; do :; done; cat $0"
        with tempfile.TemporaryDirectory() as folder:
            done = commands.command(["sh", "-c", script, f"{folder}/said"])
        self.assertTrue(gone(int(done.stdout)))

    def test_what_cannot_be_waited_for_is_not_waited_for(self):
        with unittest.mock.patch.object(commands, "_ends", side_effect=OSError("broken")), self.assertRaises(OSError):
            commands.command(["sleep", "1000"])
        self.assertEqual(commands._running, set())

    def test_processor_time_is_told(self):
        script = "import time\nwhile time.process_time() < 0.6: pass"
        computes = Suite("computes", lambda: Outcome(int(commands.command(["sh", "-c", f"{sys.executable} -c '{script}'; true"]).returncode == 0), 0))
        (ran,) = scheduler.outcomes([computes])
        self.assertGreaterEqual(ran.cpu, 0.5)

    def test_a_command_that_is_not_there_is_named(self):
        done = commands.command(["no-such-command"])
        self.assertEqual((done.returncode, done.stdout), (127, "no-such-command: cannot be started: No such file or directory\n"))

    def test_a_command_is_run_once(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(commands, "_made", {}):
            script = 'echo $1 >>$0; cat $0; [ $1 != two ]'
            one, two = (["sh", "-c", script, f"{folder}/said", number] for number in ("one", "two"))
            self.assertEqual(commands.once("kind", one).stdout, "one\n")
            done = commands.once("kind", one, two)
            again = commands.once("another", one, two)
        self.assertEqual((done.stdout, done.returncode), ("one\none\ntwo\n", 1))
        self.assertEqual((again.stdout, again.returncode), (done.stdout, 1))

    def test_nothing_of_a_language_is_built_once_a_suite_of_it_runs(self):
        runs: list[str] = []

        def build(words: list[str], *_: object) -> "subprocess.CompletedProcess[str]":
            runs.append(" ".join(words[words.index("--only") + 1 :]))
            return subprocess.CompletedProcess([], int(words[-1] == "broken"), stdout=f"{words[-1]}\n")

        def suite(name: str, *parts: str) -> Suite:
            builds = tuple(("ada", part) for part in parts)

            def run() -> Outcome:
                prepared = suites.prepared(*builds, of=["ada"])
                runs.append(name)
                return Outcome(int(prepared.returncode == 0), int(prepared.returncode != 0), output=prepared.stdout)

            return Suite(name, run, builds=builds)

        chosen = [suite("tests"), suite("matrix", "peer"), suite("others", "broken")]
        with (
            unittest.mock.patch.object(commands, "command", build),
            unittest.mock.patch.object(commands, "_made", {}),
            unittest.mock.patch.object(suites, "_needed", collections.defaultdict(set)),
        ):
            suites.expect(chosen)
            ran = {ran.suite.name: ran.outcome for ran in scheduler.outcomes(chosen)}
        self.assertEqual(runs[:3], ["ada environment", "ada build broken", "ada build peer"])
        self.assertEqual(sorted(runs[3:]), ["matrix", "others", "tests"])
        # One that cannot be built concerns only those that need it.
        self.assertEqual({name: outcome.failed for name, outcome in ran.items()}, {"tests": 0, "matrix": 0, "others": 1})
        self.assertEqual(ran["others"].output, "environment\nbroken\n")

    def test_an_interrupt_ends_every_child(self):
        script = """
            import sys
            from scripts import commands, suites, test
            from scripts.counting import Outcome
            from scripts.scheduler import Suite

            folder = sys.argv[1]

            def run(name):
                at = f"{folder}/{name}"
                commands.command(["sh", "-c", f"trap '' INT; sleep 1000 & echo $! >{at}.new; mv {at}.new {at}; wait; wait"])
                return Outcome(1, 0)

            commands.PATIENCE = 0.2  # they do not mind the signal, and are killed
            suites.suites = lambda: [Suite(name, lambda name=name: run(name)) for name in "ab"]
            sys.argv[1:] = ["--starve", "1"]
            sys.exit(test.main())
        """
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signum), tempfile.TemporaryDirectory() as folder:
                words = [sys.executable, "-c", textwrap.dedent(script), folder]
                runner = subprocess.Popen(words, cwd=commands.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.addCleanup(self.end, runner)
                pids = [int(self.wait_for(Path(folder) / name)) for name in "ab"]
                loops = self.children(runner.pid)
                self.assertEqual(len(loops), 4)  # a command for each suite, the loop, and the guard
                runner.send_signal(signum)
                stdout, stderr = runner.communicate(timeout=PATIENCE)
                self.assertEqual((runner.returncode, stdout, stderr), (128 + signum, "0 passed, 1 failed\n", ""))
                for pid in [*pids, *loops]:
                    self.assertTrue(gone(pid))

    def test_a_signal_that_another_thread_is_given_ends_the_run_too(self):
        script = """
            import signal, sys, threading
            from scripts import commands, suites, test
            from scripts.scheduler import Suite

            def run():
                commands.command(["true"])  # by then the main thread waits
                signal.pthread_kill(threading.get_ident(), signal.SIGINT)
                commands.command(["sleep", "1000"])

            suites.suites = lambda: [Suite("a", run)]
            sys.argv[1:] = []
            sys.exit(test.main())
        """
        words = [sys.executable, "-c", textwrap.dedent(script)]
        done = subprocess.run(words, cwd=commands.ROOT, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout), (128 + signal.SIGINT, "0 passed, 1 failed\n"), done.stderr)

    def crashed(self, script: str, folder: str, **streams: object) -> "subprocess.CompletedProcess[str]":
        """Of a run of two suites: `fails` ends once `hangs` has begun, and prints a character that is not in ASCII."""
        before = """
            import os, sys, time
            from scripts import commands, reporting, scheduler, suites, test
            from scripts.counting import Outcome
            from scripts.scheduler import Suite

            at = f"{sys.argv[1]}/hangs"

            def hangs():
                commands.command(["sh", "-c", f"sleep 1000 & echo $! >{at}.new; mv {at}.new {at}; wait"])
                return Outcome(1, 0)

            def fails():
                while not os.path.exists(at):
                    time.sleep(0.01)
                return Outcome(0, 1, output="\ufffd")
        """
        after = """
            suites.suites = lambda: [Suite("hangs", hangs), Suite("fails", fails)]
            sys.argv[1:] = []
            sys.exit(test.main())
        """
        words = [sys.executable, "-c", "".join(map(textwrap.dedent, (before, script, after))), folder]
        env = {**os.environ, "PYTHONIOENCODING": "ascii"}
        return subprocess.run(words, cwd=commands.ROOT, env=env, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, **streams)  # type: ignore[call-overload]

    def test_a_crash_ends_every_command_and_tells_a_total(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.crashed("def text(ran): raise ValueError('of the test')\nreporting.text = text\n", folder, stdout=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stdout), (1, "0 passed, 1 failed\n"))
            self.assertIn("ValueError: of the test", done.stderr)
            self.assertTrue(gone(int((Path(folder) / "hangs").read_text(encoding="utf-8"))))

    def test_where_nobody_reads_every_command_is_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            read, write = os.pipe()
            os.close(read)
            try:
                done = self.crashed("", folder, stdout=write)
            finally:
                os.close(write)
            self.assertEqual(done.returncode, 1)
            self.assertIn("BrokenPipeError", done.stderr)
            self.assertTrue(gone(int((Path(folder) / "hangs").read_text(encoding="utf-8"))))

    def test_characters_that_cannot_be_printed_are_described(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.crashed("hangs = lambda: open(at, 'w') and Outcome(1, 0)", folder, stdout=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (1, "1 passed, 1 failed"), done.stderr)
        self.assertIn("\\ufffd\n", done.stdout)

    def end(self, runner: "subprocess.Popen[str]") -> None:
        if runner.poll() is None:
            runner.terminate()
            runner.communicate()

    def wait_for(self, path: Path) -> str:
        deadline = time.monotonic() + PATIENCE
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        return path.read_text(encoding="utf-8")

    def children(self, pid: int) -> list[int]:
        found = [path.read_text(encoding="utf-8").split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
        return [int(child) for children in found for child in children]


class Report(unittest.TestCase):
    def shown(self, *runs: tuple[Suite, Outcome], again: Callable[[scheduler.Ran], scheduler.Ran] | None = None) -> tuple[int, list[str]]:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as stdout:
            figures = Path(folder) / "build" / "test.json"
            failed = reporting.show([scheduler.Ran(suite, outcome, 1.25, 0.0, 2.5) for suite, outcome in runs], figures, again)
            self.figures = json.loads(figures.read_text(encoding="utf-8"))
        return failed, stdout.getvalue().splitlines()

    def test_behaviours_are_counted_once_and_executions_each_time(self):
        raced = Outcome(3, 0, Counter({"no JDK": 2}), behaviours=frozenset("abc"))
        built = Outcome(2, 0, behaviours=frozenset("bc"), retries=["b: too late"])
        shared = Outcome(9, 0, behaviours=frozenset("a"))
        failed, lines = self.shown(
            (Suite("raced", ok, language="Go"), raced), (Suite("built", ok, language="Go"), built), (Suite("matrix", ok), shared)
        )
        self.assertEqual((failed, lines[-1]), (0, "14 passed, 0 failed"))
        self.assertIn("      retried: b: too late", lines)
        rows = {words[0]: words[1:] for words in map(str.split, lines) if words}
        self.assertEqual(rows["behaviours"], ["executions", "skipped", "retries"])
        self.assertEqual((rows["Go"], rows["shared"]), (["3", "5", "2", "1"], ["1", "9", "0", "0"]))
        self.assertIn("skipped, Go: 2 times, no JDK", lines)
        self.assertEqual(
            self.figures[0],
            {"name": "raced", "language": "Go", "meets": False, "began": 0.0, "seconds": 1.2, "cpu": 2.5, "behaviours": 3, "executions": 3}
        )

    def test_what_failed_by_chance_is_carried_out_again_and_shown(self):
        wrong = Outcome(2, 1, output="it broke", behaviours=frozenset("ab"), failures=["b"])
        right = Suite("chance", lambda: Outcome(3, 0, behaviours=frozenset("abc")), language="Go")
        failed, lines = self.shown((right, wrong), again=lambda ran: scheduler.again(ran, 1.0))
        self.assertEqual((failed, lines[-1]), (0, "3 passed, 0 failed"))
        self.assertIn("it broke", lines)
        self.assertIn("      retried: b: it had failed", lines)
        rows = {words[0]: words[1:] for words in map(str.split, lines) if words}
        self.assertEqual(rows["Go"], ["3", "3", "0", "1"])

    def test_what_fails_again_has_failed(self):
        wrong = Suite("wrong", lambda: Outcome(0, 1))
        failed, lines = self.shown((wrong, Outcome(4, 1)), (Suite("right", ok), ok()), again=lambda ran: scheduler.again(ran, 1.0))
        self.assertEqual((failed, lines[-1]), (1, "1 passed, 1 failed"))

    def test_where_much_fails_nothing_is_carried_out_again(self):
        wrong = [(Suite(f"wrong {n}", self.fail), Outcome(0, 1)) for n in range(reporting.FEW + 1)]
        self.assertEqual(self.shown(*wrong, again=lambda ran: scheduler.again(ran, 1.0))[0], len(wrong))

    def test_a_failure_is_shown_in_full_before_its_line(self):
        failed, lines = self.shown((Suite("a", ok), Outcome(1, 2, output="why\nand where\n")))
        self.assertEqual((failed, lines[:4], lines[-1]), (2, ["--- a", "why", "and where", "---"], "1 passed, 2 failed"))
        self.assertEqual(lines[4].split(), ["FAIL", "a", "1", "passed,", "2", "failed", "1.2", "s"])


if __name__ == "__main__":
    unittest.main()
