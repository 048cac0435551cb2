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
from collections.abc import Callable, Coroutine, Sequence
from http import HTTPStatus
from typing import Any, Protocol

from trunkcall.wire import MAGIC

from . import memory
from .accepted import Accepted, ConnectionLimits
from .answer import Answering, answer
from .binding import BACKLOG, PASSIVE, address_of, bind_found, bind_path
from .connection import Connection
from .declining import Declining, TurningAway, declining
from .monotonic import clock
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
from .proxied import ProxyHeader
from .target import Address, parse_address, spelled
from .tls import TLSSource

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
        limits: ConnectionLimits | None = None,
        proxied: bool = False,
    ) -> None:
        """With `origins`, clients of HTTP may open WebSockets, and pages of these origins, besides the server's own.
        `pauses` is told for how long nothing is accepted, and why. `http` gives what serves HTTP else. `proxied`:
        connections of TCP begin with a header of the PROXY protocol."""
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
        self._limits = limits or ConnectionLimits()
        self._proxied = proxied
        self._waiting: dict[Accepted, asyncio.TimerHandle] = {}  # accepted, silent so far
        self._tasks: set[asyncio.Task[None]] = set()  # TLS handshakes
        self._beginning: set[asyncio.Task[None]] = set()  # without TLS
        self._paused: list[asyncio.TimerHandle] = []
        self._path = ""  # of a Unix socket that was made here, and ends here
        self.address = Address()

    async def start(self, where: str | socket.socket, reuse_port: bool = False) -> None:
        """Listens on HOST:PORT, port 0 for any free one, unix:PATH or mem:NAME, or goes on listening on a socket, which
        it takes from its object. With `reuse_port` others may listen on HOST:PORT too. Raises OSError, ValueError; what
        it had or took is closed then, but a socket that cannot be listened on stays its giver's."""
        try:
            await self._start(where, reuse_port)
        except BaseException:
            self.close()
            raise

    async def _start(self, where: str | socket.socket, reuse_port: bool) -> None:
        if isinstance(where, str):
            address = parse_address(where)
            if reuse_port and (address.path or address.name):
                raise ValueError(f"option reuse_port: True was given for {where}, and is for HOST:PORT")
            if reuse_port and not hasattr(socket, "SO_REUSEPORT"):
                raise ValueError("option reuse_port: True was given, and this system has no SO_REUSEPORT")
            if address.name:
                memory.listen(address.name, self)
                self.address = address
                return
            self._sockets = await self._bind(address, reuse_port)
            self._path = address.path
            port = 0 if self._path else int(self._sockets[0].getsockname()[1])
            self.address = address if self._path else Address(address.host, port)
        else:
            if reuse_port:
                raise ValueError("option reuse_port: True was given for a socket that listens already")
            self.address = address_of(where)
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

    async def _bind(self, address: Address, reuse_port: bool) -> list[socket.socket]:
        if address.path:
            return [bind_path(address.path)]
        found = await self.loop.getaddrinfo(address.host or None, address.port, **PASSIVE)
        return bind_found(found, address.port, reuse_port)

    # Accepting. The loop's own servers, when out of descriptors, would try BACKLOG times in a row and log each time.

    def _accept_all(self, bound: socket.socket) -> None:
        for _ in range(BACKLOG):
            try:
                taken, name = bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self._pause(bound, error)
                return
            accepted, since = Accepted(taken), clock()
            header = ProxyHeader() if self._proxied and accepted.family != socket.AF_UNIX else None
            if why := self._limits.enter(accepted, None if header else name):
                self._turn_away(accepted, why, header)
            elif header is not None:
                self._wait(accepted, since, self._read_header, header)
            else:
                self._serve(accepted, since)

    def _serve(self, accepted: Accepted, since: int) -> None:
        if self._tls is not None:
            self._wait(accepted, since, self._look)
        else:
            self._soon(self._begin(accepted, lambda: Opening(self, since, accepted.said)))

    def _soon(self, beginning: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(beginning)
        self._beginning.add(task)
        task.add_done_callback(self._beginning.discard)

    def _turn_away(self, accepted: Accepted, why: str, header: ProxyHeader | None = None) -> None:
        """For a connection of which there are too many. `header`: that of a proxy, which is still to come."""
        self.turned_away(accepted.remote, why)
        if self._limits.tells(accepted):
            self._soon(self._begin(accepted, lambda: TurningAway(self, why, header)))
        else:
            accepted.close()

    def _pause(self, bound: socket.socket, error: OSError) -> None:
        if self._pauses is not None:
            self._pauses(f"{ACCEPT_PAUSE:g} s: {error.strerror}")
        self.loop.remove_reader(bound)
        self._paused = [timer for timer in self._paused if timer.when() > self.loop.time()]
        self._paused.append(self.loop.call_later(ACCEPT_PAUSE, self.loop.add_reader, bound, self._accept_all, bound))

    async def _begin(self, accepted: Accepted, protocol: Callable[[], asyncio.Protocol]) -> None:
        """Begins the transport of a connection without TLS, also when the listener is closed meanwhile: the client is
        told then that the server drains."""
        remote = accepted.remote
        try:
            await self.loop.connect_accepted_socket(protocol, accepted)
        except OSError as error:
            self.turned_away(remote, f"accepting failed: {error}")
            accepted.close()

    # Ahead of a transport: behind a proxy, and with TLS.

    def _wait(self, accepted: Accepted, since: int, look: Callable[..., None], *args: Any) -> None:
        """Looks at a connection when there is something of it, for as long as the handshake has."""
        left = max(HANDSHAKE - (clock() - since) / 1e6, 0.0)
        self._waiting[accepted] = self.loop.call_later(left, self._refuse, accepted, SILENT)
        self.loop.add_reader(accepted, look, accepted, since, *args)

    def _refuse(self, accepted: Accepted, why: str) -> None:
        self._forget(accepted)
        self.turned_away(accepted.remote, why)
        accepted.close()

    def _forget(self, accepted: Accepted) -> None:
        self._waiting.pop(accepted).cancel()
        self.loop.remove_reader(accepted)

    def _read_header(self, accepted: Accepted, since: int, header: ProxyHeader) -> None:
        """Reads what a proxy says, and nothing beyond."""
        try:
            while header.wants:
                read = accepted.recv(header.wants)
                if not read:
                    raise ConnectionError
                header.take(read)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._refuse(accepted, "PROXY protocol: closed within the header" if header.begun else NOTHING_SAID)
            return
        except ValueError as error:
            self._refuse(accepted, str(error))
            return
        self._forget(accepted)
        accepted.said = header.said
        try:
            name = accepted.getpeername() if header.said is None else header.said[0]
        except OSError:  # it is gone, which its transport will notice
            name = None
        if why := self._limits.name(accepted, name):
            self._turn_away(accepted, why)
        else:
            self._serve(accepted, since)

    def _look(self, accepted: Accepted, since: int) -> None:
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

            def over(task: asyncio.Task[None]) -> None:
                self._tasks.discard(task)
                if task.cancelled():  # before it ran for the first time
                    accepted.close()

            task.add_done_callback(over)

    def _is_http(self, byte: int) -> bool:
        return begins_http(byte) and self.origins is not None

    async def _hand_over(self, accepted: Accepted, since: int, first: int) -> None:
        """Begins the transport of a connection whose first byte is known."""
        remote = accepted.remote
        left = HANDSHAKE - (clock() - since) / 1e6
        try:
            if first == TLS_RECORD and self._tls is not None:
                await self.loop.connect_accepted_socket(
                    lambda: Opening(self, since, accepted.said),
                    accepted,
                    ssl=self._tls.context(),
                    ssl_handshake_timeout=max(left, 0.1),
                )
            elif self._allow_cleartext:
                await self.loop.connect_accepted_socket(lambda: Opening(self, since, accepted.said), accepted)
            else:
                self.turned_away(remote, _CLEARTEXT)
                tells = declining(self, first, _CLEARTEXT) or Declining(self.loop, _CLEARTEXT)
                await self.loop.connect_accepted_socket(lambda: tells, accepted)
        except (OSError, ssl.SSLError, ssl.CertificateError) as error:
            self.turned_away(remote, f"the TLS handshake failed: {str(error) or type(error).__name__}")
            accepted.close()
        except asyncio.CancelledError:
            accepted.close()
