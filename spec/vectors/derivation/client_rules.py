"""The rules of client.md 6 to 11 that cases show: which cases of which group, by what their ids begin with.

derive.py fails when a rule has no case or a case shows no rule, and writes the table in coverage.md.
"""

from __future__ import annotations

from typing import Any

RULES: list[tuple[str, str, str, str]] = [
    ("6.1/scheme", "a scheme of the user's comes first", "targets", "scheme"),
    ("6.1/dns", "dns: is one endpoint for each address of one name", "targets", "dns"),
    ("6.1/list", "a list is one endpoint for each part", "targets", "list blanks mixed twice"),
    ("6.1/at-fault", "parts that are empty, dns: in a list or of one", "bad_targets", "empty part dns"),
    ("6.2/address", "the forms of addresses, and their server names", "targets", "host no-host ipv4 ipv6 last-port unix mem ws wss"),
    ("6.2/at-fault", "what is no address", "bad_targets", "no-port port ipv6 unix mem ws"),
    ("6.3/scheme", "the message names a scheme that nobody gave a resolver for", "bad_targets", "scheme"),
    ("7.1/fields", "addresses and weights have bounds", "sets", "weights addresses"),
    ("7.1/at-fault", "one endpoint at fault spoils the set", "bad_sets", "no-address addresses address weight twice"),
    ("7.2/identity", "id, or addresses and server name", "identities", "address addresses own server-name weight"),
    ("7.3/same", "identity, addresses and server name make the endpoint", "sets", "id server-name"),
    ("7.3/exchanged", "what else differs is exchanged in place", "sets", "weight zone attributes"),
    ("8.1/applied", "new ones come, others stay, those that left are drained", "sets", "first equal added left order all"),
    ("8.1/twice", "the first of one identity counts", "sets", "twice"),
    ("8.2/empty", "an empty set is refused", "bad_sets", "empty"),
    ("8.5/part", "the highest scores, in the order of the set", "parts", "fewer all twenty three one"),
    ("9.1/idle", "a client that is idle has its endpoints idle, failing ones of a lazy balancer apart", "idle", "all failing lazy"),
    ("9.2/pauses", "from 100 ms, doubling, at most 10 s", "pauses", ""),
    ("9.4/order", "IPv6 and others take turns", "races", "one given six four two again unresolved mem"),
    ("9.4/stagger", "the next after 250 ms, or once the one before has failed", "runs", "quick slow slower third refused"),
    ("9.4/once-more", "those that refused are tried once more, but the last", "runs", "once last none hangs"),
    ("10.2/lazy", "lazy ones pass over failing ones only", "picks", "first-failing first-idle first-connecting hash-failing hash-idle"),
    ("10.2/groups", "others take ready ones, else idle and connecting ones", "picks", "turns-ready turns-none turns-failing less-none"),
    ("10.2/avoided", "the avoided one only if there is no other", "picks", "first-avoid turns-avoid less-avoid hash-avoid"),
    ("10.4/index", "an index of a random number", "picks", "less-tie less-drawn"),
    ("10.5/first", "the first in order", "picks", "first"),
    ("10.6/turns", "turns by weight", "picks", "turns"),
    ("10.7/hash", "hash of bytes", "hashes", ""),
    ("10.7/score", "score of two hashes", "scores", ""),
    ("10.7/rank", "the first in rank, at random without a key", "picks", "hash"),
    ("10.8/load", "calls times latency, of those without the mean of others", "picks", "less-calls less-latency less-mean less-one"),
    ("10.8/kept", "one is kept for up to 64 calls, up to 1.25 times the load", "picks", "less-keeps less-new"),
    ("10.9/samples", "which calls are samples, and of what", "latencies", "unavailable exhausted stream one not-sent failed deadline"),
    ("10.9/mean", "the moving mean, and when it is too old", "latencies", "none at-once second young refused-first half full old anew many back"),
    ("11.2/specific", "each field by the most specific policy", "policies", "none specific field false prefix"),
    ("11.3/streaming", "a stream's timeout only from a policy of its own", "policies", "streaming"),
    ("11.4/at-fault", "policies at fault", "bad_policies", "twice form package says timeout"),
]  # fmt: skip


def shown(told: dict[str, Any], group: str, begins: str) -> list[str]:
    """The cases of a group whose ids begin with one of these words; all of a group without ids."""
    if not begins:
        return ["all"] if told[group] else []
    return [e["id"] for e in told[group] if any(e["id"] == w or e["id"].startswith(w + "-") for w in begins.split())]


def untold(told: dict[str, Any]) -> list[str]:
    out = [f"rule {rule} has no case" for rule, _, group, begins in RULES if not shown(told, group, begins)]
    for group, entries in told.items():
        cases = {e["id"] for e in entries if isinstance(e, dict) and "id" in e}
        for _, _, of, begins in RULES:
            if of == group:
                cases -= set(shown(told, group, begins))
        out += [f"{group}: {case} shows no rule" for case in sorted(cases)]
    return out


def coverage(told: dict[str, Any]) -> str:
    lines = ["", "## Clients", "", "Of [client.md](../client.md), from `derivation/client_rules.py`; the cases stand in `client.json`.", ""]
    lines += ["| rule | what it says | group | cases |", "|---|---|---|---|"]
    lines += [f"| {rule} | {words} | `{group}` | {', '.join(shown(told, group, begins))} |" for rule, words, group, begins in RULES]
    return "\n".join(lines) + "\n"
