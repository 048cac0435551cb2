"""What lists of the keys of a service say, without asking for any (spec/registry.md 10.5)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256

from .place import Account
from .record import ID_BYTES
from .view import Entry

_NAME = re.compile(rf"([A-Za-z0-9_][A-Za-z0-9._-]{{0,{ID_BYTES - 1}}})/[0-9a-f]{{16}}")


def name_of(ident: str, data: bytes) -> str:
    """What the key of a record ends with: another record has another name."""
    return f"{ident}/{sha256(data).hexdigest()[:16]}"


def id_in(name: str) -> str | None:
    """The id that a name has; None if it is no name of a record."""
    form = _NAME.fullmatch(name)
    return form[1] if form else None


@dataclass(slots=True)
class _Listed:
    """A name whose record was put, or which is rubbish."""

    id: str
    good: bool  # of form
    seen: int  # the last round in which it counted


class Listing:
    """What a watcher knows of a service whose records are keys. Lists of their names come in, and the records of those
    that are new. Of several names of one id, which stand together in Consul's order but for rubbish, the first
    counts."""

    def __init__(self) -> None:
        self.begun = False  # a list has ended
        self._account = Account()
        self._known: dict[str, _Listed] = {}  # by name
        self._counts: dict[str, _Listed] = {}  # by id
        self._awaited: set[str] = set()  # ids of this list whose records are wanted, and were not put
        self._round = 0  # lists that have begun
        self._last = ""  # the id of the name before
        self._came: dict[str, Entry] = {}

    def begin(self) -> None:
        """A list begins."""
        self._round += 1
        self._last = ""
        self._came = {}
        self._awaited.clear()

    def take(self, names: Iterable[str]) -> list[str]:
        """Takes the next names of a list, and returns those whose records are wanted. Raises RegistryError: there are
        too many. The empty name is the folder's own."""
        wanted: list[str] = []
        known, last, now = self._known, self._last, self._round  # nearly all are known: little is done for each
        for name in names:
            one = known.get(name)
            if one is not None:
                if one.id != last:
                    one.seen = now
                if one.good:
                    last = one.id
                continue
            ident = id_in(name)
            if ident is None:
                if name:
                    self.put(name, b"")
            elif ident != last:
                wanted.append(name)
                self._awaited.add(ident)
                last = ident
        self._last = last
        return wanted

    def put(self, name: str, data: bytes) -> None:
        """Takes the record of a new name, which is in the list of this round. Raises RegistryError: there is too
        much."""
        ident = id_in(name)
        good = ident is not None
        ident = ident if ident is not None else f"consul:{name}"
        entry = self._account.put(ident, data)
        if not entry.fault and name_of(ident, data) != name:
            entry = replace(entry, fault=f"the key {name} is not that of a record there")
        self._awaited.discard(ident)
        self._known[name] = self._counts[ident] = _Listed(ident, good, self._round)
        self._came[ident] = entry

    def end(self) -> tuple[list[Entry], list[str]]:
        """Behind the last record of a list: what came or changed, and the ids of what went. Whose record had gone when
        it was asked for is left as it was: the next list says what has become of it."""
        went: list[str] = []
        for name in [name for name, one in self._known.items() if one.seen != self._round]:
            one = self._known[name]
            counts = self._counts[one.id] is one
            if counts and one.id in self._awaited:
                continue
            del self._known[name]
            if counts:
                del self._counts[one.id]
                self._account.remove(one.id)
                went.append(one.id)
        self.begun = True
        came, self._came = list(self._came.values()), {}
        return came, went
