"""Servers are published in a registry, where a client finds them: they come and go, and calls go on."""

from __future__ import annotations

import asyncio
import sys
import tempfile

import trunkcall
from trunkcall import registry

WHO = trunkcall.unary("/example.Names/Who", bytes, bytes)


async def serve(store: registry.Store, name: bytes) -> trunkcall.Server:
    async def who(request: bytes, call: trunkcall.ServerCall) -> bytes:
        return name

    server = trunkcall.Server(registrar=registry.Registrar(store, zone="here", version="1.4.2"))
    server.register(WHO.handler(who))
    await server.listen("127.0.0.1:0")
    return server


async def main(name: str) -> None:
    """Has two servers in turn, of which a client knows nothing but the name of their service."""
    store = registry.open_store(name)
    resolvers = {"registry": registry.resolver(store)}
    async with trunkcall.Client("registry:example.Names", resolvers=resolvers, codec=trunkcall.RAW) as client:
        before = None
        for who in (b"first", b"second"):
            server = await serve(store, who)
            while await client.call(WHO, b"", wait_for_ready=True) != who:
                pass
            print("answered by", who.decode())
            if before is not None:
                await before.stop()  # it is withdrawn, then drained
            before = server
        if before is not None:
            await before.stop()


if len(sys.argv) > 1:
    asyncio.run(main(sys.argv[1]))
else:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(f"file:{folder}"))
