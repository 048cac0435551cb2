"""The server: listeners, connections, the methods that are served."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from types import TracebackType
from typing import Any, Self

from .adapt import Served
from .codec import Codec
from .interceptor import Interceptor
from .method import Handler
from .method import Method as PublicMethod
from .options import (
    DRAIN_GRACE,
    KEEPALIVE_TIMEOUT,
    RUNNING_HANDLERS,
    SERVER_KEEPALIVE,
    Limits,
    codec_table,
    session_config,
)
from .serving import ServerEndpoint
from .transport import ALPN_HTTP1, NOTHING_SAID, Connection, Listener, prepared
from .wire import Load, Method

_CUT_OFF = 1.0  # seconds that peers have to hear that their calls were cut off


class Server:
    """Owns listeners and the handlers of methods. Belongs to the event loop that runs when it first listens, and is
    used from that loop's thread only; methods may be registered before."""

    def __init__(
        self,
        *,
        tls: ssl.SSLContext | None = None,
        allow_cleartext: bool = False,
        origins: Sequence[str] = (),
        native_only: bool = False,
        interceptors: Sequence[Interceptor] = (),
        limits: Limits | None = None,
        running_handlers: int = RUNNING_HANDLERS,
        keepalive: float = SERVER_KEEPALIVE,
        keepalive_timeout: float = KEEPALIVE_TIMEOUT,
        codecs: Iterable[Codec] = (),
        executor: Executor | None = None,
        logger: logging.Logger | None = None,
    ) -> None:
        """With `tls`, whose ALPN is set, cleartext is refused unless `allow_cleartext`. Web pages of `origins`, such as
        "https://app.example.com", may open WebSockets besides those of the server's own host and port; "*" stands for
        all; with `native_only` there are no WebSockets. `running_handlers` bounds how many handlers run at once.
        `codecs` are those beside Protobuf and raw. `executor` runs handlers that are plain functions, by default the
        loop's. After `keepalive` seconds without input a client is asked for a sign of life, 0: never; it is given up
        `keepalive_timeout` seconds later. Raises ValueError, TypeError."""
        if isinstance(origins, str):
            raise TypeError("origins are several: a list, not a text")
        self._origins = None if native_only else tuple(origins)
        self._tls = None if tls is None else prepared(tls, *([] if native_only else [ALPN_HTTP1]))
        self._allow_cleartext = allow_cleartext
        self.interceptors = tuple(interceptors)
        self.codecs = codec_table(codecs)
        self.executor = executor
        self.logger = logger or logging.getLogger("trunkcall")
        self._load = Load(max(running_handlers, 1))
        self._config = session_config(limits or Limits(), self.codecs, keepalive, keepalive_timeout, self._load)
        self._methods: dict[bytes, Method] = {}
        self._listeners: list[Listener] = []
        self._addresses: list[str] = []
        self._connections: dict[ServerEndpoint, None] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._stopped: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that the server belongs to. Raises RuntimeError in any other."""
        running = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = running
            self._stopped = running.create_future()
        elif running is not self._loop:
            raise RuntimeError("this server belongs to another event loop")
        return running

    # Methods.

    def register(self, *handlers: Handler) -> None:
        """Serves methods, also on connections that are open. Raises ValueError for a method that is served already,
        TypeError for what is no Handler."""
        for handler in handlers:
            if not isinstance(handler, Handler):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"register takes what a method's `handler` returns, not {handler!r}")
            method = handler.method
            if method.wire_name in self._methods:
                raise ValueError(f"method {method.name} is registered already")
            served = Served(handler, self.codecs, self.executor)
            self._methods[method.wire_name] = Method(method.wire_name, method.kind.takes_one, served)

    @property
    def methods(self) -> list[PublicMethod[Any, Any]]:
        """The methods that are served, by name."""
        return sorted((method.target.method for method in self._methods.values()), key=lambda method: method.name)

    @property
    def services(self) -> list[str]:
        """The names of the services that have a method, sorted."""
        return sorted({method.name.strip("/").rpartition("/")[0] for method in self.methods})

    # Listening.

    async def listen(self, where: str) -> str:
        """Listens on HOST:PORT, port 0 for any free one, or unix:PATH, and returns the address in the same form. Raises
        OSError, ValueError; RuntimeError once the server was stopped."""
        loop = self.loop
        if self._stopping:
            raise RuntimeError("the server has been stopped")
        listener = Listener(loop, self._accept, self._turned_away, self._tls, self._allow_cleartext, self._origins)
        try:
            await listener.start(where)
        except OSError as error:
            self.logger.error("cannot listen on %s: %s", where, error)
            raise
        self._listeners.append(listener)
        self._addresses.append(str(listener.address))
        self.logger.info("listening on %s", listener.address)
        return str(listener.address)

    @property
    def addresses(self) -> list[str]:
        """The addresses that are listened on."""
        return list(self._addresses)

    @property
    def port(self) -> int:
        """The port of the first TCP listener, 0 without one."""
        return next((listener.address.port for listener in self._listeners if not listener.address.path), 0)

    @property
    def running(self) -> int:
        """The number of handlers that run, those included whose call was ended already."""
        return self._load.running

    @property
    def connections(self) -> int:
        """The number of connections."""
        return len(self._connections)

    def _accept(self, since: int) -> Connection:
        return Connection(
            self.loop,
            ServerEndpoint(self),
            initiator=False,
            config=self._config,
            methods=self._methods,
            since=since,
        )

    def _turned_away(self, remote: str, why: str) -> None:
        level = logging.DEBUG if why is NOTHING_SAID else logging.INFO
        self.logger.log(level, "connection of %s turned away: %s", remote or "a client", why)

    def connected(self, endpoint: ServerEndpoint) -> None:
        self._connections[endpoint] = None
        self.logger.debug("connected: %s", endpoint.connection.remote)
        if self._stopping:
            endpoint.connection.drain()

    def disconnected(self, endpoint: ServerEndpoint, why: str) -> None:
        self._connections.pop(endpoint, None)
        self.logger.debug("disconnected: %s: %s", endpoint.connection.remote, why)

    # Stopping.

    async def stop(self, grace: float | None = DRAIN_GRACE) -> bool:
        """Ends the server without losing a call: stops listening, asks its peers to open no more calls, waits until
        those that run are answered, and closes. What is left after `grace` seconds, None: never, is cut off. Returns
        whether nothing was. Raises RuntimeError in a handler of the server."""
        self._begin_stop()
        for endpoint in list(self._connections):
            endpoint.connection.drain()
        left = await self._gone(grace)
        if left:
            for endpoint in left:
                endpoint.connection.grace_over()
            await self._gone(_CUT_OFF)
        await self.close()
        return not left

    async def close(self) -> None:
        """Ends the server at once: running calls lose their connection and their handlers are cancelled. Returns
        when the handlers have. Raises RuntimeError in one of them."""
        self._begin_stop()
        for endpoint in list(self._connections):
            endpoint.connection.abort("the server has been stopped")
        await self._gone(None)
        if self.tasks:
            await asyncio.wait(list(self.tasks))
        await asyncio.sleep(0)  # for the transports' own last callbacks
        if self._stopped is not None and not self._stopped.done():
            self._stopped.set_result(None)

    async def wait(self) -> None:
        """Waits until the server has been stopped."""
        loop = self.loop
        await asyncio.shield(self._stopped or loop.create_future())

    async def _gone(self, seconds: float | None) -> list[ServerEndpoint]:
        """Waits until all connections are gone; returns those that are not in time."""
        waiting = [endpoint.gone for endpoint in self._connections]
        if waiting:
            await asyncio.wait(waiting, timeout=seconds)
        return list(self._connections)

    def _begin_stop(self) -> None:
        _ = self.loop
        if asyncio.current_task() in self.tasks:
            raise RuntimeError("a handler cannot wait for the end of its own server: leave that to another task")
        self._stopping = True
        for listener in self._listeners:
            listener.close()
        self._listeners = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.stop()
        else:
            await self.close()
