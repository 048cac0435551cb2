"""Servers that are published in ZooKeeper, and found there (spec/registry.md 3). Needs the extra `zookeeper`."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from kazoo.client import KazooClient  # pyright: ignore[reportMissingTypeStubs]
from kazoo.exceptions import (  # pyright: ignore[reportMissingTypeStubs]
    ConnectionLoss,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
)
from kazoo.protocol.states import EventType, KazooState  # pyright: ignore[reportMissingTypeStubs]

from trunkcall.status import spelled

from .place import LEASE, ROOT, Account, Place, check_free
from .store import RegistryError, Watcher, Written
from .view import Entry

REACHED_WITHIN = 10.0  # seconds
REFUSED_WITHIN = 3.0  # to try others, after a refusal
WITHDRAWS_WITHIN = 5.0  # seconds
ENDS_WITHIN = 2.0  # seconds, that are waited for the threads of a session
AT_ONCE = 64  # nodes that are read at once: one has at most 1 MiB
AGAIN = "*"  # in place of a path: the connection was lost and is there again
LOST = "the connection was lost"
RETRIES = {"max_tries": -1, "delay": 0.1, "max_delay": 2.0}  # of connecting, in seconds
TRIES = 5  # to take the place of a node that others change meanwhile


class ZooKeeper:
    """A registry in ZooKeeper. It is a Store. Each server that is published and each service that is watched has a
    session of its own, of the client kazoo with its threads."""

    def __init__(self, hosts: Sequence[str], *, root: str = ROOT, lease: int = LEASE, **options: Any) -> None:
        """- `hosts` are the servers, 1 to 9 of HOST:PORT.
        - `root` is the node above all others: names with slashes between them.
        - `lease` is the time of a session in seconds, for which a server counts that is not heard of. ZooKeeper has
          bounds of its own.
        - `options` are those of a kazoo.client.KazooClient, such as `use_ssl`, `ca`, `auth_data`, `default_acl`.

        Raises ValueError, TypeError."""
        self.place = Place(tuple(hosts) if not isinstance(hosts, str) else hosts, root, lease)
        self._options = options

    async def watch(self, service: str, watcher: Watcher, /) -> None:
        """See Source."""
        brief = replace(self.place, lease=min(self.place.lease, LEASE))  # as silence is to be noticed
        async with _Session(brief, self._options) as session:
            await Looking(session, f"/{self.place.root}/{service}", watcher).follow()

    async def keep(self, records: Sequence[Written], published: Callable[[], None], /) -> None:
        """See Store."""
        session = _Session(self.place, self._options, patient=True)
        keeping = Keeping(session, self.place.root, records)
        await session.begin()
        try:
            await keeping.put()
            published()
            await keeping.follow()
        except asyncio.CancelledError:
            try:
                await keeping.withdraw()
            finally:
                await session.end()
            raise
        except BaseException:
            # It withdraws nothing: what stands there counts until it is published again, or its lease is over.
            session.end_later(self.place.lease)
            raise


class _Unreached(RegistryError):
    """The connection was lost."""


class _Unread(RegistryError):
    """A node may not be read."""


class _Heard(logging.Handler):
    """The log of the client, which tells nobody else why it cannot connect."""

    def __init__(self, session: _Session) -> None:
        super().__init__()
        self._session = session

    def emit(self, record: logging.LogRecord) -> None:
        """See logging.Handler."""
        self._session.hear(record.getMessage())


class _Session:
    """A session. It is over for this side once its connection is lost, if it is patient not before its time is over."""

    def __init__(self, place: Place, options: dict[str, Any], patient: bool = False) -> None:
        quiet = logging.Logger("trunkcall.kazoo", logging.WARNING)  # what fails is raised here, and told by others
        quiet.addHandler(_Heard(self))
        given: dict[str, Any] = {"logger": quiet, "timeout": float(place.lease), "connection_retry": RETRIES, **options}
        self._client: Any = KazooClient(",".join(place.hosts), **given)
        self._hosts = ", ".join(place.hosts)
        self._loop = asyncio.get_running_loop()
        self._connected = asyncio.Event()
        self._reaching: asyncio.Timeout | None = None
        self._refusal = ""  # why the last attempt to connect failed
        self._changed = asyncio.Event()  # something of what is watched has, or the session is over
        self._lost = ""  # why it is over
        self._patience = float(place.lease) if patient else 0.0
        self._away: asyncio.TimerHandle | None = None  # until it is over, while it has no connection
        self._asked: set[asyncio.Future[Any]] = set()  # what was not answered yet
        self.changes: set[str] = set()  # paths

    async def __aenter__(self) -> Self:
        await self.begin()
        return self

    async def begin(self) -> None:
        """Raises RegistryError."""
        self._client.add_listener(self._state)
        self._client.start_async()
        try:
            async with asyncio.timeout(REACHED_WITHIN) as self._reaching:
                await self._connected.wait()
        except BaseException as error:
            self._reaching = None
            why = f": {self._refusal}" if self._refusal else f" was not reached in {REACHED_WITHIN:g} s"
            await self.end()
            if isinstance(error, TimeoutError):
                raise RegistryError(f"{self._hosts}{why}") from None
            raise

    def hear(self, text: str) -> None:
        """Takes note of what the client says, on any thread: why it could not connect."""
        self._soon(self._refuses, text)

    def _refuses(self, text: str) -> None:
        if self._connected.is_set() or self._reaching is None:
            return
        until = self._reaching.when()
        if not self._refusal and until is not None and not self._reaching.expired():
            self._reaching.reschedule(min(until, self._loop.time() + REFUSED_WITHIN))
        self._refusal = text

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.end()

    async def end(self) -> None:
        """Ends it."""
        ended = asyncio.Event()
        self._begin_end(ended)
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDS_WITHIN):
                await ended.wait()

    def end_later(self, seconds: float) -> None:
        """Ends it after so many seconds, whatever becomes of the event loop."""
        timer = threading.Timer(seconds, self._close)
        timer.daemon = True
        timer.start()

    def _close(self) -> None:
        with suppress(Exception):
            self._client.stop()
            self._client.close()

    def _begin_end(self, ended: asyncio.Event) -> None:
        """Ends it on a thread: where nobody answers, that takes as long as a session."""
        if self._away is not None:
            self._away.cancel()

        def end() -> None:
            self._close()
            self._soon(ended.set)

        threading.Thread(target=end, name="trunkcall zookeeper", daemon=True).start()

    def _soon(self, what: Callable[..., object], *arguments: object) -> None:
        """From the client's threads."""
        with suppress(RuntimeError):  # the loop is closed, and nobody waits
            self._loop.call_soon_threadsafe(what, *arguments)

    def _state(self, state: str) -> None:
        """On the thread of the connection."""
        if state == KazooState.CONNECTED:
            self._soon(self._reached)
        elif state == KazooState.LOST:
            self._soon(self._over, "the session is over")
        else:
            self._soon(self._unreached)

    def _reached(self) -> None:
        if self._away is not None:  # once more: the client has forgotten what was watched
            self._away.cancel()
            self._away = None
            self._change(AGAIN)
        self._connected.set()

    def _unreached(self) -> None:
        if not self._patience:
            self._over(LOST)
        elif self._away is None:
            self._away = self._loop.call_later(self._patience, self._over, LOST)

    def _over(self, why: str) -> None:
        self._lost = self._lost or why
        self._changed.set()
        for future in list(self._asked):  # the client has them wait for the next connection
            if not future.done():
                future.set_exception(RegistryError(f"{self._hosts}: {self._lost}"))

    def _change(self, path: str) -> None:
        self.changes.add(path)
        self._changed.set()

    def noting(self, path: str) -> Callable[[Any], None]:
        """What a watch of a node is to call. The session's end is told by its state."""

        def note(event: Any) -> None:
            if event.type != EventType.NONE:
                self._soon(self._change, path)

        return note

    async def changed(self) -> set[str]:
        """The paths of which something may have changed. Raises RegistryError once the session is over."""
        await self._changed.wait()
        self._changed.clear()
        if self._lost:
            self._changed.set()
            raise RegistryError(f"{self._hosts}: {self._lost}")
        changes, self.changes = self.changes, set()
        return changes

    @property
    def id(self) -> int:
        known = self._client.client_id
        return known[0] if known else 0

    def ask(self, what: str, *arguments: Any, **named: Any) -> asyncio.Future[Any]:
        """Calls an asynchronous method of the client. Raises NoNodeError, NodeExistsError, RegistryError."""
        future: asyncio.Future[Any] = self._loop.create_future()
        self._link(getattr(self._client, f"{what}_async")(*arguments, **named), future)
        return future

    def _link(self, result: Any, future: asyncio.Future[Any]) -> None:
        if self._lost:
            future.set_exception(RegistryError(f"{self._hosts}: {self._lost}"))
            return
        self._asked.add(future)
        future.add_done_callback(self._asked.discard)

        def link(done: Any) -> None:
            self._soon(self._settle, future, done)

        result.rawlink(link)

    def _settle(self, future: asyncio.Future[Any], done: Any) -> None:
        if future.done():
            return
        error = done.exception
        if error is None:
            future.set_result(done.value)
        elif isinstance(error, NoNodeError | NodeExistsError):
            future.set_exception(error)
        elif isinstance(error, ConnectionLoss):
            future.set_exception(_Unreached(f"{self._hosts}: {LOST}"))
        else:
            kind = _Unread if isinstance(error, NoAuthError) else RegistryError
            future.set_exception(kind(f"{self._hosts}: {spelled(error)}"))

    def replace(self, path: str, version: int, data: bytes) -> asyncio.Future[Any]:
        """Has an ephemeral node of this session take the place of a node of that version. The result has exceptions
        for what was not done."""
        transaction = self._client.transaction()
        transaction.delete(path, version)
        transaction.create(path, data, ephemeral=True)
        future: asyncio.Future[Any] = self._loop.create_future()
        self._link(transaction.commit_async(), future)
        return future


class Looking:
    """What a watcher knows of a service."""

    def __init__(self, session: _Session, path: str, watcher: Watcher) -> None:
        self._session = session
        self._path = path
        self._watcher = watcher
        self._account = Account()
        self._names: set[str] = set()  # of the nodes
        self._unread: set[str] = set()  # those that may not be read: they are asked for again with each list

    async def follow(self) -> None:
        """Tells the watcher of all entries, then of what changes. Raises RegistryError."""
        await self._list()
        came, _ = await self._read(self._names)
        self._watcher.all(came)
        while True:
            changes = await self._session.changed()
            wanted, went = set[str](), set[str]()
            if self._path in changes:
                await self._list()
                wanted, went = self._names - (self._account.ids - self._unread), self._account.ids - self._names
                self._unread.clear()
            for ident in went:
                self._account.remove(ident)
            changed = {path.removeprefix(f"{self._path}/") for path in changes if path != self._path}
            came, gone = await self._read(wanted | changed & self._names)
            if came or went or gone:
                self._watcher.change(came, [*went, *gone])

    async def _list(self) -> None:
        """Lists the nodes, and has changes of their number noted."""
        note = self._session.noting(self._path)
        while True:
            with suppress(NoNodeError):
                self._names = set(await self._session.ask("get_children", self._path, watch=note))
                return
            self._names = set()
            if await self._session.ask("exists", self._path, watch=note) is None:
                return

    async def _read(self, idents: Iterable[str]) -> tuple[list[Entry], list[str]]:
        """What stands there, and the ids of what has gone. Has changes noted."""
        wanted = list(idents)
        came: list[Entry] = []
        went: list[str] = []
        for at in range(0, len(wanted), AT_ONCE):
            part = wanted[at : at + AT_ONCE]
            paths = [f"{self._path}/{ident}" for ident in part]
            asked = [self._session.ask("get", path, watch=self._session.noting(path)) for path in paths]
            for ident, found in zip(part, await asyncio.gather(*asked, return_exceptions=True), strict=True):
                if isinstance(found, NoNodeError):
                    if ident in self._account:
                        self._account.remove(ident)
                        went.append(ident)
                elif isinstance(found, _Unread):
                    self._unread.add(ident)
                    self._account.put(ident, b"")
                    came.append(Entry(ident, fault="ZooKeeper does not let it be read"))
                elif isinstance(found, BaseException):
                    raise found
                else:
                    came.append(self._account.put(ident, found[0] or b""))
        return came, went


class Keeping:
    """What keeps records in ZooKeeper."""

    def __init__(self, session: _Session, root: str, records: Sequence[Written]) -> None:
        self._session = session
        self._records = {f"/{root}/{one.record.key}": one for one in records}

    async def put(self) -> None:
        """Makes the nodes. Raises RegistryError where another server is published."""
        for path, one in self._records.items():
            await self._put(path, one)
            await self._check(path)

    async def _put(self, path: str, one: Written) -> None:
        for _ in range(TRIES):
            with suppress(NodeExistsError):
                await self._session.ask("create", path, one.data, ephemeral=True, makepath=True)
                return
            with suppress(NoNodeError):
                data, stat = await self._session.ask("get", path)
                check_free(one, data or b"")
                done = await self._session.replace(path, stat.version, one.data)
                if not any(isinstance(part, Exception) for part in done):
                    return
        raise RegistryError(f"{path} is there, and cannot be replaced")

    async def _check(self, path: str) -> None:
        """Has a change of a node noted. Raises RegistryError unless it is as it was made, by whatever session."""
        data: bytes | None = None
        with suppress(NoNodeError):
            data, _ = await self._session.ask("get", path, watch=self._session.noting(path))
        if data != self._records[path].data:
            raise RegistryError(f"{self._records[path].record.key} was removed, or written by somebody else")

    async def follow(self) -> None:
        """Until a node or the session is lost. Raises RegistryError."""
        while True:
            changes = await self._session.changed()
            with suppress(_Unreached):  # the session says when it has a connection again, or is over
                for path in self._records if AGAIN in changes else changes:
                    await self._check(path)

    async def withdraw(self) -> None:
        """Deletes what is still its own; with the session goes what may be left. Raises RegistryError."""
        try:
            async with asyncio.timeout(WITHDRAWS_WITHIN):
                for path, one in self._records.items():
                    with suppress(NoNodeError):
                        data, stat = await self._session.ask("get", path)
                        if data == one.data and stat.ephemeralOwner == self._session.id:
                            await self._session.ask("delete", path, version=stat.version)
        except TimeoutError:
            raise RegistryError(f"not answered for {WITHDRAWS_WITHIN:g} s") from None
