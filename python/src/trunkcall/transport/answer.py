"""Answers to clients of HTTP that are served nothing here (http.md 4). Nothing of this needs a library."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import cast

from .halfclose import half_close

LINGER = 1.0  # seconds for which input is discarded behind an answer (limits.md 6)
DISCARD = 1 << 20  # bytes, likewise


def answer(status: HTTPStatus, text: str, *fields: str) -> bytes:
    """An answer of one line, after which the connection closes. `fields` are further ones, as "Name: value"."""
    body = f"{text}\n".encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *fields,
    )
    return "\r\n".join((*head, "", "")).encode("latin-1", "replace") + body


class Answering(asyncio.Protocol):
    """Writes an answer, ends the output and discards what still comes, for a while: input that is unread at the close
    can make TCP throw away what was written last. For a transport of its own, or one that is handed over (`begin`)."""

    def __init__(self, loop: asyncio.AbstractEventLoop, text: bytes) -> None:
        self._loop = loop
        self._text = text
        self._left = DISCARD
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.begin(cast(asyncio.Transport, transport))  # other loops have classes of their own

    def begin(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._timer = self._loop.call_later(LINGER, transport.abort)
        transport.write(self._text)
        if transport.can_write_eof():
            half_close(transport)
        else:
            transport.close()

    def data_received(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
