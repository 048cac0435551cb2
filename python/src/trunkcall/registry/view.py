"""Which endpoints a client makes of what a registry tells (spec/registry.md 6)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from operator import attrgetter

from trunkcall.endpoint import Endpoint

from .record import InvalidRecord, parse_at

MISSING = 60.0  # seconds that what went is missing
SETTLING = 0.01  # seconds between two sets that are handed over
NAMED = 8  # pieces of rubbish that are told of one telling
MANY = 100  # that have changed: then all are sorted

_id_of = attrgetter("id")


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands in a registry under the key of an instance, whatever it is."""

    id: str
    data: bytes = b""
    place: str = ""  # where it was found, if its key does not say that: a path
    fault: str = ""  # why it is no record, where that is not for its data


@dataclass(frozen=True, slots=True)
class Unkept(Entry):
    """One whose bytes are no record, and are not kept."""

    digest: int = 0  # of them


@dataclass(frozen=True, slots=True)
class Parsed(Entry):
    """A record of which somebody knows already what it says."""

    endpoint: Endpoint = field(kw_only=True, compare=False)


class View:
    """Makes sets of endpoints of what is told. Times are in seconds of a clock that does not jump. Who stays from one
    set to the next is the same object in both, and the set is made of the last one and of what was touched since, so
    that only what is new has to be looked at (decision 0083)."""

    def __init__(
        self,
        service: str,
        hand: Callable[[float, list[Endpoint]], None],
        left_out: Callable[[float, list[tuple[Entry, str]], int], None],
        failing: Callable[[float, str], None],
        answers: Callable[[float], None],
        kept: Callable[[float, int], None],
    ) -> None:
        """`hand` takes each set; `left_out` is told of entries that are no records, why, and how many more there are;
        `failing` why the registry fails, once until it tells something again, of which then `answers` is told; `kept`
        how many instances stay that the registry has no more, each time that such begin to stay."""
        self.service = service
        self._hand = hand
        self._left_out = left_out
        self._failing = failing
        self._answers = answers
        self._kept = kept
        self._entries: dict[str, bytes | str | tuple[str, int]] = {}  # what stands in the registry, or is wrong
        self._good: dict[str, Endpoint] = {}  # of the last good records of what is there or missing
        self._present = 0  # how many of them are there
        self._missing: dict[str, float] = {}  # since when, in that order
        self._lingering: set[str] = set()  # which of them are in the set nevertheless
        self._touched: set[str] = set()  # of whom there may be something else than in the set that was handed over
        self._begun = False  # the registry has told something
        self._fault = ""  # why it fails
        self._changed = False  # since a set was handed over
        self._handed: list[Endpoint] = []  # the last set
        self._at = 0.0  # when it was handed over

    def read(self, entries: Sequence[Entry]) -> list[Entry]:
        """The same entries, with what records say that did not stand there before: so that there is little to be done
        when many of them are told at once."""
        return [self._read(one) for one in entries]

    def _read(self, entry: Entry) -> Entry:
        if entry.fault or isinstance(entry, Parsed) or self._entries.get(entry.id) == entry.data:
            return entry
        try:
            return Parsed(entry.id, entry.data, entry.place, endpoint=self._endpoint(entry))
        except InvalidRecord:
            return entry  # why is said when it is told

    def all(self, at: float, entries: Iterable[Entry]) -> None:
        """Takes all entries that there are."""
        came = list(entries)
        there = {one.id for one in came}
        self.change(at, came, [one for one in self._entries if one not in there])

    def change(self, at: float, came: Iterable[Entry], went: Iterable[str]) -> None:
        """Takes entries that came or changed, and the ids of those that went."""
        if self._fault:
            self._answers(at)
        self._begun, self._fault = True, ""
        before, keeping = self._present, bool(self._lingering)
        for ident in went:
            if self._entries.pop(ident, None) is not None and ident in self._good:
                self._missing[ident] = at
                self._lingering.add(ident)
                self._present -= 1
        rubbish = [(entry, why) for entry in came if (why := self._take(entry))]
        if rubbish:
            rubbish.sort(key=lambda pair: pair[0].id.encode("utf-8", "surrogateescape"))
            self._left_out(at, rubbish[:NAMED], max(len(rubbish) - NAMED, 0))
        if not before and self._present:
            self._missing = dict.fromkeys(self._missing, at)
        self.compute(at)
        if self._lingering and not keeping:
            self._kept(at, len(self._lingering))

    def fail(self, at: float, why: str) -> None:
        """Takes note that the registry fails, which changes nothing."""
        if not self._fault:
            self._failing(at, why)
        self._fault = why

    def _take(self, entry: Entry) -> str:
        """Why an entry is no record, "" if it is one, or stood there before."""
        stands = (entry.fault, entry.digest) if isinstance(entry, Unkept) else entry.fault or entry.data
        before = self._entries.get(entry.id)
        if before == stands:
            return ""
        there = before is not None and entry.id in self._good
        self._entries[entry.id] = stands
        why = entry.fault
        if not why:
            try:
                self._good[entry.id] = self._endpoint(entry)
                self._touched.add(entry.id)
            except InvalidRecord as error:
                why = str(error)
        if entry.id in self._good:
            self._missing.pop(entry.id, None)
            self._lingering.discard(entry.id)
            self._present += not there
        return why

    def _endpoint(self, entry: Entry) -> Endpoint:
        if isinstance(entry, Parsed):
            return entry.endpoint
        return parse_at(self.service, entry.id, entry.data).endpoint

    def compute(self, at: float) -> None:
        """Does what is due (spec/registry.md 6.4)."""
        if self._present:
            # In one pass: what is first in a dict is found behind all that was deleted before it.
            for ident in list(takewhile(lambda one: at >= self._missing[one] + MISSING, self._missing)):
                del self._missing[ident]
                if ident in self._lingering:
                    self._forget(ident)
            if self._present >= len(self._missing):
                for ident in list(self._lingering):
                    self._forget(ident)
            self._changed = True
        self._hand_over(at)

    @property
    def _since(self) -> float:
        """When the one went that is missing for longest."""
        return next(iter(self._missing.values()))

    def _forget(self, ident: str) -> None:
        self._lingering.discard(ident)
        del self._good[ident]
        self._touched.add(ident)

    def _hand_over(self, at: float) -> None:
        """Hands over what is good, if that is another set than the last one and it is time for the next."""
        if not self._changed or self._handed and at < self._at + SETTLING:
            return
        self._changed = False
        found = self._next()
        self._touched.clear()
        if found is not None:
            self._handed, self._at = found, at
            self._hand(at, found)

    def _next(self) -> list[Endpoint] | None:
        """The set as it is now, in the order of the ids, which are ASCII; None: it is the last one."""
        if not self._touched:
            return None
        if len(self._touched) > MANY:
            found = [self._good[ident] for ident in sorted(self._good)]
            return found if found != self._handed else None
        found, another = self._handed.copy(), False
        for ident in self._touched:
            place = bisect_left(found, ident, key=_id_of)
            last = found[place] if place < len(found) and found[place].id == ident else None
            good = self._good.get(ident)
            if good == last:
                continue
            another = True
            found[place : place + (last is not None)] = [] if good is None else [good]
        return found if another else None

    @property
    def due(self) -> float | None:
        """When `compute` is to be called; None: not before something is told."""
        times = [self._at + SETTLING] if self._changed else []
        if self._present and self._missing:
            times.append(self._since + MISSING)
        return min(times, default=None)

    @property
    def reason(self) -> str:
        """Why there is no set yet, "" if there is, or nothing is known."""
        if self._handed:
            return ""
        if self._fault or not self._begun:
            return self._fault
        left = f", and {len(self._entries)} entries are left out" if self._entries else ""
        return f"no instance of {self.service} is registered{left}"
