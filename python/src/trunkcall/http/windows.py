"""Windows of HTTP/2 that learn the path, as the pool of native connections does (limits.md 5, decisions 0034 and 0065).

A PING measures what comes until its ACK; if that was two thirds of a window, at a higher rate than when one last grew,
the window was too small for the path. What was learned goes to streams in two ways, each of which is bounded for all
streams together: SETTINGS say with how much they begin, the less the more there are at once, and the more of it lies
unread in others; and streams whose handlers take what comes are lent the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from trunkcall.transport import clock
from trunkcall.wire.budget import Share

MOST = 32 << 20  # bytes to which windows grow
INITIAL = 65_535  # bytes of every window before anything was said
LEAST_MEASURED, MOST_MEASURED = 64 << 10, 4 << 20  # bytes until the next PING
MEASURES_WITHIN = 10_000_000  # µs: a later ACK measures nothing
IDLE_SHRINKS = 60_000_000  # µs without DATA
_RISEN = 1.1  # a rate that shows that larger windows have helped
_WORD = b"path"  # begins a PING that measures; its round is behind it


class Says(Protocol):
    """How the peer is told."""

    def ping(self, data: bytes) -> None: ...

    def begin_with(self, window: int) -> None:
        """Says in SETTINGS with which window streams begin."""

    def credit(self, number: int, more: int) -> None:
        """Gives a stream, or as 0 the connection, so many bytes."""


class Inbound:
    """The window of one stream, in bytes."""

    __slots__ = ("beyond", "ended", "kept", "left", "number", "owed", "round", "sampled")

    def __init__(self, number: int, window: int) -> None:
        self.number = number
        self.kept = window  # what the peer has left, what is owed, and what nobody has taken
        self.left = window  # what the peer has left
        self.owed = 0
        self.beyond = 0  # what nobody has taken above what it was lent and had at first, if that is above 0
        self.sampled = 0  # what came in this round
        self.round = 0
        self.ended = False  # it gets no more credit


class Windows:
    """Those of one connection. Its loop owns them."""

    def __init__(
        self, says: Says, share: Share, least: int, least_of_all: int, most: int, now: Callable[[], int] = clock
    ) -> None:
        """Streams begin with `least`, the connection with `least_of_all`; both grow up to `most`."""
        self._says = says
        self._share = share
        self._least = least
        self._least_of_all = least_of_all
        self._bound = max(most, least)
        self.now = now
        self.stream = self.told = least  # that of streams whose handlers take what comes; what all begin with
        self.all = least_of_all  # that of the connection: what the peer has left, and what is owed
        self._left = INITIAL
        self._owed = least_of_all - INITIAL
        self._open: dict[int, Inbound] = {}
        self._lent = 0  # by how much the windows of open streams exceed `told` together
        self._unacknowledged = 1  # SETTINGS
        self._slack = 0  # by how much the last of those lowers `told`: so much may come in excess
        self._streams = self._before = 0  # the most at once since there was credit for all, and before that
        self._full: dict[Inbound, None] = {}  # in which something is beyond
        self.data_at = now()  # when DATA came last, later by the minutes that windows were halved for
        self._since = 0  # bytes of DATA since the last PING
        self._every = LEAST_MEASURED  # how many there must be before the next
        self._round = 0
        self._pinged_at = 0  # when a PING was sent that was not answered yet; 0: there is none
        self._filled = 0  # the most that came since then of a stream, if it was two thirds of its window
        self.rate = 0.0  # bytes in a µs when a window last grew; 0: none has

    @property
    def most(self) -> int:
        """What windows may grow to, and all streams together beyond their first ones, by either way."""
        return min(self._bound, self._share.part)

    # What the peer sends.

    def opened(self, number: int) -> Inbound:
        one = self._open[number] = Inbound(number, self.told)
        self._streams = max(self._streams, len(self._open))
        return one

    def ended(self, of: Inbound) -> None:
        """The request has come; what came of it may still lie there."""
        of.ended = True
        self._settle(of)
        self._count(of)

    def dropped(self, of: Inbound) -> None:
        """What came of the request, and still comes, is dropped."""
        of.ended = True
        self._settle(of)
        self._uncount(of)

    def closed(self, of: Inbound) -> None:
        self.dropped(of)
        self._open.pop(of.number, None)

    def arrived_of_all(self, length: int) -> bool:
        """DATA has come, for whatever stream. False: more than the connection's window allows."""
        self._left -= length
        if self._left < 0:
            return False
        self._owed += length
        now = self.now()
        while now - self.data_at >= IDLE_SHRINKS and (self.stream > self._least or self.all > self._least_of_all):
            self.data_at += IDLE_SHRINKS
            self.stream = max(self.stream // 2, self._least)
            self.all = max(self.all // 2, self._least_of_all)
            self.rate = 0  # the path may have changed
            self._every = LEAST_MEASURED
            self._tell()
        self.data_at = now
        self._since += length
        return True

    def arrived(self, of: Inbound, length: int) -> bool:
        """It was for this stream. False: more than its window allows."""
        of.left -= length
        if length and of.left < -self._slack:
            return False
        if of.round != self._round:
            of.round, of.sampled = self._round, 0
        of.sampled += length
        if 3 * of.sampled >= 2 * of.kept:
            self._filled = max(self._filled, of.sampled)
        return True

    def expect(self, of: Inbound, length: int) -> None:
        """A message or body begins whose length is known: windows make way for it. Less than a quarter is owed and
        unsent."""
        wanted = length + length // 2
        if of.ended or wanted <= of.kept or self._share.exceeded:
            return
        self._enlarge(wanted, False)
        self._tell()
        self._lend(of, min(wanted, self.stream))
        self._return(of)

    def consumed(self, of: Inbound, length: int) -> None:
        """So many bytes of the request were taken."""
        of.owed += length
        self._return(of)

    # What it acknowledges.

    def answered(self, data: bytes) -> bool:
        """A PING was answered. False: it was not one that measures."""
        if not self._pinged_at or data != self._word():
            return False
        took = self.now() - self._pinged_at
        self._pinged_at = 0
        reached = self._since / max(took, 1)
        if (
            took > MEASURES_WITHIN
            or reached < _RISEN * self.rate
            or self._share.exceeded
            or not self._enlarge(2 * self._filled, 3 * self._since >= 2 * self.all)
        ):
            self._every = min(2 * self._every, MOST_MEASURED)
            return True
        self.rate = reached
        self._every = LEAST_MEASURED
        self._tell()
        return True

    def acknowledged(self) -> bool:
        """SETTINGS were acknowledged. False: there was nothing to acknowledge."""
        if not self._unacknowledged:
            return False
        self._unacknowledged -= 1
        self._slack = 0
        self._tell()
        return True

    # What windows become.

    def _enlarge(self, window: int, crowded: bool) -> bool:
        """Makes the windows of streams, and that of the connection, at least so large; `crowded`: twice what came fits
        the latter better. Whether one of them has grown."""
        most = self.most
        of_all = min(max(window, 2 * self._since) if crowded else window, most)
        window = min(window, most)
        grown = window > self.stream or of_all > self.all
        self.stream = max(self.stream, window)
        if of_all > self.all:
            self._owed += max(of_all - self._left - self._owed, 0)
            self.all = of_all
        return grown

    def _lend(self, of: Inbound, window: int) -> None:
        """Enlarges the window of a stream as far as the bound for all allows: by half of what is left."""
        more = min(window - of.kept, (self.most - self._lent) // 2)
        if more > 0:
            of.kept += more
            of.owed += more
            self._lent += more

    def _fit(self, of: Inbound) -> None:
        """Makes the window of a stream as large as the path needs, whose handler takes what comes. Credit that is owed
        is withheld if it is to be smaller."""
        window = self.stream
        if self._share.exceeded:
            self._tell()
            window = self.told
        if window >= of.kept:
            self._lend(of, window)
        else:
            less = min(of.kept - window, of.owed)
            of.kept -= less
            of.owed -= less
            self._lent -= less

    def _settle(self, of: Inbound) -> None:
        """Nothing is lent any more to a window that the peer cannot use."""
        self._lent -= of.kept - self.told
        of.kept = self.told

    def _count(self, of: Inbound) -> None:
        """Counts what lies unread in a stream of what it was told that it might send."""
        of.beyond = self.told - of.left - of.owed - self._least
        if of.beyond > 0:
            self._full[of] = None
        else:
            self._uncount(of)

    def _uncount(self, of: Inbound) -> None:
        of.beyond = 0
        self._full.pop(of, None)

    def _tell(self) -> None:
        """Says with which window streams begin: what was learned, or a part of it if there are many. It does so if that
        is a quarter more than the peer was told, or half of what that was more than at first; and never twice before
        it has acknowledged."""
        if self._unacknowledged:
            return
        more = 0 if self._share.exceeded else max(min(self._part(), self.stream - self._least), 0)
        window = self._least + more
        if 4 * window >= 5 * self.told or (window < self.told and 2 * more <= self.told - self._least):
            self._begin_with(window)

    def _part(self) -> int:
        """What each stream may begin with beyond the least, so that all together keep to the bound: what lies unread
        cannot be taken back, however little is told now. So streams that have more than their part leave the less for
        others."""
        left, others = self.most, max(self._streams, self._before, 1)
        for beyond in sorted((one.beyond for one in self._full), reverse=True):
            if others == 1 or beyond <= left // others:
                break
            left = max(left - beyond, 0)
            others -= 1
        return left // others

    def _begin_with(self, window: int) -> None:
        """Changes the window that streams begin with, and with it all that there are (RFC 9113 6.9.2)."""
        change = window - self.told
        self.told, self._slack = window, max(-change, 0)
        self._unacknowledged += 1
        self._says.begin_with(window)
        for one in list(self._open.values()):
            one.kept += change
            one.left += change
            if not one.ended:
                self._return(one)

    # Credit.

    def give(self) -> None:
        """Gives the connection credit once it is a quarter of its window, but none before the peer has acknowledged
        SETTINGS that lower those of streams."""
        above = self._left + self._owed - self.all
        if above > 0:
            self._owed -= min(above, self._owed)
        if 4 * self._owed < self.all or self._slack:
            return
        more, self._owed = self._owed, 0
        self._left += more
        self._says.credit(0, more)
        self._before, self._streams = self._streams, len(self._open)
        self._tell()
        self._measure()

    def _return(self, of: Inbound) -> None:
        """Gives a stream credit once it is a quarter of its window."""
        if of.number not in self._open:
            return
        self._count(of)
        if of.ended or 4 * of.owed < of.kept:
            return
        self._fit(of)
        if of.owed:
            more, of.owed = of.owed, 0
            of.left += more
            self._says.credit(of.number, more)
            self._measure()

    def _measure(self) -> None:
        """Sends a PING behind credit, which costs no write of its own, if it is worth it."""
        most = self.most
        if self._pinged_at or self._since < self._every or (self.stream >= most and self.all >= most):
            return
        self._round += 1
        self._pinged_at = self.now()
        self._since = self._filled = 0
        self._says.ping(self._word())

    def _word(self) -> bytes:
        return _WORD + (self._round & 0xFFFFFFFF).to_bytes(4, "big")
