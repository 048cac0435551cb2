"""The examples print what the README says."""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


def run(name: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name)], capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout + done.stderr


OUTPUTS = {
    "quickstart.py": "found user-7\nINVALID_ARGUMENT, executed: user_id 0: ids begin at 1\n",
    "stubs.py": "found user-7\nINVALID_ARGUMENT: ids begin at 1\n",
    "streams.py": "found user-3\nimported 2\nwatched user-7\nwatched user-8\n",
    "errors.py": "INVALID_ARGUMENT, executed: ids begin at 1\nuser_id must be at least 1\n"
    "UNAVAILABLE: it did not run; repeat it if you like\n",
    "deadlines.py": "DEADLINE_EXCEEDED\ntwo services on: cancelled\ntwo services on: cancelled\n",
}


class TestExamples(unittest.TestCase):
    def test_each_prints_what_it_is_to(self) -> None:
        for name, output in OUTPUTS.items():
            with self.subTest(name):
                self.assertEqual(run(name), output)
