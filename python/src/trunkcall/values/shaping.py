"""From a type hint to a shape. What cannot travel is refused here, when a service or client is made."""

# What comes may be anything, so that its parts have no type:
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, Flag
from typing import Annotated, Any, Union, get_args, get_origin

from . import models
from .compounds import Anything, Field, List, Map, Optional, Record
from .names import check_public_name, public_name
from .scalars import Boolean, Bytes, Duration, Enumeration, Float, Nothing, Shape, Text, Time, Whole


@dataclass(frozen=True, slots=True)
class Range:
    """The whole numbers that an `int` may be, for `Annotated[int, Range(0, 255)]`."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Name:
    """The public name of a field, for `Annotated[str, Name("id")]`."""

    name: str


Int8 = Annotated[int, Range(-(2**7), 2**7 - 1)]
Int16 = Annotated[int, Range(-(2**15), 2**15 - 1)]
Int32 = Annotated[int, Range(-(2**31), 2**31 - 1)]
Int64 = Annotated[int, Range(-(2**63), 2**63 - 1)]
UInt8 = Annotated[int, Range(0, 2**8 - 1)]
UInt16 = Annotated[int, Range(0, 2**16 - 1)]
UInt32 = Annotated[int, Range(0, 2**32 - 1)]
UInt64 = Annotated[int, Range(0, 2**64 - 1)]

_LEAST, _MOST = -(2**63), 2**64 - 1
_SCALARS: dict[Any, Callable[[], Shape]] = {
    bool: Boolean,
    int: lambda: Whole(-(2**63), 2**63 - 1),
    float: Float,
    str: Text,
    bytes: Bytes,
    datetime: Time,
    timedelta: Duration,
    None: Nothing,
    type(None): Nothing,
}
_records: dict[type[Any], Record] = {}  # also those that are being read, so that a record may have itself inside


class Unsupported(TypeError):
    """A type that cannot travel."""


def shape_of(hint: Any) -> Shape:
    """The shape of a type hint. Raises Unsupported, ValueError, NameError for a hint that names what is not there."""
    if (made := _SCALARS.get(hint) if _hashable(hint) else None) is not None:
        return made()
    if hint is Any or hint is object:
        return Anything(shape_of)
    origin = get_origin(hint)
    if origin is Annotated:
        return _annotated(hint)
    if origin is Union or origin is types.UnionType:
        return _union(hint)
    if hasattr(hint, "__supertype__"):  # NewType
        return shape_of(hint.__supertype__)
    if type(hint).__name__ == "TypeAliasType":
        return shape_of(hint.__value__)
    if origin is not None:
        return _generic(hint, origin, get_args(hint))
    if isinstance(hint, type):
        return _class(hint)
    raise _unsupported(hint)


def _hashable(hint: Any) -> bool:
    return getattr(hint, "__hash__", None) is not None and get_origin(hint) is not Annotated


def spelled(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and get_origin(hint) is None else str(hint).replace("typing.", "")


def _unsupported(hint: Any, why: str = "") -> Unsupported:
    return Unsupported(f"the type {spelled(hint)} cannot travel{why and f': {why}'}")


def _annotated(hint: Any) -> Shape:
    inner, *notes = get_args(hint)
    shape = shape_of(inner)
    for note in notes:
        least, most = _bounds(note)
        if (least is None and most is None) or not isinstance(shape, Whole):
            continue
        least = shape.least if least is None else least
        most = (_MOST if least >= 0 else shape.most) if most is None else most
        if not _LEAST <= least <= most <= _MOST or (least < 0 and most > 2**63 - 1):
            raise _unsupported(hint, f"want a range of whole numbers of 64 bits, got {least} to {most}")
        shape = Whole(least, most)
    return shape


def _bounds(note: Any) -> tuple[int | None, int | None]:
    """What a note says of the least and the most: ours, and those of msgspec and pydantic."""
    if isinstance(note, Range):
        return note.least, note.most
    least, above = getattr(note, "ge", None), getattr(note, "gt", None)
    most, below = getattr(note, "le", None), getattr(note, "lt", None)
    if least is None and isinstance(above, int):
        least = above + 1
    if most is None and isinstance(below, int):
        most = below - 1
    return least if isinstance(least, int) else None, most if isinstance(most, int) else None


def _union(hint: Any) -> Shape:
    members = [one for one in get_args(hint) if one is not type(None)]
    if len(members) != 1 or len(members) == len(get_args(hint)):
        raise _unsupported(hint, "of several types only one and None can be, as in int | None")
    return Optional(shape_of(members[0]))


def _generic(hint: Any, origin: Any, of: tuple[Any, ...]) -> Shape:
    if origin is tuple:
        if len(of) == 2 and of[1] is Ellipsis:
            return List(shape_of(of[0]), tuple)
        raise _unsupported(hint, "a tuple is a list of one type, as tuple[int, ...], or the results of a method")
    if origin in (list, Sequence):
        return List(shape_of(of[0]), list)
    if origin in (dict, Mapping):
        key, value = shape_of(of[0]), shape_of(of[1])
        if not key.is_key:
            raise _unsupported(hint, "keys are texts, whole numbers or constants")
        return Map(key, value)
    raise _unsupported(hint)


def _class(kind: type[Any]) -> Shape:
    if kind in (list, tuple, dict):
        raise _unsupported(kind, f"it does not say of what, as {kind.__name__}[{'str, ' * (kind is dict)}int] does")
    if issubclass(kind, Flag):
        raise _unsupported(kind, "flags that are combined have no name")
    if issubclass(kind, Enum):
        if not kind.__members__:
            raise _unsupported(kind, "it has no constants")
        return Enumeration(kind)
    if (found := _records.get(kind)) is not None:
        return found
    read = _reader_of(kind)
    if read is None:
        raise _unsupported(kind)
    model = read is _of_model
    shape = _records[kind] = Record(kind, models.maker_of(kind) if model else kind, model and models.forbids(kind))
    try:
        for member, hint, name, missing in read(kind):
            try:
                shape.add(Field(member, *_named(member, hint, name), missing))
            except (TypeError, ValueError, NameError) as error:
                raise type(error)(f"field {member} of {kind.__name__}: {error}") from None
    except BaseException:
        del _records[kind]
        raise
    return shape


def _named(member: str, hint: Any, name: str | None) -> tuple[str, Shape]:
    """A field's public name and shape."""
    for note in get_args(hint)[1:] if get_origin(hint) is Annotated else ():
        if isinstance(note, Name):
            name = note.name
    shape = shape_of(hint)
    return check_public_name(public_name(member) if name is None else name, f"field {member}"), shape


# What a field is made from: its member, hint, the public name that the class gives, what it has when it is missing.
_Fields = list[tuple[str, Any, str | None, Callable[[], Any] | None]]


def _reader_of(kind: type[Any]) -> Callable[[type[Any]], _Fields] | None:
    if models.is_model(kind):
        return _of_model
    if dataclasses.is_dataclass(kind):
        return _of_dataclass
    if hasattr(kind, "__struct_fields__"):
        return _of_struct
    return None


def _of_dataclass(kind: type[Any]) -> _Fields:
    hints = typing.get_type_hints(kind, include_extras=True)
    found: _Fields = []
    for field in dataclasses.fields(kind):
        if not field.init:
            continue
        missing: Callable[[], Any] | None = None
        if field.default_factory is not dataclasses.MISSING:
            missing = field.default_factory
        elif field.default is not dataclasses.MISSING:
            missing = _constant(field.default)
        found.append((field.name, hints[field.name], None, missing))
    return found


def _of_struct(kind: type[Any]) -> _Fields:
    """Of msgspec."""
    from msgspec import NODEFAULT, structs

    hints = typing.get_type_hints(kind, include_extras=True)
    found: _Fields = []
    for field in structs.fields(kind):
        missing: Callable[[], Any] | None = None
        if field.default_factory is not NODEFAULT:
            missing = field.default_factory
        elif field.default is not NODEFAULT:
            missing = _constant(field.default)
        given = field.encode_name if field.encode_name != field.name else None
        found.append((field.name, hints[field.name], given, missing))
    return found


def _of_model(kind: Any) -> _Fields:
    """Of pydantic."""
    hints = typing.get_type_hints(kind, include_extras=True)
    found: _Fields = []
    for member, field in models.fields_of(kind).items():
        hint = hints[member]
        for note in field.metadata:
            hint = Annotated[hint, note]
        missing = None if field.is_required() else _default_of(field)
        try:
            found.append((member, hint, models.public_alias(field), missing))
        except TypeError as error:
            raise TypeError(f"field {member} of {kind.__name__}: {error}") from None
    return found


def _default_of(field: Any) -> Callable[[], Any]:
    return lambda: field.get_default(call_default_factory=True)


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value
