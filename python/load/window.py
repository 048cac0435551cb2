"""One stretch of load, the warm-up or the measured part: what it counts and when it ends."""

from __future__ import annotations

import itertools
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass

# A budget that no run spends.
UNBOUNDED = 1 << 62
# Keeps a caller whose calls fail at once from doing nothing but fail: a run against a dead server stays cheap. Seconds.
ERROR_PAUSE = 0.01

clock = time.perf_counter_ns


class Failed(Exception):
    """The run has no result: nothing could be called, or the warm-up failed."""


class Stopped(Exception):
    """Raised by a call function: no call was made, and the caller is to make no more."""


@dataclass
class Config:
    """How much load to make. Times in seconds; of `calls` and `duration` one is above 0.

    `callers` is how many calls are in flight at once, in the open loop how many at most. `rate`, in calls per second
    over all callers, chooses the open loop. The warm-up is a closed loop that ends after `warmup`, or after
    `warmup_calls` where that is sooner and not 0.
    """

    callers: int
    calls: int = 0
    duration: float = 0.0
    rate: float = 0.0
    warmup: float = 0.0
    warmup_calls: int = 0


class Window:
    """Callers take calls from it and note how long each took; begin and end frame them.

    Every caller notes into an array of its own (nanoseconds, 8 bytes a call), so that a call takes no lock. `take` and
    the arrays may be used by many threads: each step is one operation of the interpreter.
    """

    def __init__(self, calls: int, duration: float):
        self.total = calls or UNBOUNDED
        self.take: Callable[[], int] = itertools.count().__next__
        self.length = round(duration * 1e9) if duration else UNBOUNDED
        self.samples: list[array[int]] = []
        self.failures: list[Exception | None] = []
        self.failed_after: array[int] = array("q")  # how long those calls took
        self.start = self.stop = 0
        self.cpu = 0

    def recorder(self) -> Callable[[int], None]:
        """Where one caller notes how long those of its calls took that did not fail, in nanoseconds."""
        own: array[int] = array("q")
        self.samples.append(own)
        return own.append

    def failed(self, error: Exception, taken: int) -> None:
        """Keeps the first; the others would keep what their calls had in memory, and are only counted."""
        self.failed_after.append(taken)
        self.failures.append(None if self.failures else error)

    def begin(self) -> None:
        self.cpu = time.process_time_ns()
        self.start = clock()
        self.stop = self.start + self.length

    def end(self) -> None:
        self.length = clock() - self.start
        self.cpu = time.process_time_ns() - self.cpu
