"""What no good peer sends, and what must come of it, from the scripts of sessions in spec/vectors, for live programs.

A script is taken over if all that matters for it is what arrives: no time that passes, no settings or writers that a
live program does not have, at most one call of the side that is tested. The methods of scripts are served by nobody, so
those of FaultService stand for them, by their kinds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import trunkcall
from harness.languages import ROOT

from . import raw
from .process import FAULTS

METHODS = {"unary": "Behave", "bidi": "Exchange", "server_streaming": "Pour", "client_streaming": "Take"}

# What the text of GOAWAY names, whatever the language, by the class of the fault (protocol.md 15).
WORDS = {"length": "max_frame_body", "type": "type", "flags": "flag", "reserved": "reserved", "stream_id": "0"}

GREETING = ("preface", "version", "setting")

WINDOW = 262_144

Step = dict[str, Any]


@dataclass(frozen=True)
class Script:
    """Bytes, and what becomes of the side that receives them."""

    id: str
    method: str  # of FaultService: which the client has to call
    greeting: bytes  # the preface, or all of it if the fault is there
    data: bytes  # what follows
    fails: str  # the class of the connection error; empty: none
    reason: int | None  # that of the GOAWAY which is sent
    end: tuple[str, str]  # code and delivery of the client's call


@cache
def scripts(role: str) -> list[Script]:
    """Those for "acceptor" or "initiator": which the tested side is."""
    folder = ROOT / "spec/vectors/sessions"
    read = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json")))
    return [script for file in read for one in file["scripts"] if one["role"] == role for script in taken(one)]


def taken(script: dict[str, Any]) -> Iterator[Script]:
    """The script, if a live program can be tested by it."""
    steps: list[Step] = script["steps"]
    done = [step for step in steps if "do" in step]
    calls = [step for step in done if step["do"] == "call"]
    kinds = {script["methods"][call["method"]] for call in calls}
    events = [event for step in steps for event in step.get("events", [])]
    fails = next((event["class"] for event in events if event["event"] == "failed"), "")
    ends = [(event["status"], event["delivery"]) for event in events if event["event"] == "end"]
    sent = [frame for step in steps for frame in step.get("frames", []) if isinstance(step.get("frames"), list)]
    away = [frame["reason"] for frame in sent if frame["type"] == "GOAWAY" and "ACK" not in frame["flags"]]
    frames = [piece.get("frame", {}) for step in done for piece in step.get("input", [])]
    acceptor = script["role"] == "acceptor"
    data = bytes_of(script, done)
    if (
        script.get("own")
        or script.get("should")
        or not {step["do"] for step in done} <= {"call", "receive"}
        or len(calls) > 1
        or any("payload_fill" in call for call in calls)
        or not kinds <= {"unary", "server_streaming"}  # of others the client sends more than the script has it
        or (acceptor and not fails)
        or any(status == 0 for status, _ in ends)
        or not (fails or ends)
        or any(needs(frame) for frame in frames)
        or (not acceptor and not calls and any(frame.get("stream", "").startswith("i") for frame in frames))
        or data is None
        or len(data) > WINDOW  # where it matters when credit is granted
    ):
        return
    cut = len(data) if fails in GREETING else 16 + int.from_bytes(data[12:16], "little")
    status, delivery = ends[0] if ends else (14, "unknown")
    yield Script(
        script["id"],
        METHODS[kinds.pop()] if kinds else "Behave",
        data[:cut],
        data[cut:],
        fails,
        away[0] if away else None,
        (trunkcall.Code(status).name, delivery),
    )


def needs(frame: dict[str, Any]) -> bool:
    """Whether a frame is judged by what only the side of a script has: no compression, and no pool."""
    return "compression" in frame or "POOL" in frame.get("flags", [])


def bytes_of(script: dict[str, Any], done: list[Step]) -> bytes | None:
    """All that arrives. Nothing if a name that has to be another does not fit."""
    whole = bytes.fromhex(script.get("peer_preface", ""))
    names = {
        raw.text(name): raw.text(f"/{FAULTS}{METHODS.get(kind, '')}")
        for name, kind in script.get("methods", {}).items()
    }
    for step in done:
        for piece in step.get("input", []):
            data = bytes.fromhex(piece["hex"])
            if fill := piece.get("fill"):
                data += bytes.fromhex(fill["byte"]) * fill["count"]
            for name, ours in names.items():
                if name in data[:100]:
                    if len(data) > 60_000 or len(data) != 16 + int.from_bytes(data[:3], "little"):
                        return None
                    data = data.replace(name, ours, 1)
                    data = (len(data) - 16).to_bytes(3, "little") + data[3:]
            whole += data
    return whole
