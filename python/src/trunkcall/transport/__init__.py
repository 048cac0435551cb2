"""Transport: wire sessions on sockets, with asyncio. Read first connection.py, then `Listener` and `dial`."""

from __future__ import annotations

from .accepted import PER_ADDRESS, ConnectionLimits
from .connection import Connection, ConnectionEvents, clock
from .dialer import DialError, Dialing, OpenSocket, TurnedAway, dial
from .figures import Figures
from .listener import Listener
from .opening import NOTHING_SAID, PREFACE_HTTP2, SILENT
from .target import Address, parse_address, parse_place
from .tls import (
    ALPN_HTTP1,
    ALPN_HTTP2,
    FilePath,
    TLSFiles,
    TLSSource,
    client_tls,
    for_clients,
    for_servers,
    server_tls,
    tls_files,
)

__all__ = [
    "ALPN_HTTP1",
    "ALPN_HTTP2",
    "NOTHING_SAID",
    "PER_ADDRESS",
    "PREFACE_HTTP2",
    "SILENT",
    "Address",
    "Connection",
    "ConnectionEvents",
    "ConnectionLimits",
    "DialError",
    "Dialing",
    "Figures",
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
