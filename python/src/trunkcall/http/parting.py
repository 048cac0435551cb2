"""How a connection of HTTP/2 ends in order, and by silence: it is drained in two steps, GOAWAY with the highest stream
id and a PING, and at its answer GOAWAY with the last stream that is served (http.md 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from h2.errors import ErrorCodes

from trunkcall.transport import clock

from .frames import goaway
from .line import IDLE

if TYPE_CHECKING:
    from .http2 import Http2Line

_ANSWER = 10_000_000  # µs for the answer to the first step
_HIGHEST = 2**31 - 1
DRAIN_PING, KEEPALIVE_PING = b"draining", b"keepaliv"
DRAINS = "the server drains"


class Parting:
    """The end of one connection."""

    def __init__(self, line: Http2Line, interval: int, answer: int) -> None:
        """`interval`, `answer`: of keepalive, in µs; 0: none."""
        self._line = line
        self._interval = interval
        self._answer = answer
        self._since = 0  # when draining began
        self._last = False  # the second step was made
        self._closing = False
        self._asked = 0  # when the peer was asked for a sign of life

    @property
    def takes_none(self) -> bool:
        """Whether the peer was told which request is the last that is served."""
        return self._last

    def heard(self) -> None:
        """The peer has sent something."""
        self._asked = 0

    def drain(self) -> None:
        line = self._line
        if line.lost or line.ending or self._since:
            return
        line.why = line.why or "this side drains"
        self._since = clock()
        if not line.h2.highest_inbound_stream_id:
            self.last()
            return
        line.append(_goaway(_HIGHEST))
        line.ping(DRAIN_PING)

    def answered(self, data: bytes) -> None:
        """A PING was answered."""
        if data == DRAIN_PING and self._since:
            self.last()

    def last(self) -> None:
        """Says which request is the last that is served."""
        line = self._line
        if not self._last and not line.lost and not line.ending:
            self._last = True
            line.append(_goaway(line.h2.highest_inbound_stream_id))

    def look(self) -> None:
        """Closes if all is done."""
        line = self._line
        if self._last and not self._closing and not line.counted and not line.streams:
            self._closing = True
            line.shut("")

    def tick(self, now: int) -> None:
        line = self._line
        if self._since and now - self._since > _ANSWER:
            self.last()
        elif line.idle_since and now - line.idle_since > IDLE and not self._since:
            line.why = line.why or "no request in 15 min"
            self._since = now
            self.last()
        self._keepalive(now)

    def _keepalive(self, now: int) -> None:
        line = self._line
        if not self._interval:
            return
        if self._asked:
            if now - self._asked > self._answer:
                line.abort("the peer was silent for longer than the keepalive allows")
        elif now - line.read_at > self._interval:
            self._asked = now
            line.ping(KEEPALIVE_PING)


def _goaway(last: int) -> bytes:
    return goaway(last, ErrorCodes.NO_ERROR, DRAINS)
