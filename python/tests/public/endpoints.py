"""Servers that answer their names, and a resolver that tells what the test has it tell."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from trunkcall import Client, Endpoint, EndpointState, Pick, Picker, Server, ServerCall, State, Watch

from .kit import ECHO, OTHER, PATIENCE, TWICE, Case, echo


class Registry:
    """A resolver that tells what the test has it tell."""

    def __init__(self, *endpoints: str) -> None:
        self.endpoints = [Endpoint(address) for address in endpoints]
        self.watches: list[Watch] = []

    async def __call__(self, watch: Watch) -> None:
        self.watches.append(watch)
        if self.endpoints:
            watch.set(self.endpoints)
        await asyncio.Event().wait()

    def set(self, *endpoints: str | Endpoint) -> None:
        self.endpoints = [one if isinstance(one, Endpoint) else Endpoint(one) for one in endpoints]
        self.watches[-1].set(self.endpoints)


class EndpointsCase(Case):
    async def named(self, name: bytes, **options: Any) -> tuple[Server, str]:
        """A server that answers its name."""

        async def say(request: bytes, call: ServerCall) -> bytes:
            return name

        return await self.serve(ECHO.handler(say), OTHER.handler(echo), TWICE.handler(_twice), **options)

    def resolved(self, resolver: Any, **options: Any) -> Client:
        return self.client("test:here", resolvers={"test": resolver}, **options)

    async def answers(self, client: Client, calls: int = 12) -> list[bytes]:
        return [await client.call(ECHO, b"", wait_for_ready=True, timeout=PATIENCE) for _ in range(calls)]


async def _twice(requests: Any, call: ServerCall) -> Any:
    async for request in requests:
        yield request * 2


class Counting:
    def __init__(self, picks: list[Pick]) -> None:
        self.picks = picks

    def balance(self, endpoints: Sequence[EndpointState]) -> Picker:
        return CountingPicker(endpoints, self.picks)


class CountingPicker:
    def __init__(self, endpoints: Sequence[EndpointState], picks: list[Pick]) -> None:
        self.endpoints = [one for one in endpoints if one.state is State.READY]
        self.picks = picks

    def pick(self, call: Pick) -> EndpointState | None:
        self.picks.append(call)
        return self.endpoints[0] if self.endpoints else None
