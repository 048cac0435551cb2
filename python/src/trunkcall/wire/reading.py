"""What comes from the peer: the preface, then frames, however they were cut (protocol.md 1.5)."""

from __future__ import annotations

from heapq import heappush
from typing import TYPE_CHECKING

from .body import read_define
from .fault import ConnectionFault
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
    META,
    MORE,
    MSG,
    PIECE_FLOOR,
    PING,
    POOL,
    RESULT,
    check_header,
)
from .lifecycle import OPEN, PREFACE
from .preface import INITIAL_WINDOW, PREFACE_SIZE, check_preface, preface_bytes, read_preface
from .settings import read_settings
from .status import OK
from .stream import OVER, READY, IncomingCall

if TYPE_CHECKING:
    from .session import Session

_INNER, _NOT_INNER = (MSG | MORE) << 16, (0xFF & ~POOL) << 16 | 0xFFFF  # w2 of a piece that others follow
LARGE = DATA << 24 | 16 << 10  # w0 of a DATA whose body is worth being taken from where it lies


class Reader:
    """Takes frames apart and hands each to its call. Keeps only what is not whole yet."""

    __slots__ = ("_largest", "_need", "_pending", "_preface", "_received", "call_high", "session")

    def __init__(self, session: Session) -> None:
        self.session = session
        own = session.own
        self._largest = min(own.max_frame_body, own.max_message, session.window - MESSAGE_COST)
        self.call_high = CALL << 24 | self._largest  # above it a CALL takes the long way
        self._pending = bytearray()  # a preface or a frame that is not whole
        self._need = PREFACE_SIZE  # bytes of it after which there is more to say
        self._received = 0  # offset, since the beginning, of the frame at hand
        self._preface = preface_bytes(own, session.window)
        if session.initiator:
            session.output.buffer += self._preface

    def receive(self, data: bytes | memoryview) -> None:
        """See Session.receive."""
        session = self.session
        start = 0
        try:
            if session.lifecycle.state == PREFACE:
                pending = self._pending
                pending += data
                if len(pending) < self._need:
                    check_preface(pending, answer=session.initiator)
                    return
                data = bytes(pending)
                pending.clear()
                start = self._read_preface(data)
            elif self._pending:
                start = self._complete(data)
            if start < 0:
                return
            if isinstance(data, memoryview):
                self._read_large(data, start)
            else:
                self._read_frames(data, start)
        except ConnectionFault as fault:
            self._pending.clear()
            in_preface = fault.kind in ("preface", "version", "setting")
            where = "" if in_preface else f", in the frame at byte {self._received}"
            session.lifecycle.fail(fault, where)

    def drop(self) -> None:
        """The input has ended: what is not whole never will be."""
        self._pending.clear()

    def _read_preface(self, data: bytes) -> int:
        """The offset of the first frame; -1 when the preface is not all there."""
        session = self.session
        preface = session.peer_preface
        if preface is None:
            preface = session.peer_preface = read_preface(data, answer=session.initiator)
            if not session.initiator:
                session.output.buffer += self._preface
            if not preface.spoken:
                spoken = f"the peer speaks version {preface.version} to {preface.highest}, this side 1"
                raise ConnectionFault("version", spoken)
        end = PREFACE_SIZE + preface.settings_length
        if len(data) < end:
            self._pending += data
            self._need = end
            return -1
        session.peer, _ = read_settings(data[PREFACE_SIZE:end])
        more_window = preface.window - INITIAL_WINDOW
        session.peer_window = preface.window
        self._received = end
        self._need = HEADER_SIZE
        session.learn_peer()
        session.caller.told(session.peer.max_calls, more_window, session.peer.pool)
        session.lifecycle.opened()
        return end

    def _read_frames(self, data: bytes, at: int) -> None:
        end = len(data)
        unpack = HEADER.unpack_from
        session = self.session
        caller = session.caller
        callee = session.callee
        events = session.events
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
                    if method is not None and method.takes_one and session.knows_codec[codec]:
                        deadline = 0
                        if 0 < w3 < 0xFFFFFFFF:
                            deadline = session.now + w3
                            if deadline < callee.earliest:
                                callee.earliest = deadline
                        served = IncomingCall(session, w1, codec, deadline, session.now)
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
            if session.lifecycle.state != OPEN:
                return
            call_high = self.call_high
            calls, words, free = caller.calls, caller.words, caller.free
        self._received = base + at
        self._keep(data, at)

    def _read_large(self, view: memoryview, at: int) -> None:
        """Frames in memory that is used again. The payload of a large DATA is copied once, straight to where it is
        kept; the frames before and behind it are copied together."""
        lifecycle = self.session.lifecycle
        end = len(view)
        small = at  # where the frames begin that are to be copied
        while end - at >= HEADER_SIZE:
            w0, w1, w2, w3 = HEADER.unpack_from(view, at)
            stop = at + HEADER_SIZE + (w0 & 0xFFFFFF)
            if stop > end:
                break
            if LARGE <= w0 < RESULT << 24 and not w2 >> 16 & META:
                if small < at:
                    self._read_frames(bytes(view[small:at]), 0)
                if lifecycle.state != OPEN:
                    return
                start = at + HEADER_SIZE
                if w3 or w2 & _NOT_INNER != _INNER or not self._inner(w1, w2, view[start:stop]):
                    self._frame(w0, w1, w2, w3, view, start, stop)
                self._received += stop - at
                small = stop
            at = stop
        if small < at and lifecycle.state == OPEN:
            self._read_frames(bytes(view[small:at]), 0)
        if lifecycle.state == OPEN:
            self._keep(view, at)

    def _inner(self, w1: int, w2: int, payload: memoryview) -> bool:
        """Takes in a piece between the first and the last one of a message. False: `_frame` has to look at it."""
        session = self.session
        calls = (session.caller if w1 & INITIATOR_BIT == session.own_bit else session.callee).calls
        slot = w1 & 0xFFFFF
        call = calls[slot] if slot < len(calls) else None
        if call is None or call.id != w1 or not PIECE_FLOOR <= len(payload) <= session.own.max_frame_body:
            return False
        flow = call.receiving
        if flow is None or not flow.accept_inner(w2, payload):
            return False
        if flow.due:
            session.credit_due(call)
        return True

    def _complete(self, data: bytes | memoryview) -> int:
        """Ends the frame that was cut off; the offset behind it, -1 when it is not whole yet."""
        at = 0
        while self._pending:
            missing = self._need - len(self._pending)
            self._pending += data[at : at + missing]
            if len(data) - at < missing:
                return -1
            at += missing
            frame, self._pending = self._pending, bytearray()
            self._read_large(memoryview(frame), 0)
            if self.session.lifecycle.state != OPEN:
                return -1
        return at

    def _keep(self, data: bytes | memoryview, at: int) -> None:
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
        session = self.session
        check_header(w0, w1, w2, w3, session.own_bit, session.own.max_frame_body, session.own.max_methods)

    def _frame(self, w0: int, w1: int, w2: int, w3: int, data: bytes | memoryview, start: int, stop: int) -> None:
        """Hands one frame over. Only a DATA without META may lie in a memoryview."""
        self._check(w0, w1, w2, w3)
        session = self.session
        kind = w0 >> 24
        own = w1 & INITIATOR_BIT == session.own_bit
        if kind == DATA:
            if w2 >> 16 & POOL:
                session.pool.charge(stop - start)
            (session.caller if own else session.callee).on_data(w1, w2, data, start, stop)
            session.pool.settle()
        elif kind == CREDIT and not w1:
            session.sender.granted_pool(w3)
        elif kind == CREDIT:
            (session.caller if own else session.callee).on_credit(w1, w3)
        elif kind == CANCEL:
            session.callee.on_cancel(w1)
        elif kind == PING:
            session.lifecycle.on_ping(w2, w3)
        else:
            self._with_body(kind, w1, w2, w3, bytes(data), start, stop)

    def _with_body(self, kind: int, w1: int, w2: int, w3: int, data: bytes, start: int, stop: int) -> None:
        session = self.session
        if kind == CALL:
            session.callee.on_call(w1, w2, w3, data, start, stop)
        elif kind == RESULT:
            session.caller.on_result(w1, w2, w3, data, start, stop)
        elif kind == GOAWAY:
            session.lifecycle.on_goaway(w2, w3, data[start:stop])
        elif kind == DEFINE:
            self._define(w2 & 0xFFFF, data, start, stop)

    def _define(self, number: int, data: bytes, start: int, stop: int) -> None:
        names = self.session.callee.names
        name = read_define(data, start, stop)
        if number in names:
            raise ConnectionFault("method", f"id {number} is defined again")
        names[number] = name
