"""Publishes a server in a registry (spec/registry.md 5)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence

from trunkcall.backoff import pause
from trunkcall.server import Server

from .record import InvalidRecord, Record, id_of
from .store import Store, Written, check_registry, is_cancelled, why_failed

_GRPC = ("grpc.health.", "grpc.reflection.")
_EVERYWHERE = (":", "0.0.0.0:", "[::]:")


def _stop(task: asyncio.Task[None]) -> None:
    """Once: what is cancelled again would cut its withdrawing short."""
    if not task.cancelling():
        task.cancel()


class Registrar:
    """Publishes one server: it is given to it by `Server(registrar=…)`. Belongs to the server's loop."""

    def __init__(
        self,
        store: Store,
        *,
        names: Sequence[str] = (),
        addresses: Sequence[str] = (),
        id: str = "",
        server_name: str = "",
        weight: int = 1,
        zone: str = "",
        version: str = "",
        attributes: Mapping[str, str] | None = None,
        logger: logging.Logger | None = None,
    ) -> None:
        """- `names` are the services under which the server is found, by default all that it serves when it listens,
          but gRPC's own health and reflection.
        - `addresses` are where it is reached, by default where it listens. They are needed where it listens on all
          addresses of a machine.
        - `id` is which instance it is, by default made of its first address: a server that is started again there
          takes the place of what it left.
        - The others are those of a Record. What is wrong with them is told when the server listens.
        - `logger` is told when the server is published, and why it is not.

        Raises TypeError for what is no Store."""
        check_registry("store", store, "a Store such as Folder(…)", "keep")
        self._store = store
        self._names = tuple(names)
        self._addresses = tuple(addresses)
        self._id = id
        self._server_name = server_name
        self._weight = weight
        self._zone = zone
        self._version = version
        self._attributes = dict(attributes or {})
        self._log = logger or logging.getLogger("trunkcall")
        self._tasks: dict[asyncio.Task[None], list[Written]] = {}  # what each of them keeps
        self._published = asyncio.Event()
        self._server: Server | None = None  # that it publishes
        self._withdrawn = False

    def publish(self, server: Server, /) -> None:
        """See trunkcall.Registrar. Raises ValueError for what cannot be published; RuntimeError for another server
        than before, and once it has withdrawn it."""
        if self._withdrawn:
            raise RuntimeError("a registrar publishes one server, and it was stopped")
        wanted = self.records(server.services, server.addresses)
        if self._server not in (None, server):
            raise RuntimeError("a registrar publishes one server, and it has another")
        self._server = server
        # What stays as it is stays published meanwhile, and is kept as before.
        for task, kept in self._tasks.items():
            if not all(one in wanted for one in kept):
                _stop(task)
        staying = [kept for task, kept in self._tasks.items() if not task.cancelling()]
        new = [one for one in wanted if not any(one in kept for kept in staying)]
        if new:
            before = [task for task in self._tasks if task.cancelling()]
            task = asyncio.get_running_loop().create_task(self._keep(new, before))
            self._tasks[task] = new
            task.add_done_callback(self._tasks.pop)

    async def withdraw(self) -> None:
        """See trunkcall.Registrar."""
        self._withdrawn = True
        tasks = list(self._tasks)
        for task in tasks:
            _stop(task)
        if tasks:
            await asyncio.wait(tasks)

    async def published(self) -> None:
        """Returns once the server was published for the first time."""
        await self._published.wait()

    def records(self, services: Sequence[str], listening: Sequence[str]) -> list[Written]:
        """Those of a server that serves services and listens. Raises ValueError."""
        names = self._names or [one for one in services if not one.startswith(_GRPC)]
        addresses = self._addresses
        if not addresses:
            for one in listening:
                if one.startswith(_EVERYWHERE):
                    text = "which is all addresses of this machine: say by which one it is reached"
                    raise ValueError(f"{one} is listened on, {text}")
            addresses = tuple(one for one in listening if not one.startswith("mem:"))
        if not names:
            raise ValueError("no service to publish: register services before listening, or name them")
        if not addresses:
            raise InvalidRecord("addresses: want 1 to 16 addresses of at most 255 bytes")
        return [self._written(name, addresses) for name in dict.fromkeys(names)]

    def _written(self, name: str, addresses: tuple[str, ...]) -> Written:
        record = Record(
            service=name,
            id=self._id or id_of(addresses[0]),
            addresses=addresses,
            server_name=self._server_name,
            weight=self._weight,
            zone=self._zone,
            version=self._version,
            attributes=self._attributes,
        )
        return Written(record, record.to_bytes())

    async def _keep(self, records: list[Written], before: Sequence[asyncio.Task[None]]) -> None:
        """Until it is cancelled. First what is kept before is to end, whose records may have the same keys."""
        if before:
            await asyncio.wait(before)
        keys = ", ".join(one.record.key for one in records)
        failures, told, there = 0, False, False

        def published() -> None:
            nonlocal there
            there = True
            self._log.info("published in a registry: %s", keys)
            self._published.set()

        while True:
            there = False
            try:
                await self._store.keep(records, published)
                why = "the registry keeps it no more"
            except asyncio.CancelledError:
                if is_cancelled():
                    raise
                why = "it was cancelled"
            except Exception as error:
                why = why_failed(error)
                if is_cancelled():  # this is told of the withdrawing
                    self._log.warning("not withdrawn from a registry in order: %s: %s", keys, why)
                    return
            if is_cancelled():  # and the store returned, having withdrawn
                return
            if there:
                failures, told = 0, False
            failures += 1
            if not told:
                told = True
                named = any(why.startswith(f"{one.record.key}: ") for one in records)
                self._log.warning("not published in a registry: %s", why if named else f"{keys}: {why}")
            await asyncio.sleep(pause(failures))
