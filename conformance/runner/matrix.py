"""All cases, each client with each server over each transport."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from harness import processes
from harness.processes import Failed

from .carrying import Carrying
from .cases import Case
from .comparing import faults
from .parties import LACKS, Client, Reasons, Server
from .servers import Servers

COMPRESSIONS = ("gzip", "zstd")
# Pairs that run beside each other.
BESIDE = 3
# How often a case is tried in which a time runs out.
TRIES = 3


@dataclass(frozen=True)
class Way:
    """A client, a server, and the transport between."""

    client: Client
    server: Server
    transport: str

    def __str__(self) -> str:
        return f"{self.client.name} to {self.server.name} over {self.transport}"

    def lack(self, case: Case) -> str:
        """Why the case is not applicable; "" if it is."""
        for need in case.needs:
            for lacks in (self._of_client(case, need), self._of_server(case, need), LACKS.get(self.transport, {})):
                if need in lacks:
                    return lacks[need]
        return self.client.cannot(case)

    # A side that does not compress is sent plain messages by one that does: that, too, is to be seen.

    def _of_client(self, case: Case, need: str) -> Reasons:
        other = need in COMPRESSIONS and case.words.get("client", {}).get("compression") != need
        return {} if other else self.client.lacks

    def _of_server(self, case: Case, need: str) -> Reasons:
        other = need in COMPRESSIONS and case.words.get("server", {}).get("compression") != need
        return {} if other else self.server.lacks


@dataclass
class Tally:
    """What came of the cases of one group over one way."""

    passed: int = 0
    failed: int = 0
    lacking: Counter[str] = field(default_factory=Counter[str])  # cases by the reason why not


@dataclass(frozen=True)
class Result:
    """What came of one case over one way."""

    case: str
    way: str
    wrong: str = ""
    lacks: str = ""  # why it was not carried out
    retried: tuple[str, ...] = ()  # what was wrong each time before it was carried out once more


@dataclass
class Matrix:
    """What came of all; `wrong` is told in full."""

    tallies: dict[tuple[Way, str], Tally] = field(default_factory=dict[tuple[Way, str], Tally])
    wrong: list[str] = field(default_factory=list[str])
    results: list[Result] = field(default_factory=list[Result])
    over: bool = False  # no further case is carried out

    @property
    def passed(self) -> int:
        return sum(tally.passed for tally in self.tallies.values())

    @property
    def failed(self) -> int:
        return sum(tally.failed for tally in self.tallies.values())

    @property
    def lacking(self) -> int:
        return sum(tally.lacking.total() for tally in self.tallies.values())


def run_all(cases: list[Case], ways: list[Way], others: dict[str, Server]) -> Matrix:
    """Carries the cases out. `others` are the servers that handlers call onward to, by their own server's name."""
    matrix = Matrix({(way, case.group): Tally() for way in ways for case in cases})
    pairs = [list(pair) for _, pair in itertools.groupby(ways, lambda way: (way.client.name, way.server.name))]
    servers = Servers()
    with ThreadPoolExecutor(BESIDE) as pool:
        running = [pool.submit(Pair(matrix, servers, others).run, cases, pair) for pair in pairs]
        try:
            left = set(running)
            while left:  # with pauses: a signal that reached another thread does not wake this one
                done, left = wait(left, processes.LOOK, FIRST_COMPLETED)
                for one in done:
                    one.result()
        except BaseException:
            matrix.over = True
            for one in running:
                one.cancel()
            # Again and again: a thread may be about to start one.
            while not all(one.done() for one in running):
                processes.kill_all()
                time.sleep(processes.LOOK)
            raise
        finally:
            matrix.wrong += servers.stop()
    return matrix


class Pair:
    """A client with a server, over the transports that both have."""

    def __init__(self, matrix: Matrix, servers: Servers, others: dict[str, Server]) -> None:
        self._matrix = matrix
        self._servers = servers
        self._others = others
        self._carrying: Carrying | None = None
        self._numbers = itertools.count(1)

    def run(self, cases: list[Case], ways: list[Way]) -> None:
        for way, case in self._chosen(cases, ways):
            if self._matrix.over:
                return
            tally = self._matrix.tallies[way, case.group]
            if why := way.lack(case):
                tally.lacking[why] += 1
                self._matrix.results.append(Result(case.name, str(way), lacks=why))
                continue
            tries = TRIES if case.timed else 1
            retried: list[str] = []
            while (wrong := self._try(way, case)) and tries > 1 and not self._matrix.over:
                tries -= 1
                retried.append("; ".join(wrong))
            if wrong:
                tally.failed += 1
                self._matrix.wrong.append("\n    ".join([f"{case.name}: {way}", *wrong]))
            else:
                tally.passed += 1
            self._matrix.results.append(Result(case.name, str(way), wrong="\n".join(wrong), retried=tuple(retried)))
        self._finish(ways[0])

    def _try(self, way: Way, case: Case) -> list[str]:
        """What is wrong with what came of a case."""
        try:
            return self._carry_out(way, case)
        except Failed as failed:
            self._drop()
            return [str(failed)]

    def _chosen(self, cases: list[Case], ways: list[Way]) -> Iterator[tuple[Way, Case]]:
        """Every case over the first way, unless its client has the smoke group alone, and that group over all."""
        for way in ways:
            for case in cases:
                if case.smoke or (way is ways[0] and not way.client.smoke):
                    yield way, case

    def _carry_out(self, way: Way, case: Case) -> list[str]:
        if self._carrying is None:
            self._carrying = Carrying([*way.client.program, *way.client.words])
        other = self._servers.target(self._others[way.server.name], "tcp", {})
        number = f"{way.client.name}-{way.server.name}-{next(self._numbers)}"
        texts = {"$id": number, "$other": other}
        setup = case.words.get("server", {})
        count = case.words.get("ownServers", 0)
        own = self._servers.own(way.server, way.transport, setup, count) if count else None
        try:
            target = own.target if own else self._servers.target(way.server, way.transport, setup, way.client.name)
            line = case.line(target, self._servers.trust if way.transport == "tls" else None, texts)
            got = self._carrying.carry_out(line, own.do if own else self._cannot)
        finally:
            if own:
                own.stop()
        want = case.wants(texts)
        if len(got) != len(want):
            return [f"{len(got)} outcomes of {len(want)} calls"]
        return [
            f"call {number}{fault}"
            for number, (a, b) in enumerate(zip(got, want, strict=True), 1)
            for fault in faults(a, b, way.client.protocol == "native")
        ]

    def _cannot(self, what: str) -> None:
        raise Failed(f"the case has no server of its own to {what}")

    def _drop(self) -> None:
        """The next case has a new client."""
        if self._carrying is not None:
            self._carrying.kill()
            self._carrying = None

    def _finish(self, way: Way) -> None:
        if self._carrying is not None:
            try:
                self._carrying.finish_well()
            except Failed as failed:
                self._matrix.wrong.append(f"{way.client.name} to {way.server.name}: {failed}")
