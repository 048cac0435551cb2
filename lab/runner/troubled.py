"""One run of servers of which one is in trouble, at a rate that may be more than they can take.

Calls may fail: it is counted how many did not, how long those took, and how many attempts all of them made.
"""

import contextlib
import time

from harness.processes import Failed, Process, read_all

from .measure import ClientFor, Command, Outcome, Serving, wait_for_end, wait_result

EJECTED = "endpoint ejected"  # what a client of ours logs when it leaves one out
RUNS = "runs "  # how lines begin in which a server tells how many calls have reached a handler
TOLD_EVERY = 0.1


def bench(
    server_commands: list[Command],
    client_for: ClientFor,
    root: str,
    limit: float,
    offered: int,
    most_attempts: float = 0.0,
    warmup: float = 0.0,
) -> Outcome:
    """A client in the open loop, with a warm-up of the same load. More attempts for a call than `most_attempts` make the run invalid; 0: there is no bound."""
    with contextlib.ExitStack() as running:
        serving = Serving(server_commands, root, running)
        client = running.enter_context(Process(client_for(serving.address), cwd=root))
        everyone = [client, *serving.all]
        _, result = wait_result(client, serving, lambda: read_all(everyone, 0.05), limit, may_fail=True)
        wait_for_end(client)
        if serving.ended() is not None:
            raise Failed(f"server ended during the run, status {serving.ended()}", serving.said())
        runs = _runs(serving)
        before = round(offered * warmup)
        found = figures(result, runs, offered, most_attempts, before) | {"ejected": client.said().count(EJECTED)}
        return Outcome(found, result, {"made": result["rate"]})


def _runs(serving: Serving) -> int:
    """How many calls have reached handlers by now, as the servers tell."""
    now = time.monotonic()
    while any(one.lines[-1][0] < now + TOLD_EVERY / 2 if one.lines else True for one in serving.all):
        read_all(serving.all, TOLD_EVERY)
        if time.monotonic() > now + 50 * TOLD_EVERY:
            raise Failed("server does not tell of its runs")
    told = [line.removeprefix(RUNS) for one in serving.all for _, line in [one.lines[-1]] if line.startswith(RUNS)]
    if len(told) < len(serving.all):
        raise Failed("server does not tell of its runs")
    return sum(int(text) for text in told)


def figures(result: dict, runs: int, offered: int, most_attempts: float, before: int = 0) -> dict[str, float]:
    """What the run has shown. `rate` is that of calls that were answered, of those that were offered.

    Attempts and runs are those of all calls, `before` the measured time too: the budget counts all.
    """
    calls = result["calls"]
    goodput = (calls - result["errors"]) / calls
    for key in ("answered_p50_us", "answered_p99_us", "attempts"):
        if not isinstance(result.get(key), (int, float)):
            raise Failed(f"client's result lacks a number for {key!r}")
    each = max(result["attempts"], runs / (calls + before))
    if most_attempts and each > most_attempts:
        raise Failed(f"{each:.3f} attempts for a call, where at most {most_attempts:g} are allowed")
    return {
        "rate": goodput * offered,
        "goodput": goodput,
        "answered_p50_us": result["answered_p50_us"],
        "answered_p99_us": result["answered_p99_us"],
        "attempts": result["attempts"],
        "runs": runs / (calls + before),
        "cpu_client_us": result["cpu_us"],
    }
