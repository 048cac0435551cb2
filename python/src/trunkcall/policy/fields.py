"""Reading the fields of a policy file from its tree (policy.md 5.4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .faults import Fault
from .numbers import HOUR, LONGEST, MILLISECOND, SECOND
from .rules import CANCELLED, CODES
from .tree import Kind, Node, below

MAX_FAULTS = 20  # of a file that are told

_UNITS = {"ns": 1, "us": 1_000, "ms": MILLISECOND, "s": SECOND, "m": 60 * SECOND, "h": HOUR}
_DURATION = re.compile(r"([0-9]+)(?:\.([0-9]{1,3}))?(ns|us|ms|s|m|h)")
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_NAME = re.compile(r"[!-.0-~]{1,255}")

# Reads the value of a field; None if it is at fault, which has been told then.
Read = Callable[["Reader", Node, str], Any]


@dataclass(frozen=True, slots=True)
class Field:
    read: Read
    required: bool = False


# What is told if it is true of a mapping and what was read of it.
Check = tuple[str, Callable[[Node, dict[str, Any]], bool]]


class Reader:
    """Gathers faults."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.count = 0  # of all faults, told or not

    def fault(self, line: int, path: str, what: str) -> None:
        self.count += 1
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(Fault(line, path, what))

    def wants(self, what: str, node: Node, path: str) -> None:
        self.fault(node.line, path, f"want {what}, found {node.found()}")

    def mapping(self, node: Node, path: str, fields: dict[str, Field], checks: Sequence[Check] = ()) -> dict[str, Any]:
        """What the fields of a mapping say; they are checked together if none has a fault."""
        if node.kind is not Kind.MAPPING:
            self.wants("a mapping", node, path)
            return {}
        before = self.count
        said: dict[str, Any] = {}
        for key, value in node.entries.items():
            at = below(path, key)
            if key in fields:
                said[key] = fields[key].read(self, value, at)
            else:
                self.fault(value.line, at, "unknown field")
        for name, field in fields.items():
            if field.required and name not in node.entries:
                self.fault(node.line, below(path, name), "is missing")
        if self.count == before:
            for told, wrong in checks:
                if wrong(node, said):
                    self.fault(node.line, path, told)
        return said

    def named(
        self, node: Node, path: str, what: str, form: re.Pattern[str], read: Callable[[str, Node, str], Any]
    ) -> list[Any]:
        """What is read of each entry of a mapping whose keys are names."""
        if node.kind is not Kind.MAPPING:
            self.wants("a mapping", node, path)
            return []
        found: list[Any] = []
        for key, value in node.entries.items():
            at = below(path, key)
            if form.fullmatch(key):
                found.append(read(key, value, at))
            else:
                self.fault(value.line, at, f"not the name of a {what}")
        return found


NAME = _NAME


def whole(least: int, most: int) -> Field:
    def read(reader: Reader, node: Node, path: str) -> int | None:
        number = whole_number(node)
        if number is None or not least <= number <= most:
            reader.wants(f"a whole number from {least} to {most}", node, path)
            return None
        return number

    return Field(read)


def whole_number(node: Node) -> int | None:
    """The number of a node, if it is a whole one of at most 18 digits."""
    return int(node.text) if node.kind is Kind.NUMBER and _WHOLE.fullmatch(node.text) else None


def truth(reader: Reader, node: Node, path: str) -> bool | None:
    if node.kind is not Kind.TRUTH:
        reader.wants("true or false", node, path)
        return None
    return node.truth


def duration(least: str, most: str) -> Field:
    """One between two that are written as in a file."""
    lowest, highest = parse_duration(least), parse_duration(most)
    assert lowest is not None and highest is not None

    def read(reader: Reader, node: Node, path: str) -> int | None:
        found = parse_duration(node.text) if node.kind is Kind.TEXT else None
        if found is None or not lowest <= found <= highest:
            reader.wants(f"a duration from {least} to {most}", node, path)
            return None
        return found

    return Field(read)


def parse_duration(text: str) -> int | None:
    """A duration of at most 24 h and less than an hour more, in nanoseconds (policy.md 2.7)."""
    form = _DURATION.fullmatch(text)
    if form is None:
        return None
    count, fraction, unit = form[1].lstrip("0"), form[2] or "", _UNITS[form[3]]
    if len(count) > 15 or int(count or "0") > LONGEST // unit:
        return None
    thousandths = int(f"{fraction:0<3}") * unit
    return None if thousandths % 1_000 else int(count or "0") * unit + thousandths // 1_000


def word(words: Sequence[str]) -> Read:
    def read(reader: Reader, node: Node, path: str) -> str | None:
        if node.kind is not Kind.TEXT or node.text not in words:
            reader.wants(f"{', '.join(words[:-1])} or {words[-1]}", node, path)
            return None
        return node.text

    return read


def code(reader: Reader, node: Node, path: str) -> int | None:
    """A code other than OK and CANCELLED."""
    number = CODES.index(node.text) if node.kind is Kind.TEXT and node.text in CODES else 0
    if number <= CANCELLED:
        reader.wants("a code other than OK and CANCELLED", node, path)
        return None
    return number


def codes(reader: Reader, node: Node, path: str) -> frozenset[int] | None:
    if node.kind is not Kind.LIST:
        reader.wants("a list of codes", node, path)
        return None
    if not node.elements:
        reader.fault(node.line, path, "want at least one code")
    found: set[int] = set()
    for n, element in enumerate(node.elements):
        at = f"{path}[{n}]"
        number = code(reader, element, at)
        if number in found:
            reader.fault(element.line, at, f"{CODES[number]} comes twice")
        elif number is not None:
            found.add(number)
    return frozenset(found)
