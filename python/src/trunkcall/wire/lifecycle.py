"""The states of a session (protocol.md 11.1): keepalive, draining, closing in order, connection errors, the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .body import cut_text
from .fault import ConnectionFault
from .frame import ACK, DRAINING, GOAWAY, NOT_SERVED, PEER_SILENT, PING, PROTOCOL_ERROR, RESOURCE_LIMIT, control
from .status import Code, Delivery

if TYPE_CHECKING:
    from .session import Session

# States; draining is OPEN with one of the GOAWAY marks set.
PREFACE, OPEN, CLOSING, CLOSED = range(4)

NEVER = 1 << 62
HANDSHAKE = 10_000_000  # µs (protocol.md 11.1)
DISCARD_TIME = 1_000_000  # µs (protocol.md 11.6)
DISCARD_BYTES = 1 << 20
PATIENCE = 10_000_000  # µs that a GOAWAY waits for its ACK before calls are refused (protocol.md 11.4)
_CHECK = (
    "check that a Trunkcall server listens there, that TLS is used at both ends or at neither, and that no proxy or "
    "firewall stands between"
)


class Lifecycle:
    """Where a session stands. All times are µs of the session's clock."""

    __slots__ = (
        "answer_time",
        "asked",
        "calling",
        "discard_left",
        "done",
        "got_ack",
        "got_goaway",
        "half_close",
        "interval",
        "must_ask",
        "patience",
        "ping_at",
        "pinged",
        "received_at",
        "round_trip",
        "sent_ack",
        "session",
        "state",
        "until",
    )

    def __init__(self, session: Session, interval: int, answer_time: int) -> None:
        self.session = session
        self.state = PREFACE
        self.half_close = False
        self.interval = interval  # of keepalive; 0: none
        self.answer_time = answer_time
        self.received_at = session.now
        self.ping_at = -NEVER  # when the last PING was sent
        self.pinged = False  # nothing came since
        self.round_trip = 0  # what the last PING took
        self.must_ask = False  # drain was called before a GOAWAY could be sent
        self.asked = False  # own GOAWAY(0) appended
        self.calling = False  # and its ACK comes when no call is open
        self.sent_ack = False
        self.got_goaway = False
        self.got_ack = False
        self.patience = NEVER  # from then on calls are refused without the peer's ACK
        self.until = session.now + HANDSHAKE  # of the preface, later of discarding
        self.discard_left = 0
        self.done = False  # closed in order, for the side that did not ask

    # Keepalive (protocol.md 11.2).

    def on_ping(self, w2: int, w3: int) -> None:
        if w2 >> 16 & ACK:
            pool = self.session.pool
            if pool._asked and w3 == pool._word:
                self.round_trip = self.session.now - (pool._pinged_at if pool._pinged_at >= 0 else self.ping_at)
            pool.answered(w3)
        elif not self.session.output.owe(control(PING, 0, ACK << 16, w3)):
            raise ConnectionFault("flood", "too many refusals and PING ACKs are unsent")

    def ping(self) -> None:
        """Sends a PING now, whatever the intervals."""
        if self.state == OPEN:
            self.pinged = True
            self.ping_at = self.session.now
            self.session.pool.ping()

    def _ping_due(self) -> int:
        if not self.interval or self.state != OPEN:
            return NEVER
        if self.pinged:
            return self.ping_at + self.answer_time + 1  # what arrives at the last moment is in time
        earliest = self.ping_at + self.session.peer.min_ping_interval * 1_000
        return max(self.received_at + self.interval, earliest)

    # Draining (protocol.md 11.4).

    def drain(self, calling: bool = False) -> None:
        if self.asked or self.state >= CLOSING:
            return
        self.calling = calling
        if self.state == PREFACE and not self.session.initiator:
            self.must_ask = True
            return
        self.asked = True
        self.patience = self.session.now + PATIENCE
        self.session.output.buffer += control(GOAWAY, 0, 0, DRAINING, b"draining")
        self._update()

    def on_goaway(self, w2: int, w3: int, body: bytes) -> None:
        if w2 >> 16 & ACK:
            self.got_ack = True
            self._update()
            return
        if self.patience == -NEVER:
            return  # the peer has said that it ends the connection
        text = cut_text(body)
        if not DRAINING < w3 <= NOT_SERVED:
            if not self.got_goaway:
                self.got_goaway = True
                self.acknowledge()
                self.session.events.goes_away(DRAINING, text)
            return
        self.patience = -NEVER  # the connection is ending: nothing new in either direction
        self._update()
        self.session.events.goes_away(w3, text)
        if w3 == NOT_SERVED:
            self.session.caller.end_all(Code.UNAVAILABLE, f"not served: {text}", Delivery.REFUSED, lost=False)

    def acknowledge(self) -> None:
        """After this, this side opens no calls."""
        if not self.sent_ack:
            self.sent_ack = True
            self.session.output.buffer += control(GOAWAY, 0, ACK << 16, 0)
            self._update()

    def _update(self) -> None:
        session = self.session
        open_state = self.state == OPEN or (self.state == PREFACE and session.initiator)
        going = self.sent_ack or self.patience == -NEVER
        session.accepts_calls = open_state and not going and not session.caller.overdue
        announced = self.asked or self.got_goaway or self.sent_ack or self.got_ack
        session.settling = announced or session.caller.overdue
        if self.got_ack or self.asked:
            session.reader.call_high = 0  # every CALL takes the long way, which looks at turns_away

    def turns_away(self, now: int) -> bool:
        """Whether a CALL that arrives now is refused (protocol.md 11.4)."""
        return self.got_ack or now >= self.patience > -NEVER

    def overdue(self) -> None:
        self._update()

    def settle(self) -> None:
        """Closes in order when all is done (protocol.md 11.5)."""
        session = self.session
        if self.state != OPEN:
            return
        if self.asked and not self.sent_ack and not session.caller.open:
            if not self.calling or (self.got_ack and not session.callee.open):
                self.acknowledge()
        if session.callee.open or session.caller.live:
            return
        if session.caller.overdue:
            self.done = True  # of no use any more (protocol.md 7.2)
        elif self.sent_ack and self.got_ack:
            if self.asked:
                self.half_close = True
                self.state = CLOSING
                self.until = NEVER
                self.discard_left = NEVER
                self._update()
            else:
                self.done = True  # until the transport is closed, what still comes is answered

    def grace_over(self) -> None:
        """Ends what is still open and closes (protocol.md 11.5)."""
        session = self.session
        if self.state < CLOSING:
            session.callee.end_of_grace()
            session.caller.cancel_all(Code.UNAVAILABLE, "the grace period of draining is over")
            session.caller.end_all(Code.UNAVAILABLE, "the grace period of draining is over", lost=False)
        self._close()

    # Endings (protocol.md 11.6, 11.7).

    def unheard(self, now: int) -> str:
        """What people are to know of a peer that has not begun to speak; "" once it has."""
        if self.state != PREFACE:
            return ""
        silent = (now - self.received_at) / 1e6
        return f"it has accepted the connection and said nothing for {silent:.1f} s: {_CHECK}"

    def opened(self) -> None:
        """Both prefaces are known."""
        self.state = OPEN
        self.until = NEVER
        if self.must_ask:
            self.drain(self.calling)
        self._update()
        self.session.events.opened()

    def fail(self, fault: ConnectionFault, where: str) -> None:
        """A connection error found by this side."""
        if self.state >= CLOSING:
            return
        session = self.session
        text = fault.text if fault.kind == "preface" else f"{fault.kind}: {fault.text}{where}"
        refused = None
        if fault.kind == "preface" or (fault.kind == "version" and session.initiator):
            self._close()
            session.output.drop()
            refused = Delivery.REFUSED if fault.kind == "version" else None
        else:
            if fault.kind != "version":
                reason = RESOURCE_LIMIT if fault.kind == "flood" else PROTOCOL_ERROR
                session.output.buffer += control(GOAWAY, 0, 0, reason, text.encode("utf-8", "replace")[:1_024])
            self.half_close = True
            self.state = CLOSING
            self.until = session.now + DISCARD_TIME
            self.discard_left = DISCARD_BYTES
            self._update()
        self._end_calls(text, refused, lost=self.state == CLOSED)
        session.events.failed(fault.kind, text)

    def _silent(self, text: str, *, goaway: bool) -> None:
        session = self.session
        if goaway:
            session.output.buffer += control(GOAWAY, 0, 0, PEER_SILENT, text.encode())
        self._close()
        self._end_calls(text, None, lost=False)
        session.events.failed("silent", text)

    def _end_calls(self, text: str, delivery: Delivery | None, *, lost: bool) -> None:
        session = self.session
        to = f" to {session.remote}" if session.remote else ""
        session.caller.end_all(Code.UNAVAILABLE, f"the connection{to} ended: {text}", delivery, lost=lost)
        session.callee.stop_all()

    def _close(self) -> None:
        self.state = CLOSED
        self.half_close = True
        self.until = NEVER
        self._update()

    def end_of_stream(self) -> None:
        if self.state >= CLOSING:
            self._close()
        else:
            self.session.output.drop()
            self._close()
            self._end_calls("the stream has ended", None, lost=True)

    def lost(self, text: str) -> None:
        """Nothing more passes in either direction."""
        self.session.output.drop()
        if self.state != CLOSED:
            self._close()
            self._end_calls(text, None, lost=True)

    def discarded(self, size: int) -> None:
        """Input that comes when nothing is read any more."""
        self.discard_left -= size
        if self.state == CLOSING and self.discard_left < 0:
            self._close()

    # Time.

    def tick(self, now: int) -> None:
        if now >= self.until:
            if self.state == PREFACE:
                text = self.unheard(now) if self.session.initiator else "no preface in 10 s"
                self._silent(text, goaway=self.session.initiator)
            elif self.state == CLOSING:
                self._close()
        if now >= self._ping_due():
            if self.pinged:
                self._silent(f"nothing received for {(now - self.received_at) // 1_000} ms", goaway=True)
            else:
                self.ping()

    def next_deadline(self) -> int:
        return min(self.until, self._ping_due())
