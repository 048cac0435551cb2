"""Clients that are not served: they are told why in their own protocol, and the connection closes."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

from trunkcall.wire import MAGIC, PREFACE_SIZE, not_served

from .answer import Answering, answer
from .halfclose import half_close
from .opening import HANDSHAKE, begins_http
from .proxied import ProxyHeader

if TYPE_CHECKING:
    from .listener import Listener

_TELL_TIME = 1.0  # seconds that one of too many has to say which protocol it speaks (limits.md 2)
_TOLD_TIME = 2.0  # seconds in which it is told


def declining(listener: Listener, first: int, why: str) -> asyncio.Protocol | None:
    """What tells a client that begins with this byte; None: it speaks nothing in which it could be told."""
    if first == MAGIC[0]:
        return Declining(listener.loop, why)
    if not begins_http(first) or listener.origins is None:
        return None
    http = listener.http() if listener.http is not None else None
    if http is not None:
        return http.declining(why)
    return Answering(listener.loop, answer(HTTPStatus.BAD_REQUEST, why))


class Declining(asyncio.Protocol):
    """Answers a native client that is not served here, and closes (protocol.md 11.3)."""

    def __init__(self, loop: asyncio.AbstractEventLoop, text: str) -> None:
        self.loop = loop
        self._text = text
        self._seen = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._timer = self.loop.call_later(HANDSHAKE, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        if len(self._seen) >= PREFACE_SIZE:
            return  # discarded until it ends or a second is over (protocol.md 11.6)
        self._seen += data
        if not self._seen.startswith(MAGIC[: len(self._seen)]):
            self._transport.abort()
        elif len(self._seen) >= PREFACE_SIZE:
            self._timer.cancel()
            self._timer = self.loop.call_later(1.0, self._transport.abort)
            self._transport.write(not_served(self._text))
            half_close(self._transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()


class TurningAway(asyncio.Protocol):
    """A connection of which there are too many. Its first byte decides in which protocol it is told; one that wants TLS
    is just closed."""

    def __init__(self, listener: Listener, why: str, header: ProxyHeader | None) -> None:
        """`header`: that of a proxy, which comes first."""
        self._listener = listener
        self._why = why
        self._header = header

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # other loops have classes of their own
        self._timer = self._listener.loop.call_later(_TELL_TIME, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        transport = self._transport
        try:
            data = data if self._header is None else self._header.strip(data)
        except ValueError:
            transport.abort()
            return
        if not data:
            return
        tells = declining(self._listener, data[0], self._why)
        if tells is None:
            transport.abort()
            return
        self._timer.cancel()
        self._listener.loop.call_later(_TOLD_TIME, transport.abort)  # however slowly it goes on
        transport.set_protocol(tells)
        tells.connection_made(transport)
        tells.data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
