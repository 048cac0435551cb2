"""Reads an entry in every way that vectors/README.md asks for, and says where the reader disagrees."""

from __future__ import annotations

import copy
from typing import Any

from .reader import Context, read_frame, read_preface
from .reader_body import read_block, read_status
from .reader_input import Fault, Incomplete

CONNECTION = (
    "preface version setting type length flags reserved stream_id value direction state method piece credit flood"
).split()
EVERY_CUT = 300  # longer inputs are cut at their ends and at some places between


def read(kind: str, entry: dict[str, Any], data: bytes) -> tuple[Any, int]:
    """The meaning, and how many bytes it took."""
    context = Context(entry)
    if kind == "preface":
        return read_preface(data)
    if kind == "frames":
        return read_frame(data, context)
    if kind == "metadata":
        meaning, rest = read_block(data, context.max_metadata_bytes, context.max_metadata_entries)
        return meaning, len(data) - len(rest)
    return read_status(data), len(data)


def outcome(kind: str, entry: dict[str, Any], data: bytes) -> Any:
    try:
        return read(kind, entry, data)
    except Incomplete:
        return "incomplete"
    except Fault as fault:
        return str(fault)


def filled(entry: dict[str, Any]) -> bytes:
    return bytes.fromhex(entry["hex"]) + fill_of(entry, "fill")


def fill_of(what: dict[str, Any], key: str) -> bytes:
    fill = what.get(key)
    return bytes.fromhex(fill["byte"]) * fill["count"] if fill else b""


def expanded(decoded: dict[str, Any]) -> dict[str, Any]:
    """The meaning with every fill written out."""
    out = copy.deepcopy(decoded)
    if "payload_fill" in out:
        out["payload"] += fill_of(out, "payload_fill").hex()
        del out["payload_fill"]
    for entry in out.get("metadata", out).get("entries", []):
        entry["text"] = entry.get("text", "") + fill_of(entry, "fill").decode() if "text" in entry else None
        entry.pop("fill", None)
        if entry["text"] is None:
            del entry["text"]
    return out


def cuts(length: int) -> list[int]:
    if length <= EVERY_CUT:
        return list(range(length))
    return sorted({*range(64), length // 2, length - 2, length - 1})


def faults(kind: str, verdict: str, entry: dict[str, Any]) -> list[str]:
    data = filled(entry)
    if verdict == "invalid":
        return faults_of_invalid(kind, entry, data)
    want = expanded(entry["decoded"])
    got = outcome(kind, entry, data)
    if got != (want, len(data)):
        return [f"reads as {got}, not {want}"]
    out = []
    if kind != "status" and outcome(kind, entry, data + b"\x01\xff") != (want, len(data)):
        out.append("reads otherwise with bytes behind it")
    if kind == "status" and data and outcome(kind, entry, data + b"\x00") != "status":
        out.append("takes a byte too many")
    short = "incomplete" if kind in ("preface", "frames") else kind
    for cut in cuts(len(data)):
        got = outcome(kind, entry, data[:cut])
        if got != short and (kind, cut) != ("status", 0):
            out.append(f"cut off after {cut} bytes it reads as {got}")
    return out


def faults_of_invalid(kind: str, entry: dict[str, Any], data: bytes) -> list[str]:
    out = []
    if (entry["error"] in CONNECTION) != (entry["ends"] == "connection"):
        out.append("class and what it ends do not agree")
    got = outcome(kind, entry, data)
    if got != entry["error"]:
        out.append(f"reads as {got}, not {entry['error']}")
    if kind not in ("preface", "frames"):
        return out
    if outcome(kind, entry, data + b"\x01\xff") != entry["error"]:
        out.append("reads otherwise with bytes behind it")
    for cut in cuts(len(data)):
        got = outcome(kind, entry, data[:cut])
        if got not in ("incomplete", entry["error"]):
            out.append(f"cut off after {cut} bytes it reads as {got}")
    if kind == "frames" and (outcome(kind, entry, data[:16]) == entry["error"]) != (entry["stage"] == "header"):
        if len(data) > 16:
            out.append("the stage is not where the fault is found")
    return out
