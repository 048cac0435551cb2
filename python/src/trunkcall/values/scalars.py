"""How values without parts go over the wire (spec/code-first.md 3). A shape writes a value as a tree and reads it from
one, of MessagePack, or of JSON if `text`. `depth` arrays and maps are around it."""

# What comes may be anything, so that its parts have no type:
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

from .faults import Fault, unwanted
from .messagepack import EPOCH, instant
from .quick import whole
from .tree import Broken, Ext, kind_of

SAFE = 2**53 - 1  # the whole numbers up to here are the same in JavaScript
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,19})", re.ASCII)
_SECONDS = re.compile(r"(-?)(0|[1-9][0-9]{0,10})(?:\.([0-9]{1,9}))?s", re.ASCII)
_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt]((?:[01]\d|2[0-3]):\d\d:\d\d)(?:\.(\d{1,9}))?"
    r"(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))",
    re.ASCII,
)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]*|[A-Za-z0-9_-]*)={0,2}", re.ASCII)
_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_MICROSECOND, _SECOND = timedelta(microseconds=1), timedelta(seconds=1)
_EARLIEST = datetime.min.replace(tzinfo=UTC)
OUT_OF_RANGE = "a number out of range"


class Shape:
    """How the values of one type go over the wire."""

    wanted: str  # for people: "text"
    is_key = False  # whether it can be one of a map

    def dump(self, value: Any, text: bool, depth: int) -> Any:
        """A value as a tree. Raises Fault, whose text may name the value's type."""
        raise NotImplementedError

    def load(self, tree: Any, text: bool, depth: int) -> Any:
        """The value of a tree. Raises Fault."""
        raise NotImplementedError

    def zero(self) -> Any:
        """What a field has that is missing."""
        raise NotImplementedError

    def zero_size(self) -> int:
        """What `zero` needs of memory, in bytes of limits.md 2."""
        return 0

    def quick(self, text: bool) -> Any:
        """The type for which msgspec reads exactly what `load` would, or fails; None if there is none."""
        return None

    def reviver(self, text: bool) -> Callable[[Any], Any] | None:
        """Makes the value of what msgspec reads of that type, or raises Fault; None if it is the value. Asked for only
        where there is such a type."""
        return None

    def refuse(self, tree: object) -> Fault:
        return tree.fault if isinstance(tree, Broken) else unwanted(self.wanted, kind_of(tree))

    def misfit(self, value: object) -> Fault:
        """For a value that is not of the type; its type is told, never the value."""
        return unwanted(self.wanted, "None" if value is None else f"a value of type {type(value).__name__}")


class Boolean(Shape):
    wanted = "a boolean"

    def dump(self, value: Any, text: bool, depth: int) -> Any:
        if type(value) is not bool:
            raise self.misfit(value)
        return value

    def load(self, tree: Any, text: bool, depth: int) -> Any:
        if type(tree) is not bool:
            raise self.refuse(tree)
        return tree

    def zero(self) -> Any:
        return False

    def quick(self, text: bool) -> Any:
        return bool


class Whole(Shape):
    """Whole numbers between two others, which are among those of 64 bits, signed or not."""

    is_key = True

    def __init__(self, least: int, most: int) -> None:
        self.least, self.most = least, most
        self.wanted = f"a whole number from {least} to {most}"

    def dump(self, value: Any, text: bool, depth: int) -> Any:
        if type(value) is not int:
            if isinstance(value, bool) or not isinstance(value, int):
                raise self.misfit(value)
            value = int(value)
        if not self.least <= value <= self.most:
            raise unwanted(self.wanted, OUT_OF_RANGE)
        return str(value) if text and not -SAFE <= value <= SAFE else value

    def load(self, tree: Any, text: bool, depth: int) -> Any:
        if type(tree) is int:
            value = tree
            if text and not -SAFE <= value <= SAFE:
                raise unwanted(self.wanted, "a number beyond ±(2^53 - 1), which JSON has as text")
        elif type(tree) is float and -SAFE <= tree <= SAFE and tree.is_integer():
            value = int(tree)
        elif text and type(tree) is str and _DECIMAL.fullmatch(tree):
            value = int(tree)
        else:
            raise self.refuse(tree)
        if not self.least <= value <= self.most:
            raise unwanted(self.wanted, OUT_OF_RANGE)
        return value

    def refuse(self, tree: object) -> Fault:
        if isinstance(tree, float):
            return unwanted(self.wanted, "a number with a fraction, or beyond ±(2^53 - 1)")
        return super().refuse(tree)

    def zero(self) -> Any:
        return 0 if self.least <= 0 <= self.most else self.least

    def quick(self, text: bool) -> Any:
        return whole(max(self.least, -SAFE), min(self.most, SAFE)) if text else whole(self.least, self.most)


class Float(Shape):
    wanted = "a number"

    def dump(self, value: Any, text: bool, depth: int) -> Any:
        if type(value) is not float:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise self.misfit(value)
            try:
                value = float(value)
            except OverflowError:
                raise unwanted(self.wanted, OUT_OF_RANGE) from None
        if math.isfinite(value):
            return value
        if text:
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return math.nan if math.isnan(value) else value

    def load(self, tree: Any, text: bool, depth: int) -> Any:
        if type(tree) is float:
            if text and math.isinf(tree):
                raise unwanted(self.wanted, OUT_OF_RANGE)
            return tree
        if type(tree) is int:
            try:
                return float(tree)
            except OverflowError:
                raise unwanted(self.wanted, OUT_OF_RANGE) from None
        if text and type(tree) is str and tree in _WORDS:
            return _WORDS[tree]
        raise self.refuse(tree)

    def zero(self) -> Any:
        return 0.0

    def quick(self, text: bool) -> Any:
        return float


class Text(Shape):
    wanted = "text"
    is_key = True

    def dump(self, value: Any, text: bool, depth: int) -> Any:
        if not isinstance(value, str):
            raise self.misfit(value)
        return _valid(value)

    def load(self, tree: Any, text: bool, depth: int) -> Any:
        if type(tree) is not str:
            raise self.refuse(tree)
        return _valid(tree)

    def zero(self) -> Any:
        return ""

    def quick(self, text: bool) -> Any:
        return str


def _valid(value: str) -> str:
    """A text that is one of UTF-8."""
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Fault("want text, got an unpaired surrogate") from None
    return value


class Bytes(Shape):
    wanted = "bytes"

    def dump(self, value: Any, text: bool, depth: int) -> Any:
        if not isinstance(value, bytes | bytearray | memoryview):
            raise self.misfit(value)
        return base64.b64encode(value).decode() if text else bytes(value)

    def load(self, tree: Any, text: bool, depth: int) -> Any:
        if not text and type(tree) is bytes:
            return tree
        if not text or type(tree) is not str:
            raise self.refuse(tree)
        digits = tree.rstrip("=")
        padded = len(digits) != len(tree)
        if not _BASE64.fullmatch(tree) or len(digits) % 4 == 1 or (padded and len(tree) % 4):
            raise unwanted("bytes as base64", "text that is none")
        standard = digits.replace("-", "+").replace("_", "/")
        return base64.b64decode(standard + "=" * (-len(digits) % 4))

    def zero(self) -> Any:
        return b""

    def quick(self, text: bool) -> Any:
        return None if text else bytes


class Time(Shape):
    """Moments: datetime with a zone, read as UTC."""

    wanted = "a time"

    def dump(self, value: Any, text: bool, depth: int) -> Any:
        if not isinstance(value, datetime):
            raise self.misfit(value)
        if value.utcoffset() is None:
            raise unwanted("a time with a zone", "a datetime without one")
        try:
            value = value.astimezone(UTC)
        except OverflowError:
            raise unwanted(self.wanted, "one outside the years 1 to 9999") from None
        if not text:
            return value
        whole, _, fraction = value.replace(tzinfo=None).isoformat().partition(".")
        return f"{whole}.{fraction.rstrip('0')}Z" if fraction else f"{whole}Z"

    def load(self, tree: Any, text: bool, depth: int) -> Any:
        if text:
            if type(tree) is not str:
                raise self.refuse(tree)
            return self._of_text(tree)
        if not isinstance(tree, Ext):
            raise self.refuse(tree)
        found = instant(tree)
        if found is None:
            raise unwanted(self.wanted, "an extension that is none")
        return self._of(*found)

    def _of_text(self, text: str) -> datetime:
        found = _RFC3339.fullmatch(text)
        if found is None:
            raise unwanted("a time as RFC 3339 has it", "text that is none")
        day, clock, fraction, sign, hours, minutes = found.groups()
        try:
            moment = datetime.fromisoformat(f"{day}T{clock}+00:00")
        except ValueError:
            raise unwanted("a time as RFC 3339 has it", "a day or time that there is not") from None
        offset = (int(hours) * 60 + int(minutes)) * 60 if sign else 0
        seconds = (moment - EPOCH) // _SECOND - (offset if sign == "+" else -offset)
        return self._of(seconds, int((fraction or "").ljust(9, "0")))

    def _of(self, seconds: int, nanoseconds: int) -> datetime:
        """The microsecond in which an instant lies."""
        if nanoseconds >= 1_000_000_000:
            raise unwanted(self.wanted, "one with a second of nanoseconds, or more")
        try:
            return EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1_000)
        except OverflowError:
            raise unwanted(self.wanted, "one outside the years 1 to 9999") from None

    def zero(self) -> Any:
        return _EARLIEST


class Duration(Shape):
    wanted = "a duration"
    _whole = Whole(-(2**63), 2**63 - 1)

    def dump(self, value: Any, text: bool, depth: int) -> Any:
        if not isinstance(value, timedelta):
            raise self.misfit(value)
        nanoseconds = value // _MICROSECOND * 1_000
        if not self._whole.least <= nanoseconds <= self._whole.most:
            raise unwanted(self.wanted, "one beyond 292 years")
        if not text:
            return nanoseconds
        seconds, rest = divmod(abs(nanoseconds), 1_000_000_000)
        fraction = f".{rest:09}".rstrip("0") if rest else ""
        return f"{'-' if nanoseconds < 0 else ''}{seconds}{fraction}s"

    def load(self, tree: Any, text: bool, depth: int) -> Any:
        nanoseconds = self._of_text(tree) if text else self._of_number(tree)
        toward_zero = abs(nanoseconds) // 1_000
        return timedelta(microseconds=toward_zero if nanoseconds >= 0 else -toward_zero)

    def _of_number(self, tree: Any) -> int:
        if type(tree) not in (int, float):
            raise self.refuse(tree)
        found: int = self._whole.load(tree, False, 0)
        return found

    def _of_text(self, tree: Any) -> int:
        if type(tree) is not str:
            raise self.refuse(tree)
        found = _SECONDS.fullmatch(tree)
        if found is None:
            raise unwanted('a duration in seconds, as "1.5s"', "text that is none")
        sign, seconds, fraction = found.groups()
        nanoseconds = int(seconds) * 1_000_000_000 + int((fraction or "").ljust(9, "0"))
        nanoseconds = -nanoseconds if sign else nanoseconds
        if not self._whole.least <= nanoseconds <= self._whole.most:
            raise unwanted(self.wanted, "one beyond 292 years")
        return nanoseconds

    def zero(self) -> Any:
        return timedelta()


class Enumeration(Shape):
    """The constants of an Enum, by name."""

    is_key = True

    def __init__(self, kind: type[Enum]) -> None:
        self.kind = kind
        self._constants = dict(kind.__members__)
        self.wanted = "a constant's name"

    def dump(self, value: Any, text: bool, depth: int) -> Any:
        if not isinstance(value, self.kind):
            raise self.misfit(value)
        return value.name

    def load(self, tree: Any, text: bool, depth: int) -> Any:
        if type(tree) is not str:
            raise self.refuse(tree)
        found = self._constants.get(tree)
        if found is None:
            raise unwanted(f"one of {', '.join(self._constants)}", "another name")
        return found

    def zero(self) -> Any:
        return next(iter(self._constants.values()))


class Nothing(Shape):
    """None."""

    wanted = "null"

    def dump(self, value: Any, text: bool, depth: int) -> Any:
        if value is not None:
            raise self.misfit(value)
        return None

    def load(self, tree: Any, text: bool, depth: int) -> Any:
        if tree is not None:
            raise self.refuse(tree)
        return None

    def zero(self) -> Any:
        return None
