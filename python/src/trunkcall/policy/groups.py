"""The groups and scopes of a policy file, read from its tree (policy.md 3)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .fields import NAME, Check, Field, Read, Reader, code, codes, duration, truth, whole, whole_number, word
from .numbers import SECOND
from .rules import (
    PRIORITIES,
    SHARES,
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
    Shares,
    ZoneRules,
)
from .tree import Kind, Node

Group = TypeVar("Group")

# A field and its default, which follows from what was said.
Default = tuple[str, Callable[[dict[str, Any]], int]]

_KEY = re.compile(r"[a-z0-9_.-]{1,255}")
_FAULT = re.compile(r"[a-z0-9_-]{1,64}")
_MAX_FAULTS_SAID = 16


@dataclass(slots=True)
class Scope:
    """What a scope says: None for a group that it takes away, `said` has no field that it does not say."""

    line: int
    path: str
    said: dict[str, Any] = field(default_factory=dict[str, Any])
    name: str = ""
    methods: list[Scope] = field(default_factory=list["Scope"])


def _group(kind: type[Group], fields: dict[str, Field], *checks: Check, default: Default | None = None) -> Read:
    """Reads a group of a scope, or none. One default may follow from what was said."""

    def read(reader: Reader, node: Node, path: str) -> Group | None:
        if node.kind is Kind.TEXT and node.text == "none":
            return None
        if node.kind is not Kind.MAPPING:
            reader.wants("a mapping or none", node, path)
            return None
        before = reader.count
        said = reader.mapping(node, path, fields, checks)
        if reader.count > before:
            return None  # the file is refused
        if default:
            said.setdefault(default[0], default[1](said))
        return kind(**said)

    return read


_backoff = RetryRules().backoff
_RETRIES = _group(
    RetryRules,
    {
        "attempts": whole(1, 10),
        "backoff": duration("1ns", "1h"),
        "max_backoff": duration("1ns", "1h"),
        "multiplier": whole(100, 1_000),
        "jitter": whole(0, 100),
        "codes": Field(codes),
    },
    (
        "backoff-above-max: backoff is above max_backoff",
        lambda _, said: "max_backoff" in said and said.get("backoff", _backoff) > said["max_backoff"],
    ),
    default=("max_backoff", lambda said: max(SECOND, said.get("backoff", _backoff))),
)

_HEDGING = _group(
    HedgeRules,
    {
        "delay": Field(duration("1ns", "1h").read, required=True),
        "attempts": whole(2, 5),
        "stop": Field(codes),
    },
)

_TRIP = {
    "consecutive": whole(1, 1_000_000),
    "percent": whole(1, 100),
    "calls": whole(1, 1_000_000),
    "window": duration("1s", "1h"),
    "codes": Field(codes),
}
_TRIP_CHECKS: tuple[Check, ...] = (
    (
        "trigger-missing: want consecutive or percent",
        lambda _, said: "consecutive" not in said and "percent" not in said,
    ),
    (
        "percent-missing: calls and window want percent",
        lambda _, said: "percent" not in said and ("calls" in said or "window" in said),
    ),
)

_BREAKER = _group(BreakerRules, _TRIP | {"open": duration("1ms", "1h"), "probes": whole(1, 100)}, *_TRIP_CHECKS)

_eject = OutlierRules().eject
_OUTLIERS = _group(
    OutlierRules,
    _TRIP | {"eject": duration("1ms", "1h"), "max_eject": duration("1ms", "24h"), "cap": whole(1, 100)},
    *_TRIP_CHECKS,
    (
        "eject-above-max: eject is above max_eject",
        lambda _, said: "max_eject" in said and said.get("eject", _eject) > said["max_eject"],
    ),
    default=("max_eject", lambda said: max(300 * SECOND, said.get("eject", _eject))),
)


def _entry_key(reader: Reader, node: Node, path: str) -> str | None:
    if node.kind is not Kind.TEXT or not _KEY.fullmatch(node.text):
        reader.wants("the key of a metadata entry", node, path)
        return None
    return node.text


_BALANCER = _group(
    BalancerRules,
    {
        "name": Field(word(("first", "round_robin", "least_loaded", "hash")), required=True),
        "key": Field(_entry_key),
    },
    ("key-missing: hash wants a key", lambda _, said: said["name"] == "hash" and "key" not in said),
    ("key-unused: only hash has a key", lambda _, said: said["name"] != "hash" and "key" in said),
)

_ZONES = _group(ZoneRules, {"healthy": whole(1, 100), "overflow_calls": whole(1, 1_000_000)})


def _shares_of(said: dict[str, Any]) -> Shares:
    critical, high, normal, low = (said.get(name, default) for name, default in zip(PRIORITIES, SHARES, strict=True))
    return critical, high, normal, low


def _crossed(_: Node, said: dict[str, Any]) -> bool:
    shares = _shares_of(said)
    return any(shares[n] < shares[n + 1] for n in range(3))


def _shares(reader: Reader, node: Node, path: str) -> Shares | None:
    before = reader.count
    fields = {name: whole(1, 100) for name in PRIORITIES}
    said = reader.mapping(node, path, fields, [("shares-crossed: a lower priority has more", _crossed)])
    return _shares_of(said) if reader.count == before else None


_RATE = _group(
    RateRules,
    {
        "per_second": Field(whole(1, 1_000_000).read, required=True),
        "burst": whole(1, 1_000_000),
        "shares": Field(_shares),
    },
    default=("burst", lambda said: said["per_second"]),
)


def _adaptive(reader: Reader, node: Node, path: str) -> AdaptiveRules | None:
    before = reader.count
    said = reader.mapping(node, path, _ADAPTIVE, [("bounds-crossed: want least <= start <= most", _bounds_crossed)])
    return AdaptiveRules(**said) if reader.count == before else None


_ADAPTIVE = {
    "least": whole(1, 1_000_000),
    "most": whole(1, 1_000_000),
    "start": whole(1, 1_000_000),
    "samples": whole(1, 10_000),
    "window": duration("1ms", "1m"),
    "tolerance": whole(100, 1_000),
    "remeasure": duration("1s", "1h"),
}


def _bounds_crossed(_: Node, said: dict[str, Any]) -> bool:
    rules = AdaptiveRules(**said)
    return not rules.least <= rules.start <= rules.most


_CONCURRENCY = _group(
    ConcurrencyRules,
    {"limit": whole(1, 1_000_000), "adaptive": Field(_adaptive), "shares": Field(_shares)},
    ("limit-missing: want limit or adaptive", lambda _, said: "limit" not in said and "adaptive" not in said),
    ("limit-twice: want one of limit and adaptive", lambda _, said: "limit" in said and "adaptive" in said),
)

_ONE_FAULT = {
    "per_million": Field(whole(1, 1_000_000).read, required=True),
    "delay": duration("1ns", "1h"),
    "code": Field(code),
}


def _faults(reader: Reader, node: Node, path: str) -> tuple[FaultRules, ...] | None:
    if node.kind is Kind.TEXT and node.text == "none":
        return None
    if node.kind is not Kind.MAPPING:
        reader.wants("a mapping or none", node, path)
        return None

    def one(name: str, node: Node, path: str) -> FaultRules:
        empty: Check = "fault-empty: want delay or code", lambda _, said: "delay" not in said and "code" not in said
        said = reader.mapping(node, path, _ONE_FAULT, [empty])
        return FaultRules(name, **said)

    found: list[FaultRules] = reader.named(node, path, "fault", _FAULT, one)
    if len(node.entries) > _MAX_FAULTS_SAID:
        reader.fault(node.line, path, f"has more than {_MAX_FAULTS_SAID} faults")
    return tuple(sorted(found, key=lambda fault: fault.name))


def _priority(reader: Reader, node: Node, path: str) -> Priority | None:
    name = word(PRIORITIES)(reader, node, path)
    return None if name is None else Priority.named(name)


_SCOPE = {
    "timeout": duration("1ns", "24h"),
    "wait_for_ready": Field(truth),
    "idempotent": Field(truth),
    "priority": Field(_priority),
    "retries": Field(_RETRIES),
    "hedging": Field(_HEDGING),
    "breaker": Field(_BREAKER),
    "outliers": Field(_OUTLIERS),
    "balancer": Field(_BALANCER),
    "zones": Field(_ZONES),
    "rate": Field(_RATE),
    "concurrency": Field(_CONCURRENCY),
    "server_rate": Field(_RATE),
    "server_concurrency": Field(_CONCURRENCY),
    "faults": Field(_faults),
}
_SAYS_NOTHING: Check = "says nothing", lambda node, _: not node.entries


def _scope(reader: Reader, node: Node, path: str, name: str = "", more: dict[str, Field] | None = None) -> Scope:
    said = reader.mapping(node, path, _SCOPE | (more or {}), [_SAYS_NOTHING])
    return Scope(node.line, path, said, name, said.pop("methods", None) or [])


def _methods(reader: Reader, node: Node, path: str) -> list[Scope]:
    found: list[Scope] = reader.named(node, path, "method", NAME, lambda name, node, at: _scope(reader, node, at, name))
    if node.kind is Kind.MAPPING and not node.entries:
        reader.fault(node.line, path, "says nothing")
    return found


def _services(reader: Reader, node: Node, path: str) -> list[Scope]:
    methods = {"methods": Field(_methods)}
    return reader.named(node, path, "service", NAME, lambda name, node, at: _scope(reader, node, at, name, methods))


def _version(reader: Reader, node: Node, path: str) -> None:
    if whole_number(node) != 1:
        reader.wants("1", node, path)


def _budget(reader: Reader, node: Node, path: str) -> dict[str, Any]:
    return reader.mapping(node, path, {"percent": whole(0, 100), "least": whole(0, 1_000_000)})


_FILE = {
    "policy": Field(_version, required=True),
    "budget": Field(_budget),
    "defaults": Field(_scope),
    "services": Field(_services),
}


def read_file(reader: Reader, node: Node) -> tuple[BudgetRules, Scope | None, list[Scope]]:
    """The budget, the defaults and the services of a file; of no use if the reader has faults."""
    said = reader.mapping(node, "", _FILE)
    budget: dict[str, Any] = said.get("budget") or {}
    known = BudgetRules(**{name: value for name, value in budget.items() if value is not None})
    return known, said.get("defaults"), said.get("services") or []
