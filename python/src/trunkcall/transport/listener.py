"""Listening: what a connection is, by its first bytes (http.md 1; the first byte tells all that is served here).

Without TLS, and within it, an `Opening` takes the first byte and hands the connection over. On a port with TLS there is
a look at the first byte before, which is left where it is: the TLS layer begins a new transport, which has to find it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import ssl
import stat
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Protocol, cast

from trunkcall.wire import MAGIC, PREFACE_SIZE, not_served

from . import memory
from .answer import Answering, answer
from .connection import Connection, clock
from .opening import (
    HANDSHAKE,
    LOOKED_AT,
    NOTHING_SAID,
    SILENT,
    TLS_RECORD,
    WITHOUT_LIBRARY,
    Http,
    Opening,
    Recognizes,
    asks_for,
    begins_http,
    unknown,
)
from .target import Address, parse_address, spelled
from .tls import TLSSource

BACKLOG = 1_024
ACCEPT_PAUSE = 1.0  # seconds until accepting goes on when the process is out of descriptors
_CLEARTEXT = "cleartext is refused on this port: use TLS"
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

# Makes the protocol of a connection; its argument is the time at which it was accepted, by `clock`.
Accept = Callable[[int], Connection]
HandOver = Callable[[Recognizes, asyncio.StreamReader, asyncio.StreamWriter], None]
TurnedAway = Callable[[str, str], None]  # remote address, reason


class Stops(Protocol):
    """A connection that no server knows of yet."""

    def stop(self) -> None:
        """The listener is closed."""


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
            self._transport.write_eof()

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()


class Listener:
    """One address that is listened on. Used on its loop's thread only."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        accept: Accept,
        turned_away: TurnedAway,
        tls: TLSSource | None = None,
        allow_cleartext: bool = False,
        origins: Sequence[str] | None = None,
        protocols: Sequence[Recognizes] = (),
        hand_over: HandOver | None = None,
        pauses: Callable[[str], None] | None = None,
        http: Callable[[], Http | None] | None = None,
    ) -> None:
        """With `origins`, clients of HTTP may open WebSockets, and pages of these origins, besides the server's own.
        `pauses` is told for how long nothing is accepted, and why. `http` gives what serves HTTP else."""
        self.loop = loop
        self.accept = accept
        self.turned_away = turned_away
        self.origins = origins
        self.protocols = protocols  # of users; `_hand_over_to` takes their connections
        self._hand_over_to = hand_over
        self._pauses = pauses
        self.http = http
        self.opening: dict[Opening, None] = {}  # that have said nothing yet
        self.upgrading: dict[Stops, None] = {}  # whose first request is not whole
        self.closed = False
        self._tls = tls or None
        self._allow_cleartext = allow_cleartext
        self._sockets: list[socket.socket] = []
        self._waiting: dict[socket.socket, asyncio.TimerHandle] = {}  # accepted, silent so far
        self._tasks: set[asyncio.Task[None]] = set()  # TLS handshakes
        self._beginning: set[asyncio.Task[None]] = set()  # without TLS
        self._paused: list[asyncio.TimerHandle] = []
        self._path = ""  # of a Unix socket that was made here, and ends here
        self.address = Address()

    async def start(self, where: str | socket.socket) -> None:
        """Listens on HOST:PORT, port 0 for any free one, unix:PATH or mem:NAME, or goes on listening on a socket, which
        it takes from its object. Raises OSError, ValueError; what it had or took is closed then, but a socket that
        cannot be listened on stays its giver's."""
        try:
            await self._start(where)
        except BaseException:
            self.close()
            raise

    async def _start(self, where: str | socket.socket) -> None:
        if isinstance(where, str):
            address = parse_address(where)
            if address.name:
                memory.listen(address.name, self)
                self.address = address
                return
            self._sockets = await self._bind(address)
            self._path = address.path
            port = 0 if self._path else int(self._sockets[0].getsockname()[1])
            self.address = address if self._path else Address(address.host, port)
        else:
            self.address = _listening(where)
            self._sockets = [socket.socket(fileno=where.detach())]
        for bound in self._sockets:
            self.loop.add_reader(bound, self._accept_all, bound)

    def close(self) -> None:
        """Stops listening. An accepted connection whose protocol is not known yet counts as native, and is told that
        the server drains. A TLS handshake that is under way is given up."""
        self.closed = True
        if self.address.name:
            memory.stop_listening(self.address.name, self)
        for timer in self._paused:
            timer.cancel()
        for bound in self._sockets:
            self.loop.remove_reader(bound)
            bound.close()
        for silent in list(self._waiting):
            self._forget(silent)
            silent.close()
        for task in self._tasks:
            task.cancel()
        if self._path and self._sockets:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
        self._sockets = []
        for opening in list(self.opening):
            opening.speak_natively()
        for upgrading in list(self.upgrading):
            upgrading.stop()

    def hand_over(self, protocol: Recognizes, transport: asyncio.Transport, data: bytes) -> None:
        """Gives a connection to a user's protocol, with what was read of it."""
        reader = asyncio.StreamReader(loop=self.loop)
        below = asyncio.StreamReaderProtocol(reader, loop=self.loop)
        transport.set_protocol(below)
        below.connection_made(transport)
        writer = asyncio.StreamWriter(transport, below, reader, self.loop)
        below.data_received(data)
        if self._hand_over_to is not None:
            self._hand_over_to(protocol, reader, writer)

    def upgrade(self, transport: asyncio.Transport, data: bytes, since: int) -> None:
        """Makes a connection of HTTP/1.1 a WebSocket, if it asks for that; else its request gets an answer of one
        line."""
        try:
            from .upgrading import Upgrading  # nobody pays for the library who has no such client
        except ImportError:
            why = asks_for(data)
            self.turned_away(spelled(transport.get_extra_info("peername")), why)
            text = "this port serves Trunkcall, and no WebSockets: its log says why" if why is WITHOUT_LIBRARY else why
            answering = Answering(self.loop, answer(HTTPStatus.NOT_IMPLEMENTED, text))
            transport.set_protocol(answering)
            answering.begin(transport)
            return
        upgrading = Upgrading(self, transport, since)
        transport.set_protocol(upgrading)
        upgrading.begin(data)

    def opened(self) -> Opening:
        """The protocol of a connection that has come and said nothing."""
        return Opening(self, clock())

    # Binding.

    async def _bind(self, address: Address) -> list[socket.socket]:
        if address.path:
            return [_bind_path(address.path)]
        found = await self.loop.getaddrinfo(
            address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        bound: list[socket.socket] = []
        port = address.port
        try:
            for family, kind, protocol, _, name in dict.fromkeys(found):
                one = socket.socket(family, kind, protocol)
                bound.append(one)
                one.setblocking(False)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                one.bind((name[0], port, *name[2:]))
                one.listen(BACKLOG)
                port = int(one.getsockname()[1])  # port 0: the same for all
        except OSError:
            for one in bound:
                one.close()
            raise
        return bound

    # Accepting. The loop's own servers, when out of descriptors, would try BACKLOG times in a row and log each time.

    def _accept_all(self, bound: socket.socket) -> None:
        for _ in range(BACKLOG):
            try:
                accepted, _ = bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self._pause(bound, error)
                return
            accepted.setblocking(False)
            since = clock()
            if self._tls is None:
                task = self.loop.create_task(self._begin(accepted, since))
                self._beginning.add(task)
                task.add_done_callback(self._beginning.discard)
            else:
                self._waiting[accepted] = self.loop.call_later(HANDSHAKE, self._too_long, accepted)
                self.loop.add_reader(accepted, self._look, accepted, since)

    def _pause(self, bound: socket.socket, error: OSError) -> None:
        if self._pauses is not None:
            self._pauses(f"{ACCEPT_PAUSE:g} s: {error.strerror}")
        self.loop.remove_reader(bound)
        self._paused = [timer for timer in self._paused if timer.when() > self.loop.time()]
        self._paused.append(self.loop.call_later(ACCEPT_PAUSE, self.loop.add_reader, bound, self._accept_all, bound))

    async def _begin(self, accepted: socket.socket, since: int) -> None:
        """Begins the transport of a connection without TLS, also when the listener is closed meanwhile: the client is
        told then that the server drains."""
        remote = _remote(accepted)
        try:
            await self.loop.connect_accepted_socket(lambda: Opening(self, since), accepted)
        except OSError as error:
            self.turned_away(remote, f"accepting failed: {error}")
            accepted.close()

    # With TLS.

    def _too_long(self, accepted: socket.socket) -> None:
        self._refuse(accepted, SILENT)

    def _refuse(self, accepted: socket.socket, why: str) -> None:
        self._forget(accepted)
        self.turned_away(_remote(accepted), why)
        accepted.close()

    def _forget(self, accepted: socket.socket) -> None:
        self._waiting.pop(accepted).cancel()
        self.loop.remove_reader(accepted)

    def _look(self, accepted: socket.socket, since: int) -> None:
        try:
            first = accepted.recv(LOOKED_AT, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # reset
            first = b""
        if not first:
            self._refuse(accepted, NOTHING_SAID)
        elif (
            not self.protocols
            and first[0] not in (TLS_RECORD, MAGIC[0])
            and not (begins_http(first[0]) and self.origins is not None)
        ):
            self._refuse(accepted, unknown(first))
        else:
            self._forget(accepted)
            task = self.loop.create_task(self._hand_over(accepted, since, first[0]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _is_http(self, byte: int) -> bool:
        return begins_http(byte) and self.origins is not None

    async def _hand_over(self, accepted: socket.socket, since: int, first: int) -> None:
        """Begins the transport of a connection whose first byte is known."""
        remote = _remote(accepted)
        left = HANDSHAKE - (clock() - since) / 1e6
        try:
            if first == TLS_RECORD and self._tls is not None:
                await self.loop.connect_accepted_socket(
                    lambda: Opening(self, since),
                    accepted,
                    ssl=self._tls.context(),
                    ssl_handshake_timeout=max(left, 0.1),
                )
            elif self._allow_cleartext:
                await self.loop.connect_accepted_socket(lambda: Opening(self, since), accepted)
            else:
                self.turned_away(remote, _CLEARTEXT)
                await self.loop.connect_accepted_socket(lambda: self._declining(first), accepted)
        except (OSError, ssl.SSLError, ssl.CertificateError) as error:
            self.turned_away(remote, f"the TLS handshake failed: {str(error) or type(error).__name__}")
            accepted.close()
        except asyncio.CancelledError:
            accepted.close()

    def _declining(self, first: int) -> asyncio.Protocol:
        if begins_http(first):
            http = self.http() if self.http is not None else None
            if http is not None:
                return http.declining(_CLEARTEXT)
            return Answering(self.loop, answer(HTTPStatus.BAD_REQUEST, _CLEARTEXT))
        return Declining(self.loop, _CLEARTEXT)


def _listening(given: socket.socket) -> Address:
    """The address of a socket that a user hands over. Raises ValueError for one that does not listen or is closed,
    TypeError for what is no socket."""
    if not isinstance(given, socket.socket):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"an address is HOST:PORT, unix:PATH or a socket that listens, not a {type(given).__name__}")
    if given.fileno() == -1:
        raise ValueError("the socket is closed, or was handed over before")
    streams = given.type == socket.SOCK_STREAM and given.family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX)
    if not streams or not given.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        raise ValueError(f"{given!r} is no TCP or Unix socket that listens")
    given.setblocking(False)
    name = given.getsockname()
    if given.family == socket.AF_UNIX:
        return Address(path=name.decode("utf-8", "replace") if isinstance(name, bytes) else name)
    return Address(str(name[0]), int(name[1]))


def _bind_path(path: str) -> socket.socket:
    """A Unix socket at `path`; the file of a listener that is gone is replaced."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    bound.setblocking(False)
    try:
        if _is_abandoned(path):
            os.unlink(path)
        bound.bind(path)
        bound.listen(BACKLOG)
    except OSError:
        bound.close()
        raise
    return bound


def _is_abandoned(path: str) -> bool:
    """Whether nobody listens on the socket that is there. A file of another kind refuses connections too."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            if not stat.S_ISSOCK(os.lstat(path).st_mode):
                return False
            probe.connect(path)
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
    return False


def _remote(accepted: socket.socket) -> str:
    try:
        return spelled(accepted.getpeername())
    except OSError:
        return ""
