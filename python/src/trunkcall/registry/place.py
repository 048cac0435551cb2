"""What the registries of other programs have in common: where they are, by their names (spec/registry.md 4.1), and what
may stand there."""

from __future__ import annotations

import re
from collections.abc import KeysView, Sequence
from dataclasses import dataclass, field

from .record import ID_BYTES, MOST_BYTES, InvalidRecord, is_name, parse_at
from .store import RegistryError, Written, another_server
from .view import Entry

MOST_HOSTS = 9
MOST_PORT = 65_535
LONGEST_LEASE = 3600  # seconds
MOST_KEYS = 100_000
MOST_TOTAL = 64 << 20  # bytes of ids and records

ROOT = "trunkcall/v1"
LEASE = 15  # seconds

_HOST = re.compile(r"([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):([0-9]{1,5})")
_LEASE = re.compile(r"lease=([0-9]{1,4})")


@dataclass(frozen=True, slots=True)
class Place:
    """HOST:PORT,…/ROOT?lease=SECONDS."""

    hosts: Sequence[str]  # 1 to 9, each HOST:PORT
    root: str = ROOT  # above all keys: names with slashes between them
    lease: int = LEASE  # seconds for which a server counts that is not heard of

    def __post_init__(self) -> None:
        """Raises ValueError, TypeError."""
        if isinstance(self.hosts, str):
            raise TypeError(f"hosts: want several texts HOST:PORT, not {self.hosts!r}")
        if not 1 <= len(self.hosts) <= MOST_HOSTS:
            raise ValueError(f"hosts: want 1 to {MOST_HOSTS} of HOST:PORT, not {len(self.hosts)}")
        for host in self.hosts:
            form = _HOST.fullmatch(host)
            if form is None or not 1 <= int(form[2]) <= MOST_PORT:
                raise ValueError(f"host {host!r}: want HOST:PORT")
        if not all(is_name(name, ID_BYTES) for name in self.root.split("/")):
            raise ValueError(f"root {self.root!r}: want names with / between them")
        if type(self.lease) is not int or not 1 <= self.lease <= LONGEST_LEASE:
            raise ValueError(f"lease {self.lease!r}: want whole seconds, 1 to {LONGEST_LEASE}")


def read_place(rest: str) -> Place:
    """Reads what follows the scheme in a name. Raises ValueError."""
    rest, asked, query = rest.partition("?")
    hosts, rooted, root = rest.partition("/")
    lease = _LEASE.fullmatch(query)
    if asked and lease is None:
        raise ValueError("want lease=SECONDS behind the ?")
    return Place(hosts.split(","), root if rooted else ROOT, int(lease[1]) if lease else LEASE)


def check_free(one: Written, there: bytes) -> None:
    """Raises RegistryError if a record may not take the place of what stands under its key: that is the good record of
    another server. Equal bytes are the same instance, and rubbish is nobody's (spec/registry.md 5.7)."""
    if there == one.data:
        return
    try:
        other = parse_at(one.record.service, one.record.id, there)
    except InvalidRecord:
        return
    raise RegistryError(another_server(other))


def check_held(entries: int, size: int) -> None:
    """Raises RegistryError for more than a watcher holds, of so many bytes."""
    if entries > MOST_KEYS or size > MOST_TOTAL:
        raise RegistryError(f"{entries} entries of {size} bytes, at most {MOST_KEYS} of {MOST_TOTAL}")


@dataclass(slots=True)
class Account:
    """Makes entries of what a Source finds, and bounds what it has a client hold."""

    _sizes: dict[str, int] = field(default_factory=dict[str, int])
    _bytes: int = 0

    def put(self, ident: str, data: bytes) -> Entry:
        """The entry of what stands under an id. Data that is longer than a record is not kept, and the entry says so.
        Raises RegistryError: there is too much."""
        entry = Entry(ident, data)
        if len(data) > MOST_BYTES:
            entry = Entry(ident, fault=f"record of {len(data)} bytes, at most {MOST_BYTES}")
        self.remove(ident)
        self._sizes[ident] = len(ident) + len(entry.data)
        self._bytes += self._sizes[ident]
        check_held(len(self._sizes), self._bytes)
        return entry

    def remove(self, ident: str) -> None:
        """Takes note that nothing stands under an id any more."""
        self._bytes -= self._sizes.pop(ident, 0)

    def __contains__(self, ident: str) -> bool:
        return ident in self._sizes

    @property
    def ids(self) -> KeysView[str]:
        """Those under which something stands, now and later."""
        return self._sizes.keys()
