"""The client: connections to one target, and calls to methods there."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from asyncio import get_running_loop
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, cast, overload

from .clientstream import ClientStream
from .codec import PROTOBUF, Codec
from .context import current, deadline_of
from .interceptor import Answer, Call, Interceptor, chain
from .line import ClientEndpoint, Line, end_calls
from .method import BidiMethod, ClientStreamMethod, Method, ServerStreamMethod, UnaryMethod
from .options import CLIENT_KEEPALIVE, KEEPALIVE_TIMEOUT, WAITING_CALLS, Limits, codec_table, session_config
from .status import Metadata, StatusError, failure, pairs
from .transport import Connection, clock, parse_target, prepared
from .unarycall import Attempt, Begun, invoke
from .wire import Code, Delivery, LimitError, Load, OutgoingCall

Req = TypeVar("Req")
Resp = TypeVar("Resp")

CLOSED = "the client is closed"
_STAY = 64  # calls made over one connection before another is looked at


class Client:
    """Owns connections to one target and calls methods there.

    Belongs to the event loop that runs when it is first used, and must be used from that loop's thread only."""

    def __init__(
        self,
        target: str,
        *,
        connections: int = 1,
        codec: Codec = PROTOBUF,
        tls: ssl.SSLContext | None = None,
        server_hostname: str | None = None,
        interceptors: Sequence[Interceptor] = (),
        limits: Limits | None = None,
        waiting_calls: int = WAITING_CALLS,
        keepalive: float = CLIENT_KEEPALIVE,
        keepalive_timeout: float = KEEPALIVE_TIMEOUT,
        logger: logging.Logger | None = None,
    ) -> None:
        """`target` is HOST:PORT, unix:PATH, ws://HOST:PORT/PATH or wss://HOST:PORT/PATH, or several with commas between
        them, tried in turn. Connections are opened with the first calls, or by `connect`.

        `tls` is used as it is but for its ALPN, which is set; `server_hostname` is the name that the server's
        certificate must show, if not the target's. `waiting_calls` bounds how many calls wait for a free slot.
        After `keepalive` seconds without input the server is asked for a sign of life, 0: never; it is given up
        `keepalive_timeout` seconds later. Raises ValueError, TypeError; ImportError for a WebSocket without its
        library."""
        self.target = target
        self.addresses = parse_target(target)
        self.codec = codec
        self.tls = None if tls is None else prepared(tls)
        self.server_hostname = server_hostname
        self.interceptors = tuple(interceptors)
        self.logger = logger or logging.getLogger("trunkcall")
        self.codecs = codec_table([codec])
        self.config = session_config(limits or Limits(), self.codecs, keepalive, keepalive_timeout, Load())
        self.closed = False
        self.lines = [Line(self) for _ in range(max(connections, 1))]
        self.live: dict[ClientEndpoint, None] = {}  # every connection that is not gone
        self.waiting: dict[asyncio.Future[OutgoingCall | None], Callable[[Connection], OutgoingCall | None]] = {}
        self._waiting_limit = waiting_calls
        self._tasks: set[asyncio.Task[Any]] = set()
        self._bound: asyncio.AbstractEventLoop | None = None
        self._quick: Connection | None = None  # for calls that nobody intercepts
        self._several = len(self.lines) > 1 and not self.interceptors
        self._turn = 0
        self._uses = 0
        self._change: asyncio.Future[None] | None = None

    # Opening and closing.

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
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
        await asyncio.gather(*(self._connect(line) for line in self.lines))

    async def _connect(self, line: Line) -> None:
        for _ in self.addresses:
            connection = await line.open()
            if connection is None:
                break
            await asyncio.shield(cast(ClientEndpoint, connection.endpoint).greeted)
            if line.connection is not None:
                return
        if line.connection is None:
            self._check_open()
            raise failure(Code.UNAVAILABLE, line.last or "the connection was lost", Delivery.NOT_SENT)

    async def close(self) -> None:
        """Ends the client: calls that run end CANCELLED, connections are closed. Returns when all are."""
        loop = self.loop
        self.closed = True
        self.lines_changed()
        self.tell_waiting(None)
        for task in list(self._tasks):
            task.cancel()
        gone = [endpoint.gone for endpoint in self.live]
        for endpoint in list(self.live):
            end_calls(endpoint.connection, CLOSED)
        pending = [*gone, *self._tasks]
        if pending:
            await asyncio.wait(pending)
        await asyncio.sleep(0)  # for the transports' own last callbacks
        del loop

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs work of the client's own, which `close` waits for."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _check_open(self) -> asyncio.AbstractEventLoop:
        loop = self.loop
        if self.closed:
            raise failure(Code.CANCELLED, CLOSED, Delivery.NOT_SENT)
        return loop

    # Calls.

    async def call(
        self,
        method: UnaryMethod[Req, Resp],
        request: Req,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        metadata: Metadata | None = None,
        codec: Codec | None = None,
        answer: Answer | None = None,
        wait_for_ready: bool = False,
    ) -> Resp:
        """Calls a unary method. `timeout` is in seconds; within a handler the handler's own deadline counts as well.
        `answer` is filled in with what came beside the response. With `wait_for_ready` the call waits for a
        connection until its deadline instead of failing when none can be opened.

        Raises StatusError. A call that provably was not run is repeated once. Cancelling the task cancels the call."""
        connection = self._quick
        if connection is None and self._several:
            connection = self.pick()
        if connection is None or metadata is not None or codec is not None or answer is not None or self.waiting:
            return cast(Resp, await self._call(method, request, timeout, metadata, codec, answer, wait_for_ready))
        loop = get_running_loop()
        if loop is not self._bound:
            loop = self.loop
        binding = method.binding(self.codec)
        try:
            data = binding.encode_request(request)
        except Exception as error:
            raise unencodable(self.codec, error, method, request) from error
        session = connection.session
        deadline = 0
        if timeout is not None or current.get() is not None:
            deadline = deadline_of(timeout)
            if deadline:
                session.now = clock()
        future: asyncio.Future[None] = loop.create_future()
        try:
            out = session.unary(method.wire_name, data, future, self.codec.number, deadline)
        except LimitError as error:
            raise failure(Code.RESOURCE_EXHAUSTED, str(error), Delivery.NOT_SENT) from None
        if out is None:
            return cast(Resp, await self._call(method, request, timeout, None, None, None, wait_for_ready))
        if not connection.scheduled:
            connection.schedule()
        try:
            await future
        except asyncio.CancelledError:
            out.cancel()
            out.discard()
            connection.schedule()
            raise
        message = out.message
        if message is not None:
            try:
                return cast(Resp, binding.decode_response(message))
            except Exception as error:
                raise undecodable(self.codec, error) from error
        attempt = Attempt(self, method, data, self.codec, deadline, None, wait_for_ready)
        attempt.adopt(out, connection, None)
        return cast(Resp, await invoke(attempt))

    def begin(self, method: Method[Any, Any], data: bytes, deadline: int) -> Begun | None:
        """Opens a unary call in PROTOBUF without metadata, if nobody intercepts it and it can be opened now. For stubs;
        `deadline` in µs of `clock`, 0: none. Raises StatusError."""
        connection = self._quick
        if connection is None and self._several:
            connection = self.pick()
        if connection is None or self.waiting or self.codec is not PROTOBUF:
            return None
        loop = get_running_loop()
        if loop is not self._bound:
            loop = self.loop
        session = connection.session
        if deadline:
            session.now = clock()
        future: asyncio.Future[None] = loop.create_future()
        try:
            out = session.unary(method.wire_name, data, future, 1, deadline)
        except LimitError as error:
            raise failure(Code.RESOURCE_EXHAUSTED, str(error), Delivery.NOT_SENT) from None
        if out is None:
            return None
        if not connection.scheduled:
            connection.schedule()
        return out, connection, future

    async def _call(
        self,
        method: Method[Any, Any],
        request: Any,
        timeout: float | None,  # noqa: ASYNC109
        metadata: Metadata | None,
        codec: Codec | None,
        answer: Answer | None,
        wait_for_ready: bool,
    ) -> Any:
        self._check_open()

        async def last(call: Call) -> Any:
            data = self.encode(method, call.request, codec)
            deadline = deadline_of(call.timeout)
            attempt = Attempt(self, method, data, codec or self.codec, deadline, call.metadata, wait_for_ready)
            attempt.answer = call.answer
            return await invoke(attempt)

        call = Call(method, pairs(metadata), request, timeout, answer=answer or Answer())
        return await chain(self.interceptors, last)(call)

    def encode(self, method: Method[Any, Any], request: Any, codec: Codec | None) -> bytes:
        """A request as bytes. Raises StatusError."""
        codec = codec or self.codec
        try:
            return method.binding(codec).encode_request(request)
        except Exception as error:
            raise unencodable(codec, error, method, request) from error

    @overload
    def open(
        self,
        method: ServerStreamMethod[Req, Resp],
        request: Req,
        *,
        timeout: float | None = None,
        metadata: Metadata | None = None,
        codec: Codec | None = None,
        wait_for_ready: bool = False,
    ) -> ClientStream[Req, Resp]: ...

    @overload
    def open(
        self,
        method: ClientStreamMethod[Req, Resp] | BidiMethod[Req, Resp],
        *,
        timeout: float | None = None,
        metadata: Metadata | None = None,
        codec: Codec | None = None,
        wait_for_ready: bool = False,
    ) -> ClientStream[Req, Resp]: ...

    def open(
        self,
        method: Method[Req, Resp],
        request: Req | None = None,
        *,
        timeout: float | None = None,
        metadata: Metadata | None = None,
        codec: Codec | None = None,
        wait_for_ready: bool = False,
    ) -> ClientStream[Req, Resp]:
        """Opens a call that is not unary; what goes wrong is told by the stream. A server-streaming method takes its
        request here. The stream must be received to its end, cancelled, or used as a context manager."""
        self._check_open()
        stream = ClientStream[Req, Resp](self, method, codec or self.codec)
        call = Call(method, pairs(metadata), request, timeout)
        stream.begin(self.interceptors, call, timeout, deadline_of(timeout), wait_for_ready)
        return stream

    # Connections, slots.

    def pick(self) -> Connection | None:
        """A connection for the next call, with several the less loaded of two; None if there is none now."""
        lines = self.lines
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

    async def connected(self, wait_for_ready: bool) -> Connection:
        """A connection, opened if need be. Raises StatusError: UNAVAILABLE, `not_sent`."""
        while True:
            self._check_open()
            connection = self.pick()
            if connection is not None:
                return connection
            line = self.lines[self._turn]
            connection = await line.open()
            if connection is not None:
                return connection
            if self.closed:
                continue
            if not wait_for_ready:
                raise failure(Code.UNAVAILABLE, line.last or "the connection was lost", Delivery.NOT_SENT)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(line.pause):
                    await self.line_change()

    async def slot(self, opener: Callable[[Connection], OutgoingCall | None]) -> OutgoingCall | None:
        """Waits in turn until `opener` finds a slot; None when the connections have changed. Raises StatusError when
        too many wait."""
        if len(self.waiting) >= self._waiting_limit:
            text = f"waiting calls have reached their limit of {self._waiting_limit}"
            raise failure(Code.RESOURCE_EXHAUSTED, text, Delivery.NOT_SENT)
        future: asyncio.Future[OutgoingCall | None] = self.loop.create_future()
        self.waiting[future] = opener
        try:
            return await future
        finally:
            self.waiting.pop(future, None)
            if not future.cancelled():
                future.exception()  # seen, should the task be cancelled in this turn

    def tell_waiting(self, connection: Connection | None) -> None:
        """Slots are free on a connection; None: the connections have changed."""
        while self.waiting:
            future, opener = next(iter(self.waiting.items()))
            opened = None
            if not future.done():
                try:
                    if connection is not None:
                        opened = opener(connection)
                        if opened is None:
                            return
                        connection.schedule()
                    future.set_result(opened)
                except Exception as error:
                    future.set_exception(error)
            del self.waiting[future]

    def lines_changed(self) -> None:
        """A line has lost its connection or has a new one."""
        alone = len(self.lines) == 1 and not self.interceptors and not self.closed
        self._quick = self.lines[0].connection if alone else None
        if self._change is not None:
            self._change.set_result(None)
            self._change = None

    async def line_change(self) -> None:
        """Waits until a line loses its connection or has a new one, or the client is closed."""
        if self._change is None:
            self._change = self.loop.create_future()
        await asyncio.shield(self._change)


def unencodable(codec: Codec, error: Exception, method: Method[Any, Any], request: Any) -> StatusError:
    text = f"the request is not a valid {codec.name} message: {error}"
    if not isinstance(request, method.request):
        text = f"the request of {method.name} is a {method.request.__name__}, not a {type(request).__name__}"
    return failure(Code.INTERNAL, text, Delivery.NOT_SENT)


def undecodable(codec: Codec, error: Exception) -> StatusError:
    text = f"the response is not a valid {codec.name} message: {error}"
    return failure(Code.INTERNAL, text, Delivery.EXECUTED)
