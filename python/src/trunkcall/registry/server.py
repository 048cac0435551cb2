"""Serves the embedded registry (spec/registry.md 9): it keeps records in memory, for the processes of one machine."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import trunkcall
from trunkcall import Code, Handler, Limits, ServerCall, StatusError
from trunkcall.signals import stopping_on_signals
from trunkcall.status import spelled

from .core import TICKS, Core, Telling
from .embedded import (
    ALL,
    CHANGE,
    GREATEST_LEASE,
    LEASE,
    LEAST_LEASE,
    PARTIAL,
    PUBLISH,
    WATCH,
)
from .record import MOST_BYTES
from .state import State, read_file, write_file, write_state
from .v1.registry_pb2 import Entry as WireEntry
from .v1.registry_pb2 import PublishAnswer, PublishRequest, WatchAnswer, WatchRequest
from .view import Entry

SAVED_WITHIN = 1.0  # seconds after a change
MOST_PENDING = 1_024  # ids of changes that a watcher has not taken
MOST_IN_ANSWER = 1_000  # entries or ids
BYTES_IN_ANSWER = 256 << 10
OPEN_CALLS = 128  # of a connection
MESSAGE_BYTES = 4 << 20
CLOSING_GRACE = 5.0  # seconds
_NANOSECONDS = 1_000_000_000


def _stopping() -> StatusError:
    return StatusError(Code.UNAVAILABLE, "the registry is stopping")


@dataclass(slots=True, eq=False)
class _Serving:
    """A call that runs."""

    wake: asyncio.Event = field(default_factory=asyncio.Event)
    answers: int = 0  # that a call which publishes is to be sent
    error: StatusError | None = None  # the call ends with it
    all: bool = False  # a watcher is told all
    pending: dict[str, bytes | None] = field(default_factory=dict[str, bytes | None])  # else what came; None: it went

    def take(self, told: Telling) -> None:
        if told.error is not None:
            self.error = told.error
        elif told.answered:
            self.answers += 1
        elif told.all:
            self.all = True
        elif not self.all:
            self.pending.update((one.id, one.data) for one in told.came)
            self.pending.update(dict.fromkeys(told.went))
            self.all = len(self.pending) > MOST_PENDING
        if self.all:
            self.pending = {}
        self.wake.set()


class Server:
    """The embedded registry: any process may serve it, beside services of its own or alone, as `serve` does. It belongs
    to one event loop. To be used as `async with`; after that, or after `close`, its calls have ended."""

    def __init__(
        self,
        *,
        state: str | os.PathLike[str] | None = None,
        lease: float = LEASE,
        logger: logging.Logger | None = None,
    ) -> None:
        """- `state` is the path of the file by which records are known after a restart. Without one they are known
          when their servers have published them again.
        - `lease` is for how many seconds a server counts that is stopped, or whose machine is gone: 1 to 3,600. One
          that died or withdrew goes at once.
        - `logger` is told what is wrong with the file.

        Raises ValueError for a lease out of bounds, OSError for a file that cannot be read or written. With what is
        wrong in a file it begins all the same, and logs it."""
        if not LEAST_LEASE <= lease <= GREATEST_LEASE:
            raise ValueError(f"a lease of {lease:g} s: want {LEAST_LEASE:g} to {GREATEST_LEASE:g}")
        self._log = logger or logging.getLogger("trunkcall")
        self._state = None if state is None else Path(state)
        self._core = Core(round(lease * _NANOSECONDS), self._tell)
        self._calls: dict[int, _Serving] = {}
        self._number = 0  # of the call that began last
        self._stopping = asyncio.Event()
        self._closed = False  # nothing changes any more
        self._runs: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "trunkcall registry")  # those of the event loop may all wait elsewhere
        known, whole = State(), False
        if self._state is not None:
            with suppress(FileNotFoundError):  # as at the first start
                known = read_file(self._state)
                whole = not known.fault
        if known.fault:
            there = len(known.records)
            self._log.warning(
                "a registry does not know all that was published before: %s; records: %d", known.fault, there
            )
        self._core.restore(known.records, whole)
        self._saved = self._core.version  # that the file has
        if self._state is not None:  # what cannot be written is told now
            write_file(self._state, write_state(self._core.records()))

    def handlers(self) -> list[Handler]:
        """What serves the registry, for `trunkcall.Server.register`."""
        return [PUBLISH.handler(self._publish), WATCH.handler(self._watch)]

    async def __aenter__(self) -> Self:
        self._runs = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the registry: its calls end UNAVAILABLE, and its records are written to the file. The server that it is
        registered in is the caller's to stop, afterwards."""
        self._closed = True
        self._stopping.set()
        for call in self._calls.values():
            call.wake.set()
        if self._runs is not None:
            await asyncio.wait([self._runs])
            self._thread.shutdown(wait=False)
            self._runs.result()

    async def _run(self) -> None:
        """Tells the core the time, and saves what has changed."""
        each = min(self._core.lease / TICKS / _NANOSECONDS, SAVED_WITHIN)
        told = ended = False
        while True:
            if not self._closed:
                self._core.time(self._now())
            failed = await self._save()
            if failed and not told:
                self._log.warning("a registry cannot write what it knows: %s", failed)
            told = bool(failed)
            if ended:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(each):
                    await self._stopping.wait()
                    ended = True

    async def _save(self) -> str:
        """Why it could not, "" if it could."""
        version = self._core.version
        if self._state is None or version == self._saved:
            return ""
        data = write_state(self._core.records())
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, write_file, self._state, data)
        except OSError as error:
            return spelled(error)
        self._saved = version
        return ""

    @staticmethod
    def _now() -> int:
        return round(asyncio.get_running_loop().time() * _NANOSECONDS)

    def _event(self, what: Callable[[], None]) -> None:
        """Tells the core of one."""
        if not self._closed:
            self._core.time(self._now())
            what()

    def _begin(self, event: Callable[[int], None]) -> tuple[int, _Serving]:
        """Begins a call, by an event that the core is told. Raises StatusError."""
        if self._runs is None:
            raise RuntimeError("this registry was not begun: use it as `async with`")
        if self._closed:
            raise _stopping()
        self._number += 1
        call = self._calls[self._number] = _Serving()
        self._core.time(self._now())
        event(self._number)
        return self._number, call

    def _end(self, number: int) -> None:
        self._calls.pop(number, None)
        self._event(partial(self._core.end, number))

    def _tell(self, number: int, told: Telling) -> None:
        """Has a call sent what the core tells it."""
        call = self._calls.get(number)
        if call is not None:
            call.take(told)

    async def _woken(self, call: _Serving) -> None:
        """Waits until there is something for a call. Raises StatusError, with which it ends."""
        await call.wake.wait()
        call.wake.clear()
        if call.error is not None:
            raise call.error
        if self._closed:
            raise _stopping()

    async def _publish(self, requests: AsyncIterator[PublishRequest], call: ServerCall) -> None:
        first = await anext(requests, PublishRequest())
        number, serving = self._begin(lambda number: self._core.publish(number, first.records))
        renewals = asyncio.create_task(self._renewals(number, requests))
        renewals.add_done_callback(lambda _: serving.wake.set())
        answer = PublishAnswer(lease_ms=self._core.lease * 1000 // _NANOSECONDS)
        try:
            while True:
                await self._woken(serving)
                answers, serving.answers = serving.answers, 0
                for _ in range(answers):
                    await call.send(answer)
                if renewals.done():
                    return renewals.result()
        finally:
            renewals.cancel()
            self._end(number)

    async def _renewals(self, number: int, requests: AsyncIterator[PublishRequest]) -> None:
        """Takes the requests of a call behind the first, until they end."""
        async for request in requests:
            if request.records:
                raise StatusError(Code.INVALID_ARGUMENT, "records: want none in a renewal")
            self._event(partial(self._core.renew, number))

    async def _watch(self, request: WatchRequest, call: ServerCall) -> None:
        number, serving = self._begin(lambda number: self._core.watch(number, request.service))
        try:
            while True:
                await self._woken(serving)
                if serving.all:
                    serving.all = False
                    kind, came, went = PARTIAL if self._core.unsure else ALL, self._core.entries(request.service), []
                else:
                    pending, serving.pending = serving.pending, {}
                    came = [Entry(ident, data) for ident, data in pending.items() if data is not None]
                    kind, went = CHANGE, [ident for ident, data in pending.items() if data is None]
                for answer in answers(kind, came, went):
                    if not await call.send(answer):
                        return
        finally:
            self._end(number)


def answers(kind: Any, came: Sequence[Entry], went: Sequence[str]) -> Iterator[WatchAnswer]:
    """A telling, in as many answers as it takes."""
    entries, gone = iter(came), list(went)
    left = len(came)
    while True:
        one = WatchAnswer(kind=kind)
        size = 0
        while left and len(one.came) < MOST_IN_ANSWER and size < BYTES_IN_ANSWER - MOST_BYTES:
            entry = next(entries)
            left -= 1
            size += len(entry.data)
            one.came.append(WireEntry(id=entry.id, record=entry.data))
        room = MOST_IN_ANSWER - len(one.came)
        one.went.extend(gone[:room])
        gone = gone[room:]
        one.more = bool(left or gone)
        yield one
        if not one.more:
            return


async def serve(
    address: str,
    *,
    state: str | os.PathLike[str] | None = None,
    lease: float = LEASE,
    listening: Callable[[str], None] | None = None,
    logger: logging.Logger | None = None,
    **options: Any,
) -> None:
    """Serves a registry alone at an address, until it is cancelled, or ended by SIGTERM or SIGINT where
    `trunkcall.Server.serve` is. `listening` is told where. The options are those of a trunkcall.Server, such as `tls`.
    Raises as `Server` and `trunkcall.Server.listen`."""
    async with Server(state=state, lease=lease, logger=logger) as kept:
        given: dict[str, Any] = {
            "limits": Limits(calls=OPEN_CALLS, message_bytes=MESSAGE_BYTES),
            "logger": logger,
            **options,
        }
        async with trunkcall.Server(**given) as server:
            server.register(*kept.handlers())
            over = asyncio.Event()

            async def end() -> None:
                over.set()

            try:
                async with stopping_on_signals(None, end, end):
                    where = await server.listen(address)
                    if listening is not None:
                        listening(where)
                    await over.wait()
            finally:
                await kept.close()  # it ends its calls, and records stay in the file
                await server.stop(CLOSING_GRACE)
