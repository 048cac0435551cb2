"""The peer's calls (protocol.md 7.3 to 7.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .assembly import kept
from .body import Body, read_body
from .fault import CallFault, ConnectionFault
from .frame import (
    CALL,
    CUT,
    DATA,
    END,
    FIRST_GENERATION,
    HEADER,
    INITIATOR_BIT,
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
from .status import LONGEST, Code, Status, milliseconds, payload
from .stream import DONE, MESSAGES, METADATA, READY, RECEIVING, RUNNING, IncomingCall, Method
from .unserved import unserved

if TYPE_CHECKING:
    from .session import Session

NEVER = 1 << 62
RETRY = 1_000  # ms, where the text says: at least 1

# class: code, retry-after when the handler has not started (protocol.md 15, 9.6)
_CALLEE_CODES = {
    "metadata": (Code.INVALID_ARGUMENT, 0),
    "metadata_limit": (Code.RESOURCE_EXHAUSTED, 0),
    "name": (Code.INVALID_ARGUMENT, 0),
    "unknown_method": (Code.UNIMPLEMENTED, 0),
    "message_size": (Code.RESOURCE_EXHAUSTED, 0),
    "codec": (Code.UNIMPLEMENTED, 0),
    "compression": (Code.UNIMPLEMENTED, 0),
    "messages": (Code.UNIMPLEMENTED, 0),
    "memory": (Code.RESOURCE_EXHAUSTED, RETRY),
}


class Callee:
    """Slots, method names and the frames of the calls that the peer opens."""

    __slots__ = (
        "asked",
        "calls",
        "earliest",
        "finished",
        "first_word",
        "names",
        "open",
        "ready",
        "served",
        "session",
        "words",
    )

    def __init__(self, session: Session, served: Mapping[bytes, Method], peer_bit: int) -> None:
        self.session = session
        self.served = served
        self.names: dict[int, bytes] = {}
        self.calls: list[IncomingCall | None] = [None]
        self.words: list[int] = [-1]  # w1 of the next CALL on each slot; -1 while it is taken, and of slot 0
        self.first_word = peer_bit | FIRST_GENERATION  # w1 of the first CALL on a slot, without the slot
        self.ready: list[IncomingCall] = []
        self.finished: list[int] = []  # words of calls whose RESULT has not moved to the writer yet
        self.open = 0
        self.earliest = NEVER  # no call runs out before
        self.asked = b""  # the name in the CALL that is taken in, once it was read

    # Frames received. Each has passed the checks of protocol.md 3.

    def _find(self, word: int) -> IncomingCall | None:
        slot = word & 0xFFFFF
        call = self.calls[slot] if slot < len(self.calls) else None
        return call if call is not None and call.id == word else None

    def on_call(self, word: int, w2: int, w3: int, data: bytes, start: int, end: int) -> None:
        session = self.session
        method = w2 & 0xFFFF
        if method and method not in self.names:
            raise ConnectionFault("method", f"CALL with id {method}, which is not defined")
        self.asked = self.names.get(method, b"")
        slot = word & 0xFFFFF
        if slot > session.own.max_calls:
            self._refuse_untracked(word, f"max_calls is {session.own.max_calls}")
            return
        self._grow(slot)
        if self.words[slot] != word:
            raise ConnectionFault("state", f"CALL on slot {slot}, which is taken, or of a wrong generation")
        call = self._admit(word, w2, w3)
        try:
            body = read_body(data, start, end, w2, CALL, False, session.own)
            self._begin(call, w2, body, data[body.payload : end])
        except CallFault as fault:
            self._fault(call, fault)

    def _grow(self, slot: int) -> None:
        while len(self.words) <= slot:
            self.words.append(self.first_word | len(self.words))
            self.calls.append(None)

    def _admit(self, word: int, w2: int, w3: int) -> IncomingCall:
        session = self.session
        deadline = 0
        if 0 < w3 < LONGEST:
            deadline = session.now + w3
            self.earliest = min(self.earliest, deadline)
        call = IncomingCall(session, word, w2 >> 24 & 15, deadline, session.now)
        call.oneway = bool(w2 >> 16 & ONEWAY)
        slot = word & 0xFFFFF
        self.words[slot] = -1
        self.calls[slot] = call
        self.open += 1
        return call

    def _begin(self, call: IncomingCall, w2: int, body: Body, message: bytes) -> None:
        session = self.session
        flags = w2 >> 16 & 0xFF
        call.metadata = body.metadata
        if flags & END:
            call.request_ended = True
        whole, full = False, None
        try:
            if flags & MSG:
                whole = self._message(call, w2, body.total, message)
        except CallFault as fault:
            if fault.kind != "memory":
                raise
            full = fault  # looked at behind all that is at fault with the call (protocol.md 4.6)
        name = self.asked = body.name if body.name is not None else self.names[w2 & 0xFFFF]
        method = self.served.get(name)
        if method is None:
            side = "client" if self.first_word & INITIATOR_BIT else "server"
            raise CallFault("unknown_method", unserved(name, self.served, side))
        if not session.knows_codec[call.codec]:
            raise CallFault("codec", self._unknown_codec(call.codec))
        if session.lifecycle.turns_away(session.now):
            self.end(call, Code.UNAVAILABLE, "this server is draining", REFUSED, 1)
            return
        if full is not None:
            raise full
        call.method = method
        if not method.takes_one and not call.oneway:
            self._make_ready(call)
        else:
            if not call.request_ended:
                self._receiving(call).take_one()
            self._await_one(call, whole)

    def _unknown_codec(self, codec: int) -> str:
        session = self.session
        name = f" ({session.peer.codecs[codec].decode('utf-8', 'replace')})" if codec in session.peer.codecs else ""
        only = f", only {session.codec_list}" if session.codec_list else ""
        return f"codec {codec}{name} is not known here{only}"

    def _make_ready(self, call: IncomingCall) -> None:
        call.state = READY
        self.ready.append(call)

    def _await_one(self, call: IncomingCall, whole: bool) -> None:
        """A method that takes one message: starts when it is whole and END is there (protocol.md 7.4)."""
        flow = call.receiving
        if call.request_ended and (flow is None or not flow.messages):
            raise CallFault("messages", f"no message {ONE_EXPECTED}")
        if call.request_ended and (whole or (flow is not None and flow.inbox)):
            self._make_ready(call)

    def _message(self, call: IncomingCall, w2: int, total: int, message: bytes | memoryview) -> bool:
        session = self.session
        flow = self._receiving(call)
        codec, compression = w2 >> 24 & 15, w2 >> 28
        legal = codec == call.codec and session.knows_codec[codec]
        listed = compression == 0 or compression in session.own.compressions
        more = bool(w2 >> 16 & MORE)
        whole = flow.accept(more, codec, compression, total, message, legal, listed)
        if total:
            flow.since = session.now
            session.under_way.watch(call)
        if flow.due and not call.request_ended:
            session.credit_due(call)
        return whole

    def _receiving(self, call: IncomingCall) -> ReceiveFlow:
        flow = call.receiving
        if flow is None:
            session = self.session
            flow = call.receiving = ReceiveFlow(session.window, session.own.max_message, session.share, session.pool)
            flow.dropping = call.returned
        return flow

    def on_data(self, word: int, w2: int, data: bytes | memoryview, start: int, end: int) -> None:
        call = self._find(word)
        if call is None:
            return
        flags = w2 >> 16 & 0xFF
        if call.request_ended:
            raise ConnectionFault("state", "DATA behind END")
        if call.oneway and flags & (MSG | MORE | END) == MSG:
            raise ConnectionFault("state", "the message of a one-way call without END")
        flow = call.receiving
        in_message = flow is not None and flow.total > 0
        if in_message and flags & (END | MSG) == END:
            raise ConnectionFault("piece", "END while a message is in progress")
        try:
            body = read_body(data, start, end, w2, DATA, in_message, self.session.own)
            if flags & END:
                call.request_ended = True
            whole = self._message(call, w2, body.total, data[body.payload : end]) if flags & MSG else False
            self._advance(call, whole)
        except CallFault as fault:
            self._fault(call, fault)

    def _advance(self, call: IncomingCall, whole: bool) -> None:
        if call.state == RECEIVING:
            self._await_one(call, whole)
        elif call.state == RUNNING and not call.returned:
            if whole:
                self.session.events.arrived(call)
            if call.request_ended and call.state == RUNNING:
                self.session.events.half_closed(call)

    def _fault(self, call: IncomingCall, fault: CallFault) -> None:
        code, retry = _CALLEE_CODES[fault.kind]
        if call.state == RUNNING:
            self.cut(call, code, fault.text)
        elif call.state < RUNNING:
            self.end(call, code, fault.text, REFUSED, retry)

    def on_credit(self, word: int, size: int) -> None:
        call = self._find(word)
        if call is None:
            return
        flow = self._sending(call)
        flow.window += size
        if flow.window > MAX_WINDOW:
            raise ConnectionFault("credit", f"a window of {flow.window}")
        self.session.sender.granted(call, flow)

    def on_cancel(self, word: int) -> None:
        call = self._find(word)
        if call is not None:
            self.stop(call, Code.CANCELLED, "cancelled by the caller", 0)

    def _refuse_untracked(self, word: int, text: str) -> None:
        self._unserved(None, REFUSED, Code.RESOURCE_EXHAUSTED, text)
        body, _ = payload(text, (), self.session.peer.max_frame_body)
        w2 = REFUSED << 16 | Code.RESOURCE_EXHAUSTED
        if not self.session.output.owe(control(RESULT, word, w2, RETRY, body)):
            raise ConnectionFault("flood", "too many refusals and PING ACKs are unsent")

    # Starting.

    def dispatch(self) -> None:
        session = self.session
        while self.ready:
            ready, self.ready = self.ready, []
            load = session.load
            for call in ready:
                if call.state != READY:
                    continue
                if call.deadline and call.deadline <= session.now:
                    self.end(call, Code.DEADLINE_EXCEEDED, "the deadline passed before the start", REFUSED, 0)
                elif load.running >= load.running_limit:
                    text = f"{load.running_limit} handlers are running, which is the limit"
                    self.end(call, Code.RESOURCE_EXHAUSTED, text, REFUSED, RETRY)
                else:
                    load.running += 1
                    call.state = RUNNING
                    if call.receiving is not None or call.oneway or not call.method.takes_one:
                        self._start(call)
                    else:
                        session.events.start(call)

    def _start(self, call: IncomingCall) -> None:
        events = self.session.events
        flow = call.receiving
        if (call.method.takes_one or call.oneway) and flow is not None:
            message, call.compression = flow.take()
            call.message = kept(message)
        events.start(call)
        for _ in range(len(flow.inbox) if flow is not None else 0):
            if call.state == RUNNING and not call.returned:
                events.arrived(call)
        if call.request_ended and call.state == RUNNING and not call.method.takes_one and not call.returned:
            events.half_closed(call)

    # What a handler says.

    def _sending(self, call: IncomingCall) -> SendFlow:
        flow = call.sending
        if flow is None:
            flow = call.sending = SendFlow(self.session.peer_window)
        return flow

    def send(self, call: IncomingCall, message: bytes, compression: int) -> bool:
        if call.state == DONE:
            return True
        self.session.check_message(message, compression)
        call.answered = MESSAGES
        return self.session.sender.send(call, self._sending(call), message, compression)

    def send_metadata(self, call: IncomingCall, metadata: Metadata) -> None:
        if call.state == DONE:
            return
        if call.answered == MESSAGES:
            raise ValueError("early metadata goes ahead of all messages")
        meta = self._block(metadata)
        call.answered = METADATA
        self.session.output.buffer += control(DATA, call.id, META << 16, 0, meta)

    def _block(self, metadata: Metadata) -> bytes:
        peer = self.session.peer
        return block(metadata, peer.max_metadata_bytes, peer.max_metadata_entries, peer.max_frame_body)

    def finish(
        self, call: IncomingCall, message: bytes | None, status: Status, compression: int, metadata: Metadata | None
    ) -> None:
        if not call.returned:
            call.returned = True
            self.session.load.running -= 1
        if call.state == DONE:
            return
        meta = self._block(metadata) if metadata is not None else b""
        if message is not None and not status.code:
            self.session.check_message(message, compression)
            if self._with_result(call, message, compression, meta):
                return
            self.session.sender.send(call, self._sending(call), message, compression)
            if call.over:
                return
        flow = call.sending
        if flow is not None and flow.outbox:
            flow.final = True
            call.final = (status, meta)
            self._drop_requests(call)
        else:
            self._answer(call, status, meta)

    def _with_result(self, call: IncomingCall, message: bytes, compression: int, meta: bytes) -> bool:
        """Appends RESULT(OK, MSG) if the message fits it now (protocol.md 4.3, 7.4)."""
        flow = call.sending
        window = self.session.peer_window if flow is None else flow.window
        if (flow is not None and flow.outbox) or len(message) + MESSAGE_COST > window:
            return False
        if len(meta) + len(message) > self.session.peer.max_frame_body:
            return False
        flags = MSG | META if meta else MSG
        self._append_result(call, compression << 28 | call.codec << 24, flags, meta, message)
        return True

    def _drop_requests(self, call: IncomingCall) -> None:
        flow = call.receiving
        if flow is not None:
            flow.drop_all()
            if flow.due and not call.request_ended:
                self.session.credit_due(call)

    def drained(self, call: IncomingCall) -> None:
        """All messages of a call whose handler has returned are appended: now its RESULT."""
        status, meta = call.final
        self._answer(call, status, meta)

    def _answer(self, call: IncomingCall, status: Status, meta: bytes) -> None:
        if not status.code:
            self._append_result(call, 0, META if meta else 0, meta, b"")
            return
        self._failure(call, status, 0, meta)

    def _failure(self, call: IncomingCall, status: Status, flag: int, meta: bytes) -> None:
        """Appends RESULT with a status other than OK; `flag`: REFUSED, CUT or 0."""
        room = self.session.peer.max_frame_body - len(meta)
        body, stripped = payload(status.message, status.details, room)
        flags = flag | (META if meta else 0) | (STRIPPED if stripped or status.stripped else 0)
        self._unserved(call, flag, status.code, status.message)
        self._append_result(call, status.code, flags, meta, body, milliseconds(status.retry_after))

    def accept(self, call: IncomingCall) -> None:
        """Answers a one-way call that will run (protocol.md 7.5)."""
        if call.state == RUNNING:
            self._append_result(call, 0, 0, b"", b"")

    def turn_away(self, call: IncomingCall, status: Status, metadata: Metadata | None) -> None:
        """The layer above refuses a call instead of running its handler."""
        meta = self._block(metadata) if metadata is not None else b""
        if not call.returned:
            call.returned = True
            self.session.load.running -= 1
        if call.state == DONE:
            return
        flag = CUT if call.answered else REFUSED
        self._failure(call, status, flag, meta)

    # Endings.

    def lacks_room(self, call: IncomingCall, text: str) -> None:
        """There is no memory for what its handler wants to say."""
        self.stop(call, Code.RESOURCE_EXHAUSTED, text, RETRY)

    def cut(self, call: IncomingCall, code: Code, text: str) -> None:
        if call.state == DONE:
            return
        returned = call.returned
        self.end(call, code, text, CUT, 0)
        if not returned:
            self.session.events.stopped(call)

    def stop(self, call: IncomingCall, code: Code, text: str, retry_after: int) -> None:
        """Ends a call for CANCEL, time or a limit: REFUSED or CUT, as the handler has started or not."""
        if call.state == RUNNING:
            self.cut(call, code, text)
        else:
            self.end(call, code, text, REFUSED, retry_after)

    def end(self, call: IncomingCall, code: Code, text: str, flag: int, retry_after: int) -> None:
        """Appends the RESULT that the session itself gives."""
        body, _ = payload(text, (), self.session.peer.max_frame_body)
        self._unserved(call, flag, code, text)
        self._append_result(call, code, flag, b"", body, retry_after)

    def _unserved(self, call: IncomingCall | None, flag: int, code: Code, text: str) -> None:
        """Counts and tells of a call that ends REFUSED or CUT, if that is what `flag` says."""
        if flag:
            refused = flag == REFUSED
            self.session.load.count(refused)
            known: Method | None = getattr(call, "method", None)
            self.session.events.unserved(known.name if known else self.asked, refused, code, text)

    def _append_result(
        self, call: IncomingCall, low: int, flags: int, meta: bytes, body: bytes, retry_after: int = 0
    ) -> None:
        session = self.session
        w3 = retry_after if flags & REFUSED else min(session.now - call.began, LONGEST)
        buffer = session.output.buffer
        buffer += HEADER.pack(RESULT << 24 | len(meta) + len(body), call.id, low | flags << 16, w3)
        buffer += meta
        buffer += body
        self._free(call)

    def _free(self, call: IncomingCall) -> None:
        call.state = DONE
        self.calls[call.id & 0xFFFFF] = None
        self.finished.append(call.id)
        self.open -= 1
        if call.sending is not None:
            self.session.sender.leave(call.sending)
        if call.receiving is not None:
            call.receiving.drop_all()

    def moved(self) -> None:
        """The RESULTs appended so far are with the writer: their slots may be used again (protocol.md 7.1)."""
        words = self.words
        for word in self.finished:
            words[word & 0xFFFFF] = next_generation(word)
        self.finished.clear()

    def stop_all(self) -> None:
        """The input has ended: no RESULT, and handlers are told (protocol.md 11.7)."""
        for call in list(self.calls):
            if call is None:
                continue
            running = call.state == RUNNING and not call.returned
            self._free(call)
            if running:
                self.session.events.stopped(call)

    def end_of_grace(self) -> None:
        for call in list(self.calls):
            if call is not None:
                self.stop(call, Code.UNAVAILABLE, "the grace period of draining is over", RETRY)

    def tick(self, now: int) -> None:
        if now < self.earliest:
            return
        earliest = NEVER
        for call in list(self.calls):
            if call is None or not call.deadline:
                continue
            if call.deadline > now:
                earliest = min(earliest, call.deadline)
            else:
                self.stop(call, Code.DEADLINE_EXCEEDED, "the deadline passed", 0)
        self.earliest = earliest
