"""What a new connection speaks, by its first bytes (http.md 1): Trunkcall, HTTP/2, HTTP/1.1, a user's protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

from trunkcall.wire import MAGIC, not_served

from .monotonic import clock
from .proxied import Name, Proxied
from .target import spelled
from .tls import ALPN, ALPN_HTTP1, ALPN_HTTP2

if TYPE_CHECKING:
    from .listener import Listener

TLS_RECORD = 0x16
LOOKED_AT = 64  # bytes of a beginning that users' protocols are asked about
HANDSHAKE = 10.0  # seconds from accepted to preface read (limits.md 3)
NOTHING_SAID = "closed before anything was said"
SILENT = f"nothing was said in {HANDSHAKE:g} s"
WITHOUT_LIBRARY = "a WebSocket was asked for, and the package websockets is missing, which trunkcall[websocket] brings"
_BRINGS = "and the packages h2 and h11 are missing, which trunkcall[http] brings"
HTTP1_CLIENT = f"a client of HTTP came, {_BRINGS}"
HTTP2_CLIENT = f"a client of gRPC or HTTP/2 came, {_BRINGS}"
OTHER_ALPN = (
    "a client of TLS that offers none of the protocols that are served here (ALPN) closed before anything was said: "
    "gRPC and HTTP/2 are, where the packages h2 and h11 are there, which trunkcall[http] brings"
)
PREFACE_HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Http(Protocol):
    """What serves connections of HTTP: takes one over, with what was read. `since`: when it was accepted."""

    def http2(self, transport: asyncio.Transport, data: bytes, since: int) -> None: ...

    def http1(self, transport: asyncio.Transport, data: bytes, since: int, listener: Listener) -> None: ...

    def declining(self, text: str) -> asyncio.Protocol:
        """Tells a client that it is not served here, for the reason given."""
        ...


class Recognizes(Protocol):
    """A protocol of a user's, as far as it matters here."""

    @property
    def alpn(self) -> Sequence[str]: ...

    def recognize(self, first: bytes) -> bool | None: ...


def unknown(first: bytes) -> str:
    """What is said of a beginning that is of no protocol."""
    why = ""
    if begins_http(first[0]):
        why = f": {HTTP2_CLIENT}" if first.startswith(PREFACE_HTTP2[:4]) else ": HTTP is not served here (native_only)"
    return f"the first bytes {first!r} are no protocol served here{why}"


def asks_for(first: bytes) -> str:
    """What a beginning of HTTP asks for that is not served for want of a library."""
    if first.startswith(PREFACE_HTTP2[:4]):
        return HTTP2_CLIENT
    return WITHOUT_LIBRARY if b"\r\nupgrade:" in first.lower() else HTTP1_CLIENT


def begins_http(byte: int) -> bool:
    return 0x41 <= byte <= 0x5A  # an upper-case letter


class Opening(asyncio.Protocol):
    """A connection that has not said what it speaks. With its first byte, or a few more where users have protocols of
    their own, it gets another protocol."""

    __slots__ = ("_listener", "_other_alpn", "_said", "_seen", "_since", "_timer", "remote", "transport")

    transport: asyncio.Transport

    def __init__(self, listener: Listener, since: int, said: tuple[Name, Name] | None = None) -> None:
        """`since`: when it was accepted, by `clock`. `said`: the addresses that a proxy has said."""
        self._listener = listener
        self._since = since
        self._said = said
        self._seen: bytes = b""  # of a beginning that more of it will tell

    @property
    def left(self) -> float:
        """Seconds until its time is over."""
        return max(HANDSHAKE - (clock() - self._since) / 1e6, 0.0)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        made = cast(asyncio.Transport, transport)  # other loops have classes of their own
        self.transport = made if self._said is None else cast(asyncio.Transport, Proxied(made, self._said))
        tls = transport.get_extra_info("ssl_object")
        self._other_alpn = tls is not None and tls.selected_alpn_protocol() is None
        self._timer = self._listener.loop.call_later(self.left, self._too_long)
        # TLS forgets it when the connection is gone.
        self.remote = spelled(self.transport.get_extra_info("peername"))
        self._listener.opening[self] = None
        if self._listener.closed:  # after it was accepted
            self.speak_natively()

    def data_received(self, data: bytes) -> None:
        data, self._seen = self._seen + data, b""
        negotiated = self._negotiated()
        if self._listener.protocols and negotiated != ALPN:
            other, unsure = self._recognized(data, negotiated)
            if unsure:
                self._seen = data
                return
            if other is not None:
                self._forget()
                self._listener.hand_over(other, self.transport, data)
                return
        http = begins_http(data[0]) and self._listener.origins is not None
        shorter = len(data) < len(PREFACE_HTTP2) and PREFACE_HTTP2.startswith(data)
        if shorter and http and self._listener.http is not None:
            self._seen = data  # HTTP/1.1 may begin so, too
            return
        self._forget()
        if not self._agrees(data, http, negotiated):
            self._turn_away(f"the first byte 0x{data[0]:02x} does not begin {negotiated}, which TLS has negotiated")
        elif http:
            self._speak_http(data)
        elif data[0] == MAGIC[0]:
            self.speak_natively(data)
        elif data[0] == TLS_RECORD and negotiated is None:
            self._listener.turned_away(self.remote, "a TLS handshake on a port without TLS")
            self.transport.write(not_served("this port does not speak TLS"))  # so that TLS says why it fails
            self.transport.close()
        else:
            self._turn_away(unknown(data[:LOOKED_AT]))

    def connection_lost(self, exc: Exception | None) -> None:
        if self in self._listener.opening:
            self._forget()
            self._listener.turned_away(self.remote, OTHER_ALPN if self._other_alpn else NOTHING_SAID)

    def speak_natively(self, data: bytes = b"") -> None:
        """Makes it a native connection, which judges what has come and what will."""
        self._forget()
        connection = self._listener.accept(self._since)
        self.transport.set_protocol(connection)
        connection.connection_made(self.transport)
        if data and not self.transport.is_closing():
            connection.data_received(data)

    @staticmethod
    def _agrees(data: bytes, http: bool, negotiated: str | None) -> bool:
        """Whether a beginning is of the protocol that TLS has negotiated."""
        if negotiated == ALPN:
            return data[0] == MAGIC[0]
        if negotiated == ALPN_HTTP2:
            return data.startswith(PREFACE_HTTP2)
        return negotiated != ALPN_HTTP1 or (http and not data.startswith(PREFACE_HTTP2))

    def _speak_http(self, data: bytes) -> None:
        found = self._listener.http
        http = None if found is None else found()
        if http is None:
            self._upgrade(data)
        elif data.startswith(PREFACE_HTTP2):
            http.http2(self.transport, data, self._since)
        else:
            http.http1(self.transport, data, self._since, self._listener)

    def _recognized(self, data: bytes, negotiated: str | None) -> tuple[Recognizes | None, bool]:
        """The user's protocol that a beginning is of, and whether more of it is to be seen first."""
        unsure = False
        for protocol in self._listener.protocols:
            if negotiated is not None and negotiated in protocol.alpn:
                return protocol, False
            said = protocol.recognize(data[:LOOKED_AT]) if negotiated is None else False
            if said:
                return protocol, False
            unsure = unsure or said is None
        return None, unsure and len(data) < LOOKED_AT

    def _negotiated(self) -> str | None:
        tls = self.transport.get_extra_info("ssl_object")
        return None if tls is None else tls.selected_alpn_protocol()

    def _upgrade(self, data: bytes) -> None:
        self._listener.upgrade(self.transport, data, self._since)

    def _too_long(self) -> None:
        self._forget()
        seen = f"after {HANDSHAKE:g} s its first bytes {self._seen!r} tell no protocol"
        self._turn_away(seen if self._seen else SILENT)

    def _turn_away(self, why: str) -> None:
        self._listener.turned_away(self.remote, why)
        self.transport.abort()

    def _forget(self) -> None:
        self._timer.cancel()
        self._listener.opening.pop(self, None)
