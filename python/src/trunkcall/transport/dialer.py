"""Opening connections: the addresses of a target, tried in turn (limits.md 3)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace

from .connection import Connection
from .target import Address
from .tls import HTTP1, usual_tls

DIAL_TIMEOUT = 10.0  # seconds, in all
ADDRESS_TIMEOUT = 3.0  # seconds, for each of several


class DialError(OSError):
    """No address could be reached. The text names each and what was wrong with it."""


async def dial(
    loop: asyncio.AbstractEventLoop,
    addresses: Sequence[Address],
    connection: Callable[[], Connection],
    tls: ssl.SSLContext | None = None,
    server_hostname: str | None = None,
) -> tuple[Connection, Address]:
    """Connects to the first address that can be reached, with the handshakes of TLS and of a WebSocket if it is to have
    them, and says which it was. A name stands for all addresses that it has. Of several, those that refuse are tried
    once more when the others have failed. Raises DialError."""
    until = time.monotonic() + DIAL_TIMEOUT
    faults: dict[str, str] = {}
    refused: list[tuple[Address, Address, str]] = []

    async def attempt(place: Address, address: Address, where: str, alone: bool) -> Connection | None:
        secure = tls is not None or address.url.startswith("wss:")
        name = (server_hostname or address.host or "localhost") if secure else None
        left = until - time.monotonic()
        try:
            async with _limit(left if alone else min(left, ADDRESS_TIMEOUT)):
                return await _connect(loop, place, connection, tls, name)
        except _FAILURES as error:
            faults[where] = _describe(error, secure)
            if isinstance(error, ConnectionRefusedError | FileNotFoundError):
                refused.append((place, address, where))
            return None

    for address in addresses:
        try:
            found = await _resolve(loop, address, until)
        except _FAILURES as error:
            faults[str(address)] = _describe(error, False)
            continue
        for place in found:
            where = str(address) if len(found) == 1 else f"{address} ({place.host})"
            made = await attempt(place, address, where, len(addresses) == len(found) == 1)
            if made is not None:
                return made, address
    # Servers are restarted in turn: one that was down may be back by the time that another is.
    last = next(reversed(faults), None)
    for place, address, where in [one for one in refused if one[2] != last]:
        made = await attempt(place, address, where, False)
        if made is not None:
            return made, address
    raise DialError("; ".join(f"{where}: {fault}" for where, fault in faults.items()))


_FAILURES = (OSError, ssl.SSLError, ssl.CertificateError, UnicodeError)


@contextlib.asynccontextmanager
async def _limit(seconds: float) -> AsyncGenerator[None]:
    if seconds <= 0:
        raise TimeoutError(f"not tried, {DIAL_TIMEOUT:g} s are over")
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise TimeoutError(str(error) or f"no answer in {seconds:.1f} s") from error


async def _resolve(loop: asyncio.AbstractEventLoop, address: Address, until: float) -> list[Address]:
    """The places that an address stands for. Raises OSError."""
    if address.path:
        return [address]
    async with _limit(until - time.monotonic()):
        found = await loop.getaddrinfo(address.host or None, address.port, type=socket.SOCK_STREAM)
    hosts = dict.fromkeys(str(name[0]) for *_, name in found)
    return [replace(address, host=host) for host in hosts]


async def _connect(
    loop: asyncio.AbstractEventLoop,
    place: Address,
    connection: Callable[[], Connection],
    tls: ssl.SSLContext | None,
    name: str | None,
) -> Connection:
    if place.url:
        return await _open_websocket(loop, place, connection, tls, name)
    if place.path:
        _, made = await loop.create_unix_connection(connection, place.path, ssl=tls, server_hostname=name)
    else:
        _, made = await loop.create_connection(connection, place.host, place.port, ssl=tls, server_hostname=name)
    return made


async def _open_websocket(
    loop: asyncio.AbstractEventLoop,
    place: Address,
    connection: Callable[[], Connection],
    tls: ssl.SSLContext | None,
    name: str | None,
) -> Connection:
    from .websocket import Asking  # nobody pays for the library who has no such target

    secure = None
    if place.url.startswith("wss:"):
        secure = HTTP1(tls or usual_tls())
    elif tls is not None:
        raise ConnectionError("ws:// is cleartext, and TLS is configured: use wss://")
    _, asking = await loop.create_connection(
        lambda: Asking(loop, place.url), place.host, place.port, ssl=secure, server_hostname=name
    )
    made = connection()
    await asking.opened(made)
    return made


def _describe(error: Exception, secure: bool) -> str:
    if secure and isinstance(error, ConnectionResetError) and not error.errno:
        return "closed during the TLS handshake: it may not speak TLS, or asks for a client's certificate"
    if isinstance(error, OSError) and error.errno and not isinstance(error, ssl.SSLError | socket.gaierror):
        return os.strerror(error.errno)
    if isinstance(error, socket.gaierror) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
