"""Credit that is owed to the peer (protocol.md 9.4), and messages that take too long (9.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .frame import CANNOT_TAKE, CREDIT, GAVE_UP, control
from .send import FULL_PIECE, SendFlow
from .status import Code, Delivery, local_status
from .stream import ABANDONED, DONE, Call, OutgoingCall

if TYPE_CHECKING:
    from .receive import ReceiveFlow
    from .session import Session

MOST = 60_000_000  # µs for a message under way, and one second more (limits.md 3)
MORE_FOR = 65_536  # for so many bytes of it that have passed
LOOK = 5_000_000  # µs between two looks
RETRY = 1_000  # ms, where the text says: at least 1
NEVER = 1 << 62


class Granter:
    """Appends one CREDIT per stream, once the last one has left. What is owed meanwhile is added to the next."""

    __slots__ = ("due", "session")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.due: dict[Call, None] = {}

    def append(self) -> None:
        output = self.session.output
        for call in list(self.due):
            flow = call.receiving
            if flow is not None and flow.credit_end > output.written:
                continue
            del self.due[call]
            if flow is not None and flow.owed and self._grants(call):
                output.buffer += control(CREDIT, call.id, 0, flow.owed)
                flow.window += flow.owed
                flow.owed = 0
                flow.credit_end = output.position

    def _grants(self, call: Call) -> bool:
        if isinstance(call, OutgoingCall):
            return call.state < ABANDONED
        return call.state < DONE and not call.request_ended


class UnderWay:
    """Ends calls with a message that is under way for too long, sent or received (protocol.md 9.6)."""

    __slots__ = ("at", "looked", "session", "watched")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.watched: dict[Call, None] = {}
        self.looked = 0
        self.at = NEVER  # when to look next

    def watch(self, call: Call) -> None:
        """A message of the call has begun."""
        if self.at == NEVER:
            self.looked = self.session.now
            self.at = self.looked + LOOK
        self.watched[call] = None

    def look(self, now: int) -> None:
        passed, self.looked = now - self.looked, now
        for call in list(self.watched):
            over = ABANDONED if isinstance(call, OutgoingCall) else DONE
            sending, receiving = call.sending, call.receiving
            sends = sending is not None and bool(sending.outbox)
            receives = receiving is not None and receiving.total > 0
            if call.state >= over or not (sends or receives):
                del self.watched[call]
            elif sends and sending is not None and _late(sending, sending.offset, now):
                self._end(call, GAVE_UP)
            elif receives and receiving is not None:
                if max(receiving.window, self.session.pool.left) < FULL_PIECE:
                    receiving.since = min(receiving.since + passed, now)  # its sender could not go on
                elif _late(receiving, receiving.received, now):
                    self._end(call, CANNOT_TAKE)
        self.at = now + LOOK if self.watched else NEVER

    def _end(self, call: Call, reason: int) -> None:
        del self.watched[call]
        text = f"a message was under way for more than {MOST // 1_000_000} s, and one more for each 64 KiB of it"
        if isinstance(call, OutgoingCall):
            status = local_status(Code.RESOURCE_EXHAUSTED, text, Delivery.UNKNOWN)
            self.session.caller.abandon(call, reason, status)
        else:
            self.session.callee.stop(call, Code.RESOURCE_EXHAUSTED, text, RETRY)


def _late(flow: SendFlow | ReceiveFlow, passed: int, now: int) -> bool:
    return now - flow.since >= MOST + passed * 1_000_000 // MORE_FOR
