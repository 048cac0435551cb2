"""The cores, by their names in cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trunkcall.policy import (
    CODES,
    Breaker,
    Budget,
    Concurrency,
    Decision,
    Delivery,
    Ended,
    File,
    Hedging,
    Holds,
    Outliers,
    Priority,
    Rate,
    Retries,
    Zoned,
    inject,
    judged,
    pick_zone,
    sample_of,
)

Told = dict[str, Any]


class Step:
    """An event of a core."""

    def __init__(self, told: Told, number: int) -> None:
        self.told = told
        self.number = number  # of the step
        self.at: int = told["at"]
        self.event: str = told["event"]
        self.drawn = 0

    def random(self) -> int:
        """Draws the numbers of the step; more than there are is an error."""
        self.drawn += 1
        number: int = self.told["random"][self.drawn - 1]
        return number

    def number_of(self, name: str) -> int:
        found: int = self.told.get(name, 0)
        return found

    @property
    def priority(self) -> Priority:
        return Priority.named(self.told.get("priority", "normal"))

    def ended(self) -> Ended:
        told = self.told
        return Ended(
            CODES.index(told["code"]),
            Delivery[told["delivery"].upper()],
            told.get("retry_after", 0),
            told.get("lost", False),
            told.get("elsewhere", False),
            told.get("time", 0),
            told.get("left", 0),
        )


Take = Callable[[Step], Told]


def _no_such(step: Step) -> Told:
    raise ValueError(f"step {step.number}: no such event: {step.event}")


def _budget(budget: Budget, step: Step) -> Told:
    if step.event == "made":
        budget.made(step.at, step.told["calls"])
        return {}
    if step.event == "take":
        return {"allowed": budget.take(step.at)}
    return _no_such(step)


def _retries(file: File, holds: Holds) -> Take:
    budget, calls = Budget(file.budget), dict[int, Retries]()
    rules = holds.retries
    assert rules is not None

    def take(step: Step) -> Told:
        call = step.number_of("call")
        if step.event == "begin":
            calls[call] = Retries(rules, budget, holds.idempotent, step.at, step.told.get("deadline"))
            return {}
        if step.event == "ended":
            decision = calls[call].ended(step.at, step.ended(), step.random)
            return {"end" if isinstance(decision, str) else "retry": decision}
        return _budget(budget, step)

    return take


def _hedging(file: File, holds: Holds) -> Take:
    budget, calls = Budget(file.budget), dict[int, Hedging]()
    rules = holds.hedging
    assert rules is not None

    def take(step: Step) -> Told:
        call = step.number_of("call")
        if step.event == "begin":
            calls[call] = Hedging(rules, budget, step.at, step.told.get("deadline"))
            return _hedged(calls[call].begun)
        if step.event == "look":
            return _hedged(calls[call].look(step.at))
        if step.event == "ended":
            return _hedged(calls[call].ended(step.at, step.number_of("attempt"), step.ended()))
        return _budget(budget, step)

    return take


def _hedged(decision: Decision) -> Told:
    told: Told = {
        name: getattr(decision, name) for name in ("start", "look", "finish") if getattr(decision, name) is not None
    }
    if decision.delivery is not None:
        told["delivery"] = decision.delivery.name.lower()
    return told


def _breaker(_: File, holds: Holds) -> Take:
    rules = holds.breaker
    assert rules is not None
    breaker, numbers = Breaker(rules), dict[int, int]()

    def take(step: Step) -> Told:
        told: Told = {}
        if step.event == "ask":
            number, after = breaker.ask(step.at)
            if number is None:
                told["after"] = after
            else:
                told["number"] = numbers[step.number] = number
        elif step.event == "ended":
            number = numbers.get(step.number_of("ask"), 0)
            breaker.ended(step.at, number, judged(rules, step.ended()), step.random)
        else:
            _no_such(step)
        return told | {"state": breaker.state.value}

    return take


def _outliers(_: File, holds: Holds) -> Take:
    assert holds.outliers is not None
    rules = holds.outliers.rules
    outliers = Outliers(rules)

    def take(step: Step) -> Told:
        if step.event == "endpoints":
            outliers.endpoints(step.at, step.told["endpoints"])
            return {}
        if step.event == "ended":
            until = outliers.ended(step.at, step.told["endpoint"], judged(rules, step.ended()), step.random)
            return {} if until is None else {"until": until}
        return {"ejected": outliers.ejected(step.at)} if step.event == "ejected" else _no_such(step)

    return take


def _rate(_: File, holds: Holds) -> Take:
    assert holds.rate is not None
    rate = Rate(holds.rate.rules)

    def take(step: Step) -> Told:
        if step.event != "take":
            return _no_such(step)
        after = rate.take(step.at, step.priority)
        return {"allowed": False, "after": after} if after else {"allowed": True}

    return take


def _concurrency(_: File, holds: Holds) -> Take:
    assert holds.concurrency is not None
    concurrency = Concurrency(holds.concurrency.rules)
    running = 0

    def take(step: Step) -> Told:
        nonlocal running
        if step.event == "enter":
            allowed = concurrency.enter(step.at, step.priority)
            running += allowed
            return {"allowed": allowed}
        if step.event != "leave":
            return _no_such(step)
        if running:  # else nobody is there to leave
            running -= 1
            concurrency.leave(step.at, step.number_of("took"), sample_of(step.ended()), step.random)
        return {"limit": concurrency.limit}

    return take


def _zones(_: File, holds: Holds) -> Take:
    rules = holds.zones
    assert rules is not None

    def take(step: Step) -> Told:
        if step.event != "pick":
            return _no_such(step)
        there = Zoned(*(step.number_of(name) for name in ("total", "available", "calls", "others")))
        return {"place": pick_zone(rules, there, step.random).value}

    return take


def _faults(_: File, holds: Holds) -> Take:
    def take(step: Step) -> Told:
        if step.event != "draw":
            return _no_such(step)
        injected = inject(holds.faults, step.random)
        told: Told = {"delay": injected.delay}
        return told | {"code": CODES[injected.code], "name": injected.name} if injected.code else told

    return take


CORES: dict[str, Callable[[File, Holds], Take]] = {
    "retries": _retries,
    "hedging": _hedging,
    "breaker": _breaker,
    "outliers": _outliers,
    "rate": _rate,
    "concurrency": _concurrency,
    "zones": _zones,
    "faults": _faults,
}
