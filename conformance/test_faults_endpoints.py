"""Faults of endpoints: servers that come and go under the load of a client in Python which calls all of them."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

import trunkcall
from bench.v1 import bench_pb2 as pb
from load.message import request

from .faults.kit import SERVERS, FaultTest, each, elsewhere, size, until
from .faults.process import Server

SAY = trunkcall.unary("/trunkcall.bench.v1.BenchService/Say", pb.BenchmarkMessage, pb.BenchmarkMessage)
CALLERS = 20


class Registry:
    """A resolver that is told by the test who is there."""

    def __init__(self, servers: list[Server]) -> None:
        self._endpoints = [trunkcall.Endpoint(server.address) for server in servers]
        self._watches: list[trunkcall.Watch] = []

    async def resolve(self, watch: trunkcall.Watch) -> None:
        self._watches.append(watch)
        watch.set(self._endpoints)
        await asyncio.Event().wait()

    def set(self, servers: list[Server]) -> None:
        self._endpoints = [trunkcall.Endpoint(server.address) for server in servers]
        self._watches[-1].set(self._endpoints)


class Ledger:
    """The client's ledger (conformance/peer.md)."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, event: str, call: str, **more: object) -> None:
        line = {"event": event, "call": call, "at": time.monotonic_ns(), **more}
        self._file.write(json.dumps(line) + "\n")


@each(SERVERS[0], in_full=[*SERVERS[1:], *elsewhere(SERVERS)])
class Endpoints(FaultTest):
    def balancers(self) -> dict[str, trunkcall.Balancer]:
        return {
            "round_robin": trunkcall.round_robin(),
            "least_loaded": trunkcall.least_loaded(),
            "hash_by": trunkcall.hash_by("ledger-call"),
        }

    async def test_servers_that_drain_lose_no_call(self) -> None:
        """Those that the registry forgets first, and those that it does not."""
        for name, balancer in self.balancers().items():
            with self.subTest(name):
                await self.drain(balancer)

    async def drain(self, balancer: trunkcall.Balancer) -> None:
        servers = [await self.serve() for _ in range(3)]
        registry = Registry(servers)
        async with self.calls(registry, balancer) as client:
            for turn in range(size(4, 9)):
                await self.grows(servers)
                leaving = servers[turn % len(servers)]
                if turn % 2:
                    registry.set([server for server in servers if server is not leaving])
                self.assertEqual(await leaving.stop(), 0, leaving.log())
                await leaving.start()
                registry.set(servers)
            await self.grows(servers, each=True)
            await self.assert_nothing_left(client, registry, servers)
        self.assert_all_ok(self.check())

    async def test_servers_that_are_killed_leave_what_is_said_of_each_call_true(self) -> None:
        for name, balancer in {**self.balancers(), "first": trunkcall.first()}.items():
            with self.subTest(name):
                servers = [await self.serve() for _ in range(3)]
                registry = Registry(servers)
                async with self.calls(registry, balancer) as client:
                    for turn in range(size(4, 9)):
                        await self.grows(servers)
                        killed = servers[turn % len(servers)]
                        await killed.kill()
                        await self.grows([server for server in servers if server is not killed])
                        await killed.start()
                    await self.grows(servers, each=name != "first")
                    await self.assert_nothing_left(client, registry, servers)
                report = self.check()
                self.assertGreater(report.outcomes["OK", "executed"], 100, report)

    @asynccontextmanager
    async def calls(self, registry: Registry, balancer: trunkcall.Balancer) -> AsyncIterator[trunkcall.Client]:
        """A client that calls all the time, with a ledger."""
        path = self.folder / f"client{len(self.client_ledgers)}"
        self.client_ledgers.append(path)
        numbers = itertools.count()
        ended = asyncio.Event()
        with path.open("a", encoding="utf-8", buffering=1) as file:
            ledger = Ledger(file)

            async def caller(client: trunkcall.Client) -> None:
                while not ended.is_set():
                    await self.call_in_turn(client, ledger, f"{os.getpid()}-{path.name}-{next(numbers)}")

            target = trunkcall.Client(
                "test:", resolvers={"test": registry.resolve}, balancer=balancer, tls=self.tls, idle_timeout=5
            )
            async with target as client:
                callers = [asyncio.create_task(caller(client)) for _ in range(CALLERS)]
                try:
                    yield client
                finally:
                    ended.set()
                    await asyncio.gather(*callers)

    async def call_in_turn(self, client: trunkcall.Client, ledger: Ledger, name: str) -> None:
        ledger.write("begin", name, method=SAY.name, deadline=time.monotonic_ns() + 20 * 10**9)
        code, delivery, message = "OK", "executed", ""
        try:
            metadata = [("ledger-call", name)]
            await client.call(SAY, request(), metadata=metadata, timeout=20, wait_for_ready=True)
        except trunkcall.StatusError as error:
            code, delivery, message = error.code.name, error.delivery.value, error.message
            await asyncio.sleep(0)  # whatever fails, others have their turn
        ledger.write("end", name, code=code, delivery=delivery, message=message)

    async def grows(self, servers: list[Server], *, each: bool = False) -> None:
        """Waits until some of the servers execute calls, or each of them does."""
        began = [_size(server.ledger) for server in servers]

        def grown() -> bool:
            more = [_size(server.ledger) - before for server, before in zip(servers, began, strict=True)]
            return min(more) > 1_000 if each else sum(more) > 20_000

        await until("calls are executed", grown)

    async def assert_nothing_left(self, client: trunkcall.Client, registry: Registry, servers: list[Server]) -> None:
        """Thousands of sets leave neither connections nor tasks behind."""
        for turn in range(size(1_000, 10_000)):
            registry.set([servers[(turn + at) % len(servers)] for at in range(1 + turn % len(servers))])
            if turn % 100 == 0:
                await asyncio.sleep(0)
        registry.set(servers[:1])
        await until("one endpoint is left", lambda: len(client.endpoints) == 1)
        await until("one connection is left", lambda: len(client.connections) <= 1 and len(client._tasks) <= 2)
        await self.grows(servers[:1])


def _size(ledger: Path) -> int:
    return ledger.stat().st_size if ledger.exists() else 0
