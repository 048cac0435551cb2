"""The server's side of a WebSocket's handshake, and the answers to requests that are none (http.md 4, 8)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from websockets.datastructures import Headers, MultipleValuesError
from websockets.exceptions import HeaderLineTooLong, InvalidHeader, RequestLineTooLong, TooManyHeaders
from websockets.headers import parse_subprotocol, parse_upgrade
from websockets.http11 import Request
from websockets.server import ServerProtocol

from .answer import Answering, answer
from .monotonic import clock
from .opening import HANDSHAKE, HTTP2_CLIENT
from .target import spelled
from .websocket import FRAME, SILENT, SUB_PROTOCOL, WebSocket

if TYPE_CHECKING:
    from .listener import Listener

HEADER = 32 << 10  # bytes (limits.md 6)
_END = b"\r\n\r\n"


class Refused(Exception):
    """A request that is not served: the status and one line that says why, with further fields of the answer."""

    def __init__(self, status: HTTPStatus, text: str, *fields: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.fields = fields


class Upgrading(asyncio.Protocol):
    """A connection whose client speaks HTTP/1.1. Its first request makes it a WebSocket, or is its last."""

    def __init__(self, listener: Listener, transport: asyncio.Transport, since: int) -> None:
        """`since`: when the connection was accepted, by `clock`."""
        self._listener = listener
        self._transport = transport
        self._since = since
        self._head = bytearray()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, data: bytes) -> None:
        """Takes over, with what was read."""
        left = max(HANDSHAKE - (clock() - self._since) / 1e6, 0.0)
        self._timer = self._listener.loop.call_later(left, self._too_long)
        self._listener.upgrading[self] = None
        self.data_received(data)

    def data_received(self, data: bytes) -> None:
        """The header is given to the library once it is whole, so that it does not matter how it was cut."""
        searched = max(len(self._head) - len(_END) + 1, 0)
        self._head += data
        end = self._head.find(_END, searched, HEADER)
        if end >= 0:
            self._answer(bytes(self._head[: end + len(_END)]), bytes(self._head[end + len(_END) :]))
        elif len(self._head) >= HEADER:
            self._refuse(_too_large())

    def connection_lost(self, exc: Exception | None) -> None:
        if self in self._listener.upgrading:
            self._forget()
            self._listener.turned_away(self._remote, f"closed after {len(self._head)} bytes of a request")

    def stop(self) -> None:
        """The server stops."""
        self._refuse(Refused(HTTPStatus.SERVICE_UNAVAILABLE, "the server is stopping"))

    def _answer(self, head: bytes, rest: bytes) -> None:
        ws = ServerProtocol(subprotocols=[SUB_PROTOCOL], max_size=(None, FRAME), logger=SILENT)
        try:
            request = _parsed(ws, head)
            _check(request, self._listener.origins or ())
            response = ws.accept(request)
            if response.status_code != HTTPStatus.SWITCHING_PROTOCOLS:
                raise Refused(HTTPStatus.BAD_REQUEST, f"no WebSocket: {_line(ws.handshake_exc)}")
        except Refused as why:
            self._refuse(why)
            return
        self._forget()
        ws.send_response(response)
        for data in ws.data_to_send():
            self._transport.write(data)
        websocket = WebSocket(self._listener.loop, ws, self._transport)
        websocket.carry(self._listener.accept(self._since))
        if rest:
            websocket.data_received(rest)

    def _refuse(self, why: Refused) -> None:
        self._forget()
        self._listener.turned_away(self._remote, f"{why.status.value} to a request of HTTP: {why.text}")
        text = answer(why.status, why.text, *why.fields)
        if self._head.startswith(b"HEAD "):
            text = text[: text.index(_END) + len(_END)]
        answering = Answering(self._listener.loop, text)
        self._transport.set_protocol(answering)
        answering.begin(self._transport)

    def _too_long(self) -> None:
        self._forget()
        self._listener.turned_away(self._remote, f"no request in {HANDSHAKE:g} s")
        self._transport.abort()

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._listener.upgrading.pop(self, None)

    @property
    def _remote(self) -> str:
        return spelled(self._transport.get_extra_info("peername"))


def _too_large() -> Refused:
    return Refused(
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"the header is longer than {HEADER:,} bytes, or a line than 8 KiB"
    )


def _parsed(ws: ServerProtocol, head: bytes) -> Request:
    """The request that a whole header makes. Raises Refused."""
    method = head[: head.find(b" ") + 1]
    if method == b"PRI ":  # HTTP/2, or half a preface of it
        raise Refused(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, HTTP2_CLIENT)
    ws.receive_data(head)
    events = ws.events_received()
    fault = ws.handshake_exc
    if events and isinstance(events[0], Request):
        return events[0]
    if isinstance(fault, RequestLineTooLong):
        raise Refused(HTTPStatus.REQUEST_URI_TOO_LONG, "the request line is longer than 8 KiB")
    if isinstance(fault, HeaderLineTooLong | TooManyHeaders):
        raise _too_large()
    if method.strip().isalpha() and method != b"GET ":
        raise _wrong_method()  # the library reads no requests with a body
    raise Refused(HTTPStatus.BAD_REQUEST, f"the request is malformed: {_line(fault and fault.__cause__)}")


def _line(fault: BaseException | None) -> str:
    """What went wrong, printable: it may quote the peer."""
    return str(fault).encode("ascii", "backslashreplace").decode().translate({13: " ", 10: " "})[:200]


def _wrong_method() -> Refused:
    text = "over HTTP this port serves WebSockets only, with the sub-protocol trunk"
    return Refused(HTTPStatus.METHOD_NOT_ALLOWED, text, "Allow: GET")


def _check(request: Request, origins: Sequence[str]) -> None:
    """Checks whether a request may become a WebSocket, except what the library checks. Raises Refused."""
    if request.protocol != "HTTP/1.1":
        raise Refused(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, f"{request.protocol} is not served on this port")
    if request.method != "GET":
        raise _wrong_method()
    headers = request.headers
    try:
        host, origin, version = headers["Host"], headers.get("Origin"), headers.get("Sec-WebSocket-Version")
    except (KeyError, MultipleValuesError) as fault:
        raise Refused(HTTPStatus.BAD_REQUEST, "Host is missing, or a field that stands once is repeated") from fault
    if not _asks_for_websocket(headers):
        text = "this port serves Trunkcall: natively, or in a WebSocket with the sub-protocol trunk"
        raise Refused(HTTPStatus.UPGRADE_REQUIRED, text, "Upgrade: websocket")
    if version != "13":
        text = "WebSockets are served in version 13 only"
        raise Refused(HTTPStatus.UPGRADE_REQUIRED, text, "Upgrade: websocket", "Sec-WebSocket-Version: 13")
    if SUB_PROTOCOL not in _listed(headers, "Sec-WebSocket-Protocol"):
        raise Refused(HTTPStatus.BAD_REQUEST, f"WebSockets are served with the sub-protocol {SUB_PROTOCOL} only")
    if origin and not allows(origins, origin, host):
        raise Refused(HTTPStatus.FORBIDDEN, f"pages of {_printable(origin)} may open no WebSockets here")


def _asks_for_websocket(headers: Headers) -> bool:
    return "websocket" in (name.lower() for name in _listed(headers, "Upgrade"))


def _listed(headers: Headers, name: str) -> list[str]:
    """The members of a list in a field, which may stand several times; none if it is malformed."""
    parse = parse_upgrade if name == "Upgrade" else parse_subprotocol
    try:
        return [str(member) for value in headers.get_all(name) for member in parse(value)]
    except InvalidHeader:
        return []


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in text[:200])


def allows(origins: Sequence[str], origin: str, host: str) -> bool:
    """Whether a page of `origin` may open WebSockets at `host`: one of the same host and port, or one of `origins`, of
    which "*" is all."""
    if any(one in ("*", origin) or one.lower() == origin.lower() for one in origins):
        return True
    try:
        own = urlsplit(origin).netloc
    except ValueError:
        return False
    return own != "" and own.lower() == host.lower()
