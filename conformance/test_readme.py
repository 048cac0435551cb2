"""The README's service of one's own: its files in an empty folder, and the commands beside them, as they stand there.

Left out is what only fetches what the tests have already: the environment of Python, and the generator for Go, which is
built from the module of the tools instead of installed."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

from harness.processes import run

ROOT = Path(__file__).resolve().parent.parent
FILES = ROOT / "examples" / "hello"
GENERATOR = "google.golang.org/protobuf/cmd/protoc-gen-go"


def commands(language: str) -> str:
    """The block of commands behind the words that begin with the language's name."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").split(f"**{language}.**", 1)[1]
    block = re.search(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert block
    lines = [line for line in block[1].splitlines() if not re.search(r"go install|-m venv", line)]
    return "\n".join(lines).replace("PATH/", f"{ROOT}/").replace("env/bin/python", sys.executable)


class Newcomer(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.tools = self.folder / "bin"
        self.tools.mkdir()
        shutil.copy(FILES / "greeter.proto", self.folder)

    def run_all(self, script: str) -> str:
        path = f"{self.tools}:{os.environ['PATH']}"
        env = {**os.environ, "PATH": path, "GOFLAGS": "-buildvcs=false"}
        done = run(["sh", "-e", "-c", script], cwd=self.folder, env=env, patience=600)
        self.assertEqual(done.status, 0, done.stdout + done.stderr)
        return done.stdout

    def test_the_lines_for_go_give_a_service_that_answers(self) -> None:
        shutil.copy(FILES / "main.go", self.folder)
        go = os.environ.get("GO", "go")
        built = run([go, "build", "-C", ROOT / "go/tools", "-o", self.tools, GENERATOR], patience=600)
        self.assertEqual(built.status, 0, built)
        protoc = self.tools / "protoc"
        protoc.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m grpc_tools.protoc -I. "$@"\n', encoding="utf-8")
        protoc.chmod(0o755)
        out = self.run_all(commands("Go"))
        self.assertEqual(out, "hello Ada <nil>\n INVALID_ARGUMENT: who?\n")

    def test_the_lines_for_python_give_a_service_that_answers(self) -> None:
        shutil.copy(FILES / "hello.py", self.folder)
        self.assertEqual(self.run_all(commands("Python")), "hello Ada\nINVALID_ARGUMENT: who?\n")


if __name__ == "__main__":
    unittest.main()
