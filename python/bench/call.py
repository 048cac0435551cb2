"""Unary calls of the 581-byte message over loopback: a server in a process of its own, CPU and rate of each side.

PYTHONPATH=src:gen:. python bench/call.py [--asyncio] [--tasks N] [--seconds S] [--connections N] [--inline] [--raw]
                                          [--profile client|server]
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import multiprocessing
import pstats
import time
from collections.abc import Coroutine
from multiprocessing.connection import Connection
from typing import Any

import trunkcall
from bench.v1 import bench_pb2 as pb
from load.message import request


def methods() -> tuple[Any, Any]:
    return (
        trunkcall.unary("/bench.v1.Bench/Say", pb.BenchmarkMessage, pb.BenchmarkMessage),
        trunkcall.unary("/bench.v1.Bench/Raw", bytes, bytes),
    )


def run(options: argparse.Namespace, work: Coroutine[Any, Any, None]) -> None:
    if options.asyncio:
        asyncio.run(work)
    else:
        import uvloop

        uvloop.run(work)


async def say(request: pb.BenchmarkMessage, call: trunkcall.ServerCall) -> pb.BenchmarkMessage:
    request.field1 = "OK"
    request.field2 = 100
    return request


def say_inline(request: pb.BenchmarkMessage, call: trunkcall.ServerCall) -> pb.BenchmarkMessage:
    request.field1 = "OK"
    request.field2 = 100
    return request


async def raw(request: bytes, call: trunkcall.ServerCall) -> bytes:
    return request


def serve(options: argparse.Namespace, pipe: Connection) -> None:
    async def work() -> None:
        typed, plain = methods()
        server = trunkcall.Server()
        server.register(
            typed.handler(say_inline, inline=True) if options.inline else typed.handler(say), plain.handler(raw)
        )
        pipe.send(await server.listen("127.0.0.1:0"))
        loop = asyncio.get_running_loop()
        while True:
            word = await loop.run_in_executor(None, pipe.recv)
            if word == "end":
                break
            pipe.send(time.process_time())
        await server.stop()

    with profiled(options.profile == "server"):
        run(options, work())


class profiled:
    def __init__(self, on: bool) -> None:
        self.profile = cProfile.Profile() if on else None

    def __enter__(self) -> None:
        if self.profile:
            self.profile.enable()

    def __exit__(self, *_: object) -> None:
        if self.profile:
            self.profile.disable()
            pstats.Stats(self.profile).sort_stats("tottime").print_stats(30)


async def caller(client: trunkcall.Client, method: Any, message: Any, end: float) -> int:
    """Calls until `end` and returns how often."""
    calls = 0
    while time.perf_counter() < end:
        await client.call(method, message)
        calls += 1
    return calls


async def load(options: argparse.Namespace, address: str, pipe: Connection) -> None:
    typed, plain = methods()
    method, message = (plain, bytes(581)) if options.raw else (typed, request())
    codec = trunkcall.RAW if options.raw else trunkcall.PROTOBUF
    async with trunkcall.Client(address, codec=codec, connections=options.connections) as client:
        await client.connect()
        for seconds in (0.5, options.seconds):  # the first to warm up
            pipe.send("cpu")
            theirs, mine, begun = pipe.recv(), time.process_time(), time.perf_counter()
            end = begun + seconds
            calls = sum(await asyncio.gather(*(caller(client, method, message, end) for _ in range(options.tasks))))
            took, mine = time.perf_counter() - begun, time.process_time() - mine
            pipe.send("cpu")
            theirs = pipe.recv() - theirs
        each = [seconds / calls * 1e6 for seconds in (mine, theirs)]
        print(f"{calls / took:.0f} calls/s, client {each[0]:.2f} us, server {each[1]:.2f} us of CPU a call")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--asyncio", action="store_true", help="asyncio's own loop instead of uvloop")
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--inline", action="store_true")
    parser.add_argument("--raw", action="store_true", help="bytes instead of Protobuf")
    parser.add_argument("--profile", choices=("client", "server"))
    options = parser.parse_args()
    mine, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(options, theirs))
    process.start()
    with profiled(options.profile == "client"):
        run(options, load(options, mine.recv(), mine))
    mine.send("end")
    process.join()


if __name__ == "__main__":
    main()
