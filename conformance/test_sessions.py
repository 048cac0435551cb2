"""The session programs, apart from what they play: what is told of one that ends, and that laws which are broken are
seen."""

from __future__ import annotations

import contextlib
import sys
import unittest

from .languages import LANGUAGES, each_language, having
from .random_sessions import Runner
from .sessions.side import Ended, Side

SESSIONS = having("random-sessions")


class Programs(unittest.TestCase):
    def side(self, *program: str) -> Side:
        side = Side("some", program)
        self.addCleanup(side.close)
        return side

    def test_one_that_ends_is_told_with_what_it_said(self) -> None:
        for program in ("import sys; sys.exit('cannot')", "import sys; sys.stdin.buffer.read(6); sys.exit('cannot')"):
            side = self.side(sys.executable, "-c", program)
            for _ in range(2):  # it is started again
                with self.subTest(program), self.assertRaisesRegex(Ended, "some: the program has ended: cannot"):
                    side.begin({})

    def test_one_that_says_nothing_is_told(self) -> None:
        side = Side("some", (sys.executable, "-c", "import time; time.sleep(1000)"), patience=1)
        self.addCleanup(side.close)
        for size in (1, 1 << 20):  # more than a pipe takes
            with self.subTest(size), self.assertRaisesRegex(Ended, "some: the program has not answered within 1 s"):
                side.round(0, 0, bytes(size))


@each_language([language.key for language in SESSIONS])
class ProgramsOfLanguages(unittest.TestCase):
    language: str

    def test_what_it_does_not_know_ends_it(self) -> None:
        language = LANGUAGES[self.language]
        side = Side(language.key, language.words(language.peer.session))
        self.addCleanup(side.close)
        with self.assertRaises(Ended):
            side.ledger()


class Broken(Side):
    """Loses a part of what it is sent."""

    def round(self, now: int, phase: int, data: bytes) -> bytes:
        return super().round(now, phase, data[: len(data) // 2])


class Laws(unittest.TestCase):
    def test_a_session_that_breaks_them_is_made_small_and_told(self) -> None:
        language = SESSIONS[0]
        with contextlib.ExitStack() as stack:
            sides = [kind(language.key, language.words(language.peer.session)) for kind in (Side, Broken)]
            for side in sides:
                stack.callback(side.close)
            told = Runner(*sides).session(7)
        self.assertRegex(told, r"^seed 7:\n  .+\n  what was done, by round:")
