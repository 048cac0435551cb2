"""Retries of tiers that call each other make no storm: four servers, each of which calls the next, in languages that
take turns, and the last fails. Ledgers say what ran where, and what each tier's client tried."""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.languages import everybody_meets
from harness.processes import PATIENCE, Server
from harness.programs import ProgramTest, run

from .faults.ledger import read
from .languages import PROGRAMS, bench_words, each_language, having

TIERS = 4
ATTEMPTS = 3
CALLS = 1_500
# Of a client: percent of the calls of ten seconds, or so many (spec/policy.md 8.1).
PERCENT, LEAST = 10, 10
FILE = f"""\
policy: 1
budget:
  percent: {PERCENT}
  least: {LEAST}
defaults:
  idempotent: true
  retries:
    attempts: {ATTEMPTS}
    backoff: 10ms
    max_backoff: 20ms
...
"""
FAILURE = {"code": 14, "message": "the last tier is down"}
# What a window counts for sure, which has ten slices of a second, the last of them begun (spec/policy.md 6.4).
WINDOW = 9 * 10**9

LANGUAGES = [language.key for language in having("random-policies")]


@dataclass
class Tier:
    """A client, by the ledgers of those who call with it and of the server that it calls."""

    name: str
    calls: int
    attempts: Counter[int]  # as its observer was told, by their numbers
    served: list[dict[str, Any]]  # lines of the server's ledger

    @property
    def arrived(self) -> int:
        return sum(line["event"] == "begin" for line in self.served)

    @property
    def allowed(self) -> int:
        """How many repetitions its budget allows in the time that it took: in each part of it that a window covers no
        more than if the window had held all the calls that there were."""
        times = [line["at"] for line in self.served if line["event"] == "begin"]
        parts = 1 + (max(times) - min(times)) // WINDOW
        return int(parts) * max(10 * LEAST, self.calls * PERCENT // 100)


@each_language(LANGUAGES if everybody_meets() else LANGUAGES[:1])
class Storm(ProgramTest):
    language: str  # of the caller; those of the tiers follow

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        first = LANGUAGES.index(self.language)
        self.languages = [LANGUAGES[(first + tier) % len(LANGUAGES)] for tier in range(TIERS + 1)]
        self.policies = self.folder / "policies.yaml"
        self.policies.write_text(FILE)

    def ledger(self, tier: int) -> Path:
        return self.folder / f"{tier}"

    def serve_all(self) -> list[Server]:
        """Starts the servers, the last first, as each is told where the next is."""
        servers: list[Server] = []
        for tier in range(TIERS, 0, -1):
            words = ["--faults", "--ledger", str(self.ledger(tier)), "--policy-file", str(self.policies)]
            if servers:
                words += ["--onward", servers[-1].address]
            servers.append(self.serve(PROGRAMS[self.languages[tier]], "--listen", "127.0.0.1:0", *words))
        return servers[::-1]

    def tiers(self, told: int) -> list[Tier]:
        """The clients, the first of which has told of so many attempts itself."""
        lines = [list(read([self.ledger(tier)])) for tier in range(TIERS + 1)]
        told_by = [Counter(line["number"] for line in of if line["event"] == "attempt") for of in lines]
        calls = [sum(line["event"] == "begin" for line in of) for of in lines]
        told_by[0] = Counter({1: calls[0], 2: told - calls[0]})
        return [
            Tier(f"{tier} ({self.languages[tier]})", calls[tier], told_by[tier], lines[tier + 1])
            for tier in range(TIERS)
        ]

    def test_the_budgets_of_four_tiers_hold(self) -> None:
        servers = self.serve_all()
        flags = ("--mix", "Behave", "--behaviour", json.dumps(FAILURE), "--calls", str(CALLS), "--callers", "16")
        more = ("--observe", "--policy-file", str(self.policies), "--ledger", str(self.ledger(0)))
        done = run(
            PROGRAMS[self.language],
            *bench_words(self.language, servers[0].address, *flags, *more),
        )
        self.assertEqual(done.status, 0, done.stderr)
        result = json.loads(done.stdout)
        # Observers may be told a moment later.
        told = round(result["attempts"] * result["calls"])
        end = time.monotonic() + PATIENCE
        tiers = self.tiers(told)
        while any(one.attempts.total() < one.arrived for one in tiers[1:]) and time.monotonic() < end:
            time.sleep(0.02)
            tiers = self.tiers(told)
        for server in servers:
            self.assertEqual(server.stop().status, 0, server.said())
        ends = Counter(
            (line["code"], line["delivery"], line["message"])
            for line in read([self.ledger(0)])
            if line["event"] == "end"
        )
        self.assertEqual(ends, {("UNAVAILABLE", "executed", FAILURE["message"]): CALLS})
        for one in tiers:
            repeated = one.arrived - one.calls
            self.assertLessEqual(repeated, one.allowed, f"{one.name}: {one.calls} calls came as {one.arrived}")
            # The budget allows them, and each call that fails asks for more of it.
            self.assertGreaterEqual(repeated, 10 * LEAST, one.name)
            codes = Counter(line["code"] for line in one.served if line["event"] == "end")
            self.assertEqual(codes, {"UNAVAILABLE": one.arrived}, one.name)
        for one in tiers[1:]:
            self.assertEqual(one.attempts.total(), one.arrived, one.name)
            self.assertEqual(one.attempts[1], one.calls, one.name)
            self.assertLessEqual(max(one.attempts), ATTEMPTS, one.name)
        self.assertLessEqual(tiers[0].attempts.total(), tiers[0].arrived)
        self.assertGreater(tiers[0].attempts.total(), CALLS)
