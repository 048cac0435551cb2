"""What the features of a client and its servers cost a unary call: each switched on in turn, then all of them, beside
the same without. The 581-byte message over loopback; CPU of this process per call, in rounds of all features in a
random order.

PYTHONPATH=src:gen:. python bench/features.py [--uvloop] [--apart] [--tasks N] [--rounds N] [--calls N] [--only NAME …]
                                              [--profile NAME]

The servers are in the same process, so that a figure is that of both sides; `--apart` has them in another, and then a
figure is that of the client. Each quotient is the median of those of the rounds. `--only` leaves out all features but
those that are named, and `none`. `--profile` counts what functions are called how often in a call with that feature.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import trunkcall
from bench.v1 import bench_pb2 as pb
from load.message import request
from trunkcall import registry

RETRIES = "defaults:\n  timeout: 10s\n  idempotent: true\n  retries:\n    attempts: 3\n"
BREAKER = f"{RETRIES}  breaker:\n    percent: 50\n"
LIMITS = f"{BREAKER}  rate:\n    per_second: 1000000\n  concurrency:\n    limit: 1000\n"
SERVER = "defaults:\n  server_rate:\n    per_second: 1000000\n  server_concurrency:\n    limit: 1000\n"


@dataclass(frozen=True)
class Feature:
    """What one client and its servers have switched on."""

    name: str
    servers: int = 1
    found: bool = False
    """The servers are found in a registry."""

    client: str = ""
    """The client's policy file."""

    server: str = ""
    """Likewise of the servers."""

    observed: bool = False

    @property
    def service(self) -> str:
        """The name in the registry."""
        return self.name.replace(" ", "-")


FEATURES = (
    Feature("none"),
    Feature("balancing", servers=3),
    Feature("registry", servers=3, found=True),
    Feature("observer", observed=True),
    Feature("retries", client=RETRIES),
    Feature("breaker", client=BREAKER),
    Feature("limits", client=LIMITS),
    Feature("server limits", server=SERVER),
    Feature("all", servers=3, found=True, client=BREAKER, observed=True),
    Feature("all and limits", servers=3, found=True, client=LIMITS, server=SERVER, observed=True),
)

say = trunkcall.unary("/bench.v1.Bench/Say", pb.BenchmarkMessage, pb.BenchmarkMessage)


async def answer(request: pb.BenchmarkMessage, call: trunkcall.ServerCall) -> pb.BenchmarkMessage:
    request.field1 = "OK"
    request.field2 = 100
    return request


class Counting:
    """The attempt observer."""

    def __init__(self) -> None:
        self.ended = 0

    def attempt_began(self, attempt: trunkcall.CallAttempt) -> None:
        pass

    def attempt_ended(self, attempt: trunkcall.CallAttempt) -> None:
        self.ended += 1


def policy(folder: Path, name: str, text: str) -> Path | None:
    if not text:
        return None
    file = folder / f"{name}.yaml"
    file.write_text(f"policy: 1\n{text}...\n")
    return file


async def serve(features: list[Feature], folder: Path, stack: AsyncExitStack) -> dict[str, str]:
    """The targets of their clients, by feature."""
    targets: dict[str, str] = {}
    for feature in features:
        addresses: list[str] = []
        store = registry.Folder(folder)
        for _ in range(feature.servers):
            registrar = registry.Registrar(store, names=[feature.service])
            file = policy(folder, f"server {feature.name}", feature.server)
            server = trunkcall.Server(registrar=registrar if feature.found else None, policy_file=file)
            server.register(say.handler(answer))
            addresses.append(await server.listen("127.0.0.1:0"))
            stack.push_async_callback(server.stop, 0)
            if feature.found:
                await registrar.published()
        targets[feature.name] = ",".join(addresses)
        if feature.found:
            targets[feature.name] = f"registry:{feature.service}"
    return targets


async def connected(feature: Feature, target: str, folder: Path) -> trunkcall.Client:
    client = trunkcall.Client(
        target,
        resolvers={"registry": registry.resolver(registry.Folder(folder))} if feature.found else None,
        policy_file=policy(folder, f"client {feature.name}", feature.client),
        attempt_observer=Counting() if feature.observed else None,
    )
    await client.connect()
    while sum(one.state is trunkcall.State.READY for one in client.endpoints) < feature.servers:
        await client._changed()
    return client


async def measured(client: trunkcall.Client, tasks: int, calls: int) -> float:
    """µs of this process's CPU for each of so many calls, by so many tasks."""
    message = request()

    async def caller() -> None:
        for _ in range(calls // tasks):
            await client.call(say, message)

    begun = time.process_time()
    await asyncio.gather(*(caller() for _ in range(tasks)))
    return (time.process_time() - begun) / (calls // tasks * tasks) * 1e6


@contextmanager
def counted(calls: int) -> Iterator[None]:
    """Prints how often each function is called, in C too, for each of so many calls."""
    found: Counter[str] = Counter()

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            found[f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno} {frame.f_code.co_qualname}"] += 1
        elif event == "c_call":
            found[f"C {getattr(argument, '__qualname__', argument)}"] += 1

    sys.setprofile(note)
    yield
    sys.setprofile(None)
    for name, times in found.most_common(100):
        if times >= calls * 0.2:
            print(f"{times / calls:6.2f}  {name}")


async def compare(options: argparse.Namespace, features: list[Feature], targets: dict[str, str], folder: Path) -> None:
    async with AsyncExitStack() as stack:
        clients = {one.name: await connected(one, targets[one.name], folder) for one in features}
        for client in clients.values():
            stack.push_async_callback(client.close)
            await measured(client, options.tasks, options.calls)  # to warm up
        if options.profile:
            with counted(options.calls // options.tasks * options.tasks):
                await measured(clients[options.profile], options.tasks, options.calls)
            return
        figures: dict[str, list[float]] = {name: [] for name in clients}
        for _ in range(options.rounds):
            for name in random.sample(list(clients), len(clients)):
                figures[name].append(await measured(clients[name], options.tasks, options.calls))
    report(figures)


def report(figures: dict[str, list[float]]) -> None:
    plain = figures["none"]
    for name, each in figures.items():
        quotients = sorted(one / other for one, other in zip(each, plain, strict=True))
        low, high = quotients[len(quotients) // 4], quotients[-1 - len(quotients) // 4]
        times = f"{statistics.median(quotients):.3f} ({low:.3f} to {high:.3f})"
        print(f"{name:16} {statistics.median(each):6.2f} us of CPU a call, {times} times that of none")


def run(options: argparse.Namespace, work: Coroutine[Any, Any, None]) -> None:
    if options.uvloop:
        import uvloop

        uvloop.run(work)
    else:
        asyncio.run(work)


async def together(options: argparse.Namespace, features: list[Feature], folder: Path) -> None:
    async with AsyncExitStack() as stack:
        await compare(options, features, await serve(features, folder, stack), folder)


def aside(options: argparse.Namespace, features: list[Feature], folder: Path, pipe: Connection) -> None:
    async def work() -> None:
        async with AsyncExitStack() as stack:
            pipe.send(await serve(features, folder, stack))
            await asyncio.get_running_loop().run_in_executor(None, pipe.recv)

    run(options, work())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--uvloop", action="store_true", help="uvloop instead of asyncio's own loop")
    parser.add_argument("--apart", action="store_true", help="servers in another process")
    parser.add_argument("--tasks", type=int, default=100, help="that call at a time")
    parser.add_argument("--rounds", type=int, default=51)
    parser.add_argument("--calls", type=int, default=2000, help="of each feature in a round")
    parser.add_argument("--only", action="append", choices=[one.name for one in FEATURES])
    parser.add_argument("--profile", choices=[one.name for one in FEATURES])
    options = parser.parse_args()
    wanted = {"none", *(options.only or ([options.profile] if options.profile else [one.name for one in FEATURES]))}
    features = [one for one in FEATURES if one.name in wanted]
    with tempfile.TemporaryDirectory() as name:
        if not options.apart:
            run(options, together(options, features, Path(name)))
            return
        mine, theirs = multiprocessing.Pipe()
        start = multiprocessing.get_context("spawn").Process
        process = start(target=aside, args=(options, features, Path(name), theirs))
        process.start()
        run(options, compare(options, features, mine.recv(), Path(name)))
        mine.send("end")
        process.join()


if __name__ == "__main__":
    main()
