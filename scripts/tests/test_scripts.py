"""What the scripts must not let pass."""

import contextlib
import dataclasses
import io
import os
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from harness import durations, processes
from harness.languages import ROOT, languages, named
from scripts import docs, layers, run, suites, test

MODULE = layers.MODULE


class Fuzzing(unittest.TestCase):
    """What Go's file says of fuzz targets."""

    def finished(self, said: str) -> bool:
        fuzz = named("go").fuzz
        assert fuzz
        return bool(re.search(fuzz.finished, said, re.MULTILINE))

    def test_the_end_of_the_time_is_no_failure(self):
        self.assertTrue(self.finished("fuzz: x\n--- FAIL: FuzzA (5.08s)\n    context deadline exceeded\nFAIL\nexit status 1\n"))

    def test_a_failing_input_is(self):
        found = "--- FAIL: FuzzA (1.00s)\n    --- FAIL: FuzzA (0.00s)\n        a_test.go:1: context deadline exceeded\n"
        self.assertFalse(self.finished(found + "    Failing input written to testdata/fuzz/FuzzA/1\nFAIL\n"))
        self.assertFalse(self.finished("--- FAIL: FuzzA (9.0s)\n    fuzzing process hung or terminated unexpectedly\nFAIL\n"))


class Times(unittest.TestCase):
    good = ("3s", "250ms", "1.5s", "1m30s", ".5s", "10us", "0h1m")
    bad = ("", "abc", "3", "-1s", "0s", "0.0s", "3s ", "s", "3sx", "1d")

    def told(self, main, *words: str) -> tuple[int, str]:
        with mock.patch("sys.argv", ["script", *words]), contextlib.redirect_stderr(io.StringIO()) as stderr:
            return main(), stderr.getvalue()

    def test_a_time_has_numbers_and_units(self):
        self.assertEqual([durations.seconds(text) for text in self.good], [3, 0.25, 1.5, 90, 0.5, 10 * 1e-6, 60])
        for text in self.good:
            self.assertTrue(test.fuzztime(text), text)
        for text in self.bad:
            self.assertFalse(test.fuzztime(text), text)
            with self.assertRaises(ValueError, msg=text):
                durations.seconds(text)
        self.assertEqual([test.fuzztime(text) for text in ("1000x", "0x")], [True, False])

    def test_a_bad_time_is_named_before_anything_runs(self):
        with mock.patch.object(run, "show_all") as show_all, mock.patch.object(test, "run") as run_all:
            status, stderr = self.told(run.main, "--load=-1s")
            self.assertEqual((status, stderr), (2, "LOAD=-1s: want a time such as 3s or 250ms\n"))
            status, stderr = self.told(test.main, "--fuzz=abc")
            self.assertEqual((status, stderr.count("\n")), (2, 1))
            self.assertIn("FUZZTIME=abc: want a time", stderr)
            show_all.assert_not_called()
            run_all.assert_not_called()


class Demonstration(unittest.TestCase):
    """What `make run` does."""

    def test_make_builds_what_it_shows(self):
        planned = processes.run(["make", "--dry-run", "run", "LOAD=1s"], cwd=ROOT).stdout
        (built,) = re.findall(r"-m scripts.language build ([a-z ]+) &&", planned)
        self.assertEqual(set(built.split()), {part for _, part in suites.demonstration().builds})
        self.assertIn("-m scripts.run --load='1s'", planned)

    def test_load_has_the_time_that_it_was_asked_for(self):
        with mock.patch.object(processes, "run", return_value=processes.Outcome('{"errors": 0}')) as started:
            run.load(("program",), "address", "5m")
        self.assertGreater(started.call_args.kwargs["patience"], 300)

    def test_programs_are_started_as_all_other_tests_start_them(self):
        """A first word without a slash is a command of the machine, which a variable may name."""
        there = run.here()
        go = dataclasses.replace(there["go"], peer=dataclasses.replace(there["go"].peer, program=("go", "run", "{root}/x")))
        with mock.patch.dict(os.environ, GO="other-go"):
            self.assertEqual(run.program(go), ("other-go", "run", f"{ROOT}/x"))


class Choice(unittest.TestCase):
    def told(self, only: str, *more: str) -> tuple[int, str, str]:
        words = ["script", "--list", *(["--only", only] if only else []), *more]
        with mock.patch("sys.argv", words), contextlib.redirect_stderr(io.StringIO()) as stderr, contextlib.redirect_stdout(io.StringIO()) as stdout:
            return test.main(), stdout.getvalue(), stderr.getvalue()

    def test_beginnings_of_names_choose(self):
        self.assertEqual(self.told("matrix,run"), (0, "matrix\nrun\n", ""))

    def test_each_has_to_choose_something(self):
        self.assertEqual(self.told("matrix,typo"), (2, "", "nothing begins with 'typo'; see --list\n"))
        self.assertEqual(self.told("matrix,"), (2, "", "nothing begins with ''; see --list\n"))
        self.assertEqual(self.told("no,nay"), (2, "", "nothing begins with 'no' or 'nay'; see --list\n"))


    def test_those_of_a_language_perhaps_none(self):
        status, listed, _ = self.told("", "--language", "python")
        self.assertEqual((status, {name.split()[0] for name in listed.splitlines()}), (0, {"check", "python"}))
        self.assertIn("check python types\n", listed)
        self.assertNotIn(" go ", listed)
        self.assertEqual(self.told("matrix", "--language", "go"), (0, "", "Go has no such suite\n"))
        self.assertEqual(self.told("typo", "--language", "go")[0], 2)
        self.assertEqual(self.told("", "--language", "cobol"), (2, "", f"there is no language cobol; there are {', '.join(languages())}\n"))


class ChecksOfEveryChange(unittest.TestCase):
    """.ci/run, with a make that does nothing but print."""

    def told(self, printed: str, status: int) -> tuple[int, str]:
        with tempfile.TemporaryDirectory() as folder:
            make = Path(folder) / "make"
            make.write_text(f"#!/bin/sh\nprintf %b '{printed}'\nexit {status}\n", encoding="ascii")
            make.chmod(0o755)
            path = f"{folder}:{os.environ['PATH']}"
            done = processes.run(["bash", ROOT / ".ci" / "run"], env={**os.environ, "PATH": path})
        return done.status, done.stdout.splitlines()[-1]

    def test_the_last_line_is_the_total(self):
        self.assertEqual(self.told("3 passed, 0 failed\\n", 0), (0, "3 passed, 0 failed"))
        self.assertEqual(self.told("3 passed, 2 failed\\nmake: *** [test] Error 1\\n", 2), (2, "3 passed, 2 failed"))

    def test_a_total_without_failures_is_not_that_of_a_run_that_failed(self):
        self.assertEqual(self.told("--- scripts\\n14 passed, 0 failed\\n---\\n", 2), (2, "0 passed, 1 failed"))


class Layers(unittest.TestCase):
    def faults(self, path: str, *imports: str, of_tests: tuple[str, ...] = ()) -> int:
        package = {"ImportPath": MODULE + path, "Imports": list(imports), "XTestImports": list(of_tests)}
        return len(layers.faults(package))

    def test_downward_and_standard_imports_pass(self):
        self.assertEqual(self.faults("/internal/wire", "fmt", "encoding/binary"), 0)
        self.assertEqual(self.faults("", MODULE + "/internal/transport", "google.golang.org/protobuf/proto"), 0)
        self.assertEqual(self.faults("/peer/load", MODULE, "golang.org/x/sys/unix"), 0)

    def test_upward_and_foreign_imports_fail(self):
        self.assertEqual(self.faults("/internal/wire", MODULE + "/internal/transport"), 1)
        self.assertEqual(self.faults("/internal/transport", MODULE), 1)
        self.assertEqual(self.faults("", "google.golang.org/grpc"), 1)
        self.assertEqual(self.faults("/peer", MODULE + "/internal/wire", MODULE + "/internal/x"), 2)

    def test_tests_of_the_lower_layers_stay_there_too(self):
        self.assertEqual(self.faults("/internal/transport", of_tests=(MODULE + "/internal/wire", MODULE + "/internal/x", "example.com/y")), 0)
        self.assertEqual(self.faults("/internal/wire", of_tests=(MODULE + "/internal/transport",)), 1)

    def test_a_package_without_a_place_fails(self):
        self.assertEqual(self.faults("/attic"), 1)


class Documents(unittest.TestCase):
    here = Path(__file__)

    def test_links(self):
        good = "[a](test_scripts.py) [b](https://example.org/x) [c](#this-one) `[d](nowhere)`\n```\n[e](nowhere)\n```\n"
        self.assertEqual(docs.bad_links(self.here, good.replace("[c](#this-one) ", "")), [])
        self.assertEqual(len(docs.bad_links(self.here, "[a](nowhere.md)")), 1)
        self.assertEqual(docs.anchors("# This one\n## `x` and (y)\n"), {"this-one", "x-and-y"})

    def test_quotes(self):
        def quote(code: str) -> list[str]:
            return docs.bad_quotes(self.here, f"<!-- from test_scripts.py -->\n```python\n{code}\n```\n")

        self.assertEqual(quote("here = Path(__file__)\n\ndef test_links(self):"), [])
        self.assertEqual(len(quote("here = Path(__file__)\ndef test_links(self):")), 1)
        self.assertEqual(len(docs.bad_quotes(self.here, "<!-- from nowhere.py -->\n```\nx\n```\n")), 1)


if __name__ == "__main__":
    unittest.main()
