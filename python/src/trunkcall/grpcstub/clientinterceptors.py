"""Interceptors written for channels of grpc.aio.

A call that they are to see is an `Intercepted…Call`: it runs them in a task, and stands for what they return, which may
be the call that they have made, another one, or an answer of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from functools import partial
from typing import Any, NamedTuple

import grpc
import grpc.aio

from trunkcall.checking import wrong_type

from .answers import StreamStreamAnswer, StreamUnaryAnswer, UnaryStreamAnswer, UnaryUnaryAnswer, call_with
from .conversion import LOCALLY_CANCELLED, entries, to_metadata

_OVER = "the call is over"
_ITERATOR = "the requests of this call come from an iterator"
_END: Any = object()  # stands for the end of the requests


class InterceptedMethod:
    """One method of a stub whose calls interceptors see."""

    def __init__(self, shape: Shape, interceptors: Sequence[Any], plain: Callable[[str], Any], name: str) -> None:
        """`plain` makes the method of a name that no interceptor sees."""
        self.shape = shape
        self.interceptors = interceptors
        self._name = name
        self._plain = plain
        self._method = plain(name)

    def __call__(
        self,
        request: Any = None,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
        *,
        request_iterator: Any = None,
    ) -> Any:
        found = to_metadata(entries(metadata))
        name: Any = self._name.encode()  # as grpc.aio gives it, though stubs for checkers of types say str
        details = grpc.aio.ClientCallDetails(name, timeout, found, credentials, wait_for_ready)
        given = request if request_iterator is None else request_iterator
        return self.shape.call(self, details, given, compression)

    def begin(self, details: Any, given: Any, compression: grpc.Compression | None) -> Any:
        """The call itself, as the last interceptor wants it."""
        name = details.method.decode() if isinstance(details.method, bytes) else details.method
        method = self._method if name == self._name else self._plain(name)
        return method(
            given, details.timeout, details.metadata, details.credentials, details.wait_for_ready, compression
        )


class _Intercepted:
    """What all calls have that interceptors see."""

    def __init__(
        self, method: InterceptedMethod, details: Any, given: Any, compression: grpc.Compression | None
    ) -> None:
        self._method = method
        self._compression = compression
        self._last: Any = None  # the call that was made last
        first = self._proceed(method.interceptors, details, given)
        self._work: asyncio.Task[Any] = asyncio.get_running_loop().create_task(first)
        self._work.add_done_callback(_noticed)

    async def _proceed(self, interceptors: Sequence[Any], details: Any, given: Any) -> Any:
        shape = self._method.shape
        if not interceptors:
            self._last = self._method.begin(details, given, self._compression)
            return self._last
        proceed = partial(self._proceed, interceptors[1:])
        said = await getattr(interceptors[0], shape.function)(proceed, details, given)
        if isinstance(said, shape.kind):
            return said
        self._last = shape.answer(said, self._last)
        return self._last

    def _made(self) -> Any:
        """What the interceptors have returned; None if they have not yet, or have failed."""
        work = self._work
        return work.result() if work.done() and not work.cancelled() and work.exception() is None else None

    def cancel(self) -> bool:
        call = self._made()
        return self._work.cancel() if call is None else call.cancel()

    def cancelled(self) -> bool:
        call, work = self._made(), self._work
        if call is not None:
            return bool(call.cancelled())
        if work.cancelled() or not work.done():
            return work.cancelled()
        error = work.exception()
        return isinstance(error, grpc.aio.AioRpcError) and error.code() is grpc.StatusCode.CANCELLED

    def done(self) -> bool:
        call = self._made()
        return self._work.done() if call is None else call.done()

    def add_done_callback(self, callback: Callable[[Any], Any]) -> None:
        if self._work.done():
            self._call_at_end(callback)
        else:
            self._work.add_done_callback(lambda _: self._call_at_end(callback))

    def _call_at_end(self, callback: Callable[[Any], Any]) -> None:
        call = self._made()
        if call is None or call.done():
            callback(self)
        else:
            call.add_done_callback(partial(call_with, callback, self))

    def time_remaining(self) -> float | None:
        """That of the call that the interceptors have returned; None until then."""
        call = self._made()
        return None if call is None else call.time_remaining()

    async def _outcome(self) -> Any:
        """What tells of the end: the call, or the error that an interceptor has raised instead; None: cancelled."""
        try:
            return await asyncio.shield(self._work)
        except grpc.aio.AioRpcError as error:
            return _Raised(error)
        except asyncio.CancelledError:
            if not self._work.cancelled():
                raise
            return None

    async def initial_metadata(self) -> grpc.aio.Metadata:
        call = await self._outcome()
        return grpc.aio.Metadata() if call is None else await call.initial_metadata()

    async def trailing_metadata(self) -> grpc.aio.Metadata:
        call = await self._outcome()
        return grpc.aio.Metadata() if call is None else await call.trailing_metadata()

    async def code(self) -> grpc.StatusCode:
        call = await self._outcome()
        return grpc.StatusCode.CANCELLED if call is None else await call.code()

    async def details(self) -> str:
        call = await self._outcome()
        return LOCALLY_CANCELLED if call is None else await call.details()

    async def debug_error_string(self) -> str:
        call = await self._outcome()
        return "" if call is None else await call.debug_error_string()

    async def wait_for_connection(self) -> None:
        await (await self._work).wait_for_connection()


def _noticed(work: asyncio.Task[Any]) -> None:
    if not work.cancelled():
        work.exception()  # so that nothing is logged where nobody asks


class _Raised:
    """How a call ended whose interceptor has raised an error of gRPC."""

    def __init__(self, error: grpc.aio.AioRpcError) -> None:
        self._error = error

    async def initial_metadata(self) -> grpc.aio.Metadata:
        return self._error.initial_metadata()

    async def trailing_metadata(self) -> grpc.aio.Metadata:
        return self._error.trailing_metadata()

    async def code(self) -> grpc.StatusCode:
        return self._error.code()

    async def details(self) -> str:
        return self._error.details() or ""

    async def debug_error_string(self) -> str:
        return self._error.debug_error_string() or ""


class _OneResponse(_Intercepted):
    def __await__(self) -> Generator[Any, None, Any]:
        return self._response().__await__()

    async def _response(self) -> Any:
        return await (await self._work)


class _Responses(_Intercepted):
    _each: AsyncIterator[Any] | None = None

    def __aiter__(self) -> AsyncIterator[Any]:
        if self._each is None:
            self._each = self._received()
        return self._each

    async def _received(self) -> AsyncIterator[Any]:
        async for message in await self._work:
            yield message

    async def read(self) -> Any:
        return await anext(aiter(self), grpc.aio.EOF)


class _Requests(_Intercepted):
    """Requests that are written one by one go by an iterator too, which is what interceptors are given."""

    def __init__(
        self, method: InterceptedMethod, details: Any, given: Any, compression: grpc.Compression | None
    ) -> None:
        self._written: asyncio.Queue[Any] | None = None if given is not None else asyncio.Queue(maxsize=1)
        self._done_writing = False
        self._ending: asyncio.Task[Any] | None = None
        super().__init__(method, details, given if self._written is None else _items(self._written), compression)

    async def write(self, request: Any) -> None:
        if self._done_writing:
            raise asyncio.InvalidStateError("the requests of this call have ended")
        await self._put(request)

    async def done_writing(self) -> None:
        if self._done_writing:
            return
        await self._put(_END)
        self._done_writing = True

    async def _put(self, item: Any) -> None:
        if self._written is None:
            raise grpc.aio.UsageError(_ITERATOR)
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self.code())
            self._ending.add_done_callback(_noticed)
        putting = asyncio.ensure_future(self._written.put(item))
        try:
            await asyncio.wait((putting, self._ending), return_when=asyncio.FIRST_COMPLETED)
        finally:
            putting.cancel()
        if self.done() and item is not _END:
            raise asyncio.InvalidStateError(_OVER)


async def _items(written: asyncio.Queue[Any]) -> AsyncIterator[Any]:
    while (item := await written.get()) is not _END:
        yield item


class InterceptedUnaryUnaryCall(_OneResponse, grpc.aio.UnaryUnaryCall[Any, Any]):
    """One request, one response."""


class InterceptedUnaryStreamCall(_Responses, grpc.aio.UnaryStreamCall[Any, Any]):
    """One request, many responses."""


class InterceptedStreamUnaryCall(_OneResponse, _Requests, grpc.aio.StreamUnaryCall[Any, Any]):
    """Many requests, one response."""


class InterceptedStreamStreamCall(_Responses, _Requests, grpc.aio.StreamStreamCall[Any, Any]):
    """Many messages both ways."""


class Shape(NamedTuple):
    """A kind of calls, as interceptors see them."""

    interceptor: type[grpc.aio.ClientInterceptor]
    function: str
    """Of an interceptor."""

    kind: type[Any]
    """What calls of this kind are to users."""

    call: type[Any]
    answer: type[Any]
    """What stands for an answer that is no call; made of it, and of the call that was made last, if any."""


UNARY_UNARY = Shape(
    grpc.aio.UnaryUnaryClientInterceptor,
    "intercept_unary_unary",
    grpc.aio.UnaryUnaryCall,
    InterceptedUnaryUnaryCall,
    UnaryUnaryAnswer,
)
UNARY_STREAM = Shape(
    grpc.aio.UnaryStreamClientInterceptor,
    "intercept_unary_stream",
    grpc.aio.UnaryStreamCall,
    InterceptedUnaryStreamCall,
    UnaryStreamAnswer,
)
STREAM_UNARY = Shape(
    grpc.aio.StreamUnaryClientInterceptor,
    "intercept_stream_unary",
    grpc.aio.StreamUnaryCall,
    InterceptedStreamUnaryCall,
    StreamUnaryAnswer,
)
STREAM_STREAM = Shape(
    grpc.aio.StreamStreamClientInterceptor,
    "intercept_stream_stream",
    grpc.aio.StreamStreamCall,
    InterceptedStreamStreamCall,
    StreamStreamAnswer,
)
_SHAPES = (UNARY_UNARY, UNARY_STREAM, STREAM_UNARY, STREAM_STREAM)


def by_shape(interceptors: Sequence[Any]) -> dict[Shape, tuple[Any, ...]]:
    """The interceptors for each kind of calls, in order. One that is of several kinds sees the calls of the first of
    them, in the order unary-unary, unary-stream, stream-unary, stream-stream, as with grpc.aio. Raises TypeError for
    what is none of them."""
    found: dict[Shape, tuple[Any, ...]] = dict.fromkeys(_SHAPES, ())
    for one in interceptors:
        shape = next((shape for shape in _SHAPES if isinstance(one, shape.interceptor)), None)
        if shape is None:
            raise wrong_type(
                "interceptors", one, "objects of the interceptors of grpc.aio, such as UnaryUnaryClientInterceptor"
            )
        found[shape] += (one,)
    return found
