"""What the embedded registry does, decided without sockets and clock (spec/registry.md 9.2 to 9.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from trunkcall import Code, StatusError

from .record import MOST_BYTES, InvalidRecord, Record, check_service, parse
from .store import Written, another_server
from .view import Entry

MOST_PUBLISHED = 128  # records of one call
MOST_KEYS = 100_000
MOST_TOTAL = 64 << 20  # bytes of records
MOST_WATCHES = 10_000
TICKS = 15  # how often in a lease the core is told the time
RENEWS = 3  # how often in a lease a call renews
LEASES_RESTORED = 2  # after which what nobody has published again goes
MILLISECOND = 1_000_000  # nanoseconds


@dataclass(slots=True, eq=False)
class Held:
    """A record that stands in the registry."""

    service: str
    id: str
    data: bytes = b""
    calls: int = 0  # that publish it

    @property
    def key(self) -> str:
        return f"{self.service}/{self.id}"


@dataclass(slots=True, eq=False)
class _Service:
    """What there is of one service."""

    name: str
    records: dict[str, Held] = field(default_factory=dict[str, Held])  # by id
    watches: dict[int, None] = field(default_factory=dict[int, None])  # as they began


@dataclass(slots=True)
class _Publishing:
    """A call that publishes."""

    records: list[Held]
    renewed: int


@dataclass(slots=True)
class Telling:
    """What a call is told."""

    error: StatusError | None = None  # it ends with it
    answered: bool = False
    all: bool = False  # all entries are to be told, those of `came`; as PARTIAL if the core is unsure
    came: list[Entry] = field(default_factory=list[Entry])
    went: list[str] = field(default_factory=list[str])


def parse_line(data: bytes) -> Record:
    """Reads a record that is one line of a file. Raises InvalidRecord."""
    if len(data) <= MOST_BYTES and any(byte < 0x20 for byte in data):
        raise InvalidRecord("want no control characters")
    return parse(data)


def _invalid(text: str) -> StatusError:
    return StatusError(Code.INVALID_ARGUMENT, text)


class Core:
    """Is told events, each with the time in nanoseconds of a clock that does not jump, and tells calls, which its user
    has numbers for."""

    def __init__(self, lease: int, tell: Callable[[int, Telling], None]) -> None:
        """`tell` is called within the methods, in the order in which calls began."""
        self.lease = lease  # nanoseconds
        self.keys, self.bytes, self.watches = MOST_KEYS, MOST_TOTAL, MOST_WATCHES  # the most of each
        self.version = 0  # another one after each change of a record
        self.unsure = False  # there may have been more than was restored
        self.last: int | None = None  # when it was told the time
        self._tell = tell
        self._clock = 0  # how long it ran
        self._services: dict[str, _Service] = {}
        self._keys = self._bytes = 0  # that stand there
        self._calls: dict[int, _Publishing] = {}
        self._expires = 0  # no lease ends before
        self._watchers: dict[int, _Service] = {}
        self._restored: dict[Held, None] = {}  # what nobody has published since
        self._until: int | None = None  # when that goes

    def time(self, at: int) -> None:
        """Tells the core how late it is: ahead of each event, and each fifteenth of the lease."""
        if self.last is not None and at - self.last <= self.lease // RENEWS:
            self._clock += at - self.last
        self.last = at
        if self._clock >= self._expires:
            self._expire()
        if self._until is not None and self._clock >= self._until:
            self._settle()

    def _expire(self) -> None:
        """Ends the calls that were not renewed."""
        ends = {number: call.renewed + self.lease for number, call in self._calls.items()}
        late = sorted(number for number, end in ends.items() if end <= self._clock)
        self._expires = min((end for end in ends.values() if end > self._clock), default=self._clock + self.lease)
        for number in late:
            text = f"not renewed for {self.lease // MILLISECOND} ms"
            self._tell(number, Telling(error=StatusError(Code.ABORTED, text)))
            self.end(number)

    def _settle(self) -> None:
        """Lets go of what was restored and nobody has published."""
        was_unsure, self.unsure, self._until = self.unsure, False, None
        gone = list(self._restored)
        self._restored.clear()
        for held in gone:
            self._drop(held)
        if not was_unsure:
            self._tell_changes([], gone)
            return
        for number in sorted(self._watchers):
            self._tell(number, Telling(all=True, came=self.entries(self._watchers[number].name)))

    def restore(self, records: Iterable[Written], whole: bool) -> None:
        """Takes records of before a restart, and whether those are the whole."""
        for one in records:
            self._restored[self._put(one)] = None
        self.unsure = not whole
        self._until = self._clock + LEASES_RESTORED * self.lease

    def publish(self, number: int, records: Sequence[bytes]) -> None:
        """Takes the records of a call."""
        try:
            given = self._checked(records)
        except StatusError as error:
            self._tell(number, Telling(error=error))
            return
        came: list[Held] = []
        call = _Publishing([], self._clock)
        for one in given:
            before = self._find(one.record)
            changed = before is None or before.data != one.data
            held = self._put(one)
            held.calls += 1
            self._restored.pop(held, None)
            call.records.append(held)
            if changed:
                came.append(held)
        self._calls[number] = call
        self._expires = min(self._expires, self._clock + self.lease)
        self._tell(number, Telling(answered=True))
        self._tell_changes(came, [])

    def _checked(self, records: Sequence[bytes]) -> list[Written]:
        """Section 9.4. Raises StatusError."""
        if not 1 <= len(records) <= MOST_PUBLISHED:
            raise _invalid(f"records: want 1 to {MOST_PUBLISHED}")
        given: dict[str, Written] = {}
        for place, data in enumerate(records):
            try:
                record = parse_line(data)
            except InvalidRecord as error:
                raise _invalid(f"records[{place}]: {error}") from None
            if record.key in given:
                raise _invalid(f"records[{place}]: {record.key} is there twice")
            given[record.key] = Written(record, data)
        keys, size = self._keys, self._bytes
        for one in given.values():
            before = self._find(one.record)
            if before is not None and before.calls and before.data != one.data:
                raise StatusError(Code.ALREADY_EXISTS, another_server(parse(before.data)))
            keys += before is None
            size += len(one.data) - len(before.data if before is not None else b"")
        if keys > self.keys or size > self.bytes:
            text = f"the registry is full: {self._keys} records, {self._bytes} bytes"
            raise StatusError(Code.RESOURCE_EXHAUSTED, text)
        return list(given.values())

    def renew(self, number: int) -> None:
        """Takes note that a call is alive."""
        call = self._calls.get(number)
        if call is not None:
            call.renewed = self._clock
            self._tell(number, Telling(answered=True))

    def watch(self, number: int, name: str) -> None:
        """Has a call told of a service."""
        try:
            check_service(name)
        except InvalidRecord as error:
            self._tell(number, Telling(error=_invalid(str(error))))
            return
        if len(self._watchers) >= self.watches:
            text = f"{self.watches} watches, which is the most"
            self._tell(number, Telling(error=StatusError(Code.RESOURCE_EXHAUSTED, text)))
            return
        service = self._in(name)
        service.watches[number] = None
        self._watchers[number] = service
        self._tell(number, Telling(all=True, came=self.entries(name)))

    def end(self, number: int) -> None:
        """Takes note that a call has ended, whatever it was."""
        service = self._watchers.pop(number, None)
        if service is not None:
            del service.watches[number]
            self._tidy(service)
        call = self._calls.pop(number, None)
        if call is None:
            return
        went: list[Held] = []
        for held in call.records:
            held.calls -= 1
            if not held.calls:
                self._drop(held)
                went.append(held)
        self._tell_changes([], went)

    def entries(self, name: str) -> list[Entry]:
        """Those of a service, in the order of their ids."""
        service = self._services.get(name)
        return [Entry(ident, held.data) for ident, held in sorted(service.records.items())] if service else []

    def records(self) -> list[bytes]:
        """All, in the order of their keys."""
        found = [held for service in self._services.values() for held in service.records.values()]
        return [held.data for held in sorted(found, key=lambda held: held.key)]

    def _tell_changes(self, came: Sequence[Held], went: Sequence[Held]) -> None:
        """Tells watchers of what came and went in their services."""
        changes: dict[str, Telling] = {}
        watches: list[int] = []

        def of(held: Held) -> Telling:
            service = self._services.get(held.service)
            if service is None or not service.watches:
                return Telling()
            if service.name not in changes:
                changes[service.name] = Telling()
                watches.extend(service.watches)
            return changes[service.name]

        for held in came:
            of(held).came.append(Entry(held.id, held.data))
        for held in went:
            of(held).went.append(held.id)
        for number in sorted(watches):
            self._tell(number, changes[self._watchers[number].name])

    def _in(self, name: str) -> _Service:
        """A service, which is made if it is not there."""
        return self._services.setdefault(name, _Service(name))

    def _tidy(self, service: _Service) -> None:
        """Forgets a service of which there is nothing."""
        if not service.records and not service.watches:
            self._services.pop(service.name, None)

    def _find(self, record: Record) -> Held | None:
        service = self._services.get(record.service)
        return service.records.get(record.id) if service is not None else None

    def _put(self, one: Written) -> Held:
        """Puts a record under its key."""
        service = self._in(one.record.service)
        held = service.records.get(one.record.id)
        if held is None:
            held = service.records[one.record.id] = Held(service.name, one.record.id)
            self._keys += 1
        if held.data != one.data:
            self.version += 1
        self._bytes += len(one.data) - len(held.data)
        held.data = one.data
        return held

    def _drop(self, held: Held) -> None:
        """Takes a record away."""
        service = self._services[held.service]
        del service.records[held.id]
        self.version += 1
        self._keys -= 1
        self._bytes -= len(held.data)
        self._tidy(service)
