"""What a server serves beside its own protocols: those of its user's, and an application of ASGI or WSGI."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, cast

from .protocol import Calls, PortProtocol, Protocol
from .serving import Serving
from .wsgi import as_asgi

if TYPE_CHECKING:
    from .http import Mounted


class Guests:
    """The users' protocols and the application of one server: they start before it listens, and end when it does. Used
    on the server's event loop."""

    def __init__(
        self,
        protocols: Sequence[Protocol],
        application: Callable[..., Any] | None,
        serving: Serving,
        stopping: asyncio.Event,
        max_message: int,
    ) -> None:
        """`stopping` is set when the server takes no more calls."""
        self.mounted: Mounted | None = None  # the application, once it is started
        self._protocols = protocols
        self._application = application
        self._serving = serving
        self._stopping = stopping
        self._max_message = max_message
        self._started = False
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @property
    def on_port(self) -> list[PortProtocol]:
        """Those of the protocols that are spoken on the server's port."""
        return [one for one in self._protocols if isinstance(one, PortProtocol)]

    async def start_protocols(self) -> None:
        if not self._started:
            self._started = True
            for one in self._protocols:
                await one.start(self._calls(one))

    async def start_application(self) -> None:
        """Raises RuntimeError if it cannot start, and if the server was stopped meanwhile."""
        if self._application is None:
            return
        if self.mounted is None:
            from .http import Mounted

            serving = self._serving
            self.mounted = Mounted(self._application, serving.load, self._application_failed, serving.keep)
        await self.mounted.start()
        if self._stopping.is_set():
            raise RuntimeError("the server has been stopped")

    def _application_failed(self, text: str, error: BaseException | None) -> None:
        self._serving.journal.log(logging.ERROR, "%s", text, error=error)

    def _calls(self, protocol: Protocol) -> Calls:
        return Calls(protocol.name, self._serving, self._stopping, self._max_message)

    def connected(self, protocol: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A connection to the server's port has begun as those of `protocol` do."""
        task = asyncio.get_running_loop().create_task(self._serve(protocol, reader, writer))
        self._connections[task] = writer

    async def _serve(self, protocol: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        journal = self._serving.journal
        try:
            await protocol.serve(reader, writer, self._calls(protocol))
        except ConnectionError as error:
            journal.log(logging.DEBUG, "connection of protocol %s ended: %s", protocol.name, error)
        except Exception as error:
            journal.log(logging.ERROR, "protocol %s failed", protocol.name, error=error)
        finally:
            writer.close()
            del self._connections[cast("asyncio.Task[None]", asyncio.current_task())]

    async def stop_protocols(self) -> None:
        for one in self._protocols if self._started else ():
            try:
                await one.stop()
            except Exception:
                self._serving.logger.exception("protocol %s could not be stopped", one.name)

    def cancel_connections(self) -> None:
        for task in list(self._connections):
            task.cancel()

    async def end(self) -> None:
        """Returns when the connections of users' protocols are done, which were cancelled, and the application is."""
        if self._connections:
            await asyncio.wait(list(self._connections))
        if self.mounted is not None:
            await self.mounted.stop()


def chosen_application(
    asgi: Callable[..., Any] | None, wsgi: Callable[..., Any] | None, executor: Executor | None, lacks: str | None
) -> Callable[..., Any] | None:
    """The application of ASGI that was given, or that is made of one of WSGI. `lacks`: why no HTTP is served, None if
    it is. Raises ValueError for two of them, and for one where no HTTP is served."""
    if asgi is not None and wsgi is not None:
        raise ValueError("options asgi and wsgi: one application was given to each, and there is one place")
    application = asgi if wsgi is None else as_asgi(wsgi, executor)
    if application is not None and lacks is not None:
        option = "asgi" if wsgi is None else "wsgi"
        raise ValueError(f"option {option}: an application was given, and no HTTP is served: {lacks}")
    return application
