"""The sending half of a stream: messages that wait for credit or their turn, and how they are cut (protocol.md 9)."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING

from .fault import CallFault, ConnectionFault
from .frame import DATA, END, HEADER, MAX_WINDOW, MESSAGE_COST, MORE, MSG, PIECE_FLOOR, POOL, control
from .output import ONE_CALL_LIMIT, ORDINARY_LIMIT, PIECES_LIMIT
from .stream import Call, IncomingCall
from .varint import varint

if TYPE_CHECKING:
    from .session import Session

FULL_PIECE = PIECE_FLOOR + MESSAGE_COST  # with this much window, or pool, a sender never waits for more


class SendFlow:
    """One direction of one stream at its sender. `window` is what may still be spent."""

    __slots__ = (
        "blocked",
        "ended",
        "final",
        "holds",
        "offset",
        "order",
        "outbox",
        "since",
        "started",
        "waiting",
        "window",
    )

    def __init__(self, window: int) -> None:
        self.window = window
        self.outbox: deque[tuple[bytes, int]] = deque()  # messages not wholly appended, with their compression
        self.offset = 0  # how much of the first one was appended
        self.started = False  # whether a piece of it was
        self.ended = False  # END follows the last message
        self.final = False  # RESULT follows the last message
        self.blocked = False  # waits for credit
        self.waiting = False  # stands in one of the sender's lines of those that can send
        self.since = 0  # since when the first message is under way (protocol.md 9.6)
        self.holds = 0  # bytes of queued answers
        self.order = 0  # a lesser one has held something for longer


class Sender:
    """Lets the queued messages of all streams into the output, in turn (protocol.md 9.7)."""

    __slots__ = ("line", "pieces", "room", "session", "singles")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.room = 0  # what may be spent of the peer's pool
        self.singles: deque[Call] = deque()  # streams whose first message goes in one frame
        self.pieces: deque[Call] = deque()  # streams whose first message is cut
        self.line: OrderedDict[SendFlow, Call] = OrderedDict()  # streams that wait for credit, their own or the pool's

    def send(self, call: Call, flow: SendFlow, message: bytes, compression: int) -> bool:
        """Appends the message at once if nothing is in its way, else queues it. False: the stream should wait."""
        session = self.session
        size = len(message)
        cost = size + MESSAGE_COST
        if (
            not flow.outbox
            and size <= session.peer.max_frame_body
            and (cost <= flow.window or cost <= self.room)
            and session.output.unsent < ORDINARY_LIMIT
        ):
            flags = MSG | END if flow.ended else MSG
            if cost <= flow.window:
                flow.window -= cost
            else:
                self.room -= cost
                flags |= POOL
            buffer = session.output.buffer
            w2 = compression << 28 | call.codec << 24 | flags << 16
            buffer += HEADER.pack(DATA << 24 | size, call.id, w2, 0)
            buffer += message
            return True
        self.queue(call, flow, message, compression)
        return not flow.outbox

    def queue(self, call: Call, flow: SendFlow, message: bytes, compression: int) -> None:
        """Queues a message. An answer for which memory is full ends its call."""
        if isinstance(call, IncomingCall) and not self._holds(call, flow, len(message)):
            return
        if not flow.outbox:
            flow.since = self.session.now
        flow.outbox.append((message, compression))
        self.session.under_way.watch(call)
        self.line_up(call, flow)

    def _holds(self, call: IncomingCall, flow: SendFlow, size: int) -> bool:
        share = self.session.share
        if not flow.holds:
            share.order += 1
            flow.order = share.order
        try:
            share.hold(size, flow)
        except CallFault as fault:
            self.session.callee.lacks_room(call, fault.text)
            return False
        flow.holds += size
        return True

    def _release(self, flow: SendFlow, size: int) -> None:
        if flow.holds:
            flow.holds -= size
            self.session.share.let_go(size)

    def line_up(self, call: Call, flow: SendFlow) -> None:
        """Puts a stream with something to send into its queue, unless it is there or lacks credit."""
        if flow.waiting or not flow.outbox:
            return
        left = len(flow.outbox[0][0]) - flow.offset
        cost = left + MESSAGE_COST
        most = max(flow.window, self.room)
        if most < FULL_PIECE and cost > most:
            self._block(call, flow)
            return
        flow.blocked = False
        flow.waiting = True
        single = not flow.started and left <= self.session.peer.max_frame_body and cost <= most
        (self.singles if single else self.pieces).append(call)

    def _block(self, call: Call, flow: SendFlow) -> None:
        flow.blocked = True
        self.line.setdefault(flow, call)

    def granted(self, call: Call, flow: SendFlow) -> None:
        """The window has grown."""
        if flow.blocked:
            flow.blocked = False
            self.line_up(call, flow)

    def granted_pool(self, size: int) -> None:
        """The pool has grown: as many as it holds pieces for try again, in order. Raises ConnectionFault `credit`."""
        self.room += size
        if self.room > MAX_WINDOW:
            raise ConnectionFault("credit", f"a pool of {self.room}")
        for _ in range(min(self.room // FULL_PIECE + 1, len(self.line))):
            flow, call = self.line.popitem(last=False)
            self.granted(call, flow)

    def withdraw(self, call: Call) -> None:
        """Takes back the last message queued. One of which a piece was appended stays: its rest has to follow."""
        flow = call.sending
        if flow is None or len(flow.outbox) <= flow.started:
            return
        message, _ = flow.outbox.pop()
        self._release(flow, len(message))
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
        """The call is over: what it had queued is discarded. Its place among those that can send is skipped when it
        comes up. The line may never move, so it leaves that."""
        self.line.pop(flow, None)
        flow.outbox.clear()
        flow.final = False
        flow.blocked = False
        self._release(flow, flow.holds)

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
        """Appends one frame of the stream and puts it back into its queue if there is more."""
        flow = call.sending
        if flow is None:
            return
        flow.waiting = False
        if not flow.outbox:
            return
        if not self._frame(call, flow):
            self._block(call, flow)  # others have spent the pool meanwhile
            return
        if flow.outbox:
            self.line_up(call, flow)
        elif flow.final and isinstance(call, IncomingCall):
            flow.final = False
            self.session.callee.drained(call)
        else:
            self.session.events.writable(call)

    def _frame(self, call: Call, flow: SendFlow) -> bool:
        """Appends the rest of the first message or a piece of it, paid from the window, or else from the pool. False:
        neither holds it."""
        message, compression = flow.outbox[0]
        most = self.session.peer.max_frame_body
        left = len(message) - flow.offset
        head = b""
        flags, size = MSG, left
        if left <= most and left + MESSAGE_COST <= flow.window:
            flow.window -= left + MESSAGE_COST
        elif flow.window >= FULL_PIECE:
            head = b"" if flow.started else varint(len(message))
            flags, size = MSG | MORE, min(most - len(head), flow.window - MESSAGE_COST)
            flow.window -= size + MESSAGE_COST
        elif left <= most and left + MESSAGE_COST <= self.room:
            flags = MSG | POOL
            self.room -= left + MESSAGE_COST
        elif self.room >= FULL_PIECE:
            head = b"" if flow.started else varint(len(message))
            flags, size = MSG | MORE | POOL, min(most, self.room - MESSAGE_COST) - len(head)
            self.room -= len(head) + size + MESSAGE_COST
        else:
            return False
        payload = memoryview(message)[flow.offset : flow.offset + size]
        flow.started = bool(flags & MORE)
        if flow.started:
            flow.offset += size
        else:
            flow.offset = 0
            flow.since = self.session.now
            flow.outbox.popleft()
            if flow.ended and not flow.outbox:
                flags |= END
        buffer = self.session.output.buffer
        w2 = compression << 28 | call.codec << 24 | flags << 16
        buffer += HEADER.pack(DATA << 24 | len(head) + size, call.id, w2, 0)
        buffer += head
        buffer += payload
        self._release(flow, size)
        return True
