"""Signals that are not held back, threads that no signals come to, and a Python that is not as this needs it."""

from __future__ import annotations

import unittest
from types import SimpleNamespace
from unittest import mock

from tests.public.kit import ECHO, OTHER, echo
from trunkcall.blocking import Client, interrupts, loop, turns

from .kit import Case, Gate, Working


class Late(Exception):
    """What the handler of an alarm raises."""


class Alarmed:
    """The lock that a follower sleeps on, in which the alarm comes."""

    def __init__(self) -> None:
        self._taken = False

    def acquire(self, timeout: float = -1) -> bool:
        if self._taken:
            raise Late
        self._taken = True
        return True

    def release(self) -> None:
        pass


class Signals(Case):
    def test_what_the_handler_of_an_alarm_raises_ends_the_call_that_waits_and_no_other(self) -> None:
        gate = Gate()
        _, client = self.pair(ECHO.handler(gate), OTHER.handler(echo))
        leader = Working(lambda: client.call(ECHO, b"leads"))
        self.begun(gate)
        ours = SimpleNamespace(Lock=Alarmed)
        with mock.patch.object(turns, "threading", ours), self.assertRaises(Late):
            client.call(ECHO, b"follows")
        self.assertEqual(client.call(OTHER, b"x"), b"x")
        self.there.run(gate.let_on())
        self.assertEqual(leader.result(), b"leads")

    def test_what_is_raised_by_work_of_the_loop_leaves_the_lock_to_others(self) -> None:
        _, client = self.pair()
        self.assertEqual(client.call(ECHO, b"x"), b"x")
        turned = client._both[0]

        def leaves() -> None:
            raise SystemExit

        with self.assertRaises(SystemExit), turned.inside():
            turned.loop.call_soon(leaves)
        self.assertEqual(client.call(ECHO, b"y"), b"y")

    def test_calls_are_made_where_no_handler_of_signals_can_be_set(self) -> None:
        _, client = self.pair()
        with mock.patch.object(interrupts, "_handle", side_effect=ValueError("only works in the main thread")):
            self.assertEqual(client.call(ECHO, b"x"), b"x")

    def test_a_python_without_what_is_needed_of_its_event_loop_is_refused(self) -> None:
        gone = mock.patch.object(loop, "_PRIVATE", ("_ready", "_gone"))
        with gone, self.assertRaisesRegex(RuntimeError, "needs _gone of asyncio"):
            Client("127.0.0.1:1")


if __name__ == "__main__":
    unittest.main()
