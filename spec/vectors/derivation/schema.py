"""The part of JSON Schema 2020-12 that schema.json uses. A keyword it does not know is a fault, not a pass."""

from __future__ import annotations

import re
from typing import Any

TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
}
NOTES = ("$schema", "$id", "$defs", "title", "description", "$comment")


def faults(value: Any, root: dict[str, Any]) -> list[str]:
    return _faults(value, root, root, "")


def _faults(value: Any, rule: Any, root: dict[str, Any], at: str) -> list[str]:
    if isinstance(rule, bool):
        return [] if rule else [f"{at}: not allowed"]
    out: list[str] = []
    for keyword, want in rule.items():
        if keyword in NOTES or keyword in ("then", "else", "properties"):
            continue
        check = CHECKS.get(keyword)
        if check is None:
            out.append(f"{at}: schema keyword {keyword} is not known to the checker")
        else:
            out += check(value, want, rule, root, at)
    if isinstance(value, dict):
        for key, inner in rule.get("properties", {}).items():
            if key in value:
                out += _faults(value[key], inner, root, f"{at}/{key}")
    return out


def _ref(value: Any, want: str, rule: Any, root: dict[str, Any], at: str) -> list[str]:
    target: Any = root
    for step in want.removeprefix("#/").split("/"):
        target = target[step]
    return _faults(value, target, root, at)


def _type(value: Any, want: str, rule: Any, root: dict[str, Any], at: str) -> list[str]:
    right = isinstance(value, TYPES[want]) and (want != "integer" or not isinstance(value, bool))
    return [] if right else [f"{at}: not of type {want}"]


def _required(value: Any, want: list[str], rule: Any, root: dict[str, Any], at: str) -> list[str]:
    if not isinstance(value, dict):
        return []
    return [f"{at}: {key} is missing" for key in want if key not in value]


def _additional(value: Any, want: Any, rule: Any, root: dict[str, Any], at: str) -> list[str]:
    if not isinstance(value, dict):
        return []
    known = rule.get("properties", {})
    out = []
    for key, inner in value.items():
        if key not in known:
            out += _faults(inner, want, root, f"{at}/{key}")
    return out


def _items(value: Any, want: Any, rule: Any, root: dict[str, Any], at: str) -> list[str]:
    if not isinstance(value, list):
        return []
    return [fault for index, item in enumerate(value) for fault in _faults(item, want, root, f"{at}/{index}")]


def _one_of(value: Any, want: list[Any], rule: Any, root: dict[str, Any], at: str) -> list[str]:
    count = sum(not _faults(value, inner, root, at) for inner in want)
    return [] if count == 1 else [f"{at}: fits {count} of oneOf"]


def _all_of(value: Any, want: list[Any], rule: Any, root: dict[str, Any], at: str) -> list[str]:
    return [fault for inner in want for fault in _faults(value, inner, root, at)]


def _if(value: Any, want: Any, rule: dict[str, Any], root: dict[str, Any], at: str) -> list[str]:
    branch = "else" if _faults(value, want, root, at) else "then"
    return _faults(value, rule.get(branch, True), root, at)


def _not(value: Any, want: Any, rule: Any, root: dict[str, Any], at: str) -> list[str]:
    return [] if _faults(value, want, root, at) else [f"{at}: fits what it must not"]


def _simple(test: Any, words: str) -> Any:
    def check(value: Any, want: Any, rule: Any, root: dict[str, Any], at: str) -> list[str]:
        return [] if test(value, want) else [f"{at}: {words} {want}"]

    return check


CHECKS: dict[str, Any] = {
    "$ref": _ref,
    "type": _type,
    "required": _required,
    "additionalProperties": _additional,
    "items": _items,
    "oneOf": _one_of,
    "allOf": _all_of,
    "if": _if,
    "not": _not,
    "const": _simple(lambda value, want: value == want, "is not"),
    "enum": _simple(lambda value, want: value in want, "is none of"),
    "pattern": _simple(lambda value, want: not isinstance(value, str) or re.search(want, value), "does not match"),
    "minimum": _simple(lambda value, want: not isinstance(value, int) or value >= want, "is below"),
    "maximum": _simple(lambda value, want: not isinstance(value, int) or value <= want, "is above"),
    "minLength": _simple(lambda value, want: not isinstance(value, str) or len(value) >= want, "is shorter than"),
    "minItems": _simple(lambda value, want: not isinstance(value, list) or len(value) >= want, "has fewer than"),
    "minProperties": _simple(lambda value, want: not isinstance(value, dict) or len(value) >= want, "has fewer than"),
}
