"""A language is one file: with another one in the folder it is in every list. What needs the environment of the tests
is in conformance/test_new_language.py."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from harness.languages import ROOT, languages
from harness.tests import fake_language


class NewLanguage(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.ada = Path(folder.name) / "ada"
        cls.variables = fake_language.add(Path(folder.name))

    def told(self, *words: str, status: int = 0, **variables: str) -> list[str]:
        """The lines that a command prints."""
        done = subprocess.run(
            words,
            cwd=ROOT,
            env={**self.variables, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout.splitlines()

    def module(self, *words: str, **more: object) -> list[str]:
        return self.told(sys.executable, "-m", *words, **more)  # type: ignore[arg-type]

    def test_its_suites_are_listed_and_run(self) -> None:
        listed = self.module("scripts.test", "--list")
        names = {"check ada style", "ada tests", "ada examples spec", f"ada examples {self.ada}"}
        self.assertEqual({name for name in listed if "ada" in name}, names)
        self.assertIn("fuzz FuzzAddition", self.module("scripts.test", "--list", "--fuzz", "1s"))

    def test_make_does_everything_for_it(self) -> None:
        self.told("make", "build-ada", "fmt-ada", "generate-ada", "api-ada", "reference-ada", "vectors-ada")
        for name in ("environment", "peer-ada", "formatted", "generated", "api", "reference", "vectors"):
            self.assertTrue((self.ada / name).exists(), name)
        out = "\n".join(self.told("make", "--no-print-directory", "test-ada"))
        self.assertIn("check ada style", out)
        self.assertIn("7 passed, 0 failed", out)  # the check, and two tests in each of three folders
        folders = (self.ada / "folders").read_text(encoding="utf-8").split()
        self.assertEqual(sorted(folders), sorted([str(ROOT), str(ROOT / "spec"), str(self.ada)]))
        for step in ("build", "format", "lint", "generate", "api", "reference", "vectors", "clean"):
            plan = "\n".join(self.module("scripts.language", "--plan", step))
            self.assertIn(str(self.ada), plan, step)

    def test_with_the_least_that_a_file_has_make_does_what_there_is(self) -> None:
        text = (ROOT / "languages/README.md").read_text(encoding="utf-8")
        (example,) = re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        kept = re.sub(r"^(prerequisites|tests) = .*\n|^\[\[build\]\]\n(.+\n)+", "", example, flags=re.MULTILINE)
        with tempfile.TemporaryDirectory() as folder:
            variables = fake_language.add(Path(folder))
            (Path(variables["TRUNKCALL_LANGUAGES"]) / "java.toml").write_text(kept, encoding="utf-8")
            least = {"TRUNKCALL_LANGUAGES": variables["TRUNKCALL_LANGUAGES"]}
            self.told("make", "build-java", "fmt-java", "vectors-java", "environment-java", **least)
            self.assertEqual(self.told("make", "lint-java", **least), ["Java has no such suite"])
            self.assertIn("Java has no such suite", self.told("make", "test-java", status=2, **least))

    def test_what_it_costs_is_told(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            figures = str(Path(folder) / "figures.json")
            self.module("scripts.test", "--only", "check ada ,ada ", "--figures", figures)
            costs = self.module("scripts.costs", "--figures", figures)
        self.assertTrue(any(line.startswith("| Ada | ") for line in costs), costs)

    def test_the_lab_builds_it(self) -> None:
        plan = self.module("scripts.language", "--plan", "build", "peer", "peers")
        self.assertTrue(any("peer-ada" in line for line in plan) and any("/peers" in line for line in plan), plan)

    def test_what_it_needs_is_asked_for(self) -> None:
        self.told("sh", "scripts/prerequisites.sh")
        out = self.told("sh", "scripts/prerequisites.sh", status=1, GNAT="no-gnat")
        self.assertIn("  GNAT 12 or later: the command no-gnat is not there", out)

    def test_one_that_is_optional_is_left_out_by_name_where_its_tools_are_not(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            variables = fake_language.add(Path(folder))
            path = Path(variables["TRUNKCALL_LANGUAGES"]) / "ada.toml"
            path.write_text("optional = true\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
            here = {"TRUNKCALL_LANGUAGES": str(path.parent), "GNAT": "no-gnat"}
            self.told("sh", "scripts/prerequisites.sh", **here)
            self.assertIn("ada left out", self.module("scripts.test", "--list", **here))
            out = "\n".join(self.module("scripts.test", "--only", "ada", **here))
            self.assertIn("Ada is left out, for this machine has not GNAT 12", out)
            shown = self.module("scripts.run", "--plan", **here)
            self.assertFalse([line for line in shown if "ada" in line.casefold()])
            plan = self.module("scripts.language", "--plan", "build", **here)
            self.assertTrue(any(line.startswith("Ada is left out") for line in plan), plan)

    def test_make_run_shows_it(self) -> None:
        plan = self.module("scripts.run", "--plan")
        wanted = ["serve Ada", f"show {self.ada}/shown", "call Go Ada", "call Ada Go", "load Go Ada", "load Ada Go"]
        wanted += [f"load {self.ada}/echo"]
        self.assertEqual([line for line in wanted if line not in plan], [])

    def test_documents_have_to_name_it(self) -> None:
        out = "\n".join(self.told(sys.executable, "scripts/docs.py", status=1))
        self.assertIn("languages/README.md has another table", out)
        every = list(languages().values())
        names = ", ".join(["Ada", *(one.name for one in every)])
        self.assertIn(f"README.md: the row 'languages' has to begin with {names!r}", out)
        table = "\n".join(self.module("scripts.language_tables", status=1))
        names = ", ".join(one.name for one in every if "grpc" in one.peer.protocols)
        self.assertIn(f"'clients of gRPC as they are' has to begin with 'yes ({names})'", table)


if __name__ == "__main__":
    unittest.main()
