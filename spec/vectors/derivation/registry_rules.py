"""The rules of registry.md that cases show, as client_rules.py has those of client.md."""

from __future__ import annotations

from typing import Any

from . import client_rules

RULES: list[tuple[str, str, str, str]] = [
    ("2.1/members", "members, and what their absence says", "records", "least all attribute attributes"),
    ("2.1/bounds", "the greatest that may be", "records", "addresses names zone weight-most longest"),
    ("2.1/size", "the size of a record", "bad_records", "size"),
    ("2.1/at-fault", "types and bounds of members", "bad_records", "addresses attributes server-name service version weight zone"),
    ("2.2/names", "what a name is", "bad_records", "id"),
    ("2.3/unknown", "unknown members are ignored", "records", "unknown"),
    ("2.4/written", "exactly these bytes", "records", "weight-one"),
    ("2.5/read", "any order, white space and escapes", "records", "order white escapes slash pair"),
    ("2.5/json", "what is no JSON object", "bad_records", "json utf-8 utf-16"),
    ("4.1/named", "names of registries", "registries", ""),
    ("4.2/at-fault", "and those at fault", "bad_registries", ""),
    ("5.1/services", "the services that are published", "published", "services names record"),
    ("5.2/addresses", "their addresses", "published", "addresses"),
    ("5.3/id", "the id", "published", "id"),
    ("5.4/at-fault", "what cannot be published", "bad_published", ""),
    ("6.1/all", "all, came, went", "watches", "first came went changed same"),
    ("6.2/rubbish", "rubbish is told and left out, the last good record stays", "watches", "rubbish"),
    ("6.3/missing", "what went is missing for 60 s", "watches", "slowly"),
    ("6.4/empty", "an empty set is never believed", "watches", "empty"),
    ("6.4/most", "nor one that lost most, for 60 s", "watches", "half most"),
    ("6.5/failed", "a failure changes nothing", "watches", "failed"),
    ("6.5/kept", "that instances are kept is told of, each time", "watches", "most-went-again"),
    ("6.6/order", "by the bytes of the ids", "watches", "order"),
    ("6.7/settling", "at most every 10 ms", "watches", "settling"),
    ("9.2/time", "time in which the registry did not run does not count", "cores", "stopped"),
    ("9.3/publish", "records stand there until their call ends, or its lease", "cores", "publish publish-watched end lease"),
    ("9.4/refused", "what is refused", "cores", "publish-none publish-most publish-more publish-rubbish publish-line publish-twice publish-first key full full-bytes"),
    ("9.5/watch", "what watchers are told, and which are refused", "cores", "watch full-watches"),
    ("9.6/restored", "what was known before stays until its owners come back", "cores", "restored unsure"),
    ("9.6/file", "the file", "states", ""),
    ("9.6/at-fault", "one that is at fault", "bad_states", ""),
    ("8/srv", "the answers of DNS", "srv", ""),
    ("10.5/list", "what lists of Consul's keys say", "listings", ""),
]  # fmt: skip


def shown(told: dict[str, Any], group: str, begins: str) -> list[str]:
    return client_rules.shown(told, group, begins) if begins else [entry["id"] for entry in told[group]]


def untold(told: dict[str, Any]) -> list[str]:
    out = [f"rule {rule} has no case" for rule, _, group, begins in RULES if not shown(told, group, begins)]
    for group, entries in told.items():
        cases = {entry["id"] for entry in entries if isinstance(entry, dict)}
        for _, _, of, begins in RULES:
            if of == group:
                cases -= set(shown(told, group, begins))
        out += [f"{group}: {case} shows no rule" for case in sorted(cases)]
    return out


def coverage(told: dict[str, Any]) -> str:
    lines = ["", "## Registries", "", "Of [registry.md](../registry.md), from `derivation/registry_rules.py`; the cases stand in `registry.json`.", ""]
    lines += ["| rule | what it says | group | cases |", "|---|---|---|---|"]
    lines += [f"| {rule} | {words} | `{group}` | {', '.join(shown(told, group, begins))} |" for rule, words, group, begins in RULES]
    return "\n".join(lines) + "\n"
