"""Credit that is owed to the peer (protocol.md 9.4), and streams that stand still (9.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .frame import CREDIT, GAVE_UP, control
from .status import Code, Delivery, local_status
from .stream import ABANDONED, DONE, Call, OutgoingCall

if TYPE_CHECKING:
    from .session import Session

STANDSTILL = 60_000_000  # µs (limits.md 3)
RETRY = 1_000  # ms, where the text says: at least 1
NEVER = 1 << 62


class Granter:
    """Appends one CREDIT per stream, when the last one has left: what is owed meanwhile is added to it."""

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
                session = self.session
                size = flow.owed + flow.growth(session.now, session.max_window)
                output.buffer += control(CREDIT, call.id, 0, size)
                flow.window += size
                flow.owed = 0
                flow.since = session.now
                flow.credit_end = output.position

    def _grants(self, call: Call) -> bool:
        if isinstance(call, OutgoingCall):
            return call.state < ABANDONED
        return call.state < DONE and not call.request_ended


class Standstill:
    """Ends streams that have waited for 60 s for credit, or for the next piece of a message that has window."""

    __slots__ = ("at", "session", "watched")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.watched: dict[Call, None] = {}
        self.at = NEVER  # when to look next

    def watch(self, call: Call) -> None:
        session = self.session
        self.watched[call] = None
        self.at = min(self.at, session.now + STANDSTILL)

    def look(self, now: int) -> None:
        self.at = NEVER
        for call in list(self.watched):
            since = self._since(call)
            if since == NEVER:
                del self.watched[call]
            elif since + STANDSTILL <= now:
                del self.watched[call]
                self._reap(call)
            else:
                self.at = min(self.at, since + STANDSTILL)

    def _since(self, call: Call) -> int:
        over = ABANDONED if isinstance(call, OutgoingCall) else DONE
        if call.state >= over:
            return NEVER
        since = NEVER
        if call.sending is not None and call.sending.blocked:
            since = call.sending.since
        if call.receiving is not None and call.receiving.total:
            mark = call.receiving.since if call.receiving.standing else self.session.now
            since = min(since, mark)
        return since

    def _reap(self, call: Call) -> None:
        text = f"the stream stood still for {STANDSTILL // 1_000_000} s"
        if isinstance(call, OutgoingCall):
            status = local_status(Code.RESOURCE_EXHAUSTED, text, Delivery.UNKNOWN)
            self.session.caller.abandon(call, GAVE_UP, status)
        else:
            self.session.callee.stop(call, Code.RESOURCE_EXHAUSTED, text, RETRY)
