"""A call at the server: what its handler can learn of it and add to its answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from .codec import Codec, decoded
from .compression import TooLong
from .executing import in_executor
from .method import Binding, Method
from .opening import IN_ROW
from .policy import Concurrency, Priority
from .priority import priority_in
from .status import Metadata, StatusError, failure, pairs, told
from .transport import clock
from .wire import Code, Delivery, IncomingCall, LimitError, kept
from .wire import Metadata as Entries

if TYPE_CHECKING:
    from .connection import Connection
    from .servingend import ServingEnd

CALL_OVER = "the call is over"


class ServerCall:
    """One call at the side that serves it: a server, or a client that its server calls. Used on that side's event loop,
    until the handler has returned; handlers in the executor may read what stands here, and set metadata."""

    __slots__ = (
        "_begun",
        "_code",
        "_end",
        "_entered",
        "_header",
        "_header_sent",
        "_in_row",
        "_incoming",
        "_kept",
        "_left",
        "_limit",
        "_principal",
        "_readable",
        "_release",
        "_since",
        "_stopped",
        "_task",
        "_trailer",
        "_writable",
        "method",
    )

    _since: int  # the limit counts it, in nanoseconds

    def __init__(self, incoming: IncomingCall, end: ServingEnd, method: Method[Any, Any]) -> None:
        self._incoming = incoming
        self._end = end
        self.method = method
        self._task: asyncio.Task[None] | None = None  # that runs the handler
        self._principal: Any = None
        self._release: Callable[[], None] | None = None  # for admission
        self._limit: Concurrency | None = None  # of a policy file, that it counts for
        self._code: Code | None = Code.OK  # that the call ended with; None: its handler did not begin
        self._begun = False
        self._stopped = False
        self._entered = False  # behind interceptors: the handler was called
        self._left = False  # and is done
        self._header: list[tuple[str, str | bytes]] | None = None
        self._trailer: list[tuple[str, str | bytes]] | None = None
        self._header_sent = False
        self._readable: asyncio.Future[None] | None = None
        self._kept: tuple[bytes, int] | None = None  # a request that was taken and not handed over
        self._writable: asyncio.Future[None] | None = None
        self._in_row = 0  # messages since others had their turn

    @property
    def metadata(self) -> list[tuple[str, str | bytes]]:
        """The request's metadata."""
        found = self._incoming.metadata
        return found.entries if found is not None else []

    @property
    def codec(self) -> Codec:
        """The codec of the call's messages."""
        return self._end.serving.codecs[self._incoming.codec]

    @property
    def principal(self) -> Any:
        """Who calls, as the server's admission says; None if it says nothing."""
        return self._principal

    @property
    def priority(self) -> Priority:
        """How much the call matters, as its caller said (spec/policy.md 7)."""
        return priority_in(self.metadata)

    @property
    def connection(self) -> Connection:
        """The connection that the call came over: what calls its caller."""
        return self._end.caller

    @property
    def oneway(self) -> bool:
        """Whether the caller was told that the call is accepted, and hears nothing more of it."""
        return self._incoming.oneway

    @property
    def peer(self) -> str:
        """The caller's address."""
        return self._end.connection.remote

    @property
    def tls(self) -> Any:
        """The connection's ssl.SSLObject (or the like of another loop), None in the clear."""
        return self._end.connection.tls

    @property
    def _protocol(self) -> str:
        """That the call came by, for admission."""
        return self._incoming.protocol

    @property
    def _deadline(self) -> int:
        """In µs of the sessions' clock, 0: none."""
        return self._incoming.deadline

    def time_remaining(self) -> float | None:
        """Seconds until the deadline, 0 if it has passed; None if there is none."""
        if not self._incoming.deadline:
            return None
        return max((self._incoming.deadline - clock()) / 1e6, 0.0)

    @property
    def attempt(self) -> int:
        """1, or more when the caller repeats the call (protocol.md 5.2)."""
        found = self._incoming.metadata
        return (found.attempt or 1) if found is not None else 1

    @property
    def cancelled(self) -> bool:
        """Whether the call has ended without its handler: cancelled, out of time, or its connection lost."""
        return self._incoming.over and not self._incoming.oneway

    def set_header(self, metadata: Metadata) -> None:
        """Adds to the metadata that goes ahead of the answer. Raises RuntimeError once that was sent."""
        if self._header_sent:
            raise RuntimeError("the answer has begun, its header can no longer be changed")
        self._header = [*(self._header or ()), *pairs(metadata)]

    async def send_header(self, metadata: Metadata = ()) -> None:
        """Adds to the header and sends it now. Raises StatusError for what cannot be sent."""
        self.set_header(metadata)
        self._flush_header()
        self._end.connection.schedule()

    def set_trailer(self, metadata: Metadata) -> None:
        """Adds to the metadata that goes with the end of the call."""
        self._trailer = [*(self._trailer or ()), *pairs(metadata)]

    async def send(self, message: Any) -> bool:
        """Sends an answer message, waiting while the caller is slow to consume. Returns False when the call is over.
        If the task is cancelled while it waits, the message is not sent, unless a part of it was: then the rest
        follows. Raises StatusError for a message that cannot be sent."""
        self._in_row += 1
        if self._in_row > IN_ROW:
            self._in_row = 1
            await asyncio.sleep(0)
        binding = self.method.binding(self.codec)
        try:
            data = binding.encode_response(message)
        except Exception as error:
            raise self._end._unencodable(self, message) from error
        incoming = self._incoming
        if self._writable is not None:
            raise RuntimeError("another task is sending on this call")
        if incoming.over:
            return False
        if self._header and not self._header_sent:
            self._flush_header()
        self._header_sent = True
        try:
            if self._packs_large(data):
                self._writable = self._end.loop.create_future()  # others do not send meanwhile
                try:
                    packed = await self._pack_large(data)
                finally:
                    self._writable = None
            else:
                packed = self._pack(data)
            incoming.session.now = clock()
            at_once = incoming.send(*packed)
        except LimitError as error:
            raise self._end._too_large(self, error) from None
        self._end.connection.schedule()
        if not at_once:
            self._writable = self._end.loop.create_future()
            try:
                await self._writable
            except asyncio.CancelledError:
                incoming.withdraw()
                self._end.connection.schedule()
                raise
            finally:
                self._writable = None
        return not incoming.over

    async def receive(self) -> Any | None:
        """The next request; None when the caller has sent all. Raises StatusError when the call is over."""
        self._in_row += 1
        if self._in_row > IN_ROW:
            self._in_row = 1
            await asyncio.sleep(0)
        incoming = self._incoming
        if self._readable is not None:
            raise RuntimeError("another task is receiving from this call")
        while (taken := self._kept or incoming.take_message()) is None:
            if incoming.over:
                raise failure(Code.CANCELLED, CALL_OVER, Delivery.UNKNOWN)
            if incoming.request_ended:
                return None
            self._readable = self._end.loop.create_future()
            try:
                await self._readable
            finally:
                self._readable = None
        if incoming.session.granter.due:
            self._end.connection.schedule()
        data, compression = taken
        try:
            if compression:
                return await self._unpack(kept(data), compression)
            return decoded(self._binding.decode_request, data)
        except TooLong as error:
            raise StatusError(Code.RESOURCE_EXHAUSTED, f"the request {error}") from None
        except Exception as error:
            text = f"the request is not a valid {self.codec.name} message: {error}"
            raise StatusError(*told(error, Code.INVALID_ARGUMENT, text)) from error

    async def _unpack(self, data: bytes, compression: int) -> Any:
        """A compressed request as a message; kept for the next who receives if this one is cancelled meanwhile."""
        incoming = self._incoming
        incoming.compression = compression
        limit = incoming.session.own.max_message
        self._kept = (data, compression)
        self._readable = self._end.loop.create_future()  # others do not receive meanwhile
        try:
            async with self._end.serving.packing.unpacked(compression, data, limit) as message:
                self._kept = None
                return self._binding.decode_request(message)
        except Exception:
            self._kept = None
            raise
        finally:
            self._readable = None

    @property
    def _binding(self) -> Binding:
        """The method's functions for the codec of the call."""
        return self.method.binding(self.codec)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        message = await self.receive()
        if message is None:
            raise StopAsyncIteration
        return message

    async def run_in_executor(self, function: Callable[..., Any], *args: Any) -> Any:
        """Runs a function on a thread of the server's executor, in a copy of the context, and waits for it to return
        even when the handler is cancelled meanwhile."""
        return await in_executor(self._end.serving.executor, function, *args)

    # For the server.

    def _flush_header(self) -> None:
        """Sends the header if there is one and it was not sent. Raises StatusError."""
        if self._header and not self._header_sent:
            self._header_sent = True
            try:
                self._incoming.send_metadata(Entries(self._header))
            except LimitError as error:
                raise StatusError(Code.RESOURCE_EXHAUSTED, str(error)) from None
            except ValueError as error:
                raise StatusError(Code.INTERNAL, f"the answer's metadata is not valid: {error}") from None
        self._header_sent = True

    @property
    def _is_plain(self) -> bool:
        """Whether nothing goes with the answer but its message, as it is unless compressing it is the rule here."""
        return self._trailer is None and not self._incoming.compression and (self._header is None or self._header_sent)

    def _pack(self, data: bytes) -> tuple[bytes, int]:
        """An answer as it is sent, and its compression, 0: none. Raises LimitError."""
        incoming, packing = self._incoming, self._end.serving.packing
        if not self._packs:
            return data, 0
        order = packing.answering(incoming.compression)
        return packing.pack(self.method._wire_name, order, incoming.session, data)

    @property
    def _packs(self) -> bool:
        return bool(self._incoming.compression) or self._end.serving.packs

    def _packs_large(self, data: bytes) -> bool:
        """Whether an answer takes `pack_large`, lest it holds up the loop."""
        if not self._packs:
            return False
        incoming, packing = self._incoming, self._end.serving.packing
        return packing.is_large(packing.answering(incoming.compression), incoming.session, data)

    async def _pack_large(self, data: bytes) -> tuple[bytes, int]:
        """What `pack` gives, compressed on a thread."""
        incoming, packing = self._incoming, self._end.serving.packing
        order = packing.answering(incoming.compression)
        return await packing.pack_large(self.method._wire_name, order, incoming.session, data)

    @property
    def _trailers(self) -> Entries | None:
        return Entries(self._trailer) if self._trailer else None

    @property
    def _refusal_metadata(self) -> Entries | None:
        """The trailers of a refused call and its header, which, sent ahead, would say that the call has begun."""
        header = self._header if self._header and not self._header_sent else ()
        return Entries([*(self._trailer or ()), *header]) if self._trailer or header else None

    def _stop(self, why: str | None = None) -> None:
        """Cancels the handler. A task that has not begun would not run at all: it looks at `stopped`."""
        self._stopped = True
        if self._begun and self._task is not None:
            self._task.cancel(why)

    def _arrived(self) -> None:
        resolve(self._readable)

    def _room(self) -> None:
        resolve(self._writable)


class OnlyMessage:
    """The messages of a one-way call, whatever its method: one came, nobody takes another (protocol.md 7.5)."""

    def __init__(self, message: Any) -> None:
        self._message = message

    async def send(self, message: Any) -> bool:
        return False

    async def receive(self) -> Any | None:
        message, self._message = self._message, None
        return message


def resolve(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)
