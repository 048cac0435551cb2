"""HTTP on a server's port: gRPC, gRPC-Web and Connect over HTTP/2 and HTTP/1.1 (spec/http.md). Read first router.py,
then call.py, http2.py and http1.py. h2 and h11 do the framing; without them there is no HTTP."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .declining import DecliningHttp
from .http1 import Http1Line
from .http2 import Http2Line
from .mounted import Mounted
from .router import Router
from .stream import Events, HttpConfig

if TYPE_CHECKING:
    from trunkcall.transport import Listener


class Http:
    """What serves the connections of HTTP of one server."""

    def __init__(self, loop: asyncio.AbstractEventLoop, config: HttpConfig) -> None:
        self._loop = loop
        self._config = config
        self._router = Router(config)

    def http2(self, transport: asyncio.Transport, data: bytes, since: int) -> None:
        """Takes a connection over that begins with the preface of HTTP/2."""
        Http2Line(self._loop, self._config, self._router, since).take_over(transport, data)

    def http1(self, transport: asyncio.Transport, data: bytes, since: int, listener: Listener) -> None:
        """Takes over one that speaks HTTP/1.1, whose first request may ask for a WebSocket."""
        Http1Line(self._loop, self._config, self._router, listener, since).take_over(transport, data)

    def declining(self, text: str) -> asyncio.Protocol:
        """Tells a client that it is not served here."""
        return DecliningHttp(self._loop, text)


__all__ = ["Events", "Http", "HttpConfig", "Mounted"]
