"""The client in Python that measure.py has look at a registry: `watch` of go/measure/main.go, which says what it tells.

python -m conformance.registries.watch --registry NAME --count N
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import socket
import sys
import time
from bisect import bisect_left
from collections.abc import Sequence

from google.protobuf.empty_pb2 import Empty

import trunkcall
from peer.faults import heap_bytes
from trunkcall import registry

SERVICE = "trunkcall.measure.v1.Many"
MARKED = "changing-"  # the ids that come and go: sets are in the order of the ids
BEHIND = "changing."
NEVER = trunkcall.unary(f"/{SERVICE}/Never", Empty, Empty)


def say(what: str, id: str, at: int) -> None:
    print(what, id, at, flush=True)


class Watching:
    """A balancer that tells of the endpoints that come and go. It is lazy, so that it is given all of them."""

    lazy = True

    def __init__(self, count: int) -> None:
        self._count = count
        self._there: set[str] = set()
        self._ready = False

    def balance(self, endpoints: Sequence[trunkcall.EndpointState]) -> trunkcall.Picker:
        at = time.monotonic_ns()  # what is done here is not the client's
        begin, end = (bisect_left(endpoints, mark, key=lambda one: one.endpoint.id) for mark in (MARKED, BEHIND))
        there = {one.endpoint.id for one in endpoints[begin:end]}
        for id in there - self._there:
            say("came", id, at)
        for id in self._there - there:
            say("went", id, at)
        self._there = there
        if not self._ready and len(endpoints) >= self._count:
            self._ready = True
            print("ready", len(endpoints), flush=True)
        return trunkcall.first().balance(endpoints[:1])


async def nobody(address: str, endpoint: trunkcall.Endpoint) -> socket.socket:
    await asyncio.Event().wait()
    raise AssertionError


def resident(which: str) -> int:
    """VmRSS or VmHWM, in bytes."""
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{which}:"))


async def watch(name: str, count: int) -> None:
    gc.collect()
    before, heap = resident("VmRSS"), heap_bytes()
    finding = registry.resolver(registry.open_registry(name))
    async with trunkcall.Client(
        f"registry:{SERVICE}", resolvers={"registry": finding}, balancer=Watching(count), dialer=nobody
    ) as client:
        # A call that waits looks at each set, and goes nowhere.
        options = trunkcall.CallOptions(wait_for_ready=True)
        calling = asyncio.ensure_future(client.unary(NEVER, Empty(), options))
        await asyncio.to_thread(sys.stdin.readline)
        gc.collect()
        print("memory", before, resident("VmHWM"), heap, heap_bytes(), flush=True)
        calling.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--registry", required=True, metavar="NAME")
    parser.add_argument("--count", type=int, default=10_000, metavar="N")
    options = parser.parse_args()
    asyncio.run(watch(options.registry, options.count))


if __name__ == "__main__":
    main()
