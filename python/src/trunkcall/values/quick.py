"""Reading and writing by msgspec, where it is installed. It reads only what it would read as the shapes do: types for
which that holds are known to `Shape.quick`, and what it refuses is read again by them, which say what is wrong."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Annotated, Any

from . import jsontext, messagepack
from .faults import Fault


def _library() -> Any:
    try:
        return importlib.import_module("msgspec")
    except ImportError:
        return None


msgspec = _library()

_MOST = 2**63 - 1  # of what msgspec compares with


def whole(least: int, most: int) -> Any:
    """Whole numbers between two others."""
    if msgspec is None:
        return int
    return Annotated[int, msgspec.Meta(ge=least, le=most) if most <= _MOST else msgspec.Meta(ge=least)]


def struct(fields: Sequence[tuple[str, Any]]) -> Any:
    """A type that is read of a map with exactly these fields; `parts_of` gets them. There is msgspec."""
    named = [(_part(at), kind) for at, (_, kind) in enumerate(fields)]
    rename = {_part(at): name for at, (name, _) in enumerate(fields)}
    return msgspec.defstruct("Fields", named, rename=rename, forbid_unknown_fields=True, gc=False)


def parts_of(count: int) -> Callable[[Any], tuple[Any, ...]]:
    """Gets the fields of such a struct in their order."""
    found: Any = attrgetter(*map(_part, range(count)))
    return found if count > 1 else lambda struct: (found(struct),)


def _part(at: int) -> str:
    return f"f{at}"


def writer(text: bool) -> Callable[[Any], bytes]:
    """What makes a message of a tree."""
    if msgspec is None:
        return jsontext.write if text else messagepack.write
    made: Callable[[Any], bytes] = msgspec.json.Encoder().encode if text else msgspec.msgpack.Encoder().encode
    return made


def reader(kind: Any, text: bool) -> Callable[[bytes], Any] | None:
    """What makes a value of a type of a message, or raises one of FAILURES; None if there is nothing quick."""
    if msgspec is None or kind is None:
        return None
    made: Callable[[bytes], Any] = (msgspec.json if text else msgspec.msgpack).Decoder(kind).decode
    return made


FAILURES: tuple[type[Exception], ...] = (
    UnicodeDecodeError,
    RecursionError,
    Fault,  # of what makes objects of what msgspec has read
    *(() if msgspec is None else (msgspec.MsgspecError,)),
)
