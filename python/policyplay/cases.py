"""Cases, and what comes of them."""

from __future__ import annotations

import json
from typing import Any

from trunkcall.policy import BadFile, parse

from .cores import CORES, Step
from .telling import tell_policy


def play(case: dict[str, Any]) -> dict[str, Any]:
    """The outcome of a case: of a file, in hexadecimal digits, what it says of methods; or the decisions of a core."""
    if "core" not in case:
        return _tell_file(bytes.fromhex(case["file"]), case.get("methods", ()))
    file = parse(json.dumps(case["policy"]).encode())
    take = CORES[case["core"]](file, file.holds("package.Service", "Method"))
    decisions: list[dict[str, Any]] = []
    for number, told in enumerate(case["steps"]):
        step = Step(told, number)
        decision = take(step)
        if step.drawn:
            decision["drawn"] = step.drawn
        decisions.append(decision)
    return {"decisions": decisions}


def _tell_file(data: bytes, methods: list[str]) -> dict[str, Any]:
    try:
        file = parse(data)
    except BadFile as bad:
        return {"faults": [str(fault) for fault in bad.faults]}
    holds: dict[str, Any] = {}
    for name in methods:
        service, _, method = name.partition("/")
        holds[name] = tell_policy(file.holds(service, method))
    return {"budget": {"percent": file.budget.percent, "least": file.budget.least}, "methods": holds}
