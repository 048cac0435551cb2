"""A program that serves in several processes, for tests to start and signal.

    python -m tests.processes.program WAY [ADDRESS]

WAY is the name of one of the functions in WAYS below."""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import logging
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.public.kit import ECHO, TWICE, echo, twice
from trunkcall import RAW, Server, ServerCall, blocking, processes, unary
from trunkcall.processes import child, places

WHO = unary("/test.Service/Who", bytes, bytes)
STAND_STILL = unary("/test.Service/StandStill", bytes, bytes)
LEAVE = unary("/test.Service/Leave", bytes, bytes)
ASK = unary("/test.Service/Ask", bytes, bytes)

FAILS = "FAILS"  # names a file: while it is there, processes fail as they begin
FALLS = "FALLS"  # and here as soon as they serve


async def who(request: bytes, call: ServerCall) -> bytes:
    return str(os.getpid()).encode()


def stand_still(request: bytes, call: ServerCall) -> bytes:
    print("stands still", file=sys.stderr, flush=True)
    while True:
        time.sleep(60)


def make() -> Server:
    if FAILS in os.environ and Path(os.environ[FAILS]).exists():
        raise OSError("no database is there")
    server = Server()
    leaving: set[asyncio.Task[bool]] = set()

    async def leave(request: bytes, call: ServerCall) -> bytes:
        leaving.add(asyncio.create_task(server.stop(60)))
        return b""

    server.register(WHO.handler(who), ECHO.handler(echo), TWICE.handler(twice), LEAVE.handler(leave))
    server.register(STAND_STILL.handler(stand_still, inline=True))
    return server


def serve(factory: Any, **options: Any) -> int:
    def started(addresses: list[str]) -> None:
        print("listening", *addresses, flush=True)

    where = sys.argv[2:] or ["127.0.0.1:0"]
    return processes.run(factory, *where, **{"processes": 2, "started": started, "grace": 60.0, **options})


def ordinary() -> int:
    return serve(make)


def on_uvloop() -> int:
    import uvloop

    return serve(make, loop_factory=uvloop.new_event_loop)


def hurried() -> int:
    """Kills what does not end within two seconds."""
    child.MARGIN = 1.0
    setattr(places, "MARGIN", 1.0)  # noqa: B010 (its copy)
    return serve(make, grace=0)


def falling() -> int:
    """While the file is there, processes say that they serve and end at once."""
    say = child.Child._say

    def say_and_end(self: child.Child, word: str) -> None:
        say(self, word)
        if word.startswith("ready") and Path(os.environ[FALLS]).exists():
            os._exit(7)

    setattr(child.Child, "_say", say_and_end)  # noqa: B010
    return serve(make)


def watched() -> int:
    return serve(make, health=3.0)


def late() -> int:
    """A process that is not done with beginning in time."""

    async def never() -> Server:
        await asyncio.Event().wait()
        return make()

    return serve(never, start_timeout=1, attempts=1)


def in_three_ways() -> int:
    """The server is made by a function that waits, then by a context manager, then by nobody."""

    async def waits() -> Server:
        await asyncio.sleep(0)
        return make()

    @asynccontextmanager
    async def around() -> AsyncIterator[Server]:
        yield make()
        print("after the server", flush=True)

    return serve(waits, processes=1) or serve(around, processes=1) or serve(make(), processes=1)


def with_a_client() -> int:
    """A blocking client is used before the processes are forked, and in their handlers. What it calls is argv[3]."""
    client = blocking.Client(sys.argv.pop(), codec=RAW)

    def ask(request: bytes, call: ServerCall) -> bytes:
        return client.call(ECHO, request)

    def asks() -> Server:
        server = make()
        server.register(ASK.handler(ask))
        return server

    client.call(ECHO, b"before")
    status = serve(asks)
    client.call(ECHO, b"behind")
    client.close()
    return status


def scarce() -> int:
    """At times the system has no process to give: argv[3] says at which forks."""
    fork, count, fails = os.fork, itertools.count(1), json.loads(sys.argv.pop())

    def fork_or_fail() -> int:
        if next(count) in fails:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return fork()

    os.fork = fork_or_fail
    return serve(make, attempts=2)


WAYS = (ordinary, on_uvloop, hurried, falling, watched, late, in_three_ways, with_a_client, scarce)

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    sys.exit(next(way for way in WAYS if way.__name__ == sys.argv[1])())
