"""The arguments or results of a method, or one value, as messages of MessagePack or JSON."""

# What comes may be anything, so that its parts have no type:
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import GenericAlias
from typing import Any, NamedTuple

from . import jsontext, quick
from .compounds import has_strict, unknown_field
from .faults import Fault, unwanted
from .messagepack import Reader
from .room import give_back, make_room
from .scalars import Shape
from .tree import check_depth, kind_of


class Place(NamedTuple):
    """A parameter or result."""

    what: str  # for people: "parameter 2 of /calc/div"
    shape: Shape


class Misfit(Exception):
    """A message, or values for one, that is not what it should be: the text for who made it."""

    def __init__(self, text: str, *, limit: bool = False) -> None:
        super().__init__(text)
        self.limit = limit


class One:
    """A message that is one value, in one of the two forms."""

    def __init__(self, place: Place, text: bool) -> None:
        self._place = place
        self._text = text
        self._write = quick.writer(text)
        self._read = quick.reader(place.shape.quick(text), text)
        self._revive = None if self._read is None else place.shape.reviver(text)

    def encode(self, value: Any) -> bytes:
        """Raises Misfit."""
        return self._write(self.plain(value))

    def decode(self, data: bytes) -> Any:
        """Raises Misfit."""
        if self._read is not None:
            try:
                value = self._read(data)
                return value if self._revive is None else self._revive(value)
            except quick.FAILURES:
                pass
        before = make_room(len(data))
        try:
            if self._text:
                tree = jsontext.read(data)
            else:
                reader = Reader(data)
                tree = reader.value()
                reader.end()
            return self._place.shape.load(tree, self._text, 0)
        except Fault as fault:
            raise _misfit(self._place, fault) from None
        finally:
            give_back(before)

    def plain(self, value: Any) -> Any:
        """The value as a tree, for a codec of the user's. Raises Misfit."""
        try:
            return self._place.shape.dump(value, self._text, 0)
        except Fault as fault:
            raise _misfit(self._place, fault) from None

    def of_plain(self, tree: Any) -> Any:
        """Raises Misfit."""
        try:
            return self._place.shape.load(tree, self._text, 0)
        except Fault as fault:
            raise _misfit(self._place, fault) from None


class Several:
    """A message that is an array of values, each with its place. `counted` says what came in the wrong number:
    "/calc/div takes 2 parameters, got 3"."""

    def __init__(
        self, places: Sequence[Place], text: bool, counted: Callable[[int], str], whole: str, strict: bool = False
    ) -> None:
        self._places = tuple(places)
        self._text = text
        self._counted = counted
        self._whole = whole  # "the request of /calc/div"
        self._strict = strict and text  # the records of all classes
        self._checked = text and (strict or any(has_strict(place.shape) for place in places))
        self._write = quick.writer(text)
        kinds = [place.shape.quick(text) for place in places]
        kind = None if None in kinds or not kinds or self._strict else GenericAlias(tuple, tuple(kinds))
        self._read = quick.reader(kind, text)
        revivers = () if self._read is None else [place.shape.reviver(text) for place in places]
        self._revivers = [(at, revive) for at, revive in enumerate(revivers) if revive is not None]

    def encode(self, values: Any) -> bytes:
        """Raises Misfit."""
        return self._write(self.plain(values))

    def decode(self, data: bytes) -> tuple[Any, ...]:
        """Raises Misfit."""
        if self._read is not None:
            try:
                found: tuple[Any, ...] = self._read(data)
                return self._revived(found) if self._revivers else found
            except quick.FAILURES:
                pass
        before = make_room(len(data))
        try:
            return self._of_json(data) if self._text else self._of_messagepack(data)
        finally:
            give_back(before)

    def _revived(self, found: tuple[Any, ...]) -> tuple[Any, ...]:
        values = list(found)
        for at, revive in self._revivers:
            values[at] = revive(values[at])
        return tuple(values)

    def plain(self, values: Any) -> list[Any]:
        """The values as a tree, for a codec of the user's. Raises Misfit."""
        if not isinstance(values, tuple | list):
            raise Misfit(f"{self._whole}: want {len(self._places)} values, got a value of type {type(values).__name__}")
        self._check_count(len(values))
        out: list[Any] = []
        for place, value in zip(self._places, values, strict=True):
            try:
                out.append(place.shape.dump(value, self._text, 1))
            except Fault as fault:
                raise _misfit(place, fault) from None
        return out

    def of_plain(self, tree: Any) -> tuple[Any, ...]:
        """Raises Misfit."""
        if not isinstance(tree, list | tuple):
            raise Misfit(f"{self._whole}: want an array, got {kind_of(tree)}")
        self._check_count(len(tree))
        return tuple(self._load(place, one) for place, one in zip(self._places, tree, strict=True))

    def _check_count(self, count: int) -> None:
        if count != len(self._places):
            raise Misfit(self._counted(count))

    def _load(self, place: Place, tree: Any) -> Any:
        try:
            return place.shape.load(tree, self._text, 1)
        except Fault as fault:
            raise _misfit(place, fault) from None

    def _of_messagepack(self, data: bytes) -> tuple[Any, ...]:
        reader = Reader(data)
        values: list[Any] = []
        place: Place | None = None
        try:
            count = reader.array_header()
            if count is None:
                raise unwanted("an array", kind_of(reader.value()))
            self._check_count(count)
            for place in self._places:
                values.append(place.shape.load(reader.value(1), False, 1))
            place = None
            reader.end()
        except Fault as fault:
            raise self._of_whole(fault) if place is None else _misfit(place, fault) from None
        return tuple(values)

    def _of_json(self, data: bytes) -> tuple[Any, ...]:
        try:
            tree = jsontext.read(data)
        except jsontext.Deep as fault:
            deep = self._places[fault.element] if fault.element < len(self._places) else None
            raise self._of_whole(fault) if deep is None else _misfit(deep, fault) from None
        except Fault as fault:
            raise self._of_whole(fault) from None
        values = self.of_plain(tree)
        for place, one in zip(self._places, tree, strict=True) if self._checked else ():
            if (name := unknown_field(place.shape, one, self._strict)) is not None:
                raise Misfit(f'{place.what}: there is no field "{name}"')
        return values

    def _of_whole(self, fault: Fault) -> Misfit:
        return Misfit(f"{self._whole}{fault.told()}", limit=fault.limit)


class Ignored:
    """The response of a method that has no result: null is written, any value is read."""

    def __init__(self, text: bool, whole: str) -> None:
        self._text = text
        self._whole = whole
        self._write = quick.writer(text)

    def encode(self, value: Any) -> bytes:
        """Raises Misfit."""
        return self._write(self.plain(value))

    def decode(self, data: bytes) -> None:
        """Raises Misfit."""
        try:
            if self._text:
                check_depth(jsontext.read(data), 0)
            else:
                reader = Reader(data)
                reader.value()
                reader.end()
        except Fault as fault:
            raise Misfit(f"{self._whole}{fault.told()}", limit=fault.limit) from None

    def plain(self, value: Any) -> Any:
        """Raises Misfit."""
        if value is not None:
            raise Misfit(f"{self._whole}: want None, got a value of type {type(value).__name__}")
        return None

    def of_plain(self, tree: Any) -> None:
        pass


MessageShape = One | Several | Ignored


def _misfit(place: Place, fault: Fault) -> Misfit:
    return Misfit(f"{place.what}{fault.told()}", limit=fault.limit)
