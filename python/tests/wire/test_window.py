"""The windows of fast streams grow (spec/limits.md 2)."""

from __future__ import annotations

import unittest

from trunkcall.wire import INITIAL_WINDOW, Config, Events, IncomingCall, Method, OutgoingCall, Session
from trunkcall.wire.receive import GROWTH_LIMIT

BOTH = b"/t.S/Both"
MOST = 1 << 20
MESSAGE = bytes(65_536 - 16)  # costs 65,536
FAST, SLOW = 1_000, 50_000  # µs between messages


class Joined(Events):
    """A client that sends on one stream to a server whose windows may grow."""

    def __init__(self, max_window: int) -> None:
        self.started: list[IncomingCall] = []
        self.now = 0
        config = Config(max_window=max_window, keepalive=0)
        methods = {BOTH: Method(BOTH, takes_one=False)}
        self.client = Session(Events(), initiator=True, now=0, config=Config(keepalive=0))
        self.server = Session(self, initiator=False, now=0, config=config, methods=methods)
        self.carry()

    def start(self, call: IncomingCall) -> None:
        self.started.append(call)

    def carry(self) -> None:
        for _ in range(4):
            for source, target in ((self.client, self.server), (self.server, self.client)):
                while data := bytes(source.take()):
                    source.wrote(len(data))
                    target.receive(data, self.now)
                target.dispatch(self.now)

    def open(self) -> OutgoingCall:
        call = self.client.open(BOTH, None, end=False, single=False)
        assert call is not None
        self.carry()
        return call

    def spend(self, call: OutgoingCall, times: int, pause: int) -> None:
        """Sends messages, each consumed at once."""
        for _ in range(times):
            self.now += pause
            call.send(MESSAGE)
            self.carry()
            assert self.started[-1].take_message() is not None
            self.carry()

    def window(self, call: OutgoingCall) -> int:
        """What the sender may have under way when all that is owed was granted."""
        assert call.sending is not None and self.started[-1].receiving is not None
        return call.sending.window + self.started[-1].receiving.owed


class Windows(unittest.TestCase):
    def test_of_a_fast_stream_grows_to_its_bound(self) -> None:
        joined = Joined(MOST)
        call = joined.open()
        joined.spend(call, 5, FAST)
        self.assertEqual(joined.window(call), 2 * INITIAL_WINDOW)
        joined.spend(call, 100, FAST)
        self.assertEqual(joined.window(call), MOST)
        self.assertEqual(joined.server.budget.grown, MOST - INITIAL_WINDOW)

    def test_of_a_slow_stream_stays(self) -> None:
        joined = Joined(MOST)
        call = joined.open()
        joined.spend(call, 100, SLOW)
        self.assertEqual(joined.window(call), INITIAL_WINDOW)

    def test_stays_where_none_is_allowed(self) -> None:
        for most in (0, INITIAL_WINDOW):
            joined = Joined(most)
            call = joined.open()
            joined.spend(call, 100, FAST)
            self.assertEqual(joined.window(call), INITIAL_WINDOW)

    def test_is_bounded_over_all_streams_of_a_connection(self) -> None:
        joined = Joined(MOST)
        call = joined.open()
        joined.server.budget.grown = GROWTH_LIMIT - INITIAL_WINDOW  # as if many others had grown
        joined.spend(call, 100, FAST)
        self.assertEqual(joined.window(call), 2 * INITIAL_WINDOW)

    def test_that_grew_is_given_back_when_the_call_ends(self) -> None:
        for end in (IncomingCall.finish, None):
            joined = Joined(MOST)
            call = joined.open()
            joined.spend(call, 100, FAST)
            if end is not None:
                end(joined.started[-1])
            else:
                call.cancel()
            joined.carry()
            self.assertEqual(joined.server.budget.grown, 0)

    def test_grows_for_answers_too(self) -> None:
        joined = Joined(MOST)
        client = Session(Events(), initiator=True, now=0, config=Config(max_window=MOST, keepalive=0))
        joined.client = client
        joined.server = Session(
            joined, initiator=False, now=0, config=Config(keepalive=0), methods={BOTH: Method(BOTH, takes_one=False)}
        )
        joined.carry()
        call = joined.open()
        for _ in range(100):
            joined.now += FAST
            joined.started[-1].send(MESSAGE)
            joined.carry()
            self.assertIsNotNone(call.take_message())
            joined.carry()
        self.assertEqual(client.budget.grown, MOST - INITIAL_WINDOW)
        joined.started[-1].finish()
        joined.carry()
        self.assertEqual(client.budget.grown, 0)
