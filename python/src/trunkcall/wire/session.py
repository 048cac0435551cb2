"""A session: all calls of one connection. Bytes in, calls on Events and bytes out; time is a parameter.

The layer that owns the transport does, on the session's one thread or under one lock:

    session.receive(data, now)     whenever bytes have come; then, when no more can be read at once,
    session.dispatch(now)          which starts what was read (protocol.md 10)
    session.tick(now)              at session.next_deadline() at the latest
    session.end_of_stream(now)     when the peer sends no more
    session.lost(now, text)        when the connection broke, or both directions have ended
    data = session.take()          after any of these and after calls on streams, until it is empty, but not while the
    session.wrote(len(data))       transport is full; `wrote` as the bytes leave
    session.half_close             when set and all is written: end the output
    session.closed                 when set and all is written: close the transport

`now` is in whole microseconds of a clock that does not jump. `session.now` is the last one given; set it before calls
are opened, sent on or cancelled, whose times count from then.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from heapq import heappop
from typing import Any

from .budget import FREE_SHARE, Share
from .callee import Callee
from .caller import Caller
from .config import Config
from .events import Events
from .fault import CallFault, MessageTooLarge
from .frame import HEADER, INITIATOR_BIT, MESSAGE_COST
from .lifecycle import CLOSED, CLOSING, Lifecycle
from .metadata import Metadata
from .output import Output
from .pool import Pool
from .preface import INITIAL_WINDOW, Preface
from .reading import Reader
from .relief import relieve
from .send import Sender
from .settings import DEFAULTS, known_codecs
from .stream import ABANDONED, Call, Method, OutgoingCall
from .underway import Granter, UnderWay

_NO_METHODS: dict[bytes, Method] = {}


class Session:
    """One side of one connection. Not thread-safe."""

    __slots__ = (
        "_config",
        "accepts_calls",
        "callee",
        "caller",
        "codec_list",
        "events",
        "granter",
        "initiator",
        "knows_codec",
        "lifecycle",
        "load",
        "now",
        "output",
        "own",
        "own_bit",
        "peer",
        "peer_preface",
        "peer_window",
        "plain_send",
        "pool",
        "reader",
        "remote",
        "sender",
        "settling",
        "share",
        "under_way",
        "window",
    )

    knows_codec: tuple[bool, ...]  # by number, both sides
    plain_send: int

    def __init__(
        self,
        events: Events,
        *,
        initiator: bool,
        now: int,
        config: Config | None = None,
        methods: Mapping[bytes, Method] = _NO_METHODS,
    ) -> None:
        config = config or Config()
        self._config = config
        self.events = events
        self.initiator = initiator
        self.remote = ""  # the peer's address, for people
        self.now = now
        self.own = config.settings
        self.codec_list = config.codec_list
        self.window = config.window
        self.peer = DEFAULTS
        self.peer_window = INITIAL_WINDOW
        self.peer_preface: Preface | None = None
        self.load = config.load
        self.output = Output(config.exact)
        self.share = Share(self.load.budget, config.incomplete_bytes, lambda: self.output.unsent, self._relieve)
        self.pool = Pool(self, self.own.pool, config.max_pool)
        self.own_bit = 0 if initiator else INITIATOR_BIT
        self.accepts_calls = initiator
        self.settling = False
        self.caller = Caller(self, self.own_bit)
        self.callee = Callee(self, methods, INITIATOR_BIT - self.own_bit)
        self.sender = Sender(self)
        self.granter = Granter(self)
        self.under_way = UnderWay(self)
        self.lifecycle = Lifecycle(self, config.keepalive, config.keepalive_answer)
        self.reader = Reader(self)
        self.learn_peer()

    # Opening calls.

    def unary(
        self, name: bytes, message: bytes, user: Any = None, codec: int = 1, deadline: int = 0
    ) -> OutgoingCall | None:
        """Opens a call with its one request and one answer. See `open`."""
        caller = self.caller
        method = caller.ids.get(name)
        free = caller.free
        if method is None or not free or len(message) > self.plain_send or not self.accepts_calls:
            return self.open(name, message, user, codec=codec, deadline=deadline)
        remaining = 0
        if deadline:
            remaining = deadline - self.now
            if remaining < 1 or remaining > 0xFFFFFFFF:
                return self.open(name, message, user, codec=codec, deadline=deadline)
            if deadline < caller.earliest:
                caller.earliest = deadline
        if not self.knows_codec[codec]:
            return self.open(name, message, user, codec=codec, deadline=deadline)
        slot = heappop(free)
        word = caller.words[slot]
        output = self.output
        buffer = output.buffer
        size = len(message)
        position = output.taken + len(buffer)
        call = OutgoingCall(self, word, codec, position, size + MESSAGE_COST, deadline, user)
        caller.calls[slot] = call
        caller.open += 1
        buffer += HEADER.pack(0x02000000 | size, word, codec << 24 | 0x030000 | method, remaining)
        buffer += message
        return call

    def open(
        self,
        name: bytes,
        message: bytes | None,
        user: Any = None,
        *,
        codec: int = 1,
        compression: int = 0,
        metadata: Metadata | None = None,
        deadline: int = 0,
        end: bool = True,
        single: bool = True,
        oneway: bool = False,
        inline: bool = False,
    ) -> OutgoingCall | None:
        """Opens a call of any kind: with its first message or None, half-closed at once if `end`. `single`: exactly one
        answer message is expected. `deadline` in µs of the session's clock, 0: none; past, the call ends at once.
        `inline` spends no method id on the name.

        None: it cannot be opened now. If `accepts_calls`, no slot is free, and Events.slot_free tells when to try
        again. Raises LimitError for what the peer does not accept, ValueError for what cannot be sent."""
        return self.caller.open_call(
            name,
            message,
            user,
            codec=codec,
            compression=compression,
            metadata=metadata,
            deadline=deadline,
            end=end,
            single=single,
            oneway=oneway,
            inline=inline,
        )

    def check_message(self, message: bytes, compression: int) -> None:
        """Raises LimitError or ValueError for a message that the peer would not take (protocol.md 12, limits.md 1)."""
        if len(message) > self.peer.max_message:
            raise MessageTooLarge(len(message), self.peer.max_message)
        if compression and (compression not in self.peer.compressions or not message):
            raise ValueError(f"compression {compression} of {len(message)} bytes: not listed by the peer, or empty")

    def serves_codec(self, codec: int) -> bool:
        """Whether `codec` is a number of this side's own."""
        return codec in self._config.codecs or codec in self.own.codecs

    # Writing.

    def take(self) -> bytearray:
        """The bytes to be written next, perhaps none. They count as passed on, unless Config.exact."""
        if self.granter.due:
            self.granter.append()
        if self.pool.due:
            self.pool.append_credit()
        if (self.sender.pieces or self.sender.singles) and self.lifecycle.state < CLOSING:
            self.sender.pump(self.caller.open + self.callee.open)
        if self.settling:
            self.lifecycle.settle()
        if self.callee.finished:
            self.callee.moved()
        return self.output.take()

    def wrote(self, size: int) -> None:
        """`size` more of the bytes taken have left the layer below."""
        self.output.wrote(size)
        if self.share.drawn:
            self.share.return_surplus()

    @property
    def half_close(self) -> bool:
        """Whether the output ends behind what was taken and what `take` still gives."""
        return self.lifecycle.half_close

    @property
    def closed(self) -> bool:
        """Whether nothing more is read: the transport is to be closed behind the last bytes."""
        return self.lifecycle.state == CLOSED or self.lifecycle.done

    def credit_due(self, call: Call) -> None:
        """Has a CREDIT appended with the next `take`."""
        self.granter.due[call] = None

    @property
    def withheld_credit(self) -> int:
        """The part of the open streams' windows that the peer may not use now: messages were not consumed, or their
        credit was not granted yet."""
        flows = [call.receiving for call in self.callee.calls if call is not None and not call.request_ended]
        flows += [call.receiving for call in self.caller.calls if call is not None and call.state < ABANDONED]
        return sum(max(flow.keep - flow.window, 0) for flow in flows if flow is not None)

    # Reading.

    def receive(self, data: bytes | memoryview, now: int) -> None:
        """Takes in bytes, however cut. Never raises for what is in them. Of a memoryview only copies are kept, so
        its memory may be used again afterwards; it is for large input."""
        self.now = now
        lifecycle = self.lifecycle
        lifecycle.received_at = now
        lifecycle.pinged = False
        if lifecycle.state < CLOSING:
            self.reader.receive(data)
        else:
            lifecycle.discarded(len(data))

    def learn_peer(self) -> None:
        """Makes the tables that follow from the peer's settings."""
        self.knows_codec = known_codecs(self.own, self.peer, self._config.codecs)
        self.plain_send = min(self.peer.max_frame_body, self.peer.max_message, self.peer_window - MESSAGE_COST)

    def dispatch(self, now: int) -> None:
        """Starts what was read, except calls whose time has run out by now (protocol.md 10)."""
        self.now = now
        self.callee.dispatch()
        if len(self.output.buffer) > FREE_SHARE:
            self._count_output()

    def _count_output(self) -> None:
        """What the peer does not read counts as held."""
        with suppress(CallFault):  # somebody else was to let go
            self.share.draw()

    def _relieve(self, holder: object) -> bool:
        return relieve(self, holder)

    def end_of_stream(self, now: int) -> None:
        """The peer sends no more."""
        self.now = now
        self.reader.drop()
        self.lifecycle.end_of_stream()

    def lost(self, now: int, text: str) -> None:
        """The connection is gone: what is unsent never leaves. `text` says why, for the calls that end so."""
        self.now = now
        self.reader.drop()
        self.lifecycle.lost(text)
        self.share.close()

    # Draining and time.

    def drain(self, now: int, *, calling: bool = False) -> None:
        """Asks the peer to open no more calls; what is open goes on (protocol.md 11.4). `calling`: this side may open
        some until none is open; else it says, with the end of its own calls at the latest, that it opens none."""
        self.now = now
        self.lifecycle.drain(calling)

    def grace_over(self, now: int) -> None:
        """Ends what is still open and closes (protocol.md 11.5)."""
        self.now = now
        self.lifecycle.grace_over()

    def tick(self, now: int) -> None:
        """Does what is due. Cheap when nothing is."""
        self.now = now
        if self.lifecycle.state < CLOSING:
            self.caller.tick(now)
            self.callee.tick(now)
            if now >= self.under_way.at:
                self.under_way.look(now)
            if now >= self.pool.look_at:
                self.pool.look(now)
        self.lifecycle.tick(now)

    def next_deadline(self) -> int:
        """When `tick` is due at the latest, in µs; 1 << 62: not at all. It is never late and may be early."""
        due = min(self.lifecycle.next_deadline(), self.caller.earliest, self.callee.earliest, self.under_way.at)
        return min(due, self.caller.next_overdue(), self.pool.look_at)
