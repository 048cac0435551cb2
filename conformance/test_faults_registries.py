"""Faults of registries: calls go on, and servers come back under their names, whatever becomes of the registry.

Real ones (harness/registries): they are killed, stopped, cut off, emptied, filled with rubbish, and end leases before
their time; the embedded registry, kept by a reference program, and a folder as well. WITHOUT names the faults that a
store cannot have, and why. In small leases are short; in full they are what the specification says, and what stops,
stops for a minute. After each the ledgers are laid beside each other (I1 to I3), and gauges are back (I4).
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest

from harness import registries
from harness.languages import Language, hub
from harness.prerequisites import pairs_here
from harness.processes import Process, run
from harness.programs import Program
from harness.proxy import Proxy
from harness.registries import Embedded, Folder, RegistryServer, Store
from harness.rules import parse

from .faults.kit import EVERYWHERE, FULL, FaultTest, Setting, size, until
from .faults.process import FAULTS, LIMIT, Held, Load, Server, finished, held
from .faults.shares import Share, share
from .languages import having

SERVICE = "trunkcall.bench.v1.BenchService"
LEASE = 15 if FULL else 2
ROUNDS = size(1, 20)  # of the same, each when servers stand there again
SINCE = 8  # descriptors of the registry for the server that came last, and of its own runtime, as its files
STOPPED = size(4.0, 60.0)  # seconds, in any case longer than a lease but a folder's
NOTICED = 150.0  # how long a client may take to hear of a change after the registry is back, with all pauses

STORES = (*registries.SERVERS, Embedded.kind, Folder.kind)
# What is not brought about in a store, and why.
WITHOUT = {
    Folder.kind: {
        "test_it_is_stopped_for_longer_than_a_lease": "it is no process",
        "test_all_are_cut_off_from_it_for_longer_than_a_lease": "no connection leads there",
        "test_leases_end_before_their_time": "each reader counts them by a clock of its own",
    }
}
RUBBISH = (b"", b"{", b'{"id": "no"}', b"\xff" * 1000, b"[" * 100_000)

Test = TypeVar("Test", bound=type[FaultTest])


def each_store() -> Callable[[Test], Test]:
    """Makes classes of tests for each store, one for each pair of languages. In small each fault is brought about in
    each store by one pair, so that each language is client and server in each store and under each fault."""

    def make(test: Test) -> Test:
        faults = [name for name in vars(test) if name.startswith("test_")]
        for one in shares(faults):
            setting = Setting(one.client, one.server)
            kept = f"By{one.keeper.key.capitalize()}" if one.keeper else ""
            name = f"{test.__name__}{one.store.title().replace('-', '')}{kept}{setting.title}"
            more: dict[str, object] = {"kind": one.store, "keeper": one.keeper, "setting": setting}
            more |= {"__module__": test.__module__, "__test__": True}
            more |= {fault: None for fault in faults if fault not in one.faults}  # another's
            setattr(sys.modules[test.__module__], name, type(name, (test,), more))
        test.__test__ = False
        return test

    return make


def shares(faults: list[str]) -> Iterator[Share]:
    """Who meets in which store under which faults."""
    languages = {kind: having("faults", "registries", *registries.SERVERS.keys() & {kind}) for kind in STORES}
    there = {kind: [fault for fault in faults if fault not in WITHOUT.get(kind, {})] for kind in STORES}
    kept = [Embedded.kind]
    if not EVERYWHERE:
        yield from share(languages, there, kept)
        return
    for kind in STORES:
        for client, server in pairs_here(True):
            if client in languages[kind] and server in languages[kind]:
                keepers = languages[kind]
                at = 2 * keepers.index(client) + keepers.index(server)  # in turn
                keeper = keepers[at % len(keepers)] if kind in kept else None
                yield Share(kind, client, server, keeper, there[kind])


class Stores:
    """The store that tests have: it is started once for all that follow one another."""

    def __init__(self) -> None:
        self._what: tuple[str, Language | None] | None = None
        self._store: Store | None = None

    def take(self, kind: str, keeper: Language | None) -> Store:
        if not self._store or self._what != (kind, keeper):
            self.close()
            self._what, self._store = (kind, keeper), started(kind, keeper)
        return self._store

    def close(self) -> None:
        if self._store:
            self._store.close()
            self._store = None


def started(kind: str, keeper: Language | None) -> Store:
    if keeper:
        if run([*keeper.program, "registry", "--help"]).status == 2:
            pytest.skip(f"{keeper.name} serves no registry")
        return Embedded(keeper.program, LEASE)
    if kind == Folder.kind:
        return Folder()
    if why := registries.missing(kind):
        pytest.skip(f"{kind} is left out: {why}")
    return registries.SERVERS[kind]()


@pytest.fixture(scope="module")
def stores() -> Iterator[Stores]:
    stores = Stores()
    yield stores
    stores.close()


@each_store()
class Registries(FaultTest):
    kind: str
    keeper: Language | None  # of the embedded registry
    store: Store
    began: int  # when the client had found all servers, in nanoseconds
    before: dict[Server, tuple[dict[str, int], Held]]  # what servers held before there was load
    watched: int  # descriptors of the registry by then

    @pytest.fixture(autouse=True)
    def take_store(self, stores: Stores) -> None:
        self.store = stores.take(self.kind, self.keeper)

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.name = self.published = self.name_at(self.store.address)
        # Whatever a test has left, the next finds a registry that is empty and answers.
        self.addCleanup(self.store.recover)

    @property
    def registry(self) -> RegistryServer:
        """The store, where it is a process."""
        assert isinstance(self.store, RegistryServer)
        return self.store

    def name_at(self, address: str) -> str:
        """The leases of the embedded registry are its own choice, and those of a folder nobody's."""
        return self.store.name_at(address, **({"lease": LEASE} if self.kind in registries.SERVERS else {}))

    def program(self, language: Language) -> Program:
        return language.with_registries if self.kind in registries.SERVERS else language.program

    async def executes(self, servers: list[Server], *, calls: int = size(30, 1000)) -> None:
        await super().executes(servers, calls=calls)

    async def servers_and_load(self, count: int = size(2, 3)) -> tuple[list[Server], Load]:
        """Servers that are published, and a client that has found all of them."""
        servers = [await self.serve("--registry", self.published) for _ in range(count)]
        await self.stand_there(servers, hub())
        self.before = {server: await self.settled(server) for server in servers}
        self.watched = self.descriptors() if self.keeper else 0
        load = await self.loaded()
        await self.executes(servers)
        self.began = time.monotonic_ns()  # before that Consul may still tell of none
        return servers, load

    async def loaded(self) -> Load:
        flags = (
            f"--mix Say=2,Echo,Take,Exchange --rate 300 --callers 8 --timeout 60s --duration 1h --registry {self.name}"
        )
        return await self.load(f"registry:{SERVICE}", flags)

    async def stand_there(self, servers: list[Server], client: Language | None = None) -> None:
        """Waits until the registry has the servers, and whoever looks for them now finds one: a client of the language
        that is tested, or of one that starts sooner."""
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

        program, target = self.program(client or self.setting.client), f"registry:{SERVICE}"
        words = [*program, "call", "--target", target, "--registry", self.name, "--timeout", "60s"]
        words += [FAULTS + "ReadGauges", "{}"]
        await until("servers are published", there, NOTICED)
        await until("a new client finds one", found, NOTICED)

    async def nothing_was_lost(self, servers: list[Server], load: Load) -> None:
        """At the end: servers are there, one that comes is found, and no call has failed."""
        await self.stand_there(servers)
        new = await self.serve("--registry", self.published)
        await self.executes([*servers, new])
        await load.stop()
        await self.all_are_settled()
        report = self.check()
        ends = map(json.loads, load.ledger.read_text(encoding="utf-8").splitlines())
        failed = [end for end in ends if end["event"] == "end" and end["code"] != "OK" and end["at"] > self.began]
        self.assertFalse(failed[:3], f"{report}\n{load.process.said()}")

    async def all_are_settled(self) -> None:
        """I4, of the servers that are there, and of a registry that a reference program keeps."""
        for server, before in self.before.items():
            if server.running:
                await self.assert_settled(server, before)
        if self.keeper:
            await until("its descriptors are back", lambda: self.descriptors() <= self.watched + SINCE, LIMIT)

    def descriptors(self) -> int:
        process = self.registry.process
        assert process
        return held(process.pid).descriptors

    async def put_a_past(self) -> None:
        """Instances that have long gone, and changed often before: a registry that reads its log again may tell of
        them."""

        def put() -> None:
            gone = [f"gone-{number}" for number in range(10)]
            for turn in range(size(30, 300)):
                for id in gone:
                    record = {"addresses": ["127.0.0.1:1"], "id": id, "service": SERVICE, "weight": 2 + turn}
                    registry.put(SERVICE, id, json.dumps(record, separators=(",", ":")).encode())
            for id in gone:
                registry.remove(SERVICE, id)

        if self.kind in registries.SERVERS:  # others keep no log
            registry = self.registry
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
        self.registry.pause()
        await asyncio.sleep(STOPPED)
        await self.executes(servers)
        self.registry.resume()
        await self.nothing_was_lost(servers, load)

    async def test_all_are_cut_off_from_it_for_longer_than_a_lease(self) -> None:
        async with Proxy(self.store.address) as proxy:
            self.name = self.published = self.name_at(proxy.address)
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
        for turn in range(ROUNDS):
            if turn:
                await self.stand_there(servers)
            self.store.empty()
            await self.executes(servers)
        await self.nothing_was_lost(servers, load)

    async def test_it_is_filled_with_rubbish(self) -> None:
        servers, load = await self.servers_and_load()
        for number, rubbish in enumerate(RUBBISH if FULL or not self.keeper else RUBBISH[-1:]):
            if FULL and number:
                await self.stand_there(servers)
            ids = [*map(id_of, servers), *(f"nobody-{number}-{more}" for more in range(20))]
            # What Consul does not take, it is not given.
            if self.kind != "consul" or len(rubbish) < 10_000:
                self.store.spoil(SERVICE, ids, rubbish)
            await self.executes(servers)
        await self.nothing_was_lost(servers, load)

    async def test_leases_end_before_their_time(self) -> None:
        async with self.ending_leases() as end:
            servers, load = await self.servers_and_load()
            for turn in range(ROUNDS):
                if turn:
                    await self.stand_there(servers)
                await end()
                await self.executes(servers)
            await self.nothing_was_lost(servers, load)

    @asynccontextmanager
    async def ending_leases(self) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Those of the embedded registry end by time alone: renewals are lost until they have."""

        async def expire() -> None:
            self.registry.expire()

        if self.keeper is None:
            yield expire
            return
        async with Proxy(self.store.address) as proxy:
            self.published = self.name_at(proxy.address)

            async def lose() -> None:
                proxy.plan = parse("* both: swallow")
                proxy.silence_all()
                await until("leases end", lambda: not self.store.entries(SERVICE), LIMIT)
                proxy.plan = parse("")
                proxy.reset_all()

            yield lose

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
        await self.all_are_settled()
        report = self.check()
        self.assertGreater(report.outcomes["OK", "executed"], 100, report)


def id_of(server: Server) -> str:
    return server.address.replace(":", "_")
