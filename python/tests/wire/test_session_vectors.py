"""Replays the session vectors: each script with its input whole, byte by byte, and in memory that is used anew."""

from __future__ import annotations

import unittest

from .session_script import Runner
from .vectors import FOLDER, Entry, load


def scripts() -> list[Entry]:
    found: list[Entry] = []
    for path in sorted(FOLDER.glob("sessions/*.json")):
        found += load(f"sessions/{path.name}")["scripts"]
    return found


class SessionVectors(unittest.TestCase):
    def replay(self, bytewise: bool = False, reused: bool = False) -> None:
        found = scripts()
        if not found:
            self.skipTest("there are no session vectors")
        for script in found:
            with self.subTest(script["id"]):
                Runner(self, script, bytewise, reused).run()

    def test_whole(self) -> None:
        self.replay()

    def test_byte_by_byte(self) -> None:
        self.replay(bytewise=True)

    def test_in_memory_that_is_used_anew(self) -> None:
        self.replay(reused=True)
