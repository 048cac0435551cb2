"""What policy/*.json are made of, and which rules of policy.md they show."""

from __future__ import annotations

import json
from typing import Any

from . import policy_cores, policy_files, policy_limits
from .policy_cores import Sequence

CORES: dict[str, tuple[str, list[Sequence]]] = {
    "retries": ("How often calls are made again (policy.md 8).", policy_cores.RETRIES),
    "hedging": ("When calls are hedged (policy.md 9).", policy_cores.HEDGING),
    "breaker": ("When a breaker lets attempts pass (policy.md 10).", policy_limits.BREAKER),
    "outliers": ("Which endpoints are left out (policy.md 11).", policy_limits.OUTLIERS),
    "rate": ("How many calls begin in a time (policy.md 12).", policy_limits.RATE),
    "concurrency": ("How many calls run at once (policy.md 13).", policy_limits.CONCURRENCY),
    "zones": ("Which zone calls go to (policy.md 14).", policy_cores.ZONES),
    "faults": ("Which faults for drills come (policy.md 15).", policy_cores.FAULTS),
}


def contents() -> dict[str, dict[str, Any]]:
    """The content of each file, by its name."""
    told = {"files": policy_files.content()}
    for core, (description, sequences) in CORES.items():
        cases = [{"id": name, "why": why, "policy": policy, "steps": steps} for name, why, policy, steps in sequences]
        told[core] = {"description": description, "core": core, "sequences": cases}
    return told


def rendered(content: dict[str, Any]) -> str:
    """A line for each case, and for each step of one."""
    parts: list[str] = []
    for key, value in content.items():
        if not isinstance(value, list):
            parts.append(f" {json.dumps(key)}: {line(value)}")
        else:
            parts.append(f" {json.dumps(key)}: [\n" + ",\n".join(f"  {case(one)}" for one in value) + "\n ]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def case(one: dict[str, Any]) -> str:
    if "steps" not in one:
        return line(one)
    head = line({name: value for name, value in one.items() if name != "steps"})
    return head[:-1] + ', "steps": [\n' + ",\n".join(f"   {line(step)}" for step in one["steps"]) + "\n  ]}"


def line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


def faults(content: dict[str, Any]) -> list[str]:
    seen: set[str] = set()
    found: list[str] = []
    for entries in content.values():
        for one in entries if isinstance(entries, list) else ():
            found += [f"id {one['id']} twice"] if one["id"] in seen else []
            seen.add(one["id"])
    return found


# rule, what it says, file, what the ids of its cases begin with
RULES: list[tuple[str, str, str, str]] = [
    ("2.1/characters", "UTF-8, no control characters, a bound of bytes", "files", "mark form-long form-empty form-blanks form-mark form-not form-control long"),
    ("2.2/forms", "JSON begins with a brace, both forms have the same trees", "files", "least all blank"),
    ("2.4/json", "what is no JSON", "files", "form-json"),
    ("2.5/yaml", "what is read of YAML", "files", "begin end indented quotes lists empty"),
    ("2.5/at-fault", "what is not", "files", "form-yaml form-flood"),
    ("2.7/values", "durations, whole numbers, codes", "files", "durations fields-duration fields-nothing fields-truth fields-words fields-whole fields-codes fields-key"),
    ("3.1/file", "version, budget, services and their methods", "files", "no fields-no fields-version fields-names fields-mapping fields-methods fields-says"),
    ("3.3/groups", "defaults, bounds, and what is required", "files", "trip bounds fields-missing fields-group fields-faults"),
    ("4.1/narrowest", "each field from the narrowest scope, groups whole", "files", "narrowest none"),
    ("4.2/exclusive", "retries and hedging exclude each other", "files", "exclusive"),
    ("4.3/state", "a state belongs to the scope that says it", "files", "state"),
    ("5.1/order", "all faults of a step, in order, at most 20", "files", "fields-many fields-order"),
    ("5.2/paths", "where a fault is", "files", "fields-unknown fields-path"),
    ("5.4/together", "what is at fault in itself", "files", "together equal"),
    ("5.5/scopes", "what holds contradicts itself", "files", "scopes-both scopes-hedging scopes-backoff scopes-delay scopes-uncovered scopes-all scopes-order once"),
    ("8.1/budget", "repetitions are a share of the calls, or so many a second", "retries", "budget"),
    ("8.2/pauses", "they grow, less a random part", "retries", "pauses jitter"),
    ("8.3/delivery", "what may be repeated", "retries", "ok lost not refused ran idempotent one"),
    ("8.3/time", "within the time of the call", "retries", "time"),
    ("9/starts", "after a delay, or a failure", "hedging", "delays early at waits pushed refused not deadline budget"),
    ("9/ends", "the first that stops, and what it promises", "hedging", "stop promise look late unheard"),
    ("10/opens", "failures in a row, or a share of a window", "breaker", "opens random success share window closed"),
    ("10/probes", "how it closes again", "breaker", "probe probes late back"),
    ("10/outcomes", "what counts as a failure", "breaker", "failures other own"),
    ("10/late", "running out of time counts where the attempt had half of its call's time", "breaker", "deadline"),
    ("11/ejects", "who fails is left out, longer each time", "outliers", "ejects random success longer share counts late"),
    ("11/cap", "but not too many", "outliers", "cap"),
    ("11/endpoints", "of endpoints that are known", "outliers", "left unheard"),
    ("12/bucket", "a bucket that fills with time", "rate", "burst thirds idle later back"),
    ("12/priorities", "low ones leave something to others", "rate", "priorities share"),
    ("13/fixed", "no more at once than the limit", "concurrency", "fixed priorities share"),
    ("13/measures", "the duration without a queue", "concurrency", "measures again neither odd"),
    ("13/adapts", "how the limit follows", "concurrency", "grows tolerance gradient shrinks unused quicker overload bounds most window"),
    ("14/zones", "the own zone while it can", "zones", "own none healthy part overflow many"),
    ("15/faults", "by their share, in the order of their names", "faults", "none one certain rarest order bytes"),
]  # fmt: skip


def shown(told: dict[str, dict[str, Any]], file: str, begins: str) -> list[str]:
    ids = [one["id"] for entries in told[file].values() if isinstance(entries, list) for one in entries]
    return [name for name in ids if any(name == word or name.startswith(word + "-") for word in begins.split())]


def untold(told: dict[str, dict[str, Any]]) -> list[str]:
    """Rules without a case, and cases that show no rule."""
    out = [f"rule {rule} has no case" for rule, _, file, begins in RULES if not shown(told, file, begins)]
    for file, content in told.items():
        ids = {one["id"] for entries in content.values() if isinstance(entries, list) for one in entries}
        for _, _, of, begins in RULES:
            ids -= set(shown(told, file, begins)) if of == file else set()
        out += [f"policy/{file}.json: {name} shows no rule" for name in sorted(ids)]
    return out


def coverage(told: dict[str, dict[str, Any]]) -> str:
    lines = ["", "## Policies", "", "Of [policy.md](../policy.md), from `derivation/policies.py`; the cases stand in `policy/*.json`.", ""]
    lines += ["| rule | what it says | file | cases |", "|---|---|---|---|"]
    lines += [f"| {rule} | {words} | `{file}` | {', '.join(shown(told, file, begins))} |" for rule, words, file, begins in RULES]
    return "\n".join(lines) + "\n"
