"""Finds the endpoints of a service in a registry."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from trunkcall.backoff import pause
from trunkcall.endpoint import Endpoint
from trunkcall.resolver import InvalidSet, Watch
from trunkcall.status import spelled

from .record import InvalidRecord, check_service
from .store import Source, check_registry, is_cancelled, why_failed
from .view import Entry, View

AT_ONCE = 256  # entries that are read in one turn of the loop
MOST_WAITING = 200_000  # entries that wait until they are read, and ids


class PlainWatch(Protocol):
    """What a resolver of a blocking client works for: trunkcall.blocking.Watch."""

    @property
    def target(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def set(self, endpoints: Sequence[Endpoint], /) -> None: ...
    def fail(self, why: str, /) -> None: ...
    def failed(self, timeout: float | None = None) -> bool: ...


class _Told(Protocol):
    """What both kinds of clients are told by."""

    @property
    def target(self) -> str: ...
    def set(self, endpoints: Sequence[Endpoint], /) -> None: ...
    def fail(self, why: str, /) -> None: ...


@dataclass(slots=True)
class _Telling:
    """What a Source has told: the entries that came, and the ids that went, or None: that is all that there is."""

    came: list[Entry]
    went: list[str] | None = None

    @property
    def size(self) -> int:
        return len(self.came) + len(self.went or ()) + 1


class Watching:
    """A watcher of one service, for a client. Belongs to the loop that it is made in."""

    def __init__(self, service: str, watch: _Told, log: logging.Logger) -> None:
        self.told = 0  # how often something was told
        self.asked = ""  # what DNS is asked for, in which the service has another name
        self.endpoint_failed = asyncio.Event()
        self._watch = watch
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._view = View(service, self._hand, self._left_out, self._failing, self._answers, self._kept)
        self._timer: asyncio.TimerHandle | None = None
        self._reason = ""  # that the client was told last
        self._waiting: deque[_Telling] = deque()  # of which the first is being read
        self._held = 0  # their sizes
        self._reading: asyncio.Task[None] | None = None

    def all(self, entries: Iterable[Entry], /) -> None:
        self._take(_Telling(list(entries)))

    def change(self, came: Iterable[Entry], went: Iterable[str], /) -> None:
        self._take(_Telling(list(came), list(went)))

    def _take(self, telling: _Telling) -> None:
        """Has the view told: at once, or, of many entries, once they are read, so that the loop goes on meanwhile."""
        self.told += 1
        if self._held > MOST_WAITING:  # whoever tells so much waits here
            self._tell_waiting()
        if not self._waiting and len(telling.came) <= AT_ONCE:
            self._tell(telling)
            return
        self._waiting.append(telling)
        self._held += telling.size
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        try:
            while self._waiting:
                telling = self._waiting[0]
                for at in range(0, len(telling.came), AT_ONCE):
                    part = slice(at, at + AT_ONCE)
                    telling.came[part] = self._view.read(telling.came[part])
                    await asyncio.sleep(0)
                    if not self._waiting or self._waiting[0] is not telling:  # it was told without that
                        break
                else:
                    self._tell_next()
        except Exception as error:  # a Source of a user's has told what are no entries
            self._waiting.clear()
            self._held = 0
            self.fail(why_failed(error))
        finally:
            self._reading = None

    def _tell_waiting(self) -> None:
        while self._waiting:
            self._tell_next()

    def _tell_next(self) -> None:
        telling = self._waiting.popleft()
        self._held -= telling.size
        self._tell(telling)

    async def failed(self) -> None:
        await self.endpoint_failed.wait()
        self.endpoint_failed.clear()

    def fail(self, why: str) -> None:
        self._tell_waiting()
        self._view.fail(self._loop.time(), f"watching {self._view.service}: {why}")

    def stop(self) -> None:
        self._stop_timer()
        if self._reading is not None:
            self._reading.cancel()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _tell(self, telling: _Telling) -> None:
        now = self._loop.time()
        if telling.went is None:
            self._view.all(now, telling.came)
        else:
            self._view.change(now, telling.came, telling.went)
        reason = self._view.reason
        if reason and self.asked:
            reason += f": DNS was asked for {self.asked}"
        if reason and reason != self._reason:
            self._reason = reason
            self._watch.fail(reason)
        self._wait()

    def _wait(self) -> None:
        self._stop_timer()
        due = self._view.due
        self._timer = None if due is None else self._loop.call_at(due, self._due)

    def _due(self) -> None:
        now = self._loop.time()
        due = self._view.due
        if due is not None:
            self._view.compute(max(now, due))  # a loop may be early, by the resolution of its clock
        self._wait()

    def _hand(self, at: float, found: list[Endpoint]) -> None:
        try:
            self._watch.set(found)
        except Exception as error:
            self._log.warning("endpoints of %s in a registry refused: %s", self._view.service, spelled(error))

    def _left_out(self, at: float, left: list[tuple[Entry, str]], more: int) -> None:
        for entry, why in left:
            where = entry.place or f"{self._view.service}/{entry.id}"
            self._log.warning("left out of a registry: %s: %s", where, why)
        if more:
            self._log.warning("left out of a registry: %d more entries of %s", more, self._view.service)

    def _failing(self, at: float, why: str) -> None:
        self._reason = why
        self._watch.fail(why)

    def _answers(self, at: float) -> None:
        self._log.info("a registry answers again: %s", self._view.service)

    def _kept(self, at: float, instances: int) -> None:
        service = self._view.service
        self._log.warning("instances of %s that a registry has no more are kept: %d", service, instances)


async def _watch(source: Source, watching: Watching, service: str) -> None:
    """Until it is cancelled."""
    failures = 0
    while True:
        told = watching.told
        try:
            await source.watch(service, watching)
            why = "the registry tells no more"
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            why = "it was cancelled"
        except Exception as error:
            why = why_failed(error)
        if is_cancelled():  # and the source has made something else of it
            return
        failures = 1 if watching.told > told else failures + 1
        watching.fail(why)
        await asyncio.sleep(pause(failures))


async def _resolve(
    source: Source, watch: _Told, log: logging.Logger, failed: Callable[[Watching], Awaitable[None]]
) -> None:
    """Until `failed` returns, which tells the watcher of endpoints that could not be reached."""
    watching = Watching(watch.target, watch, log)
    try:
        check_service(watch.target)
    except InvalidRecord as error:  # nothing will ever be found there
        watch.fail(str(error))
        await failed(watching)
        return
    work = asyncio.ensure_future(_watch(source, watching, watch.target))
    try:
        await failed(watching)
    finally:
        watching.stop()
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work


def resolver(source: Source, logger: logging.Logger | None = None) -> Callable[[Watch], Awaitable[None]]:
    """For targets SCHEME:SERVICE of a trunkcall.Client: finds the instances of the service in `source`. What is left
    out of what stands there is told to `logger`, by default `logging.getLogger("trunkcall")`. For any number of
    clients. Raises TypeError for what is no Source."""
    check_registry("source", source, "a Source such as Folder(…)", "watch")
    log = logger or logging.getLogger("trunkcall")

    async def resolve(watch: Watch) -> None:
        async def failed(watching: Watching) -> None:
            while True:
                await watch.failed()
                watching.endpoint_failed.set()

        await _resolve(source, watch, log, failed)

    return resolve


def blocking_resolver(source: Source, logger: logging.Logger | None = None) -> Callable[[PlainWatch], None]:
    """The same for a trunkcall.blocking.Client. An event loop watches on a thread of its own, until the client is
    closed."""
    check_registry("source", source, "a Source such as Folder(…)", "watch")
    log = logger or logging.getLogger("trunkcall")

    def resolve(watch: PlainWatch) -> None:
        given: object = watch
        if isinstance(given, Watch):  # whose event loop this would stop
            raise TypeError("blocking_resolver is for a trunkcall.blocking.Client: a trunkcall.Client takes resolver")

        async def failed(watching: Watching) -> None:
            while await asyncio.to_thread(watch.failed) or not watch.closed:
                watching.endpoint_failed.set()

        def work() -> None:
            try:
                asyncio.run(_resolve(source, handing, log, failed))
                handing.told.put(None)
            except BaseException as error:
                handing.told.put(error)

        handing = _Handing(watch)
        thread = threading.Thread(target=work, name="trunkcall registry", daemon=True)
        thread.start()
        handing.carry_out()
        thread.join()

    return resolve


class _Handing:
    """Has the thread of a resolver tell a blocking client what an event loop, which must not block, has found."""

    def __init__(self, watch: PlainWatch) -> None:
        self.told: queue.SimpleQueue[Callable[[], None] | BaseException | None] = queue.SimpleQueue()
        self._watch = watch

    @property
    def target(self) -> str:
        return self._watch.target

    def set(self, endpoints: Sequence[Endpoint], /) -> None:
        self.told.put(partial(self._watch.set, endpoints))

    def fail(self, why: str, /) -> None:
        self.told.put(partial(self._watch.fail, why))

    def carry_out(self) -> None:
        """Until the event loop has ended. Raises what ended it."""
        while (told := self.told.get()) is not None:
            if isinstance(told, BaseException):
                raise told
            with suppress(InvalidSet):  # which the client has logged
                told()
