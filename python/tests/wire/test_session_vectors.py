"""Replays the session vectors: each script with its input whole, byte by byte, and in memory that is used anew."""

from __future__ import annotations

import unittest

from .session_script import Runner
from .vectors import FOLDER, Entry, each, load

SCRIPTS = [one for path in sorted(FOLDER.glob("sessions/*.json")) for one in load(f"sessions/{path.name}")["scripts"]]


def replay(script: Entry, bytewise: bool = False, reused: bool = False) -> None:
    case = unittest.TestCase()
    case.maxDiff = None
    Runner(case, script, bytewise, reused).run()


@each(SCRIPTS)
def test_whole(entry: Entry) -> None:
    replay(entry)


@each(SCRIPTS)
def test_byte_by_byte(entry: Entry) -> None:
    replay(entry, bytewise=True)


@each(SCRIPTS)
def test_in_memory_that_is_used_anew(entry: Entry) -> None:
    replay(entry, reused=True)
