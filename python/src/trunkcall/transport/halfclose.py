"""The end of what is sent, on connections that stay open for what comes."""

from __future__ import annotations

import asyncio


def half_close(transport: asyncio.WriteTransport) -> None:
    """Says that nothing more comes. Where the peer has reset the connection meanwhile the system refuses that, and the
    connection is aborted."""
    try:
        transport.write_eof()
    except OSError:
        transport.abort()
