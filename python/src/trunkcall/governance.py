"""What a policy file says of each method, and the states that are kept for it (spec/policy.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from .endpoint import EndpointState
from .placing import Chooser, OutlierState
from .policies import Policy
from .policy import Breaker, BreakerRules, Budget, Concurrency, File, Holds, Rate, Scoped

_REMEMBERED = 4_096  # methods that have states of their own
State = TypeVar("State")

# The states that scopes keep for all methods, as Holds and Rules call them.
_SHARED: dict[str, Callable[[Any], Any]] = {
    "outliers": OutlierState,
    "rate": Rate,
    "concurrency": Concurrency,
    "server_rate": Rate,
    "server_concurrency": Concurrency,
}


class Rules:
    """What holds for a method, with its states. None: there is none."""

    __slots__ = (
        "breaker",
        "breaker_rules",
        "budget",
        "chooser",
        "concurrency",
        "holds",
        "name",
        "outliers",
        "policy",
        "quick",
        "rate",
        "server_concurrency",
        "server_rate",
        "timeout",
    )

    def __init__(self, name: str, holds: Holds, budget: Budget) -> None:
        self.name = name
        self.holds = holds
        self.budget = budget
        self.breaker: Breaker | None = None
        self.breaker_rules: BreakerRules | None = holds.breaker
        self.outliers: OutlierState | None = None
        self.chooser: Chooser | None = None
        self.rate: Rate | None = None
        self.concurrency: Concurrency | None = None
        self.server_rate: Rate | None = None
        self.server_concurrency: Concurrency | None = None
        # Whether a call passes nothing but limits and the breaker, and carries nothing.
        apart = (holds.hedging, holds.outliers, holds.balancer, holds.zones, holds.priority, holds.wait_for_ready)
        self.quick = not holds.faults and all(one is None for one in apart)
        timeout = None if holds.timeout is None else holds.timeout / 1e9
        self.timeout = None if holds.timeout is None else holds.timeout // 1_000  # µs
        self.policy = Policy(name, timeout, holds.wait_for_ready, not holds.once)


class Governance:
    """What one file says. It does not change: when the file is exchanged there is another one, which takes over the
    states whose scope and rules are the same."""

    def __init__(self, file: File, before: Governance | None = None) -> None:
        self.file = file
        kept = before is not None and before.file.budget == file.budget
        self.budget: Budget = before.budget if before is not None and kept else Budget(file.budget)
        self.known: dict[str, Rules] = {}  # by the names of methods that were asked for
        self._states: dict[tuple[str, str], tuple[object, object]] = {}
        self._choosers: dict[object, Chooser] = {}
        self._earlier = {} if before is None else before._states
        if before is not None:
            for _, _, holds in file.scopes():
                for kind, make in _SHARED.items():
                    said: Scoped[Any] | None = getattr(holds, kind)
                    if said is not None and (kind, said.scope) in self._earlier:
                        self._state(kind, said.scope, said.rules, make)
            for name in before.known:
                self.of(name)
        self._earlier = {}

    def of(self, name: str) -> Rules:
        """What holds for a method by its name, "/package.Service/Method"."""
        return self.known.get(name) or self._found(name)

    def _found(self, name: str) -> Rules:
        service, _, method = name.removeprefix("/").partition("/")
        holds = self.file.holds(service, method)
        rules = Rules(name, holds, self.budget)
        if len(self.known) < _REMEMBERED:  # else a program makes names up
            self.known[name] = rules
            if holds.breaker is not None:
                rules.breaker = self._state("breaker", name, holds.breaker, Breaker)
        for kind, make in _SHARED.items():
            said: Scoped[Any] | None = getattr(holds, kind)
            if said is not None:
                setattr(rules, kind, self._state(kind, said.scope, said.rules, make))
        if rules.outliers or holds.zones or holds.balancer:
            key = (rules.outliers, holds.zones, holds.balancer)
            rules.chooser = self._choosers.get(key)
            if rules.chooser is None:
                rules.chooser = self._choosers[key] = Chooser(*key)
        return rules

    def ejected(self, endpoints: Sequence[EndpointState]) -> dict[str, tuple[str, ...]]:
        """The scopes that leave endpoints out now, in the order of the file, with the identities of those."""
        states = {scope: one for (_, scope), (_, one) in self._states.items() if isinstance(one, OutlierState)}
        found = {scope: left_out for scope, one in states.items() if (left_out := one.ejected(endpoints))}
        return {scope: found[scope] for _, scope, _ in self.file.scopes() if scope in found}

    def _state(self, kind: str, of: str, rules: object, make: Callable[[Any], State]) -> State:
        """The state of a scope or method for its rules: the one that is there, or was there for the same rules in the
        file before, or a new one."""
        key = (kind, of)
        kept = self._states.get(key)
        if kept is None:
            kept = self._earlier.get(key)
            if kept is None or kept[0] != rules:
                kept = (rules, make(rules))
            self._states[key] = kept
        return cast(State, kept[1])
