"""A policy file that is watched, and the states that are kept for what it says (spec/policy.md)."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from .checking import wrong_type
from .policies import Policies, Policy
from .policy import (
    BadFile,
    Breaker,
    BreakerRules,
    Budget,
    Concurrency,
    Ended,
    Fault,
    File,
    Holds,
    Rate,
    parse,
)
from .policy import Delivery as Promise
from .repeating import Repeating
from .transport import monotonic
from .wire import Delivery, Status

FilePath = str | os.PathLike[str]
LOOK = 1.0  # seconds between two looks at a file (policy.md 5.6)
_REMEMBERED = 4_096  # methods that have states of their own
_PROMISES = {
    Delivery.EXECUTED: Promise.EXECUTED,
    Delivery.UNKNOWN: Promise.UNKNOWN,
    Delivery.REFUSED: Promise.REFUSED,
    Delivery.NOT_SENT: Promise.NOT_SENT,
}
# What a client cannot do yet is refused, not ignored.
_LACKS = ("priority", "hedging", "outliers", "balancer", "zones")
State = TypeVar("State")


def now() -> int:
    """The time of all cores, in nanoseconds."""
    return monotonic.nanoseconds()


def draw() -> int:
    """A random number of 32 bits."""
    return random.getrandbits(32)


def end_of(status: Status, *, lost: bool = False, elsewhere: bool = False) -> Ended:
    """How an attempt ended, as the cores know it."""
    return Ended(int(status.code), _PROMISES[status.delivery], round(status.retry_after * 1e9), lost, elsewhere)


class Rules:
    """What holds for a method, with its states."""

    __slots__ = ("breaker", "breaker_rules", "budget", "concurrency", "holds", "name", "policy", "rate")

    def __init__(self, name: str, holds: Holds, budget: Budget) -> None:
        self.name = name
        self.holds = holds
        self.budget = budget
        self.breaker: Breaker | None = None
        self.breaker_rules: BreakerRules | None = holds.breaker
        self.rate: Rate | None = None
        self.concurrency: Concurrency | None = None
        timeout = None if holds.timeout is None else holds.timeout / 1e9
        self.policy = Policy(name, timeout, holds.wait_for_ready, not holds.once)


class Governance:
    """What one file says. It does not change: when the file is exchanged there is another one, which takes over the
    states whose scope and rules are the same."""

    def __init__(self, file: File, before: Governance | None = None) -> None:
        self.file = file
        kept = before is not None and before.file.budget == file.budget
        self.budget: Budget = before.budget if before is not None and kept else Budget(file.budget)
        self._rules: dict[str, Rules] = {}
        self._states: dict[tuple[str, str], tuple[object, object]] = {}
        self._earlier = {} if before is None else before._states
        for name in () if before is None else before._rules:
            self.of(name)
        self._earlier = {}

    def of(self, name: str) -> Rules:
        """What holds for a method by its name, "/package.Service/Method"."""
        rules = self._rules.get(name)
        if rules is None:
            service, _, method = name.removeprefix("/").partition("/")
            rules = Rules(name, self.file.holds(service, method), self.budget)
            holds = rules.holds
            if len(self._rules) < _REMEMBERED:
                self._rules[name] = rules
                if holds.breaker is not None:
                    rules.breaker = self._state("breaker", name, holds.breaker, Breaker)
            if holds.rate is not None:
                rules.rate = self._state("rate", holds.rate.scope, holds.rate.rules, Rate)
            if holds.concurrency is not None:
                rules.concurrency = self._state(
                    "concurrency", holds.concurrency.scope, holds.concurrency.rules, Concurrency
                )
        return rules

    def _state(self, kind: str, of: str, rules: Any, make: Callable[[Any], State]) -> State:
        key = (kind, of)
        kept = self._states.get(key)
        if kept is None:
            kept = self._earlier.get(key)
            if kept is None or kept[0] != rules:
                kept = (rules, make(rules))
            self._states[key] = kept
        return cast(State, kept[1])


class FilePolicies(Policies):
    """The policies of a client that a file says. It belongs to the client's loop."""

    def __init__(self, path: FilePath, logger: logging.Logger) -> None:
        """Raises OSError; ValueError with all faults of the file."""
        super().__init__()
        if not isinstance(path, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise wrong_type("policy_file", path, "a path")
        self._path = os.fspath(path)
        self._log = logger
        self._fault = ""
        self._read = self._seen = self._stamp()
        try:
            self._current = self._take(None)
        except ValueError as error:
            raise ValueError(f"option policy_file: {self._path}: {_told(error)}") from None

    def __bool__(self) -> bool:
        return True

    @property
    def quick(self) -> bool:
        return False

    @property
    def timeout(self) -> float | None:
        return None

    def of(self, name: str) -> Policy:
        return self._current.of(name).policy

    def of_stream(self, name: str) -> float | None:
        timeout = self._current.of(name).holds.stream_timeout
        return None if timeout is None else timeout / 1e9

    def rules(self, name: str) -> Rules | None:
        return self._current.of(name)

    @property
    def budget(self) -> Budget:
        """That of the file as it is now."""
        return self._current.budget

    async def watch(self) -> None:
        """Looks at the file until it is cancelled."""
        while True:
            await asyncio.sleep(LOOK)
            self.look()

    def look(self) -> None:
        """Reads the file if it has changed, and has stayed as it is since the last look."""
        try:
            stamp = self._stamp()
            stays, self._seen = stamp == self._seen, stamp
            if not stays or stamp == self._read:
                return
            data = self._data()
            self._read = stamp
            self._current = self._take(self._current, data)
        except OSError as error:
            self._read = self._seen = None
            self._refused(str(error))
        except ValueError as error:
            self._refused(_told(error))
        else:
            self._fault = ""
            self._log.info("policy file taken: %s", self._path)

    def _refused(self, why: str) -> None:
        if why != self._fault:  # else it was said before
            self._fault = why
            self._log.warning("policy file not taken: %s: %s", self._path, why)

    def _stamp(self) -> tuple[int, ...] | None:
        status = os.stat(self._path)
        return status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev

    def _data(self) -> bytes:
        with open(self._path, "rb") as file:
            return file.read()

    def _take(self, before: Governance | None, data: bytes | None = None) -> Governance:
        file = parse(self._data() if data is None else data)
        lacking = list(_lacking(file))
        if lacking:
            raise BadFile(lacking)
        return Governance(file, before)


def _lacking(file: File) -> Iterator[Fault]:
    for line, path, holds in file.scopes():
        for part in _LACKS:
            if getattr(holds, part) is not None:
                yield Fault(line, path, f"{part} is not done by this version")


def _told(error: ValueError) -> str:
    return str(error).replace("\n", "; ")


class Drawing(Repeating):
    """The budget of a client with a file: what it repeats by itself and what its policies have it make again draw on
    the one that the file says."""

    __slots__ = ("_made", "_policies")

    def __init__(self, policies: FilePolicies) -> None:
        self._policies = policies
        self._made = 0
        super().__init__()

    @property
    def calls(self) -> int:
        """Ever begun; each that is added is counted in the budget."""
        return self._made

    @calls.setter
    def calls(self, made: int) -> None:
        if made > self._made:
            self._policies.budget.made(now(), made - self._made)
        self._made = made

    def take(self, now: int, allowed: bool | None = None) -> bool:
        return allowed is not False and self._policies.budget.take(monotonic.nanoseconds())


def chosen_policies(
    policies: Any, timeout: float | None, repeat: bool, path: FilePath | None, logger: logging.Logger
) -> tuple[Policies, Repeating]:
    """The policies of a client by its options, and its budget. Raises ValueError, TypeError, OSError."""
    if path is None:
        return Policies(policies, timeout), Repeating(repeat)
    if Policies(policies, timeout) or not repeat:
        raise ValueError("options policy_file and policies, timeout or repeat contradict each other")
    found = FilePolicies(path, logger)
    return found, Drawing(found)
