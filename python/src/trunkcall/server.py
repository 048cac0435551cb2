"""The server: listeners, connections, the methods that are served."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from types import TracebackType
from typing import Self

from .calling import Calling
from .codec import PROTOBUF, Codec
from .compression import GZIP, Compressions, Packing
from .connection import Connection, End
from .interceptor import Interceptor
from .memory import check_memory
from .options import (
    DRAIN_GRACE,
    KEEPALIVE_TIMEOUT,
    RUNNING_HANDLERS,
    SERVER_KEEPALIVE,
    WAITING_CALLS,
    Limits,
    codec_table,
    session_config,
)
from .repeating import Repeating
from .serving import Registry, Serving
from .transport import ALPN_HTTP1, NOTHING_SAID, WITHOUT_LIBRARY, Listener, prepared
from .transport import Connection as Carrier
from .wire import Load

_CUT_OFF = 1.0  # seconds that peers have to hear that their calls were cut off


class ServerEnd(End):
    """A server's end of one connection."""

    def __init__(self, server: Server) -> None:
        super().__init__(server._serving, server._calling, server._loop)
        self.server = server

    def connected(self) -> None:
        self.server._connected(self)

    def disconnected(self, why: str) -> None:
        self.server._disconnected(self, why)
        super().disconnected(why)

    def failed(self, kind: str, text: str) -> None:
        super().failed(kind, text)
        self.server._logger.info("connection of %s ended: %s", self.connection.remote, text)

    def goes_away(self, reason: int, text: str) -> None:
        if reason:
            self.server._logger.info("peer %s ends the connection: %s", self.connection.remote, text)
        super().goes_away(reason, text)


class Server(Registry):
    """Owns listeners and the handlers of methods; calls its clients over their connections (`connections`, and in a
    handler `call.connection`). Belongs to the event loop that runs when it first listens, and is used from that loop's
    thread only; methods may be registered before."""

    def __init__(
        self,
        *,
        tls: ssl.SSLContext | None = None,
        allow_cleartext: bool = False,
        origins: Sequence[str] = (),
        native_only: bool = False,
        interceptors: Sequence[Interceptor] = (),
        reverse_interceptors: Sequence[Interceptor] = (),
        limits: Limits | None = None,
        running_handlers: int = RUNNING_HANDLERS,
        memory: int | None = None,
        repeat: bool = True,
        waiting_calls: int = WAITING_CALLS,
        keepalive: float = SERVER_KEEPALIVE,
        keepalive_timeout: float = KEEPALIVE_TIMEOUT,
        codec: Codec = PROTOBUF,
        codecs: Iterable[Codec] = (),
        compression: Compressions | None = None,
        decompression: Compressions = GZIP,
        executor: Executor | None = None,
        logger: logging.Logger | None = None,
    ) -> None:
        """With `tls`, whose ALPN is set, cleartext is refused unless `allow_cleartext`. Web pages of `origins`, such as
        "https://app.example.com", may open WebSockets besides those of the server's own host and port; "*" stands for
        all; with `native_only` there are no WebSockets. `interceptors` wrap the calls that the server serves,
        `reverse_interceptors` those that it makes at its clients. `running_handlers` bounds how many handlers run at
        once, `waiting_calls` how many of its own calls wait for a free slot, `memory` the bytes that it holds for its
        clients, by default a quarter of what the process may have and at most 1 GiB; `repeat` has it make such a call
        again that was refused and may be accepted later (spec/client.md). `codecs` are those beside Protobuf and raw,
        `codec` is that of its own calls. Answers are compressed as their requests were; with `compression` also
        others, with the first that the client accepts, and the server's own calls; with () none are. `decompression` is
        what is accepted, (): nothing. `executor` runs handlers that are plain functions, by default the loop's. After
        `keepalive` seconds without input a client is asked for a sign of life, 0: never; it is given up
        `keepalive_timeout` seconds later. Raises ValueError, TypeError."""
        if isinstance(origins, str):
            raise TypeError("origins are several: a list, not a text")
        self._origins = None if native_only else tuple(origins)
        self._tls = None if tls is None else prepared(tls, *([] if native_only else [ALPN_HTTP1]))
        self._allow_cleartext = allow_cleartext
        self._logger = logger or logging.getLogger("trunkcall")
        table = codec_table([*codecs, codec])
        load = Load(max(running_handlers, 1), check_memory(memory))
        packing = Packing(compression, decompression)
        self._serving = Serving(table, interceptors, packing, executor, self._logger, load)
        self._calling = Calling(codec, table, tuple(reverse_interceptors), packing, waiting_calls, Repeating(repeat))
        self._config = session_config(
            limits or Limits(),
            table,
            packing.accepted,
            keepalive,
            keepalive_timeout,
            load,
        )
        self._listeners: list[Listener] = []
        self._addresses: list[str] = []
        self._connections: dict[ServerEnd, None] = {}
        self._stopping = False
        self._closing = False
        self._stopped: asyncio.Future[None] | None = None
        self._bound: asyncio.AbstractEventLoop | None = None

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The loop that the server belongs to. Raises RuntimeError in any other."""
        running = asyncio.get_running_loop()
        if self._bound is None:
            self._bound = running
            self._stopped = running.create_future()
        elif running is not self._bound:
            raise RuntimeError("this server belongs to another event loop")
        return running

    # Listening.

    async def listen(self, where: str) -> str:
        """Listens on HOST:PORT, port 0 for any free one, or unix:PATH, and returns the address in the same form. Raises
        OSError, ValueError; RuntimeError once the server was stopped."""
        loop = self._loop
        if self._stopping:
            raise RuntimeError("the server has been stopped")
        listener = Listener(loop, self._accept, self._turned_away, self._tls, self._allow_cleartext, self._origins)
        try:
            await listener.start(where)
        except OSError as error:
            self._logger.error("cannot listen on %s: %s", where, error)
            raise
        self._listeners.append(listener)
        self._addresses.append(str(listener.address))
        self._logger.info("listening on %s", listener.address)
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
    def connections(self) -> list[Connection]:
        """The connections that are up: those whose clients can be called."""
        return [end.caller for end in self._connections if not end.young]

    def _accept(self, since: int) -> Carrier:
        return Carrier(
            self._loop,
            ServerEnd(self),
            initiator=False,
            config=self._config,
            methods=self._serving.methods,
            since=since,
        )

    def _turned_away(self, remote: str, why: str) -> None:
        level = {NOTHING_SAID: logging.DEBUG, WITHOUT_LIBRARY: logging.WARNING}.get(why, logging.INFO)
        self._logger.log(level, "connection of %s turned away: %s", remote or "a client", why)

    def _connected(self, end: ServerEnd) -> None:
        self._connections[end] = None
        self._logger.debug("connected: %s", end.connection.remote)
        if self._closing:  # accepted before, and nobody waits for it
            end.connection.abort("the server has been stopped")
        elif self._stopping:
            end.drain()

    def _disconnected(self, end: ServerEnd, why: str) -> None:
        self._connections.pop(end, None)
        self._logger.debug("disconnected: %s: %s", end.connection.remote, why)

    # Stopping.

    async def stop(self, grace: float | None = DRAIN_GRACE) -> bool:
        """Ends the server without losing a call: stops listening, asks its peers to open no more calls, waits until
        those that run are answered and the one-way calls that were accepted are done, and closes. Handlers may still
        call their callers meanwhile. What is left after `grace` seconds, None: never, is cut off. Returns whether
        nothing was. Raises RuntimeError in a handler of the server."""
        self._begin_stop()
        began = self._loop.time()
        for end in list(self._connections):
            end.drain()
        left = await self._gone(grace)
        for end in left:
            end.connection.grace_over()
        if left:
            await self._gone(_CUT_OFF)
        elif accepted := self._serving.accepted():
            rest = None if grace is None else max(grace - (self._loop.time() - began), 0.0)
            await asyncio.wait(accepted, timeout=rest)
        all_done = not left and not self._serving.accepted()
        await self.close()
        return all_done

    async def close(self) -> None:
        """Ends the server at once: running calls lose their connection and their handlers are cancelled. Returns
        when the handlers have. Raises RuntimeError in one of them."""
        self._begin_stop()
        self._closing = True
        for end in list(self._connections):
            end.connection.abort("the server has been stopped")
        await self._gone(None)
        await self._serving.end()
        await asyncio.sleep(0)  # for the transports' own last callbacks
        if self._stopped is not None and not self._stopped.done():
            self._stopped.set_result(None)

    async def wait(self) -> None:
        """Waits until the server has been stopped."""
        loop = self._loop
        await asyncio.shield(self._stopped or loop.create_future())

    async def _gone(self, seconds: float | None) -> list[ServerEnd]:
        """Waits until all connections are gone, also those that come late; returns those that are not in time."""
        until = None if seconds is None else self._loop.time() + seconds
        while self._connections:
            left = None if until is None else max(until - self._loop.time(), 0.0)
            _, waiting = await asyncio.wait([end.gone for end in self._connections], timeout=left)
            if waiting:
                break
        return list(self._connections)

    def _begin_stop(self) -> None:
        _ = self._loop
        self._serving.not_in_handler("server")
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
