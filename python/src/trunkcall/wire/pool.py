"""The pool that this side grants: a window that all streams of the connection share (protocol.md 9.8, limits.md 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .fault import ConnectionFault
from .frame import CREDIT, MESSAGE_COST, PING, control

if TYPE_CHECKING:
    from .receive import ReceiveFlow
    from .session import Session

LEAST_MEASURED = 64 << 10  # bytes charged since the last PING before another measures the path
MEASURES_WITHIN = 10_000_000  # µs: a later ACK measures nothing
LEAST_TIME = 1_000  # µs over which a rate is taken at least: in less, what a socket has gathered is read
GROWTH = 8  # times as much as the path was seen to hold the pool holds
FORGETS = 600_000_000  # µs for which what was learned of the path holds
IDLE_SHRINKS = 60_000_000  # µs without a charge before the pool is halved
LAIN = 1_000_000  # µs for which bytes lie in a stream that consumes nothing before they are granted anew
MOST_ANEW = 64 << 20  # bytes that were granted anew and lie in streams
NEVER = 1 << 62


class Pool:
    """What a receiver knows of its pool. `left`, `owed` and `charged` add up to `kept`. Times are µs of the session's
    clock."""

    __slots__ = (
        "_aim",
        "_anew",
        "_announced",
        "_asked",
        "_credit_end",
        "_forget_at",
        "_idle_at",
        "_known",
        "_least",
        "_measured",
        "_most",
        "_pinged_at",
        "_shortest",
        "_since",
        "_word",
        "charged",
        "due",
        "kept",
        "left",
        "look_at",
        "owed",
        "session",
        "untaken",
    )

    def __init__(self, session: Session, size: int, most: int) -> None:
        """`most`: what it may grow to; 0: it stays as it is."""
        self.session = session
        self.left = self.kept = self._aim = self._least = size
        self._most = most
        self.owed = 0  # due and not granted
        self.charged = 0  # what lies in streams, and what is being looked at
        self.untaken = 0  # what the frame at hand costs, until its stream takes it in
        self.due = False  # a CREDIT is to be sent
        self.look_at = NEVER  # when to look for what lies
        self._anew = 0
        self._known = False  # a frame was charged: the peer knows what CREDIT of it is
        self._credit_end = 0  # where in the output the last CREDIT ended
        self._idle_at = 0  # since when nothing is charged, later by the minutes that it was halved for
        # What _aim comes from: of the path, and of the longest message.
        self._measured = self._announced = 0
        # The measure: what is charged between a PING and its ACK.
        self._since = 0  # charged since the last PING
        self._asked = False  # the last PING was not answered yet
        self._word = 0  # it carried
        self._pinged_at = 0  # when it was sent
        self._shortest = 0  # that an ACK has taken
        self._forget_at = 0  # when _measured and _shortest are to be learned anew

    # Charging and owing.

    def charge(self, body: int) -> None:
        """Takes the cost of a frame, whatever becomes of it. Raises ConnectionFault `credit`."""
        cost = body + MESSAGE_COST
        if cost > self.left:
            raise ConnectionFault("credit", f"a frame that costs {cost}, the pool holds {self.left}")
        now = self.session.now
        self.left -= cost
        self.charged += cost
        self.untaken = cost
        self._since += cost
        if self.look_at == NEVER:
            self.look_at = now + LAIN
        if now - self._idle_at >= IDLE_SHRINKS:
            self._shrink(now)
        self._idle_at = now
        if not self._known:
            self._known = True
            self.owe(0)

    def _shrink(self, now: int) -> None:
        """Halves what is to be kept for each minute that has passed without a charge."""
        while now - self._idle_at >= IDLE_SHRINKS and self._aim > self._least:
            self._measured //= 2
            self._announced //= 2
            self._resize()
            self._idle_at += IDLE_SHRINKS

    def settle(self) -> None:
        """The frame at hand was dealt with: what no stream has taken in is owed."""
        if self.untaken:
            cost, self.untaken = self.untaken, 0
            self.owe(cost)

    def owe(self, size: int) -> None:
        """Owes bytes that were charged, to be granted once that is a quarter of the pool."""
        self.charged -= size
        self.owed += size
        if self.kept > self._aim:
            withheld = min(self.kept - self._aim, self.owed)
            self.kept -= withheld
            self.owed -= withheld
        self.due = self._known and self.owed > 0 and self.owed * 4 >= self.kept

    def give_back(self, flow: ReceiveFlow, size: int) -> None:
        """Owes what lay in a stream, except what was granted anew already."""
        size = min(size, flow.lies)
        if size:
            flow.lies -= size
            flow.moved = True
            again = min(size, flow.anew)
            flow.anew -= again
            self._anew -= again
            self.owe(size - again)

    def append_credit(self) -> None:
        """Grants what is owed, once the last CREDIT has left. With it goes a PING that measures the path."""
        session = self.session
        output = session.output
        if self._credit_end > output.written:
            return
        self.due = False
        output.buffer += control(CREDIT, 0, 0, self.owed)
        self.left += self.owed
        self.owed = 0
        if self._since >= LEAST_MEASURED and not self._asked and self._most > self._least:
            self.ping()
            session.lifecycle.ping_at = session.now
        self._credit_end = output.position

    # Its size.

    def make_way(self, total: int) -> None:
        """Enlarges the pool for a message that begins, since its length is known. Less than a quarter of the pool is
        owed and unsent."""
        want = total + total // 2
        self._shrink(self.session.now)
        if want > self._aim and self.kept:
            self._idle_at = self.session.now  # or the first charge would take this back
            self._announced = min(want, self._most)
            self._resize()

    def _resize(self) -> None:
        """Brings the pool to its new size: larger at once, smaller step by step."""
        self._aim = max(self._measured, self._announced, self._least)
        if self._aim > self.kept:
            self.owed += self._aim - self.kept
            self.kept = self._aim
            self.owe(0)

    def ping(self) -> None:
        """Appends a PING, which measures the path."""
        self._word = (self._word + 1) & 0xFFFFFFFF
        self._asked, self._pinged_at, self._since = True, self.session.now, 0
        self.session.output.buffer += control(PING, 0, 0, self._word)

    def answered(self, word: int) -> None:
        """The ACK of a PING: computes what the path holds. That is what comes over it while the pool is nearly used up,
        within the shortest round trip. Most of a longer round trip is a queue, which a larger pool would make longer
        still."""
        now = self.session.now
        took = max(now - self._pinged_at, 1)
        if not self._asked or word != self._word:
            return
        self._asked = False
        if took > MEASURES_WITHIN:
            return
        if now >= self._forget_at:
            self._measured, self._shortest, self._forget_at = 0, took, now + FORGETS
            self._resize()  # how long the path is now is seen once no queue is left
        if took < self._shortest:
            self._measured = self._measured * took // self._shortest
            self._shortest = took
        if self.kept <= self._aim and 3 * self._since >= 2 * self.kept:
            holds = self._since * self._shortest // max(took, LEAST_TIME)
            self._measured = max(self._measured, min(GROWTH * holds, self._most))
        self._resize()

    # Streams that stand still.

    def look(self, now: int) -> None:
        """Grants anew what has lain in streams since the last look, so that streams that consume nothing leave the pool
        to the others."""
        self.look_at = now + LAIN if self.charged else NEVER
        for calls in (self.session.caller.calls, self.session.callee.calls):
            for call in calls:
                if call is not None and call.receiving is not None:
                    self._grant_anew(call.receiving)

    def _grant_anew(self, flow: ReceiveFlow) -> None:
        share = self.session.share
        half_promised = share.promised * 2 > share.most_promised
        if not flow.moved and flow.lain > flow.anew and not share.exceeded and not half_promised:
            size = min(flow.lain - flow.anew, MOST_ANEW - self._anew)
            flow.anew += size
            self._anew += size
            self.owe(size)
        flow.lain, flow.moved = flow.lies, False
