"""What a transport needs of a session beside its bytes: when the peer is known, when the connection is gone."""

from __future__ import annotations

import unittest

from trunkcall.wire import (
    PREFACE_SIZE,
    Code,
    Delivery,
    Events,
    IncomingCall,
    Metadata,
    Method,
    OutgoingCall,
    Session,
    not_served,
)

NAME = b"/a/b"


class Noting(Events):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def opened(self) -> None:
        self.seen.append("opened")

    def ended(self, call: OutgoingCall) -> None:
        self.seen.append("ended")

    def stopped(self, call: IncomingCall) -> None:
        self.seen.append("stopped")

    def failed(self, kind: str, text: str) -> None:
        self.seen.append(f"failed {kind}")


class Serving(Noting):
    call: IncomingCall

    def start(self, call: IncomingCall) -> None:
        self.call = call


class Endpoints(unittest.TestCase):
    def setUp(self) -> None:
        self.caller, self.callee = Noting(), Serving()
        self.client = Session(self.caller, initiator=True, now=0)
        self.server = Session(self.callee, initiator=False, now=0, methods={NAME: Method(NAME, takes_one=True)})

    def carry(self) -> None:
        for _ in range(3):
            self.server.receive(bytes(self.client.take()), 1)
            self.server.dispatch(self.server.now)
            self.client.receive(bytes(self.server.take()), 1)

    def test_each_side_is_told_once_that_the_other_is_known(self) -> None:
        self.assertEqual(self.caller.seen, [])
        self.carry()
        self.carry()
        self.assertEqual((self.caller.seen, self.callee.seen), (["opened"], ["opened"]))

    def test_of_a_lost_connection_what_was_not_taken_was_not_sent(self) -> None:
        first = self.client.unary(NAME, b"1")
        self.carry()
        second = self.client.unary(NAME, b"2")
        self.client.lost(2, "the cable was cut")
        self.assertIsNotNone(first and second)
        deliveries = [call.status.delivery for call in (first, second) if call and call.status]
        self.assertEqual(deliveries, [Delivery.UNKNOWN, Delivery.NOT_SENT])
        self.assertIn("the cable was cut", first.status.message if first and first.status else "")
        self.assertTrue(self.client.closed)
        self.assertEqual(self.client.take(), b"")

    def test_the_end_of_stream_stops_handlers_whatever_the_peer_announced(self) -> None:
        self.client.unary(NAME, b"1")
        self.carry()
        self.client.lifecycle.acknowledge()
        self.carry()
        self.server.end_of_stream(2)
        self.assertEqual(self.callee.seen.count("stopped"), 1)
        self.server.lost(3, "reset")
        self.assertEqual(self.callee.seen.count("stopped"), 1)

    def test_early_metadata_stays_with_its_call(self) -> None:
        call = self.client.unary(NAME, b"1")
        self.carry()
        self.callee.call.send_metadata(Metadata([("k", "v")]))
        self.carry()
        self.assertEqual(call.header.entries if call else None, [("k", "v")])

    def test_who_is_not_served_is_told_that_nothing_ran(self) -> None:
        call = self.client.unary(NAME, b"1")
        self.client.take()
        self.client.receive(not_served("use TLS"), 1)
        status = call.status if call else None
        self.assertIsNotNone(status)
        if status is not None:
            self.assertEqual(
                (status.code, status.delivery, status.retry_after), (Code.UNAVAILABLE, Delivery.REFUSED, 0)
            )
            self.assertIn("use TLS", status.message)
        self.assertGreater(len(not_served("")), PREFACE_SIZE)


if __name__ == "__main__":
    unittest.main()
