"""WebSockets (protocol.md 13): a native connection in binary messages. The protocol itself is left to what package
websockets has without I/O. Only what needs it imports this module.

A `WebSocket` stands between a transport of the loop and a `Connection`: it is the protocol of the one and the transport
of the other, so that a connection does not know what carries it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any, cast

try:
    from websockets.client import ClientProtocol
    from websockets.exceptions import InvalidStatus
    from websockets.frames import Frame, Opcode
    from websockets.http11 import Response
    from websockets.protocol import OPEN, Protocol
    from websockets.typing import Subprotocol
    from websockets.uri import parse_uri
except ImportError as missing:
    raise ImportError("WebSockets need the package websockets, which trunkcall[websocket] brings") from missing

from .connection import Connection
from .halfclose import half_close
from .tls import ALPN

SUB_PROTOCOL = Subprotocol(ALPN)
FRAME = 256 << 10  # bytes of payload in a frame (limits.md 1)
LINGER = 1.0  # seconds for the peer to answer a close
NORMAL, UNSUPPORTED = 1000, 1003  # close codes
_DATA = (Opcode.BINARY, Opcode.CONT)
_PONG = Opcode.PONG

# What the library logs is told elsewhere, or not worth telling.
SILENT = logging.Logger("websockets", logging.CRITICAL + 1)


class WebSocket(asyncio.Transport, asyncio.Protocol):
    """One WebSocket whose handshake is done. Used on its loop's thread only."""

    __slots__ = ("_above", "_below", "_closing", "_full", "_loop", "_pong", "_timer", "_ws")

    def __init__(self, loop: asyncio.AbstractEventLoop, ws: Protocol, below: asyncio.Transport) -> None:
        super().__init__()
        self._loop = loop
        self._ws = ws
        self._below = below
        self._full = False  # the transport below wants no more for now
        self._closing = False  # nothing more is sent, nor given to the connection
        self._pong = b""  # to be sent once there is room
        self._timer: asyncio.TimerHandle | None = None

    def carry(self, above: Connection) -> None:
        """Makes it the transport of a connection, and the protocol of the transport below."""
        self._above = above
        self._below.set_protocol(self)
        above.connection_made(self)

    # What the transport below calls.

    def data_received(self, data: bytes) -> None:
        if self._ws.reader.eof:
            return
        self._ws.receive_data(data)
        self.take(self._ws.events_received())

    def take(self, events: Iterable[Any]) -> None:
        """Passes on what the library has read, all at once, and sends what it has to say to that."""
        parts: list[bytes] = []
        text = False
        for event in events:
            if not isinstance(event, Frame):
                continue  # the answer that opened it
            if event.opcode in _DATA:
                parts.append(bytes(event.data))
            elif event.opcode is Opcode.TEXT:
                text = True
                break
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        if data and not self._closing:
            self._above.data_received(data)
        why = ""
        if text and self._ws.state is OPEN:
            why = "the peer sent a text message"
            self._ws.fail(UNSUPPORTED, "frames are carried by binary messages")
        if self._ws.parser_exc is not None:
            why = f"the peer broke the WebSocket protocol: {self._ws.parser_exc}"
        over = self._ws.state is not OPEN
        if over and not self._closing:  # by the peer's close, or by its fault: there is no half-close
            self._closing = True
            self._arm()
            if why:
                self._above.end.failed("websocket", why)
            self._above.eof_received()
        self._send()

    def eof_received(self) -> bool:
        """The socket ended: at the end of the closing handshake, or without one."""
        self._ws.receive_eof()
        self._ws.data_to_send()
        if not self._closing:
            self._closing = True
            self._above.eof_received()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        self._above.connection_lost(exc)

    def pause_writing(self) -> None:
        self._full = True
        self._above.pause_writing()

    def resume_writing(self) -> None:
        self._full = False
        if self._pong and not self._closing:
            self._below.write(self._pong)
        self._pong = b""
        self._above.resume_writing()

    # What the connection calls.

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Sends bytes, in messages of up to FRAME bytes. `data` may be changed afterwards."""
        if self._closing or self._ws.state is not OPEN:
            return  # the peer has closed, and what it sent before is being taken in
        if len(data) <= FRAME:
            self._ws.send_binary(data)
        else:
            view = memoryview(data)
            for at in range(0, len(view), FRAME):
                self._ws.send_binary(view[at : at + FRAME])
        self._send()

    def close(self) -> None:
        """Begins the closing handshake behind what was written; what still comes is discarded."""
        if self._closing:
            return
        self._closing = True
        if self._ws.state is OPEN:
            self._ws.send_close(NORMAL)
        self._arm()
        self._send()

    def abort(self) -> None:
        self._closing = True
        self._below.abort()

    def is_closing(self) -> bool:
        return self._closing or self._below.is_closing()

    def can_write_eof(self) -> bool:
        return False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._below.get_extra_info(name, default)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._below.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        return self._below.get_write_buffer_size()

    # Sending.

    def _send(self) -> None:
        for data in self._ws.data_to_send():
            if not data:
                self._end_output()
            elif data[0] & 0x0F != _PONG:
                self._below.write(data)
            elif self._full:
                self._pong = data  # one answers all the PINGs before it (RFC 6455 5.5.3)
            elif not self._closing:
                self._below.write(data)

    def _end_output(self) -> None:
        """The library has nothing more to say. Input is read to its end, lest TCP throws away what was written."""
        if self._below.can_write_eof():
            half_close(self._below)
        else:
            self._below.close()

    def _arm(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(LINGER, self._below.close)


class Asking(asyncio.Protocol):
    """The client's side of the handshake."""

    def __init__(self, loop: asyncio.AbstractEventLoop, url: str) -> None:
        """`url` is that of an Address."""
        self._loop = loop
        self._url = url
        self._ws = ClientProtocol(parse_uri(url), subprotocols=[SUB_PROTOCOL], max_size=(None, FRAME), logger=SILENT)
        self._answered: asyncio.Future[list[Any]] = loop.create_future()

    async def opened(self, connection: Connection) -> None:
        """Waits for the server's answer and has the WebSocket carry `connection`. Raises ConnectionError."""
        try:
            events = await self._answered
            if self._transport.is_closing():
                raise ConnectionError("closed as soon as the WebSocket was opened")
        except BaseException:
            self._transport.abort()
            raise
        websocket = WebSocket(self._loop, self._ws, self._transport)
        websocket.carry(connection)
        self._loop.call_soon(self._begin, websocket, events)  # once the connection is known to who has it opened

    def _begin(self, websocket: WebSocket, events: list[Any]) -> None:
        self._transport.resume_reading()
        websocket.take(events)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = made = cast(asyncio.Transport, transport)  # other loops have classes of their own
        self._ws.send_request(self._ws.connect())
        made.write(b"".join(self._ws.data_to_send()))

    def data_received(self, data: bytes) -> None:
        self._ws.receive_data(data)
        self._judge()

    def eof_received(self) -> None:
        self._ws.receive_eof()
        self._judge()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._answered.done():
            why = f"no answer to the request for a WebSocket: {exc or 'closed'}"
            self._answered.set_exception(ConnectionError(why))

    def _judge(self) -> None:
        if self._answered.done():
            return
        fault = self._fault()
        if fault:
            self._answered.set_exception(ConnectionError(fault))
        elif self._ws.state is OPEN:
            self._transport.pause_reading()  # until there is who takes it
            self._answered.set_result(self._ws.events_received())

    def _fault(self) -> str:
        match self._ws.handshake_exc:
            case None if self._ws.state is OPEN and self._ws.subprotocol != SUB_PROTOCOL:
                return f'the WebSocket at {self._url} does not speak the sub-protocol "{SUB_PROTOCOL}"'
            case None:
                return ""
            case InvalidStatus(response=response):
                status = f"{response.status_code} {response.reason_phrase}"
                why = reason(response)
                return f"the server answers {status} where a WebSocket was asked for" + (f": {why}" if why else "")
            case fault:
                return f"no WebSocket: {fault}" + (f": {fault.__cause__}" if fault.__cause__ else "")


def reason(response: Response) -> str:
    """The line of text with which a server says why it refuses, if there is one."""
    line = (response.body or b"")[:200].decode("utf-8", "replace").split("\n", 1)[0].strip()
    plain = response.headers.get("Content-Type", "").startswith("text/plain")
    return line if plain and line.isprintable() and "\ufffd" not in line else ""
