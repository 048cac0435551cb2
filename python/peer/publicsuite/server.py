"""connect-server: starts a server as it is asked to on stdin, says on stdout where it is, and ends on a signal."""

from __future__ import annotations

import asyncio
import signal
import ssl
import sys
import tempfile
from pathlib import Path
from typing import Any

import trunkcall

from .schema import Schema, write
from .service import Service


async def serve(schema: Schema) -> None:
    wanted = schema.read(sys.stdin.buffer, "ServerCompatRequest")
    limits = trunkcall.Limits()
    if wanted.message_receive_limit:
        limits = trunkcall.Limits(message_bytes=wanted.message_receive_limit)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with trunkcall.Server(tls=tls(wanted), limits=limits) as server:
        server.register(*Service(schema).handlers())
        host, _, port = (await server.listen("127.0.0.1:0")).rpartition(":")
        told = schema.type("ServerCompatResponse")(host=host, port=int(port))
        if wanted.use_tls:
            told.pem_cert = wanted.server_creds.cert
        write(sys.stdout.buffer, told)
        await ended.wait()


def tls(wanted: Any) -> ssl.SSLContext | None:
    if not wanted.use_tls:
        return None
    with tempfile.TemporaryDirectory() as folder:
        cert, key, trusted = (Path(folder) / name for name in ("cert", "key", "trusted"))
        cert.write_bytes(wanted.server_creds.cert)
        key.write_bytes(wanted.server_creds.key)
        trusted.write_bytes(wanted.client_tls_cert)
        return trunkcall.server_tls(str(cert), str(key), client_ca=str(trusted) if wanted.client_tls_cert else None)
