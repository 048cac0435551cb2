"""Transport: wire sessions on sockets, with asyncio. Read first connection.py, then `Listener` and `dial`."""

from __future__ import annotations

from . import monotonic
from .accepted import PER_ADDRESS, ConnectionLimits
from .binding import PASSIVE, address_of, bind_found, bind_path
from .connection import Connection, ConnectionEvents
from .dialer import DialError, Dialing, OpenSocket, TurnedAway, described, dial
from .figures import Figures
from .listener import Listener
from .monotonic import clock
from .opening import NOTHING_SAID, PREFACE_HTTP2, SILENT
from .target import Address, check_library, parse_address, parse_place
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
    "PASSIVE",
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
    "address_of",
    "bind_found",
    "bind_path",
    "check_library",
    "client_tls",
    "clock",
    "described",
    "dial",
    "for_clients",
    "for_servers",
    "monotonic",
    "parse_address",
    "parse_place",
    "server_tls",
    "tls_files",
]
