"""The client: connections to one target, and calls to methods there."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from asyncio import get_running_loop
from collections.abc import Coroutine, Iterable, Sequence
from concurrent.futures import Executor
from contextvars import Context
from types import TracebackType
from typing import Any, Self, cast

from .calling import Calling, Calls
from .codec import PROTOBUF, Codec
from .compression import GZIP, Compressions, Packing
from .connection import Connection, end_calls
from .interceptor import Interceptor
from .line import ClientEnd, Line
from .memory import check_memory
from .options import (
    CLIENT_KEEPALIVE,
    KEEPALIVE_TIMEOUT,
    RUNNING_HANDLERS,
    WAITING_CALLS,
    Limits,
    codec_table,
    session_config,
)
from .repeating import Repeating
from .serving import Registry, Serving
from .status import failure
from .transport import Connection as Carrier
from .transport import parse_target, prepared
from .wire import Code, Delivery, Load

CLOSED = "the client is closed"
_STAY = 64  # calls made over one connection before another is looked at


class Client(Calls, Registry):
    """Owns connections to one target and calls methods there. What is registered with it, its servers can call over
    those connections.

    Belongs to the event loop that runs when it is first used, and must be used from that loop's thread only."""

    def __init__(
        self,
        target: str,
        *,
        connections: int = 1,
        codec: Codec = PROTOBUF,
        codecs: Iterable[Codec] = (),
        compression: Compressions | None = None,
        decompression: Compressions = GZIP,
        tls: ssl.SSLContext | None = None,
        server_hostname: str | None = None,
        interceptors: Sequence[Interceptor] = (),
        reverse_interceptors: Sequence[Interceptor] = (),
        limits: Limits | None = None,
        repeat: bool = True,
        waiting_calls: int = WAITING_CALLS,
        running_handlers: int = RUNNING_HANDLERS,
        memory: int | None = None,
        executor: Executor | None = None,
        keepalive: float = CLIENT_KEEPALIVE,
        keepalive_timeout: float = KEEPALIVE_TIMEOUT,
        logger: logging.Logger | None = None,
    ) -> None:
        """`target` is HOST:PORT, unix:PATH, ws://HOST:PORT/PATH or wss://HOST:PORT/PATH, or several with commas between
        them, tried in turn. Connections are opened with the first calls, or by `connect`.

        `codec` is that of the calls that name no other, `codecs` are those that they may name. Messages are sent with
        the first of `compression` that the server accepts; unless said, requests are sent plain. `decompression` is
        what is accepted, (): nothing. `tls` is used as it is
        but for its ALPN, which is set; `server_hostname` is the name that the server's certificate must show, if not
        the target's. `interceptors` wrap the calls that the client makes, `reverse_interceptors` those that it serves;
        `running_handlers` bounds how many of those run at once, `memory` the bytes held for its servers, by default a
        quarter of what the process may have and at most 1 GiB, `executor` runs them if they are plain functions, by
        default the loop's. `waiting_calls` bounds how many calls wait for a free slot. A unary call that provably was
        not run is made once more, with `repeat` (spec/client.md). After `keepalive` seconds
        without input the server is asked for a sign of life, 0: never; it is given up `keepalive_timeout` seconds
        later. Raises ValueError, TypeError; ImportError for a WebSocket without its library."""
        table = codec_table([*codecs, codec])
        packing = Packing(compression, decompression)
        super().__init__(Calling(codec, table, tuple(interceptors), packing, waiting_calls, Repeating(repeat)))
        self._addresses = parse_target(target)
        self._target = target
        self._tls = None if tls is None else prepared(tls)
        self._server_hostname = server_hostname
        self._logger = logger or logging.getLogger("trunkcall")
        load = Load(max(running_handlers, 1), check_memory(memory))
        self._serving = Serving(table, reverse_interceptors, packing, executor, self._logger, load)
        self._config = session_config(
            limits or Limits(),
            table,
            packing.accepted,
            keepalive,
            keepalive_timeout,
            load,
        )
        self._lines = [Line(self) for _ in range(max(connections, 1))]
        self._live: dict[ClientEnd, None] = {}  # every connection that is not gone
        self._tasks: set[asyncio.Task[Any]] = set()
        self._several = len(self._lines) > 1 and self._plain
        self._turn = 0
        self._uses = 0
        self._change: asyncio.Future[None] | None = None

    @property
    def target(self) -> str:
        return self._target

    @property
    def secure(self) -> bool:
        return self._tls is not None or all(address.url.startswith("wss:") for address in self._addresses)

    @property
    def connections(self) -> list[Connection]:
        """The connections that are up: those over which the server can call, and can be called."""
        return [end.caller for end in self._live if not end.young]

    # Opening and closing.

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The loop that the client belongs to. Raises RuntimeError in any other."""
        running = get_running_loop()
        if self._bound is None:
            self._bound = running
        elif running is not self._bound:
            state = "which is closed" if self._bound.is_closed() else "and must be used there"
            raise RuntimeError(f"this client of {self.target} belongs to another event loop, {state}")
        return running

    async def connect(self) -> None:
        """Opens all connections that are not open and waits for the server's first bytes. Raises StatusError:
        UNAVAILABLE, `not_sent`."""
        self._check_open()
        await asyncio.gather(*(self._connect(line) for line in self._lines))

    async def _connect(self, line: Line) -> None:
        for _ in self._addresses:
            connection = await line.open()
            if connection is None:
                break
            await asyncio.shield(cast(ClientEnd, connection.end).greeted)
            if line.connection is not None:
                return
        if line.connection is None:
            self._check_open()
            raise failure(Code.UNAVAILABLE, line.last or "the connection was lost", Delivery.NOT_SENT)

    async def close(self) -> None:
        """Ends the client: calls that run end CANCELLED, connections are closed, handlers are cancelled. Returns when
        all are done. Raises RuntimeError in one of its handlers."""
        _ = self._loop
        self._serving.not_in_handler("client")
        self._closed = True
        self._lines_changed()
        self._try_again()
        for task in list(self._tasks):
            task.cancel()
        gone = [end.gone for end in self._live]
        for end in list(self._live):
            end_calls(end.connection, Code.CANCELLED, CLOSED)
        pending = [*gone, *self._tasks]
        if pending:
            await asyncio.wait(pending)
        await self._serving.end()
        await asyncio.sleep(0)  # for the transports' own last callbacks

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs work of the client's own, which `close` waits for, in an empty context: what it opens outlives the call
        that asked for it, whose variables and deadline are none of its business."""
        task = self._loop.create_task(work, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _check_open(self) -> None:
        _ = self._loop
        if self._closed:
            raise failure(Code.CANCELLED, CLOSED, Delivery.NOT_SENT)

    # Connections.

    def _pick(self) -> Carrier | None:
        """See Caller; with several connections the less loaded of two."""
        lines = self._lines
        if len(lines) == 1:
            return lines[0].connection
        self._uses += 1
        connection = lines[self._turn].connection
        if connection is not None and self._uses % _STAY:
            return connection
        for _ in lines:
            self._turn = (self._turn + 1) % len(lines)
            other = lines[self._turn].connection
            if other is None:
                lines[self._turn].reopen()
            elif connection is None or other.session.caller.open <= connection.session.caller.open:
                return other
        return connection

    async def _connected(self, wait_for_ready: bool) -> Carrier:
        while True:
            self._check_open()
            connection = self._pick()
            if connection is not None:
                return connection
            line = self._lines[self._turn]
            connection = await line.open()
            if connection is not None:
                return connection
            if self._closed:
                continue
            if not wait_for_ready:
                raise failure(Code.UNAVAILABLE, line.last or "the connection was lost", Delivery.NOT_SENT)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(line.pause):
                    await self._changed()

    def _retire(self, connection: Carrier) -> None:
        cast(ClientEnd, connection.end).line.retire(connection)

    @property
    def _elsewhere(self) -> bool:
        return len(self._lines) > 1

    @property
    def _trouble(self) -> str:
        line = self._lines[0]
        return "" if line.connection is not None else line.last

    def _lines_changed(self) -> None:
        """A line has lost its connection or has a new one."""
        alone = len(self._lines) == 1 and self._plain and not self._closed
        self._quick = self._lines[0].connection if alone else None
        if self._change is not None:
            self._change.set_result(None)
            self._change = None

    async def _changed(self) -> None:
        if self._change is None:
            self._change = self._loop.create_future()
        await asyncio.shield(self._change)
