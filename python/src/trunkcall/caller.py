"""Making calls: what a Client and a Connection have in common."""

from __future__ import annotations

import asyncio
from asyncio import get_running_loop
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast, overload

from .clientstream import ClientStream
from .codec import FIRST_NAMED, PROTOBUF, Codec
from .compression import Compression, Compressions, Packing, in_order
from .context import current, deadline_of
from .interceptor import Answer, Call, Interceptor, chain
from .method import BidiMethod, ClientStreamMethod, Method, OneWayMethod, ServerStreamMethod, UnaryMethod
from .options import listed
from .repeating import Repeating
from .status import Metadata, StatusError, failure, intercepted, pairs
from .transport import Connection, clock
from .unarycall import Attempt, Begun, invoke
from .wire import Code, Delivery, LimitError, OutgoingCall

Req = TypeVar("Req")
Resp = TypeVar("Resp")
Opener = Callable[[Connection], OutgoingCall | None]


@dataclass(slots=True)
class Calling:
    """What the calls of one Client or Server have in common, those that it makes."""

    codec: Codec
    codecs: dict[int, Codec]
    interceptors: tuple[Interceptor, ...]
    packing: Packing
    waiting_limit: int  # calls that may wait for a slot, over all connections
    repeating: Repeating
    waiting: int = 0
    ever_waited: int = 0  # the number of the last one that began to


class Caller:
    """What methods are called through: a Client, which takes whichever of its connections is there, or a Connection,
    which is one. Belongs to one event loop and is used from that loop's thread only. Made by this package alone."""

    alone = False  # calls go over one connection, whose place no other takes
    closed = False

    def __init__(self, calling: Calling) -> None:
        self.calling = calling
        self.codec = calling.codec
        self.interceptors = calling.interceptors
        self.plain = not (calling.interceptors or calling.packing.order)  # nothing is done to calls but making them
        self.waiting: dict[asyncio.Future[OutgoingCall | None], tuple[int, Opener]] = {}
        self._bound: asyncio.AbstractEventLoop | None = None
        self._quick: Connection | None = None  # for calls that nobody intercepts or compresses
        self._several = False  # connections to pick one of

    # What it takes a Client or a Connection to know.

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that it belongs to. Raises RuntimeError in any other."""
        raise NotImplementedError

    @property
    def target(self) -> str:
        """What the calls go to: what a client was made for, the address of a connection's other end."""
        raise NotImplementedError

    @property
    def secure(self) -> bool:
        """Whether the calls go through TLS."""
        raise NotImplementedError

    def pick(self) -> Connection | None:
        """A connection for the next call; None if there is none now."""
        raise NotImplementedError

    async def connected(self, wait_for_ready: bool) -> Connection:
        """A connection, opened if need be. Raises StatusError: UNAVAILABLE, `not_sent`."""
        raise NotImplementedError

    def retire(self, connection: Connection) -> None:
        """Has later calls use another connection, if there can be one: this one takes no more."""

    async def change(self) -> None:
        """Waits until its connections change, or it is closed."""
        raise NotImplementedError

    def check_open(self) -> None:
        """Raises StatusError when no calls can be made any more, RuntimeError in another loop."""
        raise NotImplementedError

    @property
    def elsewhere(self) -> bool:
        """Whether a call that was turned away over one connection may be made over another."""
        return False

    @property
    def trouble(self) -> str:
        """Why there is no connection, "" if there is one or nothing is known."""
        return ""

    # Calls.

    async def call(
        self,
        method: UnaryMethod[Req, Resp],
        request: Req,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        metadata: Metadata | None = None,
        codec: Codec | None = None,
        compression: Compressions | None = None,
        answer: Answer | None = None,
        wait_for_ready: bool = False,
    ) -> Resp:
        """Calls a unary method. `timeout` is in seconds; within a handler the handler's own deadline counts as well.
        `compression` stands for the client's own; (): none. `answer` is filled in with what came beside the response.
        With `wait_for_ready` the call waits for a connection until its deadline instead of failing when none can be
        opened.

        Raises StatusError. A call that provably was not run is repeated once. Cancelling the task cancels the call."""
        connection = self._quick
        if connection is None and self._several:
            connection = self.pick()
        if (
            connection is None
            or metadata is not None
            or codec is not None
            or answer is not None
            or compression is not None
            or self.waiting
        ):
            order = self.order(compression)
            made = self._call(method, request, timeout, metadata, codec, order, answer, wait_for_ready)
            return cast(Resp, await made)
        loop = get_running_loop()
        if loop is not self._bound:
            loop = self.loop
        self.calling.repeating.calls += 1
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
            return cast(Resp, await self._call(method, request, timeout, None, None, (), None, wait_for_ready))
        if not connection.scheduled:
            connection.schedule()
        try:
            await future
        except asyncio.CancelledError:
            connection.give_up(out)
            raise
        message = out.message
        if message is not None and not out.compression:
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
        self.calling.repeating.calls += 1
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

    async def send(
        self,
        method: OneWayMethod[Req],
        request: Req,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        metadata: Metadata | None = None,
        codec: Codec | None = None,
        compression: Compressions | None = None,
        wait_for_ready: bool = False,
    ) -> None:
        """Calls a one-way method and waits until the other side has accepted the call: then its handler runs, whatever
        becomes of this side and the connection (protocol.md 7.5). What comes of it is between the handler and the log
        there. A deadline goes along and ends the handler.

        Raises StatusError, whose `delivery` says whether the handler may run nevertheless."""
        await self._call(method, request, timeout, metadata, codec, self.order(compression), None, wait_for_ready)

    async def _call(
        self,
        method: Method[Any, Any],
        request: Any,
        timeout: float | None,  # noqa: ASYNC109
        metadata: Metadata | None,
        codec: Codec | None,
        order: Sequence[Compression],
        answer: Answer | None,
        wait_for_ready: bool,
    ) -> Any:
        self.check_open()

        went_on = False

        async def last(call: Call) -> Any:
            nonlocal went_on
            went_on = True
            self.calling.repeating.calls += 1
            data = self.encode(method, call.request, codec)
            deadline = deadline_of(call.timeout)
            attempt = Attempt(self, method, data, codec or self.codec, deadline, call.metadata, wait_for_ready)
            attempt.compress(order)
            attempt.answer = call.answer
            return await invoke(attempt)

        call = Call(method, pairs(metadata), request, timeout, answer=answer or Answer())
        if not self.interceptors:
            return await last(call)
        try:
            return await chain(self.interceptors, last)(call)
        except Exception as error:
            said = intercepted(error, went_on)
            if said is error:
                raise
            raise said from error

    def order(self, compression: Compressions | None) -> Sequence[Compression]:
        """What the requests of a call are compressed with, the preferred one first. Raises TypeError, ValueError."""
        return self.calling.packing.order if compression is None else in_order(compression)

    def check_codec(self, codec: Codec) -> None:
        """Raises StatusError for a codec of a call that the other side was not told of."""
        known = self.calling.codecs.get(codec.number)
        if known is None or (codec.number >= FIRST_NAMED and known.name != codec.name):
            text = f"codec {codec.number} ({codec.name}) is not known here, only {listed(self.calling.codecs.values())}"
            raise failure(Code.UNIMPLEMENTED, f"{text}: give it to `codecs`", Delivery.NOT_SENT)

    def encode(self, method: Method[Any, Any], request: Any, codec: Codec | None) -> bytes:
        """A request as bytes. Raises StatusError."""
        if codec is None:
            codec = self.codec
        else:
            self.check_codec(codec)
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
        compression: Compressions | None = None,
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
        compression: Compressions | None = None,
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
        compression: Compressions | None = None,
        wait_for_ready: bool = False,
    ) -> ClientStream[Req, Resp]:
        """Opens a call of a streaming method; what goes wrong is told by the stream. A server-streaming method takes
        its request here. The stream must be received to its end, cancelled, or used as a context manager."""
        self.check_open()
        stream = ClientStream[Req, Resp](self, method, codec or self.codec, self.order(compression))
        call = Call(method, pairs(metadata), request, timeout)
        stream.begin(self.interceptors, call, timeout, deadline_of(timeout), wait_for_ready)
        return stream

    # Slots.

    async def slot(self, opener: Opener) -> OutgoingCall | None:
        """Waits in turn until `opener` finds a slot; None when the connections have changed. Raises StatusError when
        too many wait."""
        calling = self.calling
        if calling.waiting >= calling.waiting_limit:
            text = f"waiting calls have reached their limit of {calling.waiting_limit}"
            raise failure(Code.RESOURCE_EXHAUSTED, text, Delivery.NOT_SENT)
        future: asyncio.Future[OutgoingCall | None] = self.loop.create_future()
        calling.waiting += 1
        calling.ever_waited += 1
        self.waiting[future] = (calling.ever_waited, opener)
        try:
            return await future
        finally:
            calling.waiting -= 1
            self.waiting.pop(future, None)
            if not future.cancelled():
                future.exception()  # seen, should the task be cancelled in this turn

    def try_again(self) -> None:
        """The connections have changed: those who wait for a slot look anew."""
        while self.waiting:
            future = next(iter(self.waiting))
            del self.waiting[future]
            if not future.done():
                future.set_result(None)

    @property
    def first_in_line(self) -> int:
        """The number of the one who has waited longest."""
        number, _ = next(iter(self.waiting.values()))
        return number

    def let_in(self, connection: Connection) -> bool:
        """Gives a slot to the one who has waited longest. False: there is none."""
        future, (_, opener) = next(iter(self.waiting.items()))
        if not future.done():
            try:
                opened = opener(connection)
                if opened is None:
                    return False
                connection.schedule()
                future.set_result(opened)
            except Exception as error:
                future.set_exception(error)
        del self.waiting[future]
        return True


def let_in(connection: Connection, callers: Iterable[Caller]) -> None:
    """Slots are free on a connection: they go to those who wait for one there, in the order in which they came."""
    while waiting := [caller for caller in callers if caller.waiting]:
        if not min(waiting, key=lambda caller: caller.first_in_line).let_in(connection):
            return


def unencodable(codec: Codec, error: Exception, method: Method[Any, Any], request: Any) -> StatusError:
    text = f"the request is not a valid {codec.name} message: {error}"
    if not isinstance(request, method.request):
        text = f"the request of {method.name} is a {method.request.__name__}, not a {type(request).__name__}"
    return failure(Code.INTERNAL, text, Delivery.NOT_SENT)


def undecodable(codec: Codec, error: Exception) -> StatusError:
    text = f"the response is not a valid {codec.name} message: {error}"
    return failure(Code.INTERNAL, text, Delivery.EXECUTED)
