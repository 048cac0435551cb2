"""Mixed load for a long time, with cancels, resets and restarts: nothing may be kept of it, and no promise broken.

    python -m conformance.faults.soak [--client LANGUAGE] [--server LANGUAGE] [--for 10m] [--every 10s] [--seed N]

Two servers stand behind fault proxies that reset connections at random. Clients put mixed load on both, which gives up
some of its calls and has deadlines for all. One of the servers is stopped in order and started again now and then; the
other runs through, and so do the clients: of those the gauges and the memory are read at intervals, in a table that is
printed as it grows. At the end the ledgers are checked, and the slopes: what is held in the last third of the time,
beside the second. The exit status is 1 if something was kept or broken.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness import processes
from harness.durations import seconds
from harness.languages import Language, hub, named
from harness.processes import Process
from harness.proxy import Proxy

from .kit import BOUND, read_gauges, until
from .ledger import check_files
from .process import Load, Server, held

RULES = "* up: pass 200000-4000000; reset"
MIX = "Say=6,Echo=2,Behave=3,Take,Exchange,Pour"
FEW = '--behaviour {"answers":3,"waitMs":1}'
RATE = 1500
# Calls a second, or a share of that, and the rest of the flags.
LOADS = (
    # Small calls of every kind, of which some are given up.
    (
        RATE,
        f"--mix {MIX} --callers 12 --connections 3 --timeout 1ms-2s --cancel-share 0.1 --cancel-after 3ms {FEW}",
    ),
    # Large messages, both ways.
    (
        15,
        "--mix Echo,Pour,Take --size 300000 --callers 3 --connections 2 --timeout 5s"
        f' --behaviour {{"answers":3,"answerBytes":200000,"padding":"{"A" * 40_000}"}}',
    ),
    # Handlers that take no notice of the end of their calls.
    (200, '--mix Behave --callers 10 --timeout 1ms-30ms --behaviour {"waitMs":20,"stubborn":true}'),
)
# Of what a client and a server alone can do: here are two of each, and proxies between them.
SHARE = 0.15

MIB = 1 << 20


@dataclass(frozen=True)
class Reading:
    """What processes hold at a moment: the server that runs through, and all clients together."""

    at: float
    running: int
    tasks: int
    heap: int
    descriptors: int
    resident: int
    client_descriptors: int
    client_resident: int

    COLUMNS = "      s  running   tasks  heap MiB     fds   RSS MiB  client fds  client RSS MiB"

    def __str__(self) -> str:
        return (
            f"{self.at:7.0f} {self.running:8d} {self.tasks:7d} {self.heap / MIB:9.1f} {self.descriptors:7d}"
            f" {self.resident / MIB:9.1f} {self.client_descriptors:11d} {self.client_resident / MIB:15.1f}"
        )


# What may be more in the last third than in the second: a share, and so much in any case.
SLACK = {
    "running": (0.3, 20),
    "tasks": (0.3, 60),
    "heap": (0.2, 4 * MIB),
    "descriptors": (0.2, 10),
    "resident": (0.15, 8 * MIB),
    "client_descriptors": (0.2, 10),
    "client_resident": (0.15, 12 * MIB),
}


def slopes(readings: list[Reading]) -> list[str]:
    """What has grown: medians of the last third beside those of the second, when all is warm."""
    third = len(readings) // 3
    if third < 2:
        return ["too short: there are fewer than 6 readings"]
    found = []
    for name, (share, least) in SLACK.items():
        values = [getattr(reading, name) for reading in readings]
        before, after = statistics.median(values[third : 2 * third]), statistics.median(values[2 * third :])
        if after - before > max(share * before, least):
            found.append(f"{name} grew from {before:.0f} to {after:.0f}")
    return found


class Soak:
    def __init__(
        self, client: Language, server: Language, folder: Path, seconds: float, every: float, seed: int
    ) -> None:
        self.client = client
        self.server = server
        self.folder = folder
        self.seconds = seconds
        self.every = every
        self.seed = seed
        self.readings: list[Reading] = []
        self.restarts = 0

    async def run(self) -> list[str]:
        """Runs it; what was wrong."""
        program = self.server.program
        servers = [Server(program, self.folder / f"{n}.log", self.folder / f"server{n}", ()) for n in range(2)]
        for server in servers:
            await server.start()
        share = await self.share(servers[0])
        async with (
            Proxy(servers[0].address, RULES, seed=self.seed) as steady,
            Proxy(servers[1].address, RULES, seed=self.seed + 1) as changing,
        ):
            loads = [await self.load(n, proxy, share) for n, proxy in enumerate((steady, changing))]
            flat = [load for of_proxy in loads for load in of_proxy]
            await asyncio.gather(self.read(servers[0], flat), self.restart(servers[1]))
            for load in flat:
                await load.end()
            print(f"{steady.connections + changing.connections} connections, {self.restarts} restarts", flush=True)
        faults = slopes(self.readings)
        for server in servers:
            if await server.stop() != 0:
                faults.append(f"a server ended badly: {server.log()}")
        report = check_files([load.ledger for load in flat], [server.ledger for server in servers], BOUND)
        print(report)
        return faults + (["promises were broken"] if report.breaches else [])

    async def share(self, server: Server) -> float:
        """The share of the load that leaves this pair of programs, on this machine, time for everything."""
        flags = f"--mix {MIX} --callers 12 --connections 3 --duration 3s {FEW}"
        words = ("bench", *self.client.peer.bench, "--target", server.address, *flags.split())
        measured = await Load(Process([*self.client.program, *words]), server.ledger).end()
        share = min(SHARE * measured["rate"] / RATE, 1.0)
        print(f"{measured['rate']:.0f} calls/s back to back; {100 * share:.0f} % of the load", flush=True)
        return share

    async def load(self, number: int, proxy: Proxy, share: float) -> list[Load]:
        loads = []
        for n, (rate, flags) in enumerate(LOADS):
            ledger = self.folder / f"client{number}-{n}"
            words = ("bench", *self.client.peer.bench, "--target", proxy.address, "--ledger", str(ledger))
            more = ("--duration", f"{self.seconds:.0f}s", "--seed", str(self.seed + n), "--rate", str(share * rate))
            load = Load(Process([*self.client.program, *words, *more, *flags.split()]), ledger)
            await until("the load begins", lambda path=ledger: path.exists() and path.stat().st_size > 0)  # type: ignore[misc]
            loads.append(load)
        return loads

    async def read(self, server: Server, loads: list[Load]) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        print(Reading.COLUMNS, flush=True)
        while (at := loop.time() - began) < self.seconds - self.every / 2:
            await asyncio.sleep(self.every)
            gauges, own = await read_gauges(server.address), server.held()
            clients = [held(load.pid) for load in loads if load.running]
            if len(clients) < len(loads):
                return
            reading = Reading(
                at + self.every, gauges["running"], gauges["tasks"], gauges["heapBytes"], own.descriptors, own.resident,
                sum(one.descriptors for one in clients), sum(one.resident for one in clients),
            )  # fmt: skip
            self.readings.append(reading)
            print(reading, flush=True)

    async def restart(self, server: Server) -> None:
        """Stops the server in order and starts it again, a few times in all."""
        pause = max(self.seconds / 8, 5)
        for _ in range(6):
            await asyncio.sleep(pause)
            await server.stop()
            await server.start()
            self.restarts += 1


def time(text: str) -> float:
    try:
        return seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for role in ("client", "server"):
        parser.add_argument(f"--{role}", default=hub().key, metavar="LANGUAGE", help=f"{hub().key} unless given")
    parser.add_argument("--for", dest="time", type=time, default=600.0, metavar="D", help="how long: 10m unless given")
    parser.add_argument("--every", type=time, metavar="D", help="how often gauges are read: a 30th of it unless given")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak") as folder:
        pair = named(options.client), named(options.server)
        soak = Soak(*pair, Path(folder), options.time, options.every or max(options.time / 30, 1), options.seed)
        try:
            faults = asyncio.run(soak.run())
        finally:
            processes.end_all()
    print("\n".join(faults) or "nothing was kept, no promise was broken")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
