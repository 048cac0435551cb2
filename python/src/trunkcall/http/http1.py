"""A connection of HTTP/1.1 that is served: one request after the other (http.md 4). h11 reads."""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus
from typing import TYPE_CHECKING

import h11

from trunkcall.transport import clock
from trunkcall.transport.answer import Answering, answer
from trunkcall.wire import Code

from . import answering
from .call import HttpCall
from .fields import Fields, Request
from .http1stream import PIECE, Http1Stream
from .line import IDLE, Line
from .router import Router
from .stream import HttpConfig
from .underway import LATE, UnderWay

if TYPE_CHECKING:
    from trunkcall.transport import Listener

_AHEAD = 64 << 10  # bytes of a body that nobody has taken
_HEADER_TIME = 10_000_000  # µs from a header's first byte (limits.md 6)
_REST = 1 << 20  # bytes of a body behind its answer
_REST_TIME, _REST_OF_STREAM = 60_000_000, 1_000_000  # µs for them; the latter where the method takes many requests
_INTERRUPT = 0.1  # seconds for what waits of an answer whose call is stopped
_END = b"\r\n\r\n"
_UPGRADE = re.compile(rb"\r\nupgrade:[^\r\n]*websocket", re.IGNORECASE)
_CHUNKS = "the chunks of the body are malformed"


class Http1Line(Line):
    """Its first request may ask for a WebSocket: then the listener takes the connection back."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, config: HttpConfig, router: Router, listener: Listener, since: int
    ) -> None:
        super().__init__(loop, config, since)
        self._router = router
        self._listener = listener
        listener.upgrading[self] = None
        self._h11: h11.Connection  # reads the request, and its chunks
        self._head = bytearray()  # of the next request
        self.out = bytearray()
        self._head_since = since
        self._current: Http1Stream | None = None
        self._to_come = 0  # bytes of its body; -1: it is in chunks
        self._known = False
        self._leaving = False  # behind the answer that is next, or under way
        self._retired = False  # behind the next answer, but not without one
        self._over = False  # the output has ended
        self._paused = False
        self._unread = False  # there may be input that nobody looks at
        self._idle_since = since
        self._rest_until = 0  # when what comes behind an answer is enough
        self._written = self._taken = 0  # bytes of output, and how many of them were not waiting when it was looked
        self._leaving_since = UnderWay()

    def _reader(self) -> h11.Connection:
        return h11.Connection(h11.SERVER, max_incomplete_event_size=self.config.header_bytes + PIECE)

    @property
    def is_known(self) -> bool:
        return self._known

    @property
    def calls(self) -> int:
        return max(self.running, int(self._current is not None))

    # Reading.

    def eof_received(self) -> bool:
        if self._over or self._current is None or self._current.answered:
            return False  # the transport writes what is left, and closes
        return super().eof_received()

    def data_received(self, data: bytes) -> None:
        if self._over or self.lost:
            return
        if self._current is not None:
            self._feed(data)
        else:
            self._take_head(data)
        self._read_on()

    def _take_head(self, data: bytes) -> None:
        """The header is given to the library once it is whole, so that what it is lenient with can be refused."""
        head, most = self._head, self.config.header_bytes
        if not head:
            data = data.lstrip(b"\r\n")  # behind the request before
            self._head_since = clock()
        searched = max(len(head) - 3, 0)
        head += data
        end = head.find(_END, searched)
        if 0 <= end <= most:
            first, rest = bytes(head[: end + 4]), bytes(head[end + 4 :])
            self._head = bytearray()
            if not self._known:
                if _UPGRADE.search(first):
                    self._hand_over(first + rest)
                    return
                self._become_known()
            self._begin(first, rest)
        elif end > most or len(head) > most:
            self._refuse(431, f"the header is longer than {most} bytes")

    def _become_known(self) -> None:
        self._known = True
        self._listener.upgrading.pop(self, None)
        self.meet()

    def _hand_over(self, data: bytes) -> None:
        self._detach()
        self._listener.upgrade(self.transport, data, self.began)

    def _detach(self) -> None:
        """The connection is another's from here on."""
        if self._ticking is not None:
            self._ticking.cancel()
        self._listener.upgrading.pop(self, None)
        self.share.close()
        self._over = True

    def stop(self) -> None:
        """The listener is closed, and nobody else knows of the connection."""
        self._detach()
        text = "the server is stopping"
        self._listener.turned_away(self.remote, f"503 to a request of HTTP: {text}")
        answers = Answering(self.loop, answer(HTTPStatus.SERVICE_UNAVAILABLE, text))
        self.transport.set_protocol(answers)
        answers.begin(self.transport)

    def _begin(self, head: bytes, rest: bytes) -> None:
        self._idle_since = self._rest_until = 0
        if b"\n " in head or b"\n\t" in head or head.count(b"\n") != head.count(b"\r\n"):
            self._refuse(400, "the request is malformed: a line of its header goes on in the next, or ends wrongly")
            return
        self._h11 = self._reader()
        try:
            self._h11.receive_data(head)
            said = self._h11.next_event()
        except h11.RemoteProtocolError as error:
            status = error.error_status_hint or 400
            self._refuse(status, "the request is malformed" if status == 400 else str(error))
            return
        if not isinstance(said, h11.Request):
            self._refuse(400, "the request is malformed")
            return
        fields = [(name.decode("ascii"), value.decode("latin-1")) for name, value in said.headers]
        method, version = said.method.decode("ascii"), bytes(said.http_version)
        request = Request(method, said.target.decode("latin-1"), fields, _length(fields))
        status = _checked(request, version)
        waits = self._h11.they_are_waiting_for_100_continue
        stream = self._current = Http1Stream(self, method == "HEAD", version == b"1.0", waits)
        self._to_come = request.length
        if status:
            self._leaving = self._unread = stream.request_ended = True
            answering.text(stream, status, _WRONG.get(status, "the request is malformed"))
            return
        if version == b"1.0" or "close" in request.joined("connection").lower():
            self._leaving = True
        stream.receiver = self._router.serve(request, stream)
        self._feed(rest)

    def _refuse(self, status: int, text: str) -> None:
        """Answers what is no request, and closes."""
        if not self._known:
            self._become_known()
        self._leaving = self._unread = True
        stream = self._current = Http1Stream(self, False, False, False)
        stream.request_ended = True
        answering.text(stream, status, text)

    def _feed(self, data: bytes) -> None:
        """Takes what comes of a body, and of what is behind it."""
        stream = self._current
        if stream is None:
            return
        if stream.request_ended:  # the next request waits for the answer
            self._head += data
            return
        if self._to_come >= 0:
            came = data[: self._to_come]
            self._to_come -= len(came)
            if came:
                self._body(stream, came)
            if not self._to_come:
                self._end_request(stream, data[len(came) :])
            return
        try:
            if data:
                self._h11.receive_data(data)
            while True:
                event = self._h11.next_event()
                if isinstance(event, h11.Data):
                    self._body(stream, bytes(event.data))
                elif isinstance(event, h11.EndOfMessage):
                    self._end_request(stream, self._h11.trailing_data[0])
                    return
                else:
                    return
        except h11.RemoteProtocolError:
            self._leaving = self._unread = stream.request_ended = True
            stream.receiver.cut_off(Code.INVALID_ARGUMENT, _CHUNKS)
            if not stream.answered:
                answering.text(stream, 400, _CHUNKS)
            else:
                self._close_behind()

    def _end_request(self, stream: Http1Stream, rest: bytes) -> None:
        stream.request_ended = True
        self._head += rest
        if stream.answered:
            self._next_soon()
        else:
            stream.receiver.ended()

    def _body(self, stream: Http1Stream, data: bytes) -> None:
        if stream.answered:
            stream.dropped += len(data)
            if stream.dropped > _REST:
                self._close_behind()
        else:
            stream.pending += len(data)
            stream.receiver.data(data, len(data))

    def _read_on(self) -> None:
        """Reads as long as what has come is taken."""
        stream = self._current
        ahead = len(self._head) if stream is not None and stream.request_ended else 0
        pending = stream.pending if stream is not None and not stream.answered else 0
        pause = not self._over and (pending > _AHEAD or ahead > _AHEAD)
        if pause != self._paused and not self.lost:
            self._paused = pause
            if pause:
                self.transport.pause_reading()
            else:
                self.transport.resume_reading()

    # Answers.

    def answered(self, stream: Http1Stream) -> None:
        if self._leaving or self._retired:
            self._close_behind()
        elif stream.request_ended:
            self._next_soon()
        else:
            streams = isinstance(stream.receiver, HttpCall) and not stream.receiver.method.takes_one
            self._rest_until = clock() + (_REST_OF_STREAM if streams else _REST_TIME)
            self._read_on()

    def _next_soon(self) -> None:
        if self._head:  # many that have come at once are no recursion
            self.loop.call_soon(self._next)
        else:
            self._next()

    def _next(self) -> None:
        stream = self._current
        if stream is None or not stream.answered or not stream.request_ended or self._over or self.lost:
            return
        self._current = None
        self._rest_until = 0
        self._idle_since = clock()
        if self._leaving:
            self._close_behind()
            return
        rest, self._head = bytes(self._head), bytearray()
        self._read_on()
        if rest:
            self.data_received(rest)

    def _close_behind(self) -> None:
        if not self._over and not self.lost:
            self._over = True
            self.write_out()
            stream = self._current
            self._read_on()
            if self._unread or (stream is not None and not stream.request_ended):
                self.linger()
            else:
                self.shut("")

    def says_close(self) -> bool:
        """Whether an answer says that the connection closes."""
        return self._leaving or self._retired

    def close_soon(self) -> None:
        self._leaving = True

    def room(self) -> None:
        stream = self._current
        if stream is not None and not stream.answered:
            stream.receiver.writable()

    def write_out(self) -> None:
        if self.out and not self.lost:
            self._written += len(self.out)
            self.transport.write(self.out)
            self.out = bytearray()

    def stopped(self) -> None:
        """The call was stopped. What of its answer the peer does not take soon has its connection closed: it would
        stand before how the call has ended."""
        self.close_soon()
        self.write_out()
        if not self.lost and self.transport.get_write_buffer_size():
            self.loop.call_later(_INTERRUPT, self._interrupt, self._written)

    def _interrupt(self, written: int) -> None:
        if not self.lost and self._written - self.transport.get_write_buffer_size() < written:
            self.abort("the peer did not take what waited when its call was stopped")

    def flush(self) -> None:
        super().flush()
        if not self.lost:
            self.write_out()
            self.account()

    # Time and ends.

    def look(self, now: int) -> None:
        stream = self._current
        waiting = self.transport.get_write_buffer_size()
        self._leaving_since.passed(self._written - waiting - self._taken)
        self._taken = self._written - waiting
        self._leaving_since.set(waiting > 0, now)
        if self._leaving_since.late(now):
            self.abort(LATE)
        if self._over:
            return
        if not self._known and now - self.began > _HEADER_TIME:
            self._listener.turned_away(self.remote, "no request in 10 s")
            self._over = True
            self.abort("no request in 10 s")
        elif stream is None and self._head and now - self._head_since > _HEADER_TIME:
            self.abort("a header took longer than 10 s")
        elif stream is None and self._idle_since and now - self._idle_since > IDLE:
            self.abort("no request in 15 min")
        elif self._rest_until and now > self._rest_until:
            self._close_behind()
        elif stream is not None and not stream.answered:
            stream.receiver.tick(now)

    def gone(self) -> None:
        stream = self._current
        self._listener.upgrading.pop(self, None)
        if not self._known and not self._over:
            self._listener.turned_away(self.remote, "closed within a request of HTTP")
        if stream is not None and not stream.answered:
            stream.receiver.lost()

    def retire(self) -> None:
        """It has reached its age: its next answer is the last."""
        self._retired = True

    def drain(self) -> None:
        self.draining = self._leaving = True
        self.why = self.why or "this side drains"
        if self._current is None:
            self._close_behind()

    def grace_over(self) -> None:
        self._leaving = True
        stream = self._current
        if stream is not None and not stream.answered:
            stream.receiver.cut_off(Code.UNAVAILABLE, "the grace period is over")
        self._close_behind()


_WRONG = {
    505: "this version of HTTP is not served",
    501: "no transfer coding is served but chunked",
}


def _length(fields: Fields) -> int:
    """The length of the body, 0 without one, -1 if it is not said."""
    for name, value in fields:
        if name == "transfer-encoding":
            return -1
        if name == "content-length" and value.isdigit():
            return int(value)
    return 0


def _checked(request: Request, version: bytes) -> int:
    """The status for what is not served; 0: it is."""
    if request.method == "PRI" or version not in (b"1.0", b"1.1"):
        return 505
    codings = request.all("transfer-encoding")
    if codings:
        if version == b"1.0" or request.all("content-length"):
            return 400
        if len(codings) > 1 or codings[0].strip().lower() != "chunked":
            return 501
    lengths = request.all("content-length")
    if len(lengths) > 1:
        return 400
    return 400 if version == b"1.1" and len(request.all("host")) != 1 else 0
