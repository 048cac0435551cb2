"""What publishes where a server is found, and how a server has it do that."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .server import Server

WITHDRAWN_WITHIN = 5.0  # seconds that a server which stops waits
CLOSED_WITHIN = 1.0  # and one that is closed


class Registrar(Protocol):
    """Publishes where a server is found: `trunkcall.registry` has one. Used on the server's loop."""

    def publish(self, server: Server, /) -> None:
        """Called when the server listens, and again when it listens on more or has more services: it has the addresses
        and the services. It must not wait for the registry. What it raises comes out of `listen`, or is logged if the
        server did not just listen."""
        ...

    def withdraw(self) -> Coroutine[Any, Any, None]:
        """Takes back what was published, once, when the server is about to stop. Calls go on meanwhile. It is cancelled
        when that takes too long."""
        ...


class Publishing:
    """How a server is published and withdrawn."""

    def __init__(self, registrar: Registrar | None, log: logging.Logger) -> None:
        self.registrar = registrar
        self._log = log
        self._task: asyncio.Task[None] | None = None
        self._server: Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def publish(self, server: Server) -> None:
        """Of a server that listens. Raises what the registrar does."""
        if self.registrar is not None:
            self._loop = asyncio.get_running_loop()
            self.registrar.publish(server)
            self._server = server

    def registered(self) -> None:
        """Publishes the server again, which may have more services now, if it was published. From any thread."""
        if self._server is not None and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._publish_again, self._server)

    def _publish_again(self, server: Server) -> None:
        if self._task is None and server.addresses:
            try:
                self.publish(server)
            except Exception as error:
                self._log.warning("the server was not published again in a registry: %s", error)

    def begin(self) -> None:
        """Withdraws it, once."""
        if self.registrar is not None and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._withdraw(self.registrar))

    async def _withdraw(self, registrar: Registrar) -> None:
        try:
            async with asyncio.timeout(WITHDRAWN_WITHIN):
                await registrar.withdraw()
        except Exception as error:
            why = f"it took more than {WITHDRAWN_WITHIN:g} s" if isinstance(error, TimeoutError) else error
            self._log.warning("the server was not withdrawn from a registry: %s", why)

    async def done(self, unless: asyncio.Event) -> None:
        """Returns when that is done, or the event is set."""
        self.begin()
        if self._task is not None:
            other = asyncio.ensure_future(unless.wait())
            await asyncio.wait([self._task, other], return_when=asyncio.FIRST_COMPLETED)
            other.cancel()

    async def end(self) -> None:
        """Of a server that is closed."""
        self.begin()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=CLOSED_WITHIN)
            self._task.cancel()
            await asyncio.wait([self._task])
