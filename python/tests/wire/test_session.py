"""What the layers above rely on: slots, delivery, backpressure, the order of writing, limits shared by sessions."""

from __future__ import annotations

import unittest

from trunkcall.wire import (
    OK,
    Call,
    Code,
    Config,
    Delivery,
    Events,
    IncomingCall,
    LimitError,
    Load,
    Metadata,
    Method,
    OutgoingCall,
    Session,
    Settings,
    Status,
)
from trunkcall.wire.frame import CREDIT, DATA, HEADER, TYPE_NAMES

UNARY, BOTH = b"/t.S/Unary", b"/t.S/Both"
METHODS = {UNARY: Method(UNARY, takes_one=True), BOTH: Method(BOTH, takes_one=False)}


class Log(Events):
    """Keeps calls, and lets them run."""

    def __init__(self) -> None:
        self.started: list[IncomingCall] = []
        self.stopped_calls: list[IncomingCall] = []
        self.ended_calls: list[OutgoingCall] = []
        self.writables: list[Call] = []
        self.slots = 0
        self.overdues = 0

    def start(self, call: IncomingCall) -> None:
        self.started.append(call)

    def stopped(self, call: IncomingCall) -> None:
        self.stopped_calls.append(call)

    def ended(self, call: OutgoingCall) -> None:
        self.ended_calls.append(call)

    def writable(self, call: Call) -> None:
        self.writables.append(call)

    def slot_free(self) -> None:
        self.slots += 1

    def overdue(self) -> None:
        self.overdues += 1


class Pair:
    """An initiator and an acceptor, joined."""

    def __init__(
        self, *, exact: bool = False, load: Load | None = None, own: Settings | None = None, greeted: bool = True
    ) -> None:
        self.here, self.there = Log(), Log()
        here = Config(keepalive=0, exact=exact)
        there = Config(settings=own or Settings(), keepalive=0, load=load or Load())
        self.client = Session(self.here, initiator=True, now=0, config=here)
        self.server = Session(self.there, initiator=False, now=0, config=there, methods=METHODS)
        if greeted:
            self.exchange(0)

    def carry(self, source: Session, target: Session, now: int) -> list[str]:
        names: list[str] = []
        while data := bytes(source.take()):
            source.wrote(len(data))
            names += frames(data)
            target.receive(data, now)
        target.dispatch(now)
        return names

    def exchange(self, now: int) -> None:
        while self.carry(self.client, self.server, now) + self.carry(self.server, self.client, now):
            pass


def frames(data: bytes) -> list[str]:
    at = 0
    if data.startswith(b"\xf5TK1"):
        at = 16 + int.from_bytes(data[12:16], "little")
    names: list[str] = ["PREFACE"] if at else []
    while at < len(data):
        w0: int = HEADER.unpack_from(data, at)[0]
        names.append(TYPE_NAMES[w0 >> 24])
        at += 16 + (w0 & 0xFFFFFF)
    return names


class Slots(unittest.TestCase):
    def test_the_lowest_free_slot_is_taken_with_the_next_generation(self) -> None:
        pair = Pair()
        calls = [pair.client.unary(UNARY, b"m") for _ in range(3)]
        pair.exchange(1)
        self.assertEqual([call.id for call in calls if call], [1 << 20 | slot for slot in (1, 2, 3)])
        for served in pair.there.started[1::-1]:
            served.finish(b"r")
        pair.exchange(2)
        again = pair.client.unary(UNARY, b"m")
        self.assertEqual(again and again.id, 2 << 20 | 1)

    def test_generations_wrap_from_2047_to_1(self) -> None:
        pair = Pair()
        for _ in range(2_047):
            self.assertIsNotNone(pair.client.unary(UNARY, b"m"))
            pair.exchange(1)
            pair.there.started.pop().finish(b"r")
            pair.exchange(1)
        call = pair.client.unary(UNARY, b"m")
        self.assertEqual(call and call.id, 1 << 20 | 1)
        pair.exchange(1)
        self.assertEqual(len(pair.there.started), 1)

    def test_without_a_slot_a_call_waits_above_and_is_told(self) -> None:
        pair = Pair(own=Settings(max_calls=1))
        self.assertIsNotNone(pair.client.unary(UNARY, b"m"))
        self.assertIsNone(pair.client.unary(UNARY, b"m"))
        self.assertTrue(pair.client.accepts_calls)
        pair.exchange(1)
        pair.there.started[0].finish(b"r")
        pair.exchange(1)
        self.assertEqual(pair.here.slots, 1)
        self.assertIsNotNone(pair.client.unary(UNARY, b"m"))

    def test_a_full_method_table_sends_names_inline(self) -> None:
        pair = Pair()
        for number in range(4_096):
            pair.client.caller.ids[b"/x/%d" % number] = number + 1
        call = pair.client.unary(UNARY, b"m")
        pair.exchange(1)
        pair.there.started[0].finish(b"r")
        pair.exchange(1)
        self.assertEqual(call and call.status and call.status.code, Code.OK)
        self.assertEqual(pair.server.callee.names, {})


class Gauges(unittest.TestCase):
    def test_they_return_to_zero_on_slots_used_again(self) -> None:
        pair = Pair()
        for round_ in range(4):
            calls = [pair.client.unary(UNARY, b"m", deadline=1_000_000) for _ in range(3)]
            pair.exchange(round_)
            self.assertEqual((pair.client.caller.open, pair.server.callee.open, pair.server.load.running), (3, 3, 3))
            while pair.there.started:
                pair.there.started.pop().finish(b"r")
            pair.exchange(round_)
            self.assertEqual([call.take_message() for call in calls if call], [(b"r", 0)] * 3)
            self.assertEqual((pair.client.caller.open, pair.server.callee.open, pair.server.load.running), (0, 0, 0))
            self.assertEqual((pair.server.share.promised, pair.client.share.promised), (0, 0))


class Draining(unittest.TestCase):
    def test_the_one_who_asks_acknowledges_when_its_last_own_call_has_ended(self) -> None:
        pair = Pair()
        pair.client.unary(UNARY, b"m")
        pair.exchange(1)
        pair.client.drain(2)
        self.assertEqual(frames(bytes(pair.client.take())), ["GOAWAY"])
        pair.there.started[0].finish(b"r")
        pair.carry(pair.server, pair.client, 3)
        self.assertEqual(frames(bytes(pair.client.take())), ["GOAWAY"])
        self.assertFalse(pair.client.accepts_calls)

    def test_one_who_is_to_ask_before_the_other_has_spoken_may_still_call(self) -> None:
        pair = Pair(greeted=False)
        pair.client.open(UNARY, b"m")
        pair.server.drain(1, calling=True)
        pair.exchange(1)
        self.assertFalse(pair.client.accepts_calls)
        self.assertTrue(pair.server.accepts_calls)  # as the handler of the one call may need
        pair.there.started[0].finish(b"r")
        pair.exchange(2)
        self.assertEqual(pair.here.ended_calls[0].status, OK)
        self.assertTrue(pair.client.closed)

    def test_both_sides_close_in_order(self) -> None:
        pair = Pair()
        pair.client.unary(UNARY, b"m")
        pair.exchange(1)
        pair.server.drain(2)
        pair.exchange(2)
        self.assertFalse(pair.client.accepts_calls)
        self.assertFalse(pair.server.half_close or pair.client.closed)
        pair.there.started[0].finish(b"r")
        pair.exchange(3)
        self.assertEqual(pair.here.ended_calls[0].status, OK)
        self.assertTrue(pair.client.closed)  # it did not ask
        self.assertTrue(pair.server.half_close)
        self.assertFalse(pair.server.closed)  # it reads to the end
        pair.server.end_of_stream(4)
        self.assertTrue(pair.server.closed)


class Deliveries(unittest.TestCase):
    def test_a_call_of_which_no_byte_left_is_not_sent_when_the_connection_is_lost(self) -> None:
        pair = Pair(exact=True)
        first = pair.client.unary(UNARY, b"m")
        second = pair.client.unary(UNARY, b"m")
        taken = pair.client.take()
        assert first and second
        pair.client.wrote(second.position - pair.client.output.written)
        self.assertLess(second.position, len(taken) + 16)
        pair.client.end_of_stream(1)
        self.assertEqual(first.status and first.status.delivery, Delivery.UNKNOWN)
        self.assertEqual(second.status and second.status.delivery, Delivery.NOT_SENT)

    def test_what_was_taken_counts_as_passed_on_unless_the_layer_below_is_exact(self) -> None:
        pair = Pair()
        first = pair.client.unary(UNARY, b"m")
        pair.client.take()
        second = pair.client.unary(UNARY, b"m")
        pair.client.end_of_stream(1)
        self.assertEqual(first and first.status and first.status.delivery, Delivery.UNKNOWN)
        self.assertEqual(second and second.status and second.status.delivery, Delivery.NOT_SENT)

    def test_a_cancelled_call_that_was_appended_is_unknown_for_its_bytes_will_leave(self) -> None:
        pair = Pair(exact=True)
        call = pair.client.unary(UNARY, b"m")
        assert call
        call.cancel()
        self.assertEqual(call.status and call.status.delivery, Delivery.UNKNOWN)
        self.assertEqual(frames(bytes(pair.client.take())), ["DEFINE", "CALL", "CANCEL"])

    def test_a_call_that_is_turned_away_after_credit_and_before_an_answer_was_refused(self) -> None:
        for answers, delivery in ((False, Delivery.REFUSED), (True, Delivery.UNKNOWN)):
            pair = Pair()
            out = pair.client.open(BOTH, None, end=False, single=False)
            assert out is not None
            pair.exchange(0)
            (call,) = pair.there.started
            pair.server.callee.on_credit(call.id, 1_000)
            if answers:
                call.send(b"x")
                with self.assertRaises(ValueError):
                    call.send_metadata(Metadata())
            pair.server.callee.turn_away(call, Status(Code.UNAVAILABLE, "no"), None)
            pair.exchange(0)
            assert out.status is not None
            self.assertEqual(out.status.delivery, delivery)

    def test_the_deadline_and_the_answer_have_one_outcome(self) -> None:
        pair = Pair()
        call = pair.client.unary(UNARY, b"m", deadline=1_000)
        pair.exchange(10)
        pair.there.started[0].finish(b"r")
        pair.client.tick(1_000)
        pair.exchange(1_001)
        self.assertEqual(len(pair.here.ended_calls), 1)
        self.assertEqual(call and call.status and call.status.code, Code.DEADLINE_EXCEEDED)
        self.assertEqual((pair.client.caller.open, pair.server.callee.open, pair.server.load.running), (0, 0, 0))

    def test_a_result_overdue_after_cancel_closes_the_connection_to_new_calls(self) -> None:
        pair = Pair()
        call = pair.client.unary(UNARY, b"m")
        assert call
        pair.client.take()
        call.cancel()
        pair.client.tick(29_999_999)
        self.assertTrue(pair.client.accepts_calls)
        self.assertEqual(pair.client.next_deadline(), 30_000_000)
        pair.client.tick(30_000_000)
        self.assertFalse(pair.client.accepts_calls)
        self.assertEqual(pair.here.overdues, 1)

    def test_a_connection_whose_result_is_overdue_closes_when_no_other_call_lives(self) -> None:
        pair = Pair()
        given_up, lives = pair.client.unary(UNARY, b"m"), pair.client.unary(UNARY, b"m")
        assert given_up and lives
        pair.exchange(0)
        given_up.cancel()
        pair.client.take()  # and the CANCEL is lost
        pair.client.tick(30_000_000)
        pair.client.take()
        self.assertFalse(pair.client.closed)
        pair.there.started[1].finish(b"r")
        pair.exchange(30_000_001)
        self.assertIsNotNone(lives.status)
        self.assertTrue(pair.client.closed)


class Limits(unittest.TestCase):
    def test_running_handlers_are_bounded_over_all_sessions_of_a_process(self) -> None:
        load = Load(running_limit=2)
        pairs = [Pair(load=load) for _ in range(3)]
        calls = [pair.client.unary(UNARY, b"m") for pair in pairs]
        for pair in pairs:
            pair.exchange(1)
        statuses = [call.status for call in calls if call]
        self.assertEqual(statuses[:2], [None, None])
        refused = statuses[2]
        assert refused
        self.assertEqual((refused.code, refused.delivery), (Code.RESOURCE_EXHAUSTED, Delivery.REFUSED))
        self.assertGreaterEqual(refused.retry_after, 0.001)
        pairs[0].there.started[0].finish(b"r")
        self.assertEqual(load.running, 1)

    def test_a_handler_that_ignores_its_end_counts_until_it_returns(self) -> None:
        pair = Pair()
        call = pair.client.unary(UNARY, b"m")
        assert call
        pair.exchange(1)
        call.cancel()
        pair.exchange(2)
        self.assertEqual(pair.there.stopped_calls, pair.there.started)
        self.assertEqual((pair.server.callee.open, pair.server.load.running), (0, 1))
        pair.there.started[0].finish(b"late")
        self.assertEqual(pair.server.load.running, 0)
        self.assertEqual(bytes(pair.server.take()), b"")

    def test_what_the_peer_would_not_take_is_not_sent(self) -> None:
        pair = Pair(own=Settings(max_message=10))
        with self.assertRaisesRegex(LimitError, "max_message 10:"):
            pair.client.unary(UNARY, bytes(11))
        stream = pair.client.open(BOTH, None, end=False)
        assert stream
        with self.assertRaises(LimitError):
            stream.send(bytes(11))
        with self.assertRaises(ValueError):
            stream.send(b"m", 1)
        pair.exchange(1)
        self.assertIsNone(stream.status)

    def test_pings_that_are_not_answered_fast_enough_are_a_flood(self) -> None:
        pair = Pair()
        ping = bytes.fromhex("00000007000000000000000000000000")
        pair.server.receive(ping * 1_024, 1)
        self.assertFalse(pair.server.half_close)
        pair.server.take()
        pair.server.receive(ping, 1)  # taken, but not written
        self.assertTrue(pair.server.half_close)


class Writing(unittest.TestCase):
    def stream(self, pair: Pair) -> tuple[OutgoingCall, IncomingCall]:
        call = pair.client.open(BOTH, None, end=False, single=False)
        pair.exchange(1)
        assert call
        return call, pair.there.started[-1]

    def test_small_messages_go_ahead_of_pieces_and_pieces_take_turns(self) -> None:
        pair = Pair()
        first, _ = self.stream(pair)
        second, _ = self.stream(pair)
        self.assertFalse(first.send(bytes(200_000)))
        self.assertFalse(second.send(bytes(200_000)))
        pair.client.unary(UNARY, b"m")
        data = bytes(pair.client.take())
        ids: list[tuple[str, int]] = []
        at = 0
        while at < len(data):
            w0: int = HEADER.unpack_from(data, at)[0]
            ids.append((TYPE_NAMES[w0 >> 24], HEADER.unpack_from(data, at)[1]))
            at += 16 + (w0 & 0xFFFFFF)
        self.assertEqual([name for name, _ in ids][:2], ["DEFINE", "CALL"])
        self.assertEqual([word for name, word in ids if name == "DATA"], [first.id, second.id])
        more = bytes(pair.client.take())
        self.assertEqual(frames(more), ["DATA"])  # 128 KiB are unsent: no more than one piece a write

    def test_a_stream_alone_fills_a_mebibyte(self) -> None:
        pair = Pair(own=Settings())
        call, _ = self.stream(pair)
        assert call.sending
        call.sending.window = 4 << 20
        call.send(bytes(3 << 20))
        self.assertGreaterEqual(len(pair.client.take()), 1 << 20)

    def test_a_message_of_a_mebibyte_leaves_with_one_write(self) -> None:
        pair = Pair(own=Settings())
        call, _ = self.stream(pair)
        assert call.sending
        call.sending.window = 4 << 20
        call.send(bytes((1 << 20) + 5))  # with what a codec puts around a mebibyte
        self.assertGreater(len(pair.client.take()), (1 << 20) + 5)
        self.assertEqual(len(pair.client.take()), 0)

    def test_a_sender_without_credit_is_told_when_it_may_go_on(self) -> None:
        pair = Pair()
        call, served = self.stream(pair)
        self.assertFalse(call.send(bytes(400_000)))
        pair.exchange(2)
        self.assertEqual(pair.here.writables, [call])  # pieces are credited as they are put together
        self.assertFalse(call.send(bytes(300_000)))
        pair.exchange(3)
        self.assertEqual(len(pair.here.writables), 1)  # the first message is not consumed
        taken = served.take_message()
        self.assertEqual(taken and len(taken[0]), 400_000)
        pair.exchange(4)
        self.assertEqual(len(pair.here.writables), 2)

    def test_streams_that_end_while_they_wait_for_credit_leave_nothing(self) -> None:
        pair = Pair(own=Settings(pool=0))
        for _ in range(3):
            out, _ = self.stream(pair)
            for _ in range(5):
                out.send(bytes(60_000))
            pair.exchange(1)
            self.assertEqual(len(pair.client.sender.line), 1)
            out.cancel()
            self.assertFalse(pair.client.sender.line)
            pair.exchange(1)

    def test_at_most_one_credit_of_a_stream_is_unsent(self) -> None:
        pair = Pair()
        call, served = self.stream(pair)
        for _ in range(3):
            call.send(bytes(60_000))
        pair.exchange(2)
        for _ in range(3):
            served.take_message()
        self.assertEqual(frames(bytes(pair.server.take())), ["CREDIT"])  # not written yet
        data = HEADER.pack(DATA << 24 | 60_000, call.id, 1 << 24 | 2 << 16, 0) + bytes(60_000)
        pair.server.receive(data * 3, 3)
        for _ in range(3):
            served.take_message()
        self.assertEqual(bytes(pair.server.take()), b"")
        pair.server.wrote(16)
        w0, _, _, w3 = HEADER.unpack_from(bytes(pair.server.take()))
        self.assertEqual((w0, w3), (CREDIT << 24, 180_048))

    def test_a_result_waits_for_the_messages_before_it(self) -> None:
        pair = Pair()
        call, served = self.stream(pair)
        served.send(bytes(300_000))
        served.finish(status=Status(Code.NOT_FOUND, "behind"))
        pair.exchange(2)
        self.assertEqual(call.status and call.status.message, "behind")
        taken = call.take_message()
        self.assertEqual(taken and len(taken[0]), 300_000)
        self.assertEqual(pair.client.share.promised, 0)

    def test_a_cancel_overtakes_them(self) -> None:
        pair = Pair()
        call, served = self.stream(pair)
        served.send(bytes(3 << 20))
        served.finish(b"last")
        names = self.one_write(pair)
        self.assertNotIn("RESULT", names)
        call.cancel()
        pair.exchange(2)
        self.assertEqual((pair.client.caller.open, pair.server.callee.open, pair.server.load.running), (0, 0, 0))

    def one_write(self, pair: Pair) -> list[str]:
        data = bytes(pair.server.take())
        pair.server.wrote(len(data))
        pair.client.receive(data, 1)
        return frames(data)

    def test_a_slot_is_free_when_its_result_has_moved_to_the_writer(self) -> None:
        pair = Pair()
        pair.client.unary(UNARY, b"m")
        pair.exchange(1)
        pair.there.started[0].finish(b"r")
        again = HEADER.pack(2 << 24 | 1, 2 << 20 | 1, 1 << 24 | 3 << 16 | 1, 0) + b"m"
        pair.server.receive(again, 2)
        self.assertTrue(pair.server.half_close)  # its RESULT cannot have been read yet
        self.assertEqual(frames(bytes(pair.server.take())), ["RESULT", "GOAWAY"])
