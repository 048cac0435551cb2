"""This side's own calls (protocol.md 7.2)."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

from .body import MAX_NAME, Body, read_body
from .fault import CallFault, ConnectionFault
from .frame import (
    CALL,
    CANCEL,
    CANNOT_TAKE,
    CUT,
    DATA,
    DEADLINE_PASSED,
    DEFINE,
    END,
    FIRST_GENERATION,
    GAVE_UP,
    HEADER,
    MAX_WINDOW,
    MESSAGE_COST,
    META,
    MORE,
    MSG,
    ONEWAY,
    REFUSED,
    RESULT,
    STRIPPED,
    control,
    next_generation,
)
from .metadata import Metadata, block
from .receive import ONE_EXPECTED, ReceiveFlow
from .send import SendFlow
from .status import MALFORMED, OK, Code, Delivery, Status, local_status, read_payload
from .stream import ABANDONED, ENDED, OPEN, OVER, OutgoingCall
from .varint import varint

if TYPE_CHECKING:
    from .session import Session

OVERDUE = 30_000_000  # µs from CANCEL to RESULT (limits.md 3)
LONGEST = 0xFFFFFFFF  # that long or longer (protocol.md 10)
NEVER = 1 << 62
LATE = local_status(Code.DEADLINE_EXCEEDED, "the deadline passed", Delivery.UNKNOWN)

_CALLER_CODES = {
    "metadata": Code.INTERNAL,
    "metadata_limit": Code.RESOURCE_EXHAUSTED,
    "message_size": Code.RESOURCE_EXHAUSTED,
    "memory": Code.RESOURCE_EXHAUSTED,
    "codec": Code.INTERNAL,
    "compression": Code.INTERNAL,
    "messages": Code.UNIMPLEMENTED,
}


class Caller:
    """Slots, method ids and the frames of the calls that this side opens."""

    __slots__ = (
        "abandoned",
        "calls",
        "earliest",
        "free",
        "fresh",
        "ids",
        "max_slots",
        "open",
        "overdue",
        "session",
        "wanted",
        "words",
    )

    def __init__(self, session: Session, own_bit: int) -> None:
        self.session = session
        self.calls: list[OutgoingCall | None] = [None]
        self.words: list[int] = [own_bit]  # w1 of the next call on each slot
        self.free: list[int] = []  # a heap: the lowest free slot first
        self.fresh = 1  # from here on no slot was ever used
        self.max_slots = session.peer.max_calls
        self.open = 0
        self.ids: dict[bytes, int] = {}
        self.earliest = NEVER  # no call runs out before
        self.abandoned: dict[OutgoingCall, int] = {}  # when CANCEL was appended
        self.overdue = False
        self.wanted = False  # a call found no slot

    @property
    def live(self) -> int:
        """How many calls are open. One whose RESULT is overdue does not keep a connection, nor those behind it."""
        return self.open - len(self.abandoned) if self.overdue else self.open

    # Opening.

    def open_call(
        self,
        name: bytes,
        message: bytes | None,
        user: Any,
        *,
        codec: int,
        compression: int,
        metadata: Metadata | None,
        deadline: int,
        end: bool,
        single: bool,
        oneway: bool,
        inline: bool,
    ) -> OutgoingCall | None:
        session = self.session
        if not session.accepts_calls or not self._slot_ready():
            return None
        method = 0 if inline else self._id(name)
        self._check_limits(message, compression, codec)
        meta = b""
        if metadata is not None:
            peer = session.peer
            meta = block(metadata, peer.max_metadata_bytes, peer.max_metadata_entries, peer.max_frame_body)
        remaining = 0
        if deadline:
            remaining = min(deadline - session.now, LONGEST)
            if remaining < 1:
                return self._unsent(user, Code.DEADLINE_EXCEEDED, "the deadline passed before the call was sent")
            self.earliest = min(self.earliest, deadline)
        head = meta if method else meta + varint(len(name)) + name
        flags = (META if meta else 0) | (ONEWAY if oneway else 0)
        call = self._take_slot(codec, deadline, user)
        call.single, call.oneway = single and not oneway, oneway
        if oneway:
            call.plain = -1
        self._append_call(call, method, flags, head, remaining, message, compression, end or oneway)
        return call

    def _slot_ready(self) -> bool:
        if self.free or self.fresh <= self.max_slots:
            return True
        self.wanted = True
        return False

    def grow(self) -> int:
        """The lowest slot that was never used, made ready."""
        slot = self.fresh
        self.fresh += 1
        self.calls.append(None)
        self.words.append(self.words[0] | FIRST_GENERATION | slot)
        return slot

    def _take_slot(self, codec: int, deadline: int, user: Any) -> OutgoingCall:
        slot = heappop(self.free) if self.free else self.grow()
        session = self.session
        call = OutgoingCall(session, self.words[slot], codec, session.output.position, 0, deadline, user)
        self.calls[slot] = call
        self.open += 1
        return call

    def _append_call(
        self,
        call: OutgoingCall,
        method: int,
        flags: int,
        head: bytes,
        remaining: int,
        message: bytes | None,
        compression: int,
        end: bool,
    ) -> None:
        session = self.session
        buffer = session.output.buffer
        room = min(session.peer.max_frame_body, session.peer_window - MESSAGE_COST)
        payload: bytes | memoryview = b""
        rest = 0
        if message is not None and len(head) + len(message) <= room:
            flags |= MSG | (END if end else 0)
            payload = message
        elif message is not None and flags & ONEWAY:  # a cut message may begin with MSG and ONEWAY only here
            flags |= MSG | MORE
            head += varint(len(message))
            rest = room - len(head)
            payload = memoryview(message)[:rest]
        elif message is None and end:
            flags |= END
        if not flags & END:
            call.state = OPEN
            call.plain = -1
            flow = call.sending = SendFlow(session.peer_window)
            flow.ended = end
        w2 = (compression << 28 if flags & MSG else 0) | call.codec << 24 | flags << 16 | method
        buffer += HEADER.pack(CALL << 24 | len(head) + len(payload), call.id, w2, remaining)
        buffer += head
        buffer += payload
        if flags & MSG:
            call.spent = len(payload) + MESSAGE_COST
            if call.sending is not None:
                call.sending.window -= call.spent
        if (message is not None and not flags & MSG) or rest:
            self._queue_first(call, message or b"", compression, rest, end)

    def _queue_first(self, call: OutgoingCall, message: bytes, compression: int, sent: int, end: bool) -> None:
        flow = call.sending
        if flow is None:
            return
        if end:
            call.state = ENDED
        flow.offset, flow.started = sent, sent > 0
        self.session.sender.queue(call, flow, message, compression)

    def _id(self, name: bytes) -> int:
        """The id of a name, defined now if need be; 0 when the table is full (protocol.md 8)."""
        number = self.ids.get(name)
        if number is None:
            if not 1 <= len(name) <= MAX_NAME:
                raise ValueError(f"a method name of {len(name)} bytes")
            if len(self.ids) >= self.session.peer.max_methods:
                return 0
            number = self.ids[name] = len(self.ids) + 1
            self.session.output.buffer += control(DEFINE, 0, number, 0, varint(len(name)) + name)
        return number

    def _check_limits(self, message: bytes | None, compression: int, codec: int) -> None:
        session = self.session
        if not 0 <= codec <= 15 or not session.serves_codec(codec):
            raise ValueError(f"codec {codec} is not configured")
        if message is not None:
            session.check_message(message, compression)

    def _unsent(self, user: Any, code: Code, text: str) -> OutgoingCall:
        call = OutgoingCall(self.session, 0, 0, 0, 0, 0, user)
        call.state = OVER
        call.status = local_status(code, text, Delivery.NOT_SENT)
        self.session.events.ended(call)
        return call

    # What the user does with an open call.

    def send(self, call: OutgoingCall, message: bytes, compression: int, end: bool) -> bool:
        flow = call.sending
        if call.state >= ABANDONED:
            return True
        if call.state == ENDED or flow is None:
            raise ValueError("a message after the half-close")
        self.session.check_message(message, compression)
        if end:
            call.state = ENDED
            flow.ended = True
        return self.session.sender.send(call, flow, message, compression)

    def half_close(self, call: OutgoingCall) -> None:
        flow = call.sending
        if call.state != OPEN or flow is None:
            return
        call.state = ENDED
        flow.ended = True
        if not flow.outbox:
            self.session.output.buffer += control(DATA, call.id, END << 16, 0)

    def cancel(self, call: OutgoingCall, reason: int) -> None:
        if call.state < ABANDONED:
            self.abandon(call, reason, local_status(Code.CANCELLED, "cancelled by the caller", Delivery.UNKNOWN))

    def abandon(self, call: OutgoingCall, reason: int, status: Status) -> None:
        """Ends the call for the user and appends CANCEL; its slot stays taken until RESULT."""
        session = self.session
        session.output.buffer += control(CANCEL, call.id, 0, reason)
        call.state = ABANDONED
        call.plain = -1
        self.abandoned[call] = session.now
        self._end(call, status)

    # Frames received. `word` is w1; each has passed the checks of protocol.md 3.

    def _find(self, word: int) -> OutgoingCall | None:
        slot = word & 0xFFFFF
        call = self.calls[slot] if slot < self.fresh else None
        return call if call is not None and call.id == word else None

    def on_data(self, word: int, w2: int, data: bytes | memoryview, start: int, end: int) -> None:
        call = self._find(word)
        if call is None or call.state == ABANDONED:
            return
        if call.oneway:
            raise ConnectionFault("state", "an answer to a one-way call")
        first, call.plain = call.receiving is None, -1
        flow = self._receiving(call)
        flags = w2 >> 16 & 0xFF
        if flags & META and not first:
            raise ConnectionFault("state", "metadata on a DATA that is not the first")
        try:
            body = read_body(data, start, end, w2, DATA, flow.total > 0, self.session.own)
            if body.metadata is not None:
                call.header = body.metadata
                self.session.events.header(call, body.metadata)
            if flags & MSG and call.state < ABANDONED:
                self._message(call, flow, w2, body, data[body.payload : end])
        except CallFault as fault:
            if call.state < ABANDONED:
                self._cannot_take(call, _CALLER_CODES[fault.kind], fault.text)

    def _receiving(self, call: OutgoingCall) -> ReceiveFlow:
        flow = call.receiving
        if flow is None:
            session = self.session
            flow = call.receiving = ReceiveFlow(session.window, session.own.max_message, session.share, session.pool)
            flow.single = call.single
        return flow

    def _message(self, call: OutgoingCall, flow: ReceiveFlow, w2: int, body: Body, payload: bytes | memoryview) -> None:
        session = self.session
        more = bool(w2 >> 16 & MORE)
        codec, compression = w2 >> 24 & 15, w2 >> 28
        listed = compression == 0 or compression in session.own.compressions
        whole = flow.accept(more, codec, compression, body.total, payload, codec == call.codec, listed)
        if body.total:
            flow.since = session.now
            session.under_way.watch(call)
        if flow.due:
            session.credit_due(call)
        if whole:
            session.events.arrived(call)

    def _cannot_take(self, call: OutgoingCall, code: Code, text: str) -> None:
        self.abandon(call, CANNOT_TAKE, local_status(code, text, Delivery.UNKNOWN))

    def on_credit(self, word: int, size: int) -> None:
        call = self._find(word)
        if call is None or call.state == ABANDONED:
            return
        flow = call.sending
        if flow is None:
            flow = call.sending = SendFlow(self.session.peer_window - call.spent)
        flow.window += size
        if flow.window > MAX_WINDOW:
            raise ConnectionFault("credit", f"a window of {flow.window}")
        self.session.sender.granted(call, flow)

    def on_result(self, word: int, w2: int, w3: int, data: bytes, start: int, end: int) -> None:
        call = self._find(word)
        if call is None:
            raise ConnectionFault("state", "a RESULT for a call that is not open")
        if call.state == ABANDONED:
            self.release(call)
            return
        flags = w2 >> 16 & 0xFF
        flow = call.receiving
        if flags & REFUSED and flow is not None:
            raise ConnectionFault("state", "REFUSED behind an answer frame")
        if call.oneway and flags & MSG:
            raise ConnectionFault("state", "an answer to a one-way call")
        if flow is not None and flow.total and not w2 & 0xFFFF:
            raise ConnectionFault("piece", "RESULT(OK) while a message is in progress")
        status = self._read_result(call, w2, w3, data, start, end)
        if not flags & REFUSED:
            call.server_time = w3
        self.release(call)
        call.state = OVER
        self._end(call, status)

    def _read_result(self, call: OutgoingCall, w2: int, w3: int, data: bytes, start: int, end: int) -> Status:
        flags = w2 >> 16 & 0xFF
        code = Code(w2 & 0xFFFF)
        delivery, retry = Delivery.EXECUTED, 0
        if flags & REFUSED:
            delivery, retry = Delivery.REFUSED, w3
        elif flags & CUT:
            delivery = Delivery.UNKNOWN
        try:
            body = read_body(data, start, end, w2, RESULT, False, self.session.own)
            call.metadata = body.metadata
            if code:
                text, details = read_payload(data, body.payload, end)
                return Status(code, text, details, delivery, retry / 1_000, bool(flags & STRIPPED))
            if flags & MSG:
                self._last_message(call, w2, data[body.payload : end])
        except CallFault as fault:
            if fault.kind == "status":
                return Status(code, MALFORMED, (), delivery, retry / 1_000, bool(flags & STRIPPED))
            call.message = None
            return Status(_CALLER_CODES[fault.kind], fault.text, (), delivery, retry / 1_000, local=True)
        return self._counted(call)

    def _last_message(self, call: OutgoingCall, w2: int, payload: bytes) -> None:
        flow = self._receiving(call)
        codec, compression = w2 >> 24 & 15, w2 >> 28
        listed = compression == 0 or compression in self.session.own.compressions
        flow.accept(False, codec, compression, 0, payload, codec == call.codec, listed)
        call.message, call.compression = flow.take_last(), compression

    def _counted(self, call: OutgoingCall) -> Status:
        if not call.single:
            return OK
        messages = call.receiving.messages if call.receiving is not None else 0
        if messages == 1:
            return OK
        call.message = None
        what = "no answer message" if messages == 0 else "more than one answer message"
        return local_status(Code.UNIMPLEMENTED, f"{what} {ONE_EXPECTED}", Delivery.EXECUTED)

    # Endings.

    def release(self, call: OutgoingCall) -> None:
        """RESULT has come: the slot is free for the next generation."""
        slot = call.id & 0xFFFFF
        self.calls[slot] = None
        self.words[slot] = next_generation(call.id)
        if slot <= self.max_slots:
            heappush(self.free, slot)
        self.open -= 1
        if call.state == ABANDONED:
            self.abandoned.pop(call, None)
            call.state = OVER
        if self.wanted:
            self.wanted = False
            self.session.events.slot_free()

    def _end(self, call: OutgoingCall, status: Status) -> None:
        call.status = status
        call.deadline = 0
        if call.sending is not None:
            self.session.sender.leave(call.sending)
        flow = call.receiving
        if flow is not None:
            flow.drop_unfinished()
            flow.close()
            if call.state == ABANDONED:
                flow.drop_all()
        self.session.events.ended(call)

    def end_all(self, code: Code, text: str, delivery: Delivery | None = None, *, lost: bool) -> None:
        """Ends every call without RESULT. `lost`: nothing more will be passed on, so that a CALL not passed on by now
        is `not_sent`."""
        passed = self.session.output.passed
        for call in self.calls:
            if call is not None and call.state < ABANDONED:
                known = delivery
                if known is None:
                    known = Delivery.NOT_SENT if lost and call.position >= passed else Delivery.UNKNOWN
                call.state = OVER
                self._end(call, local_status(code, text, known))
        self.calls = [None] * len(self.calls)
        self.abandoned.clear()
        self.open = 0

    def cancel_all(self, code: Code, text: str) -> None:
        for call in list(self.calls):
            if call is not None and call.state < ABANDONED:
                self.abandon(call, GAVE_UP, local_status(code, text, Delivery.UNKNOWN))

    # Time and settings.

    def tick(self, now: int) -> None:
        if self.abandoned and not self.overdue and next(iter(self.abandoned.values())) + OVERDUE <= now:
            self.overdue = True
            self.session.lifecycle.overdue()
            self.session.events.overdue()
        if now < self.earliest:
            return
        earliest = NEVER
        for call in list(self.calls):
            if call is None or not call.deadline:
                continue
            if call.deadline > now:
                earliest = min(earliest, call.deadline)
            else:
                self.abandon(call, DEADLINE_PASSED, LATE)
        self.earliest = earliest

    def next_overdue(self) -> int:
        """When the oldest missing RESULT is overdue (protocol.md 7.2)."""
        if self.overdue or not self.abandoned:
            return NEVER
        return next(iter(self.abandoned.values())) + OVERDUE

    def told(self, max_calls: int, more_window: int, pool: int) -> None:
        """The peer's preface has come (protocol.md 2.4)."""
        self.max_slots = max_calls
        self.free = [slot for slot in self.free if slot <= max_calls]
        heapify(self.free)
        for call in self.calls:
            if call is not None and call.sending is not None:
                call.sending.window += more_window
                self.session.sender.granted(call, call.sending)
        self.session.sender.granted_pool(pool)
