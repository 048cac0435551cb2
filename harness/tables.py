"""Tables of TOML as dataclasses: each key is a field, and what does not fit is told with the file and the key."""

from __future__ import annotations

import dataclasses
import tomllib
import types
import typing
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


class Wrong(ValueError):
    """What is wrong with a file; the text names the file and the key."""


def read(path: Path, kind: type[T], **given: Any) -> T:
    """A file as a dataclass; `given` are fields that do not stand in it. Raises Wrong."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Wrong(f"{path}: {error}") from None
    try:
        return made(table, kind, "", given)
    except Wrong as wrong:
        raise Wrong(f"{path}: {wrong}") from None


def made(table: dict[str, Any], kind: type[T], at: str, given: dict[str, Any]) -> T:
    hints = typing.get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind) if field.name not in given}  # type: ignore[arg-type]
    for key in table:
        if key not in fields:
            raise Wrong(f"{at}{key}: there is no such key; there are {', '.join(fields)}")
    for key, field in fields.items():
        missing = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if missing and key not in table:
            raise Wrong(f"{at}{key} is missing")
    values = {key: value_of(value, hints[key], f"{at}{key}") for key, value in table.items()}
    try:
        return kind(**values, **given)
    except Wrong as wrong:  # a rule of its own
        raise Wrong(f"{at}{wrong}") from None


NAMES = {str: "a text", bool: "true or false", float: "a number", dict: "a table", tuple: "a list"}


def value_of(value: Any, kind: Any, at: str) -> Any:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):  # T | None
        return value_of(value, inner[0], at)
    if dataclasses.is_dataclass(kind):
        expect(isinstance(value, dict), value, dict, at)
        return made(value, typing.cast(type[Any], kind), f"{at}.", {})
    if origin is tuple:
        expect(isinstance(value, list), value, tuple, at)
        return tuple(value_of(one, inner[0], f"{at}[{number}]") for number, one in enumerate(value))
    if origin is dict:
        expect(isinstance(value, dict), value, dict, at)
        return {key: value_of(one, inner[1], f"{at}.{key}") for key, one in value.items()}
    if kind is float:
        expect(type(value) in (int, float), value, float, at)
        return float(value)
    expect(type(value) is kind, value, kind, at)
    return value


def expect(that: bool, value: Any, kind: type, at: str) -> None:
    if not that:
        raise Wrong(f"{at} has to be {NAMES[kind]}, and is {value!r}")
