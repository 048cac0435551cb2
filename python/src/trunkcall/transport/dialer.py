"""Opening connections: the addresses of a target, tried in turn (limits.md 3)."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Sequence

from .connection import Connection
from .target import Address

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
) -> Connection:
    """Connects to the first address that can be reached, with TLS its handshake included. Raises DialError."""
    until = time.monotonic() + DIAL_TIMEOUT
    faults: list[str] = []
    for address in addresses:
        left = until - time.monotonic()
        if left <= 0:
            faults.append(f"{address}: not tried, {DIAL_TIMEOUT:g} s are over")
            continue
        limit = left if len(addresses) == 1 else min(left, ADDRESS_TIMEOUT)
        try:
            async with asyncio.timeout(limit):
                return await _connect(loop, address, connection, tls, server_hostname)
        except TimeoutError as error:
            faults.append(f"{address}: {error or f'no answer in {limit:.1f} s'}")
        except (OSError, ssl.SSLError, ssl.CertificateError, UnicodeError) as error:
            faults.append(f"{address}: {_describe(error)}")
    raise DialError("; ".join(faults))


async def _connect(
    loop: asyncio.AbstractEventLoop,
    address: Address,
    connection: Callable[[], Connection],
    tls: ssl.SSLContext | None,
    server_hostname: str | None,
) -> Connection:
    name = (server_hostname or address.host or "localhost") if tls is not None else None
    if address.path:
        _, made = await loop.create_unix_connection(connection, address.path, ssl=tls, server_hostname=name)
    else:
        _, made = await loop.create_connection(connection, address.host, address.port, ssl=tls, server_hostname=name)
    return made


def _describe(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and not isinstance(error, ssl.SSLError):
        return error.strerror
    return str(error) or type(error).__name__
