"""When a process is started, waited for and given up, by a clock of the test's own."""

from __future__ import annotations

import socket
import unittest

from trunkcall.processes.child import MARGIN
from trunkcall.processes.places import PROVEN, STEADY, Place, Process, Restart, how


class Places(unittest.TestCase):
    def setUp(self) -> None:
        self.place = Place(0)
        self.channel = socket.socket()
        self.addCleanup(self.channel.close)

    def process(self, began: float = 0.0, ready: float | None = None) -> Process:
        one = self.place.serving = Process(1, self.place, self.channel, heard=began, ready=ready)
        return one

    def test_one_that_has_served_is_replaced_at_once_and_those_that_end_soon_after_ever_later(self) -> None:
        now, pauses = 100.0, list[float]()
        for served in (STEADY, 1.0, 1.0, 1.0, STEADY, 1.0):
            self.place.vacate(self.process(now - served, ready=now - served), now)
            self.assertIsNone(self.place.serving)
            assert self.place.start is not None
            pauses.append(self.place.start - now)
        self.assertEqual([round(pause, 3) for pause in pauses], [0, 0.2, 0.4, 0.8, 0, 0.2])

    def test_those_that_end_before_they_serve_are_counted(self) -> None:
        for _ in range(3):
            self.place.vacate(self.process(), 1.0)
        self.assertEqual(self.place.unready, 3)
        self.assertEqual(self.place.start, 1.0 + 0.4)

    def test_one_that_comes_takes_the_place_of_one_that_falls_meanwhile(self) -> None:
        old = self.process(ready=0.0)
        coming = self.place.coming = Process(2, self.place, self.channel, heard=1.0)
        self.place.vacate(old, 2.0)
        self.assertIs(self.place.serving, coming)
        self.assertIsNone(self.place.start)

    def test_one_has_so_long_to_begin_and_to_say_something(self) -> None:
        beginning, serving = self.process(10.0), self.process(10.0, ready=10.0)
        self.assertEqual(beginning.failing(14.9, 2, 5), "")
        self.assertIn("did not serve within 5 s", beginning.failing(15.0, 2, 5))
        self.assertEqual(beginning.failing(1e9, 2, None), "")
        self.assertEqual(serving.failing(11.9, 2, 5), "")
        self.assertIn("stood still for 2 s", serving.failing(12.0, 2, 5))
        self.assertEqual(serving.failing(1e9, None, 5), "")
        serving.told_to_end(12.0)
        self.assertEqual(serving.failing(1e9, 2, 5), "")

    def test_one_that_is_told_to_end_has_the_time_that_it_has_said(self) -> None:
        one = self.process(ready=0.0)
        one.takes = 31.0
        one.told_to_end(100.0)
        self.assertEqual(one.kill, 100.0 + 31.0 + MARGIN)
        for endless in (self.process(ready=0.0), self.process()):
            endless.told_to_end(100.0)
            self.assertEqual(endless.kill, None if endless.ready is not None else 100.0 + MARGIN)

    def test_what_it_says_may_come_in_pieces(self) -> None:
        one = self.process()
        self.assertEqual(list(one.lines(b"ready 3")), [])
        self.assertEqual(list(one.lines(b"1.5\nalive\nle")), [["ready", "31.5"], ["alive"]])
        self.assertEqual(list(one.lines(b"aving\n")), [["leaving"]])

    def test_they_are_replaced_one_by_one(self) -> None:
        places = [Place(number) for number in range(3)]
        for place in (places[0], places[2]):
            place.serving = self.process(ready=0.0)
        restart = Restart(list(places))
        self.assertIs(restart.next(places), places[0])
        places[0].coming = self.process()
        self.assertIsNone(restart.next(places))
        places[0].coming = None
        self.assertIs(restart.next(places), places[2])  # who comes to the other is new
        self.assertIsNone(restart.next(places))

    def test_one_that_comes_takes_the_place_when_it_has_served_for_a_while(self) -> None:
        old = self.process(ready=0.0)
        self.assertIsNone(self.place.changes)
        coming = self.place.coming = Process(2, self.place, self.channel, heard=1.0)
        self.assertIsNone(self.place.changes)
        coming.ready = 2.0
        self.assertEqual(self.place.changes, 2.0 + PROVEN)
        self.assertIs(self.place.change(), old)
        self.assertIs(self.place.serving, coming)
        self.assertIsNone(self.place.coming)

    def test_how_a_process_has_ended(self) -> None:
        self.assertEqual(
            [how(one) for one in (0, 3, -9, -250)], ["status 0", "status 3", "signal SIGKILL", "signal 250"]
        )


if __name__ == "__main__":
    unittest.main()
