"""The groups of a policy file (policy.md 3.3). Durations are nanoseconds, shares percent. 0 or None stand for what was
not said and has no default."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from .numbers import MILLISECOND, SECOND

# The names of the codes, by number (status.md 1).
CODES = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)
OK, CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNAVAILABLE = 0, 1, 4, 8, 14


class Priority(IntEnum):
    """How much a call matters, the highest first (policy.md 7)."""

    CRITICAL = 0
    HIGH = 1
    NORMAL = 2
    LOW = 3

    @classmethod
    def named(cls, name: str) -> Priority:
        """That of a name; NORMAL of any other text."""
        return cls(PRIORITIES.index(name)) if name in PRIORITIES else cls.NORMAL


PRIORITIES = tuple(one.name.lower() for one in Priority)

Shares = tuple[int, int, int, int]  # what calls of each priority may fill of a limit
SHARES: Shares = (100, 100, 100, 50)


def share(shares: Shares, limit: int, priority: Priority) -> int:
    """The part of a limit that a priority may fill."""
    return max(1, limit * shares[priority] // 100)


@dataclass(frozen=True, slots=True)
class BudgetRules:
    percent: int = 10
    least: int = 10  # a second


@dataclass(frozen=True, slots=True)
class RetryRules:
    attempts: int = 3
    backoff: int = 50 * MILLISECOND
    max_backoff: int = 0
    multiplier: int = 200
    jitter: int = 100
    codes: frozenset[int] = frozenset({8, 14})


@dataclass(frozen=True, slots=True)
class HedgeRules:
    delay: int = 0
    attempts: int = 2
    stop: frozenset[int] = frozenset({3, 5, 6, 7, 9, 11, 12, 16})


@dataclass(frozen=True, slots=True, kw_only=True)
class TripRules:
    """When failures are too many."""

    consecutive: int = 0
    percent: int = 0
    calls: int = 20
    window: int = 10 * SECOND
    codes: frozenset[int] = frozenset({2, 4, 8, 13, 14})


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerRules(TripRules):
    open: int = 5 * SECOND
    probes: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlierRules(TripRules):
    eject: int = 30 * SECOND
    max_eject: int = 0
    cap: int = 10


@dataclass(frozen=True, slots=True)
class BalancerRules:
    name: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class ZoneRules:
    healthy: int = 70
    overflow_calls: int = 0


@dataclass(frozen=True, slots=True)
class RateRules:
    per_second: int = 0
    burst: int = 0
    shares: Shares = SHARES


@dataclass(frozen=True, slots=True)
class AdaptiveRules:
    least: int = 1
    most: int = 1_000
    start: int = 20
    samples: int = 20
    window: int = 100 * MILLISECOND
    tolerance: int = 150
    remeasure: int = 60 * SECOND


@dataclass(frozen=True, slots=True)
class ConcurrencyRules:
    limit: int = 0
    adaptive: AdaptiveRules | None = None
    shares: Shares = SHARES


@dataclass(frozen=True, slots=True)
class FaultRules:
    name: str
    per_million: int = 0
    delay: int = 0
    code: int = field(default=OK)
