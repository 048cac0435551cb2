"""Messages put together in memory that is used again."""

from __future__ import annotations

import random
import unittest

from trunkcall.wire import assembly, give_back, kept
from trunkcall.wire.assembly import KEPT, SPARES, Assembly


def assembled(message: bytes, piece: int) -> bytearray:
    """A message that came in pieces."""
    whole = Assembly()
    for start in range(0, len(message), piece):
        whole.add(memoryview(message)[start : start + piece])
    return whole.finish()


class Assemblies(unittest.TestCase):
    def setUp(self) -> None:
        assembly._spares.clear()
        self.addCleanup(assembly._spares.clear)

    def test_messages_are_what_came_whatever_was_in_their_memory(self) -> None:
        dice = random.Random(1)
        for _ in range(300):
            message = dice.randbytes(dice.randrange(1, 5_000))
            whole = assembled(message, dice.randrange(1, 900))
            self.assertEqual(whole, message)
            if dice.random() < 0.8:
                give_back(whole)

    def test_messages_under_way_do_not_share_memory(self) -> None:
        give_back(assembled(bytes(1_000), 100))
        first, second = Assembly(), Assembly()
        for _ in range(3):
            first.add(b"first ")
            second.add(b"second ")
        self.assertEqual((first.finish(), second.finish()), (b"first first first ", b"second second second "))

    def test_memory_is_used_again(self) -> None:
        whole = assembled(bytes(5_000), 700)
        give_back(whole)
        self.assertIs(assembled(bytes(4_000), 700), whole)
        self.assertIsNot(assembled(bytes(4_000), 700), whole)

    def test_what_is_kept_is_bounded(self) -> None:
        for size in (*[100] * (SPARES + 3), KEPT + 1):
            give_back(bytearray(size))
        self.assertEqual([len(spare) for spare in assembly._spares], [100] * SPARES)
        assembly._spares.clear()
        give_back(bytearray(KEPT + 1))
        self.assertEqual(assembly._spares, [])

    def test_who_keeps_a_message_has_it_as_bytes_of_their_own(self) -> None:
        message = assembled(b"abc" * 1_000, 700)
        mine = kept(message)
        self.assertEqual((type(mine), mine), (bytes, b"abc" * 1_000))
        self.assertIs(assembled(b"x" * 3_000, 700), message)
        self.assertEqual(mine, b"abc" * 1_000)
        self.assertIs(kept(mine), mine)
