"""What a run found, and how it is told."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from .window import Window

# The share of the rate asked for that still counts as kept, as in the lab's reports.
KEPT_UP = 0.97


@dataclass
class Result:
    """The figures under the keys that every program prints.

    Times are in microseconds; latencies cover all calls, however they ended.
    """

    calls: int
    errors: int
    seconds: float
    rate: float = 0.0
    mean_us: float = 0.0
    p50_us: float = 0.0
    p90_us: float = 0.0
    p95_us: float = 0.0
    p99_us: float = 0.0
    p999_us: float = 0.0
    max_us: float = 0.0
    cpu_us: float = 0.0
    answered_p50_us: float = 0.0  # of those calls alone that did not fail
    answered_p99_us: float = 0.0
    attempts: float | None = None  # for a call, if they were counted
    first_error: Exception | None = field(default=None, repr=False)

    @classmethod
    def of(cls, window: Window) -> Result:
        answered = sorted(taken for own in window.samples for taken in own)
        times = sorted([*answered, *window.failed_after])
        count, seconds = len(times), window.length / 1e9
        result = cls(count, len(window.failures), round(seconds, 6))
        result.first_error = window.failures[0] if window.failures else None
        if not count:
            return result
        result.rate = round(count / seconds, 3)
        result.mean_us = micros(sum(times) / count)
        result.p50_us, result.p90_us, result.p95_us, result.p99_us, result.p999_us = (
            micros(percentile(times, share)) for share in (50, 90, 95, 99, 99.9)
        )
        if answered:
            result.answered_p50_us, result.answered_p99_us = (micros(percentile(answered, s)) for s in (50, 99))
        result.max_us = micros(times[-1])
        result.cpu_us = micros(window.cpu / count)
        return result

    def print(self) -> None:
        """Prints a line of JSON."""
        figures = asdict(self)
        del figures["first_error"]
        if self.attempts is None:
            del figures["attempts"]
        print(json.dumps(figures), flush=True)

    def tell(self, program: str, rate: float = 0.0) -> int:
        """Prints a line of JSON, and on stderr what went wrong; returns the exit status. `rate`: what was asked for."""
        self.print()
        if 0 < self.rate < KEPT_UP * rate:
            print(f"{program}: fell behind: {self.rate:.0f}/s of {rate:.0f}/s", file=sys.stderr)
        if not self.calls:
            print(f"{program}: no call was made", file=sys.stderr)
        elif self.errors:
            first = f"{type(self.first_error).__name__}: {' '.join(str(self.first_error).split())}"
            print(f"{program}: {self.errors} of {self.calls} calls failed, the first with: {first}", file=sys.stderr)
        return 1 if self.errors == self.calls else 0


def micros(nanoseconds: float) -> float:
    return round(nanoseconds / 1e3, 3)


def percentile(ordered: Sequence[int], share: float) -> int:
    """The smallest value that at least `share` percent of the values do not exceed."""
    return ordered[max(math.ceil(len(ordered) * share / 100) - 1, 0)]
