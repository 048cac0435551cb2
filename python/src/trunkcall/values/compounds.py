"""How values with parts go over the wire (spec/code-first.md 3)."""

# What comes may be anything, so that its parts have no type:
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import GenericAlias
from typing import Any

from . import quick
from .faults import MAX_NESTING, UNTAKEN, Fault, Refused, too_deep, unwanted
from .flat import Flat
from .room import FIELD, LIST, MAP, RECORD, need
from .scalars import OUT_OF_RANGE, Shape, Text, Time, Whole
from .tree import Broken, Ext, Pairs, check_depth


class Optional(Shape):
    def __init__(self, inner: Shape) -> None:
        self.inner = inner
        self.wanted = inner.wanted

    def dump(self, value: Any, text: bool, depth: int) -> Any:
        return None if value is None else self.inner.dump(value, text, depth)

    def load(self, tree: Any, text: bool, depth: int) -> Any:
        return None if tree is None else self.inner.load(tree, text, depth)

    def zero(self) -> Any:
        return None

    def quick(self, text: bool) -> Any:
        inner = self.inner.quick(text)
        return None if inner is None else inner | None

    def reviver(self, text: bool) -> Callable[[Any], Any] | None:
        revive = self.inner.reviver(text)
        return None if revive is None else lambda value: None if value is None else revive(value)


class List(Shape):
    """list, and tuple of one type and any length."""

    wanted = "an array"

    def __init__(self, inner: Shape, kind: type[list[Any]] | type[tuple[Any, ...]]) -> None:
        self.inner = inner
        self.kind = kind

    def dump(self, value: Any, text: bool, depth: int) -> Any:
        if not isinstance(value, list | tuple):
            raise self.misfit(value)
        if depth >= MAX_NESTING:
            raise too_deep()
        one = self.inner.dump
        out: list[Any] = []
        try:
            for part in value:
                out.append(one(part, text, depth + 1))
        except Fault as fault:
            raise fault.within(f"[{len(out)}]") from None
        return out

    def load(self, tree: Any, text: bool, depth: int) -> Any:
        if type(tree) is not list:
            raise self.refuse(tree)
        if depth >= MAX_NESTING:
            raise too_deep()
        one = self.inner.load
        out: list[Any] = []
        try:
            for part in tree:
                out.append(one(part, text, depth + 1))
        except Fault as fault:
            raise fault.within(f"[{len(out)}]") from None
        return out if self.kind is list else tuple(out)

    def zero(self) -> Any:
        return self.kind()

    def zero_size(self) -> int:
        return LIST

    def quick(self, text: bool) -> Any:
        inner = self.inner.quick(text)
        if inner is None:
            return None
        return GenericAlias(list, inner) if self.kind is list else GenericAlias(tuple, (inner, ...))

    def reviver(self, text: bool) -> Callable[[Any], Any] | None:
        revive, kind = self.inner.reviver(text), self.kind
        return None if revive is None else lambda value: kind(map(revive, value))


class Map(Shape):
    wanted = "a map"

    def __init__(self, key: Shape, value: Shape) -> None:
        self.key, self.value = key, value

    def dump(self, value: Any, text: bool, depth: int) -> Any:
        if not isinstance(value, Mapping):
            raise self.misfit(value)
        if depth >= MAX_NESTING:
            raise too_deep()
        out: dict[Any, Any] = {}
        for key, one in value.items():
            try:
                name = self.key.dump(key, text, depth + 1)
            except Fault as fault:
                raise fault.within("[key]") from None
            try:
                out[str(name) if text else name] = self.value.dump(one, text, depth + 1)
            except Fault as fault:
                raise fault.within("[value]") from None
        return out

    def load(self, tree: Any, text: bool, depth: int) -> Any:
        pairs = pairs_of(self, tree, depth)
        out: dict[Any, Any] = {}
        for key, one in pairs:
            try:
                name = self.key.load(key, text, depth + 1)
            except Fault as fault:
                raise fault.within("[key]") from None
            try:
                out[name] = self.value.load(one, text, depth + 1)
            except Fault as fault:
                raise fault.within("[value]") from None
        return out

    def zero(self) -> Any:
        return {}

    def zero_size(self) -> int:
        return MAP

    def quick(self, text: bool) -> Any:
        value = self.value.quick(text)
        return GenericAlias(dict, (str, value)) if value is not None and type(self.key) is Text else None

    def reviver(self, text: bool) -> Callable[[Any], Any] | None:
        revive = self.value.reviver(text)
        return None if revive is None else lambda value: {key: revive(one) for key, one in value.items()}


def pairs_of(shape: Shape, tree: Any, depth: int) -> Any:
    """The keys and values of a map in either form. Raises Fault."""
    if type(tree) is dict:
        pairs: Any = tree.items()
    elif type(tree) is Pairs:
        pairs = tree
    else:
        raise shape.refuse(tree)
    if depth >= MAX_NESTING:
        raise too_deep()
    return pairs


class Field:
    """One of a record. `missing` makes what it has when it does not come."""

    __slots__ = ("member", "missing", "name", "shape")

    def __init__(self, member: str, name: str, shape: Shape, missing: Callable[[], Any] | None) -> None:
        self.member = member
        self.name = name
        self.shape = shape
        self.missing = missing or shape.zero


class Record(Shape):
    """A class with fields, made with all of them by name."""

    wanted = "a map"

    def __init__(self, kind: type[Any], make: Callable[..., Any], strict: bool = False) -> None:
        self.kind = kind
        self.make = make
        self.strict = strict  # by its class: refuses what it has no field for, in requests of JSON
        self.fields: list[Field] = []
        self._by_name: dict[str, Field] = {}
        self._zero_size = 0  # 0: not known yet
        self._flat: dict[bool, Flat] = {}  # by `text`; made when all fields are known
        self._quick: dict[bool, Any] = {}  # likewise

    def add(self, field: Field) -> None:
        """Raises ValueError for a second field of one public name."""
        other = self._by_name.get(field.name)
        if other is not None:
            raise ValueError(f"the fields {other.member} and {field.member} are both {field.name} in public")
        self.fields.append(field)
        self._by_name[field.name] = field

    def dump(self, value: Any, text: bool, depth: int) -> Any:
        if not isinstance(value, self.kind):
            raise self.misfit(value)
        if depth >= MAX_NESTING:
            raise too_deep()
        flat = self._flat_of(text)
        out = flat.written(value)
        fields = self.fields if out is None else flat.others
        out = {} if out is None else out
        for field in fields:
            try:
                out[field.name] = field.shape.dump(getattr(value, field.member), text, depth + 1)
            except Fault as fault:
                raise fault.within(f".{field.name}") from None
        return out

    def _flat_of(self, text: bool) -> Flat:
        flat = self._flat.get(text)
        if flat is None:
            flat = self._flat[text] = Flat(self.fields, text)
        return flat

    def load(self, tree: Any, text: bool, depth: int) -> Any:
        pairs_of(self, tree, depth)
        flat = self._flat_of(text)
        values = flat.read(tree)
        if values is None:
            return self._load_each(tree, text, depth)
        need(RECORD + FIELD * len(self.fields))
        came = tree if not flat.others or type(tree) is dict else dict(tree)
        for field in flat.others:
            try:
                values[field.member] = field.shape.load(came[field.name], text, depth + 1)
            except Fault as fault:
                raise fault.within(f".{field.name}") from None
        return self._made(values)

    def _load_each(self, tree: Any, text: bool, depth: int) -> Any:
        """The same field by field: some are missing, there are others, or some come in another form."""
        known = self._by_name
        came: dict[str, Any] = {}
        for key, one in pairs_of(self, tree, depth):
            if type(key) is not str:
                raise Fault("a field's name is not text").within("[field]")
            if key in known:
                came[key] = one
            else:
                check_depth(one, depth + 1)
        needed = RECORD + FIELD * len(self.fields)
        if len(came) < len(self.fields):
            needed += sum(field.shape.zero_size() for field in self.fields if field.name not in came)
        need(needed)
        values: dict[str, Any] = {}
        for field in self.fields:
            if field.name not in came:
                values[field.member] = field.missing()
                continue
            try:
                values[field.member] = field.shape.load(came[field.name], text, depth + 1)
            except Fault as fault:
                raise fault.within(f".{field.name}") from None
        return self._made(values)

    def _made(self, values: dict[str, Any]) -> Any:
        try:
            return self.make(**values)
        except Refused as error:
            fault = Fault(error.text)
            name = next((field.name for field in self.fields if field.member == error.member), None)
            raise (fault if name is None else fault.within(f".{name}{error.inside}")) from None
        except Exception:  # of the class's own checks, whose words may quote the value
            raise Fault(UNTAKEN) from None

    def zero(self) -> Any:
        return self._made({field.member: field.missing() for field in self.fields})

    def zero_size(self) -> int:
        if not self._zero_size:
            self._zero_size = RECORD + sum(FIELD + field.shape.zero_size() for field in self.fields)
        return self._zero_size

    def quick(self, text: bool) -> Any:
        """A struct of all its fields, from which `reviver` makes the object."""
        if quick.msgspec is None:
            return None
        if text in self._quick:
            return self._quick[text]
        self._quick[text] = None  # for a record that has itself inside
        kinds = [(field.name, field.shape.quick(text)) for field in self.fields]
        if kinds and all(kind is not None for _, kind in kinds):
            self._quick[text] = quick.struct(kinds)
        return self._quick[text]

    def reviver(self, text: bool) -> Callable[[Any], Any] | None:
        members = [field.member for field in self.fields]
        revivers = [
            (field.member, revive) for field in self.fields if (revive := field.shape.reviver(text)) is not None
        ]
        parts = quick.parts_of(len(members))

        def revive_record(came: Any) -> Any:
            values = dict(zip(members, parts(came), strict=True))
            for member, revive in revivers:
                values[member] = revive(values[member])
            return self._made(values)

        return revive_record

    def misfit(self, value: object) -> Fault:
        return unwanted(self.kind.__name__, "None" if value is None else f"a value of type {type(value).__name__}")

    def unknown(self, tree: Any) -> str | None:
        """The first key that no field has."""
        return next((key for key in tree if key not in self._by_name), None)


class Anything(Shape):
    """Any: written by the value's own type, read as what came."""

    wanted = "any value"
    is_key = False

    def __init__(self, shape_of: Callable[[Any], Shape]) -> None:
        self._shape_of = shape_of
        self._shapes: dict[type[Any], Shape] = {}

    def dump(self, value: Any, text: bool, depth: int) -> Any:
        if value is None:
            return None
        if type(value) is int:
            return _WIDEST.dump(value, text, depth)
        if isinstance(value, list | tuple):
            return self._list.dump(list(value), text, depth)
        if isinstance(value, Mapping):
            return self._map(value, text, depth)
        return self._own(type(value)).dump(value, text, depth)

    @property
    def _list(self) -> List:
        return List(self, list)

    def _own(self, kind: type[Any]) -> Shape:
        found = self._shapes.get(kind)
        if found is None:
            try:
                found = self._shape_of(kind)
            except (TypeError, ValueError) as error:
                raise Fault(str(error)) from None
            self._shapes[kind] = found
        return found

    def _map(self, value: Mapping[Any, Any], text: bool, depth: int) -> Any:
        if depth >= MAX_NESTING:
            raise too_deep()
        out: dict[Any, Any] = {}
        for key, one in value.items():
            shape = _WIDEST if type(key) is int else self._own(type(key))
            if not shape.is_key:
                raise Fault(f"keys of type {type(key).__name__} cannot travel")
            name = shape.dump(key, text, depth + 1)
            out[str(name) if text else name] = self.dump(one, text, depth + 1)
        return out

    def load(self, tree: Any, text: bool, depth: int) -> Any:
        match tree:
            case None | bool() | bytes():
                return tree
            case int():
                return tree if _WIDEST.least <= tree <= _WIDEST.most else self._float(tree)
            case float():
                return self._float(tree) if text else tree
            case str():
                return _TEXT.load(tree, text, depth)
            case Pairs() | dict():
                return self._load_map(tree, text, depth)
            case list():
                return self._list.load(tree, text, depth)
            case Ext() if tree.number == -1:
                return _TIME.load(tree, text, depth)
            case Ext():
                raise unwanted(self.wanted, "an extension that is no timestamp")
            case Broken():
                raise tree.fault
            case _:
                raise Fault("nothing is known of what came")

    def _float(self, tree: int | float) -> float:
        try:
            value = float(tree)
        except OverflowError:
            value = float("inf")
        if value in (float("inf"), float("-inf")):
            raise unwanted(self.wanted, OUT_OF_RANGE)
        return value

    def _load_map(self, tree: Any, text: bool, depth: int) -> Any:
        out: dict[str, Any] = {}
        for key, one in pairs_of(self, tree, depth):
            if type(key) is int:
                name = str(key)
            elif type(key) is str:
                name = _TEXT.load(key, text, depth)
            else:
                fault = key.fault if isinstance(key, Broken) else Fault("want text or a whole number as a key")
                raise fault.within("[key]")
            try:
                out[name] = self.load(one, text, depth + 1)
            except Fault as fault:
                raise fault.within("[value]") from None
        return out

    def zero(self) -> Any:
        return None


_WIDEST = Whole(-(2**63), 2**64 - 1)
_TEXT, _TIME = Text(), Time()


def unknown_field(shape: Shape, tree: Any, strict: bool = True) -> str | None:
    """A key of JSON for which the record that it comes to has no field; where nothing is wrong with the value. Without
    `strict`, of records alone that are strict by their classes."""
    inner: Iterable[tuple[Shape, Any]] = ()
    match shape:
        case Optional():
            inner = ((shape.inner, tree),)
        case List() if isinstance(tree, list):
            inner = ((shape.inner, one) for one in tree)
        case Map() if isinstance(tree, dict):
            inner = ((shape.value, one) for one in tree.values())
        case Record() if isinstance(tree, dict):
            if (strict or shape.strict) and (name := shape.unknown(tree)) is not None:
                return name
            inner = ((one.shape, tree[one.name]) for one in shape.fields if one.name in tree)
        case _:
            pass
    found = (unknown_field(one, value, strict) for one, value in inner)
    return next((name for name in found if name is not None), None)


def has_strict(shape: Shape, seen: set[Shape] | None = None) -> bool:
    """Whether there are records in it that are strict by their classes."""
    seen = set() if seen is None else seen
    match shape:
        case Optional() | List():
            return has_strict(shape.inner, seen)
        case Map():
            return has_strict(shape.value, seen)
        case Record() if shape not in seen:
            seen.add(shape)
            return shape.strict or any(has_strict(field.shape, seen) for field in shape.fields)
        case _:
            return False
