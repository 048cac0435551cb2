"""The files of scripts, their rendering and their checks."""

from __future__ import annotations

import json
from typing import Any

from . import (
    sessions_connection,
    sessions_faults,
    sessions_kinds,
    sessions_messages,
    sessions_pool,
    sessions_preface,
    sessions_streams,
    sessions_time,
)
from .reader import Context, read_frame
from .reader_input import Fault, Incomplete
from .rules import ELSEWHERE, RULES

GENEROUS = {"max_frame_body": 2**24 - 1, "max_calls": 1_048_575, "max_methods": 65_535, "max_message": 2**32 - 1}
ALL = {"codecs": list(range(16)), "compressions": [1, 2]}

FILES: dict[str, dict[str, Any]] = {
    name: {"description": table.DESCRIPTION, "scripts": table.SCRIPTS}
    for name, table in {
        "preface": sessions_preface,
        "streams": sessions_streams,
        "kinds": sessions_kinds,
        "messages": sessions_messages,
        "pool": sessions_pool,
        "faults": sessions_faults,
        "connection": sessions_connection,
        "time": sessions_time,
    }.items()
}


def rendered(content: dict[str, Any]) -> str:
    """Each step on a line of its own."""
    scripts = ",\n".join(_script(script) for script in content["scripts"])
    return f'{{\n "description": {_line(content["description"])},\n "scripts": [\n{scripts}\n ]\n}}\n'


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _script(script: dict[str, Any]) -> str:
    head = [f'   "{key}": {_line(value)}' for key, value in script.items() if key != "steps"]
    steps = ",\n".join(f"    {_line(step)}" for step in script["steps"])
    return "  {\n" + ",\n".join(head) + f',\n   "steps": [\n{steps}\n   ]\n  }}'


def faults(content: dict[str, Any], seen: set[str]) -> list[str]:
    out = []
    for script in content["scripts"]:
        ident = script["id"]
        if ident in seen:
            out.append(f"{ident}: twice")
        seen.add(ident)
        out += [f"{ident}: rule {rule} is not in rules.py" for rule in script["rule"] if rule not in RULES]
        out += [f"{ident}: {fault}" for fault in _faults_of_steps(script)]
    return out


def _faults_of_steps(script: dict[str, Any]) -> list[str]:
    out = []
    known = set()
    for step in script["steps"]:
        if step.get("do") == "receive":
            out += [fault for entry in step["input"] for fault in _misread(entry, script)]
        if step.get("do") == "call":
            known.add(step["as"])
        known |= {event["call"] for event in step.get("events", []) if event["event"] == "start"}
        if "call" in step and step["call"] not in known:
            out.append(f"{step['do']} on {step['call']}, which is not open")
    return out


def _misread(entry: dict[str, Any], script: dict[str, Any]) -> list[str]:
    """Where the reader written apart from the encoder sees another frame than the description says."""
    described = entry.get("frame")
    if not described or "times" in described:
        return []
    data = bytes.fromhex(entry["hex"])
    if "fill" in entry:
        data += bytes.fromhex(entry["fill"]["byte"]) * entry["fill"]["count"]
    context = {"receiver": script["role"], "limits": GENEROUS, "accepts": ALL}
    if described["type"] == "DATA" and "total" not in described and "MORE" in described["flags"]:
        context |= {"in_message": True, "progress": {"total": 2**32 - 1, "received": 1,
                                                     "codec": described.get("codec", 0),
                                                     "compression": described.get("compression", 0)}}
    try:
        decoded, size = read_frame(data, Context(context))
    except Fault:
        return []  # meant to be at fault, or it fails the replays
    except Incomplete:
        return [f"{described['type']} is not whole"]
    out = [] if size == len(data) else [f"{described['type']} has bytes behind it"]
    for key in ("type", "flags", "codec", "compression", "w3", "status", "name", "total"):
        if key in described and key in decoded and described[key] != decoded[key]:
            out.append(f"{key} of {described['type']} reads as {decoded[key]}")
    if "stream" in described:
        stream = f"{'ia'[decoded['initiator']]}{decoded['slot']}.{decoded['generation']}"
        if stream != described["stream"]:
            out.append(f"{described['type']} reads as one of {stream}")
    return out


def untold() -> list[str]:
    """Rules that no script shows."""
    told = {rule for content in FILES.values() for script in content["scripts"] for rule in script["rule"]}
    return [f"rule {rule} has no script" for rule in RULES if rule not in told]


def coverage() -> str:
    """A table from the rules to the scripts that show them."""
    lines = [
        "# Rules and the scripts that show them",
        "",
        "Written by derive.py from `derivation/rules.py` and the scripts; not to be edited. Sections are those of",
        "[protocol.md](../protocol.md).",
        "",
        "| rule | what it says | scripts |",
        "|---|---|---|",
    ]
    for rule, words in RULES.items():
        idents = [script["id"] for content in FILES.values() for script in content["scripts"] if rule in script["rule"]]
        lines.append(f"| {rule} | {words} | {', '.join(idents)} |")
    lines += ["", "Shown elsewhere:", "", "| rule | where |", "|---|---|"]
    lines += [f"| {rule} | {where} |" for rule, where in ELSEWHERE.items()]
    return "\n".join(lines) + "\n"
