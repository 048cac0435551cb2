"""A registry of one's own: servers announce themselves, and a client calls those that are there."""

from __future__ import annotations

import asyncio
from collections import Counter

import trunkcall

WHO = trunkcall.unary("/example.Names/Who", bytes, bytes)


class Registry:
    """Who serves what. In place of this, ask the registry that you have: it is a function that tells of each change."""

    def __init__(self) -> None:
        self._services: dict[str, list[str]] = {}
        self._changed = asyncio.Condition()

    async def announce(self, service: str, *addresses: str) -> None:
        async with self._changed:
            self._services[service] = list(addresses)
            self._changed.notify_all()

    async def resolve(self, watch: trunkcall.Watch) -> None:
        """Called for targets "registry:SERVICE". What it raises is logged, and it is called again."""
        while True:
            async with self._changed:
                addresses = self._services.get(watch.target, [])
                if addresses:
                    watch.set([trunkcall.Endpoint(address) for address in addresses])
                await self._changed.wait()


async def serve(name: bytes) -> tuple[trunkcall.Server, str]:
    async def who(request: bytes, call: trunkcall.ServerCall) -> bytes:
        return name

    server = trunkcall.Server()
    server.register(WHO.handler(who))
    return server, await server.listen("127.0.0.1:0")


async def main() -> None:
    registry = Registry()
    (first, a), (second, b) = await serve(b"first"), await serve(b"second")
    target = trunkcall.Client("registry:names", resolvers={"registry": registry.resolve}, codec=trunkcall.RAW)
    async with target as client:
        for addresses in ([a], [a, b], [b]):
            await registry.announce("names", *addresses)
            while [one.state for one in client.endpoints] != [trunkcall.State.READY] * len(addresses):
                await client.call(WHO, b"", wait_for_ready=True)
            found = Counter([(await client.call(WHO, b"")).decode() for _ in range(10)])
            print(", ".join(f"{name}: {calls}" for name, calls in sorted(found.items())))
    await asyncio.gather(first.stop(), second.stop())


asyncio.run(main())
