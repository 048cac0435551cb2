"""A registry in a folder: a file for each instance (spec/registry.md 7)."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import stat
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from .place import check_held
from .record import ID_BYTES, MOST_BYTES, InvalidRecord, Record, is_name, parse_at
from .store import RegistryError, Watcher, Written, another_server
from .view import Entry, Parsed, Unkept

LEASE = 15.0  # seconds
RENEWED = LEASE / 3  # seconds between two renewals
LOOKS = 0.25  # seconds between two looks at least
LOOK_PART = 20  # a look takes one part in so many of the time
LOOKED_AWAY = 5.0  # seconds: a longer pause between two looks does not count
CLEANED = 60.0  # seconds between two times that files left behind are looked for
LEFT_BEHIND = 300.0  # seconds that such a file has not changed
YIELDED = 1.0  # seconds between two looks at a file that was left to another server
MOST_RUBBISH = 10_000  # files that are no records and are kept in mind

_LEASE, _BY_HAND, _UNFINISHED = ".lease", ".json", ".tmp"

# What tells whether a file has changed; None where the system does not say.
Stamp = tuple[int, int, int, int, int]


def _stamp(found: os.stat_result) -> Stamp:
    return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode)


class Folder:
    """A registry in a folder, for the processes of one machine: each instance has a file, FOLDER/SERVICE/ID.lease,
    which its server renews, or ID.json, which is written by hand and counts until it is removed. The folder must be
    there. It is a Store."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._yielded: set[tuple[Path, bytes]] = set()
        self._held: set[tuple[Path, bytes]] = set()

    async def watch(self, service: str, watcher: Watcher, /) -> None:
        """See Source."""
        looking = Looking(self.path, service)
        first = True
        with _thread() as on_thread:
            while True:
                began = time.monotonic()
                came, went = await on_thread(looking.look, began)
                if first:
                    watcher.all(came)
                elif came or went:
                    watcher.change(came, went)
                first = False
                await asyncio.sleep(max(LOOKS, LOOK_PART * (time.monotonic() - began)))

    async def keep(self, records: Sequence[Written], published: Callable[[], None], /) -> None:
        """See Store."""
        keeping = Keeping(self.path, records, self._yielded, self._held)
        cleaned = time.monotonic()
        first = True
        with _thread() as on_thread:
            while not await on_thread(keeping.is_free, time.monotonic()):  # noqa: ASYNC110  # nothing tells of it
                await asyncio.sleep(YIELDED)
            try:
                while True:
                    await _whole(on_thread(keeping.write, time.monotonic()))
                    if first:
                        published()
                    first = False
                    await asyncio.sleep(RENEWED)
                    if time.monotonic() - cleaned >= CLEANED:
                        cleaned = time.monotonic()
                        await _whole(on_thread(keeping.clean, cleaned))
            except asyncio.CancelledError:
                await on_thread(keeping.withdraw)
                raise


@contextmanager
def _thread() -> Generator[Callable[..., asyncio.Future[Any]]]:
    """What carries something out on a thread of its own: those of the event loop may all wait in handlers of users for
    longer than a lease."""
    threads = ThreadPoolExecutor(1, "trunkcall folder")
    try:
        yield partial(asyncio.get_running_loop().run_in_executor, threads)
    finally:
        threads.shutdown(wait=False)


async def _whole(task: asyncio.Future[None]) -> None:
    """Waits for its end even where this is cancelled."""
    try:
        await asyncio.shield(task)
    finally:
        if not task.done():
            await asyncio.wait([task])


@dataclass(slots=True)
class _Seen:
    stamp: Stamp | None  # as it was last looked at, None if it never could be
    changed: float  # when, by the clock of who looks
    entry: Entry
    lease: bool
    lasting: bool  # it is no record, but was one, which may still count
    unread: bool  # the system did not let it be looked at or read, which the next look tries again


class Looking:
    """What a watcher has seen of the files of a service."""

    def __init__(self, folder: Path, service: str) -> None:
        self._folder = folder
        self._service = service
        self._place = folder / service
        self._files: dict[str, _Seen] = {}  # by name
        self._told: dict[str, Entry] = {}  # by id
        self._clock = 0.0  # seconds that it has looked
        self._last: float | None = None

    def look(self, now: float) -> tuple[list[Entry], list[str]]:
        """What came or changed, and the ids of what went, since the last look. Only records count for what a watcher
        holds: what is none leaves nothing but its entry, and that only of so many. Raises OSError, RegistryError."""
        if self._last is not None and now - self._last <= LOOKED_AWAY:
            self._clock += now - self._last
        self._last = now
        files: dict[str, _Seen] = {}
        records = size = rubbish = 0
        for name in self._names():
            if (seen := self._file(name)) is None:
                continue
            if seen.entry.fault and not seen.lasting:
                rubbish += 1
                if rubbish <= MOST_RUBBISH:
                    files[name] = seen
                continue
            files[name] = seen
            records += 1
            size += len(seen.entry.id) + len(seen.entry.data)
            check_held(records, size)
        self._files = files
        there: dict[str, Entry] = {}
        if rubbish > MOST_RUBBISH:
            path = str(self._place)  # which no id is
            there[path] = Entry(path, b"", path, f"more than {MOST_RUBBISH} files are no records")
        for name, seen in self._files.items():
            if seen.lease and self._clock >= seen.changed + LEASE:
                continue
            if seen.entry.id not in there or name.endswith(_BY_HAND):
                there[seen.entry.id] = seen.entry
        came = [entry for ident, entry in there.items() if self._told.get(ident) != entry]
        went = [ident for ident in self._told if ident not in there]
        self._told = there
        return came, went

    def _names(self) -> list[str]:
        """Those of the files of the service, in their order."""
        try:
            found = os.listdir(self._place)
        except FileNotFoundError:
            self._folder.stat()
            return []
        return sorted((name for name in found if not name.startswith(".")), key=os.fsencode)

    def _file(self, name: str) -> _Seen | None:
        """What is to be known of a file, None if it has gone."""
        path = os.path.join(self._place, name)
        before = self._files.get(name)
        refused, stamp, mode, size = "", None, 0, 0
        try:
            found = os.stat(path)
            stamp, mode, size = _stamp(found), found.st_mode, found.st_size
        except FileNotFoundError:
            return None
        except OSError as error:
            refused = str(error)
        changed = self._clock
        if before is not None and stamp in (None, before.stamp):
            if stamp is not None and not before.unread:
                return before
            # Reading again what has not changed renews no lease, nor does what cannot be looked at.
            stamp, changed = before.stamp, before.changed
        data, fault = b"", ""
        if not (ident := self._id(name)):
            ident, fault, refused = path, f"want a file ID{_LEASE} or ID{_BY_HAND} with an id before that", ""
        elif not refused:
            try:
                data, fault = _read(path, mode, size)
            except OSError as error:
                refused = str(error)
        if why := refused or fault:
            entry = Entry(ident, b"", path, why)
        else:
            entry = self._entry(ident, data, path, before)
        lasting = bool(entry.fault) and before is not None and (not before.entry.fault or before.lasting)
        return _Seen(stamp, changed, entry, name.endswith(_LEASE), lasting, bool(refused))

    def _entry(self, ident: str, data: bytes, path: str, before: _Seen | None) -> Entry:
        """Makes an entry of what was read. Of what is no record the bytes are not kept."""
        if before is not None and not before.entry.fault and before.entry.data == data:
            return before.entry
        try:
            record = parse_at(self._service, ident, data)
        except InvalidRecord as error:
            return Unkept(ident, b"", path, str(error), hash(data))
        return Parsed(ident, data, path, endpoint=record.endpoint)

    @staticmethod
    def _id(name: str) -> str:
        for end in (_LEASE, _BY_HAND):
            ident = name.removesuffix(end)
            if ident != name and is_name(ident, ID_BYTES):
                return ident
        return ""


def _read(path: str, mode: int, size: int) -> tuple[bytes, str]:
    """What may be a record, or why it is none. Raises OSError."""
    if not stat.S_ISREG(mode):
        return b"", "want a file, not a folder or the like"
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # it may be a pipe by now
    with open(handle, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        return b"", f"record of {max(size, len(data))} bytes, at most {MOST_BYTES}"
    return data, ""


def _other(one: Written, data: bytes) -> Record | None:
    """The record of another server under the same key, None if that is none."""
    if data == one.data:
        return None
    try:
        return parse_at(one.record.service, one.record.id, data)
    except InvalidRecord:
        return None


class Keeping:
    """What keeps records in a folder."""

    def __init__(
        self,
        folder: Path,
        records: Sequence[Written],
        yielded: set[tuple[Path, bytes]],
        held: set[tuple[Path, bytes]],
    ) -> None:
        """`yielded` are records whose files were left to others, by path and bytes; `held` are those whose keys were
        held when keeping them failed. Both outlive this."""
        self._folder = folder
        self._records = records
        self._yielded = yielded
        self._held = held
        self._written: dict[Path, float] = {}  # when a file was last written
        self._own: dict[Path, float] = {}  # since when a file has been its own, -inf if it was held from the first
        self._others: dict[Path, tuple[Stamp, float]] = {}  # files of others, and when they changed, by the clock
        self._clock = 0.0  # seconds that it has looked at those
        self._last: float | None = None
        self._seen: dict[str, tuple[Stamp, float]] = {}  # what may have been left behind, since when, by path

    def _path(self, one: Written) -> Path:
        return self._folder / one.record.service / f"{one.record.id}{_LEASE}"

    def is_free(self, now: float) -> bool:
        """Whether each file that was left to another server may be written: it is gone, or its lease is over."""
        if self._last is not None and now - self._last <= LOOKED_AWAY:
            self._clock += now - self._last
        self._last = now
        waits = False
        for one in self._records:
            path = self._path(one)
            if (path, one.data) not in self._yielded:
                continue
            with suppress(FileNotFoundError):
                stamp = _stamp(path.stat())
                before, since = self._others.get(path, (None, 0.0))
                if before != stamp:
                    self._others[path] = (stamp, self._clock)
                if before != stamp or self._clock < since + LEASE:
                    waits = True
                    continue
            self._yielded.discard((path, one.data))
        return not waits

    def write(self, now: float) -> None:
        """Writes each record to a file beside its own, and renames these once all are written: where one cannot be,
        none is renewed. Raises OSError; RegistryError where another server was there before (spec/registry.md 7.6)."""
        try:
            self._write(now)
        except BaseException:
            self._held.update((path, one.data) for one in self._records if self._is_held(path := self._path(one), now))
            raise

    def _is_held(self, path: Path, now: float) -> bool:
        """Whether a key is held, and not one of a newcomer, or of one whose own lease is over."""
        lasts = now < self._written.get(path, now) + LEASE
        return lasts and path in self._own and now >= self._own[path] + LEASE

    def _write(self, now: float) -> None:
        first = not self._written
        with ExitStack() as beside:
            names: list[str] = []
            for one in self._records:
                self._look(one, self._path(one), now)
                names.append(self._write_beside(one, beside))
            try:
                for one, name in zip(self._records, names, strict=True):
                    path = self._path(one)
                    os.replace(name, path)
                    self._written[path] = now
            except BaseException:
                if first:  # else what stands there was published, and counts until its lease is over
                    with suppress(OSError):
                        self.withdraw()
                raise

    def _write_beside(self, one: Written, beside: ExitStack) -> str:
        """Writes a record to a new file, which is removed at the end unless it was renamed."""
        place = self._path(one).parent
        try:
            place.mkdir()
        except FileExistsError:
            pass
        except FileNotFoundError as error:
            raise FileNotFoundError(error.errno, error.strerror, str(self._folder)) from None
        handle, name = tempfile.mkstemp(_UNFINISHED, f".{one.record.id}.", place)
        beside.callback(Path(name).unlink, missing_ok=True)
        with open(handle, "wb") as file:
            file.write(one.data)
            os.fchmod(handle, 0o644)
        return name

    def _look(self, one: Written, path: Path, now: float) -> None:
        """Looks at what is to be overwritten. Raises RegistryError."""
        data, there = b"", True
        try:
            found = path.stat()
            data, _ = _read(str(path), found.st_mode, found.st_size)
        except FileNotFoundError:
            there = False
        except OSError:
            pass  # it is rubbish
        if path not in self._own:
            held = (path, one.data) in self._held and data == one.data
            self._held.discard((path, one.data))
            self._own[path] = -math.inf if held or not there else now
        elif other := _other(one, data):
            text = another_server(other)
            if not self._is_held(path, now):
                self._yielded.add((path, one.data))
                raise RegistryError(text)
            logging.getLogger("trunkcall").warning("%s", text)

    def withdraw(self) -> None:
        """Removes the files that have what was written. Raises OSError."""
        for one in self._records:
            path = self._path(one)
            if path in self._written:
                with suppress(FileNotFoundError):
                    if path.read_bytes() == one.data:
                        path.unlink()

    def clean(self, now: float) -> None:
        """Removes what others have left behind. What cannot be removed is theirs."""
        seen: dict[str, tuple[Stamp, float]] = {}
        for path, stamp in self._behind():
            before, since = self._seen.get(path, (None, now))
            if before == stamp and now - since >= LEFT_BEHIND:
                with suppress(OSError):
                    os.unlink(path)
            else:
                seen[path] = (stamp, since if before == stamp else now)
        self._seen = seen

    def _behind(self) -> Iterator[tuple[str, Stamp]]:
        for place in {self._path(one).parent for one in self._records}:
            with suppress(OSError):
                for name in os.listdir(place):
                    hidden = name.startswith(".")
                    if not name.endswith(_UNFINISHED if hidden else _LEASE):
                        continue
                    path = os.path.join(place, name)
                    with suppress(OSError):
                        found = os.stat(path, follow_symlinks=False)
                        if stat.S_ISREG(found.st_mode):
                            yield path, _stamp(found)
