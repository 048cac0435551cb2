"""Windows of HTTP/2 that grow with the path (limits.md 5), against a peer that keeps to them, in a time of its own."""

from __future__ import annotations

import unittest
from collections.abc import Callable

from trunkcall.http.windows import IDLE_SHRINKS, INITIAL, MOST_MEASURED, Inbound, Windows
from trunkcall.wire.budget import Budget, Share

MILLISECOND = 1_000
SMALL = 32 << 10
MOST = 1 << 20
FAR = 50 * MILLISECOND
MANY = 1 << 40


class Peer:
    """Sends as much as windows let it, and hears of more only when it reads."""

    def __init__(self, most: int = MOST, memory: int = 1 << 30, small: int = SMALL) -> None:
        self.now = 1
        self.share = Share(Budget(memory), 1 << 40, lambda: 0, lambda holder: False)
        self.told = small
        self.of_all = INITIAL
        self.left: dict[int, int] = {}
        self.inbound: dict[int, Inbound] = {}
        self.reading: set[int] = set()  # streams whose handlers take what comes
        self.heard: list[Callable[[], None]] = []
        self.pings: list[bytes] = []
        self.pinged = 0
        self.unacknowledged = 1
        self.changed = 0  # SETTINGS that came, beside the first
        self.deaf = False  # it takes no note of SETTINGS
        self.windows = Windows(self, self.share, small, 2 * small, most, lambda: self.now)
        self.windows.give()
        self.reads()
        self.acknowledges()

    # As it is told.

    def ping(self, data: bytes) -> None:
        self.heard.append(lambda: self._pinged(data))

    def begin_with(self, window: int) -> None:
        self.heard.append(lambda: self._begins_with(window))

    def credit(self, number: int, more: int) -> None:
        self.heard.append(lambda: self._credited(number, more))

    def _pinged(self, data: bytes) -> None:
        self.pings.append(data)
        self.pinged += 1

    def _begins_with(self, window: int) -> None:
        if not self.deaf:
            for number in self.left:
                self.left[number] += window - self.told
            self.told = window
            self.unacknowledged += 1
            self.changed += 1

    def _credited(self, number: int, more: int) -> None:
        if number:
            self.left[number] += more
        else:
            self.of_all += more

    def reads(self) -> None:
        heard, self.heard = self.heard, []
        for one in heard:
            one()

    # What it does.

    def acknowledges(self) -> None:
        for _ in range(self.unacknowledged):
            self.windows.acknowledged()
        self.unacknowledged = 0
        self.windows.give()

    def answers(self) -> None:
        self.acknowledges()
        pings, self.pings = self.pings, []
        for one in pings:
            self.windows.answered(one)
        self.windows.give()

    def begins(self, number: int, reading: bool) -> int:
        self.inbound[number] = self.windows.opened(number)
        self.left[number] = self.told
        if reading:
            self.reading.add(number)
        return number

    def sends(self, number: int, size: int = MANY) -> int:
        """What the windows allow, at most `size` bytes; how much that was."""
        sent = 0
        of = self.inbound[number]
        while (piece := min(self.of_all, self.left[number], size - sent, 4_096)) > 0:
            self.of_all -= piece
            self.left[number] -= piece
            sent += piece
            self.overstepped(of, piece)
            if number in self.reading:
                self.windows.consumed(of, piece)
            self.windows.give()
        return sent

    def overstepped(self, of: Inbound, piece: int) -> None:
        if not self.windows.arrived_of_all(piece) or not self.windows.arrived(of, piece):
            raise AssertionError("more than the windows allow")

    def round_trip(self, number: int, took: int = FAR) -> int:
        """Sends a windowful, hears what came of it, and answers."""
        sent = self.sends(number)
        self.now += took
        self.answers()
        self.reads()
        return sent

    def learns(self, number: int, done: Callable[[], bool]) -> int:
        """Sends as a peer far away does until `done`, and says for how many round trips."""
        for rounds in range(300):
            if done():
                self.acknowledges()
                self.reads()
                return rounds
            self.round_trip(number)
        raise AssertionError(f"streams begin with {self.told} after 300 round trips")


class Growing(unittest.TestCase):
    def test_a_large_upload_over_a_long_path_is_not_held_to_the_first_window(self) -> None:
        peer = Peer(32 << 20, small=256 << 10)
        peer.begins(1, reading=True)
        left, trips = 64 << 20, 0
        while left > 0:
            left -= peer.round_trip(1)
            trips += 1
        self.assertLess(trips, 20)  # 256 KiB each time are 256

    def test_windows_of_a_far_peer_grow_to_the_bound_and_new_streams_begin_with_it(self) -> None:
        peer = Peer()
        peer.begins(1, reading=True)
        peer.learns(1, lambda: peer.told == MOST and peer.of_all > MOST // 2)
        peer.begins(3, reading=False)
        self.assertGreaterEqual(peer.sends(3), MOST // 2)
        self.assertLessEqual(max(peer.left[1] // 2, peer.told, peer.windows.all, peer.windows.stream), MOST)

    def test_windows_of_a_near_peer_stay_and_there_are_few_pings(self) -> None:
        peer = Peer()
        peer.begins(1, reading=True)
        sent = 0
        while sent < 4 * MOST_MEASURED:
            sent += peer.sends(1, 4_096)
            peer.reads()
            peer.answers()
        self.assertEqual((peer.changed, peer.windows.stream, peer.windows.all), (0, SMALL, 2 * SMALL))
        self.assertTrue(1 <= peer.pinged <= 12, peer.pinged)  # 64 KiB, doubling to 4 MiB

    def test_an_ack_that_lies_enlarges_nothing(self) -> None:
        def none(peer: Peer) -> None:
            pass

        def another(peer: Peer) -> None:
            self.assertFalse(peer.windows.answered(b"path\0\0\0\x4d"))

        def late(peer: Peer) -> None:
            peer.now += 10_000 * MILLISECOND + 1
            peer.answers()

        for lie in (none, another, late):
            with self.subTest(lie.__name__):
                peer = Peer()
                peer.begins(1, reading=True)
                for _ in range(64):
                    peer.sends(1)
                    peer.reads()
                    peer.sends(1)
                    lie(peer)
                self.assertEqual((peer.changed, peer.windows.stream, peer.windows.all), (0, SMALL, 2 * SMALL))
                self.assertTrue(lie is late or peer.pinged == 1)

    def test_a_rate_that_does_not_rise_shows_that_windows_are_large_enough(self) -> None:
        peer = Peer()
        peer.begins(1, reading=True)
        peer.windows.rate = 1_000.0
        for _ in range(64):
            peer.round_trip(1)
        self.assertEqual((peer.changed, peer.windows.stream), (0, SMALL))

    def test_windows_make_way_for_a_message_whose_length_is_known(self) -> None:
        peer = Peer()
        peer.begins(1, reading=True)
        peer.windows.expect(peer.inbound[1], MOST // 2)
        peer.windows.give()
        peer.reads()
        self.assertEqual(peer.sends(1, MOST // 2), MOST // 2)
        peer.acknowledges()
        peer.reads()
        self.assertGreaterEqual(peer.told, MOST // 2)


class Bounds(unittest.TestCase):
    def test_streams_that_stand_still_have_the_bound_together_however_fast_the_path_is(self) -> None:
        peer = Peer()
        peer.begins(1, reading=True)
        peer.learns(1, lambda: peer.told == MOST)
        still = [peer.begins(number, reading=False) for number in range(3, 803, 2)]
        sent, more = 0, 1
        while more:
            more = sum(peer.sends(number) for number in still)
            sent += more
            for _ in range(3):
                peer.reads()
                peer.answers()
        # What they begin with, and what was learned: lent, told, and under way when it was told otherwise.
        self.assertTrue(len(still) * SMALL <= sent <= len(still) * SMALL + 3 * MOST, sent)
        passed = sum(peer.round_trip(1) for _ in range(200))
        self.assertGreater(passed, 4 * MOST)

    def test_streams_opened_one_after_the_other_and_not_read_have_it_too(self) -> None:
        peer = Peer()
        peer.begins(1, reading=True)
        peer.learns(1, lambda: peer.told == MOST)
        sent, streams = 0, 40
        for number in range(3, 3 + 2 * streams, 2):
            peer.begins(number, reading=False)
            while more := peer.sends(number):
                sent += more
                for _ in range(3):
                    peer.reads()
                    peer.answers()
        self.assertTrue(streams * SMALL <= sent <= streams * SMALL + 3 * MOST, sent)

    def test_streams_that_were_lent_more_and_then_stand_still_have_it_too(self) -> None:
        peer = Peer()
        peer.begins(1, reading=True)
        peer.learns(1, lambda: peer.told == MOST)
        streams = [peer.begins(number, reading=True) for number in range(3, 83, 2)]
        for number in streams:
            for _ in range(8):
                peer.round_trip(number)
        self.assertGreater(peer.windows._lent, 0)
        peer.reading.clear()
        sent, more = 0, 1
        while more:
            more = sum(peer.sends(number) for number in streams)
            sent += more
            for _ in range(3):
                peer.reads()
                peer.answers()
        self.assertTrue(len(streams) * SMALL <= sent <= len(streams) * SMALL + 3 * MOST, sent)

    def test_a_peer_that_ignores_smaller_windows_runs_out_of_credit(self) -> None:
        peer = Peer()
        peer.begins(1, reading=True)
        peer.learns(1, lambda: peer.told == MOST)
        peer.deaf = True
        sent = 0
        for number in range(3, 41, 2):
            peer.begins(number, reading=False)
            while more := peer.sends(number):
                sent += more
                peer.reads()
        self.assertLessEqual(sent, 4 * MOST)

    def test_what_was_sent_before_smaller_windows_were_known_is_no_fault_and_what_comes_then_is(self) -> None:
        peer = Peer()
        peer.begins(1, reading=True)
        peer.learns(1, lambda: peer.told == MOST and peer.of_all == MOST)
        peer.begins(3, reading=False)
        peer.windows.stream = SMALL
        peer.windows._tell()
        self.assertEqual(peer.sends(3, MOST // 2), MOST // 2)
        peer.reads()
        peer.acknowledges()
        self.assertFalse(peer.windows.arrived(peer.inbound[3], 1))

    def test_windows_shrink_by_half_for_each_minute_without_data(self) -> None:
        peer = Peer()
        peer.begins(1, reading=True)
        peer.learns(1, lambda: peer.told == MOST)
        for minutes, expected in ((2, MOST // 4), (20, SMALL)):
            peer.windows.data_at = peer.now - minutes * IDLE_SHRINKS
            peer.sends(1, 1)
            for _ in range(4):
                peer.pings.clear()
                peer.reads()
                peer.acknowledges()
            self.assertEqual(peer.told, expected)
        self.assertEqual((peer.windows.stream, peer.windows.all), (SMALL, 2 * SMALL))

    def test_windows_keep_to_the_share_of_memory(self) -> None:
        peer = Peer(64 << 20, memory=2 << 20)
        peer.begins(1, reading=True)
        peer.windows.expect(peer.inbound[1], 32 << 20)
        peer.reads()
        self.assertLessEqual(peer.told, SMALL + (2 << 20))
        self.assertLessEqual(peer.left[1], SMALL + (4 << 20))

    def test_windows_do_not_grow_while_the_connection_holds_more_than_its_share(self) -> None:
        peer = Peer(memory=4 << 20)
        others = [Share(peer.share.budget, 1 << 40, lambda: 0, lambda holder: False) for _ in range(3)]
        for other in others:
            other.hold(128 << 10, None)
        peer.share.hold(2 << 20, None)
        peer.begins(1, reading=True)
        for _ in range(64):
            peer.round_trip(1)
        peer.windows.expect(peer.inbound[1], MOST)
        self.assertEqual((peer.changed, peer.windows.stream), (0, SMALL))

    def test_what_was_lent_returns_when_a_stream_ends(self) -> None:
        peer = Peer()
        peer.begins(1, reading=True)
        peer.begins(3, reading=False)  # so that each begins with half of what was learned
        peer.learns(1, lambda: peer.windows._lent > 0)
        peer.windows.ended(peer.inbound[1])
        self.assertEqual(peer.windows._lent, 0)
        for one in peer.inbound.values():
            peer.windows.closed(one)
        self.assertEqual((peer.windows._lent, len(peer.windows._open), len(peer.windows._full)), (0, 0, 0))
