"""Faults of group churn: servers that come and go in a set that changes by the hundred, under load."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

from .faults.kit import ACROSS, THEMSELVES, FaultTest, each, elsewhere, size
from .faults.ledger import read
from .faults.process import Server

SEED = 14


def put(path: Path, servers: list[Server]) -> None:
    """Replaces the set that the client's resolver reads."""
    fresh = path.with_suffix(".new")
    fresh.write_text("".join(server.address + "\n" for server in servers), encoding="ascii")
    fresh.replace(path)


# In small test_faults_endpoints.py has the client of another language.
@each(
    *(one for one in THEMSELVES if one.server.hub),
    in_full=[*ACROSS, *(one for one in THEMSELVES if not one.server.hub), *elsewhere([*THEMSELVES, *ACROSS])],
)
class Churn(FaultTest):
    async def test_endpoints_that_come_and_go_lose_no_call(self) -> None:
        """A server leaves the set before it stops, as one does whose registry is told first."""
        draw = random.Random(SEED)
        servers = [await self.serve() for _ in range(5)]
        path = self.folder / "endpoints"
        put(path, servers)
        load = await self.load(
            f"file:{path}",
            "--mix Say=4,Echo,Behave=4 --callers 30 --connections 2 --duration 1h",
            waitMs=2,
        )
        away: Server | None = None
        for turn in range(size(50, 200)):
            present = [server for server in servers if server is not away]
            chosen = draw.sample(present, draw.randint(2, len(present)))
            put(path, chosen)
            if turn % 10 == 9:
                if away:
                    await away.start()
                away = draw.choice(servers)
                rest = [server for server in servers if server is not away]
                put(path, rest)
                await self.executes(rest)
                self.assertEqual(await away.stop(), 0, away.log())
            else:
                await asyncio.sleep(draw.uniform(0, 0.02))  # a change may come at any time
        if away:
            await away.start()
        await load.stop()
        self.assert_all_ok(self.check())

    async def test_servers_that_are_killed_are_avoided_and_what_is_said_of_each_call_is_true(self) -> None:
        servers = [await self.serve() for _ in range(3)]
        load = await self.load(
            ",".join(server.address for server in servers),
            "--mix Say=2,Behave=4 --callers 30 --connections 2 --timeout 30s-60s --duration 1h",
            waitMs=2,
        )
        for turn in range(size(4, 12)):
            server = servers[turn % 3]
            await self.executes([server])
            await server.kill()
            await self.executes([other for other in servers if other is not server])
            await server.start()
        await load.stop()
        outcomes = self.check().outcomes
        self.assertGreater(outcomes["OK", "executed"], 0)
        unsent = {code for code, delivery in outcomes if delivery == "not_sent"}
        self.assertLessEqual(unsent, {"UNAVAILABLE"})
        # Two servers are always there: nothing waits until its deadline, which is far away on a busy machine, too.
        self.assertNotIn("DEADLINE_EXCEEDED", {code for code, _ in outcomes})

    async def test_calls_are_spread_evenly(self) -> None:
        servers = [await self.serve() for _ in range(4)]
        load = await self.load(
            ",".join(server.address for server in servers), f"--mix Say --callers 8 --calls {size(4000, 20000)}"
        )
        await load.end()
        self.assert_all_ok(self.check())
        run = Counter({i: sum(line["event"] == "begin" for line in read([s.ledger])) for i, s in enumerate(servers)})
        # The client begins to call when the first is connected: those calls go there alone.
        self.assertGreater(min(run.values()), run.total() / 4 / 2, run)
