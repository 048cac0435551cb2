"""The embedded registry as a store: its client (spec/registry.md 9)."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from trunkcall import Client, ClientStream, bidi_stream, server_stream
from trunkcall.transport import check_library, parse_place

from .record import ID_BYTES, MOST_BYTES, is_name
from .store import RegistryError, Watcher, Written
from .v1.registry_pb2 import PublishAnswer, PublishRequest, WatchAnswer, WatchRequest
from .view import Entry

PUBLISH = bidi_stream("/trunkcall.registry.v1.Registry/Publish", PublishRequest, PublishAnswer)
WATCH = server_stream("/trunkcall.registry.v1.Registry/Watch", WatchRequest, WatchAnswer)

LEASE = 15.0  # seconds, unless the registry says otherwise
LEAST_LEASE, GREATEST_LEASE = 1.0, 3600.0
RENEWS = 3  # in a lease
MOST_PUBLISHED = 128  # records of one call
MOST_KEYS = 100_000
MOST_TOTAL = 64 << 20  # bytes of records
ASKS_AFTER, ANSWERS_WITHIN = 10.0, 10.0  # seconds
WITHDRAWS_WITHIN = 5.0  # seconds

CHANGE, ALL, PARTIAL = WatchAnswer.KIND_CHANGE, WatchAnswer.KIND_ALL, WatchAnswer.KIND_PARTIAL


class Embedded:
    """The embedded registry, which a process of any language serves, by its address: the default on one machine. It
    is a Store. Each server and each service that is watched has a connection of its own to it."""

    def __init__(self, address: str, **options: Any) -> None:
        """`options` are those of a trunkcall.Client, such as `tls`. Raises ValueError for what is no address."""
        if "," in address or len(address.encode()) > 255:
            raise ValueError("want one address of at most 255 bytes")
        check_library(parse_place(address))
        self.address = address
        self._options: dict[str, Any] = {"keepalive": ASKS_AFTER, "keepalive_timeout": ANSWERS_WITHIN, **options}

    def _connect(self) -> Client:
        """A client of the registry. That it cannot be reached is told once by who asks it, not at each attempt
        to connect."""
        client = Client(self.address, **self._options)
        client._unreached_level = logging.DEBUG
        return client

    async def watch(self, service: str, watcher: Watcher, /) -> None:
        """See Source."""
        async with self._connect() as client:
            stream = client.open(WATCH, WatchRequest(service=service), timeout=math.inf)
            tellings = Tellings(watcher)
            try:
                while (answer := await stream.receive()) is not None:
                    tellings.take(answer)
            finally:
                stream.cancel()
        raise RegistryError("the registry tells no more")

    async def keep(self, records: Sequence[Written], published: Callable[[], None], /) -> None:
        """See Store."""
        async with self._connect() as client:
            parts = [records[at : at + MOST_PUBLISHED] for at in range(0, len(records), MOST_PUBLISHED)]
            left = len(parts)

            def one_is() -> None:
                nonlocal left
                left -= 1
                if not left:
                    published()

            tasks = [asyncio.ensure_future(_keep(client, part, one_is)) for part in parts]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await _all(tasks)


async def _all(tasks: Sequence[asyncio.Future[None]]) -> None:
    """Waits until all have ended, be this cancelled or not: each withdraws in its time. Raises why one has failed."""
    cancelled = False
    while not all(task.done() for task in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            cancelled = True
    faults = [fault for task in tasks if not task.cancelled() and (fault := task.exception()) is not None]
    if faults:
        raise faults[0]
    if cancelled:
        raise asyncio.CancelledError


async def _keep(client: Client, records: Sequence[Written], published: Callable[[], None]) -> None:
    """Keeps the records of one call until it is cancelled, and withdraws them then."""
    stream = client.open(PUBLISH, timeout=math.inf)
    there = False
    try:
        await stream.send(PublishRequest(records=[one.data for one in records]))
        lease = await _lease(stream, LEASE)
        there = True
        published()
        while True:
            await _nothing(stream, lease / RENEWS)
            await stream.send(PublishRequest())
            lease = await _lease(stream, lease)
    except asyncio.CancelledError:
        if there and not stream.done:
            try:
                async with asyncio.timeout(WITHDRAWS_WITHIN):
                    await stream.half_close()
                    while await stream.receive() is not None:
                        pass
            except TimeoutError:
                raise RegistryError(f"not answered for {WITHDRAWS_WITHIN:g} s") from None
        raise
    finally:
        stream.cancel()


async def _nothing(stream: ClientStream[PublishRequest, PublishAnswer], seconds: float) -> None:
    """Waits for so long, in which the registry has nothing to say. Raises StatusError, RegistryError at once if it ends
    the call."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            ended = await stream.receive() is None
        raise RegistryError("the registry keeps it no more" if ended else "an answer that was not asked for")


async def _lease(stream: ClientStream[PublishRequest, PublishAnswer], within: float) -> float:
    """The lease of an answer, in seconds."""
    try:
        async with asyncio.timeout(within):
            answer = await stream.receive()
    except TimeoutError:
        raise RegistryError(f"the registry has not answered for {within:g} s") from None
    if answer is None:
        raise RegistryError("the registry keeps it no more")
    lease = answer.lease_ms / 1000
    if not LEAST_LEASE <= lease <= GREATEST_LEASE:
        raise RegistryError(f"a lease of {lease:g} s: want {LEAST_LEASE:g} to {GREATEST_LEASE:g}")
    return lease


class Tellings:
    """Puts answers together, and bounds what a registry may have a client hold."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._begun = False
        self._within = False  # a telling of all that has more
        self._gathered: list[Entry] = []  # of it
        self._sizes: dict[str, int] = {}
        self._bytes = 0

    def take(self, answer: WatchAnswer) -> None:
        """Raises RegistryError for what is wrong with an answer."""
        kind, every = answer.kind, answer.kind == ALL
        if kind not in (CHANGE, ALL, PARTIAL):
            raise RegistryError(f"an answer of kind {kind}, which there is not")
        if not self._begun and kind == CHANGE:
            raise RegistryError("a change ahead of all that there is")
        if self._within and not every:
            raise RegistryError("a change between parts of all that there is")
        if every and not self._within:
            self._sizes.clear()
            self._bytes = 0
        came = [Entry(one.id, one.record) for one in answer.came]
        for one in came:
            if not is_name(one.id, ID_BYTES) or len(one.data) > MOST_BYTES:
                wrong = f"an entry with an id of {len(one.id.encode())} bytes and a record of {len(one.data)}"
                raise RegistryError(
                    f"{wrong}: want a name of at most {ID_BYTES} bytes and a record of at most {MOST_BYTES}"
                )
            self._bytes += len(one.data) - self._sizes.get(one.id, 0)
            self._sizes[one.id] = len(one.data)
        for ident in answer.went:
            self._bytes -= self._sizes.pop(ident, 0)
        if len(self._sizes) > MOST_KEYS or self._bytes > MOST_TOTAL:
            there = f"{len(self._sizes)} entries of {self._bytes} bytes"
            raise RegistryError(f"{there}, at most {MOST_KEYS} of {MOST_TOTAL}")
        self._begun, self._within = True, every and answer.more
        if not every:
            self._watcher.change(came, answer.went)
            return
        self._gathered += came
        if len(self._gathered) > MOST_KEYS:
            raise RegistryError(f"more than {MOST_KEYS} entries")
        if not answer.more:
            whole, self._gathered = self._gathered, []
            self._watcher.all(whole)
