"""The types and values of spec/vectors/code-first.json in Python."""

from __future__ import annotations

import dataclasses
import math
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Annotated, Any, Optional

from trunkcall.values import Place, Range, Several, shape_of

_SCALARS: dict[str, Any] = {
    "boolean": bool,
    "float64": float,
    "text": str,
    "bytes": bytes,
    "time": datetime,
    "duration": timedelta,
    "any": Any,
}


class NotHere(Exception):
    """A type that Python has not, or a value that its type is too coarse for."""


def hint_of(type_: Any) -> Any:
    """The type hint of a type of the vectors. Raises NotHere."""
    if isinstance(type_, str):
        if type_.startswith(("int", "uint")):
            bits = int(type_.lstrip("uint"))
            least, most = (0, 2**bits - 1) if type_[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
            return Annotated[int, Range(least, most)]
        if type_ not in _SCALARS:
            raise NotHere(type_)
        return _SCALARS[type_]
    ((name, inner),) = type_.items()
    match name:
        case "enumeration":
            return Enum("Constants", inner)
        case "optional":
            return Optional[hint_of(inner)]  # noqa: UP045
        case "list":
            return list[hint_of(inner)]  # type: ignore[misc]
        case "map":
            return dict[hint_of(inner["key"]), hint_of(inner["value"])]  # type: ignore[misc]
        case "record":
            return dataclasses.make_dataclass("Record", [(one["name"], hint_of(one["type"])) for one in inner])
    raise NotHere(name)


def value_of(type_: Any, hint: Any, plain: Any) -> Any:
    """A value of the vectors as one of a hint. Raises NotHere."""
    if type_ == "any":
        return value_of(plain["type"], hint_of(plain["type"]), plain["value"])
    if plain is None:
        return None
    if isinstance(type_, str):
        return _scalar(type_, plain)
    ((name, inner),) = type_.items()
    match name:
        case "enumeration":
            return hint[plain]
        case "optional":
            return value_of(inner, hint.__args__[0], plain)
        case "list":
            return [value_of(inner, hint.__args__[0], one) for one in plain]
        case "map":
            key, value = hint.__args__
            return {value_of(inner["key"], key, k): value_of(inner["value"], value, v) for k, v in plain}
        case _:
            hints = hint.__annotations__
            return hint(**{f["name"]: value_of(f["type"], hints[f["name"]], plain[f["name"]]) for f in inner})


def _scalar(type_: str, plain: Any) -> Any:
    match type_:
        case "float64" | "float32":
            return float(plain.replace("Infinity", "inf"))
        case "bytes":
            return bytes.fromhex(plain)
        case "time":
            whole, _, fraction = plain.removesuffix("Z").partition(".")
            nanoseconds = int(fraction.ljust(9, "0") or "0")
            if nanoseconds % 1_000:
                raise NotHere("nanoseconds")
            return datetime.fromisoformat(whole).replace(tzinfo=UTC, microsecond=nanoseconds // 1_000)
        case "duration":
            if int(plain) % 1_000:
                raise NotHere("nanoseconds")
            return timedelta(microseconds=int(plain) // 1_000)
        case "boolean" | "text":
            return plain
        case _:
            return int(plain)


def same(left: Any, right: Any) -> bool:
    """Whether two values are one, not a number and minus zero told apart, and of one type."""
    if isinstance(left, float) and isinstance(right, float):
        return repr(left) == repr(right) or (math.isnan(left) and math.isnan(right))
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if dataclasses.is_dataclass(left):
        return repr(left) == repr(right)
    return type(left) is type(right) and left == right


def arguments(hints: list[Any], text: bool, strict: bool = False) -> Several:
    places = [Place(f"parameter {n} of /vectors/method", shape_of(hint)) for n, hint in enumerate(hints, 1)]
    counted = f"/vectors/method takes {len(hints)} parameters, got "
    return Several(places, text, lambda came: f"{counted}{came}", "the request of /vectors/method", strict)
