"""The sending half of a stream: messages that wait for credit or their turn, and how they are cut (protocol.md 9)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from .frame import DATA, END, HEADER, MESSAGE_COST, MORE, MSG, PIECE_FLOOR, control
from .output import ONE_CALL_LIMIT, ORDINARY_LIMIT, PIECES_LIMIT
from .stream import Call, IncomingCall
from .varint import varint

if TYPE_CHECKING:
    from .session import Session

FULL_PIECE = PIECE_FLOOR + MESSAGE_COST  # with this much window a sender never waits for more


class SendFlow:
    """One direction of one stream at its sender. `window` is what may still be spent."""

    __slots__ = ("blocked", "ended", "final", "offset", "outbox", "since", "started", "waiting", "window")

    def __init__(self, window: int) -> None:
        self.window = window
        self.outbox: deque[tuple[bytes, int]] = deque()  # messages not wholly appended, with their compression
        self.offset = 0  # how much of the first one was appended
        self.started = False  # whether a piece of it was
        self.ended = False  # END follows the last message
        self.final = False  # RESULT follows the last message
        self.blocked = False  # waits for credit
        self.waiting = False  # stands in one of the sender's lines
        self.since = 0  # since when it waits for credit


class Sender:
    """Lets the queued messages of all streams into the output, in turn (protocol.md 9.7)."""

    __slots__ = ("pieces", "session", "singles")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.singles: deque[Call] = deque()  # streams whose first message goes in one frame
        self.pieces: deque[Call] = deque()  # streams whose first message is cut

    def send(self, call: Call, flow: SendFlow, message: bytes, compression: int) -> bool:
        """Appends the message at once if nothing is in its way, else queues it. False: the stream should wait."""
        session = self.session
        size = len(message)
        if (
            not flow.outbox
            and size <= session.peer.max_frame_body
            and size + MESSAGE_COST <= flow.window
            and session.output.unsent < ORDINARY_LIMIT
        ):
            flow.window -= size + MESSAGE_COST
            flags = MSG | END if flow.ended else MSG
            buffer = session.output.buffer
            w2 = compression << 28 | call.codec << 24 | flags << 16
            buffer += HEADER.pack(DATA << 24 | size, call.id, w2, 0)
            buffer += message
            return True
        flow.outbox.append((message, compression))
        self.line_up(call, flow)
        return False

    def line_up(self, call: Call, flow: SendFlow) -> None:
        """Puts a stream with something to send into its line, unless it is there or lacks credit."""
        if flow.waiting or not flow.outbox:
            return
        left = len(flow.outbox[0][0]) - flow.offset
        whole = left <= self.session.peer.max_frame_body and not flow.started
        if flow.window < FULL_PIECE and left + MESSAGE_COST > flow.window:
            if not flow.blocked:
                flow.blocked = True
                flow.since = self.session.now
                self.session.standstill.watch(call)
            return
        flow.blocked = False
        flow.waiting = True
        (self.singles if whole and left + MESSAGE_COST <= flow.window else self.pieces).append(call)

    def granted(self, call: Call, flow: SendFlow) -> None:
        """The window has grown."""
        if flow.blocked:
            flow.blocked = False
            self.line_up(call, flow)

    def withdraw(self, call: Call) -> None:
        """Takes back the last message queued. One of which a piece was appended stays: its rest has to follow."""
        flow = call.sending
        if flow is None or len(flow.outbox) <= flow.started:
            return
        flow.outbox.pop()
        if flow.outbox:
            return
        flow.blocked = False
        if isinstance(call, IncomingCall):
            if flow.final:
                flow.final = False
                self.session.callee.drained(call)
        elif flow.ended:
            self.session.output.buffer += control(DATA, call.id, END << 16, 0)

    def leave(self, flow: SendFlow) -> None:
        """The call is over: what it had queued is discarded. Its place in a line is skipped when it comes up."""
        flow.outbox.clear()
        flow.final = False
        flow.blocked = False

    @property
    def ready(self) -> bool:
        return bool(self.singles or self.pieces)

    def pump(self, open_calls: int) -> None:
        """Appends what may enter the next write: at least one piece, if one has credit."""
        output = self.session.output
        limit = ONE_CALL_LIMIT if open_calls <= 1 else PIECES_LIMIT
        singles, pieces = self.singles, self.pieces
        while singles and output.unsent < ORDINARY_LIMIT:
            self._advance(singles.popleft())
        first = True
        while pieces and (first or output.unsent < limit):
            self._advance(pieces.popleft())
            first = False

    def _advance(self, call: Call) -> None:
        """Appends one frame of the stream and puts it back into its line if there is more."""
        flow = call.sending
        if flow is None:
            return
        flow.waiting = False
        if not flow.outbox:
            return
        self._frame(call, flow)
        if flow.outbox:
            self.line_up(call, flow)
        elif flow.final and isinstance(call, IncomingCall):
            flow.final = False
            self.session.callee.drained(call)
        else:
            self.session.events.writable(call)

    def _frame(self, call: Call, flow: SendFlow) -> None:
        message, compression = flow.outbox[0]
        room = self.session.peer.max_frame_body
        left = len(message) - flow.offset
        head = b""
        if left <= room and left + MESSAGE_COST <= flow.window:
            size, flags = left, MSG
            flow.outbox.popleft()
            if flow.ended and not flow.outbox:
                flags |= END
        else:
            head = b"" if flow.started else varint(len(message))
            size, flags = min(room - len(head), flow.window - MESSAGE_COST), MSG | MORE
        payload = memoryview(message)[flow.offset : flow.offset + size]
        flow.window -= size + MESSAGE_COST
        flow.started = bool(flags & MORE)
        flow.offset = flow.offset + size if flow.started else 0
        buffer = self.session.output.buffer
        w2 = compression << 28 | call.codec << 24 | flags << 16
        buffer += HEADER.pack(DATA << 24 | len(head) + size, call.id, w2, 0)
        buffer += head
        buffer += payload
