"""What the tests of faults share.

TRUNKCALL_FAULTS=full has them run in full, otherwise they are quick; FAULT_CLIENT and FAULT_SERVER name the languages
of the reference programs, go unless given.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar
from unittest import IsolatedAsyncioTestCase, skipUnless

from harness.programs import Program

from ..languages import PROGRAMS
from .ledger import Report, check_files
from .process import LIMIT, Held, Load, Server, spawn

FULL = os.environ.get("TRUNKCALL_FAULTS") == "full"
CLIENT: Program = PROGRAMS[os.environ.get("FAULT_CLIENT", "go")]
SERVER: Program = PROGRAMS[os.environ.get("FAULT_SERVER", "go")]

# How late a call may end, in seconds: what is promised is 5 ms on an idle machine, and this one is not idle.
BOUND = 2.0

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


class FaultTest(IsolatedAsyncioTestCase):
    """Tests with servers and load as processes. At the end all servers that still run have to end well."""

    maxDiff = None

    async def asyncSetUp(self) -> None:
        asyncio.get_running_loop().set_debug(False)  # the proxy has to be quick
        folder = tempfile.TemporaryDirectory(prefix="faults")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.servers: list[Server] = []
        self.client_ledgers: list[Path] = []
        self.loads = 0
        self.killed = False  # whether a client was, whose calls may lack their end

    async def serve(self, *flags: str) -> Server:
        """A server with a ledger and FaultService."""
        name = f"server{len(self.servers)}"
        server = Server(SERVER, self.folder / f"{name}.log", self.folder / name, flags)
        self.servers.append(server)
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
        words = (
            "bench",
            "--target",
            target,
            "--ledger",
            str(ledger),
            "--behaviour",
            json.dumps(behaviour),
            *flags.split(),
        )
        load = Load(await spawn(CLIENT, words), ledger)

        async def end() -> None:
            if load.process.returncode is None:
                load.process.kill()
                await load.process.wait()

        self.addAsyncCleanup(end)
        # Its first call has begun, so it is connected.
        await until("the load begins", lambda: ledger.exists() and ledger.stat().st_size > 0 or ended(load))
        return load

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
        flags = "--callers 4 --connections 2 --rate 200 --duration 300s"
        load = await self.load(server.address, f"--mix Say=2,Echo,Take,Exchange {flags}")
        ledger = self.client_ledgers.pop()
        yield
        load.process.kill()
        await load.process.wait()
        await self.assert_settled(server, before)
        report = check_files([ledger], [server.ledger], BOUND, killed=True)
        report.breaches = [one for one in report.breaches if "0 beginnings at the client" not in one]  # another's
        self.assertFalse(report.breaches, report)
        self.assertTrue(report.outcomes, "no call was made")
        self.assert_all_ok(report)

    async def settled(self, server: Server) -> tuple[dict[str, int], Held]:
        """The gauges of a server on which there is no load. Read twice: the first call makes what it needs."""
        await server.gauges()
        return await server.gauges(), server.held()

    async def assert_settled(self, server: Server, before: tuple[dict[str, int], Held], tasks: int = 150) -> None:
        """I4: the gauges of a server are back where they were. Idle tasks, up to a number, and the descriptors of
        pollers are kept."""
        gauges: dict[str, int] = {}
        now = before[1]

        async def back() -> bool:
            nonlocal gauges, now
            gauges, now = await server.gauges(), server.held()
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


def ended(load: Load) -> bool:
    return load.process.returncode is not None
