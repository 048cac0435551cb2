"""Builds in several layouts, by a compiler that only writes down what it was told, and a git that knows HEAD alone."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILER = '#!/bin/sh\n[ "$1" = build ] || exit 1\nshift\nwhile [ "$1" != -o ]; do tree="$tree $1"; shift; done\necho "$tree" > "$2"\n'
GIT = """#!/bin/sh
case "$*" in
*" add "*HEAD) mkdir "$5" ;;
*" remove "*) rm -r "$4" ;;
*) echo "git: no revision: $*" >&2; exit 128 ;;
esac
"""


class Layouts(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.directory = Path(made.name)
        for name, script in (("go", COMPILER), ("git", GIT)):
            (self.directory / name).write_text(script, encoding="ascii")
            (self.directory / name).chmod(0o755)

    def build(self, *arguments):
        words = [sys.executable, "-W", "error", str(ROOT / "lab" / "layouts.py"), *arguments]
        words += ["--out", str(self.directory / "out")]
        path = f"{self.directory}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "GO": str(self.directory / "go")}
        return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=False)

    def test_both_revisions_are_built_anew_in_each_layout(self):
        out = self.directory / "out"
        out.mkdir()
        (out / "old-3").touch()  # of a run with more
        done = self.build("HEAD", "--count", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(p.name for p in out.iterdir()), ["new-1", "new-2", "old-1", "old-2"])
        self.assertIn(str(ROOT / "go"), (out / "new-2").read_text())
        self.assertIn("-randlayout=2", (out / "new-2").read_text())
        self.assertNotIn(str(ROOT / "go"), (out / "old-1").read_text())

    def test_what_cannot_be_built_is_told(self):
        done = self.build("no-such-revision", "--count", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no-such-revision", done.stderr)
        done = self.build("HEAD", "--count", "0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--count 0: want 1 or more", done.stderr)
