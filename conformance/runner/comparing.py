"""What came of a call, beside what was wanted."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from typing import Any

# Lists of pairs, of which over other protocols more are found than were sent, and in another order.
METADATA = ("header", "trailer", "metadata")


def faults(got: dict[str, Any], want: dict[str, Any], native: bool) -> list[str]:
    """In what an outcome differs from what is wanted; nothing if in nothing."""
    wanted = {"code": "OK", "details": [], "header": [], "trailer": []} | want
    if wanted["code"] == "OK":
        wanted.setdefault("message", "")
    if "delivery" not in got:  # the client cannot know it
        wanted.pop("delivery", None)
    got = readable(got)
    return differences(got, plain(wanted), native, "")


def readable(outcome: Any) -> Any:
    """What a client told, in the form of cases: metadata in pairs, digests in hexadecimal."""
    match outcome:
        case dict():
            found = {key: readable(value) for key, value in outcome.items()}
            for name in METADATA:
                if name in found:
                    found[name] = [pair(entry) for entry in found[name]]
            if "ended" in found:
                found.setdefault("end", "BY_ITSELF")  # which Protobuf leaves out
            if "digest" in found:
                found["digest"] = base64.b64decode(found["digest"]).hex()
            return found
        case list():
            return [readable(value) for value in outcome]
        case _:
            return outcome


def pair(entry: Any) -> list[str]:
    """An entry of Protobuf as a pair; its value is base64 also where it is text."""
    if isinstance(entry, list):
        return entry
    key, value = entry.get("key", ""), entry.get("value", "")
    return [key, value if key.endswith("-bin") else base64.b64decode(value).decode()]


def plain(want: dict[str, Any]) -> dict[str, Any]:
    """What is wanted, with data as size and digest."""
    found = dict(want)
    if "answers" in found:
        found["answers"] = [answer(one) for one in found["answers"]]
    if "observed" in found and "seen" in found["observed"]:
        found["observed"] = found["observed"] | {"seen": seen(found["observed"]["seen"])}
    return found


def answer(want: dict[str, Any]) -> dict[str, Any]:
    found = dict(want)
    if "data" in found:
        size, digest = measured(found.pop("data"))
        found |= {"size": size, "sha256": digest}
    if "seen" in found:
        found["seen"] = seen(found["seen"])
    if "answers" in found.get("onward", {}):
        inner = [one | ({"seen": seen(one["seen"])} if "seen" in one else {}) for one in found["onward"]["answers"]]
        found["onward"] = found["onward"] | {"answers": inner}
    return found


def seen(want: dict[str, Any]) -> dict[str, Any]:
    found = dict(want)
    if "data" in found:
        found["bytes"], found["digest"] = measured(found.pop("data"))
    return found


def measured(data: Any) -> tuple[int, str]:
    """Size and SHA-256 of data; that of several, one behind the other."""
    parts = data if isinstance(data, list) else [data]
    whole = b"".join(base64.b64decode(part) if isinstance(part, str) else made(**part) for part in parts)
    return len(whole), hashlib.sha256(whole).hexdigest()


@cache
def made(size: int, noise: bool = False) -> bytes:
    """The bytes that conformance.proto describes."""
    if not noise:
        return (bytes(range(251)) * (size // 251 + 1))[:size]
    data, state = bytearray(size), 1
    for index in range(size):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        data[index] = state >> 24
    return bytes(data)


def differences(got: Any, want: Any, native: bool, at: str) -> list[str]:
    match want:
        case {"native": one, "other": another}:
            return differences(got, one if native else another, native, at)
        case {"anyOf": choice}:
            right = any(not differences(got, one, native, at) for one in choice)
        case {"contains": text}:
            right = isinstance(got, str) and text in got
        case {"between": [low, high]}:
            right = isinstance(got, int) and low <= got <= high
        case dict():
            of = got if isinstance(got, dict) else {}
            return [fault for key, inner in want.items() for fault in field(of, key, inner, native, f"{at}/{key}")]
        case list() if isinstance(got, list) and len(got) == len(want):
            pairs = enumerate(zip(got, want, strict=True))
            return [fault for n, (a, b) in pairs for fault in differences(a, b, native, f"{at}/{n}")]
        case _:
            right = got == want or (not got and not want)
    return [] if right else [f"{at}: {short(got)}, not {short(want)}"]


def field(of: dict[str, Any], key: str, want: Any, native: bool, at: str) -> list[str]:
    if key in METADATA and not native and isinstance(want, list):
        return [
            fault
            for name in dict.fromkeys(pair[0] for pair in want)
            for fault in differences(*in_one(values(of.get(key, []), name), values(want, name)), native, f"{at}/{name}")
        ]
    return differences(of.get(key), want if native else elsewhere(at, of.get(key), want), native, at)


def elsewhere(at: str, got: Any, want: Any) -> Any:
    """What is wanted over other protocols, where less is promised."""
    match at.rpartition("/")[2], want:
        case "end", "DEADLINE":  # the caller has a clock, too, and gives up by it
            return {"anyOf": ["DEADLINE", "CANCELLED"]}
        case "leftMs", {"between": [low, high]}:  # some round deadlines up, to a hundredth
            return {"between": [low, high + high // 100 + 1]}
        case "delivery", "not_sent" | {"anyOf": [*_]} if at == "/delivery" and got == "refused":
            choice = want["anyOf"] if isinstance(want, dict) else [want]
            return "refused" if "not_sent" in choice else want
    return want


def in_one(got: list[str], want: list[str]) -> tuple[list[str], list[str]]:
    """The same values, or both in one if that is how they came."""
    return ([", ".join(got)], [", ".join(want)]) if len(got) == 1 < len(want) else (got, want)


def values(pairs: list[list[str]], key: str) -> list[str]:
    return [value for name, value in pairs if name == key]


def short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:300]}… ({len(text)} characters)"
