"""The tree that a policy file is, whether it is in JSON or YAML (policy.md 2)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto

from .faults import fail

MAX_FILE = 1 << 20
MAX_NESTED = 16
_TOLD = 40  # characters of what stands in a file

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_UNIT = re.compile(r"[0-9a-fA-F]{4}")
_MEANINGS = dict(zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True))


class Kind(Enum):
    MAPPING = auto()
    LIST = auto()
    TEXT = auto()
    NUMBER = auto()
    TRUTH = auto()
    NOTHING = auto()


@dataclass(slots=True)
class Node:
    """One value of a file. `text` is that of a text, or a number as it stands in the file."""

    kind: Kind
    line: int
    text: str = ""
    truth: bool = False
    entries: dict[str, Node] = field(default_factory=dict[str, "Node"])  # in the order of the file
    elements: list[Node] = field(default_factory=list["Node"])

    def found(self) -> str:
        """How a message tells it."""
        if self.kind is Kind.TEXT:
            return quoted(self.text)
        if self.kind is Kind.NUMBER:
            return cut(self.text)
        if self.kind is Kind.TRUTH:
            return "true" if self.truth else "false"
        return {Kind.MAPPING: "a mapping", Kind.LIST: "a list", Kind.NOTHING: "nothing"}[self.kind]


def look_over(data: bytes) -> str:
    """The text of a file. Raises BadFile for characters that it may not have."""
    if len(data) > MAX_FILE:
        fail(1, f"the file has more than {MAX_FILE} bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        fail(data.count(b"\n", 0, error.start) + 1, "not UTF-8")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    control = _CONTROL.search(text)
    if control:
        fail(text.count("\n", 0, control.start()) + 1, "a control character")
    if not text.strip(" \t\n"):
        fail(1, "the file is empty")
    return text


def cut(text: str) -> str:
    return text if len(text) <= _TOLD else text[:_TOLD] + "…"


def quoted(text: str) -> str:
    return '"' + "".join(_told(c) for c in cut(text)) + '"'


def _told(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    if c < " " or c in "\x7f\ufeff":
        return f"\\u{ord(c):04x}"
    return c


def below(path: str, key: str) -> str:
    """The path of a key in a mapping (policy.md 5.2)."""
    key = cut(key) if _PLAIN_KEY.fullmatch(key) else quoted(key)
    return f"{path}.{key}" if path else key


def scalar(word: str, line: int) -> Node | None:
    """The node of a truth, of nothing or of a number; None for any other word."""
    if word in ("true", "false"):
        return Node(Kind.TRUTH, line, truth=word == "true")
    if word == "null":
        return Node(Kind.NOTHING, line)
    return Node(Kind.NUMBER, line, word) if _NUMBER.fullmatch(word) else None


def unquote(text: str, at: int, line: int) -> tuple[str, int]:
    """Reads a text in quotation marks with the escapes of JSON, from behind its first mark, and gives where it ends."""
    read: list[str] = []
    while True:
        c = text[at : at + 1]
        if c in ("", "\n"):
            fail(line, "a text is not closed")
        if c == '"':
            return "".join(read), at + 1
        if c == "\\":
            c, at = _escaped(text, at + 1, line)
        else:
            at += 1
        read.append(c)


def _escaped(text: str, at: int, line: int) -> tuple[str, int]:
    c = text[at : at + 1]
    if c in ("", "\n"):
        fail(line, "a text is not closed")
    if c in _MEANINGS:
        return _MEANINGS[c], at + 1
    if c != "u":
        fail(line, "an unknown escape")
    unit = _unit(text, at + 1, line)
    at += 5
    if not 0xD800 <= unit < 0xE000:
        return chr(unit), at
    if unit < 0xDC00 and text.startswith("\\u", at):
        low = _unit(text, at + 2, line)
        if 0xDC00 <= low < 0xE000:
            return chr(0x10000 + (unit - 0xD800 << 10) + low - 0xDC00), at + 6
    fail(line, "half a surrogate pair")


def _unit(text: str, at: int, line: int) -> int:
    digits = _UNIT.match(text, at)
    if digits is None:
        fail(line, "an unknown escape")
    return int(digits[0], 16)
