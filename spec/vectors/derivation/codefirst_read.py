"""Reads values by code-first.md 3.2 to 3.7, apart from the writer: first the bytes into a tree of what they say, then
the tree by the type that is wanted."""

from __future__ import annotations

import base64
import datetime
import json
import math
import re
import struct
from dataclasses import dataclass
from typing import Any

SAFE = 2**53 - 1
MAX_DEPTH = 100
EARLIEST, LATEST = -62135596800, 253402300799
WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)")
SECONDS = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]{1,9}))?s")
RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)


class Refused(Exception):
    """A value that cannot be read; the parameter, if it is one's, counted from 1."""

    def __init__(self, why: str, code: str = "INVALID_ARGUMENT", parameter: int | None = None) -> None:
        super().__init__(why)
        self.code, self.parameter = code, parameter


@dataclass
class Extension:
    number: int
    data: bytes


@dataclass
class Pairs:
    """A map as it came."""

    pairs: list[tuple[Any, Any]]


class Text(str):
    """What came as text where bytes are something else."""


@dataclass
class Broken:
    """What is not to be read, at the place where it came: only an element that is wanted is judged by it."""

    fault: Refused


class Unpacker:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, n: int) -> bytes:
        if n > len(self.data) - self.at:
            raise Refused("cut off")
        self.at += n
        return self.data[self.at - n : self.at]

    def unsigned(self, n: int) -> int:
        return int.from_bytes(self.take(n), "big")

    def value(self, depth: int = 0) -> Any:
        b = self.unsigned(1)
        if b < 0x80:
            return b
        if b >= 0xE0:
            return b - 256
        if b < 0x90:
            return self.map(b & 15, depth)
        if b < 0xA0:
            return self.array(b & 15, depth)
        if b < 0xC0:
            return self.text(b & 31)
        match b:
            case 0xC0:
                return None
            case 0xC2 | 0xC3:
                return b == 0xC3
            case 0xC4 | 0xC5 | 0xC6:
                return self.take(self.unsigned(1 << b - 0xC4))
            case 0xC7 | 0xC8 | 0xC9:
                return self.extension(self.unsigned(1 << b - 0xC7))
            case 0xCA:
                return float(struct.unpack(">f", self.take(4))[0])
            case 0xCB:
                return float(struct.unpack(">d", self.take(8))[0])
            case 0xCC | 0xCD | 0xCE | 0xCF:
                return self.unsigned(1 << b - 0xCC)
            case 0xD0 | 0xD1 | 0xD2 | 0xD3:
                return int.from_bytes(self.take(1 << b - 0xD0), "big", signed=True)
            case 0xD4 | 0xD5 | 0xD6 | 0xD7 | 0xD8:
                return self.extension(1 << b - 0xD4)
            case 0xD9 | 0xDA | 0xDB:
                return self.text(self.unsigned(1 << b - 0xD9))
            case 0xDC | 0xDD:
                return self.array(self.unsigned(2 << b - 0xDC), depth)
            case 0xDE | 0xDF:
                return self.map(self.unsigned(2 << b - 0xDE), depth)
        raise Refused("0xc1")

    def text(self, n: int) -> Any:
        try:
            return Text(self.take(n).decode())
        except UnicodeDecodeError:
            return Broken(Refused("not UTF-8"))

    def extension(self, n: int) -> Extension:
        (number,) = struct.unpack(">b", self.take(1))
        return Extension(number, self.take(n))

    def array(self, n: int, depth: int) -> list[Any]:
        deeper(depth)
        return [self.value(depth + 1) for _ in range(n)]

    def map(self, n: int, depth: int) -> Pairs:
        deeper(depth)
        return Pairs([(self.value(depth + 1), self.value(depth + 1)) for _ in range(n)])


def deeper(depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise Refused("nesting", "RESOURCE_EXHAUSTED")


def depth_of(value: Any) -> int:
    match value:
        case list():
            return 1 + max(map(depth_of, value), default=0)
        case Pairs():
            return 1 + max((depth_of(v) for _, v in value.pairs), default=0)
    return 0


class JSONNumber(float):
    """A number with its text."""

    text: str


def json_number(text: str) -> JSONNumber:
    n = JSONNumber(text)
    n.text = text
    return n


def json_tree(data: bytes) -> Any:
    def refuse(word: str) -> Any:
        raise Refused(word)

    try:
        tree = json.loads(data.decode(), parse_int=json_number, parse_float=json_number, parse_constant=refuse,
                          object_pairs_hook=Pairs)  # fmt: skip
        json.dumps(tree, default=lambda p: [list(pair) for pair in p.pairs], ensure_ascii=False).encode()
    except RecursionError:
        raise Refused("nesting", "RESOURCE_EXHAUSTED") from None
    except (ValueError, UnicodeError) as error:
        raise Refused(str(error)) from None
    if depth_of(tree) > MAX_DEPTH:
        raise Refused("nesting", "RESOURCE_EXHAUSTED")
    return tree


def whole(name: str, value: Any, decimal: bool) -> str:
    if decimal and isinstance(value, str) and DECIMAL.fullmatch(value):
        n = int(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        n = value
    elif isinstance(value, float) and math.isfinite(value) and value == int(value) and abs(value) <= SAFE:
        n = int(value)
    else:
        raise Refused("not a whole number")
    bits = int(name.lstrip("uint"))
    least, most = (0, 2**bits) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    if not least <= n < most:
        raise Refused("out of range")
    return str(n)


def float_text(f: float) -> str:
    return repr(f).replace("inf", "Infinity").replace("nan", "NaN")


def floating(name: str, value: Any, words: bool) -> str:
    if words and isinstance(value, str) and value in WORDS:
        value = WORDS[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refused("not a number")
    text = getattr(value, "text", "")
    value = float(value)
    if text and math.isinf(value):
        raise Refused("out of range")
    if name == "float32":
        try:
            value = struct.unpack(">f", struct.pack(">f", value))[0]
        except OverflowError:
            raise Refused("out of range") from None
    return float_text(value)


def time_text(seconds: int, nanoseconds: int) -> str:
    if not (EARLIEST <= seconds <= LATEST and 0 <= nanoseconds < 10**9):
        raise Refused("no time")
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    fraction = f".{nanoseconds:09}".rstrip("0") if nanoseconds else ""
    return f"{moment.isoformat(timespec='seconds')}{fraction}Z"


def time_of_extension(value: Any) -> str:
    if not isinstance(value, Extension) or value.number != -1:
        raise Refused("no timestamp")
    match len(value.data):
        case 4:
            return time_text(int.from_bytes(value.data, "big"), 0)
        case 8:
            both = int.from_bytes(value.data, "big")
            return time_text(both & 2**34 - 1, both >> 34)
        case 12:
            nanoseconds, seconds = struct.unpack(">Iq", value.data)
            return time_text(seconds, nanoseconds)
    raise Refused("no timestamp")


def time_of_text(value: Any) -> str:
    found = RFC3339.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise Refused("no time")
    day, clock, fraction, sign, hours, minutes = found.groups()
    try:
        moment = datetime.datetime.fromisoformat(f"{day}T{clock}")
    except ValueError:
        raise Refused("no time") from None
    offset = (int(hours) * 60 + int(minutes)) * 60 if sign else 0
    if sign and (int(hours) > 23 or int(minutes) > 59):
        raise Refused("no offset")
    seconds = (moment - datetime.datetime(1970, 1, 1)) // datetime.timedelta(seconds=1)
    return time_text(seconds - (offset if sign == "+" else -offset), int((fraction or "").ljust(9, "0") or "0"))


def base64_of(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9+/_-]*={0,2}", value):
        raise Refused("no base64")
    digits = value.rstrip("=")
    if ("+" in value or "/" in value) and ("-" in value or "_" in value):
        raise Refused("two alphabets")
    if len(digits) % 4 == 1 or (digits != value and len(value) % 4):
        raise Refused("no base64")
    return base64.b64decode(digits.replace("-", "+").replace("_", "/") + "=" * (-len(digits) % 4)).hex()


def duration_of_text(value: Any) -> str:
    found = SECONDS.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise Refused("no duration")
    sign, seconds, fraction = found.groups()
    return whole("int64", int(sign + str(int(seconds) * 10**9 + int((fraction or "").ljust(9, "0") or "0"))), False)
