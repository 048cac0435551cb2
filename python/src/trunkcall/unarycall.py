"""Unary calls off the quick path of Client.call: metadata, waiting, failures, and the one repetition."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .caller import Response
from .codec import Codec
from .compression import Compression, Request, TooLong, bound
from .method import Kind, Method, wrong_request
from .opening import Opening
from .status import StatusError, failure, told, unwritten
from .transport import Connection, clock
from .wire import Code, Delivery, LimitError, Metadata, OutgoingCall, kept

if TYPE_CHECKING:
    from .calling import Calls

_PASSING = (Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED)  # refusals that another attempt may escape
LONGEST_PAUSE = 1_000_000  # µs that a refused call waits before it is repeated


# A call that was opened elsewhere: with the future that it resolves when it has ended.
Begun = tuple[OutgoingCall, Connection, asyncio.Future[None]]


def early_metadata(out: OutgoingCall) -> Metadata | None:
    """The metadata that has come ahead of the answer."""
    return getattr(out, "header", None)


class Attempt(Opening):
    """One attempt to make a unary call."""

    def __init__(
        self,
        caller: Calls,
        method: Method[Any, Any],
        data: bytes,
        codec: Codec,
        deadline: int,
        metadata: list[tuple[str, str | bytes]] | None,
        wait_for_ready: bool,
    ) -> None:
        super().__init__(caller, method, metadata or [], deadline)
        self.oneway = method.kind is Kind.ONE_WAY
        self.data = data
        self.codec = codec
        self.wait_for_ready = wait_for_ready
        self.compress(caller._calling.packing.order)
        self.response: Response[Any] | None = None  # to be filled in
        self.most: int | None = None  # bytes of the answer
        self._sent = 0
        self._future: asyncio.Future[None] | None = None

    # CallEvents.

    def set_result(self, result: None) -> None:
        if self.opened and self.out.status is not None:
            self.name_late()
            self._count()
            self.finish(self.out.status)
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    def _count(self) -> None:
        if self.told is not None and self.out.message is not None:
            self.told.received = len(self.out.message)

    def sent(self) -> int:
        return self._sent

    # Making it.

    def append(self, connection: Connection) -> OutgoingCall | None:
        if self.number > 1:
            try:
                return self._append(connection, Metadata(self.metadata, attempt=self.number))
            except LimitError:
                pass  # there is room for the user's own metadata only
        return self._append(connection, Metadata(self.metadata) if self.metadata else None)

    def _append(self, connection: Connection, metadata: Metadata | None) -> OutgoingCall | None:
        data, compression = self._request.take(connection.session) if self._request else (self.data, 0)
        self._sent = len(data)
        return connection.session.open(
            self.method._wire_name,
            data,
            self,
            codec=self.codec.number,
            compression=compression,
            metadata=metadata,
            deadline=self.deadline,
            oneway=self.oneway,
        )

    def compress(self, order: Sequence[Compression]) -> None:
        """What the request is compressed with, the preferred one first."""
        packing = self.caller._calling.packing
        self._order = order
        self._request = Request(packing, self.method._wire_name, order, self.data) if order else None

    def ready(self, connection: Connection) -> bool:
        return self._request is None or self._request.ready(connection.session)

    async def prepare(self, connection: Connection) -> None:
        if self._request is not None:
            await self._request.prepare(connection.session)

    def another(self, number: int) -> Attempt:
        """A further attempt of the same call, with a number."""
        one = Attempt(
            self.caller, self.method, self.data, self.codec, self.deadline, self.metadata, self.wait_for_ready
        )
        one.compress(self._order)
        one.number, one.timeout, one.chooser, one.begun = number, self.timeout, self.chooser, self.begun
        one.response, one.most = self.response, self.most
        return one

    def adopt(self, out: OutgoingCall, connection: Connection, future: asyncio.Future[None] | None) -> None:
        """Goes on with a call that was opened otherwise; `future`: that it resolves, if it has not ended."""
        self.out, self.connection, self._future = out, connection, future

    def begin_now(self) -> bool:
        """Opens the call if that can be done without waiting; `invoke` goes on with it. Raises StatusError."""
        self._future = self.caller._loop.create_future()
        return self.open_now()

    @property
    def ended(self) -> bool:
        """Whether the attempt was made and has ended."""
        return hasattr(self, "out") and self.out.status is not None

    def cancel(self) -> None:
        """Ends the call with CANCELLED if it is open."""
        if hasattr(self, "out") and self.out.status is None:
            self.connection.give_up(self.out)

    async def wait(self) -> None:
        """Waits for the end of a call that was opened; cancels it when the task is cancelled."""
        try:
            if self._future is not None:
                await self._future
        except asyncio.CancelledError:
            self.connection.give_up(self.out)
            raise

    async def run(self) -> None:
        """Opens the call and waits for its end. Raises StatusError if it could not be opened."""
        self._future = self.caller._loop.create_future()
        await self.open(self.wait_for_ready)
        await self.wait()

    async def again(self) -> bool:
        """Whether the call is to be made once more; waits as long as a refusal asks for (client.md)."""
        status = self.out.status
        if status is None or not status.code:
            return False
        if status.delivery is Delivery.REFUSED and status.retry_after and status.code in _PASSING:
            wait = round(status.retry_after * 1e6)
        elif status.delivery is Delivery.NOT_SENT and status.code is Code.UNAVAILABLE:
            wait = 0
        else:
            return False
        if status.code is Code.UNAVAILABLE and self.caller._alone:
            return False
        if status.code is Code.UNAVAILABLE and self.caller._elsewhere:
            wait = 0
        allowed = self.caller._policies.of(self.method.name).repeat
        if wait > LONGEST_PAUSE or (self.deadline and self.deadline - clock() <= wait) or self.caller._closed:
            return False
        if not self.caller._calling.repeating.take(clock(), allowed):
            return False
        self.number = 2
        self.avoid = self.caller._endpoint_of(self.connection)
        if wait:
            await asyncio.sleep(wait / 1e6)
        return not self.caller._closed

    async def result(self) -> Any:
        """The response. Raises StatusError."""
        self.name_late()
        out = self.out
        status = out.status
        if status is None:
            raise failure(Code.INTERNAL, "the call has not ended", Delivery.UNKNOWN)
        trailer = out.metadata.entries if out.metadata is not None else []
        if self.response is not None:
            self._fill(self.response, trailer)
        if status.code:
            raise StatusError.of(status, trailer, self._header, self.connection.remote)
        if self.oneway:
            return None
        answer, compression = out.take_message() or (b"", 0)
        message = kept(answer)
        try:
            decode = self.method.binding(self.codec).decode_response
            limit = bound(message, out.session.own.max_message, self.most)
            if not compression:
                return decode(message)
            async with self.caller._calling.packing.unpacked(compression, message, limit) as unpacked:
                return decode(unpacked)
        except TooLong as error:
            raise failure(Code.RESOURCE_EXHAUSTED, f"the response {error}", Delivery.EXECUTED) from None
        except Exception as error:
            raise undecodable(self.codec, error) from error

    @property
    def _header(self) -> list[tuple[str, str | bytes]]:
        early = early_metadata(self.out)
        return early.entries if early is not None else []

    def _fill(self, response: Response[Any], trailer: list[tuple[str, str | bytes]]) -> None:
        response.header = self._header
        response.trailer = trailer
        response.peer = self.connection.remote
        response.server_time = getattr(self.out, "server_time", 0) / 1e6


def unencodable(codec: Codec, error: Exception, method: Method[Any, Any], request: Any) -> StatusError:
    """For a request that the codec does not take."""
    if isinstance(error, StatusError):
        return error
    text = wrong_request(method, request) or f"the request is not a valid {codec.name} message: {error}"
    return failure(*unwritten(error, text), Delivery.NOT_SENT)


def undecodable(codec: Codec, error: Exception) -> StatusError:
    """Likewise for a response."""
    text = f"the response is not a valid {codec.name} message: {error}"
    return failure(*told(error, Code.INTERNAL, text), Delivery.EXECUTED)


async def invoke(attempt: Attempt) -> Any:
    """Makes a unary call, or goes on with one that was opened and has ended. Raises StatusError."""
    if not hasattr(attempt, "out"):
        await attempt.run()
    elif not attempt.ended:
        await attempt.wait()
    if await attempt.again():
        await attempt.run()
    return await attempt.result()
