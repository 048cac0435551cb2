"""What the tests of faults share.

A test is written once, as a class derived of FaultTest; `each` makes a class of tests of it for each setting, which is
the language of the client, that of the server, and what lies between. TRUNKCALL_FAULTS=full has tests run in full and
in all settings, TRUNKCALL_FAULTS=everywhere in all settings and in small; otherwise they are quick.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar
from unittest import IsolatedAsyncioTestCase, skipUnless

import pytest
from google.protobuf.empty_pb2 import Empty

import trunkcall
from fault.v1.fault_pb2 import Gauges
from harness import guard
from harness.certificates import Authority
from harness.languages import Language, hub
from harness.prerequisites import pairs_here
from harness.processes import Process
from harness.programs import Program

from ..languages import having
from .ledger import Report, check_files
from .process import FAULTS, LIMIT, Held, Load, Server, attempt, call
from .raw import Raw

FULL = os.environ.get("TRUNKCALL_FAULTS") == "full"
# All settings, be it in full or in small.
EVERYWHERE = os.environ.get("TRUNKCALL_FAULTS") in ("full", "everywhere")

# How late a call may end, in seconds. What is promised is 5 ms on an idle machine; these tests say nothing of speed.
# This machine may have ten programs that want each of its processors, and one that is ready may then have to wait for
# seconds until it is run: with 2 s the machine could decide. What never ends, or only when something else happens to
# it, is found with ten as well.
BOUND = 10.0

# After how long a silence a connection is asked whether it lives, and how long an answer may take, where a test brings
# silence about. A program that only waits for a processor answers in that time.
KEEPALIVE = "500ms,3s"

READ_GAUGES = trunkcall.unary(f"/{FAULTS}ReadGauges", Empty, Gauges)

T = TypeVar("T")

in_full = skipUnless(FULL, "in full only, with TRUNKCALL_FAULTS=full")


def size(quick: T, full: T) -> T:
    """What is quick, or the whole."""
    return full if FULL else quick


async def until(what: str, condition: Callable[[], bool | Awaitable[bool]], limit: float = LIMIT) -> None:
    """Waits until something holds. Fails if it does not in time."""
    end = asyncio.get_running_loop().time() + limit
    while True:
        held = condition()
        if held if isinstance(held, bool) else await held:
            return
        if asyncio.get_running_loop().time() > end:
            raise AssertionError(f"not within {limit} s: {what}")
        await asyncio.sleep(0.02)


@dataclass(frozen=True)
class Setting:
    """Who calls whom, over "tcp", "tls" or "unix"."""

    client: Language
    server: Language
    over: str = "tcp"

    @property
    def title(self) -> str:
        return "".join(word.capitalize() for word in (self.client.key, self.server.key, self.over))


TESTED = having("faults")
# Each language with itself.
THEMSELVES = [Setting(language, language) for language in TESTED]
# Those of different languages that meet: the hub with each of the others, in either role, or all with all.
ACROSS = [Setting(a, b) for a, b in pairs_here() if a is not b and a in TESTED and b in TESTED]
# Each as the server; the client stands by.
SERVERS = [Setting(hub(), language) for language in TESTED]
# Each as the client; the server is what comes after.
CLIENTS = [Setting(language, hub()) for language in TESTED]


def over(what: str, settings: Iterable[Setting]) -> list[Setting]:
    """The same settings over something else, where both languages have it."""
    return [
        replace(one, over=what)
        for one in settings
        if what in one.client.peer.transports and what in one.server.peer.transports
    ]


def elsewhere(settings: Iterable[Setting]) -> list[Setting]:
    """The same settings over everything but TCP."""
    settings = list(settings)
    return over("tls", settings) + over("unix", settings)


def each(*settings: Setting, in_full: Iterable[Setting] = ()) -> Callable[[type[FaultTest]], type[FaultTest]]:
    """Makes a class of tests for each setting, in the module of the class that it is made of, which has none itself."""

    def make(test: type[FaultTest]) -> type[FaultTest]:
        for setting in (*settings, *(in_full if EVERYWHERE else ())):
            name = f"{test.__name__}{setting.title}"
            more = {"setting": setting, "__module__": test.__module__, "__test__": True}
            made = type(name, (test,), more)
            setattr(sys.modules[test.__module__], name, made)
        test.__test__ = False
        return test

    return make


async def read_gauges(address: str, tls: ssl.SSLContext | None = None) -> dict[str, int]:
    """What a server says of itself: running, tasks, heapBytes."""
    async with trunkcall.Client(address, tls=tls) as client:
        got = await client.call(READ_GAUGES, Empty(), timeout=LIMIT)
    return {"running": got.running, "tasks": got.tasks, "heapBytes": got.heap_bytes}


class FaultTest(IsolatedAsyncioTestCase):
    """Tests with servers and load as processes. At the end all servers that still run have to end well."""

    __test__ = False  # each() makes the classes that are run
    maxDiff = None
    setting: Setting
    tell: Callable[[str, object], None]  # writes a property, such as a retry, into the results

    @pytest.fixture(autouse=True)
    def take_properties(self, record_property: Callable[[str, object], None]) -> None:
        self.tell = record_property

    async def asyncSetUp(self) -> None:
        asyncio.get_running_loop().set_debug(False)  # the proxy has to be quick
        folder = tempfile.TemporaryDirectory(prefix="faults")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        guard.removing(self.folder)
        self.authority = Authority(self.folder) if self.setting.over == "tls" else None
        self.tls = trunkcall.client_tls(str(self.authority.file)) if self.authority else None
        self.servers: list[Server] = []
        self.client_ledgers: list[Path] = []
        self.loads = 0
        self.killed = False  # whether a client was, whose calls may lack their end

    def program(self, language: Language) -> Program:
        """The reference program that is tested."""
        return language.program

    async def serve(self, *flags: str, address: str = "") -> Server:
        """A server with a ledger and FaultService, at an address of its own or a given one."""
        name = f"server{len(self.servers)}"
        if self.authority:
            flags = (*flags, *self.authority.server().flags())
        server = Server(self.program(self.setting.server), self.folder / f"{name}.log", self.folder / name, flags)
        if address:
            server.address = address
        elif self.setting.over == "unix":
            server.address = f"unix:{self.folder / name}.socket"
        self.servers.append(server)
        self.addCleanup(server.close)
        await server.start()

        async def stop() -> None:
            if server.running:
                self.assertEqual(await server.stop(), 0, server.log())

        self.addAsyncCleanup(stop)
        return server

    async def load(self, target: str, flags: str, **behaviour: object) -> Load:
        """Load with a ledger, which begins now: flags of bench, and the request of FaultService's methods."""
        ledger = self.folder / f"client{self.loads}"
        self.loads += 1
        self.client_ledgers.append(ledger)
        client = self.setting.client
        words = (
            *("bench", *client.peer.bench, "--target", target, "--ledger", str(ledger)),
            *("--behaviour", json.dumps(behaviour), *self.trust, *flags.split()),
        )
        load = Load(Process([*self.program(client), *words]), ledger)
        self.addCleanup(load.process.kill)
        # Its first call has begun, so it is connected.
        await until("the load begins", lambda: ledger.exists() and ledger.stat().st_size > 0 or not load.running)
        return load

    def raw(self, server: Server, **options: Any) -> Raw:
        """A connection over which any bytes can be sent."""
        return Raw(server.address, self.tls, **options)

    @property
    def trust(self) -> tuple[str, ...]:
        """The flags with which a client believes the servers."""
        return ("--tls-ca", str(self.authority.file)) if self.authority else ()

    async def call(self, target: str, method: str, request: str, *flags: str) -> None:
        """Makes one call of FaultService, which must succeed."""
        await call(self.setting.client.program, target, FAULTS + method, request, *self.trust, *flags)

    async def attempt(self, target: str, method: str, request: str, *flags: str) -> dict[str, Any]:
        """Makes one call of FaultService; how it failed, or nothing."""
        return await attempt(self.setting.client.program, target, FAULTS + method, request, *self.trust, *flags)

    async def gauges(self, server: Server) -> dict[str, int]:
        """What the server says of itself: running, tasks, heapBytes."""
        return await read_gauges(server.address, self.tls)

    async def executes(self, servers: list[Server], *, calls: int = 100) -> None:
        """Waits until each of the servers has executed so many calls."""
        began = {server: server.executed() for server in servers}
        await until("calls are executed", lambda: all(now.executed() >= calls + was for now, was in began.items()))

    def check(self, bound: float = BOUND) -> Report:
        """I1 to I3 of all ledgers of the test."""
        servers = [server.ledger for server in self.servers]
        report = check_files(self.client_ledgers, servers, bound, self.killed)
        self.assertFalse(report.breaches, report)
        return report

    def assert_all_ok(self, report: Report) -> None:
        self.assertEqual(set(report.outcomes), {("OK", "executed")}, report)

    @asynccontextmanager
    async def unharmed(self, server: Server) -> AsyncIterator[None]:
        """Bystanders: calls that all succeed while something goes on, however many there are by then. I4 after it."""
        before = await self.settled(server)
        flags = "--callers 4 --connections 2 --rate 200 --duration 1h"
        load = await self.load(server.address, f"--mix Say=2,Echo,Take,Exchange {flags}")
        ledger = self.client_ledgers.pop()
        yield
        await load.stop()
        await self.assert_settled(server, before)
        report = check_files([ledger], [server.ledger], BOUND)
        report.breaches = [one for one in report.breaches if "0 beginnings at the client" not in one]  # another's
        self.assertFalse(report.breaches, report)
        self.assertTrue(report.outcomes, "no call was made")
        self.assert_all_ok(report)

    async def settled(self, server: Server) -> tuple[dict[str, int], Held]:
        """The gauges of a server on which there is no load. Read twice: the first call makes what it needs."""
        await self.gauges(server)
        return await self.gauges(server), server.held()

    async def assert_settled(self, server: Server, before: tuple[dict[str, int], Held], tasks: int = 150) -> None:
        """I4: the gauges of a server are back where they were. Idle tasks, up to a number, and the descriptors of
        pollers are kept."""
        gauges: dict[str, int] = {}
        now = before[1]

        async def back() -> bool:
            nonlocal gauges, now
            gauges, now = await self.gauges(server), server.held()
            return (
                gauges["running"] == before[0]["running"]
                and gauges["tasks"] <= before[0]["tasks"] + tasks
                and now.descriptors <= before[1].descriptors + 8
                and gauges["heapBytes"] < before[0]["heapBytes"] + (4 << 20)
            )

        try:
            await until("gauges are back", back, 40)
        except AssertionError:
            self.fail(f"gauges are not back: {before} became {gauges}, {now}")
