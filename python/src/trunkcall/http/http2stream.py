"""One request over HTTP/2, and its answer: what waits for windows and for the transport."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from h2.errors import ErrorCodes
from h2.exceptions import NoSuchStreamError, ProtocolError, StreamClosedError

from trunkcall.wire import Code

from .fields import Fields, Request
from .frames import FOR_DATA
from .line import LineStream
from .underway import UnderWay

if TYPE_CHECKING:
    from .http2 import Http2Line

LINE_UNSENT = 1 << 20  # bytes of all answers, above which handlers wait
MOST_UNSENT = 64 << 10  # of one
_PIECE = 16_384

# The library says so of a stream that the peer has reset, of which the event is still to come.
OVER = (StreamClosedError, NoSuchStreamError, ProtocolError)


class Http2Stream(LineStream):
    """One request, and its answer."""

    line: Http2Line
    multiplexed = True
    version = "2"

    def __init__(self, line: Http2Line, number: int, request: Request) -> None:
        super().__init__(line, request.method == "HEAD", request.first("expect").lower() == "100-continue")
        self.number = number
        self.inbound = line.windows.opened(number)
        self.request = request
        self.pending: deque[bytes | Fields | None] = deque()  # of the answer; fields: trailers; None: its end
        self._at = 0  # how much of its first piece was sent
        self.unsent = 0  # bytes of that
        self.earned = 0  # of the allowance, by what came
        self.cost = 1  # of that, if it is refused
        self.came = 0  # bytes of its body
        self.served = False
        self.gone = False  # the stream is closed
        self.shut = False  # it does not count any more
        self._begun = False
        self._leaving = UnderWay()

    @property
    def most_trailers(self) -> int:  # type: ignore[override]
        return self.line.most_trailers

    def head(self, status: int, fields: Fields, end: bool = False) -> None:
        if self.gone or self.answered or self._begun:
            return
        self._begun = True
        self.expects = False
        with suppress(*OVER):
            head = [(":status", str(status)), *((name, _coded(value)) for name, value in (*fields, *self.extra))]
            self.line.h2.send_headers(self.number, head, end_stream=end)
        if end:
            self._complete()
        self.line.schedule()

    def write(self, data: bytes) -> bool:
        if self.gone or self.answered or self.bodiless:
            return True
        line = self.line
        if data:
            if not self.unsent:
                line.holding[self] = None
                self._leaving.set(True)
            self.pending.append(data)
            self.unsent += len(data)
            line.queued += len(data)
            line.allowance.earn(FOR_DATA)
            line.ready(self)
        if self.unsent > MOST_UNSENT or line.queued > LINE_UNSENT:
            line.waiting[self] = None
            return False
        return True

    def end(self, trailers: Fields | None = None) -> None:
        if self.gone or self.answered:
            return
        self.pending.append(trailers)
        self._complete()
        self.line.ready(self)

    def _complete(self) -> None:
        self.answered = True
        self.line.answered(self)
        self.line.over(self)

    def send_piece(self) -> bool:
        """Sends a piece of what is pending. False: nothing more can be sent now."""
        try:
            return self._send_piece()
        except OVER:
            return False

    def _send_piece(self) -> bool:
        line, pending = self.line, self.pending
        if not pending or self.gone:
            return False
        h2, first = line.h2, pending[0]
        if not isinstance(first, bytes):
            pending.popleft()
            if first is None:
                h2.end_stream(self.number)
            else:
                h2.send_headers(self.number, first, end_stream=True)
            line.over(self)
            return False
        most = min(h2.local_flow_control_window(self.number), h2.max_outbound_frame_size, _PIECE)
        if most <= 0:
            return False
        piece = first[self._at : self._at + most]
        self._at += len(piece)
        if self._at == len(first):
            pending.popleft()
            self._at = 0
        end = len(pending) == 1 and pending[0] is None
        if end:
            pending.clear()
        h2.send_data(self.number, piece, end_stream=end)
        self.unsent -= len(piece)
        line.queued -= len(piece)
        self._leaving.passed(len(piece))
        if not self.unsent:
            self._leaving.set(False)
            if not self.held:
                line.holding.pop(self, None)
        if end:
            line.over(self)
        return bool(pending)

    def consumed(self, credit: int) -> None:
        self.line.windows.consumed(self.inbound, credit)

    def promise(self, size: int) -> None:
        super().promise(size)
        if size:
            self.line.windows.expect(self.inbound, size)

    def proceed(self) -> None:
        if self.expects and not self.gone and not self._begun and not self.request_ended:
            with suppress(*OVER):
                self.line.h2.send_headers(self.number, [(":status", "100")])
            self.line.schedule()
        self.expects = False

    def break_off(self, why: str) -> None:
        self.line.reset(self, ErrorCodes.INTERNAL_ERROR)

    def handler_returned(self) -> None:
        super().handler_returned()
        self.line.leave(self)

    def let_go(self, size: int) -> None:
        super().let_go(size)
        if self.unsent:
            self.line.holding[self] = None

    def give_up(self, text: str) -> None:
        output = self.unsent > 0
        if not self.answered:
            super().give_up(text)
        else:
            self.line.config.load.count(refused=False)
        if output:
            self.line.reset(self, ErrorCodes.ENHANCE_YOUR_CALM)

    def tick(self, now: int) -> None:
        """Looks at what takes too long."""
        if self.unsent and self._leaving.late(now):
            if not self.answered:
                self.receiver.cut_off(Code.UNAVAILABLE, "the answer was under way for too long")
            self.line.reset(self, ErrorCodes.ENHANCE_YOUR_CALM)
        else:
            self.receiver.tick(now)


def _coded(value: str) -> str | bytes:
    """A value as the library is to have it, which would take it for UTF-8."""
    return value if value.isascii() else value.encode("latin-1", "replace")
