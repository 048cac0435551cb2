"""What client.md says a client computes, step by step: a model to derive vectors from, of no implementation."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

WORD = 1 << 64
SECOND = 10**9
OWN_SCHEMES = ("unix", "mem", "ws", "wss")


# 10.7: hashes


def fnv1a(data: bytes) -> int:
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) % WORD
    return h


def mix(z: int) -> int:
    z = (z + 0x9E3779B97F4A7C15) % WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % WORD
    return z ^ (z >> 31)


def hashed(text: str) -> int:
    return mix(fnv1a(text.encode()))


def score(a: int, b: int) -> int:
    return mix(a ^ b)


def ranked(a: int, identities: list[str]) -> list[str]:
    return sorted(identities, key=lambda i: (-score(a, hashed(i)), i.encode()))


# 6: targets


class Bad(Exception):
    """What is wrong with a target, an endpoint or a policy."""


def address(text: str) -> dict[str, Any]:
    kind, colon, rest = text.partition(":")
    if colon and kind in ("unix", "mem"):
        if not rest:
            raise Bad("empty")
        return {"address": text, "network": kind, "place": rest, "server_name": "localhost"}
    port = ""
    if kind in ("ws", "wss") and rest.startswith("//"):
        where, slash, path = rest[2:].partition("/")
        if "@" in where or "#" in rest or not where:
            raise Bad("URL")
        if not re.search(r":[^\]]*$", where):
            port = {"ws": "80", "wss": "443"}[kind]
            where += ":" + port
        host, port = host_port(where)
        if not host:
            raise Bad("URL")
        return {
            "address": text,
            "network": kind,
            "place": f"{bracketed(host)}:{port}{slash}{path}",
            "server_name": host,
        }
    host, port = host_port(text)
    host = host or "localhost"
    return {"address": text, "network": "tcp", "place": f"{bracketed(host)}:{port}", "server_name": host}


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def host_port(text: str) -> tuple[str, str]:
    found = re.fullmatch(r"(?:\[([^\[\]/\s]*:[^\[\]/\s]*)\]|([^:\[\]/\s]*)):([0-9]{1,5})", text)
    if found is None or not 1 <= int(found[3]) <= 65535:
        raise Bad("HOST:PORT")
    return found[1] or found[2] or "", str(int(found[3]))


def target(text: str, schemes: list[str]) -> dict[str, Any]:
    scheme, colon, rest = text.partition(":")
    if colon and scheme in schemes:
        return {"scheme": scheme, "rest": rest}
    if colon and scheme == "dns":
        host, port = host_port(rest)
        if not host:
            raise Bad("HOST")
        return {"scheme": "dns", "rest": rest, "host": host, "port": port}
    return {"scheme": "static", "rest": text, "endpoints": [address(part.strip()) for part in text.split(",")]}


# 7 and 8: sets


def identity(e: dict[str, Any]) -> str:
    if e.get("id"):
        return str(e["id"])
    name = e.get("server_name", "")
    return ",".join(e["addresses"]) + (f"#{name}" if name else "")


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return (identity(a), a["addresses"], a.get("server_name", "")) == (
        identity(b),
        b["addresses"],
        b.get("server_name", ""),
    )


def check(e: dict[str, Any]) -> None:
    if not 1 <= len(e["addresses"]) <= 64 or not 0 <= e.get("weight", 0) <= 1_000_000:
        raise Bad("endpoint")
    for text in e["addresses"]:
        address(text)


def applied(before: list[dict[str, Any]], new: list[dict[str, Any]]) -> dict[str, Any]:
    if not new:
        raise Bad("empty")
    for e in new:
        check(e)
    first: dict[str, dict[str, Any]] = {}
    for e in new:
        first.setdefault(identity(e), e)
    old = {identity(e): e for e in before}
    stay = [i for i, e in first.items() if i in old and same(old[i], e)]
    return {
        "order": list(first),
        "new": [i for i in first if i not in stay],
        "stay": stay,
        "exchanged": [i for i in stay if old[i] != first[i]],
        "drained": [i for i in old if i not in stay],
        "ignored": len(new) - len(first),
    }


def part(client: int, most: int, identities: list[str]) -> list[str]:
    if most == 0 or len(identities) <= most:
        return identities
    chosen = set(ranked(client, identities)[:most])
    return [i for i in identities if i in chosen]


# 9: connecting


def pause(failures: int) -> int:
    """The longest one, in milliseconds."""
    return min(100 << (failures - 1), 10_000) if failures < 20 else 10_000


def raced(addresses: list[str], answers: dict[str, list[str]]) -> list[str]:
    found: list[str] = []
    for text in addresses:
        host, _, port = text.rpartition(":")
        found += [f"{bracketed(ip)}:{port}" for ip in answers[host]] if host in answers else [text]
    found = list(dict.fromkeys(found))
    if not found:
        return []
    kinds = [[a for a in found if a.startswith("[") == six] for six in (True, False)]
    if not found[0].startswith("["):
        kinds.reverse()
    out: list[str] = []
    while any(kinds):
        out += [kind.pop(0) for kind in kinds if kind]
    return out


def run(tries: list[dict[str, Any]]) -> dict[str, Any]:
    """Who is tried when, and who wins: each of tries has what its attempts come to, one after the other."""
    began: list[dict[str, Any]] = []
    now, used = 0, dict.fromkeys((t["address"] for t in tries), 0)
    outcomes = {t["address"]: t["attempts"] for t in tries}
    todo = [t["address"] for t in tries]
    for _ in range(2):
        ends: list[tuple[int, str, str]] = []
        for place in todo:
            what = outcomes[place][used[place]]
            used[place] += 1
            if any(end <= now and how == "greets" for end, _, how in ends):
                break
            began.append({"address": place, "at": now})
            ends.append((now + min(what["after"], 3000), place, what["how"] if what["after"] < 3000 else "fails"))
            now = min([now + 250] + ([ends[-1][0]] if ends[-1][2] != "greets" else []))
        won = sorted(e for e in ends if e[2] == "greets")
        if won:
            return {"began": [b for b in began if b["at"] <= won[0][0]], "wins": won[0][1], "at": won[0][0]}
        now = max(end for end, _, _ in ends)
        todo = [place for _, place, how in ends[:-1] if how == "refuses"]
        if not todo:
            break
    return {"began": began, "wins": None, "at": now}


def idled(balancer: str, serves: list[bool]) -> dict[str, list[str]]:
    """The states of endpoints while calls are made, and once the client has closed its connections for being idle."""
    lazy, before, after = balancer in ("first", "hash"), [], []
    for n, serving in enumerate(serves):
        unpicked = lazy and any(serves[:n])
        before.append("idle" if unpicked else "ready" if serving else "failing")
        after.append("failing" if lazy and before[n] == "failing" else "idle")
    return {"before": before, "after": after}


# 10: choosing


@dataclass(frozen=True)
class Seen:
    """An endpoint as a picker sees it."""

    identity: str
    weight: int
    state: str
    calls: int
    latency: int | None


class Chooser:
    """One balancer in the course of a case."""

    def __init__(self, kind: str, endpoints: list[Seen], counter: int) -> None:
        self.kind = kind
        self.endpoints = endpoints
        self.first = self.further = counter  # s and t
        self.kept: tuple[str, int] | None = None  # and how often in a row

    def change(self, identity: str, what: dict[str, Any]) -> None:
        self.endpoints = [replace(e, **what) if e.identity == identity else e for e in self.endpoints]
        if "state" in what:
            self.kept = None  # a new picker

    def pick(self, step: dict[str, Any]) -> str | None:
        draws = iter(int(r, 16) for r in step.get("random", []))
        avoid = step.get("avoid")
        if self.kind in ("first", "hash"):
            order = [e.identity for e in self.endpoints]
            if self.kind == "hash":
                order = ranked(hashed(step["key"]) if step.get("key") else next(draws), order)
            usable = [i for i in order if self.seen(i).state != "failing"]
            out = next((i for i in usable if i != avoid), avoid if avoid in usable else None)
        else:
            out = self.eager(avoid, draws)
        if next(draws, None) is not None:
            raise ValueError("a random number too many")
        return out

    def seen(self, identity: str) -> Seen:
        return next(e for e in self.endpoints if e.identity == identity)

    def eager(self, avoid: str | None, draws: Iterator[int]) -> str | None:
        ready = [e for e in self.endpoints if e.state == "ready"]
        coming = [e for e in self.endpoints if e.state in ("idle", "connecting")]
        for group in (ready, coming):
            if candidates := [e for e in group if e.identity != avoid]:
                return self.less(candidates, draws) if self.kind == "least_loaded" else self.turn(candidates, bool(avoid))
        return avoid if any(e.identity == avoid for e in ready + coming) else None

    def turn(self, group: list[Seen], avoids: bool) -> str:
        weights = [e.weight or 1 for e in group]
        n, most = len(group), max(weights)
        while True:
            s = self.further if avoids else self.first
            if avoids:
                self.further = (s + 1) % WORD
            else:
                self.first = (s + 1) % WORD
            i, g = s % n, s // n % most
            if (weights[i] * g + i * (most // 2)) % most >= most - weights[i]:
                return group[i].identity

    def less(self, group: list[Seen], draws: Iterator[int]) -> str:
        if len(group) == 1:
            return group[0].identity
        known = [e.latency for e in group if e.latency is not None]
        mean = sum(known) / len(known) if known else 1.0

        def load(e: Seen) -> float:
            return (e.calls + 1) * (float(e.latency) if e.latency is not None else mean)

        stays = self.kept is not None and self.kept[1] < 64 and any(e.identity == self.kept[0] for e in group)
        a = (
            next(e for e in group if self.kept and e.identity == self.kept[0])
            if stays
            else group[index(draws, len(group))]
        )
        others = [e for e in group if e is not a]
        b = others[index(draws, len(others))]
        chosen = a if load(a) <= load(b) * (1.25 if stays else 1) else b
        self.kept = (chosen.identity, self.kept[1] + 1 if stays and chosen is a and self.kept else 1)
        return chosen.identity


def index(draws: Iterator[int], n: int) -> int:
    return next(draws) * n // WORD


# 10.9


def latencies(events: list[dict[str, Any]]) -> list[int | None]:
    """The moving latency after each event, which is a call's end, or a look at a time."""
    m, first, at = 0.0, -1, -1
    out: list[int | None] = []
    for e in events:
        x = sample(e, m if at >= 0 and e["at"] - at <= 10 * SECOND else None)
        if x is not None:
            dt = e["at"] - at
            if at < 0 or dt > 10 * SECOND:
                m, first = float(x), e["at"]
            elif dt > 0:
                m = m + (x - m) * dt / (min(10 * SECOND, at - first) + dt)
            at = max(at, e["at"])
        out.append(math.floor(m) if at >= 0 and e["at"] - at <= 10 * SECOND else None)
    return out


def sample(e: dict[str, Any], moving: float | None) -> int | None:
    if "code" not in e or (e.get("local") and e["delivery"] == "not_sent"):
        return None
    unary = e["kind"] == "unary"
    if e["code"] in ("UNAVAILABLE", "RESOURCE_EXHAUSTED"):
        return max(e["duration"] if unary else 0, SECOND)
    if not unary:
        return None
    if e["code"] in ("CANCELLED", "DEADLINE_EXCEEDED") and moving is not None and e["duration"] <= moving:
        return None
    return int(e["duration"])


# 11


def policy(policies: list[dict[str, Any]], method: str, streaming: bool) -> dict[str, Any]:
    service = method[: method.rindex("/") + 1]
    out: dict[str, Any] = {}
    for name in (method, service, ""):
        for p in policies:
            if p["method"] == name:
                for field in ("timeout", "wait_for_ready", "repeat"):
                    if field in p and not (field == "timeout" and streaming and name != method):
                        out.setdefault(field, p[field])
    return out


def check_policies(policies: list[dict[str, Any]]) -> None:
    names = [p["method"] for p in policies]
    if len(set(names)) != len(names):
        raise Bad("twice")
    for p in policies:
        if not re.fullmatch(r"(/[^/]+/[^/]*)?", p["method"]) or len(p) < 2 or p.get("timeout", 1) <= 0:
            raise Bad("policy")
