"""What connections of HTTP/1.1 and HTTP/2 have in common: what the layer above sees of one, its memory and its time."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import Any, cast

from trunkcall.transport import clock
from trunkcall.transport.connection import HIGH_WATER, LOW_WATER, STALL, bound_unacknowledged
from trunkcall.transport.figures import Figures
from trunkcall.transport.halfclose import half_close
from trunkcall.transport.target import spelled
from trunkcall.wire import CallFault, Code
from trunkcall.wire.budget import Share

from .fields import Fields
from .refusal import Refusal
from .stream import ANSWERED, Events, HttpConfig, Receiver

TICK = 1.0  # seconds between looks at what takes too long
LINGER = 1_000_000  # µs in which what still comes is read, behind the last output
IDLE = 15 * 60_000_000  # µs without a request
NOT_READ = "the peer has read nothing for 60 s of what is there for it"


class Line(asyncio.Protocol):
    """One connection. Its loop owns it."""

    makes_calls = False  # the server cannot call its client over it
    multiplexed = False  # it is HTTP/2

    transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop, config: HttpConfig, since: int) -> None:
        """`since`: when it was accepted, by `clock`."""
        self.loop = loop
        self.config = config
        self.began = since
        self.session = config.terms[0]
        self.events: Events = config.events()
        self.events.connection = self
        self.scheduled = False
        self.lost = False
        self.draining = False
        self.fault: Exception | None = None  # of the socket, by which it was lost
        self.why = ""
        self.remote = self.local = ""
        self.tls: ssl.SSLObject | None = None
        self.full = False  # the transport wants no more for now
        self.running = 0  # handlers, those included that outlive their requests
        self.holding: dict[LineStream, None] = {}  # requests that hold memory, the oldest first
        self.share = Share(config.load.budget, config.session.incomplete_bytes, self.unsent, self._relieve)
        self._ticking: asyncio.TimerHandle | None = None
        self._lingering = 0  # since when
        self._unsent_before = 0
        self._moved = since

    # What the loop calls, and who hands the connection over.

    def take_over(self, transport: asyncio.Transport, data: bytes) -> None:
        """Begins, with what was read."""
        transport.set_protocol(self)
        self.connection_made(transport)
        self.data_received(data)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = made = cast(asyncio.Transport, transport)  # other loops have classes of their own
        made.set_write_buffer_limits(HIGH_WATER, LOW_WATER)
        self.remote = spelled(made.get_extra_info("peername"))
        self.local = spelled(made.get_extra_info("sockname"))
        self.tls = made.get_extra_info("ssl_object")
        raw: Any = made.get_extra_info("socket")
        if raw is not None and raw.family in (socket.AF_INET, socket.AF_INET6):
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.multiplexed:  # clients of HTTP/1.1 may pause for longer
                bound_unacknowledged(raw, self.config.session.keepalive, self.config.session.keepalive_answer)
        self._ticking = self.loop.call_later(TICK, self._tick)

    def meet(self) -> None:
        """Tells the layer above of the connection."""
        self.events.connected()
        self.events.opened()

    def eof_received(self) -> bool:
        """A caller whose end of the connection has ended, if only one way, counts as gone."""
        self.abort("closed")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self.fault = exc
        if self._ticking is not None:
            self._ticking.cancel()
        self.gone()
        self.share.close()
        if self.is_known:
            self.events.disconnected(self.why or (str(exc) if exc is not None else "closed"))

    def pause_writing(self) -> None:
        self.full = True

    def resume_writing(self) -> None:
        self.full = False
        self.room()
        self.schedule()

    # What kinds of HTTP have of their own.

    @property
    def is_known(self) -> bool:
        """Whether the layer above was told of it."""
        return True

    @property
    def calls(self) -> int:
        """Requests that are open."""
        raise NotImplementedError

    def gone(self) -> None:
        """The connection is lost: its calls are."""
        raise NotImplementedError

    def room(self) -> None:
        """The transport takes more."""
        raise NotImplementedError

    def look(self, now: int) -> None:
        """Looks at what takes too long."""
        raise NotImplementedError

    def drain(self) -> None:
        """Takes no more calls; closes when all are done."""
        raise NotImplementedError

    def grace_over(self) -> None:
        """Ends what is still open, tells the peer so, and closes."""
        raise NotImplementedError

    def overloaded(self) -> None:
        """It holds more output than its share, and its peer does not read."""
        self.abort("the peer does not read what it is sent")

    def flush(self) -> None:
        """Writes what was appended."""
        self.scheduled = False

    def unsent(self) -> int:
        """Bytes of output that were not written."""
        return 0 if self.lost or not hasattr(self, "transport") else self.transport.get_write_buffer_size()

    # What the layer above calls.

    def schedule(self) -> None:
        if not self.scheduled:
            self.scheduled = True
            self.loop.call_soon(self.flush)

    def abort(self, why: str) -> None:
        """Closes at once; what is unsent is dropped."""
        if not self.lost:
            self.why = self.why or why
            self.transport.abort()

    def shut(self, why: str) -> None:
        """Closes behind what was written."""
        if not self.lost:
            self.why = self.why or why
            self.transport.close()

    def linger(self) -> None:
        """Ends the output, and closes when the peer does, or soon: input that is unread at the close can make TCP throw
        away what was written last."""
        if not self.lost and not self._lingering:
            self._lingering = clock()
            if self.transport.can_write_eof():
                half_close(self.transport)

    def figures(self) -> Figures:
        unsent = self.unsent()
        state = "closed" if self.lost else "draining" if self.draining else "open"
        return Figures(state=state, calls_served=self.calls, unsent=unsent, held=unsent + self.share.held)

    # Memory.

    def account(self) -> None:
        """Draws on the memory for output that waits."""
        try:
            self.share.draw()
        except CallFault:
            if self.share.exceeded:
                self.overloaded()
        self.share.return_surplus()

    def _relieve(self, holder: object) -> bool:
        """Ends the request that has held something for longest, unless that is the given one."""
        oldest = next(iter(self.holding), None)
        if oldest is None or oldest is holder:
            return False
        del self.holding[oldest]
        text = f"messages and answers held would exceed memory {self.config.load.budget.limit}"
        oldest.give_up(text)
        return True

    # Time.

    def _tick(self) -> None:
        self._ticking = self.loop.call_later(TICK, self._tick)
        self.check(clock())

    def check(self, now: int) -> None:
        """Ends what has taken too long by this time."""
        waiting = self.transport.get_write_buffer_size()
        if not waiting or waiting != self._unsent_before:
            self._moved = now
        elif now - self._moved > STALL:
            self.abort(NOT_READ)
            return
        self._unsent_before = waiting
        if not self._lingering:
            self.look(now)
        elif waiting:
            self._lingering = now
        elif now - self._lingering > LINGER:
            self.transport.abort()


class LineStream:
    """A request's place on a connection, as far as both kinds of HTTP have it in common."""

    multiplexed = False
    most_trailers = 1 << 62
    version = "1.1"  # of HTTP

    def __init__(self, line: Line, bodiless: bool, expects: bool) -> None:
        """`bodiless`: HEAD. `expects`: it waits for a go-ahead."""
        self.line = line
        self.receiver: Receiver = ANSWERED
        self.bodiless = bodiless
        self.expects = expects
        self.answered = False
        self.request_ended = False
        self.began = self.running = False  # its handler
        self.held = 0  # bytes, beside output
        self.promised = 0
        self.extra: Fields = []

    def add(self, name: str, value: str) -> None:
        self.extra.append((name, value))

    def head(self, status: int, fields: Fields, end: bool = False) -> None:
        raise NotImplementedError

    def write(self, data: bytes) -> bool:
        raise NotImplementedError

    def end(self, trailers: Fields | None = None) -> None:
        raise NotImplementedError

    def consumed(self, credit: int) -> None:
        raise NotImplementedError

    def proceed(self) -> None:
        raise NotImplementedError

    def handler_began(self) -> None:
        self.began = self.running = True
        self.line.running += 1

    def handler_returned(self) -> None:
        self.running = False
        self.line.running -= 1

    def abandoned(self) -> None:
        pass

    def break_off(self, why: str) -> None:
        """Ends an answer that has begun, so that nobody takes it for whole."""
        raise NotImplementedError

    def give_up(self, text: str) -> None:
        """Ends for want of memory."""
        self.receiver.cut_off(Code.RESOURCE_EXHAUSTED, text, soon=True)

    # Memory.

    def hold(self, size: int) -> None:
        """Counts bytes. Raises Refusal when memory is full."""
        line = self.line
        try:
            line.share.hold(size, self)
        except CallFault as full:
            raise Refusal(Code.RESOURCE_EXHAUSTED, full.text, soon=True) from None
        if not self.held:
            line.holding[self] = None
        self.held += size

    def let_go(self, size: int) -> None:
        size = min(size, self.held)
        if size:
            self.held -= size
            self.line.share.let_go(size)
            if not self.held:
                self.line.holding.pop(self, None)

    def let_go_all(self) -> None:
        self.let_go(self.held)
        self.promise(0)

    def promise(self, size: int) -> None:
        """Counts what a message will come to, in place of the one before. Raises Refusal."""
        share = self.line.share
        share.promised -= self.promised
        self.promised = 0
        if size:
            try:
                share.promise(size)
            except CallFault as full:
                raise Refusal(Code.RESOURCE_EXHAUSTED, full.text, soon=True) from None
            self.promised = size
