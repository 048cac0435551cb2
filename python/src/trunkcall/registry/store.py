"""Registries: where instances are found, where servers are published, and their names (spec/registry.md 4)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from trunkcall import Code, StatusError
from trunkcall.checking import check_object, wrong_type
from trunkcall.status import spelled

from .record import Record
from .view import Entry

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")


class RegistryError(Exception):
    """What a registry does against the rules, or not in time; that another server is published under an id."""


def why_failed(error: BaseException) -> str:
    """Why a registry fails, in a line. A status is told by its message, with its code unless that is UNAVAILABLE: what
    asks the registry has a status and a delivery of its own."""
    if isinstance(error, RegistryError):
        return str(error)
    if isinstance(error, StatusError):
        return error.message if error.code is Code.UNAVAILABLE else f"{error.code.name}: {error.message}"
    return spelled(error)


def another_server(there: Record) -> str:
    """What is said of two live servers under one key, of which one stands there (spec/registry.md 5.7)."""
    return f"{there.key}: another server is published under this id, at {there.addresses[0]}"


def check_registry(name: str, given: object, wanted: str, function: str) -> None:
    """Raises TypeError for what has no such function, and so is no registry."""
    if given is None:
        raise wrong_type(name, given, f"{wanted}, with `{function}`")
    check_object(name, given, wanted, function)


def is_cancelled() -> bool:
    """Whether the current task is being cancelled. What a Source or a Store raises may be the cancellation of another
    task that it waited for, which is a failure like any other."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class Watcher(Protocol):
    """Takes what a Source tells of one service. Used on one event loop."""

    def all(self, entries: Iterable[Entry], /) -> None:
        """Tells all entries that there are, at first and whenever it is not known what has changed."""
        ...

    def change(self, came: Iterable[Entry], went: Iterable[str], /) -> None:
        """Tells the entries that came or changed, and the ids of those that went."""
        ...

    async def failed(self) -> None:
        """Returns when an endpoint could not be reached. A Source that asks at intervals may then ask again."""
        ...


@dataclass(frozen=True, slots=True)
class Written:
    """A record, and its bytes."""

    record: Record
    data: bytes


class Source(Protocol):
    """Where the instances of services are found. May be used on any number of event loops."""

    async def watch(self, service: str, watcher: Watcher, /) -> None:
        """Tells of the entries of a service, all of them at first and then each change, until it is cancelled. After an
        exception it is called again, later each time, and tells of all entries again. What was found meanwhile
        stays."""
        ...


class Store(Source, Protocol):
    """A Source in which servers are published."""

    async def keep(self, records: Sequence[Written], published: Callable[[], None], /) -> None:
        """Puts the bytes of records under their keys, calls `published` when they stand there, and keeps them alive
        until it is cancelled. Then it withdraws those that are still its own, in 5 seconds at most, before the
        cancellation goes on. After an exception, also where the records or their lease were lost, it is called again,
        later each time."""
        ...


def _folder(rest: str) -> Store:
    from .folder import Folder

    if not rest.startswith("/"):
        raise ValueError("want file:FOLDER with an absolute path")
    return Folder(Path(rest))


def _embedded(rest: str) -> Store:
    from .embedded import Embedded

    try:
        return Embedded(rest)
    except (ValueError, ImportError) as error:
        raise ValueError(f"want trunkcall:ADDRESS: {error}") from None


def _srv(rest: str) -> Source:
    from .srv import SRV

    return SRV(rest)


def _etcd(rest: str) -> Store:
    from .etcd import Etcd

    return _at_place("etcd", rest, Etcd)


def _zookeeper(rest: str) -> Store:
    from .zookeeper import ZooKeeper

    return _at_place("zookeeper", rest, ZooKeeper)


def _consul(rest: str) -> Store:
    from .consul import Consul
    from .place import read_place

    try:
        place = read_place(rest)
        if len(place.hosts) > 1:
            raise ValueError("there is one agent")
    except ValueError as error:
        raise ValueError(f"want consul:HOST:PORT/ROOT?lease=SECONDS: {error}") from None
    return Consul(place.hosts[0], root=place.root if "/" in rest else None, lease=place.lease)


def _at_place(scheme: str, rest: str, make: Callable[..., Store]) -> Store:
    from .place import read_place

    try:
        place = read_place(rest)
    except ValueError as error:
        raise ValueError(f"want {scheme}:HOST:PORT,…/ROOT?lease=SECONDS: {error}") from None
    return make(place.hosts, root=place.root, lease=place.lease)


_schemes: dict[str, Callable[[str], Source]] = {
    "consul": _consul,
    "etcd": _etcd,
    "file": _folder,
    "srv": _srv,
    "trunkcall": _embedded,
    "zookeeper": _zookeeper,
}
# The extra of the package that a scheme needs.
_EXTRAS = {"consul": "consul", "etcd": "etcd", "srv": "dns", "zookeeper": "zookeeper"}


def add_scheme(scheme: str, make: Callable[[str], Source]) -> None:
    """Has `open_registry` make registries of a scheme, by a function that is given what follows it and raises
    ValueError for what is wrong with that. It takes the place of what was there. Raises
    ValueError for what is no scheme."""
    if not _SCHEME.fullmatch(scheme):
        raise ValueError(f"scheme {scheme!r}: want small letters, and digits, +, . and - behind the first")
    _schemes[scheme] = make


def open_registry(name: str) -> Source:
    """Makes a registry by its name, SCHEME:REST: trunkcall:ADDRESS, file:FOLDER with an absolute path, srv:DOMAIN,
    etcd: or zookeeper:HOST:PORT,…/ROOT?lease=SECONDS, consul:HOST:PORT/ROOT?lease=SECONDS, or of a scheme that was
    added.
    Raises ValueError, which quotes the name and says what is wrong with it, also that an extra which it needs is not
    installed."""
    scheme, colon, rest = name.partition(":")
    if not colon or not _SCHEME.fullmatch(scheme):
        raise ValueError(f'registry "{name}": want SCHEME:REST')
    if scheme not in _schemes:
        raise ValueError(
            f'registry "{name}": no package for "{scheme}" is in this program: there are {", ".join(sorted(_schemes))}'
        )
    try:
        return _schemes[scheme](rest)
    except ValueError as error:
        raise ValueError(f'registry "{name}": {error}') from None
    except ImportError as error:
        if scheme not in _EXTRAS:
            raise
        needs = f"trunkcall[{_EXTRAS[scheme]}] brings it: {error}"
        raise ValueError(f'registry "{name}": no package for "{scheme}" is in this program: {needs}') from None


def open_store(name: str) -> Store:
    """As `open_registry`, for a registry in which servers are published. Raises ValueError."""
    source = open_registry(name)
    if not hasattr(source, "keep"):
        raise ValueError(f'registry "{name}": servers are found there, but not published')
    store: Store = source  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    return store
