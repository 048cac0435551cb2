"""Suites, and how they are run."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from scripts.counting import Outcome

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Suite:
    name: str
    run: Callable[[], Outcome]
    beside: bool = False  # it waits more than it computes, and runs at once with the one before


def command(words: list[str], folder: str = ".", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=ROOT / folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def outcomes(chosen: list[Suite]) -> Iterator[tuple[Suite, Outcome, float]]:
    """Runs suites one after the other, and those that are to run beside the one before together with it."""

    def timed(suite: Suite) -> tuple[Suite, Outcome, float]:
        began = time.monotonic()
        return suite, suite.run(), time.monotonic() - began

    while chosen:
        together = next((n for n, suite in enumerate(chosen) if n and not suite.beside), len(chosen))
        with ThreadPoolExecutor() as pool:
            yield from pool.map(timed, chosen[:together])
        chosen = chosen[together:]


def run_all(chosen: list[Suite]) -> int:
    total = Outcome(0, 0)
    for suite, outcome, seconds in outcomes(chosen):
        if outcome.failed:
            print(f"--- {suite.name}\n{outcome.output.rstrip()}\n---")
        word = "FAIL" if outcome.failed else "ok"
        counts = f"{outcome.passed} passed" + (f", {outcome.failed} failed" if outcome.failed else "")
        counts += f", {outcome.skipped} skipped" if outcome.skipped else ""
        print(f"{word:<5} {suite.name:<28} {counts:<24} {seconds:6.1f} s", flush=True)
        for reason in outcome.reasons:
            print(f"      {reason}", flush=True)
        total.passed += outcome.passed
        total.failed += outcome.failed
    print(f"{total.passed} passed, {total.failed} failed")
    return 1 if total.failed else 0
