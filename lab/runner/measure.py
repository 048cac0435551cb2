"""One run: a fresh server, a fresh client, and the figures they and the system give."""

import asyncio
import contextlib
import json
import math
import os
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from harness.processes import LOOK, Failed, Process, Server, read_all
from harness.proxy import Proxy

from . import sampling
from .conversation import Conversation

CLIENT_KEYS = (
    "calls", "errors", "seconds", "rate", "mean_us", "p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "max_us",
    "cpu_us",
)  # fmt: skip
SERVICE = "trunkcall.bench.v1.BenchService"
ALLOCATIONS = "allocations "  # how lines begin in which a server tells of them
SAMPLE_EVERY = 0.05
# Shorter than this the CPU clocks' samples say too little.
SHORTEST_CPU_WINDOW = 0.2

Command = list[str]
ClientFor = Callable[[str], Command]


@dataclass
class Outcome:
    """Figures by metric name, what the client printed, and what else was seen."""

    figures: dict[str, float]
    client: dict = field(default_factory=dict)
    seen: dict[str, float] = field(default_factory=dict)


class Serving:
    """Servers that share the load, under one address."""

    def __init__(self, commands: list[Command], root: str, running: contextlib.ExitStack) -> None:
        self.all = [running.enter_context(Server(command, cwd=root)) for command in commands]
        self.address = ",".join(one.address for one in self.all)

    def ended(self) -> int | None:
        """The status of one that has ended, None while all run."""
        return next((status for one in self.all if (status := one.ended()) is not None), None)

    def said(self) -> str:
        return "".join(one.said() for one in self.all)


def found(
    registry_command: Command, server_commands: list[Command], client_for: ClientFor, root: str, limit: float
) -> Outcome:
    """The same as `bench`, of servers that are found in a registry: `{registry}` in commands is its address."""
    with Server(registry_command, cwd=root) as registry:

        def named(words: Command) -> Command:
            return [word.replace("{registry}", registry.address) for word in words]

        servers = [named(command) for command in server_commands]
        return bench(servers, lambda _: named(client_for(f"registry:{SERVICE}")), root, limit)


def bench(
    server_commands: list[Command], client_for: ClientFor, root: str, limit: float, between: ClientFor | None = None
) -> Outcome:
    """A client under load, timed by itself, with all processes' CPU time watched from outside.

    `between` is the command of a program that stands between client and server, and is a server like any.
    """
    with contextlib.ExitStack() as running:
        serving = Serving(server_commands, root, running)
        address = serving.address
        helping = []
        if between:
            forwarding = running.enter_context(Server(between(address), cwd=root))
            address = forwarding.address
            helping.append(sampling.Trace(forwarding.pid))
        client = running.enter_context(Process(client_for(address), cwd=root))
        servers = [sampling.Trace(one.pid) for one in serving.all]
        traces = (sampling.Trace(client.pid), *servers, *helping)
        before, started = sampling.machine_busy(), time.monotonic()

        def watch() -> None:
            for trace in traces:
                trace.sample()
            read_all([client, *serving.all], SAMPLE_EVERY)

        arrived, result = wait_result(client, serving, watch, limit)
        for trace in traces:
            trace.sample()
        after, ended = sampling.machine_busy(), time.monotonic()
        wait_for_end(client)
        if serving.ended() is not None:
            raise Failed(f"server ended during the run, status {serving.ended()}", serving.said())
        seen = _strangers(before, after, started, ended, traces)
        outcome = _outcome(result, arrived, servers, traces[0], seen)
        outcome.figures |= allocations(result, serving.all[0].lines, sampling.measured_window(arrived, result["seconds"]))
        return outcome


def _outcome(
    result: dict, arrived: float, servers: list[sampling.Trace], client: sampling.Trace, seen: dict[str, float]
) -> Outcome:
    figures = {key: result[key] for key in CLIENT_KEYS if key.endswith("_us") and key != "cpu_us"}
    figures["rate"] = result["rate"]
    figures["cpu_client_us"] = result["cpu_us"]
    if result["seconds"] >= SHORTEST_CPU_WINDOW and result["rate"] > 0:
        window = sampling.measured_window(arrived, result["seconds"])
        per_call = 1e6 / result["rate"]
        figures["cpu_server_us"] = sum(each.load(*window) for each in servers) * per_call
        figures["cpu_both_us"] = figures["cpu_client_us"] + figures["cpu_server_us"]
        seen["cpu_client_outside_us"] = client.load(*window) * per_call
    seen["server_resident"] = max(each.peak_resident for each in servers)
    seen["client_resident"] = client.peak_resident
    return Outcome(figures, result, seen)


def allocations(result: dict, told: Iterable[tuple[float, str]], window: tuple[float, float]) -> dict[str, float]:
    """What each side allocates for a call beyond the call's messages, if the server tells of it.

    Both count their own. The server's lines give totals, so that two of them within the window give the mean of the
    calls between them. To a tenth: what comes more seldom than once in twenty calls is no part of a call.
    """
    begin, end = window
    lines = [(at, line.removeprefix(ALLOCATIONS)) for at, line in told if line.startswith(ALLOCATIONS)]
    if not lines:
        return {}
    within = [json.loads(line) for at, line in lines if begin <= at <= end]
    if len(within) < 2 or within[-1]["calls"] <= within[0]["calls"]:
        raise Failed("server told too seldom of its allocations")
    first, last = within[0], within[-1]
    each = (last["allocations"] - first["allocations"]) / (last["calls"] - first["calls"])
    own = result.get("allocations")
    if own is None:
        raise Failed("client's result lacks a number for 'allocations'")
    return {
        "client_allocs": round(own - last["client_message"], 1) + 0.0,  # which makes -0.0 plain
        "server_allocs": round(each - last["server_message"], 1) + 0.0,
    }


def _strangers(before: tuple, after: tuple, started: float, ended: float, traces: tuple) -> dict[str, float]:
    """How much of the machine other processes took, and the hypervisor: the run was not alone if it is much."""
    capacity = (ended - started) * (os.cpu_count() or 1)
    ours = sum(trace.cpu[-1] for trace in traces if trace.cpu)
    return {
        "others_share": max(0.0, after[0] - before[0] - ours) / capacity,
        "stolen_share": (after[1] - before[1]) / capacity,
    }


def wait_result(client: Process, serving: Process | Serving, watch: Callable[[], None], limit: float, may_fail: bool = False) -> tuple[float, dict]:
    """Wait for the client's line, calling `watch` all the while; returns when it arrived and what it says."""
    deadline = time.monotonic() + limit
    watch()
    while not (found := _result_so_far(client, serving, limit, deadline, may_fail)):
        watch()
    return found


def _result_so_far(
    client: Process, serving: Process | Serving, limit: float, deadline: float, may_fail: bool = False
) -> tuple[float, dict] | None:
    """The same, if it is there. Raises Failed if it will not come any more."""
    for arrived, line in client.lines:
        if line.startswith("{"):
            return arrived, parse_result(line, may_fail)
    status = client.ended()
    if status is not None and not client.stdout_open:
        raise Failed(f"client ended with status {status} and no result", client.said())
    if serving.ended() is not None:
        raise Failed(f"server ended during the run, status {serving.ended()}", serving.said())
    if time.monotonic() > deadline:
        raise Failed(f"client gave no result within {limit:g} s")
    return None


def parse_result(line: str, may_fail: bool = False) -> dict:
    """The client's JSON line, or Failed if it is not what it should be, or tells of failed calls unless they may fail."""
    try:
        result = json.loads(line)
    except json.JSONDecodeError:
        raise Failed(f"client printed no JSON: {line[:100]}") from None
    for key in CLIENT_KEYS:
        value = result.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise Failed(f"client's result lacks a number for {key!r}")
    if result["errors"] > 0 and not may_fail:
        raise Failed(f"client reports {result['errors']} errors beside {result['calls']} calls")
    if result["calls"] <= 0 or result["rate"] <= 0:
        raise Failed("client reports no calls")
    return result


def wait_for_end(client: Process, patience: float = 10.0) -> None:
    deadline = time.monotonic() + patience
    while client.ended() is None:
        if time.monotonic() > deadline:
            raise Failed(f"client gave its result but did not end within {patience:g} s")
        client.read(0.01)
    if client.ended() != 0:
        raise Failed(f"client ended with status {client.ended()}", client.said())


def idle(server_command: Command, client_for: ClientFor, root: str, connections: int, settle: float) -> Outcome:
    """Resident memory of a server per connection held open, by what its memory grew.

    Any client will do that opens the connections and keeps them until it is ended; that they are there is read from
    the server's open files.
    """
    _allow_files(connections + 100)
    limit = 30 + connections / 100
    with Server(server_command, cwd=root) as serving:
        _pass_time(0.5, serving)
        resident, files = sampling.resident_bytes(serving.pid), sampling.open_files(serving.pid)
        with Process(client_for(serving.address), cwd=root) as client:
            deadline = time.monotonic() + limit
            while (held := sampling.open_files(serving.pid) - files) < connections:
                _pass_time(0.1, serving, client)
                if time.monotonic() > deadline:
                    raise Failed(f"only {held} of {connections} connections are open after {limit:g} s")
            _pass_time(settle, serving, client)
            held = sampling.open_files(serving.pid) - files
            if held < connections:
                raise Failed(f"only {held} of {connections} connections stayed open")
            grown = sampling.resident_bytes(serving.pid) - resident
        return Outcome({"idle_bytes": grown / held}, {}, {"resident_before": resident, "connections": held})


def _pass_time(duration: float, *alive: Process) -> None:
    deadline = time.monotonic() + duration
    while (left := deadline - time.monotonic()) > 0:
        read_all(list(alive), min(left, 0.1))
        for each in alive:
            if each.ended() is not None:
                raise Failed(f"{each.words[0]} ended with status {each.ended()}", each.said())


def _allow_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        raise Failed(f"needs {count} open files, the limit is {hard} (ulimit -Hn)")
    if soft != resource.RLIM_INFINITY and soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


def overhead(server_command: Command, client_for: ClientFor, root: str, payload: int, limit: float) -> Outcome:
    """Bytes on the connection per call beyond its messages, counted between client and server."""
    with Server(server_command, cwd=root) as serving:
        conversations, result = asyncio.run(_counted(serving, client_for, root, limit))
        # The connection that the calls went over; a client may open others to look round.
        conversation = max(conversations.values(), key=lambda one: len(one.turns), default=None)
        median, mean = conversation.bytes_per_call() if conversation else (0.0, 0.0)
        if not median:
            raise Failed("nothing was sent through the counting proxy")
        return Outcome({"overhead_bytes": median - payload}, result, {"overhead_mean_bytes": mean - payload})


async def _counted(
    serving: Server, client_for: ClientFor, root: str, limit: float
) -> tuple[dict[int, Conversation], dict]:
    """Has a client make its calls through a proxy: what passed over each connection, and the client's result."""
    conversations: dict[int, Conversation] = defaultdict(Conversation)

    def watch(number: int, direction: str, size: int) -> None:
        conversations[number].passed(direction, size)

    deadline = time.monotonic() + limit
    async with Proxy(serving.address, watch=watch) as proxy:
        with Process(client_for(proxy.address), cwd=root) as client:
            while not (found := _result_so_far(client, serving, limit, deadline)):
                read_all([client, serving], 0)
                await asyncio.sleep(LOOK)
        return conversations, found[1]
