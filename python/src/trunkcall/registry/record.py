"""What a registry holds of an instance of a server (spec/registry.md 2)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Never, cast

from trunkcall.endpoint import Endpoint
from trunkcall.transport import parse_place

MOST_BYTES = 16_384
MOST_LEVELS = 32
MOST_ADDRESSES = 16
MOST_ATTRIBUTES = 64
MOST_WEIGHT = 1_000_000
SERVICE_BYTES = 200
ID_BYTES = 128

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_CONTROL = re.compile(r"[\0-\x1f\x7f]")
_PLAIN = "a text of at most {} bytes without control characters"
_NAMED = 'a name of 1 to {} letters, digits, ".", "_" or "-"'
_WANT = {
    "addresses": "1 to 16 addresses of at most 255 bytes",
    "attributes": "at most 64 texts of at most 1024 bytes with names of 1 to 128 bytes, without control characters",
    "id": _NAMED.format(ID_BYTES),
    "server_name": _PLAIN.format(253),
    "service": _NAMED.format(SERVICE_BYTES),
    "version": _PLAIN.format(128),
    "weight": "a whole number from 1 to 1000000",
    "zone": _PLAIN.format(128),
}


class InvalidRecord(ValueError):
    """What is no record. The text says what is wrong with it."""


def _fault(member: str) -> InvalidRecord:
    return InvalidRecord(f"{member}: want {_WANT[member]}")


def is_name(text: object, most: int) -> bool:
    return isinstance(text, str) and len(text) <= most and _NAME.fullmatch(text) is not None


def check_service(name: str) -> None:
    """Raises InvalidRecord."""
    if not is_name(name, SERVICE_BYTES):
        raise _fault("service")


def _is_text(text: object, most: int, least: int = 0) -> bool:
    if not isinstance(text, str) or _CONTROL.search(text):
        return False
    try:
        return least <= len(text.encode()) <= most
    except UnicodeEncodeError:  # half a character
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a registry holds of one instance for one service. Sizes are in bytes of UTF-8, and no text has control
    characters; what is wrong is told by `to_bytes`."""

    service: str  # the name under which instances are found: at most 200 letters and digits, ".", "_" and "-"
    id: str  # which instance this is: such a name, of at most 128
    addresses: tuple[str, ...]  # 1 to 16, as of an Endpoint
    server_name: str = ""  # what its certificate must show, by default the host of the dialled address
    weight: int = 1  # its part of the calls beside others, 1 to 1,000,000
    zone: str = ""  # where it runs, at most 128 bytes
    version: str = ""  # of the program that serves, at most 128 bytes
    attributes: Mapping[str, str] = field(
        default_factory=dict[str, str], hash=False
    )  # at most 64 of 1,024 bytes, with names of 1 to 128

    @property
    def key(self) -> str:
        """Where it stands in a registry: service and id."""
        return f"{self.service}/{self.id}"

    @property
    def endpoint(self) -> Endpoint:
        """What a client makes of it. The version is the attribute "version", unless there is one."""
        attributes = dict(self.attributes)
        if self.version:
            attributes.setdefault("version", self.version)
        return Endpoint(
            *self.addresses,
            id=self.id,
            server_name=self.server_name,
            weight=self.weight,
            zone=self.zone,
            attributes=attributes,
        )

    def check(self) -> None:
        """Raises InvalidRecord for the first member that is at fault, in the order of their names."""
        _check_addresses(self.addresses)
        for member, good in _GOOD.items():
            if not good(getattr(self, member)):
                raise _fault(member)

    def to_bytes(self) -> bytes:
        """The record as it is written, the same in every language and registry. Raises InvalidRecord."""
        self.check()
        parts = [f'"addresses":[{",".join(map(_quoted, self.addresses))}]']
        if self.attributes:
            pairs = sorted(self.attributes.items(), key=lambda pair: pair[0].encode())
            texts = (f"{_quoted(name)}:{_quoted(text)}" for name, text in pairs)
            parts.append(f'"attributes":{{{",".join(texts)}}}')
        for member in ("id", "server_name", "service", "version"):
            if text := getattr(self, member):
                parts.append(f'"{member}":{_quoted(text)}')
        if self.weight != 1:
            parts.append(f'"weight":{self.weight}')
        if self.zone:
            parts.append(f'"zone":{_quoted(self.zone)}')
        data = f"{{{','.join(parts)}}}".encode()
        _check_size(len(data))
        return data


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _check_size(size: int) -> None:
    if size > MOST_BYTES:
        raise InvalidRecord(f"record of {size} bytes, at most {MOST_BYTES}")


def _check_addresses(addresses: Any) -> None:
    if not isinstance(addresses, tuple) or not 1 <= len(cast(Any, addresses)) <= MOST_ADDRESSES:
        raise _fault("addresses")
    texts = cast("tuple[str, ...]", addresses)
    if not all(_is_text(one, 255, 1) for one in texts):
        raise _fault("addresses")
    for place, address in enumerate(texts):
        try:
            parse_place(address)
        except ValueError as error:
            raise InvalidRecord(f'addresses[{place}]: want an address, not "{address}": {error}') from None


def _is_attributes(given: Any) -> bool:
    if not isinstance(given, Mapping) or len(cast(Any, given)) > MOST_ATTRIBUTES:
        return False
    pairs = cast(Any, given).items()
    return all(_is_text(name, 128, 1) and _is_text(text, 1024) for name, text in pairs)


def _is_weight(given: Any) -> bool:
    return type(given) is int and 1 <= given <= MOST_WEIGHT


# What holds for each member, in the order in which faults are told; addresses come first.
_GOOD: dict[str, Callable[[Any], bool]] = {
    "attributes": _is_attributes,
    "id": lambda given: is_name(given, ID_BYTES),
    "server_name": lambda given: _is_text(given, 253),
    "service": lambda given: is_name(given, SERVICE_BYTES),
    "version": lambda given: _is_text(given, 128),
    "weight": _is_weight,
    "zone": lambda given: _is_text(given, 128),
}


# Reading.


class _Number(str):
    """A number that no member can be: a fraction, an exponent, a sign, or too many digits."""


def _whole(text: str) -> Any:
    return int(text) if text.isdigit() and len(text) <= 7 else _Number(text)


def _no_number(text: str) -> Never:
    raise ValueError(f"{text} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name stands twice in an object")
    return members


def _levels(value: Any) -> int:
    """How deep arrays and objects lie in each other."""
    deepest, left = 0, [(value, 1)]
    while left:
        one, level = left.pop()
        if isinstance(one, dict | list):
            deepest = max(deepest, level)
            parts = cast(Any, one.values() if isinstance(one, dict) else one)
            left += [(part, level + 1) for part in parts]
    return deepest


def parse(data: bytes) -> Record:
    """Reads a record. What it does not know it ignores. Raises InvalidRecord."""
    _check_size(len(data))
    try:
        given = json.loads(
            data.decode(), object_pairs_hook=_once, parse_int=_whole, parse_float=_Number, parse_constant=_no_number
        )
        json.dumps(given, ensure_ascii=False).encode()  # fails for half a character, wherever it stands
    except (ValueError, RecursionError) as error:
        raise InvalidRecord(f"not a JSON object: {error}") from None
    if not isinstance(given, dict) or _levels(cast(Any, given)) > MOST_LEVELS:
        raise InvalidRecord("not a JSON object")
    members = cast("dict[str, Any]", given)
    return _of(members)


def _of(members: dict[str, Any]) -> Record:
    """Of a member with a wrong type the place has what no member can be, so that checking finds it."""
    known: dict[str, Any] = {"addresses": (), "id": "", "service": ""}
    for member in _WANT:
        if member in members:
            value = members[member]
            known[member] = None if isinstance(value, _Number) else value
    addresses = known["addresses"]
    known["addresses"] = (
        tuple(None if isinstance(one, _Number) else one for one in cast(Any, addresses))
        if isinstance(addresses, list)
        else ()
    )
    if isinstance(known.get("attributes"), dict):
        pairs = cast("dict[str, Any]", known["attributes"]).items()
        known["attributes"] = {name: None if isinstance(text, _Number) else text for name, text in pairs}
    record = Record(**known)
    record.check()
    return record


def parse_at(service: str, ident: str, data: bytes) -> Record:
    """Reads the record that stands under a key. Raises InvalidRecord."""
    record = parse(data)
    if record.service != service:
        raise InvalidRecord(f"service: want {service}, as its key says")
    if record.id != ident:
        raise InvalidRecord(f"id: want {ident}, as its key says")
    return record


def id_of(address: str) -> str:
    """The id that is made of an address (spec/registry.md 5.3)."""
    text = re.sub(r"[^A-Za-z0-9._-]", "_", address)[-(ID_BYTES - 1) :]
    return text if _NAME.match(text) else f"_{text}"
