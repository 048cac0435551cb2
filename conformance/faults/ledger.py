"""Checks the ledgers that reference programs keep: what must hold of every call under every fault.

    python -m conformance.faults.ledger --client FILE… --server FILE… [--bound S] [--killed]

I1  Each call ends exactly once, by its deadline (or when its caller gave it up) plus a bound.
I2  A call that ended OK was executed to its end, successfully; one that ended `executed` was executed.
I3  A call that ended `not_sent` or `refused` was not executed at all.
And no call was executed twice: the client repeats a call only where it is proven that it did not run.

Prints what was broken, a line for each breach up to a few; the exit status is 1 if anything was. The form of the files
is described in README.md.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

Line = dict[str, Any]

DELIVERIES = ("executed", "not_sent", "refused", "unknown")
# Executed failures that the framework makes itself, of answers that did not come as they should (status.md 1).
# OK has a law of its own.
ANSWERED_BY_NOBODY = {"UNIMPLEMENTED", "OK"}
SHOWN = 20
# How many bytes of ledgers are checked at a time, which take about seven times as much in memory.
PART = 128 << 20


@dataclass
class Execution:
    """A run of a handler, by its lines."""

    begin: Line
    end: Line | None = None


@dataclass
class Call:
    """A call, by the lines of its caller and of those that executed it."""

    id: str
    begins: list[Line] = field(default_factory=list)
    cancels: list[Line] = field(default_factory=list)
    ends: list[Line] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)


@dataclass
class Report:
    """What a check found."""

    calls: int
    executions: int
    outcomes: Counter[tuple[str, str]]  # code and delivery
    latest: float  # the most that an end came after it was due, in seconds
    breaches: list[str]

    def add(self, other: Report) -> None:
        """Takes in what was found in the ledgers of other calls."""
        self.calls += other.calls
        self.executions += other.executions
        self.outcomes += other.outcomes
        self.latest = max(self.latest, other.latest)
        self.breaches += other.breaches

    def __str__(self) -> str:
        outcomes = ", ".join(f"{code} {delivery} {n}" for (code, delivery), n in sorted(self.outcomes.items()))
        said = f"{self.calls} calls, {self.executions} executions; latest {1000 * self.latest:.1f} ms; {outcomes}"
        more = len(self.breaches) - SHOWN
        return "\n".join([said, *self.breaches[:SHOWN], *([f"… and {more} more"] if more > 0 else [])])


def read(paths: Iterable[Path]) -> Iterator[Line]:
    """The lines of ledgers."""
    return map(json.loads, texts(paths))


def texts(paths: Iterable[Path]) -> Iterator[str]:
    """The lines as they stand. What a killed process left of a line at the end, or one that runs has not written yet,
    counts as not written."""
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                if not line.endswith("\n"):
                    break  # else the rest of it, which may come any moment, would be the next line
                yield line


def gather(client: Iterable[Line], server: Iterable[Line]) -> dict[str, Call]:
    """The calls of ledgers by their ids."""
    calls: dict[str, Call] = {}

    def call(line: Line) -> Call:
        return calls.setdefault(line["call"], Call(line["call"]))

    for line in client:
        lists = {"begin": call(line).begins, "cancel": call(line).cancels, "end": call(line).ends}
        lists[line["event"]].append(line)
    executions: dict[str, Execution] = {}
    for line in server:
        if line["event"] == "begin":
            executions[line["execution"]] = Execution(line)
            call(line).executions.append(executions[line["execution"]])
        else:
            executions[line["execution"]].end = line
    return calls


def check(client: Iterable[Line], server: Iterable[Line], bound: float = 1.0, killed: bool = False) -> Report:
    """Checks ledgers. `bound` is how late an end may be, in seconds; `killed` says that the client was, so that calls
    may lack their end."""
    calls = gather(client, server)
    report = Report(0, 0, Counter(), 0.0, [])
    for call in calls.values():
        report.calls += bool(call.begins)
        report.executions += len(call.executions)
        report.breaches += [f"{call.id}: {breach}" for breach in breaches(call, bound, killed)]
        for end in call.ends:
            report.outcomes[end["code"], end["delivery"]] += 1
            report.latest = max(report.latest, lateness(call, end))
    return report


def due(call: Call) -> int | None:
    """When a call has to end at the latest, in nanoseconds."""
    times = [line["deadline"] for line in call.begins if line.get("deadline")] + [line["at"] for line in call.cancels]
    # What was due before it began is due at its beginning.
    return max(min(times), call.begins[0]["at"]) if times and call.begins else None


def lateness(call: Call, end: Line) -> float:
    at = due(call)
    return (end["at"] - at) / 1e9 if at is not None else 0.0


def breaches(call: Call, bound: float, killed: bool) -> Iterator[str]:
    """What is wrong with a call."""
    if len(call.begins) != 1:
        yield f"I1: {len(call.begins)} beginnings at the client, {len(call.executions)} executions"
        return
    runs = len(call.executions)
    if runs > 1:
        yield f"executed {runs} times"
    if len(call.ends) != 1 and not (killed and not call.ends):
        yield f"I1: {len(call.ends)} ends"
    for end in call.ends:
        how = f"{end['code']} {end['delivery']}: {end.get('message', '')}"
        if lateness(call, end) > bound:
            yield f"I1: ended {lateness(call, end):.3f} s late, {how}"
        if end["delivery"] not in DELIVERIES:
            yield f"no such delivery, {how}"
        if end["delivery"] in ("not_sent", "refused") and runs:
            yield f"I3: executed {runs} times, {how}"
        if end["code"] == "OK" and not any(succeeded(one) for one in call.executions):
            yield f"I2: {runs} executions, none of which succeeded, {how}"
        if end["delivery"] == "executed" and not runs and end["code"] not in ANSWERED_BY_NOBODY:
            yield f"I2: not executed, {how}"


def succeeded(execution: Execution) -> bool:
    return execution.end is not None and execution.end.get("code") == "OK"


def check_files(client: Iterable[Path], server: Iterable[Path], bound: float = 1.0, killed: bool = False) -> Report:
    """Checks ledgers that are files. Of long ones a part of the calls is in memory at a time."""
    clients, servers = list(client), list(server)
    parts = 1 + sum(path.stat().st_size for path in (*clients, *servers)) // PART
    if parts == 1:
        return check(read(clients), read(servers), bound, killed)
    whole = Report(0, 0, Counter(), 0.0, [])
    with tempfile.TemporaryDirectory(prefix="ledgers") as folder:
        divided = [
            divide(paths, Path(folder), name, parts) for paths, name in ((clients, "client"), (servers, "server"))
        ]
        for of_client, of_server in zip(*divided, strict=True):
            whole.add(check(read([of_client]), read([of_server]), bound, killed))
    return whole


def divide(paths: Iterable[Path], folder: Path, name: str, parts: int) -> list[Path]:
    """Writes the lines of ledgers into so many, all of a call into the same, which its id decides."""
    made = [folder / f"{name}{number}" for number in range(parts)]
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(path.open("w", encoding="utf-8")) for path in made]
        for text in texts(paths):
            files[crc32(json.loads(text)["call"].encode()) % parts].write(text)
    return made


def expired(server: Iterable[Line], bound: float) -> list[str]:
    """Executions that began more than `bound` seconds after the deadline that their server knew of."""
    late: dict[str, list[str]] = defaultdict(list)
    for line in server:
        if line["event"] == "begin" and line.get("deadline") and line["at"] - line["deadline"] > bound * 1e9:
            late[line["call"]].append(f"{line['call']}: began {(line['at'] - line['deadline']) / 1e9:.3f} s late")
    return [text for texts in late.values() for text in texts]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--client", nargs="+", type=Path, required=True, metavar="FILE", help="ledgers of callers")
    parser.add_argument(
        "--server", nargs="*", type=Path, default=[], metavar="FILE", help="ledgers of servers, all of them"
    )
    parser.add_argument("--bound", type=float, default=1.0, metavar="S", help="how late an end may be, in seconds")
    parser.add_argument("--killed", action="store_true", help="a client was killed: calls may lack their end")
    options = parser.parse_args()
    report = check_files(options.client, options.server, options.bound, options.killed)
    print(report)
    return 1 if report.breaches else 0


if __name__ == "__main__":
    sys.exit(main())
