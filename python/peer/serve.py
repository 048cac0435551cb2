"""The serve command: answers until a signal comes, then until what runs is answered."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import signal
from collections.abc import Sequence
from typing import Any, cast

from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

import trunkcall
from bench.v1 import bench_pb2_grpc
from example.v1 import user_pb2_grpc
from load import Failed, UsageError
from load.flags import seconds
from trunkcall import processes, registry
from trunkcall.grpcstub import aio

from . import codefirst, faults, native, onward, stock
from .conformance.service import Service
from .flags import (
    FAST,
    STOCK,
    add_codec,
    add_compression,
    add_keepalive,
    add_retain_heap,
    add_uvloop,
    check_codec,
    find_compression,
    make_parser,
)
from .ledger import Ledger
from .log import make_logger
from .loop import run_loop, uvloop_factory
from .security import add_identity, server_tls
from .target import split_address
from .users import Users

NOTES = """One line on stdout, "listening HOST:PORT", says that calls are answered; the log
goes to stderr, also the --unix path if it is not the only address. SIGTERM ends
the server when the calls that run are answered, another one at once, unless it
comes within a tenth of a second: that is the same one, passed on twice.
"""

# How long draining may take before the log says what it waits for, in seconds. Calls that end by then are no news.
QUIET_STOP = 0.1
# The framework's defaults (spec/limits.md 2).
RUNNING_HANDLERS = 16_384
GRACE = 30.0
KEEPALIVE = 60.0
# Bounds how long handlers that do not heed their cancellation can hold up the end of the process, in seconds.
CLOSE_TIME = 1.0


def serve(words: Sequence[str]) -> int:
    flags = parse(words)
    if flags.retain_heap:
        trunkcall.retain_heap()
    if flags.processes > 1:
        return serve_forked(flags)
    run_loop(lambda: answer(flags), flags.uvloop)
    return 0


def serve_forked(flags: argparse.Namespace) -> int:
    """Answers in several processes."""
    logger = make_logger()
    where = addresses(flags)

    def started(listening: list[str]) -> None:
        tell_of_both(flags, logger)
        say_where(listening[-1])

    try:
        status = processes.run(
            lambda: make_server(flags),
            *(one for _, one in where),
            processes=flags.processes,
            grace=flags.grace,
            attempts=1,
            started=started,
            loop_factory=uvloop_factory() if flags.uvloop else None,
        )
    except OSError as error:
        flag = next((flag for flag, one in where if one == error.filename), "listen")
        raise Failed(f"--{flag}: {error.filename}: {error.strerror or error}") from None
    if status != processes.OK:
        raise Failed("a process ended badly, as the log says")
    return 0


def addresses(flags: argparse.Namespace) -> list[tuple[str, str]]:
    """Where to listen, each with its flag: last the one to announce, that of TCP if there is one."""
    both = (("unix", flags.unix and f"unix:{flags.unix}"), ("listen", flags.listen))
    return [(flag, where) for flag, where in both if where]


def tell_of_both(flags: argparse.Namespace, logger: logging.Logger) -> None:
    if flags.unix and flags.listen:
        logger.info("listening", extra={"fields": {"address": f"unix:{flags.unix}"}})


def say_where(address: str) -> None:
    try:
        print(f"listening {address}", flush=True)
    except OSError as error:
        raise Failed(f"cannot say where it listens: {error.strerror}") from None


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = make_parser("serve", NOTES)
    parser.add_argument("--listen", metavar="HOST:PORT", default="", help="address; port 0 takes a free one")
    parser.add_argument("--unix", metavar="PATH", default="", help="Unix socket to listen on, as well or instead")
    add_identity(parser)
    parser.add_argument(
        "--tls-client-ca", metavar="FILE", default="", help="want a certificate of clients that one in this file signed"
    )
    parser.add_argument("--allow-cleartext", action="store_true", help="take connections without TLS too")
    add_codec(parser)
    add_compression(parser, "answers, also to requests that came plain")
    parser.add_argument(
        "--inline", action="store_true", help="run Say and Echo as plain functions on the event loop, without a task"
    )
    add_conformance(parser)
    add_faults(parser)
    help = "name of a registry in which the server is published, such as file:/run/trunkcall"
    parser.add_argument("--registry", metavar="NAME", default="", help=help)
    help = "what its record says besides: weight, zone, version, attributes"
    parser.add_argument("--instance", metavar="JSON", type=instance, default={}, help=help)
    help = "processes that serve, each on one thread, all on the same addresses"
    parser.add_argument("--processes", metavar="N", type=int, default=1, help=help)
    add_uvloop(parser)
    add_retain_heap(parser)
    flags = parser.parse_args(words)
    if not (flags.listen or flags.unix):
        raise UsageError("--listen or --unix is needed")
    if flags.listen:
        try:
            split_address(flags.listen)
        except ValueError:
            raise UsageError(f"--listen {flags.listen}: want HOST:PORT") from None
    if flags.processes < 1:
        raise UsageError("--processes must be at least 1")
    if flags.inline and flags.codec == STOCK:
        raise UsageError(f"--inline needs --codec {FAST}: the stock stubs have no such option")
    if flags.registry and flags.processes > 1:
        raise UsageError("--registry does not go with --processes")
    onward.check(flags)
    check_codec(flags.codec)
    flags.compression = find_compression(flags.compression)
    return flags


def add_conformance(parser: argparse.ArgumentParser) -> None:
    """The flags with which a server takes part in the conformance matrix."""
    help = "answer ConformanceService as well, which the conformance cases call"
    parser.add_argument("--conformance", action="store_true", help=help)
    default = trunkcall.Limits()
    for name, value, what in (
        ("max-message", default.message_bytes, "largest message, in bytes"),
        ("max-calls", default.calls, "calls that may be open on a connection"),
        ("max-metadata", default.metadata_bytes, "metadata of one side of a call, in bytes"),
    ):
        parser.add_argument(f"--{name}", metavar="N", type=int, default=value, help=what)


def add_faults(parser: argparse.ArgumentParser) -> None:
    """The flags with which a server takes part in tests of faults (conformance/peer.md, section 7)."""
    help = "answer FaultService as well, whose handlers misbehave as they are asked to"
    parser.add_argument("--faults", action="store_true", help=help)
    help = "append a line for each beginning and end of a handler whose call has an id"
    parser.add_argument("--ledger", metavar="FILE", default="", help=help)
    help = "the limits of the calls that are served, and what holds for those made --onward (spec/policy.md)"
    parser.add_argument("--policy-file", metavar="FILE", help=help)
    help = "pass calls of Behave on to the server there; needs --faults"
    parser.add_argument("--onward", metavar="ADDR", default="", help=help)
    help = "handlers that may run at once"
    parser.add_argument("--running-handlers", metavar="N", type=int, default=RUNNING_HANDLERS, help=help)
    help = "time after SIGTERM before calls that still run are cut off (default 30s)"
    parser.add_argument("--grace", metavar="D", type=seconds, default=GRACE, help=help)
    add_keepalive(parser, KEEPALIVE)


def limits(flags: argparse.Namespace) -> trunkcall.Limits:
    return trunkcall.Limits(flags.max_message, flags.max_calls, flags.max_metadata)


async def answer(flags: argparse.Namespace) -> None:
    """Serves until a signal comes."""
    logger = make_logger()
    registrar = make_registrar(flags.registry, flags.instance)
    tier = onward.Onward(flags) if flags.onward else None
    server = make_server(flags, registrar, tier)
    # Before anybody can know that the server is there, and signal it.
    signals = Signals()
    async with contextlib.AsyncExitStack() as failing:
        failing.push_async_callback(server.close)
        where = await listen(server, flags)
        if registrar is not None:
            await registrar.published()
        tell_of_both(flags, logger)
        say_where(where)
        failing.pop_all()
    await signals.next()
    try:
        await stop(server, flags.grace, signals, logger)
    finally:
        if tier is not None:
            await tier.close()


INSTANCE = ("weight", "zone", "version", "attributes")


def instance(text: str) -> dict[str, Any]:
    try:
        given: Any = json.loads(text)
    except ValueError as fault:
        raise UsageError(f"--instance: {fault}") from None
    if not isinstance(given, dict) or set(cast("dict[str, Any]", given)) - set(INSTANCE):
        raise UsageError(f"--instance: want an object with {', '.join(INSTANCE)}")
    return cast("dict[str, Any]", given)


def make_registrar(name: str, instance: dict[str, Any]) -> registry.Registrar | None:
    if not name:
        return None
    try:
        return registry.Registrar(registry.open_store(name), **instance)
    except (TypeError, ValueError) as fault:
        raise UsageError(f"--registry, --instance: {fault}") from None


def make_server(
    flags: argparse.Namespace, registrar: registry.Registrar | None = None, tier: onward.Onward | None = None
) -> trunkcall.Server:
    server = trunkcall.Server(
        registrar=registrar,
        tls=server_tls(flags),
        allow_cleartext=flags.allow_cleartext,
        compression=flags.compression,
        limits=limits(flags),
        running_handlers=flags.running_handlers,
        policy_file=flags.policy_file,
        interceptors=[Ledger(flags.ledger).intercept] if flags.ledger else (),
        keepalive=flags.keepalive[0],
        keepalive_timeout=flags.keepalive[1],
    )
    register(server, flags)
    if flags.conformance:
        server.register(*Service().handlers())
    if flags.faults:
        server.register(*faults.handlers(server, tier.on_behave if tier is not None else faults.on_behave))
    register_for_grpc(server)
    return server


class Signals:
    """The signals that end a server, as they come."""

    def __init__(self) -> None:
        self._came: asyncio.Queue[None] = asyncio.Queue()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._came.put_nowait, None)

    async def next(self) -> None:
        await self._came.get()

    def forget(self) -> None:
        """Drops the signals that are queued: a program around this one may have passed the last on once more."""
        while not self._came.empty():
            self._came.get_nowait()


def register(server: trunkcall.Server, flags: argparse.Namespace) -> None:
    registrar = aio.Server(server)
    users: Any = user_pb2_grpc  # generated, without types
    users.add_UserServiceServicer_to_server(Users(), registrar)
    server.register(*codefirst.handlers())
    if flags.codec == STOCK:
        bench: Any = bench_pb2_grpc
        bench.add_BenchServiceServicer_to_server(stock.Bench(), registrar)
    else:
        server.register(*native.handlers(flags.inline))


def register_for_grpc(server: trunkcall.Server) -> None:
    """Serves what clients of gRPC expect to find beside the services that they came for, by gRPC's own code: health and
    reflection. The latter lists what was registered before."""
    registrar = aio.Server(server)
    servicer: Any = health  # both without types
    code: Any = health_pb2_grpc
    code.add_HealthServicer_to_server(servicer.aio.HealthServicer(), registrar)
    reflection.enable_server_reflection([*registrar.services, reflection.SERVICE_NAME], registrar)


async def listen(server: trunkcall.Server, flags: argparse.Namespace) -> str:
    """Opens the listeners and returns the address to announce: the TCP one if there is one."""
    announced = ""
    for flag, where in addresses(flags):
        try:
            announced = await server.listen(where)
        except OSError as error:
            raise Failed(f"--{flag}: {where}: {error.strerror or error}") from None
    return announced


async def stop(server: trunkcall.Server, grace: float, signals: Signals, logger: logging.Logger) -> None:
    """Drains the server for as long as `grace`; another signal cuts that short."""
    draining = asyncio.create_task(server.stop(grace))
    await asyncio.wait((draining,), timeout=QUIET_STOP)
    signals.forget()
    cut = asyncio.create_task(signals.next())
    if not draining.done() and server.running:
        text = "waiting for calls that still run; another signal cuts them off"
        logger.info(text, extra={"fields": {"calls": server.running}})
    await asyncio.wait((draining, cut), return_when=asyncio.FIRST_COMPLETED)
    if not draining.done():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(server.close(), CLOSE_TIME)
        draining.cancel()
        raise Failed("a second signal came: calls that were running are cut off")
    cut.cancel()
    if not await draining:
        raise Failed("the grace period is over: calls that still ran were cut off")
