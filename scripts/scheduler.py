"""Runs suites, two beside each other and one more that mostly waits, and prints what came of each."""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

from harness.processes import Process
from scripts import commands
from scripts.counting import Outcome

LANES = 2


@dataclass(frozen=True)
class Suite:
    name: str
    run: Callable[[], Outcome]
    language: str = ""  # "": it concerns none alone
    meets: bool = False  # in it languages meet: with more of them it has more to do
    alone: bool = False  # nothing runs beside it
    waits: bool = False  # most of the time: it runs beside others in a lane of its own
    seconds: float = 0.0  # about how long it takes: only the order depends on it
    builds: tuple[tuple[str, str], ...] = ()  # languages and their parts that have to be built
    bound: float = 2400.0  # how long it may take, in seconds, on a machine that others use too


@dataclass(frozen=True)
class Ran:
    suite: Suite
    outcome: Outcome
    seconds: float
    began: float  # of time.monotonic()
    cpu: float  # processor time of its commands, in seconds


def run_suite(suite: Suite, patience: float) -> Ran:
    """Runs a suite, which fails if it raises or takes longer than its bound, times `patience`."""
    began = time.monotonic()
    with commands.until(began + suite.bound * patience) as span:
        try:
            outcome = suite.run()
        except (Exception, SystemExit) as error:  # what is wrong with one suite does not end the others
            outcome = Outcome(0, 1, output=f"{span.printed}{type(error).__name__}: {error}\n")
    seconds = time.monotonic() - began - span.waited
    if time.monotonic() >= span.deadline:
        outcome.failed = max(outcome.failed, 1)
        outcome.output += f"\n{suite.name} was ended after {seconds:.0f} s\n"
    return Ran(suite, outcome, seconds, began, span.cpu)


def again(ran: Ran, patience: float) -> Ran:
    """Carries a suite out once more. What failed the first time is told as tried again; what fails now has failed."""
    once_more = run_suite(ran.suite, patience)
    names = ran.outcome.failures or [ran.suite.name]
    once_more.outcome.retries += [f"{name}: it had failed" for name in names]
    return once_more


def outcomes(chosen: list[Suite], lanes: int = LANES, patience: float = 1.0) -> Iterator[Ran]:
    """Runs suites and yields them as they end. The first lane takes the longest that is left, the others the next, so
    that short ones tell early and no long one comes last. One more lane has those that mostly wait, which the others
    take when nothing else is left. Those marked alone run after all others."""
    together = [suite for suite in chosen if not suite.alone]
    alone = [suite for suite in chosen if suite.alone]
    ended: queue.SimpleQueue[tuple[int, Ran]] = queue.SimpleQueue()

    def start(lane: int, suite: Suite) -> None:
        thread = threading.Thread(target=lambda: ended.put((lane, run_suite(suite, patience))), daemon=True)
        thread.start()

    def start_next(lane: int) -> int:
        """Whether there was one for that lane: 0 or 1."""
        fitting = [suite for suite in together if suite.waits == (lane == lanes)]
        if lane < lanes:
            fitting = fitting or together
        if not fitting:
            return 0
        suite = max(fitting, key=lambda suite: suite.seconds) if lane == 0 else fitting[0]
        together.remove(suite)
        start(lane, suite)
        return 1

    running = sum(start_next(lane) for lane in range(lanes + 1))
    while running or alone:
        if not running:
            start(0, alone.pop(0))
            running += 1
        lane, ran = _next_of(ended)
        running += start_next(lane) - 1
        yield ran


def _next_of(ended: queue.SimpleQueue[tuple[int, Ran]]) -> tuple[int, Ran]:
    """Waits a second at a time. A signal that comes just before the main thread begins to wait, or that another thread
    is given, does not end that wait: Python calls its handler behind it."""
    while True:
        with contextlib.suppress(queue.Empty):
            return ended.get(timeout=1.0)


@contextlib.contextmanager
def starved(loops: int) -> Generator[None, None, None]:
    """Keeps so many processors busy."""
    with contextlib.ExitStack() as busy:
        for _ in range(loops):
            busy.enter_context(Process([sys.executable, "-c", "while True: pass"]))
        yield


def processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
