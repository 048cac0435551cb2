"""A connection of HTTP/2 that is served (http.md 2). h2 reads and writes; what it is strict or lenient with beyond the
RFC is settled here."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from h2.config import H2Configuration
from h2.errors import ErrorCodes
from h2.events import (
    DataReceived,
    PingAckReceived,
    RemoteSettingsChanged,
    RequestReceived,
    SettingsAcknowledged,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import H2Error, ProtocolError
from h2.settings import SettingCodes, Settings

from trunkcall.transport import clock
from trunkcall.wire import Code

from .fields import FIELD_COST, Fields, Request
from .frames import FOR_ANSWER, FOR_DATA, MOST_FORFEIT, Allowance, Flood, Follower, TooLarge, goaway
from .http2stream import LINE_UNSENT, MOST_UNSENT, OVER, Http2Stream
from .lenient import Lenient
from .line import Line
from .parting import Parting
from .router import Router
from .stream import HttpConfig
from .windows import MOST, Windows

HANDSHAKE = 10_000_000  # µs from accepted to the peer's SETTINGS
FAREWELL = 1.0  # seconds for the last words
CONNECTION_WINDOW = 4 << 20
_TIMES = 4  # how much longer than told a header list may be, so that it gets an answer
_BEHIND, _BEHIND_TIME = 16, 1_000_000  # requests that go on behind their answers, and µs for each
_PIECE = 16 << 10  # bytes that the library has at once: it makes streams of all that they begin before it tells of one
_UNREAD = 1_024  # acknowledgements and resets that the peer does not read, beside its requests
_CONTROL = 13  # bytes of a frame of RST_STREAM


class Http2Line(Line):
    """All requests of one connection."""

    multiplexed = True

    def __init__(self, loop: asyncio.AbstractEventLoop, config: HttpConfig, router: Router, since: int) -> None:
        super().__init__(loop, config, since)
        self._router = router
        self.h2 = Lenient(
            H2Configuration(
                client_side=False,
                header_encoding=None,
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
            )
        )
        window = config.session.window
        most = min(config.session.max_pool, MOST)
        self.windows = Windows(self, self.share, window, max(window, CONNECTION_WINDOW), most)
        self.h2.count_windows(self.windows.arrived_of_all, self._stray)
        self.h2.local_settings = Settings(
            client=False,
            initial_values={
                SettingCodes.MAX_CONCURRENT_STREAMS: config.settings.max_calls,
                SettingCodes.MAX_HEADER_LIST_SIZE: config.header_bytes,
                SettingCodes.INITIAL_WINDOW_SIZE: window,
                SettingCodes.ENABLE_PUSH: 0,
            },
        )
        self.h2.decoder.max_header_list_size = _TIMES * config.header_bytes
        self.allowance = Allowance()
        self._follower = Follower(self.allowance)
        self.parting = Parting(self, config.session.keepalive, config.session.keepalive_answer)
        self.streams: dict[int, Http2Stream] = {}
        self.counted = 0  # requests, with handlers that outlive their streams
        self._behind: dict[Http2Stream, int] = {}  # answered, and their requests go on: until when they may
        self._ready: dict[Http2Stream, None] = {}  # have something to send, in turn
        self.waiting: dict[Http2Stream, None] = {}  # their handlers wait for room
        self.queued = 0  # bytes of answers that are not with the transport
        self._out: list[bytes] = []
        self._controls = 0  # frames of its own that the library wrote while the peer did not read
        self.read_at = since
        self.idle_since = since
        self.ending = False

    # The connection.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.h2.initiate_connection()
        self.windows.give()
        self.meet()
        self.flush()

    def data_received(self, data: bytes) -> None:
        if self.ending or self.lost:
            return
        self.read_at = clock()
        self.parting.heard()
        try:
            seen = self._follower.follow(data)
            for at in range(0, len(seen), _PIECE):
                for event in self.h2.receive_data(seen[at : at + _PIECE]):
                    self._happened(event)
            self.windows.give()
            self._count_controls()
        except Flood as flood:
            self.end_for(ErrorCodes.ENHANCE_YOUR_CALM, str(flood))
        except TooLarge as error:
            self.end_for(ErrorCodes.FRAME_SIZE_ERROR, str(error))
        except ProtocolError as error:
            self._wrong(error)
        except H2Error as error:
            self.end_for(ErrorCodes.INTERNAL_ERROR, str(error))
        self.flush()

    def _happened(self, event: Any) -> None:
        if isinstance(event, DataReceived):
            self._data(event)
        elif isinstance(event, RequestReceived):
            self._begin(event)
        elif isinstance(event, StreamEnded):
            stream = self.streams.get(event.stream_id or 0)
            if stream is not None:
                self._ended(stream)
        elif isinstance(event, WindowUpdated):
            self._opened(event.stream_id or 0)
        elif isinstance(event, StreamReset):
            self._was_reset(event)
        elif isinstance(event, PingAckReceived):
            if self.windows.answered(event.ping_data or b""):
                self.allowance.earn(1)  # that of a frame which was asked for
            else:
                self.parting.answered(event.ping_data)
        elif isinstance(event, SettingsAcknowledged):
            if self.windows.acknowledged():
                self.allowance.earn(1)
        elif isinstance(event, RemoteSettingsChanged):
            self._opened(0)

    def _wrong(self, error: ProtocolError) -> None:
        """The peer has broken a rule; the library's own GOAWAY says no text."""
        data = self.h2.data_to_send() or b""
        self._out.append(data[:-17])  # without that GOAWAY
        text = str(error)
        if error.error_code == ErrorCodes.ENHANCE_YOUR_CALM:
            text = f"a header list is longer than four times {self.config.header_bytes} bytes: {text}"
        self.end_for(error.error_code, text)

    def end_for(self, error: int, text: str) -> None:
        """Ends the connection for what the peer did."""
        if self.ending or self.lost:
            return
        self._take_output()
        self.ending = True
        self.why = self.why or text
        self.events.failed("http2", text)
        self._out.append(goaway(self.h2.highest_inbound_stream_id, error, text))
        self._write_out()
        self.linger()
        self.loop.call_later(FAREWELL, self.transport.abort)  # it may not read
        for stream in list(self.streams.values()):
            self._lose(stream)

    # Requests.

    def _begin(self, event: RequestReceived) -> None:
        number = event.stream_id or 0
        if self.counted >= self.config.settings.max_calls or self.parting.takes_none:
            self.allowance.spend(1, "refused requests")
            self._reset(number, ErrorCodes.REFUSED_STREAM)
            return
        self.idle_since = 0
        method = target = host = ""
        fields: Fields = []
        length = -1
        total = 0  # as RFC 9113 6.5.2 has it
        headers: Any = event.headers or ()
        for name, value in headers:
            key, text = name.decode("latin-1"), value.decode("latin-1")
            total += len(key) + len(text) + FIELD_COST
            if key[0] != ":":
                fields.append((key, text))
                if key == "content-length" and text.isdigit():
                    length = int(text)
            elif key == ":method":
                method = text
            elif key == ":path":
                target = text
            elif key == ":authority":
                host = text
        if host and not any(name == "host" for name, _ in fields):
            fields.append(("host", host))
        request = Request(method, target, fields, length)
        stream = self.streams[number] = Http2Stream(self, number, request)
        self.counted += 1
        stream.request_ended = event.stream_ended is not None
        stream.cost = 1 + (total >> 10)
        most, many = self.config.header_bytes, self.config.most_fields
        if total > most or len(fields) > many:
            self.allowance.spend(stream.cost, "refused requests")
            text = f"the header is longer than {most} bytes, or has more than {many} fields"
            stream.receiver = self._router.too_large(request, stream, text)
            stream.served = True
        elif stream.request_ended or method == "POST" or self._router.is_mounted(request, stream):
            self._serve(stream)  # the others when they are whole: a malformed one gets no answer

    def _serve(self, stream: Http2Stream) -> None:
        stream.served = True
        stream.receiver = self._router.serve(stream.request, stream)
        if stream.answered and not stream.began:
            self.allowance.spend(stream.cost, "refused requests")

    def _stray(self) -> None:
        self.allowance.spend(1, "DATA of closed streams")

    def _data(self, event: DataReceived) -> None:
        credit = event.flow_controlled_length or 0
        data = event.data or b""
        stream = self.streams.get(event.stream_id or 0)
        if stream is None:
            return
        if not self.windows.arrived(stream.inbound, credit):
            self._reset(stream.number, ErrorCodes.FLOW_CONTROL_ERROR)
            self._lose(stream)
        elif not stream.answered:
            stream.came += len(data)
            if data:
                self.allowance.earn(FOR_DATA)
                stream.earned = min(stream.earned + FOR_DATA, MOST_FORFEIT)
            if data and stream.served:
                stream.receiver.data(data, len(data))
                credit -= len(data)
            if credit:
                stream.consumed(credit)

    def _ended(self, stream: Http2Stream) -> None:
        if not stream.answered and stream.request.length not in (-1, stream.came):
            self._reset(stream.number, ErrorCodes.PROTOCOL_ERROR)  # such as a caller gives up in the middle of it
            self._lose(stream)
            return
        stream.request_ended = True
        self.windows.ended(stream.inbound)
        self._behind.pop(stream, None)
        if not stream.served:
            self._serve(stream)
        if stream.answered:
            self.over(stream)
        else:
            stream.receiver.ended()

    def _was_reset(self, event: StreamReset) -> None:
        stream = self.streams.get(event.stream_id or 0)
        if stream is not None:
            if not stream.answered:
                self.allowance.spend(stream.earned, "requests that were reset")
            self._lose(stream)

    def over(self, stream: Http2Stream) -> None:
        """One side, perhaps both, has ended it."""
        if not stream.answered or stream.pending or stream.gone:
            return
        if stream.request_ended:
            self._forget(stream)
        elif stream not in self._behind:
            self._behind[stream] = clock() + _BEHIND_TIME
            if len(self._behind) > _BEHIND:
                self.reset(next(iter(self._behind)), ErrorCodes.NO_ERROR)

    def _lose(self, stream: Http2Stream) -> None:
        """The caller has gone."""
        answered = stream.answered
        self._forget(stream)
        if not answered:
            stream.receiver.lost()

    def _forget(self, stream: Http2Stream) -> None:
        stream.gone = True
        self.windows.closed(stream.inbound)
        self.streams.pop(stream.number, None)
        self._behind.pop(stream, None)
        self._ready.pop(stream, None)
        self.waiting.pop(stream, None)
        self.queued -= stream.unsent
        stream.unsent = 0
        stream.pending.clear()
        self.holding.pop(stream, None)
        self.leave(stream)

    def leave(self, stream: Http2Stream) -> None:
        """Lets go of a request that is over and whose handler has returned."""
        if stream.gone and not stream.running and not stream.shut:
            stream.shut = True
            self.counted -= 1
            if not self.counted:
                self.idle_since = clock()
                self.schedule()  # it may be the last one

    def _reset(self, number: int, error: int) -> None:
        with suppress(*OVER):
            self.h2.reset_stream(number, error)
        self.schedule()

    def reset(self, stream: Http2Stream, error: int) -> None:
        if not stream.gone:
            self._reset(stream.number, error)
            stream.answered = True
            self._forget(stream)

    def answered(self, stream: Http2Stream) -> None:
        if stream.began:
            self.allowance.earn(FOR_ANSWER)
        self.windows.dropped(stream.inbound)
        self.schedule()

    # Output.

    def ready(self, stream: Http2Stream) -> None:
        self._ready[stream] = None
        self.schedule()

    def _opened(self, number: int) -> None:
        """There is more of a window."""
        if number:
            stream = self.streams.get(number)
            if stream is not None and stream.pending:
                self._ready[stream] = None
        else:
            for stream in self.streams.values():
                if stream.pending:
                    self._ready[stream] = None

    def _send_ready(self) -> None:
        """Gives the library what the windows and the transport take, a piece of each stream in turn."""
        while self._ready and not self.full:
            for stream in list(self._ready):
                if not stream.send_piece():
                    self._ready.pop(stream, None)
            self._take_output()
            self._write_out()

    def _take_output(self) -> None:
        data = self.h2.data_to_send()
        if data:
            self._out.append(data)

    def _write_out(self) -> None:
        if self._out:
            data = b"".join(self._out)
            self._out.clear()
            if data and not self.lost:
                self.transport.write(data)

    def flush(self) -> None:
        super().flush()
        if self.lost:
            return
        if not self.ending:
            self._take_output()
            self._send_ready()
            self._wake()
        self._write_out()
        self.account()
        self.parting.look()

    def _count_controls(self) -> None:
        """What the library answers by itself to a peer that does not read. Raises Flood."""
        if not self.full:
            self._controls = 0
            return
        before = len(self._out)
        self._take_output()
        self._controls += sum(map(len, self._out[before:])) // _CONTROL
        most = _UNREAD + self.config.settings.max_calls
        if self._controls > most:
            raise Flood(f"more than {most:,} acknowledgements and resets that are not read")

    def _wake(self) -> None:
        """Tells handlers that wait for room."""
        if self.waiting and self.queued <= LINE_UNSENT:
            for stream in list(self.waiting):
                if stream.unsent <= MOST_UNSENT:
                    del self.waiting[stream]
                    stream.receiver.writable()

    def room(self) -> None:
        self._opened(0)

    def unsent(self) -> int:
        return 0 if self.lost else self.queued + super().unsent()

    def overloaded(self) -> None:
        self.end_for(ErrorCodes.ENHANCE_YOUR_CALM, "the peer does not read what it is sent")

    def append(self, frame: bytes) -> None:
        """Writes a frame behind what the library has to send."""
        self._take_output()
        self._out.append(frame)
        self.schedule()

    @property
    def most_trailers(self) -> int:
        most = self.h2.remote_settings.max_header_list_size
        return 1 << 62 if most is None else most

    # Time and ends.

    @property
    def calls(self) -> int:
        return self.counted

    def look(self, now: int) -> None:
        if self.ending:
            return
        if not self._follower.settled and now - self.began > HANDSHAKE:
            self.end_for(ErrorCodes.ENHANCE_YOUR_CALM, "the preface and SETTINGS took longer than 10 s")
            return
        late = self._follower.late(now)
        if late:
            self.end_for(ErrorCodes.ENHANCE_YOUR_CALM, late)
            return
        for stream in list(self.streams.values()):
            stream.tick(now)
        for stream, until in list(self._behind.items()):
            if now > until:
                self.reset(stream, ErrorCodes.NO_ERROR)
        self.parting.tick(now)
        self.flush()

    def gone(self) -> None:
        for stream in list(self.streams.values()):
            self._lose(stream)

    def retire(self) -> None:
        """It has reached its age."""
        self.drain()

    def drain(self) -> None:
        self.draining = True
        self.parting.drain()
        self.flush()

    def grace_over(self) -> None:
        for stream in list(self.streams.values()):
            if not stream.answered:
                stream.receiver.cut_off(Code.UNAVAILABLE, "the grace period is over")
        self.parting.last()
        self.flush()
        self.shut("the grace period is over")

    # What is told of windows.

    def ping(self, data: bytes) -> None:
        self.h2.ping(data)
        self.schedule()

    def begin_with(self, window: int) -> None:
        self.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: window})
        self.schedule()

    def credit(self, number: int, more: int) -> None:
        with suppress(*OVER):
            self.h2.increment_flow_control_window(more, number or None)
        self.schedule()
