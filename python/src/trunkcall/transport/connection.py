"""A connection: a wire session joined to an asyncio transport.

All of it runs on the event loop's thread. What calls append in one turn of the loop is written in one write: whoever
appends calls `schedule`, and `flush` runs once, behind the callbacks that are due before it. The connections of a
client's loop are written together (`flushes`).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping
from typing import Any, cast
from weakref import WeakKeyDictionary

from trunkcall.wire import NEVER, Config, Events, Method, OutgoingCall, Session

from . import monotonic
from .figures import Figures
from .flushes import flushes_of
from .halfclose import half_close
from .monotonic import clock
from .target import spelled

# What the loop's buffer holds before the session keeps the rest (limits.md 2: pieces of large messages).
HIGH_WATER = 128 << 10
LOW_WATER = 32 << 10
STALL = 60_000_000  # µs in which the peer reads nothing of what is there for it (limits.md 2)
STALL_LOOK = 10_000_000  # µs between two looks whether it has
UNACKNOWLEDGED = 60_000_000  # µs, at least, in which the peer's system acknowledges nothing (limits.md 3)
LINGER = 10.0  # seconds for the last bytes to leave before the transport is aborted
STOOD_STILL = 1_000_000  # µs by which a timer is late when the process was suspended, or something blocked the loop
TURN = 4 << 20  # bytes given to the transport in one turn of the loop, so that other connections and timers get theirs
_USER_TIMEOUT: int | None = getattr(socket, "TCP_USER_TIMEOUT", None)
_ROUNDING = 500e-6  # seconds; some loops count timers in whole milliseconds, to the nearest one

_NO_METHODS: dict[bytes, Method] = {}


# What the connections of a loop read into, one after the other: memory that was never touched is slower than reading.
READ = 256 << 10
COPIED = 32 << 10  # what is read at once and is no more than this is copied, in one piece
_inputs: WeakKeyDictionary[asyncio.AbstractEventLoop, memoryview] = WeakKeyDictionary()


def _input_of(loop: asyncio.AbstractEventLoop) -> memoryview:
    found = _inputs.get(loop)
    if found is None:
        found = _inputs[loop] = memoryview(bytearray(READ))
    return found


def bound_unacknowledged(raw: Any, interval: int, answer_time: int) -> None:
    """Has the system end the connection of a socket of TCP whose peer acknowledges nothing (limits.md 3). Both times
    are those of keepalive, in µs; nothing is done without it, nor where the socket's maker has said how long."""
    if _USER_TIMEOUT is not None and interval and not raw.getsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT):
        longest = max(interval + answer_time, UNACKNOWLEDGED)
        raw.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, min(longest // 1_000, 0x7FFFFFFF))


class ConnectionEvents(Events):
    """What the layer above is told of one connection, beside the events of its session. `connection` is set when the
    connection is made."""

    connection: Connection

    def relieved(self) -> None:
        self.connection.schedule()

    def connected(self) -> None:
        """The transport is there, with TLS its handshake is done; the peer has not been heard of."""

    def disconnected(self, why: str) -> None:
        """The transport is gone. All calls have ended before. Once, after `connected`."""


class Connection(asyncio.BufferedProtocol):
    """A session on a transport. Owned by one event loop and used only from its thread.

    After something was appended to `session`, call `schedule` to have it written. `scheduled` may be read to save the
    call."""

    makes_calls = True  # the peer can be called over it

    __slots__ = (
        "_close_timer",
        "_ended",
        "_flushes",
        "_full",
        "_input",
        "_look_at",
        "_loop",
        "_moved",
        "_moved_at",
        "_put_off",
        "_timer",
        "_timer_at",
        "_unsaid",
        "_wrote_eof",
        "began",
        "end",
        "fault",
        "local",
        "lost",
        "remote",
        "scheduled",
        "session",
        "tls",
        "transport",
        "why",
    )

    transport: asyncio.Transport

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        end: ConnectionEvents,
        *,
        initiator: bool,
        config: Config,
        methods: Mapping[bytes, Method] = _NO_METHODS,
        since: int | None = None,
    ) -> None:
        """`since`: when the handshake began, by `clock`; now if not given."""
        self._loop = loop
        self._input = _input_of(loop)
        self.end = end
        now = clock() if since is None else since
        self.session = Session(end, initiator=initiator, now=now, config=config, methods=methods)
        self.began = now
        self.scheduled = False
        self.lost = False
        self.fault: Exception | None = None  # of the socket, by which it was lost
        self.why = ""  # the error that ended the session, if it was one
        self.remote = self.local = ""
        self.tls: ssl.SSLObject | None = None
        self._flushes = flushes_of(loop) if initiator else None
        self._full = False  # the transport wants no more for now
        self._unsaid = 0  # bytes given to the transport that the session thinks unsent
        self._look_at = NEVER  # when to look whether the peer reads; not while all is with the system
        self._moved = 0  # bytes that the transport has passed on, as far as it was looked at
        self._moved_at = 0  # when that was last seen to grow
        self._wrote_eof = False
        self._ended = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = NEVER
        self._put_off = False  # the timer was late, and what is due was put off by one turn of the loop
        self._close_timer: asyncio.TimerHandle | None = None

    # What the loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = made = cast(asyncio.Transport, transport)  # other loops have classes of their own
        made.set_write_buffer_limits(HIGH_WATER, LOW_WATER)
        self.remote = self.session.remote = spelled(made.get_extra_info("peername"))
        self.local = spelled(made.get_extra_info("sockname"))
        self.tls = made.get_extra_info("ssl_object")
        raw: Any = made.get_extra_info("socket")
        if raw is not None and raw.family in (socket.AF_INET, socket.AF_INET6):
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            lifecycle = self.session.lifecycle
            bound_unacknowledged(raw, lifecycle.interval, lifecycle.answer_time)
        self.end.connection = self
        self.end.connected()
        self.flush()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._input

    def buffer_updated(self, nbytes: int) -> None:
        data = self._input[:nbytes]
        self.data_received(data if nbytes > COPIED else bytes(data))

    def data_received(self, data: bytes | memoryview) -> None:
        """Takes in what was read. The memory of a memoryview is used again afterwards."""
        session = self.session
        session.receive(data, monotonic.nanoseconds() // 1_000)
        if session.callee.ready:
            session.dispatch(monotonic.nanoseconds() // 1_000)
        flushes = self._flushes
        if session.output.buffer and (flushes is None or not self.scheduled):
            self.flush()
        if flushes is not None:
            flushes.came(self._loop)
        self.schedule()  # behind the tasks that were woken just now

    def eof_received(self) -> bool:
        self.session.end_of_stream(clock())
        self.flush()
        return self.tls is None and not self._ended  # a TLS transport closes by itself

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self.fault = exc
        why = str(exc) if exc is not None else "closed"
        self.session.lost(clock(), self.why or f"the connection was lost: {why}" if exc else self.why or why)
        for timer in (self._timer, self._close_timer):
            if timer is not None:
                timer.cancel()
        self._timer_at = NEVER
        self.end.disconnected(self.why or why)

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._account(0)
        self.flush()

    # What the layer above calls.

    def schedule(self) -> None:
        """Writes what was appended, in this turn of the loop or the next one; to several connections of a client a few
        turns later."""
        if not self.scheduled:
            if self._flushes is None:
                self._loop.call_soon(self.flush)
            else:
                self._flushes.add(self, self._loop)
            self.scheduled = True

    @property
    def calls(self) -> int:
        """Those of this side that are open."""
        return self.session.caller.open

    def give_up(self, call: OutgoingCall) -> None:
        """Ends a call of this side, if it has not ended, and drops answers that nobody will take."""
        self.session.now = clock()
        call.cancel()
        call.discard()
        self.schedule()

    def drain(self) -> None:
        """Asks the peer to open no more calls; closes when all are done (protocol.md 11.4, 11.5). Handlers that are to
        finish may still call."""
        self.session.drain(clock(), calling=True)
        self.flush()

    def retire(self) -> None:
        """It has reached its age."""
        self.drain()

    def grace_over(self) -> None:
        """Ends what is still open, tells the peer so, and closes."""
        self.session.grace_over(clock())
        self.flush()

    def shut(self, why: str) -> None:
        """Closes behind what was appended, without waiting for the peer; gives up after a while."""
        if not self.lost:
            self.why = self.why or why
            self.flush()
            self._close()

    def abort(self, why: str) -> None:
        """Closes at once; what is unsent is dropped."""
        if not self.lost:
            self.why = self.why or why
            self.transport.abort()

    def figures(self) -> Figures:
        session = self.session
        unsent = session.output.unsent
        return Figures(
            state="closed" if self.lost else "open" if session.accepts_calls else "draining",
            round_trip=session.lifecycle.round_trip / 1e6,
            calls_made=session.caller.open,
            calls_served=session.callee.open,
            unsent=unsent,
            held=unsent + session.share.held,
            withheld=session.withheld_credit,
            pool=session.pool.kept,
            pool_held=session.pool.charged,
        )

    # Writing and time.

    def flush(self) -> None:
        """Writes what was appended, now."""
        self.scheduled = False
        if self.lost:
            return
        session = self.session
        session.now = monotonic.nanoseconds() // 1_000
        if not self._full and not self._wrote_eof:
            self._write()
        lifecycle = session.lifecycle
        if (lifecycle.half_close or lifecycle.done) and not self.scheduled:  # else there may be more to write
            self._end()
        due = min(session.next_deadline(), self._look_at)
        if due < self._timer_at:
            self._arm(due)

    def _write(self) -> None:
        session, transport = self.session, self.transport
        data = session.take()
        given = 0
        while data:
            given += len(data)
            self._unsaid += len(data)
            transport.write(data)
            if self._full:
                self._account(transport.get_write_buffer_size())
                self._watch()
                return
            self._account(0)
            if given >= TURN:
                self.schedule()
                break
            data = session.take()
        if self._look_at == NEVER and transport.get_write_buffer_size():
            self._watch()

    def _account(self, unsent: int) -> None:
        """Tells the session what has left; what the loop buffers below its mark counts as left."""
        left = self._unsaid - unsent
        if left > 0:
            self._unsaid = unsent
            self.session.wrote(left)

    def _watch(self) -> None:
        """The transport has kept something of what it was given."""
        if self._look_at == NEVER:
            now = self._moved_at = clock()
            self._moved = self._passed_on()
            self._look_at = now + STALL_LOOK

    def _passed_on(self) -> int:
        return self.session.output.taken - self.transport.get_write_buffer_size()

    def _look(self, now: int) -> None:
        """Ends the connection if its peer has read nothing for too long."""
        moved = self._passed_on()
        if moved > self._moved:
            self._moved, self._moved_at = moved, now
        elif now - self._moved_at >= STALL:
            self.abort(f"the peer has read nothing for {STALL // 1_000_000} s of what is there for it")
        self._look_at = now + STALL_LOOK if self.transport.get_write_buffer_size() else NEVER

    def _end(self) -> None:
        """Half-closes or closes, as the session says, once all is with the transport."""
        if self._full and self._close_timer is None:
            self._close_timer = self._loop.call_later(LINGER, self.abort, "the last bytes could not be sent")
        if self._full or self._ended:
            return
        session = self.session
        if session.closed or not self.transport.can_write_eof():
            self._close()
        elif not self._wrote_eof:
            self._wrote_eof = True
            half_close(self.transport)

    def _close(self) -> None:
        self._ended = True
        self._look_at = NEVER
        self._wrote_eof = True
        self.transport.close()
        if self._close_timer is None:
            self._close_timer = self._loop.call_later(LINGER, self.abort, "the connection did not close")

    def _arm(self, due: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = due
        self._timer = self._loop.call_later(max(due - clock(), 0) / 1e6 + _ROUNDING, self._tick)

    def _tick(self) -> None:
        self._timer = None
        now = clock()
        if now - self._timer_at > STOOD_STILL and not self._put_off:
            self._put_off = True  # once: on a starved machine every turn of the loop may be so late
            self._arm(now)  # the process did: what has come meanwhile is read before anybody is judged by the time
            return
        self._put_off = False
        self._timer_at = NEVER
        self.session.tick(now)
        if now >= self._look_at:
            self._look(now)
        self.flush()
