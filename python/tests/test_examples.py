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


class TestExamples(unittest.TestCase):
    def test_the_quickstart_calls_and_fails_with_a_status(self) -> None:
        self.assertEqual(run("quickstart.py"), "found user-7\nINVALID_ARGUMENT, executed: user_id 0: ids begin at 1\n")

    def test_stock_stubs_run_unchanged(self) -> None:
        self.assertEqual(run("stubs.py"), "found user-7\nINVALID_ARGUMENT: ids begin at 1\n")
