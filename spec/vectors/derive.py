#!/usr/bin/env python3
"""Writes the vectors from the cases in derivation/, or compares: derive.py --check fails when a file differs.

Both ways check each file against schema.json and read each entry with the reader in derivation/reader.py, which was
written from protocol.md apart from the encoder: whole, cut off at every byte, and with bytes behind it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from derivation import frames_bad, frames_good, metadata, preface, replay, schema, status

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


def faults(kind: str, content: dict[str, Any], rules: dict[str, Any]) -> list[str]:
    out = [f"{kind}.json: {fault}" for fault in schema.faults(content, rules)]
    seen: set[str] = set()
    for verdict in ("valid", "degenerate", "invalid"):
        for entry in content[verdict]:
            if entry["id"] in seen:
                out.append(f"{kind}.json: id {entry['id']} twice")
            seen.add(entry["id"])
            out += [f"{kind}.json: {entry['id']}: {fault}" for fault in replay.faults(kind, verdict, entry)]
    return out


def main(arguments: list[str]) -> int:
    check = arguments == ["--check"]
    if arguments and not check:
        print("usage: derive.py [--check]", file=sys.stderr)
        return 2
    rules = json.loads((HERE / "schema.json").read_text(encoding="utf-8"))
    found: list[str] = []
    total = 0
    for kind, content in FILES.items():
        path = HERE / f"{kind}.json"
        text = rendered(content)
        found += faults(kind, content, rules)
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            found.append(f"{path.name} is not what the cases say; run derive.py")
        counts = [len(content[verdict]) for verdict in ("valid", "degenerate", "invalid")]
        total += sum(counts)
        print(f"{path.name}: {counts[0]} valid, {counts[1]} degenerate, {counts[2]} invalid")
    for fault in found:
        print(fault, file=sys.stderr)
    print(f"{total} entries, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
