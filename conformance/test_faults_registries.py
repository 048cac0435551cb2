"""Faults of registries: calls go on, and servers come back under their names, whatever becomes of the registry.

Real ones (harness/registries): they are killed, stopped, cut off, emptied, filled with rubbish, and end leases before
their time. In small leases are short; in full they are what the specification says, and what stops, stops for a minute.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from typing import TypeVar
from unittest import SkipTest

from harness import registries
from harness.languages import Language
from harness.prerequisites import pairs_here
from harness.processes import Process
from harness.programs import Program
from harness.proxy import Proxy
from harness.registries import RegistryServer
from harness.rules import parse

from .faults.kit import FULL, FaultTest, Setting, size, until
from .faults.process import FAULTS, LIMIT, Load, Server, finished
from .languages import having

SERVICE = "trunkcall.bench.v1.BenchService"
LEASE = {} if FULL else {"lease": 2}
STOPPED = size(4.0, 60.0)  # seconds, in any case longer than a lease
NOTICED = 150.0  # how long a client may take to hear of a change after the registry is back, with all pauses

Test = TypeVar("Test", bound=type[FaultTest])


def each_registry() -> Callable[[Test], Test]:
    """Makes a class of tests for each registry, and for each pair of languages that has it. In small it is one
    language with itself: what others do about faults is in their own tests, that they find its servers in
    test_registries_elsewhere.py."""

    def make(test: Test) -> Test:
        for scheme in registries.SERVERS:
            there = having("faults", "registries", scheme)
            for client, server in pairs_here(True):
                if client not in there or server not in there or not (FULL or client is server and client.hub):
                    continue
                setting = Setting(client, server)
                name = f"{test.__name__}{scheme.capitalize()}{setting.title}"
                more = {"scheme": scheme, "setting": setting, "__module__": test.__module__, "__test__": True}
                setattr(sys.modules[test.__module__], name, type(name, (test,), more))
        test.__test__ = False
        return test

    return make


@each_registry()
class Registries(FaultTest):
    scheme: str
    store: RegistryServer
    began: int  # when the client had found all servers, in nanoseconds

    @classmethod
    def setUpClass(cls) -> None:
        if why := registries.missing(cls.scheme):
            raise SkipTest(f"{cls.scheme} is left out: {why}")
        cls.store = registries.SERVERS[cls.scheme]()
        cls.addClassCleanup(cls.store.close)

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.name = self.store.name_at(self.store.address, **LEASE)
        self.addCleanup(self.clean)

    def clean(self) -> None:
        """Whatever a test has left, the next finds a registry that is empty and answers."""
        if self.store.process is None:
            self.store.start()
        self.store.resume()
        self.store.wait()
        self.store.empty()

    def program(self, language: Language) -> Program:
        return language.with_registries

    async def executes(self, servers: list[Server], *, calls: int = size(30, 1000)) -> None:
        await super().executes(servers, calls=calls)

    async def servers_and_load(self, count: int = 3) -> tuple[list[Server], Load]:
        """Servers that are published, and a client that has found all of them."""
        servers = [await self.serve("--registry", self.name) for _ in range(count)]
        await self.stand_there(servers)
        load = await self.loaded()
        await self.executes(servers)
        self.began = time.monotonic_ns()  # before that Consul may still tell of none
        return servers, load

    async def loaded(self) -> Load:
        flags = (
            f"--mix Say=2,Echo,Take,Exchange --rate 300 --callers 8 --timeout 60s --duration 1h --registry {self.name}"
        )
        return await self.load(f"registry:{SERVICE}", flags)

    async def stand_there(self, servers: list[Server]) -> None:
        """Waits until the registry has the servers, and whoever looks for them now finds one."""
        wanted = {id_of(server) for server in servers}

        def there() -> bool:
            try:
                found = self.store.entries(SERVICE)
            except OSError:  # it has just begun
                return False
            return wanted <= {id for id, data in found.items() if data.startswith(b'{"addresses":')}

        async def found() -> bool:
            with Process(words) as process:
                return (await finished(process)).status == 0

        program, target = self.program(self.setting.client), f"registry:{SERVICE}"
        words = [*program, "call", "--target", target, "--registry", self.name, "--timeout", "60s"]
        words += [FAULTS + "ReadGauges", "{}"]
        await until("servers are published", there, NOTICED)
        await until("a new client finds one", found, NOTICED)

    async def nothing_was_lost(self, servers: list[Server], load: Load) -> None:
        """At the end: servers are there, one that comes is found, and no call has failed."""
        await self.stand_there(servers)
        new = await self.serve("--registry", self.name)
        await self.executes([*servers, new])
        await load.stop()
        report = self.check()
        ends = map(json.loads, load.ledger.read_text(encoding="utf-8").splitlines())
        failed = [end for end in ends if end["event"] == "end" and end["code"] != "OK" and end["at"] > self.began]
        self.assertFalse(failed[:3], f"{report}\n{load.process.said()}")

    async def put_a_past(self) -> None:
        """Instances that have long gone, and changed often before: a registry that reads its log again may tell of
        them."""

        def put() -> None:
            gone = [f"gone-{number}" for number in range(10)]
            for turn in range(size(30, 300)):
                for id in gone:
                    record = {"addresses": ["127.0.0.1:1"], "id": id, "service": SERVICE, "weight": 2 + turn}
                    self.store.put(SERVICE, id, json.dumps(record, separators=(",", ":")).encode())
            for id in gone:
                self.store.remove(SERVICE, id)

        await asyncio.to_thread(put)

    async def test_it_is_killed_and_comes_back_with_its_data(self) -> None:
        await self.put_a_past()
        servers, load = await self.servers_and_load()
        self.store.kill()
        await self.executes(servers)
        await asyncio.sleep(size(0, 60.0))
        await self.executes(servers)
        self.store.start()
        await self.nothing_was_lost(servers, load)

    async def test_it_is_stopped_for_longer_than_a_lease(self) -> None:
        servers, load = await self.servers_and_load()
        self.store.pause()
        await asyncio.sleep(STOPPED)
        await self.executes(servers)
        self.store.resume()
        await self.nothing_was_lost(servers, load)

    async def test_all_are_cut_off_from_it_for_longer_than_a_lease(self) -> None:
        async with Proxy(self.store.address) as proxy:
            self.name = self.store.name_at(proxy.address, **LEASE)
            servers, load = await self.servers_and_load()
            proxy.plan = parse("* both: swallow")
            proxy.reset_all()
            await asyncio.sleep(STOPPED)
            await self.executes(servers)
            proxy.plan = parse("")
            proxy.reset_all()
            await self.nothing_was_lost(servers, load)

    async def test_it_is_emptied(self) -> None:
        servers, load = await self.servers_and_load()
        for _ in range(size(3, 20)):
            self.store.empty()
            await self.executes(servers)
            await self.stand_there(servers)
        await self.nothing_was_lost(servers, load)

    async def test_it_is_filled_with_rubbish(self) -> None:
        servers, load = await self.servers_and_load()
        for number, rubbish in enumerate((b"", b"{", b'{"id": "no"}', b"\xff" * 1000, b"[" * 100_000)):
            for id in (*map(id_of, servers), *(f"nobody-{number}-{more}" for more in range(20))):
                # What Consul does not take, it is not given.
                if self.scheme != "consul" or len(rubbish) < 10_000:
                    self.store.put(SERVICE, id, rubbish)
            await self.executes(servers)
            await self.stand_there(servers)
        await self.nothing_was_lost(servers, load)

    async def test_leases_end_before_their_time(self) -> None:
        servers, load = await self.servers_and_load()
        for _ in range(size(3, 20)):
            self.store.expire()
            await self.executes(servers)
            await self.stand_there(servers)
        await self.nothing_was_lost(servers, load)

    async def test_a_server_that_is_killed_comes_back_under_its_name(self) -> None:
        servers, load = await self.servers_and_load()
        killed = servers[0]
        for away in (0, STOPPED / 2):
            await killed.kill()
            await self.executes(servers[1:])
            await asyncio.sleep(away)
            await killed.start()  # published by then
            await self.executes(servers)
        self.assertEqual(await killed.stop(), 0, killed.log())
        await until("it is withdrawn", lambda: set(self.store.entries(SERVICE)) == set(map(id_of, servers[1:])), LIMIT)
        await self.executes(servers[1:])
        await load.stop()
        report = self.check()
        self.assertGreater(report.outcomes["OK", "executed"], 100, report)


def id_of(server: Server) -> str:
    return server.address.replace(":", "_")
