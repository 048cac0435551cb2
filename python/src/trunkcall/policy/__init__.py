"""Policy files, and deciding by them, as spec/policy.md says: when a call is made again, hedged, refused or sent
elsewhere.

Each core (Retries, Hedging, Breaker, Outliers, Rate, Concurrency, `pick_zone`, `inject`) is given times, events and
random numbers, and gives decisions. It has no clock, loop or lock: whoever shares one between threads guards it. Times
and durations are whole numbers of nanoseconds, times since an origin of the caller's, not below 0, by a clock that does
not jump; one before the last counts as the last."""

from __future__ import annotations

from .attempts import EXECUTED, NOT_SENT, REFUSED, Budget, Decision, Delivery, Ended, Hedging, Retries
from .breaker import Breaker, BreakerState, Outcome, Outliers, judged
from .faults import BadFile, Fault
from .file import File, Holds, Scoped, parse
from .limits import Concurrency, Rate, Sample, of_stream, sample_of
from .numbers import Random
from .places import Injected, Place, Zoned, inject, pick_zone
from .rules import (
    CODES,
    AdaptiveRules,
    BalancerRules,
    BreakerRules,
    BudgetRules,
    ConcurrencyRules,
    FaultRules,
    HedgeRules,
    OutlierRules,
    Priority,
    RateRules,
    RetryRules,
    TripRules,
    ZoneRules,
)
from .tree import MAX_FILE

__all__ = [
    "CODES",
    "EXECUTED",
    "MAX_FILE",
    "NOT_SENT",
    "REFUSED",
    "AdaptiveRules",
    "BadFile",
    "BalancerRules",
    "Breaker",
    "BreakerRules",
    "BreakerState",
    "Budget",
    "BudgetRules",
    "Concurrency",
    "ConcurrencyRules",
    "Decision",
    "Delivery",
    "Ended",
    "Fault",
    "FaultRules",
    "File",
    "HedgeRules",
    "Hedging",
    "Holds",
    "Injected",
    "Outcome",
    "OutlierRules",
    "Outliers",
    "Place",
    "Priority",
    "Random",
    "Rate",
    "RateRules",
    "Retries",
    "RetryRules",
    "Sample",
    "Scoped",
    "TripRules",
    "ZoneRules",
    "Zoned",
    "inject",
    "judged",
    "of_stream",
    "parse",
    "pick_zone",
    "sample_of",
]
