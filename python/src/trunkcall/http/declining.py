"""Tells a client of HTTP why it is not served here, and closes (http.md 1).

Requests over HTTP/2 are answered one by one for a second: with GOAWAY alone, clients of gRPC would make them again at
once, on a new connection that would end in the same way.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import RequestReceived
from h2.exceptions import H2Error

from trunkcall.transport.answer import LINGER, Answering, answer
from trunkcall.transport.halfclose import half_close
from trunkcall.wire import Code, Delivery, Status

from .dialects import GRPC
from .ends import grpc_end
from .frames import PREFACE, goaway
from .router import media_type

_TIME = 1.0  # seconds in which requests are answered
_HANDSHAKE = 10.0
_MOST = 64 << 10  # bytes that are read


class DecliningHttp(asyncio.Protocol):
    """A connection of whichever HTTP."""

    def __init__(self, loop: asyncio.AbstractEventLoop, text: str) -> None:
        self._loop = loop
        self._text = text
        self._seen = b""
        self._read = 0
        self._h2: H2Connection | None = None
        self._over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._timer = self._loop.call_later(_HANDSHAKE, self._transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        if self._h2 is None:
            data = self._seen = self._seen + data
            if len(data) < len(PREFACE) and PREFACE.startswith(data):
                return
            self._timer.cancel()
            if not data.startswith(PREFACE):
                answering = Answering(self._loop, answer(HTTPStatus.BAD_REQUEST, self._text))
                self._transport.set_protocol(answering)
                answering.begin(self._transport)
                return
            self._h2 = H2Connection(H2Configuration(client_side=False, header_encoding="latin-1"))
            self._h2.initiate_connection()
            self._timer = self._loop.call_later(_TIME, self._end)
        self._take(self._h2, data)

    def _take(self, h2: H2Connection, data: bytes) -> None:
        if self._over:
            return
        self._read += len(data)
        try:
            for event in h2.receive_data(data):
                if isinstance(event, RequestReceived):
                    self._answer(h2, event)
        except H2Error:
            self._read = _MOST + 1
        self._transport.write(h2.data_to_send() or b"")
        if self._read > _MOST:
            self._end()

    def _answer(self, h2: H2Connection, event: RequestReceived) -> None:
        number = event.stream_id or 0
        fields = {str(name): str(value) for name, value in event.headers or ()}
        kind = media_type(fields.get("content-type", ""))
        if kind is not None and GRPC.codec(kind) is not None:
            status = Status(Code.UNAVAILABLE, self._text, (), Delivery.REFUSED)
            head = [(":status", "200"), ("content-type", "application/grpc"), *grpc_end(status, None)]
            h2.send_headers(number, head, end_stream=True)
            return
        body = f"{self._text}\n".encode()
        head = [
            (":status", "400"),
            ("content-type", "text/plain; charset=utf-8"),
            ("content-length", str(len(body))),
        ]
        bare = fields.get(":method") == "HEAD"
        h2.send_headers(number, head, end_stream=bare)
        if not bare and h2.local_flow_control_window(number) >= len(body):
            h2.send_data(number, body, end_stream=True)

    def _end(self) -> None:
        if self._over or self._h2 is None:
            return
        self._over = True
        self._timer.cancel()
        last = self._h2.highest_inbound_stream_id
        self._transport.write(goaway(last, ErrorCodes.INADEQUATE_SECURITY, self._text))
        self._timer = self._loop.call_later(LINGER, self._transport.abort)
        half_close(self._transport)
