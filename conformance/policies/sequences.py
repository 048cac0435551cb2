"""Events for the cores, made up at random. Numbers are drawn from few that lie close to each other, so that bounds are
met."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

MS = 10**6
ENDINGS = (
    "OK",
    "OK",
    "UNAVAILABLE",
    "UNAVAILABLE",
    "INTERNAL",
    "NOT_FOUND",
    "RESOURCE_EXHAUSTED",
    "DEADLINE_EXCEEDED",
    "CANCELLED",
)
DELIVERIES = ("executed", "unknown", "refused", "not_sent")
STEPS = 120
DRAWN = 5  # numbers for a step, at most

Step = dict[str, Any]


class SequenceMaker:
    """Cases of cores from one source of random numbers."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.at = 0
        self.pace = MS
        self.steps: list[Step] = []

    def case(self) -> dict[str, Any]:
        """A core, its policy and events."""
        draw = self.draw
        core = draw.choice(sorted(CORES))
        rules, event = CORES[core]
        policy: dict[str, Any] = {"policy": 1, "defaults": rules(draw)}
        if draw.random() < 0.7:
            policy["budget"] = {"percent": draw.choice((0, 10, 50, 100)), "least": draw.choice((0, 0, 1, 2))}
        self.at, self.steps = draw.choice((0, 1, 5_000 * MS)), []
        self.pace = draw.choice((1, 1000, MS, 10 * MS, 1000 * MS))
        for _ in range(STEPS):
            self.at = max(0, self.at + draw.choice((0, 0, 1, 1, 2, 10, 100, -1)) * self.pace)
            step = event(self)
            step |= {"at": self.at, "random": [self.number() for _ in range(DRAWN)]}
            self.steps.append(step)
        return {"core": core, "policy": policy, "steps": self.steps}

    def number(self) -> int:
        """A random number for a core."""
        return self.draw.choice((0, 2**31, 2**32 - 1, self.draw.randrange(2**32)))

    def ended(self, **more: Any) -> Step:
        draw = self.draw
        delivery = draw.choice(DELIVERIES)
        told: Step = {"event": "ended", "code": draw.choice(ENDINGS), "delivery": delivery} | more
        if delivery == "refused" and draw.random() < 0.8:
            told["retry_after"] = draw.choice((1, 50, 1000, 2000)) * MS
        if delivery == "not_sent" and draw.random() < 0.7:
            told["lost"] = True
        if draw.random() < 0.3:
            told["elsewhere"] = True
        if draw.random() < 0.5:
            told |= {"time": draw.choice((9, 10, 11)) * MS, "left": draw.choice((0, 4, 5, 6, 10)) * MS}
        return told

    def budget(self) -> Step:
        return {"event": "take"} if self.draw.random() < 0.5 else {"event": "made", "calls": self.draw.randint(1, 30)}

    def begin(self, call: int) -> Step:
        deadline = (
            {"deadline": max(0, self.at + self.draw.choice((0, 10, 100, 1000)) * self.pace)}
            if self.draw.random() < 0.5
            else {}
        )
        return {"event": "begin", "call": call} | deadline


def retries(draw: random.Random) -> Step:
    group = {
        "attempts": draw.randint(1, 10),
        "jitter": draw.choice((0, 1, 33, 100)),
        "multiplier": draw.choice((100, 133, 200, 1000)),
    }
    backoff = draw.choice(({}, {"backoff": "1ns", "max_backoff": "7ns"}, {"backoff": "3ms"}, {"backoff": "1h"}))
    return {"idempotent": draw.random() < 0.7, "retries": group | backoff}


def hedging(draw: random.Random) -> Step:
    group: Step = {"delay": draw.choice(("1ns", "10ns", "1ms", "10ms", "1s")), "attempts": draw.randint(2, 5)}
    return {"idempotent": True, "hedging": group | ({"stop": ["INTERNAL", "NOT_FOUND"]} if draw.random() < 0.5 else {})}


def of_calls(made: SequenceMaker, **more: Any) -> Step | None:
    """A begin of a call that has not begun, or an event of the budget; else None."""
    call = made.draw.randint(0, 3)
    if not any(step["event"] == "begin" and step["call"] == call for step in made.steps) or made.draw.random() < 0.1:
        return made.begin(call)
    return made.budget() if made.draw.random() < 0.2 else None


def begun(made: SequenceMaker) -> int:
    call: int = made.draw.choice([step["call"] for step in made.steps if step["event"] == "begin"])
    return call


def retries_event(made: SequenceMaker) -> Step:
    return of_calls(made) or made.ended(call=begun(made))


def hedging_event(made: SequenceMaker) -> Step:
    event = of_calls(made)
    if event:
        return event
    if made.draw.random() < 0.5:
        return {"event": "look", "call": begun(made)}
    return made.ended(call=begun(made), attempt=made.draw.randint(1, 5))


def trip(draw: random.Random) -> Step:
    row = {"consecutive": draw.randint(1, 4)} if draw.random() < 0.7 else {}
    share = {
        "percent": draw.choice((1, 33, 50, 100)),
        "calls": draw.randint(1, 6),
        "window": draw.choice(("1s", "1.001s", "10s")),
    }
    return row | (share if not row or draw.random() < 0.5 else {})


def breaker(draw: random.Random) -> Step:
    return {"breaker": trip(draw) | {"open": draw.choice(("1ms", "7ms", "1s")), "probes": draw.randint(1, 3)}}


def breaker_event(made: SequenceMaker) -> Step:
    asked = [n for n, step in enumerate(made.steps) if step["event"] == "ask"]
    if not asked or made.draw.random() < 0.4:
        return {"event": "ask"}
    return made.ended(ask=made.draw.choice(asked[-4:]))


def outliers(draw: random.Random) -> Step:
    return {
        "outliers": trip(draw)
        | {
            "eject": draw.choice(("1ms", "10ms", "1s")),
            "max_eject": draw.choice(("1s", "3s", "24h")),
            "cap": draw.choice((1, 34, 50, 100)),
        }
    }


def outliers_event(made: SequenceMaker) -> Step:
    draw = made.draw
    if not made.steps or draw.random() < 0.05:
        return {"event": "endpoints", "endpoints": draw.sample("abcdef", draw.randint(0 if made.steps else 2, 6))}
    return {"event": "ejected"} if draw.random() < 0.3 else made.ended(endpoint=draw.choice("abcabcdef"))


def shares(draw: random.Random) -> Step:
    return (
        {"shares": {"critical": 100, "high": 90, "normal": draw.choice((50, 90)), "low": draw.choice((1, 33))}}
        if draw.random() < 0.5
        else {}
    )


def rate(draw: random.Random) -> Step:
    burst = {"burst": draw.choice((1, 2, 7, 1_000_000))} if draw.random() < 0.7 else {}
    return {"rate": {"per_second": draw.choice((1, 3, 7, 1000, 999_983, 1_000_000))} | burst | shares(draw)}


def rate_event(made: SequenceMaker) -> Step:
    return {"event": "take"} | (
        {"priority": made.draw.choice(("critical", "high", "normal", "low", "other"))}
        if made.draw.random() < 0.7
        else {}
    )


def concurrency(draw: random.Random) -> Step:
    if draw.random() < 0.2:
        return {"concurrency": {"limit": draw.randint(1, 20)} | shares(draw)}
    adaptive = {
        "least": draw.choice((1, 3)),
        "most": draw.choice((20, 1000)),
        "start": draw.randint(3, 20),
        "samples": draw.choice((1, 2, 10)),
        "window": draw.choice(("1ms", "10ms")),
        "tolerance": draw.choice((100, 133, 1000)),
        "remeasure": draw.choice(("1s", "1h")),
    }
    return {"concurrency": {"adaptive": adaptive} | shares(draw)}


def concurrency_event(made: SequenceMaker) -> Step:
    draw = made.draw
    if draw.random() < 0.55:
        return {"event": "enter"} | ({"priority": draw.choice(("critical", "low"))} if draw.random() < 0.3 else {})
    return made.ended(took=draw.choice((-1, 0, 1, 10, 11, 100, 10**12)) * draw.choice((1, MS))) | {"event": "leave"}


def zones(draw: random.Random) -> Step:
    return {
        "zones": {"healthy": draw.randint(1, 100)}
        | ({"overflow_calls": draw.randint(1, 5)} if draw.random() < 0.5 else {})
    }


def zones_event(made: SequenceMaker) -> Step:
    draw = made.draw
    total = draw.choice((0, 1, 3, 10, 100_000))
    return {
        "event": "pick",
        "total": total,
        "available": draw.randint(0, total),
        "calls": draw.randint(0, 40),
        "others": draw.choice((0, 1, 5)),
    }


def faults(draw: random.Random) -> Step:
    found: Step = {}
    for name in draw.sample(["a", "a-1", "a_", "b", "zz"], draw.randint(1, 5)):
        found[name] = {"per_million": draw.choice((1, 500_000, 999_999, 1_000_000)), "delay": "7ms"}
        if draw.random() < 0.3:
            found[name]["code"] = "INTERNAL"
    return {"faults": found}


def faults_event(made: SequenceMaker) -> Step:
    return {"event": "draw"}


CORES: dict[str, tuple[Callable[[random.Random], Step], Callable[[SequenceMaker], Step]]] = {
    "retries": (retries, retries_event),
    "hedging": (hedging, hedging_event),
    "breaker": (breaker, breaker_event),
    "outliers": (outliers, outliers_event),
    "rate": (rate, rate_event),
    "concurrency": (concurrency, concurrency_event),
    "zones": (zones, zones_event),
    "faults": (faults, faults_event),
}
