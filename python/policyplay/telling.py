"""What holds for a method, as the vectors tell it: fields by their names in files, durations in nanoseconds."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from trunkcall.policy import CODES, ConcurrencyRules, Holds, Priority, Scoped, TripRules

_PLAIN = ("timeout", "stream_timeout", "wait_for_ready")
_WHOLE = ("retries", "hedging", "balancer", "zones")
_SHARED = ("outliers", "rate", "concurrency", "server_rate", "server_concurrency")


def tell_policy(holds: Holds) -> dict[str, Any]:
    told = {name: getattr(holds, name) for name in _PLAIN if getattr(holds, name) is not None}
    if holds.idempotent:
        told["idempotent"] = True
    if holds.priority is not None:
        told["priority"] = holds.priority.name.lower()
    if holds.once:
        told["retries"] = "none"
    told |= {name: _tell(getattr(holds, name)) for name in _WHOLE if getattr(holds, name)}
    if holds.breaker:
        told["breaker"] = _tell(holds.breaker)
    for name in _SHARED:
        scoped: Scoped[Any] | None = getattr(holds, name)
        if scoped:
            told[name] = _tell(scoped.rules) | {"scope": scoped.scope}
    if holds.faults:
        told["faults"] = [asdict(fault) | {"code": CODES[fault.code]} for fault in holds.faults]
    return told


def _tell(rules: Any) -> dict[str, Any]:
    told = asdict(rules)
    for name, value in told.items():
        if isinstance(value, frozenset):
            told[name] = [code for number, code in enumerate(CODES) if number in value]
    if "shares" in told:
        told["shares"] = {one.name.lower(): told["shares"][one] for one in Priority}
    if isinstance(rules, TripRules):
        gone = [] if rules.consecutive else ["consecutive"]
        gone += [] if rules.percent else ["percent", "calls", "window"]
        return {name: value for name, value in told.items() if name not in gone}
    if isinstance(rules, ConcurrencyRules):
        del told["limit" if rules.adaptive else "adaptive"]
    return told
