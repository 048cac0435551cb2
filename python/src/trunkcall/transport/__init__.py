"""Transport: wire sessions on sockets, with asyncio. Read first connection.py, then `Listener` and `dial`."""

from __future__ import annotations

from .connection import Connection, ConnectionEvents, clock
from .dialer import DialError, dial
from .listener import Listener
from .opening import NOTHING_SAID, WITHOUT_LIBRARY
from .target import Address, parse_address, parse_target
from .tls import ALPN_HTTP1, client_tls, prepared, server_tls

__all__ = [
    "ALPN_HTTP1",
    "NOTHING_SAID",
    "WITHOUT_LIBRARY",
    "Address",
    "Connection",
    "ConnectionEvents",
    "DialError",
    "Listener",
    "client_tls",
    "clock",
    "dial",
    "parse_address",
    "parse_target",
    "prepared",
    "server_tls",
]
