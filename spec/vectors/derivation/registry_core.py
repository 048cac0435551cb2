"""The core of the embedded registry (registry.md 9) in a form for reading, and its file: their vectors are derived from
it. All times are milliseconds."""

from __future__ import annotations

from typing import Any

from . import registry_model as model
from .client_model import Bad

MOST_RECORDS = 128
FULL = {"keys": 100_000, "bytes": 64 << 20, "watches": 10_000}
FIRST = "trunkcall registry 1"

Told = dict[str, Any]


class Refused(Exception):
    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class Core:
    def __init__(self, lease: int = 15_000, limits: dict[str, int] | None = None) -> None:
        self.lease = lease
        self.limits = {**FULL, **(limits or {})}
        self.last: int | None = None
        self.clock = 0
        self.records: dict[tuple[str, str], str] = {}
        self.restored: set[tuple[str, str]] = set()  # those that nobody has published
        self.unsure = False
        self.until: int | None = None  # when what is restored goes
        self.calls: dict[str, list[tuple[str, str]]] = {}  # the keys that each publishes
        self.renewed: dict[str, int] = {}
        self.watches: dict[str, str] = {}  # services
        self.told: list[Told] = []
        self.at = 0

    def tell(self, to: str, **what: Any) -> None:
        self.told.append({"at": self.at, "to": to, **what})

    def time(self, at: int) -> None:
        if self.last is not None and at - self.last <= self.lease / 3:
            self.clock += at - self.last
        self.last = self.at = at
        for call in [call for call, renewed in self.renewed.items() if self.clock - renewed >= self.lease]:
            self.tell(call, code="ABORTED", text=f"not renewed for {self.lease} ms")
            self.end(call)
        if self.until is not None and self.clock >= self.until:
            self.until = None
            sure, self.unsure = self.unsure, False
            gone = dict.fromkeys(sorted(self.restored))
            self.restored.clear()
            for key in gone:
                del self.records[key]
            if sure:
                for call, service in self.watches.items():
                    self.tell(call, all=self.of(service))
            else:
                self.tell_changes(gone)

    def restore(self, texts: list[str], whole: bool) -> None:
        for text in texts:
            fields = model.read(text.encode())
            self.records[fields["service"], fields["id"]] = text
        self.restored = set(self.records)
        self.unsure = not whole
        self.until = self.clock + 2 * self.lease

    def publish(self, call: str, texts: list[str]) -> None:
        try:
            given = self.checked(texts)
        except Refused as why:
            self.tell(call, code=why.code, text=str(why))
            return
        changed = {key: text for key, text in given.items() if self.records.get(key) != text}
        self.records |= given
        self.restored -= set(given)
        self.calls[call] = list(given)
        self.renewed[call] = self.clock
        self.tell(call, answered=True)
        self.tell_changes(changed)

    def checked(self, texts: list[str]) -> dict[tuple[str, str], str]:
        if not 1 <= len(texts) <= MOST_RECORDS:
            raise Refused("INVALID_ARGUMENT", "records: want 1 to 128")
        given: dict[tuple[str, str], str] = {}
        for n, text in enumerate(texts):
            try:
                key = keyed(text)
            except Bad as why:
                raise Refused("INVALID_ARGUMENT", f"records[{n}]: {why}") from None
            if key in given:
                raise Refused("INVALID_ARGUMENT", f"records[{n}]: {'/'.join(key)} is there twice")
            given[key] = text
        for key, text in given.items():
            if key in self.records and key not in self.restored and self.records[key] != text:
                first = model.read(self.records[key].encode())["addresses"][0]
                raise Refused("ALREADY_EXISTS", f"{'/'.join(key)}: another server is published under this id, at {first}")
        after = {**self.records, **given}
        if len(after) > self.limits["keys"] or size(after) > self.limits["bytes"]:
            raise Refused("RESOURCE_EXHAUSTED", f"the registry is full: {len(self.records)} records, {size(self.records)} bytes")
        return given

    def renew(self, call: str) -> None:
        if call in self.calls:
            self.renewed[call] = self.clock
            self.tell(call, answered=True)

    def watch(self, call: str, service: str) -> None:
        if not model.is_name(service, 200):
            self.tell(call, code="INVALID_ARGUMENT", text=str(model.fault("service")))
        elif len(self.watches) >= self.limits["watches"]:
            self.tell(call, code="RESOURCE_EXHAUSTED", text=f"{self.limits['watches']} watches, which is the most")
        else:
            self.watches[call] = service
            self.tell(call, **{"partial" if self.unsure else "all": self.of(service)})

    def end(self, call: str) -> None:
        self.watches.pop(call, None)
        self.renewed.pop(call, None)
        keys = self.calls.pop(call, [])
        held = {key for others in self.calls.values() for key in others}
        gone = sorted(key for key in keys if key not in held)
        for key in gone:
            del self.records[key]
        self.tell_changes(dict.fromkeys(gone))

    def of(self, service: str) -> dict[str, str]:
        return {key[1]: text for key, text in sorted(self.records.items()) if key[0] == service}

    def tell_changes(self, changed: dict[tuple[str, str], Any]) -> None:
        """Of records that came, and keys (with None) that went."""
        for call, service in self.watches.items():
            mine = {key[1]: text for key, text in sorted(changed.items()) if key[0] == service}
            came = {ident: text for ident, text in mine.items() if text is not None}
            went = [ident for ident, text in mine.items() if text is None]
            if mine:
                self.tell(call, came=came, went=went)


def size(records: dict[tuple[str, str], str]) -> int:
    return sum(len(text.encode()) for text in records.values())


def keyed(text: str) -> tuple[str, str]:
    if any(ord(c) < 32 for c in text):
        raise Bad("want no control characters")
    fields = model.read(text.encode())
    return fields["service"], fields["id"]


def decided(steps: list[Told], until: int, lease: int, limits: dict[str, int]) -> list[Told]:
    """What the core decides, if it is told the time each fifteenth of the lease but in what is `stopped`."""
    core = Core(lease, limits)
    each = lease // 15
    now = 0
    for step in [*steps, {"at": until}]:
        if not step.get("stopped"):
            for tick in range(now - now % each + each, step["at"] + 1, each):
                core.time(tick)
        now = step["at"]
        core.time(now)
        if "restore" in step:
            core.restore(step["restore"], step["whole"])
        elif "publish" in step:
            core.publish(step["call"], step["publish"])
        elif "renew" in step:
            core.renew(step["renew"])
        elif "watch" in step:
            core.watch(step["call"], step["watch"])
        elif "end" in step:
            core.end(step["end"])
    return core.told


# 9.6: the file.


def written(texts: list[str]) -> str:
    lines = sorted(texts, key=lambda text: "/".join(keyed(text)))
    return "\n".join([FIRST, *lines, f"end {len(lines)}", ""])


def read(data: bytes) -> tuple[list[str], str]:
    """The records, and what is at fault from where on, "" if nothing is."""
    *lines, rest = data.split(b"\n")
    if not lines or lines[0] != FIRST.encode():
        return [], f'1: want "{FIRST}"'
    found: dict[tuple[str, str], str] = {}
    for number, line in enumerate(lines[1:], 2):
        if line.startswith(b"end "):
            if line != f"end {len(found)}".encode():
                return list(found.values()), f'{number}: want "end {len(found)}"'
            behind = rest or len(lines) > number
            return list(found.values()), f"{number + 1}: want nothing behind the end" if behind else ""
        try:
            if any(byte < 32 for byte in line):
                raise Bad("want no control characters")
            fields = model.read(line)
            key = (fields["service"], fields["id"])
            if key in found:
                raise Bad(f"{'/'.join(key)} is there twice")
        except Bad as why:
            return list(found.values()), f"{number}: {why}"
        found[key] = line.decode()
    return list(found.values()), f'{len(lines) + 1}: want a record or "end {len(found)}"'
