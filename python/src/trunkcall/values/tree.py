"""What a message says before it is known what is wanted: None, booleans, numbers, texts, bytes, lists, and what stands
here. Of JSON, maps are dicts."""

# What comes may be anything, so that its parts have no type:
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from .faults import MAX_NESTING, Fault, too_deep


class Ext(NamedTuple):
    """An extension of MessagePack."""

    number: int
    data: bytes


class Pairs(list[tuple[Any, Any]]):
    """A map of MessagePack as it came, with keys of all sorts."""

    __slots__ = ()  # one byte of a message may become one


@dataclass(slots=True)
class Broken:
    """What cannot be read, in the place where it came: it matters only if somebody wants it."""

    fault: Fault


def kind_of(tree: object) -> str:
    """What came, for people; never the value."""
    match tree:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "a whole number"
        case float():
            return "a number"
        case str():
            return "text"
        case bytes():
            return "bytes"
        case Pairs() | dict():
            return "a map"
        case list():
            return "an array"
        case Ext():
            return "a timestamp" if tree.number == -1 else "an extension"
        case _:
            return "something else"


def check_depth(tree: Any, depth: int) -> None:
    """Raises Fault if arrays and maps nest too deep in what is skipped; `depth` are around it."""
    left = [(tree, depth)]
    while left:
        one, depth = left.pop()
        if isinstance(one, dict):
            inner: list[Any] = list(one.values())
        elif isinstance(one, Pairs):
            inner = [part for pair in one for part in pair]
        elif isinstance(one, list):
            inner = one
        else:
            continue
        if depth >= MAX_NESTING:
            raise too_deep()
        left += [(part, depth + 1) for part in inner if isinstance(part, list | dict)]
