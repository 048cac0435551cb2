"""What happens when a transport takes no more, and when it takes more again."""

from __future__ import annotations

import asyncio
import unittest
from typing import Any
from unittest import mock

from tests.public.kit import eventually
from trunkcall.transport import Connection, ConnectionEvents, clock
from trunkcall.transport.connection import HIGH_WATER, STALL, STALL_LOOK
from trunkcall.wire import Config, Events, IncomingCall, Method, OutgoingCall, Session

BOTH = b"/t.S/Both"
MESSAGE = bytes(65_520)  # costs a quarter of a window


class Stuck(asyncio.Transport):
    """A transport whose peer reads only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = bytearray()
        self.aborted = False
        self.unbounded = False  # it takes all that it is given
        self.connection: Connection | None = None

    def write(self, data: Any) -> None:
        self.buffer += data
        assert self.connection is not None
        if len(self.buffer) > HIGH_WATER and not self.unbounded:
            self.connection.pause_writing()

    def read(self) -> bytes:
        """All that was written; more may be."""
        data = bytes(self.buffer)
        self.buffer.clear()
        assert self.connection is not None
        self.connection.resume_writing()
        return data

    def get_write_buffer_size(self) -> int:
        return len(self.buffer)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def close(self) -> None:
        pass

    def abort(self) -> None:
        self.aborted = True


class Server(Events):
    """The other side, as a session."""

    def __init__(self) -> None:
        self.started: list[IncomingCall] = []
        config = Config(keepalive=0)
        methods = {BOTH: Method(BOTH, takes_one=False)}
        self.session = Session(self, initiator=False, now=clock(), config=config, methods=methods)

    def start(self, call: IncomingCall) -> None:
        self.started.append(call)

    def receive(self, data: bytes) -> None:
        self.session.receive(data, clock())
        self.session.dispatch(clock())

    def answer(self) -> bytes:
        data = bytes(self.session.take())
        self.session.wrote(len(data))
        return data


class Backpressure(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.transport, self.server = Stuck(), Server()
        loop = asyncio.get_running_loop()
        self.connection = Connection(loop, ConnectionEvents(), initiator=True, config=Config(keepalive=0))
        self.transport.connection = self.connection
        self.connection.connection_made(self.transport)
        self.addCleanup(self.connection.connection_lost, None)
        self.carry()
        self.carry()

    def carry(self) -> None:
        self.server.receive(self.transport.read())
        if data := self.server.answer():
            self.connection.data_received(data)

    def open(self) -> OutgoingCall:
        call = self.connection.session.open(BOTH, None, end=False, single=False)
        assert call is not None
        self.connection.flush()
        self.carry()
        return call

    async def test_withheld_credit_goes_when_it_ends(self) -> None:
        call = self.open()
        server_call = self.server.started[0]

        def consume() -> None:
            for _ in range(2):
                server_call.send(MESSAGE)
            self.carry_back()
            for _ in range(2):
                self.assertIsNotNone(call.take_message())

        self.assertEqual(self.connection.session.granter.due, {})
        consume()
        for _ in range(3):  # so that the CREDIT leaves with what fills the transport
            call.send(MESSAGE)
        self.connection.flush()
        self.assertTrue(self.connection._full)
        consume()
        self.assertIn(call, self.connection.session.granter.due)
        self.transport.read()
        self.assertEqual(self.connection.session.granter.due, {}, "the credit still waits")

    def carry_back(self) -> None:
        self.connection.data_received(self.server.answer())

    async def test_queued_messages_go_when_it_ends(self) -> None:
        calls = [self.open() for _ in range(8)]
        for call in calls:
            for _ in range(3):
                call.send(MESSAGE)
        self.connection.flush()
        self.assertTrue(self.connection._full)
        self.assertTrue(self.connection.session.sender.ready)
        self.transport.read()
        self.assertFalse(self.connection.session.sender.ready, "a message still waits")

    async def test_one_turn_of_the_loop_writes_no_more_than_so_much_and_others_the_rest(self) -> None:
        calls = [self.open() for _ in range(8)]
        self.transport.unbounded = True
        for call in calls:
            for _ in range(3):
                call.send(MESSAGE)
        with mock.patch("trunkcall.transport.connection.TURN", 1 << 20):
            self.connection.flush()
            self.assertTrue(self.connection.session.sender.ready, "all went in one turn")
            await eventually(lambda: len(self.transport.buffer) >= 24 * len(MESSAGE))
        self.assertFalse(self.connection.session.sender.ready)

    def stop_clock(self) -> None:
        self.now = clock()
        patch = mock.patch("trunkcall.transport.connection.clock", lambda: self.now)
        patch.start()
        self.addCleanup(patch.stop)

    def pass_time(self, time: int) -> None:
        """Has the connection's timer run at each look for so many µs."""
        for _ in range(0, time, STALL_LOOK):
            self.now += STALL_LOOK
            self.connection._timer_at = self.now
            self.connection._tick()

    async def test_a_peer_that_reads_nothing_for_too_long_is_left(self) -> None:
        self.stop_clock()
        call = self.open()
        for message in (b"less than the transport takes", MESSAGE * 3):
            self.transport.aborted = False
            call.send(message)
            self.connection.flush()
            self.pass_time(STALL // 2)
            del self.transport.buffer[:1]  # it reads again, however little
            self.pass_time(STALL)
            self.assertFalse(self.transport.aborted, "it did read")
            self.pass_time(STALL_LOOK)
            self.assertTrue(self.transport.aborted)
            self.assertIn("read nothing for 60 s", self.connection.why)
            self.transport.read()
            self.pass_time(STALL_LOOK)

    async def test_a_peer_that_has_read_all_may_be_silent(self) -> None:
        self.stop_clock()
        self.open().send(MESSAGE * 3)
        self.connection.flush()
        self.transport.read()
        self.pass_time(2 * STALL)
        self.assertFalse(self.transport.aborted)
