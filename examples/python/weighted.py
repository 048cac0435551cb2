"""A balancer of one's own: endpoints are drawn at random, as often as their weights say."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence

import trunkcall

WHO = trunkcall.unary("/example.Names/Who", bytes, bytes)


class Weighted:
    """Is asked for a picker with each change: here one that draws among the endpoints that are ready."""

    def balance(self, endpoints: Sequence[trunkcall.EndpointState]) -> trunkcall.Picker:
        return WeightedPicker([one for one in endpoints if one.state is trunkcall.State.READY])


class WeightedPicker:
    def __init__(self, ready: list[trunkcall.EndpointState]) -> None:
        self._ready = ready
        self._weights = [one.endpoint.weight for one in ready]

    def pick(self, call: trunkcall.Pick) -> trunkcall.EndpointState | None:
        return random.choices(self._ready, self._weights)[0] if self._ready else None


async def serve(name: bytes) -> tuple[trunkcall.Server, str]:
    async def who(request: bytes, call: trunkcall.ServerCall) -> bytes:
        return name

    server = trunkcall.Server()
    server.register(WHO.handler(who))
    return server, await server.listen("127.0.0.1:0")


async def main() -> None:
    (small, a), (large, b) = await serve(b"small"), await serve(b"large")

    async def resolve(watch: trunkcall.Watch) -> None:
        watch.set([trunkcall.Endpoint(a, weight=1), trunkcall.Endpoint(b, weight=9)])

    target = trunkcall.Client("own:names", resolvers={"own": resolve}, balancer=Weighted(), codec=trunkcall.RAW)
    async with target as client:
        await client.connect()
        found = Counter([await client.call(WHO, b"") for _ in range(1_000)])
        print("both were called, the large one more often:", 0 < found[b"small"] < found[b"large"])
    await asyncio.gather(small.stop(), large.stop())


asyncio.run(main())
