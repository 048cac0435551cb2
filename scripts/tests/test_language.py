"""What is made for a language: once of the same inputs, by one process at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from harness.languages import ROOT
from harness.processes import Process
from harness.tests import fake_language

LANGUAGE = [sys.executable, "-m", "scripts.language", "--only", "ada"]
# Appends to what was made, once it may.
MAKER = """#!/bin/sh
made=$1; shift
if [ -p "${0%/*}/may" ]; then read may <"${0%/*}/may"; fi
[ "$(cat "${0%/*}/broken" 2>/dev/null)" != "$made" ] || exit 1
echo made >>"${0%/*}/$made"
"""
ROWS = """
[[environment]]
command = ["{ada}/maker", "packages"]
inputs = ["{glob}/lock"]
outputs = ["{ada}/packages"]

[[build]]
part = "program"
command = ["{ada}/maker", "program"]
inputs = ["{glob}/source*"]
outputs = ["{ada}/program"]

[[build]]
part = "always"
command = ["{ada}/maker", "always"]
"""


class Making(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.variables = fake_language.add(Path(folder.name))
        self.ada = Path(folder.name) / "ada"
        self.file = Path(self.variables["TRUNKCALL_LANGUAGES"]) / "ada.toml"
        rows = ROWS.format(ada=self.ada, glob=os.path.relpath(self.ada, ROOT))
        self.file.write_text(self.file.read_text(encoding="utf-8") + rows, encoding="utf-8")
        for name, text in (("maker", MAKER), ("lock", "1"), ("source", "1"), ("source2", "1")):
            (self.ada / name).write_text(text, encoding="utf-8")
        (self.ada / "maker").chmod(0o755)

    def build(self, *parts: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*LANGUAGE, "build", *parts], cwd=ROOT, env=self.variables, text=True, capture_output=True
        )

    def made(self) -> list[int]:
        """How often the environment and the program were made until now, once the program was asked for."""
        done = self.build("program", "always")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [len((self.ada / name).read_text(encoding="utf-8").split()) for name in ("packages", "program")]

    def test_what_has_not_changed_is_not_made_again(self) -> None:
        self.assertEqual([self.made(), self.made()], [[1, 1], [1, 1]])
        self.assertEqual((self.ada / "always").read_text(encoding="utf-8"), "made\nmade\n")
        (self.ada / "source2").write_text("2", encoding="utf-8")
        self.assertEqual(self.made(), [1, 2])
        (self.ada / "source3").write_text("", encoding="utf-8")
        self.assertEqual(self.made(), [1, 3])
        (self.ada / "lock").write_text("2", encoding="utf-8")  # what is built depends on the packages
        self.assertEqual(self.made(), [2, 4])
        (self.ada / "program").unlink()
        self.assertEqual(self.made(), [2, 1])

    def test_with_other_tools_it_is_made_again(self) -> None:
        self.assertEqual(self.made(), [1, 1])
        text = self.file.read_text(encoding="utf-8")
        self.file.write_text(text.replace("gnat 13", "gnat 14"), encoding="utf-8")
        self.assertEqual(self.made(), [2, 2])

    def test_with_other_variables_it_is_made_again(self) -> None:
        self.assertEqual(self.made(), [1, 1])
        text = self.file.read_text(encoding="utf-8")
        self.file.write_text(f'{text}\n[variables]\nADA_FLAGS = "-a {{ADA_FLAGS}}"\n', encoding="utf-8")
        self.assertEqual(self.made(), [2, 2])
        self.variables["ADA_FLAGS"] = "-b"
        self.assertEqual([self.made(), self.made()], [[3, 3], [3, 3]])

    def test_what_could_not_be_made_is_not_taken_for_made(self) -> None:
        self.assertEqual(self.made(), [1, 1])
        (self.ada / "source").write_text("2", encoding="utf-8")
        (self.ada / "broken").write_text("program", encoding="utf-8")
        for _ in range(2):
            self.assertEqual(self.build("program").returncode, 1)
        (self.ada / "source").write_text("1", encoding="utf-8")  # as it was; what is there need not be
        (self.ada / "broken").unlink()
        self.assertEqual(self.made(), [1, 2])

    def begun(self) -> tuple[Process, int]:
        """A build whose maker of the packages goes on when something is written there."""
        os.mkfifo(self.ada / "may")
        process = Process([*LANGUAGE, "build", "program"], cwd=ROOT, env=self.variables, merged=True)
        self.addCleanup(process.kill)
        opened: list[int] = []
        opening = threading.Thread(target=lambda: opened.append(os.open(self.ada / "may", os.O_WRONLY)), daemon=True)
        opening.start()  # until the maker of the packages reads
        opening.join(60)
        return process, opened[0]

    def test_what_one_that_was_killed_has_begun_is_waited_for(self) -> None:
        killed, write = self.begun()
        os.kill(killed.pid, signal.SIGKILL)
        self.assertEqual(killed.wait(), -signal.SIGKILL)
        second = Process([*LANGUAGE, "build", "program"], cwd=ROOT, env=self.variables, merged=True)
        self.addCleanup(second.kill)
        self.assertEqual(second.line(), "waiting for another process that makes Ada …")
        os.rename(self.ada / "may", self.ada / "might")
        os.write(write, b"yes\n")
        os.close(write)
        self.assertEqual(second.finish().status, 0)
        self.assertEqual(self.made(), [2, 1])  # nobody knew whether the first packages were whole

    def test_two_at_once_make_it_once(self) -> None:
        first, write = self.begun()
        second = Process([*LANGUAGE, "build", "program"], cwd=ROOT, env=self.variables, merged=True)
        self.addCleanup(second.kill)
        self.assertEqual(second.line(), "waiting for another process that makes Ada …")
        os.rename(self.ada / "may", self.ada / "might")
        os.write(write, b"yes\n")
        os.close(write)
        self.assertEqual([first.finish().status, second.finish().status], [0, 0])
        self.assertEqual(self.made(), [1, 1])

    def test_inputs_that_are_not_there_are_told(self) -> None:
        for name in ("source", "source2"):
            (self.ada / name).unlink()
        done = self.build("program")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^ada.toml: there is no file \S+/source\*\n$")


if __name__ == "__main__":
    unittest.main()
