"""The bench command: puts load on a server and prints what it measured."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import signal
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import load
import trunkcall
from load import UsageError
from load.flags import Parser
from trunkcall import blocking

from . import mix, threads
from .flags import (
    PROGRAM,
    STOCK,
    add_codec,
    add_compression,
    add_retain_heap,
    add_uvloop,
    check_codec,
    find_compression,
)
from .found import add_choosing, add_registry, blocking_resolvers, choosing, finds, resolvers
from .log import make_logger
from .loop import run_loop
from .security import add_identity, client_tls
from .target import FILES, check_target
from .workload import METHODS, Workload

MISSING = "not there yet"


def bench(words: Sequence[str]) -> int:
    options = load.parse(PROGRAM, METHODS, words, add_flags)
    check(options)
    tls = client_tls(options.extra)
    if options.extra.retain_heap:
        trunkcall.retain_heap()
    if mix.wanted(options.extra):
        result = run_loop(lambda: measure_mix(options, tls), options.extra.uvloop)
        result.print()
        return 0
    if options.extra.asynchronous:
        result = run_loop(lambda: measure(options, tls), options.extra.uvloop)
    else:
        compression = find_compression(options.extra.compression)
        found = blocking_resolvers(options.extra)
        new_client = partial(
            blocking.Client, options.target, resolvers=found, tls=tls, compression=compression, **governing(options)
        )
        result = threads.measure(options, new_client)
    return result.tell(f"{PROGRAM} bench", options.rate)


def add_flags(parser: Parser) -> None:
    add_codec(parser)
    add_compression(parser, "requests, and so of the answers to them")
    parser.add_argument("--tls-ca", metavar="FILE", default="", help="connect with TLS and trust what is in this file")
    add_identity(parser)
    parser.add_argument(
        "--async",
        dest="asynchronous",
        action="store_true",
        help="use the asyncio client; otherwise callers are threads, with the blocking one",
    )
    parser.add_argument("--connection-per-call", action="store_true", help="make a connection for each call")
    parser.add_argument("--inline", action="store_true", help=f"run handlers on the thread that reads ({MISSING})")
    add_registry(parser)
    add_choosing(parser)
    add_uvloop(parser)
    add_retain_heap(parser)
    mix.add_flags(parser)
    parser.epilog = (
        "One line of JSON on stdout is the result; everything else goes to stderr. Calls that failed are among the "
        "calls and in the rate, and are counted in errors; stderr has the first failure. The exit status is 0 unless "
        "no call succeeded, or one failed in the warm-up. If the calls could not be made at --rate, stderr says that "
        "it fell behind, with the rate that was reached. With --mix, --ledger, --timeout or --cancel-share there is a "
        "warm-up only if --warmup is given, which is the same load, and no failure ends the load: the ledger has what "
        "became of each call. A call of Take or Exchange then is a stream of its own, with 3 requests. SIGTERM ends "
        "such load: no more calls are made, and the result is printed when those that run have ended."
    )


def check(options: load.Options) -> None:
    """Turns down what cannot be done."""
    flags = options.extra
    if flags.inline:
        raise UsageError(f"--inline is {MISSING}")
    if not finds(flags, options.target):
        check_target(options.target)
    check_codec(flags.codec)
    find_compression(flags.compression)
    if mix.wanted(flags) and flags.codec == STOCK:
        raise UsageError(f"--codec {STOCK} does not go with --mix, --ledger, --timeout and --cancel-share")
    if options.method in ("EchoStream", "Emit") and flags.connection_per_call:
        raise UsageError("--connection-per-call does not go with EchoStream and Emit, whose calls share a stream")
    if not flags.asynchronous:
        for given, flag in (
            (flags.codec == STOCK, f"--codec {STOCK}"),
            (flags.uvloop, "--uvloop"),
            (mix.wanted(flags), "--mix, --ledger, --timeout or --cancel-share"),
        ):
            if given:
                raise UsageError(f"{flag} needs --async: the blocking client has none of that")


async def measure(options: load.Options, tls: ssl.SSLContext | None) -> load.Result:
    flags: argparse.Namespace = options.extra
    work = Workload(options.method, options.size, flags.codec == STOCK)
    compression = find_compression(flags.compression)
    found = resolvers(flags)
    new_client = partial(
        trunkcall.Client, options.target, resolvers=found, tls=tls, compression=compression, **governing(options)
    )
    if flags.connection_per_call:
        closing: set[asyncio.Task[None]] = set()
        try:
            return await load.run_async(options.config(), [connecting(work, new_client, closing)] * options.callers)
        finally:
            await asyncio.gather(*closing)
    async with new_client(connections=options.connections) as client:
        try:
            await client.connect()
        except trunkcall.StatusError as failed:
            raise load.Failed(str(failed)) from None
        try:
            return await load.run_async(options.config(), [work.new_call(client) for _ in range(options.callers)])
        finally:
            work.end()


async def measure_mix(options: load.Options, tls: ssl.SSLContext | None) -> load.Result:
    """Load that goes on whatever becomes of its calls."""
    flags: argparse.Namespace = options.extra
    mixed, counting = mix.Mix(flags, options.method, options.size), mix.Counting()
    if flags.observe:
        make_logger()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, mixed.stop)
    compression = find_compression(flags.compression)
    interval, answer = flags.keepalive
    new_client = partial(
        trunkcall.Client,
        options.target,
        tls=tls,
        compression=compression,
        keepalive=interval,
        keepalive_timeout=answer,
        resolvers={**FILES, **resolvers(flags)},
        policy_file=flags.policy_file,
        attempt_observer=counting if flags.observe else None,
        **choosing(flags),
    )
    config = options.config()
    warm = dataclasses.replace(config, calls=0, duration=config.warmup, warmup=0.0)
    if config.warmup_calls:  # it was not asked for
        warm.duration = 0.0
    config.warmup = 0.0
    before = 0
    if flags.connection_per_call:
        result = await load.run_async(config, [mixed.new_call(n, new_client) for n in range(options.callers)])
    else:
        async with new_client(connections=options.connections) as client:
            connect = partial(mix.shared, client)
            calls = [mixed.new_call(n, connect) for n in range(options.callers)]
            if warm.duration:
                before = (await load.run_async(warm, calls)).calls
            result = await load.run_async(config, calls)
    if flags.observe and result.calls:
        result.attempts = counting.attempts / (before + result.calls)
    return result


def governing(options: load.Options) -> dict[str, Any]:
    """What is given to clients of load that measures how fast calls are."""
    flags: argparse.Namespace = options.extra
    observer = mix.Counting() if flags.observe else None
    return {"policy_file": flags.policy_file, "attempt_observer": observer, **choosing(flags)}


def connecting(
    work: Workload, new_client: Callable[[], trunkcall.Client], closing: set[asyncio.Task[None]]
) -> load.AsyncCall:
    """A call ends with its answer. It does not wait until the connection has closed, which takes another round trip."""

    async def call() -> None:
        client = await new_client().__aenter__()
        try:
            await work.new_call(client)()
        finally:
            ending = asyncio.create_task(client.close())
            closing.add(ending)
            ending.add_done_callback(closing.discard)

    return call
