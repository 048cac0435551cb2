"""Opening connections: the addresses of an endpoint, raced as RFC 8305 says (client.md 9.3 to 9.5)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any, TypeVar

from . import memory
from .connection import Connection
from .monotonic import clock
from .target import Address
from .tls import ALPN, HTTP1, usual_tls

DIAL_TIMEOUT = 10.0  # seconds, in all
ADDRESS_TIMEOUT = 3.0  # seconds, for each of several
STAGGER = 0.25  # seconds from the try of one address to that of the next

T = TypeVar("T")

# Opens the byte stream to HOST:PORT, unix:PATH or mem:NAME in place of the system: returns a connected socket.
OpenSocket = Callable[[str], Awaitable[socket.socket]]


class DialError(OSError):
    """No address could be reached. The text names each and what was wrong with it."""


class TurnedAway(ConnectionError):
    """A server took the connection and ended it, or takes no calls."""


@dataclass(slots=True)
class Dialing:
    """How the addresses of one endpoint are dialled."""

    addresses: Sequence[Address]
    make: Callable[[], Connection]
    tls: ssl.SSLContext | None = None
    server_name: str = ""  # that its certificate must show, by default the address's host
    open_socket: OpenSocket | None = None
    # Waits until the server has greeted. Raises TurnedAway. Of one address None has the connection used before.
    greeting: Callable[[Connection], Awaitable[None]] | None = None
    alone: bool = True  # there is no other endpoint to try


async def dial(loop: asyncio.AbstractEventLoop, dialing: Dialing) -> Connection:
    """Connects to the address that can be reached first, with the handshakes of TLS and of a WebSocket if it is to have
    them. A name stands for all addresses that it has, unless the user opens sockets. Raises DialError."""
    race = _Race(loop, dialing)
    try:
        async with asyncio.timeout(DIAL_TIMEOUT):
            await race.look_up()
            made = await race.run(race.places)
            if made is None:
                made = await race.run(race.restarting)
    except TimeoutError:
        for one in race.places or dialing.addresses:
            race.faults.setdefault(str(one), race.unheard.get(str(one)) or f"no answer in {DIAL_TIMEOUT:.1f} s")
        made = None
    if made is None:
        raise DialError("; ".join(f"{where}: {fault}" for where, fault in race.faults.items()))
    return made


class _Race:
    """The attempts at the addresses of one endpoint."""

    def __init__(self, loop: asyncio.AbstractEventLoop, dialing: Dialing) -> None:
        self.loop = loop
        self.dialing = dialing
        self.places: list[_Place] = []
        self.faults: dict[str, str] = {}
        self._refused: set[_Place] = set()
        self.unheard: dict[str, str] = {}  # of places whose connection was given up before it greeted

    @property
    def restarting(self) -> list[_Place]:
        """The addresses, except the last, that refused or turned the client away. Servers restart in turn, and one that
        was down may be back by the time that the next one stops."""
        return [one for one in self.places[:-1] if one in self._refused]

    async def look_up(self) -> None:
        """Finds the places that the addresses stand for, all at once."""
        addresses = self.dialing.addresses
        if self.dialing.open_socket is not None:
            found: list[list[_Place]] = [[_Place(one, str(one))] for one in addresses]
        elif len(addresses) == 1:
            found = [await self._resolved(addresses[0])]
        else:
            found = await asyncio.gather(*(self._resolved(one) for one in addresses))
        once: dict[Address, _Place] = {}
        for place in chain.from_iterable(found):
            once.setdefault(place.address, place)
        self.places = interleaved(once.values())

    async def _resolved(self, address: Address) -> list[_Place]:
        if address.path or address.name:
            return [_Place(address, str(address))]
        try:
            found = await self.loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        except _FAILURES as error:
            self.faults[str(address)] = described(error)
            return []
        hosts = dict.fromkeys(str(name[0]) for *_, name in found)
        if len(hosts) == 1:
            return [_Place(replace(address, host=host), str(address), address.host) for host in hosts]
        return [_Place(replace(address, host=host), f"{address} ({host})", address.host) for host in hosts]

    async def run(self, places: Sequence[_Place]) -> Connection | None:
        """Tries places, the next one when the one before has failed or takes its time; the first that is connected wins
        and the others are closed. None: all have failed."""
        if len(places) == 1:
            return await self._attempt(places[0])
        waiting = deque(places)
        running: list[asyncio.Task[Connection | None]] = []
        won: Connection | None = None
        try:
            while waiting or any(not task.done() for task in running):
                if waiting:
                    running.append(self.loop.create_task(self._attempt(waiting.popleft())))
                won = await self._first(running, bool(waiting))
                if won is not None:
                    return won
            return None
        finally:
            for task in running:
                task.cancel()
            for made in await asyncio.gather(*running, return_exceptions=True):
                if isinstance(made, Connection) and made is not won:
                    made.abort("another address was quicker")

    async def _first(self, running: Sequence[asyncio.Task[Connection | None]], more: bool) -> Connection | None:
        """The first that is connected; None when it is time for the next one, or all have failed."""
        until = self.loop.time() + STAGGER if more else None
        while True:
            for task in running:
                if task.done() and (made := task.result()) is not None:
                    return made
            pending = [task for task in running if not task.done()]
            left = None if until is None else until - self.loop.time()
            if not pending or (left is not None and (left <= 0 or running[-1].done())):
                return None
            await asyncio.wait(pending, timeout=left, return_when=asyncio.FIRST_COMPLETED)

    async def _attempt(self, place: _Place) -> Connection | None:
        alone = self.dialing.alone and len(self.places) == 1
        secure = self.dialing.tls is not None or place.address.url.startswith("wss:")
        try:
            return await limited(self._connected(place, secure), DIAL_TIMEOUT if alone else ADDRESS_TIMEOUT)
        except _FAILURES as error:
            unheard = self.unheard.get(place.where) if isinstance(error, TimeoutError) else None
            self.faults[place.where] = unheard or described(error, secure)
            if isinstance(error, ConnectionRefusedError | ConnectionResetError | FileNotFoundError | TurnedAway):
                self._refused.add(place)
            return None

    async def _connected(self, place: _Place, secure: bool) -> Connection:
        made: Connection | None = None
        try:
            made = await self._opened(place, secure)
            if self.dialing.greeting is not None:
                await self.dialing.greeting(made)
            return made
        except BaseException:
            if made is not None:
                self.unheard[place.where] = made.why or made.session.lifecycle.unheard(clock())
                made.abort("it was given up")
            raise

    async def _opened(self, place: _Place, secure: bool) -> Connection:
        address, dialing = place.address, self.dialing
        name = (dialing.server_name or place.name or address.host or "localhost") if secure else None
        to: dict[str, Any] = {"server_hostname": name}
        if dialing.open_socket is not None:
            to["sock"] = await opened_by_user(dialing.open_socket, str(replace(address, url="")))
        elif address.name:
            return await memory.connect(self.loop, address.name, dialing.make)
        elif not address.path:
            to.update(host=address.host, port=address.port)
        if address.url:
            return await self._websocket(address, to)
        if address.path and "sock" not in to:
            _, made = await self.loop.create_unix_connection(dialing.make, address.path, ssl=dialing.tls, **to)
        else:
            _, made = await self.loop.create_connection(dialing.make, ssl=dialing.tls, **to)
        return made

    async def _websocket(self, address: Address, to: dict[str, Any]) -> Connection:
        try:
            from .websocket import Asking  # nobody pays for the library who has no such target
        except ImportError as missing:  # of an address that somebody else has named, beside others
            raise ConnectionError(str(missing)) from None

        tls, secure = self.dialing.tls, None
        if address.url.startswith("wss:"):
            secure = HTTP1(tls or usual_tls())
        elif tls is not None:
            raise ConnectionError("ws:// is cleartext, and TLS is configured: use wss://")
        _, asking = await self.loop.create_connection(lambda: Asking(self.loop, address.url), ssl=secure, **to)
        made = self.dialing.make()
        await asking.opened(made)
        return made


@dataclass(frozen=True, slots=True)
class _Place:
    """Where one attempt goes."""

    address: Address
    where: str  # for people
    name: str = ""  # the host that was looked up

    def __str__(self) -> str:
        return self.where


NOT_OFFERED = (
    f"TLS: the server does not offer the protocol {ALPN}: it is none of Trunkcall, or there is a proxy before it; "
    "through one that passes on WebSockets, dial wss://HOST:PORT/PATH"
)
_UNKNOWN_AUTHORITY = (18, 19, 20, 21)  # codes of OpenSSL's: self-signed, or its issuer is not known
_FAILURES = (OSError, ssl.SSLError, ssl.CertificateError, ValueError)  # UnicodeError is a ValueError


def interleaved(places: Iterable[_Place]) -> list[_Place]:
    """The first stays first; then addresses of IPv6 and others take turns."""
    found = list(places)
    six = [one for one in found if ":" in one.address.host]
    others = [one for one in found if ":" not in one.address.host]
    kinds = (six, others) if found and found[0] in six else (others, six)
    return [one for pair in zip_longest(*kinds) for one in pair if one is not None]


async def limited(work: Awaitable[T], seconds: float) -> T:
    """Raises TimeoutError with a text."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError as error:
        raise TimeoutError(str(error) or f"no answer in {seconds:.1f} s") from error


async def opened_by_user(open_socket: OpenSocket, address: str) -> socket.socket:
    """The socket that a user's dialer opens. One that is not waited for any more is closed when it comes. Raises
    OSError."""

    async def work() -> socket.socket:
        opened = await open_socket(address)
        if not isinstance(opened, socket.socket):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConnectionError(f"the dialer returned {opened!r}, not a connected socket")
        opened.setblocking(False)
        return opened

    task = asyncio.ensure_future(work())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():
            raise ConnectionError("the dialer was cancelled") from None
        task.cancel()
        task.add_done_callback(_close_result)
        raise
    except _FAILURES:
        raise
    except Exception as error:
        raise ConnectionError(f"the dialer failed: {error!r}") from error


def _close_result(task: asyncio.Task[socket.socket]) -> None:
    if not task.cancelled() and task.exception() is None:
        with contextlib.suppress(OSError):
            task.result().close()


def described(error: Exception, secure: bool = False) -> str:
    """What was wrong with a socket, for people; `secure`: it speaks TLS."""
    if secure and isinstance(error, ConnectionResetError) and not error.errno:
        return "closed during the TLS handshake: it may not speak TLS, or asks for a client's certificate"
    if isinstance(error, ssl.SSLError) and "no application protocol" in str(error).lower().replace("_", " "):
        return NOT_OFFERED
    if isinstance(error, ssl.SSLCertVerificationError) and error.verify_code in _UNKNOWN_AUTHORITY:
        advice = "its certificate is of an authority that is not trusted here: give it, tls_files(ca=…)"
        return f"{advice} ({error})"
    if isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
        return "the server does not speak TLS on this port"
    if isinstance(error, OSError) and error.errno and not isinstance(error, ssl.SSLError | socket.gaierror):
        return os.strerror(error.errno)
    if isinstance(error, socket.gaierror) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
