"""Transport: wire sessions on sockets, with asyncio. Read first connection.py, then `Listener` and `dial`."""

from __future__ import annotations

from .connection import Connection, ConnectionEvents, clock
from .dialer import DialError, Dialing, OpenSocket, TurnedAway, dial
from .listener import Listener
from .opening import NOTHING_SAID, SILENT
from .target import Address, parse_address, parse_place
from .tls import ALPN_HTTP1, FilePath, TLSFiles, TLSSource, client_tls, for_clients, for_servers, server_tls, tls_files

__all__ = [
    "ALPN_HTTP1",
    "NOTHING_SAID",
    "SILENT",
    "Address",
    "Connection",
    "ConnectionEvents",
    "DialError",
    "Dialing",
    "FilePath",
    "Listener",
    "OpenSocket",
    "TLSFiles",
    "TLSSource",
    "TurnedAway",
    "client_tls",
    "clock",
    "dial",
    "for_clients",
    "for_servers",
    "parse_address",
    "parse_place",
    "server_tls",
    "tls_files",
]
