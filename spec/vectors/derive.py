#!/usr/bin/env python3
"""Writes the vectors from the cases in derivation/, or compares: derive.py --check fails when a file differs.

Both ways read each entry with the reader in derivation/reader.py, which was written from protocol.md apart from the
encoder: whole, cut off at every byte, and with bytes behind it. Of scripts of
sessions the frames that arrive are read, and every rule in derivation/rules.py must have a script.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from derivation import (
    capnp,
    client,
    client_rules,
    codefirst,
    frames_bad,
    frames_good,
    metadata,
    policies,
    preface,
    registry,
    registry_rules,
    replay,
    sessions,
    status,
)

HERE = Path(__file__).parent

FRAMES = "Whole frames, header and body as the receiver sees them (protocol.md 3 and 4)."

FILES: dict[str, dict[str, Any]] = {
    "preface": {
        "description": preface.DESCRIPTION,
        "valid": preface.VALID,
        "degenerate": preface.DEGENERATE,
        "invalid": preface.INVALID,
    },
    "frames": {
        "description": FRAMES,
        "valid": frames_good.VALID,
        "degenerate": frames_good.DEGENERATE,
        "invalid": frames_bad.INVALID,
    },
    "metadata": {
        "description": metadata.DESCRIPTION,
        "valid": metadata.VALID,
        "degenerate": metadata.DEGENERATE,
        "invalid": metadata.INVALID,
    },
    "status": {
        "description": status.DESCRIPTION,
        "valid": status.VALID,
        "degenerate": status.DEGENERATE,
        "invalid": status.INVALID,
    },
}


def rendered(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def faults(kind: str, content: dict[str, Any]) -> list[str]:
    out: list[str] = []
    seen: set[str] = set()
    for verdict in ("valid", "degenerate", "invalid"):
        for entry in content[verdict]:
            if entry["id"] in seen:
                out.append(f"{kind}.json: id {entry['id']} twice")
            seen.add(entry["id"])
            out += [f"{kind}.json: {entry['id']}: {fault}" for fault in replay.faults(kind, verdict, entry)]
    return out


def settle(path: Path, text: str, check: bool) -> list[str]:
    """Writes a file, or says that it differs."""
    if not check:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != text:
        return [f"{path.relative_to(HERE)} is not what the cases say; run derive.py"]
    return []


def vectors(check: bool) -> tuple[int, list[str]]:
    """How many entries there are, and what is wrong."""
    found: list[str] = []
    total = 0
    for kind, content in FILES.items():
        found += faults(kind, content) + settle(HERE / f"{kind}.json", rendered(content), check)
        counts = [len(content[verdict]) for verdict in ("valid", "degenerate", "invalid")]
        total += sum(counts)
        print(f"{kind}.json: {counts[0]} valid, {counts[1]} degenerate, {counts[2]} invalid")
    return total, found


def scripts(check: bool) -> tuple[int, list[str]]:
    """The same for the scripts of sessions."""
    found: list[str] = []
    total = 0
    seen: set[str] = set()
    for kind, content in sessions.FILES.items():
        name = f"sessions/{kind}.json"
        found += [f"{name}: {fault}" for fault in sessions.faults(content, seen)]
        found += settle(HERE / name, sessions.rendered(content), check)
        total += len(content["scripts"])
        print(f"{name}: {len(content['scripts'])} scripts")
    coverage = sessions.coverage() + client_rules.coverage(client.content()) + registry_rules.coverage(registry.content())
    found += sessions.untold() + settle(HERE / "coverage.md", coverage + policies.coverage(policies.contents()), check)
    return total, found


def values(check: bool) -> tuple[int, list[str]]:
    """The same for values of code-first services, read by the reader in derivation/codefirst_read.py."""
    content = codefirst.content()
    found = [f"code-first.json: {fault}" for fault in codefirst.faults(content)]
    found += settle(HERE / "code-first.json", codefirst.rendered(content), check)
    total = sum(len(entries) for entries in content.values() if isinstance(entries, list))
    print(f"code-first.json: {total} entries")
    return total, found


def clients(check: bool) -> tuple[int, list[str]]:
    """The same for what clients compute, by the model in derivation/client_model.py and by hand."""
    content = client.content()
    wrong = client.faults(content) + client_rules.untold(content)
    found = [f"client.json: {fault}" for fault in wrong]
    found += settle(HERE / "client.json", codefirst.rendered(content), check)
    total = sum(len(entries) for entries in content.values() if isinstance(entries, list))
    print(f"client.json: {total} entries")
    return total, found


def messages(check: bool) -> tuple[int, list[str]]:
    """The same for messages of Cap'n Proto, which two libraries of others read: Go's and Python's tests."""
    total = sum(len(entries) for entries in capnp.CONTENT.values() if isinstance(entries, list))
    print(f"capnp.json: {total} entries")
    return total, settle(HERE / "capnp.json", rendered(capnp.CONTENT), check)


def registries(check: bool) -> tuple[int, list[str]]:
    """The same for records, and for what watchers of registries make of them, by the model in registry_model.py."""
    content = registry.content()
    wrong = registry.faults(content) + registry_rules.untold(content)
    found = [f"registry.json: {fault}" for fault in wrong]
    found += settle(HERE / "registry.json", codefirst.rendered(content), check)
    total = sum(len(entries) for entries in content.values() if isinstance(entries, list))
    print(f"registry.json: {total} entries")
    return total, found


def rules(check: bool) -> tuple[int, list[str]]:
    """The same for policies, whose outcomes were worked out by hand."""
    contents = policies.contents()
    found = policies.untold(contents)
    total = 0
    for kind, content in contents.items():
        name = f"policy/{kind}.json"
        found += [f"{name}: {fault}" for fault in policies.faults(content)]
        found += settle(HERE / name, policies.rendered(content), check)
        count = sum(len(entries) for entries in content.values() if isinstance(entries, list))
        print(f"{name}: {count} cases")
        total += count
    return total, found


def main(arguments: list[str]) -> int:
    check = arguments == ["--check"]
    if arguments and not check:
        print("usage: derive.py [--check]", file=sys.stderr)
        return 2
    entries, found = vectors(check)
    mapped, more = values(check)
    found += more
    chosen, more = clients(check)
    found += more
    found_there, more = registries(check)
    found += more
    others, more = messages(check)
    found += more
    decided, more = rules(check)
    found += more
    told, more = scripts(check)
    found += more
    for fault in found:
        print(fault, file=sys.stderr)
    print(f"{entries + mapped + chosen + found_there + others + decided} entries, {told} scripts, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
