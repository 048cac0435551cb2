"""What registry.md says, in a form for reading: the vectors of registries are derived from it."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from .client_model import Bad
from .client_model import target as client_target

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
DOMAIN = re.compile(r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*")
ORDER = ["addresses", "attributes", "id", "server_name", "service", "version", "weight", "zone"]
WANT = {
    "addresses": "1 to 16 addresses of at most 255 bytes",
    "attributes": "at most 64 texts of at most 1024 bytes with names of 1 to 128 bytes, without control characters",
    "id": 'a name of 1 to 128 letters, digits, ".", "_" or "-"',
    "server_name": "a text of at most 253 bytes without control characters",
    "service": 'a name of 1 to 200 letters, digits, ".", "_" or "-"',
    "version": "a text of at most 128 bytes without control characters",
    "weight": "a whole number from 1 to 1000000",
    "zone": "a text of at most 128 bytes without control characters",
}
MINUTE = 60_000  # milliseconds, as all times here
SETTLING = 10
NAMED = 8


def fault(member: str) -> Bad:
    return Bad(f"{member}: want {WANT[member.partition('[')[0]]}")


def is_name(value: Any, most: int) -> bool:
    return isinstance(value, str) and len(value) <= most and NAME.fullmatch(value) is not None


def is_text(value: Any, most: int, least: int = 0) -> bool:
    if not isinstance(value, str) or any(ord(c) < 32 or ord(c) == 127 for c in value):
        return False
    return least <= len(value.encode()) <= most


def is_address(text: str) -> bool:
    if text != text.strip() or "," in text or text.startswith("dns:"):
        return False
    try:
        client_target(text, [])
    except Bad:
        return False
    return True


# 2.1 and 2.5: the bounds of each member.


def checked(fields: dict[str, Any]) -> dict[str, Any]:
    """The members that a record has, those left out that say nothing. Raises Bad."""
    kept: dict[str, Any] = {}
    for member in ORDER:
        value = fields.get(member)
        if member not in fields:
            if member in ("addresses", "id", "service"):
                raise fault(member)
        elif not good(member, value):
            raise fault(member)
        elif value not in ("", {}) and not (member == "weight" and value == 1):
            kept[member] = value
        if member == "addresses":
            for i, address in enumerate(value):
                if not is_address(address):
                    raise Bad(f'addresses[{i}]: want an address, not "{address}"')
    return kept


def good(member: str, value: Any) -> bool:
    match member:
        case "addresses":
            return isinstance(value, list) and 1 <= len(value) <= 16 and all(is_text(one, 255, 1) for one in value)
        case "attributes":
            return (
                isinstance(value, dict)
                and len(value) <= 64
                and all(is_text(name, 128, 1) and is_text(text, 1024) for name, text in value.items())
            )
        case "id" | "service":
            return is_name(value, 128 if member == "id" else 200)
        case "weight":
            return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1_000_000
        case _:
            return is_text(value, 253 if member == "server_name" else 128)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def written(fields: dict[str, Any]) -> str:
    """2.4. Raises Bad."""
    parts = []
    for member, value in checked(fields).items():
        if member == "addresses":
            text = "[" + ",".join(quoted(one) for one in value) + "]"
        elif member == "attributes":
            names = sorted(value, key=lambda name: name.encode())
            text = "{" + ",".join(f"{quoted(name)}:{quoted(value[name])}" for name in names) + "}"
        else:
            text = str(value) if member == "weight" else quoted(value)
        parts.append(f'"{member}":{text}')
    whole = "{" + ",".join(parts) + "}"
    if len(whole.encode()) > 16_384:
        raise Bad(f"record of {len(whole.encode())} bytes, at most 16384")
    return whole


class Number(str):
    """A number that is no whole one in digits alone."""


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("twice")
    return dict(pairs)


def no_such(_: str) -> Any:
    raise ValueError("no JSON")


def deep(value: Any) -> int:
    if isinstance(value, dict | list):
        return 1 + max((deep(one) for one in (value.values() if isinstance(value, dict) else value)), default=0)
    return 0


def read(data: bytes, key: tuple[str, str] | None = None) -> dict[str, Any]:
    """2.5. Raises Bad."""
    if len(data) > 16_384:
        raise Bad(f"record of {len(data)} bytes, at most 16384")
    try:
        whole = lambda text: int(text) if text.isdigit() and len(text) < 10 else Number(text)  # noqa: E731
        value = json.loads(
            data.decode(), object_pairs_hook=once, parse_constant=no_such, parse_float=Number, parse_int=whole
        )
        json.dumps(value, ensure_ascii=False).encode()  # raises for half a surrogate pair
    except (ValueError, RecursionError):
        raise Bad("not a JSON object") from None
    if not isinstance(value, dict) or deep(value) > 32:
        raise Bad("not a JSON object")
    for member in ORDER:
        if isinstance(value.get(member), Number):
            raise fault(member)
    fields = checked(value)
    if key is not None:
        for member, want in zip(("service", "id"), key, strict=True):
            if fields[member] != want:
                raise Bad(f"{member}: want {want}, as its key says")
    return fields


def endpoint(fields: dict[str, Any]) -> dict[str, Any]:
    """2.6."""
    kept = {name: fields[name] for name in ("id", "addresses", "server_name", "weight", "zone") if name in fields}
    attributes = dict(fields.get("attributes", {}))
    if "version" in fields:
        attributes.setdefault("version", fields["version"])
    return {**kept, **({"attributes": attributes} if attributes else {})}


# 4: names of registries.


def named(text: str, schemes: tuple[str, ...] = ("file", "srv", "trunkcall")) -> dict[str, str]:
    scheme, colon, rest = text.partition(":")
    if not colon or not re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme):
        why = "want SCHEME:REST"
    elif scheme not in schemes:
        why = f'no package for "{scheme}" is in this program'
    elif scheme == "file" and not rest.startswith("/"):
        why = "want file:FOLDER with an absolute path"
    elif scheme == "trunkcall" and not (is_text(rest, 255, 1) and is_address(rest)):
        why = "want trunkcall:ADDRESS"
    elif scheme == "srv" and (len(rest) > 253 or not DOMAIN.fullmatch(rest)):
        why = "want srv:DOMAIN"
    else:
        return {"scheme": scheme, "rest": rest}
    raise Bad(f'registry "{text}": {why}')


# 5: what is published.


def made_id(address: str) -> str:
    """5.3."""
    text = "".join(c if re.fullmatch(r"[A-Za-z0-9._-]", c) else "_" for c in address)[-127:]
    return text if NAME.match(text) else "_" + text


def published(given: dict[str, Any]) -> list[str]:
    """5.1 to 5.3: the records. Raises Bad."""
    names = given.get("names") or [
        one for one in given["services"] if not one.startswith(("grpc.health.", "grpc.reflection."))
    ]
    names = [name for at, name in enumerate(names) if name not in names[:at]]
    addresses = given.get("addresses") or [one for one in given["listening"] if not one.startswith("mem:")]
    if not given.get("addresses"):
        for one in addresses:
            if one.startswith(("0.0.0.0:", "[::]:")):
                raise Bad(f"{one} is listened on, which is all addresses of this machine: say by which one it is reached")
    if not names:
        raise Bad("no service to publish")
    if not addresses:
        raise fault("addresses")
    fields = {**given.get("record", {}), "addresses": addresses, "id": given.get("id") or made_id(addresses[0])}
    return [written({**fields, "service": name}) for name in names]


# 6: the watcher.


class Watcher:
    def __init__(self, service: str) -> None:
        self.service = service
        self.entries: dict[str, bytes] = {}
        self.known: dict[str, dict[str, Any]] = {}  # the last good records of what is in the store or missing
        self.missing: dict[str, int] = {}  # since when
        self.failed = False
        self.keeping = False  # what the store has no more
        self.reason = ""
        self.set: list[dict[str, Any]] = []
        self.handed: list[dict[str, Any]] = []
        self.told: list[dict[str, Any]] = []

    @property
    def present(self) -> list[str]:
        return [one for one in self.entries if one in self.known]

    @property
    def kept(self) -> list[str]:
        return [one for one in self.known if one not in self.entries]

    def tell(self, at: int, step: dict[str, Any]) -> None:
        if "failed" in step:
            if not self.failed:
                self.told.append({"at": at, "failed": step["failed"]})
            self.failed = True
            if not self.handed:
                self.reason = step["failed"]
            return
        if self.failed:
            self.told.append({"at": at, "again": True})
        self.failed = False
        before = bool(self.present)
        came = {one: text.encode() for one, text in step.get("all", step.get("came", {})).items()}
        went = [one for one in self.entries if one not in came] if "all" in step else step.get("went", [])
        for one in went:
            if self.entries.pop(one, None) is not None and one in self.known:
                self.missing[one] = at
        rubbish = []
        for one in sorted(came, key=str.encode):
            if self.entries.get(one) == came[one]:
                continue
            self.entries[one] = came[one]
            try:
                self.known[one] = read(came[one], (self.service, one))
            except Bad as why:
                rubbish.append({"at": at, "id": one, "text": str(why)})
            if one in self.known:
                self.missing.pop(one, None)
        self.told += rubbish[:NAMED]
        if len(rubbish) > NAMED:
            self.told.append({"at": at, "more": len(rubbish) - NAMED})
        if self.present and not before:
            self.missing = dict.fromkeys(self.missing, at)
        keeping = self.keeping
        self.compute(at)
        if self.keeping and not keeping:
            self.told.append({"at": at, "kept": len(self.kept)})

    def compute(self, at: int) -> None:
        present = self.present
        if not present:
            self.keeping = bool(self.kept)
            left = len(self.entries)
            if not self.set:
                self.reason = f"no instance of {self.service} is registered"
                self.reason += f", and {left} entries are left out" if left else ""
            return
        for one in [one for one, since in self.missing.items() if at - since >= MINUTE]:
            del self.missing[one]
            if one not in self.entries:
                self.known.pop(one, None)
        if len(present) >= len(self.missing):
            for one in self.missing:
                if one not in self.entries:
                    self.known.pop(one, None)
        self.keeping = bool(self.kept)
        self.set = [endpoint(self.known[one]) for one in sorted(self.known, key=str.encode)]
        self.hand(at)

    def due(self) -> int | None:
        """When something is to be done by itself."""
        times = [since + MINUTE for since in self.missing.values()] if self.present else []
        if self.handed and self.set != self.handed[-1]["set"]:
            times.append(self.handed[-1]["at"] + SETTLING)
        return min(times, default=None)

    def hand(self, at: int) -> None:
        if not self.handed or (self.set != self.handed[-1]["set"] and at >= self.handed[-1]["at"] + SETTLING):
            self.handed.append({"at": at, "set": self.set})
            self.reason = ""

    def until(self, at: int) -> None:
        while (due := self.due()) is not None and due <= at:
            self.compute(due) if self.present else self.hand(due)


def watched(service: str, steps: list[dict[str, Any]], until: int) -> dict[str, Any]:
    watcher = Watcher(service)
    for step in steps:
        watcher.until(step["at"])
        watcher.tell(step["at"], step)
    watcher.until(until)
    return {"handed": watcher.handed, "told": watcher.told, "reason": watcher.reason}


# 8: DNS.


def srv(service: str, domain: str, answers: list[dict[str, Any]]) -> dict[str, Any]:
    useful = [one for one in answers if one["target"] != "." and one["port"]]
    lowest = min((one["priority"] for one in useful), default=0)
    entries = {}
    for one in useful:
        if one["priority"] == lowest:
            host = one["target"].removesuffix(".")
            address = f"{host}:{one['port']}"
            fields = {"addresses": [address], "id": made_id(address), "server_name": host, "service": service}
            entries[made_id(address)] = written({**fields, "weight": max(one["weight"], 1)})
    return {"question": f"_{service.replace('.', '-')}._tcp.{domain}", "entries": entries}


# 10.5: Consul's keys.

KEY_NAME = re.compile(r"([A-Za-z0-9_][A-Za-z0-9._-]{0,127})/[0-9a-f]{16}")


def key_name(ident: str, data: str) -> str:
    return f"{ident}/{hashlib.sha256(data.encode()).hexdigest()[:16]}"


def listed(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each list of names the names whose records are asked for, and what is told."""
    counts: dict[str, str] = {}
    told: list[dict[str, Any]] = []
    for step in steps:
        first: dict[str, str] = {}
        for name in filter(None, step["names"]):  # "" is the folder's own
            form = KEY_NAME.fullmatch(name)
            first.setdefault(form[1] if form else f"consul:{name}", name)
        new = {ident: name for ident, name in first.items() if counts.get(ident) != name}
        asked = {ident: name for ident, name in new.items() if KEY_NAME.fullmatch(name)}
        records = {**step["records"], **dict.fromkeys(set(new.values()) - set(asked.values()), "")}
        came = {ident: records[name] for ident, name in new.items() if name in records}
        gone = set(new) - set(came)  # of which the next list says what has become
        now = {ident: counts.get(ident, "") if ident in gone else name for ident, name in first.items()}
        now = {ident: name for ident, name in now.items() if name}
        went = sorted(set(counts) - set(now))
        spoilt = sorted(ident for ident, data in came.items() if key_name(ident, data) != now[ident])
        one: dict[str, Any] = {"asked": list(asked.values()), "spoilt": spoilt}
        told.append({**one, **({"came": came, "went": went} if told else {"all": came})})
        counts = now
    return told
