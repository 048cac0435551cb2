"""Which call a connection ends when the memory of all is used up (limits.md 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .budget import LEAST_SHARE
from .fault import ConnectionFault
from .frame import CANNOT_TAKE
from .status import Code, Delivery, local_status
from .stream import ABANDONED, Call, IncomingCall

if TYPE_CHECKING:
    from .session import Session

RETRY = 1_000  # ms, where the text says: at least 1


def relieve(session: Session, holder: object) -> bool:
    """Ends the call that has held memory for longest. If that is the call of `holder` itself, nothing is freed. If all
    that the connection holds is output that its peer does not read, the connection is ended."""
    longest = _longest(session)
    if longest is None:
        if session.output.unsent >= LEAST_SHARE:
            session.lifecycle.fail(ConnectionFault("flood", "the peer does not read what it is sent"), "")
            session.events.relieved()
        return False
    if longest.receiving is holder is not None or longest.sending is holder is not None:
        return False
    text = f"the memory of all connections, {session.load.budget.limit} bytes, is used up, most of it by this one"
    if isinstance(longest, IncomingCall):
        session.callee.stop(longest, Code.RESOURCE_EXHAUSTED, text, RETRY)
    elif longest.state < ABANDONED:
        status = local_status(Code.RESOURCE_EXHAUSTED, text, Delivery.UNKNOWN)
        session.caller.abandon(longest, CANNOT_TAKE, status)
    session.events.relieved()
    return True


def _longest(session: Session) -> Call | None:
    found: Call | None = None
    least = 0
    calls: list[Call | None] = [*session.callee.calls, *session.caller.calls]
    for call in calls:
        if call is None:
            continue
        for flow in (call.receiving, call.sending):
            if flow is not None and flow.holds and (found is None or flow.order < least):
                found, least = call, flow.order
    return found
