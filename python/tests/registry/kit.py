"""What tests of registries share: servers that are published, clients that find them, calls that go on meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from trunkcall import RAW, Client, Delivery, Server, ServerCall, StatusError, unary
from trunkcall.registry import Registrar, Source, Store, resolver

SERVICE = "test.Names"
WHO = unary("/test.Names/Who", bytes, bytes)

PROCESS = """
import asyncio, sys
sys.path.insert(0, {tests!r})
from tests.registry.kit import publish
from trunkcall.registry import open_store

async def main():
    server = await publish(open_store(sys.argv[1]), sys.argv[2])
    print("published", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(120):
            await test()

    asyncio.run(bounded())


def _soon(failures: int) -> float:
    return 0.02


def hasten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has a registry that failed asked again soon, however often it failed."""
    for module in ("registrar", "resolver"):
        monkeypatch.setattr(sys.modules[f"trunkcall.registry.{module}"], "pause", _soon)


def made(name: str, registrar: Any) -> Server:
    async def who(request: bytes, call: ServerCall) -> bytes:
        return name.encode()

    server = Server(registrar=registrar)
    server.register(WHO.handler(who))
    return server


async def publish(store: Store, name: str) -> Server:
    registrar = Registrar(store, id=name)
    server = made(name, registrar)
    await server.listen("127.0.0.1:0")
    await registrar.published()
    return server


def finding(store: Source) -> Client:
    return Client(f"registry:{SERVICE}", resolvers={"registry": resolver(store)}, codec=RAW)


async def until(client: Client, *names: str) -> None:
    """Calls until all of those answer, and nobody else. A call that a killed process had may fail."""
    while True:
        answered: set[str] = set()
        for _ in range(4 * len(names)):
            try:
                answered.add((await client.call(WHO, b"", wait_for_ready=True, timeout=60)).decode())
            except StatusError as error:
                assert error.delivery is Delivery.UNKNOWN, error
        if answered == set(names):
            return
        await asyncio.sleep(0.005)  # it is asked again, not relied on


@contextlib.asynccontextmanager
async def calling(client: Client) -> AsyncIterator[None]:
    """Makes calls meanwhile, none of which may fail."""
    over = False

    async def call() -> None:
        while not over:
            await client.call(WHO, b"", wait_for_ready=True, timeout=60)
            await asyncio.sleep(0.001)

    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(call())
        yield
        over = True


async def logged(caplog: pytest.LogCaptureFixture, text: str, times: int = 1) -> None:
    while caplog.text.count(text) < times:  # noqa: ASYNC110  # nothing tells of it
        await asyncio.sleep(0.01)


@contextlib.contextmanager
def process(store: str, name: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has published a server; it is killed in the end."""
    source = PROCESS.format(tests=str(Path(__file__).parents[2]))
    command = [sys.executable, "-c", source, store, name]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert started.stdout is not None and started.stdout.readline() == "published\n"
        yield started
    finally:
        started.kill()
        started.communicate()
