"""The caller's end of calls that are not unary."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .caller import NO_OPTIONS, CallOptions, ClientStream
from .codec import Codec, decoded
from .compression import Compression, Request, TooLong, bound
from .context import deadline_of, own_timeout
from .interceptor import Call, Interceptor, MessageStream, Next, chain, wrong_stream
from .method import Method, wrong_request
from .opening import IN_ROW, Opening
from .passing import drilled, passed
from .policy import Priority
from .priority import carrying, priority_of
from .status import Attempts, StatusError, failure, intercepted, least, told, unwritten
from .transport import Connection, clock
from .wire import CANNOT_TAKE, GAVE_UP, OK, Code, Delivery, LimitError, Metadata, OutgoingCall, Session, Status, kept

if TYPE_CHECKING:
    from .calling import Calls

CANCELLED = "cancelled by the caller"
Req = TypeVar("Req")
Resp = TypeVar("Resp")


class PlainStream(Opening):
    """The messages of one call, as the session carries them. One task may send while another receives."""

    def __init__(
        self,
        caller: Calls,
        method: Method[Any, Any],
        codec: Codec,
        order: Sequence[Compression],
        call: Call,
        metadata: list[tuple[str, str | bytes]],
        deadline: int,
        first: bytes | None,
    ) -> None:
        super().__init__(caller, method, metadata, deadline)
        self.timeout = own_timeout(call.timeout, deadline)
        self._order = order
        self.loop = caller._loop
        self._codec = codec
        self._binding = method.binding(codec)
        self._metadata = Metadata(metadata) if metadata else None
        self._request: Request | None = None  # a first message that may be compressed
        if first is not None and order:
            self._request = Request(caller._calling.packing, method._wire_name, order, first)
        self._first = first
        self._sent = 0  # bytes of it
        self._early: Metadata | None = None
        self._kept: tuple[bytes, int] | None = None  # an answer that was taken and not handed over
        self._readable: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._in_row = 0  # messages since others had their turn
        self._packing = False  # a message is being compressed
        self._closing = False  # the half-close follows it
        self.most: int | None = None  # bytes of each message of the answer
        self._heard: asyncio.Future[None] | None = None  # the header, a message or the end
        self._over: asyncio.Future[None] | None = None
        self.ends: Call | None = None  # has somebody told of the end

    def append(self, connection: Connection) -> OutgoingCall | None:
        kind, first, compression = self.method.kind, self._first, 0
        if self._request is not None:
            first, compression = self._request.take(connection.session)
        self._sent = len(first or b"")
        return connection.session.open(
            self.method._wire_name,
            first,
            self,
            codec=self._codec.number,
            compression=compression,
            metadata=self._metadata,
            deadline=self.deadline,
            end=kind.takes_one,
            single=kind.answers_one,
        )

    def ready(self, connection: Connection) -> bool:
        return self._request is None or self._request.ready(connection.session)

    async def prepare(self, connection: Connection) -> None:
        if self._request is not None:
            await self._request.prepare(connection.session)

    # CallEvents.

    def set_result(self, result: None) -> None:
        if self.opened and self.out.status is not None:
            self.name_late()
            if self.told is not None:
                self.told.received += len(self.out.message or b"")
            self.finish(self.out.status)
        for future in (self._readable, self._writable, self._heard, self._over):
            _resolve(future)
        if self.ends is not None:
            self.ends._end(self.out.status or OK)

    def sent(self) -> int:
        return self._sent

    def header(self, metadata: Metadata) -> None:
        self._early = metadata
        _resolve(self._heard)

    def arrived(self) -> None:
        if self.told is not None and self.out.receiving is not None:
            message, *_ = self.out.receiving.inbox[-1]
            self.told.received += len(message)
        _resolve(self._heard)
        _resolve(self._readable)

    def writable(self) -> None:
        _resolve(self._writable)

    # Messages.

    async def send(self, message: Any) -> bool:
        """See MessageStream.send. A message that cannot be sent ends the call, with the StatusError that is raised."""
        self._in_row += 1
        if self._in_row > IN_ROW:
            self._in_row = 1
            await asyncio.sleep(0)
        try:
            data = self._binding.encode_request(message)
        except Exception as error:
            raise self._unsendable(*_unwritten(self.method, self._codec, message, error)) from error
        if self._writable is not None:
            raise RuntimeError("another task is sending on this stream")
        if self.out.status is not None:
            return False
        session = self.out.session
        compression = 0
        try:
            if self._order:
                data, compression = await self._pack(data, session)
            session.now = clock()
            at_once = self.out.send(data, compression)
            if self.told is not None:
                self.told.sent += len(data)
        except LimitError as error:
            raise self._unsendable(Code.RESOURCE_EXHAUSTED, str(error)) from None
        finally:
            if self._closing:
                self._closing = False
                self.out.half_close()
        self.connection.schedule()
        if not at_once:
            self._writable = self.loop.create_future()
            try:
                await self._writable
            except asyncio.CancelledError:
                self.out.withdraw()
                self.connection.schedule()
                raise
            finally:
                self._writable = None
        return self.out.status is None

    async def _pack(self, message: bytes, session: Session) -> tuple[bytes, int]:
        """A message as it is sent; while a large one is compressed, nobody else sends. Raises LimitError."""
        packing, method = self.caller._calling.packing, self.method._wire_name
        if not packing.is_large(self._order, session, message):
            return packing.pack(method, self._order, session, message)
        self._writable = self.loop.create_future()
        self._packing = True
        try:
            return await packing.pack_large(method, self._order, session, message)
        finally:
            self._writable = None
            self._packing = False

    def _unsendable(self, code: Code, text: str) -> StatusError:
        """Ends the call, which the server may have begun (status.md 1.3)."""
        out = self.out
        if out.status is None:
            out.session.now = clock()
            out.session.caller.abandon(out, GAVE_UP, Status(code, text, (), Delivery.UNKNOWN))
            self.connection.schedule()
        return failure(code, text, Delivery.UNKNOWN)

    def half_close(self) -> None:
        if self._packing:
            self._closing = True  # behind the message that is being compressed
            return
        self.out.half_close()
        self.connection.schedule()

    async def receive(self) -> Any | None:
        """See MessageStream.receive. Raises StatusError when the call failed."""
        self._in_row += 1
        if self._in_row > IN_ROW:
            self._in_row = 1
            await asyncio.sleep(0)
        out = self.out
        if self._readable is not None:
            raise RuntimeError("another task is receiving from this stream")
        while (taken := self._kept or out.take_message()) is None:
            if out.status is not None:
                if out.status.code:
                    raise StatusError.of(out.status, self.trailer, self.header_now, self.connection.remote)
                return None
            self._readable = self.loop.create_future()
            try:
                await self._readable
            finally:
                self._readable = None
        if out.session.granter.due:
            self.connection.schedule()
        message, compression = taken
        try:
            limit = bound(message, out.session.own.max_message, self.most)
            if compression:
                return await self._unpack(kept(message), compression, limit)
            return decoded(self._binding.decode_response, message)
        except Exception as error:
            raise self._undecodable(error) from error

    async def _unpack(self, data: bytes, compression: int, limit: int) -> Any:
        """A compressed answer as a message; kept for the next who receives if this one is cancelled meanwhile."""
        self._kept = (data, compression)
        self._readable = self.loop.create_future()  # others do not receive meanwhile
        try:
            async with self.caller._calling.packing.unpacked(compression, data, limit) as message:
                self._kept = None
                return self._binding.decode_response(message)
        except Exception:
            self._kept = None
            raise
        finally:
            self._readable = None

    def _undecodable(self, error: Exception) -> StatusError:
        delivery = Delivery.EXECUTED if self.out.status is not None else Delivery.UNKNOWN
        self.out.session.now = clock()
        self.out.cancel(CANNOT_TAKE)
        self.connection.schedule()
        if isinstance(error, TooLong):
            return failure(Code.RESOURCE_EXHAUSTED, f"the response {error}", delivery)
        text = f"the response is not a valid {self._codec.name} message: {error}"
        return failure(*told(error, Code.INTERNAL, text), delivery)

    @property
    def header_now(self) -> list[tuple[str, str | bytes]]:
        return self._early.entries if self._early is not None else []

    async def early(self) -> Metadata | None:
        """The metadata ahead of the answer; waits for it, the first message, or the end."""
        flow = self.out.receiving
        if self._early is None and flow is None and self.out.status is None:
            self._heard = self._heard or self.loop.create_future()
            await asyncio.shield(self._heard)
        return self._early

    async def ended(self) -> Status:
        if self.out.status is None:
            self._over = self._over or self.loop.create_future()
            await asyncio.shield(self._over)
        return self.out.status or OK

    @property
    def trailer(self) -> list[tuple[str, str | bytes]]:
        return self.out.metadata.entries if self.out.metadata is not None else []

    def cancel(self) -> None:
        self.connection.give_up(self.out)


class OpenedStream(ClientStream[Req, Resp]):
    """A stream of a Client or a Connection: what interceptors made of a PlainStream."""

    def __init__(
        self,
        caller: Calls,
        method: Method[Req, Resp],
        codec: Codec,
        order: Sequence[Compression] = (),
        options: CallOptions = NO_OPTIONS,
    ) -> None:
        self._caller = caller
        self._most = options.max_receive
        self._priority = options.priority
        self._method = method
        self._codec = codec
        self._order = order
        self._plain: PlainStream | None = None
        self._inner: MessageStream | None = None  # what interceptors made of it
        self._attempts = Attempts()  # of those that were not opened, how they ended
        self._tried: list[PlainStream] = []  # those that were opened, of which interceptors left one or more open
        self._failure: Exception | None = None  # why it was not opened
        self._starting: asyncio.Task[None] | None = None
        self._as_given = False  # nobody intercepts the messages

    def begin(
        self,
        interceptors: Sequence[Interceptor],
        call: Call,
        deadline: int,
        wait_for_ready: bool,
    ) -> None:
        """Opens the call now, or in a task if it has to wait."""
        self._as_given = not interceptors
        if not interceptors and self._caller._policies.rules(self._method.name) is None:
            try:
                plain = self._make(call, deadline, self._priority)
                if plain.open_now():
                    self._plain = self._inner = plain
                    return
            except StatusError as error:
                self._failure = error
                return
        last = self._last(call.timeout, deadline, wait_for_ready)
        self._starting = self._caller._spawn_opening(self._start(interceptors, call, last))

    def _make(self, call: Call, deadline: int, priority: Priority | None) -> PlainStream:
        self._caller._calling.repeating.calls += 1
        first = None
        if self._method.kind.takes_one:
            first = self._caller._encode(self._method, call.request, self._codec)
        else:
            self._caller._check_codec(self._codec)
        metadata = carrying(call.metadata, priority)
        plain = PlainStream(self._caller, self._method, self._codec, self._order, call, metadata, deadline, first)
        plain.most = self._most
        return plain

    def _last(self, timeout: float | None, deadline: int, wait_for_ready: bool) -> Next:
        async def last(call: Call) -> MessageStream:
            self._attempts.begin()
            delivery = Delivery.NOT_SENT
            try:
                rules = self._caller._policies.rules(self._method.name)
                until = deadline_of(call.timeout) if call.timeout != timeout else deadline
                begun = 0 if rules is None else clock()
                if rules is not None:
                    await drilled(rules, self._caller, until)
                priority = priority_of(self._priority, rules)
                plain = self._make(call, until, self._priority if rules is None else priority)
                if rules is not None:
                    plain.passage, plain.chooser, plain.begun = passed(rules, priority), rules.chooser, begun
                try:
                    await plain.open(wait_for_ready)
                finally:
                    if plain.opened:
                        self._plain = plain
                        self._tried.append(plain)
                    elif plain.passage is not None:
                        plain.passage.ended(None)
            except StatusError as error:
                delivery = error.delivery
                raise
            finally:
                self._attempts.end(delivery)
            return plain

        return last

    async def _start(self, interceptors: Sequence[Interceptor], call: Call, last: Next) -> None:
        try:
            self._inner = inner = cast(MessageStream, await chain(interceptors, last, self._judge)(call))
            if isinstance(inner, PlainStream):
                self._plain = inner
        except asyncio.CancelledError:
            delivery = Delivery.NOT_SENT if self._plain is None else Delivery.UNKNOWN
            self._failed(failure(Code.CANCELLED, CANCELLED, delivery))
        except Exception as error:
            self._failed(intercepted(error, self._attempts.went_on, self._delivery))
        finally:
            self._starting = None
            self._has_ends_told(call)

    @property
    def _delivery(self) -> Delivery:
        """What the call has, of all attempts."""
        ends = [one.out.status for one in self._tried]
        return least(self._attempts.delivery, *(Delivery.UNKNOWN if one is None else one.delivery for one in ends))

    def _judge(self, interceptor: str, answer: Any) -> StatusError | None:
        wrong = wrong_stream(interceptor, answer, self._method)
        if wrong is None:
            return None
        delivery = Delivery.UNKNOWN if self._attempts.went_on else Delivery.NOT_SENT
        return failure(Code.INTERNAL, wrong, delivery)

    def _has_ends_told(self, call: Call) -> None:
        plain = self._plain
        if isinstance(self._failure, StatusError):
            call._end(self._failure.status)
        elif plain is None or plain.out.status is not None:
            call._end(plain.out.status or OK if plain is not None else OK)
        else:
            plain.ends = call

    def _failed(self, error: Exception) -> None:
        self._failure = error
        self._end()

    def _end(self) -> None:
        """Cancels what is open, of all attempts: interceptors may read from several until the call ends."""
        for one in self._tried or ([] if self._plain is None else [self._plain]):
            one.cancel()

    async def _opened(self) -> MessageStream:
        if self._starting is not None:
            await asyncio.wait([self._starting])
        if self._failure is not None:
            raise self._failure
        return cast(MessageStream, self._inner)  # what did not fail gave one

    async def send(self, message: Req) -> bool:
        inner = self._inner
        if inner is None or self._starting is not None:
            if self._starting is not None and self._as_given:
                await self._check(message, self._starting)
            inner = await self._opened()
        return await inner.send(message)

    async def _check(self, message: Req, starting: asyncio.Task[None]) -> None:
        """Ends a call that is being opened if its message cannot be sent: nothing of the call was. Raises StatusError;
        if the call was opened meanwhile, sending the message does."""
        try:
            self._method.binding(self._codec).encode_request(message)
        except Exception as error:
            starting.cancel()
            await asyncio.wait([starting])
            if self._plain is None:
                self._failure = failure(*_unwritten(self._method, self._codec, message, error), Delivery.NOT_SENT)
                raise self._failure from error

    async def half_close(self) -> None:
        with contextlib.suppress(StatusError):
            await self._opened()
        if self._plain is not None:
            self._plain.half_close()

    async def receive(self) -> Resp | None:
        inner = self._inner
        if inner is None or self._starting is not None:
            inner = await self._opened()
        return cast("Resp | None", await inner.receive())

    async def header(self) -> list[tuple[str, str | bytes]]:
        with contextlib.suppress(StatusError):
            await self._opened()
        early = await self._plain.early() if self._plain is not None else None
        return early.entries if early is not None else []

    async def status(self) -> Status:
        try:
            await self._opened()
        except StatusError as error:
            return error.status
        return await self._plain.ended() if self._plain is not None else OK

    @property
    def done(self) -> bool:
        if self._starting is not None:
            return False
        return self._plain is None or self._plain.out.status is not None

    @property
    def trailer(self) -> list[tuple[str, str | bytes]]:
        return self._plain.trailer if self._plain is not None else []

    @property
    def peer(self) -> str:
        return self._plain.connection.remote if self._plain is not None else ""

    def cancel(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
        else:
            self._end()

    def __del__(self) -> None:
        plain: PlainStream | None = getattr(self, "_plain", None)
        for one in self._tried or [plain] if plain is not None else []:
            if one.out.status is None:
                with contextlib.suppress(RuntimeError):  # the loop is closed
                    one.loop.call_soon_threadsafe(one.cancel)


def _unwritten(method: Method[Any, Any], codec: Codec, message: Any, error: Exception) -> tuple[Code, str]:
    text = wrong_request(method, message) or f"the request is not a valid {codec.name} message: {error}"
    return unwritten(error, text)


def _resolve(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)
