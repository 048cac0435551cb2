"""The fields of a record whose values go over the wire as they are, such as texts and numbers that are small enough:
looked at together, which takes a fraction of the time. What is not as it should be is left to the shapes, which say
what is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from .scalars import SAFE, Boolean, Float, Shape, Text, Whole

if TYPE_CHECKING:
    from .compounds import Field

_TYPES: dict[type[Shape], type[Any]] = {Boolean: bool, Whole: int, Float: float, Text: str}
_Many = Callable[[Any], tuple[Any, ...]]


class Flat:
    """Of one record, in one of the two forms."""

    def __init__(self, fields: Sequence[Field], text: bool) -> None:
        self.others = [field for field in fields if type(field.shape) not in _TYPES]
        flat = [field for field in fields if type(field.shape) in _TYPES]
        self._text = text
        self._all = {field.name: None for field in fields}  # in the order in which they are written
        self._names = tuple(field.name for field in flat)
        self._members = tuple(field.member for field in flat)
        self._types = tuple(_TYPES[type(field.shape)] for field in flat)
        self._of_object = _several(attrgetter, self._members)
        self._of_tree = _several(itemgetter, self._names)
        ranges: dict[tuple[int, int], list[int]] = {}
        for at, field in enumerate(flat):
            if isinstance(field.shape, Whole):
                least, most = field.shape.least, field.shape.most
                bounds = (max(least, -SAFE), min(most, SAFE)) if text else (least, most)
                ranges.setdefault(bounds, []).append(at)
        self._ranges = [(*bounds, _several(itemgetter, places)) for bounds, places in ranges.items()]
        self._floats = _places(self._types, float)
        self._texts = _places(self._types, str)

    def written(self, value: Any) -> dict[str, Any] | None:
        """All fields by name, those of an object as they are written, and the others still missing. None: some have to
        be looked at one by one."""
        found = self._of_object(value)
        if not self._fit(found):
            return None
        if not self.others:
            return dict(zip(self._names, found, strict=True))
        out = self._all.copy()
        out.update(zip(self._names, found, strict=True))
        return out

    def read(self, tree: Any) -> dict[str, Any] | None:
        """What has come, by member, but for the others. None: likewise, or fields are missing, or there are more."""
        if type(tree) is not dict:
            try:
                tree = dict(tree)
            except TypeError:  # a key that is none
                return None
        if tree.keys() != self._all.keys():
            return None
        found = self._of_tree(tree)
        return dict(zip(self._members, found, strict=True)) if self._fit(found) else None

    def _fit(self, found: tuple[Any, ...]) -> bool:
        """Whether these values are written and read as they are."""
        if tuple(map(type, found)) != self._types:
            return False
        for least, most, several in self._ranges:
            numbers = several(found)
            if min(numbers) < least or max(numbers) > most:
                return False
        if self._floats is not None and not all(map(math.isfinite, self._floats(found))):
            return False
        if self._texts is not None and not (together := "".join(self._texts(found))).isascii():
            try:
                together.encode()
            except UnicodeEncodeError:
                return False
        return True


def _several(getter: Callable[..., Any], keys: Sequence[Any]) -> _Many:
    """Gets a tuple of any number of parts."""
    if not keys:
        return lambda _: ()
    one = getter(*keys)
    return one if len(keys) > 1 else lambda whole: (one(whole),)


def _places(types: Sequence[type[Any]], wanted: type[Any]) -> _Many | None:
    places = [at for at, kind in enumerate(types) if kind is wanted]
    return _several(itemgetter, places) if places else None
