"""Reads what codefirst_read.py has taken apart, by the type that is wanted (code-first.md 3)."""

from __future__ import annotations

from typing import Any

from . import codefirst_read as r
from .codefirst_write import is_whole, kind

ZEROS = {"boolean": False, "float32": "0.0", "float64": "0.0", "text": "", "bytes": "", "duration": "0",
         "time": "0001-01-01T00:00:00Z", "optional": None}  # fmt: skip


def zero(type_: Any) -> Any:
    name, inner = kind(type_)
    if is_whole(name):
        return "0"
    match name:
        case "list" | "map":
            return []
        case "record":
            return {f["name"]: zero(f["type"]) for f in inner}
        case "enumeration":
            return inner[0]
    return ZEROS[name]


class Reader:
    """Values of one codec: json or msgpack. A strict one refuses fields that no record has."""

    def __init__(self, codec: str, strict: bool = False) -> None:
        self.is_json = codec == "json"
        self.strict = strict

    def tree(self, data: bytes) -> Any:
        if self.is_json:
            return r.json_tree(data)
        unpacker = r.Unpacker(data)
        value = unpacker.value()
        if unpacker.at != len(data):
            raise r.Refused("bytes behind the value")
        return value

    def arguments(self, types: list[Any], data: bytes) -> list[Any]:
        tree = self.tree(data)
        if not isinstance(tree, list) or len(tree) != len(types):
            raise r.Refused("number of arguments")
        out = []
        for i, (type_, value) in enumerate(zip(types, tree, strict=True), 1):
            try:
                out.append(self.value(type_, value))
            except r.Refused as fault:
                raise r.Refused(str(fault), fault.code, i) from None
        return out

    def value(self, type_: Any, value: Any) -> Any:
        if isinstance(value, r.Broken):
            raise value.fault
        name, inner = kind(type_)
        if name == "any":
            return self.any(value)
        if name == "optional":
            return None if value is None else self.value(inner, value)
        if is_whole(name):
            return r.whole(name, value, decimal=self.is_json)
        match name:
            case "boolean" if isinstance(value, bool):
                return value
            case "float32" | "float64":
                return r.floating(name, value, words=self.is_json)
            case "text" if isinstance(value, str):
                return str(value)
            case "enumeration" if isinstance(value, str) and value in inner:
                return str(value)
            case "bytes" if self.is_json:
                return r.base64_of(value)
            case "bytes" if isinstance(value, bytes):
                return value.hex()
            case "time":
                return r.time_of_text(value) if self.is_json else r.time_of_extension(value)
            case "duration":
                return r.duration_of_text(value) if self.is_json else r.whole("int64", value, decimal=False)
            case "list" if isinstance(value, list):
                return [self.value(inner, v) for v in value]
            case "map" if isinstance(value, r.Pairs):
                pairs = ((self.key(inner["key"], k), self.value(inner["value"], v)) for k, v in value.pairs)
                return [list(pair) for pair in dict(pairs).items()]
            case "record" if isinstance(value, r.Pairs):
                return self.record(inner, value)
        raise r.Refused(f"not a {name}")

    def key(self, type_: Any, value: Any) -> Any:
        return self.value(type_, value)

    def record(self, fields: list[Any], value: r.Pairs) -> dict[str, Any]:
        if any(not isinstance(k, str) for k, _ in value.pairs):
            raise r.Refused("a field's name that is not text")
        given = dict(value.pairs)
        if self.strict and not given.keys() <= {f["name"] for f in fields}:
            raise r.Refused("a field that is not known")
        return {
            f["name"]: self.value(f["type"], given[f["name"]]) if f["name"] in given else zero(f["type"]) for f in fields
        }

    def any(self, value: Any) -> dict[str, Any]:
        match value:
            case r.Broken():
                raise value.fault
            case None:
                return {"type": {"optional": "text"}, "value": None}
            case bool():
                return {"type": "boolean", "value": value}
            case r.JSONNumber() if r.DECIMAL.fullmatch(value.text) and -(2**63) <= int(value.text) < 2**64:
                return self.any(int(value.text))
            case int():
                return {"type": "int64" if value < 2**63 else "uint64", "value": str(value)}
            case float():
                return {"type": "float64", "value": r.floating("float64", value, words=False)}
            case str():
                return {"type": "text", "value": str(value)}
            case bytes():
                return {"type": "bytes", "value": value.hex()}
            case r.Extension():
                return {"type": "time", "value": r.time_of_extension(value)}
            case list():
                return {"type": {"list": "any"}, "value": [self.any(v) for v in value]}
            case r.Pairs():
                pairs = {self.any_key(k): self.any(v) for k, v in value.pairs}
                return {"type": {"map": {"key": "text", "value": "any"}}, "value": [list(p) for p in pairs.items()]}
        raise r.Refused("nothing known")

    def any_key(self, key: Any) -> str:
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise r.Refused("key")
        return str(key)
