"""The pool that a receiver keeps: how large it is, and what it survives (spec/limits.md 2, protocol.md 9.8)."""

from __future__ import annotations

import unittest
from collections import deque

from trunkcall.wire import Config, Events, IncomingCall, Load, Method, OutgoingCall, Session, Settings
from trunkcall.wire.frame import HEADER, PING
from trunkcall.wire.pool import MOST_ANEW

BOTH = b"/t.S/Both"
MIB = 1 << 20
MESSAGE = bytes(65_520)  # costs 65,536
ROUND_TRIP = 50_000  # µs
STEPS = 100  # of a round trip
STEP_BYTES = MIB // 8  # that the line takes in a step


class Far(Events):
    """A client that sends to a server over a path, a long one as a rule: what is carried arrives half a round trip
    later."""

    def __init__(
        self,
        most: int = 32 * MIB,
        load: Load | None = None,
        there_and_back: int = ROUND_TRIP,
        step_bytes: int = STEP_BYTES,
    ) -> None:
        self.started: list[IncomingCall] = []
        self.now = 0
        self.there_and_back = there_and_back
        self.step_bytes = step_bytes
        self.consumes = True
        config = Config(Settings(pool=MIB), max_pool=most, keepalive=0, load=load or Load())
        methods = {BOTH: Method(BOTH, takes_one=False)}
        self.client = Session(Events(), initiator=True, now=0, config=Config(keepalive=0))
        self.server = Session(self, initiator=False, now=0, config=config, methods=methods)
        self.waiting = {self.client: bytearray(), self.server: bytearray()}
        self.up: deque[tuple[int, bytes]] = deque()
        self.down: deque[tuple[int, bytes]] = deque()
        for _ in range(3):
            self.round_trip()

    def start(self, call: IncomingCall) -> None:
        self.started.append(call)

    def arrived(self, call: object) -> None:
        if self.consumes and isinstance(call, IncomingCall):
            call.take_message()

    def pass_on(self, source: Session, way: deque[tuple[int, bytes]]) -> None:
        """Sends what the line takes in a step; it arrives half a round trip later."""
        source.now = self.now
        waiting = self.waiting[source]
        while len(waiting) < self.step_bytes and (part := source.take()):
            waiting += part
        data = bytes(waiting[: self.step_bytes])
        del waiting[: self.step_bytes]
        source.wrote(len(data))
        way.append((self.now + self.there_and_back // 2, data))

    def arrive(self, target: Session, way: deque[tuple[int, bytes]]) -> None:
        while way and way[0][0] <= self.now:
            target.receive(way.popleft()[1], self.now)
        target.dispatch(self.now)
        target.tick(self.now)

    def round_trip(self) -> None:
        for _ in range(STEPS):
            self.now += self.there_and_back // STEPS
            self.arrive(self.server, self.up)
            self.arrive(self.client, self.down)
            self.pass_on(self.client, self.up)
            self.pass_on(self.server, self.down)

    def open(self) -> OutgoingCall:
        call = self.client.open(BOTH, None, end=False, single=False)
        assert call is not None
        self.round_trip()
        return call


def push(far: Far, call: OutgoingCall, round_trips: int) -> None:
    """Has more waiting on a stream all the time than credit lets go."""
    for _ in range(round_trips):
        flow = call.sending
        assert flow is not None
        while len(flow.outbox) < 1_000:
            call.send(MESSAGE)
        far.round_trip()


class Size(unittest.TestCase):
    def test_it_grows_with_the_path_up_to_its_bound(self) -> None:
        far = Far(most=8 * MIB)
        call = far.open()
        push(far, call, 40)
        self.assertEqual(far.server.pool.kept, 8 * MIB)

    def test_a_few_round_trips_are_enough(self) -> None:
        far = Far(most=8 * MIB)
        push(far, far.open(), 4)
        self.assertEqual(far.server.pool.kept, 8 * MIB)

    def test_a_short_path_under_load_is_no_long_one(self) -> None:
        far = Far(there_and_back=100, step_bytes=1_000)  # 1 GB/s
        call = far.open()
        far.server.pool.ping()
        far.round_trip()
        far.round_trip()
        push(far, call, 200)
        self.assertEqual(far.server.pool.kept, MIB)

    def test_a_path_that_was_thought_long_gives_back(self) -> None:
        far = Far(there_and_back=100, step_bytes=1_000)
        call = far.open()
        push(far, call, 100)  # each ACK comes behind what fills the pool
        self.assertGreater(far.server.pool.kept, 2 * MIB)
        assert call.sending is not None
        while call.sending.outbox:
            far.round_trip()
        for _ in range(20):
            far.round_trip()
        far.server.pool.ping()
        far.round_trip()
        far.round_trip()
        push(far, call, 100)
        self.assertEqual(far.server.pool.kept, MIB)

    def test_a_path_that_becomes_longer_is_found_out(self) -> None:
        far = Far(there_and_back=1_000, step_bytes=10_000)
        call = far.open()
        push(far, call, 20)
        far.there_and_back, far.step_bytes = 200_000, STEP_BYTES
        push(far, call, 10)
        self.assertLess(far.server.pool.kept, 12 * MIB)
        for _ in range(15):
            far.now += 50_000_000
            push(far, call, 8)
        self.assertEqual(far.server.pool.kept, 32 * MIB)

    def test_a_new_stream_has_at_once_what_was_learned(self) -> None:
        far = Far(most=8 * MIB)
        first = far.open()
        push(far, first, 40)
        first.cancel()
        far.round_trip()
        far.round_trip()
        second = far.open()
        self.assertGreater(far.client.sender.room, 6 * MIB)
        self.assertEqual(second.status, None)

    def test_it_stays_where_messages_fit_the_windows(self) -> None:
        far = Far()
        call = far.open()
        for _ in range(50):
            call.send(MESSAGE)
            far.round_trip()
        self.assertEqual((far.server.pool.kept, far.server.pool.left), (MIB, MIB))

    def test_it_stays_where_it_must_not_grow(self) -> None:
        far = Far(most=0)
        push(far, far.open(), 40)
        self.assertEqual(far.server.pool.kept, MIB)

    def test_it_is_halved_for_each_minute_without_use(self) -> None:
        far = Far(most=8 * MIB)
        call = far.open()
        push(far, call, 40)
        assert call.sending is not None
        while call.sending.outbox:
            far.round_trip()
        far.now += 130_000_000
        for _ in range(3):
            for _ in range(100):
                call.send(MESSAGE)
            while call.sending.outbox:
                far.round_trip()
        self.assertLessEqual(far.server.pool.kept, 8 * MIB)
        self.assertGreaterEqual(far.server.pool.kept, MIB)

    def test_a_large_message_makes_its_own_way(self) -> None:
        far = Far()
        call = far.open()
        call.send(bytes(4 * MIB))
        for _ in range(6):
            far.round_trip()
        self.assertGreaterEqual(far.server.pool.kept, 6 * MIB)

    def test_it_does_so_however_long_the_pool_was_idle(self) -> None:
        far = Far()
        for _ in range(2):  # before the first charge, and after one
            far.now += 24 * 3600 * 1_000_000
            far.open().send(bytes(4 * MIB))
            for _ in range(6):
                far.round_trip()
            self.assertEqual(far.server.pool.kept, 6 * MIB)

    def test_answers_that_come_too_early_or_never_measure_nothing(self) -> None:
        far = Far()
        ack = HEADER.pack(PING << 24, 0, 1 << 16, 1)
        far.server.receive(ack * 10, far.now)
        far.server.pool.ping()
        far.server.receive(HEADER.pack(PING << 24, 0, 1 << 16, 99), far.now)
        self.assertEqual(far.server.pool.kept, MIB)


class Law(unittest.TestCase):
    def balance(self, far: Far) -> None:
        pool = far.server.pool
        self.assertEqual(pool.left + pool.owed + pool.charged, pool.kept)

    def test_all_of_it_is_accounted_for(self) -> None:
        far = Far(most=4 * MIB)
        calls = [far.open() for _ in range(5)]
        for number in range(60):
            far.consumes = number % 3 != 0
            for call in calls:
                if call.status is None and call.sending is not None and len(call.sending.outbox) < 50:
                    call.send(bytes(300_000))
            if number == 20:
                calls[0].cancel()
            if number == 30:
                far.started[1].finish()
            if number == 40:
                calls[2].cancel()
            far.round_trip()
            self.balance(far)
        for call in calls:
            call.cancel()
        for _ in range(10):
            far.round_trip()
        self.balance(far)
        self.assertEqual(far.server.pool.charged, 0)
        self.assertEqual((far.server.share.promised, far.server.share.held), (0, 0))
        for _ in range(5):
            far.round_trip()
        self.assertEqual(far.client.sender.room, far.server.pool.left)


class Stalled(unittest.TestCase):
    def test_streams_that_consume_nothing_leave_the_pool_to_the_others(self) -> None:
        far = Far(most=4 * MIB)
        fast = far.open()
        stalled = [far.open() for _ in range(4)]
        far.consumes = False
        for call in stalled:
            for _ in range(20):
                call.send(MESSAGE)
        for _ in range(300):
            far.round_trip()
        self.assertGreaterEqual(far.client.sender.room, MIB // 4)
        far.consumes = True
        fast.send(bytes(MIB))
        for _ in range(20):
            far.round_trip()
        assert fast.sending is not None
        self.assertFalse(fast.sending.outbox)
        lies = sum(call.receiving.lies for call in far.started if call.receiving is not None)
        self.assertLessEqual(lies, MOST_ANEW + far.server.pool.kept)


if __name__ == "__main__":
    unittest.main()
