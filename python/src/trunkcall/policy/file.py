"""Policy files and what they say of a method (policy.md 4 and 5.5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .faults import BadFile, fail
from .fields import Reader
from .groups import Scope, read_file
from .json import read_json
from .rules import (
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
    ZoneRules,
)
from .tree import look_over
from .yaml import read_yaml

Group = TypeVar("Group")


@dataclass(frozen=True, slots=True)
class Scoped(Generic[Group]):
    """A group whose state the methods of a scope share, and the path of the scope that says it."""

    rules: Group
    scope: str


@dataclass(slots=True)
class Holds:
    """What holds for a method (policy.md 4). Durations are nanoseconds. None: nothing holds."""

    timeout: int | None = None
    stream_timeout: int | None = None  # of a streaming method
    wait_for_ready: bool | None = None
    idempotent: bool = False
    priority: Priority | None = None
    once: bool = False  # by `retries: none`
    retries: RetryRules | None = None
    hedging: HedgeRules | None = None
    breaker: BreakerRules | None = None
    outliers: Scoped[OutlierRules] | None = None
    balancer: BalancerRules | None = None
    zones: ZoneRules | None = None
    rate: Scoped[RateRules] | None = None
    concurrency: Scoped[ConcurrencyRules] | None = None
    server_rate: Scoped[RateRules] | None = None
    server_concurrency: Scoped[ConcurrencyRules] | None = None
    faults: tuple[FaultRules, ...] = ()


_SHARED = ("outliers", "rate", "concurrency", "server_rate", "server_concurrency")


class File:
    """A policy file. It does not change."""

    def __init__(self, budget: BudgetRules, defaults: Scope | None, services: Sequence[Scope]) -> None:
        self.budget = budget
        self._defaults = [defaults] if defaults else []
        self._services = {service.name: service for service in services}
        self._methods = {(service.name, one.name): one for service in services for one in service.methods}

    def holds(self, service: str, method: str) -> Holds:
        """What holds for a method, both by their names without slashes."""
        named = (self._services.get(service), self._methods.get((service, method)))
        merged = _merged([*self._defaults, *(scope for scope in named if scope)])
        if named[1]:
            merged.stream_timeout = named[1].said.get("timeout")
        return merged

    def scopes(self) -> Iterator[tuple[int, str, Holds]]:
        """Line and path of each scope in the order of the file, with what holds in it."""
        for one in self._defaults:
            yield one.line, one.path, _merged([one])
        for service in self._services.values():
            wider = [*self._defaults, service]
            yield service.line, service.path, _merged(wider)
            for method in service.methods:
                yield method.line, method.path, _merged([*wider, method])

    def contradictions(self, reader: Reader) -> None:
        """Tells what contradicts itself in what holds in a scope (policy.md 5.5)."""
        if self._defaults:
            _contradictions(reader, self._defaults)
        for service in self._services.values():
            wider = [*self._defaults, service]
            _contradictions(reader, wider)
            for method in service.methods:
                _contradictions(reader, [*wider, method])


def parse(data: bytes) -> File:
    """Reads a policy file in JSON or YAML. Raises BadFile."""
    text = look_over(data)
    first = text.lstrip(" \t\n")[0]
    if first == "[":
        fail(1, "want a mapping, found a list")
    root = read_json(text) if first == "{" else read_yaml(text)
    reader = Reader()
    found = read_file(reader, root)
    if not reader.faults:
        file = File(*found)
        file.contradictions(reader)
        if not reader.faults:
            return file
    raise BadFile(reader.faults)


def _merged(scopes: Sequence[Scope]) -> Holds:
    """What holds in the last of the scopes, of which the widest is the first."""
    holds = Holds()
    retries_at = hedging_at = 0
    for n, scope in enumerate(scopes):
        for name, said in scope.said.items():
            value: Any = Scoped(said, scope.path) if name in _SHARED and said is not None else said
            setattr(holds, name, () if name == "faults" and said is None else value)
        if "retries" in scope.said:
            retries_at, holds.once = n, scope.said["retries"] is None
        if "hedging" in scope.said:
            hedging_at = n
    if holds.retries and holds.hedging:
        if retries_at > hedging_at:
            holds.hedging = None
        elif hedging_at > retries_at:
            holds.retries = None
    return holds


def _contradictions(reader: Reader, scopes: Sequence[Scope]) -> None:
    scope = scopes[-1]
    if not scope.said.keys() & {"timeout", "idempotent", "retries", "hedging"}:
        return
    holds = _merged(scopes)
    found = {
        "retries-and-hedging: one scope has both": scope.said.get("retries") and scope.said.get("hedging"),
        "hedging-not-idempotent: hedging wants idempotent": holds.hedging and not holds.idempotent,
        "timeout-below-backoff: timeout is not above backoff of retries": (
            holds.timeout and holds.retries and holds.retries.attempts > 1 and holds.timeout <= holds.retries.backoff
        ),
        "timeout-below-delay: timeout is not above delay of hedging": (
            holds.timeout and holds.hedging and holds.timeout <= holds.hedging.delay
        ),
    }
    for told, wrong in found.items():
        if wrong:
            reader.fault(scope.line, scope.path, told)
