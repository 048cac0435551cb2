"""A session: all calls of one connection. Bytes in, calls on Events and bytes out; time is a parameter.

The floor that owns the transport does, on the session's one thread or under one lock:

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
from heapq import heappop, heappush
from typing import Any

from .body import read_define
from .budget import FREE_SHARE, Share
from .callee import Callee
from .caller import Caller
from .config import Config
from .events import Events
from .fault import CallFault, ConnectionFault, LimitError
from .frame import (
    CALL,
    CANCEL,
    CREDIT,
    DATA,
    DEFINE,
    GOAWAY,
    HEADER,
    HEADER_SIZE,
    INITIATOR_BIT,
    MESSAGE_COST,
    PING,
    POOL,
    RESULT,
    check_header,
)
from .lifecycle import CLOSED, CLOSING, OPEN, PREFACE, Lifecycle
from .metadata import Metadata
from .output import Output
from .pool import Pool
from .preface import INITIAL_WINDOW, PREFACE_SIZE, Preface, check_preface, preface_bytes, read_preface
from .relief import relieve
from .send import Sender
from .settings import DEFAULTS, known_codecs, read_settings
from .status import OK
from .stream import OVER, READY, Call, IncomingCall, Method, OutgoingCall
from .underway import Granter, UnderWay

_NO_METHODS: dict[bytes, Method] = {}


class Session:
    """One side of one connection. Not thread-safe."""

    __slots__ = (
        "_config",
        "_largest",
        "_need",
        "_pending",
        "_preface",
        "_received",
        "accepts_calls",
        "call_high",
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
        self._largest = min(self.own.max_frame_body, self.own.max_message, self.window - MESSAGE_COST)
        self.call_high = CALL << 24 | self._largest
        self._pending = bytearray()
        self._need = PREFACE_SIZE
        self._received = 0
        self._preface = preface_bytes(self.own, self.window)
        self._learn_peer()
        if initiator:
            self.output.buffer += self._preface

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

        None: it cannot be opened now; if `accepts_calls`, for want of a slot, and Events.slot_free tells when to try
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
            raise LimitError(f"a message of {len(message)} bytes, max_message is {self.peer.max_message}")
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
        """`size` more of the bytes taken have left the floor below."""
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

    # Reading.

    def receive(self, data: bytes, now: int) -> None:
        """Takes in bytes, however cut. Never raises for what is in them."""
        self.now = now
        lifecycle = self.lifecycle
        lifecycle.received_at = now
        lifecycle.pinged = False
        pending = self._pending
        if lifecycle.state >= CLOSING:
            lifecycle.discarded(len(data))
            return
        start = 0
        try:
            if pending:
                pending += data
                if len(pending) < self._need:
                    if lifecycle.state == PREFACE:
                        check_preface(pending)
                    return
                data = bytes(pending)
                pending.clear()
            if lifecycle.state == PREFACE:
                data = bytes(pending) + data
                pending.clear()
                start = self._read_preface(data)
            elif pending:
                start = self._complete(data)
            if start >= 0:
                self._read_frames(data, start)
        except ConnectionFault as fault:
            self._pending.clear()
            in_preface = fault.kind in ("preface", "version", "setting")
            where = "" if in_preface else f", in the frame at byte {self._received}"
            lifecycle.fail(fault, where)

    def _read_preface(self, data: bytes) -> int:
        """The offset of the first frame; -1 when the preface is not all there."""
        if len(data) < PREFACE_SIZE:
            check_preface(data)
            self._pending += data
            return -1
        preface = self.peer_preface
        if preface is None:
            preface = self.peer_preface = read_preface(data)
            if not self.initiator:
                self.output.buffer += self._preface
            if not preface.spoken:
                spoken = f"the peer speaks version {preface.version} to {preface.highest}, this side 1"
                raise ConnectionFault("version", spoken)
        end = PREFACE_SIZE + preface.settings_length
        if len(data) < end:
            self._pending += data
            self._need = end
            return -1
        self.peer, _ = read_settings(data[PREFACE_SIZE:end])
        more_window = preface.window - INITIAL_WINDOW
        self.peer_window = preface.window
        self._received = end
        self._need = HEADER_SIZE
        self._learn_peer()
        self.caller.told(self.peer.max_calls, more_window, self.peer.pool)
        self.lifecycle.opened()
        return end

    def _learn_peer(self) -> None:
        """Makes the tables that follow from the peer's settings."""
        self.knows_codec = known_codecs(self.own, self.peer, self._config.codecs)
        self.plain_send = min(self.peer.max_frame_body, self.peer.max_message, self.peer_window - MESSAGE_COST)

    def _read_frames(self, data: bytes, at: int) -> None:
        end = len(data)
        unpack = HEADER.unpack_from
        caller = self.caller
        callee = self.callee
        events = self.events
        base = self._received - at
        result_high = RESULT << 24 | self._largest
        call_high = self.call_high
        calls, words, free = caller.calls, caller.words, caller.free
        w0: int
        w1: int
        w2: int
        w3: int
        while end - at >= 16:
            w0, w1, w2, w3 = unpack(data, at)
            start = at + 16
            stop = start + (w0 & 0xFFFFFF)
            if stop > end:
                break
            if 0x04000000 <= w0 <= result_high:
                slot = w1 & 0xFFFFF
                call = calls[slot] if slot < len(calls) else None
                if call is not None and call.plain == w2 and call.id == w1:
                    # RESULT(OK, MSG) of a call that had no other answer: the long way is Caller.on_result.
                    calls[slot] = None
                    words[slot] = w1 + 0x100000 if w1 & 0x7FF00000 != 0x7FF00000 else w1 & 0x800FFFFF | 0x100000
                    if slot <= caller.max_slots:
                        heappush(free, slot)
                    caller.open -= 1
                    call.state = OVER
                    call.message = data[start:stop]
                    call.compression = 0
                    call.server_time = w3
                    call.status = OK
                    at = stop
                    if caller.wanted:
                        caller.wanted = False
                        events.slot_free()
                    events.ended(call)
                    continue
            elif 0x02000000 <= w0 <= call_high and w2 & 0xF0FF0000 == 0x00030000:
                # CALL(MSG, END) of a method that takes one message: the long way is Callee.on_call.
                slot = w1 & 0xFFFFF
                if slot < len(callee.words) and callee.words[slot] == w1:
                    method = callee.served.get(callee.names.get(w2 & 0xFFFF, b""))
                    codec = w2 >> 24 & 15
                    if method is not None and method.takes_one and self.knows_codec[codec]:
                        deadline = 0
                        if 0 < w3 < 0xFFFFFFFF:
                            deadline = self.now + w3
                            if deadline < callee.earliest:
                                callee.earliest = deadline
                        served = IncomingCall(self, w1, codec, deadline, self.now)
                        served.method = method
                        served.message = data[start:stop]
                        served.request_ended = True
                        served.state = READY
                        callee.words[slot] = -1
                        callee.calls[slot] = served
                        callee.open += 1
                        callee.ready.append(served)
                        at = stop
                        continue
            self._received = base + at
            self._frame(w0, w1, w2, w3, data, start, stop)
            at = stop
            if self.lifecycle.state != OPEN:
                return
            call_high = self.call_high
            calls, words, free = caller.calls, caller.words, caller.free
        self._received = base + at
        self._keep(data, at)

    def _complete(self, data: bytes) -> int:
        """Ends the frame that was cut off, which alone is copied; the offset behind it, -1 when it is not whole yet."""
        pending, at = self._pending, 0
        while pending:
            missing = self._need - len(pending)
            pending += data[at : at + missing]
            if len(data) - at < missing:
                return -1
            at += missing
            frame = bytes(pending)
            pending.clear()
            self._read_frames(frame, 0)
            if self.lifecycle.state != OPEN:
                return -1
        return at

    def _keep(self, data: bytes, at: int) -> None:
        """Keeps the frame that is not whole; its header is judged at once (protocol.md 3.1)."""
        left = len(data) - at
        self._need = HEADER_SIZE
        if left >= HEADER_SIZE:
            w0, w1, w2, w3 = HEADER.unpack_from(data, at)
            self._check(w0, w1, w2, w3)
            self._need = HEADER_SIZE + (w0 & 0xFFFFFF)
        if left:
            self._pending += data[at:]

    def _check(self, w0: int, w1: int, w2: int, w3: int) -> None:
        check_header(w0, w1, w2, w3, self.own_bit, self.own.max_frame_body, self.own.max_methods)

    def _frame(self, w0: int, w1: int, w2: int, w3: int, data: bytes, start: int, stop: int) -> None:
        self._check(w0, w1, w2, w3)
        kind = w0 >> 24
        own = w1 & INITIATOR_BIT == self.own_bit
        if kind == CALL:
            self.callee.on_call(w1, w2, w3, data, start, stop)
        elif kind == DATA:
            if w2 >> 16 & POOL:
                self.pool.charge(stop - start)
            (self.caller if own else self.callee).on_data(w1, w2, data, start, stop)
            self.pool.settle()
        elif kind == RESULT:
            self.caller.on_result(w1, w2, w3, data, start, stop)
        elif kind == CREDIT and not w1:
            self.sender.granted_pool(w3)
        elif kind == CREDIT:
            (self.caller if own else self.callee).on_credit(w1, w3)
        elif kind == CANCEL:
            self.callee.on_cancel(w1)
        elif kind == PING:
            self.lifecycle.on_ping(w2, w3)
        elif kind == GOAWAY:
            self.lifecycle.on_goaway(w2, w3, data[start:stop])
        elif kind == DEFINE:
            self._define(w2 & 0xFFFF, data, start, stop)

    def _define(self, number: int, data: bytes, start: int, stop: int) -> None:
        name = read_define(data, start, stop)
        if number in self.callee.names:
            raise ConnectionFault("method", f"id {number} is defined again")
        self.callee.names[number] = name

    def dispatch(self, now: int) -> None:
        """Starts what was read, but for calls whose time has run out by now (protocol.md 10)."""
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
        self._pending.clear()
        self.lifecycle.end_of_stream()

    def lost(self, now: int, text: str) -> None:
        """The connection is gone: what is unsent never leaves. `text` says why, for the calls that end so."""
        self.now = now
        self._pending.clear()
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
