"""Faults of group processes: one of several that serve on one listener dies, or all are to end."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

from .faults.kit import ACROSS, THEMSELVES, FaultTest, each, elsewhere, size, until
from .faults.ledger import Line, gather, read
from .faults.process import Server
from .languages import having

MANY = "3"
FORKING = having("faults", "processes")


FORKED = [setting for setting in THEMSELVES if setting.server in FORKING]
FORKED_ACROSS = [setting for setting in ACROSS if setting.server in FORKING]


@each(*FORKED, in_full=[*FORKED_ACROSS, *elsewhere(FORKED + FORKED_ACROSS)])
class Processes(FaultTest):
    async def test_one_that_is_killed_loses_its_own_calls_alone(self) -> None:
        server = await self.serve("--processes", MANY)
        load = await self.load(
            server.address,
            "--mix Behave=4,Take,Exchange,Pour --callers 30 --connection-per-call --timeout 20s --duration 1h",
            waitMs=20,
            answers=3,
        )
        serving, killed = await self.all_serve(server, 0), set[str]()
        for _ in range(size(2, 6)):
            await self.executes([server])
            await asyncio.sleep(1.2)  # one that dies within a second of its start would end all (peer.md 3)
            one = children(server)[0]
            os.kill(one, signal.SIGKILL)
            await until("it has ended", lambda one=one: one not in children(server))  # type: ignore[misc]
            left = await self.all_serve(server, time.monotonic_ns())
            killed |= serving - left
            serving = left
        await load.stop()
        self.assertEqual(len(killed), size(2, 6))
        report = self.check()  # none was executed twice, and what is said of each is true
        self.assertGreater(report.outcomes["OK", "executed"], 100, report)
        self.assertGreater(report.outcomes["UNAVAILABLE", "unknown"], 0, report)
        for call in gather(read(self.client_ledgers), read([server.ledger])).values():
            if any(worker_of(one.begin) not in killed for one in call.executions):
                self.assertEqual([end["code"] for end in call.ends], ["OK"], call)

    async def all_serve(self, server: Server, since: int) -> set[str]:
        """Waits until as many processes as there should be have executed calls since then; which."""
        found: set[str] = set()

        def enough() -> bool:
            found.update(worker_of(line) for line in read([server.ledger]) if line["at"] > since)
            return len(found) == int(MANY)

        await until("all processes serve", enough)
        return found

    async def test_all_end_without_losing_a_call(self) -> None:
        """Two servers of several processes take turns."""
        servers = [await self.serve("--processes", MANY), await self.serve("--processes", MANY)]
        load = await self.load(
            ",".join(server.address for server in servers),
            "--mix Say=4,Echo,Behave=4 --callers 30 --connections 3 --duration 1h",
            waitMs=5,
        )
        for turn in range(size(3, 8)):
            await self.executes(servers)
            ending = servers[turn % 2]
            self.assertEqual(await ending.stop(), 0, ending.log())
            await ending.start()
        await load.stop()
        self.assert_all_ok(self.check())


def children(server: Server) -> list[int]:
    listed = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text(encoding="ascii")
    return [int(word) for word in listed.split()]


def worker_of(line: Line) -> str:
    """Which process has written a line: what its executions have in common."""
    return str(line["execution"]).partition("-")[0]
