"""Calls in grpc.aio's shapes."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable
from typing import Any

import grpc
import grpc.aio

from trunkcall import Code, Status
from trunkcall.caller import Caller, CallOptions, Response
from trunkcall.calling import Calls
from trunkcall.codec import PROTOBUF
from trunkcall.compression import Compressions
from trunkcall.context import deadline_of, ends_at, own_timeout, remaining
from trunkcall.method import Method
from trunkcall.status import StatusError
from trunkcall.unarycall import Attempt, Begun, early_metadata, invoke, undecodable

from .conversion import CODES, LOCALLY_CANCELLED, CallError, Entries, to_metadata, trailing

OK = Status(Code.OK)
logger = logging.getLogger("trunkcall")


class _CallOf:
    """What all calls have: a time at which they began, callbacks, the answer's metadata, one outcome."""

    _until: int | None = None
    _callbacks: list[Callable[[Any], Any]] | None = None
    _over = False
    _cancelled = False

    def __init__(self, caller: Caller, timeout: float | None) -> None:
        self._caller = caller
        self._until = ends_at(timeout)

    def time_remaining(self) -> float | None:
        return remaining(self._until)

    def done(self) -> bool:
        return self._over

    def cancelled(self) -> bool:
        return self._cancelled and self._over

    def add_done_callback(self, callback: Callable[[Any], Any]) -> None:
        if self._over:
            callback(self)
        else:
            self._callbacks = [*(self._callbacks or ()), callback]
            self._watch()

    def _watch(self) -> None:
        """Sees to it that the end is noticed although nobody awaits the call."""

    def _end(self) -> None:
        if self._over:
            return
        self._over = True
        callbacks, self._callbacks = self._callbacks, None
        for callback in callbacks or ():
            callback(self)

    async def wait_for_connection(self) -> None:
        if isinstance(self._caller, Calls):
            await self._caller._become_ready()


class UnaryUnaryCall(_CallOf, grpc.aio.UnaryUnaryCall[Any, Any]):
    """One request, one response. The call begins at once. The first to await it continues it, so that a task is made
    only if more is asked of it."""

    _attempt: Attempt | None = None
    _begun: Begun | None = None  # the quick way, until it is left
    _awaited = False  # somebody goes on with the call
    _task: asyncio.Task[None] | None = None
    _finished: asyncio.Future[None] | None = None
    _status = OK
    _trailer: Iterable[tuple[str, str | bytes]] = ()
    _response: Any = None
    _error: BaseException | None = None
    _kept_answer: Response[Any] | None = None

    def __init__(
        self,
        caller: Caller,
        method: Method[Any, Any],
        request: Any,
        timeout: float | None,
        metadata: Entries,
        wait_for_ready: bool,
        compression: Compressions | None,
    ) -> None:
        super().__init__(caller, timeout)
        self._method = method
        self._compression = compression
        self._wait_for_ready = wait_for_ready
        self._timeout = timeout
        if not isinstance(caller, Calls) or not caller._direct or caller._file is not None:
            self._around = (request, timeout, metadata)
            self._watch()
            return
        try:
            self._begin(caller, request, deadline_of(timeout), metadata)
        except StatusError as error:
            self._fail(error)
            self._end()

    def _begin(self, caller: Calls, request: Any, deadline: int, metadata: Entries) -> None:
        data = caller._encode(self._method, request, PROTOBUF)
        if not metadata and self._compression is None:
            self._begun = caller._begin(self._method, data, deadline)
            if self._begun is not None:
                self._data, self._deadline = data, deadline
                return
        self._attempt = attempt = self._attempt_of(caller, data, deadline, metadata)
        if not attempt.begin_now():
            self._watch()

    def _attempt_of(self, caller: Calls, data: bytes, deadline: int, metadata: Entries) -> Attempt:
        attempt = Attempt(caller, self._method, data, PROTOBUF, deadline, metadata, self._wait_for_ready)
        attempt.timeout = own_timeout(self._timeout, deadline)
        if self._compression is not None:
            attempt.compress(caller._order(self._compression))
        attempt.response = self._answer
        return attempt

    @property
    def _answer(self) -> Response[Any]:
        if self._kept_answer is None:
            self._kept_answer = Response(None)
        return self._kept_answer

    def _watch(self) -> None:
        if not self._awaited and self._task is None and not self._over:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def __await__(self) -> Generator[Any, None, Any]:
        begun = self._begun
        if begun is None or self._awaited or self._task is not None:
            return (yield from self._result().__await__())
        out, connection, future = begun
        self._awaited = True
        try:
            yield from future
        except asyncio.CancelledError as error:
            connection.give_up(out)
            self._stop(error)
            raise
        message = out.message
        if message is None or out.compression:
            self._awaited = False
            return (yield from self._result().__await__())
        return self._take(begun, message)

    def _take(self, begun: Begun, message: bytes) -> Any:
        """The response of a call that has ended well in the quick way."""
        out = begun[0]
        early = early_metadata(out)
        if early is not None:
            self._answer.header = early.entries
        try:
            self._response = response = self._method.binding(PROTOBUF).decode_response(message)
        except Exception as error:
            self._fail(undecodable(PROTOBUF, error))
            self._end()
            raise self._error or error from error
        if out.metadata is not None:
            self._trailer = out.metadata.entries
        self._end()
        return response

    async def _run(self) -> None:
        """Goes on with the call to its end and keeps the outcome."""
        self._awaited = True
        try:
            self._response = await self._work()
            self._trailer = self._answer.trailer
        except StatusError as error:
            self._fail(error)
        except asyncio.CancelledError as error:
            self._stop(error)
        except Exception as error:
            self._status = Status(Code.UNKNOWN, str(error))
            self._error = error
        self._end()

    def _work(self) -> Coroutine[Any, Any, Any]:
        attempt = self._attempt
        if self._begun is not None and isinstance(self._caller, Calls):
            attempt = self._attempt_of(self._caller, self._data, self._deadline, [])
            attempt.adopt(*self._begun)
        return invoke(attempt) if attempt is not None else self._call()

    async def _call(self) -> Any:
        """Makes the call by the caller's own `unary`."""
        request, timeout, metadata = self._around
        options = CallOptions(
            math.inf if timeout is None else timeout, metadata, PROTOBUF, self._compression, self._wait_for_ready
        )
        self._kept_answer = answer = await self._caller.unary(self._method, request, options)
        return answer.message

    def _end(self) -> None:
        super()._end()
        if self._finished is not None and not self._finished.done():
            self._finished.set_result(None)

    def _stop(self, error: BaseException) -> None:
        self._cancelled = True
        self._status = Status(Code.CANCELLED, LOCALLY_CANCELLED)
        self._error = error
        self._end()

    def _fail(self, error: StatusError) -> None:
        if self._cancelled and error.code is Code.CANCELLED:
            self._stop(asyncio.CancelledError())
            return
        self._status = error.status
        self._trailer = list(error.trailer)
        self._error = CallError(error, error.header)
        self._answer.header = list(error.header)
        self._error.__cause__ = error

    async def _result(self) -> Any:
        if not self._over and not self._awaited and self._task is None:
            await self._run()
        elif not self._over:
            try:
                await self._settled()
            except asyncio.CancelledError:
                self.cancel()
                raise
        if self._error is not None:
            raise self._error
        return self._response

    def cancel(self) -> bool:
        if self._over:
            return False
        self._cancelled = True
        if self._task is not None:
            self._task.cancel()
        elif self._begun is not None:
            out, connection, _ = self._begun
            if out.status is None:
                connection.give_up(out)
        elif self._attempt is not None:
            self._attempt.cancel()
        self._watch()
        return True

    def done(self) -> bool:
        if self._over or self._awaited:
            return self._over
        if self._begun is not None:
            return self._begun[0].status is not None
        return self._attempt is not None and self._attempt.ended

    async def _settled(self) -> None:
        if not self._over:
            self._watch()
            if self._finished is None:
                self._finished = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._finished)

    async def initial_metadata(self) -> grpc.aio.Metadata:
        await self._settled()
        return to_metadata(self._answer.header)

    async def trailing_metadata(self) -> grpc.aio.Metadata:
        await self._settled()
        return trailing(self._status, self._trailer)

    async def code(self) -> grpc.StatusCode:
        await self._settled()
        return CODES[int(self._status.code)]

    async def details(self) -> str:
        await self._settled()
        return self._status.message

    async def debug_error_string(self) -> str:
        await self._settled()
        return str(self._error or "")


class _StreamCall(_CallOf):
    """A call with a stream in at least one direction."""

    def __init__(
        self,
        caller: Caller,
        method: Method[Any, Any],
        requests: Any,
        timeout: float | None,
        metadata: Entries,
        wait_for_ready: bool,
        compression: Compressions | None,
    ) -> None:
        super().__init__(caller, timeout)
        until = math.inf if timeout is None else timeout
        options = CallOptions(until, metadata, PROTOBUF, compression, wait_for_ready)
        self._stream = caller.stream(method, requests if method.kind.takes_one else None, options)
        self._feeding: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._style = ""  # how requests are given, or responses taken: not both ways in one call
        if not method.kind.takes_one and requests is not None:
            self._feeding = asyncio.get_running_loop().create_task(self._feed(requests))

    async def _feed(self, requests: Any) -> None:
        try:
            if hasattr(requests, "__aiter__"):
                async for request in requests:
                    if not await self._stream.send(request):
                        return
            else:
                for request in requests:
                    if not await self._stream.send(request):
                        return
            await self._stream.half_close()
        except StatusError as error:
            if not self._stream.done:
                logger.error("a request of %r could not be sent: %s", self, error)
                self.cancel()
        except Exception:
            logger.exception("the request iterator of a call raised an exception")
            self.cancel()

    def done(self) -> bool:
        return self._stream.done

    def cancelled(self) -> bool:
        return self._cancelled and self._stream.done

    def cancel(self) -> bool:
        if self._stream.done:
            return False
        self._cancelled = True
        self._stream.cancel()
        if self._feeding is not None and self._feeding is not asyncio.current_task():
            self._feeding.cancel()
        return True

    def _watch(self) -> None:
        if self._watching is None:
            self._watching = asyncio.get_running_loop().create_task(self._notice())

    async def _notice(self) -> None:
        await self._stream.status()
        self._end()

    def _raised(self, error: StatusError, header: Entries) -> BaseException:
        if self._cancelled and error.code is Code.CANCELLED:
            return asyncio.CancelledError()
        raised = CallError(error, header)
        raised.__cause__ = error
        return raised

    async def _receive(self) -> Any:
        try:
            message = await self._stream.receive()
        except StatusError as error:
            raise self._raised(error, await self._stream.header()) from error
        except asyncio.CancelledError:
            self.cancel()
            raise
        return grpc.aio.EOF if message is None else message

    async def read(self) -> Any:
        return await self._receive()

    async def write(self, request: Any) -> None:
        if self._feeding is not None:
            raise grpc.aio.UsageError("the requests of this call come from an iterator")
        try:
            sent = await self._stream.send(request)
        except StatusError as error:
            raise self._raised(error, []) from error
        if not sent:
            status = await self._stream.status()
            if status.code:
                raise self._raised(StatusError.of(status, self._stream.trailer), await self._stream.header())
            raise asyncio.InvalidStateError("the call is over")

    async def done_writing(self) -> None:
        if self._feeding is not None:
            raise grpc.aio.UsageError("the requests of this call come from an iterator")
        await self._stream.half_close()

    async def initial_metadata(self) -> grpc.aio.Metadata:
        return to_metadata(await self._stream.header())

    async def trailing_metadata(self) -> grpc.aio.Metadata:
        status = await self._stream.status()
        return trailing(status, self._stream.trailer)

    async def code(self) -> grpc.StatusCode:
        return CODES[int((await self._stream.status()).code)]

    async def details(self) -> str:
        return (await self._stream.status()).message

    async def debug_error_string(self) -> str:
        status = await self._stream.status()
        return str(StatusError.of(status)) if status.code else ""


class _Responses(_StreamCall):
    """The receiving half of a call with many responses."""

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._each()

    async def _each(self) -> AsyncIterator[Any]:
        while (message := await self._receive()) is not grpc.aio.EOF:
            yield message


class UnaryStreamCall(_Responses, grpc.aio.UnaryStreamCall[Any, Any]):
    """One request, many responses."""


class StreamStreamCall(_Responses, grpc.aio.StreamStreamCall[Any, Any]):
    """Many messages both ways."""


class StreamUnaryCall(_StreamCall, grpc.aio.StreamUnaryCall[Any, Any]):
    """Many requests, one response."""

    _answer: asyncio.Task[Any] | None = None

    def __await__(self) -> Generator[Any, None, Any]:
        return self._result().__await__()

    async def _result(self) -> Any:
        if self._answer is None:
            self._answer = asyncio.get_running_loop().create_task(self._take())
        try:
            error, response = await asyncio.shield(self._answer)
        except asyncio.CancelledError:
            self.cancel()
            raise
        if error is not None:
            raise error
        return response

    async def _take(self) -> tuple[BaseException | None, Any]:
        try:
            message = await self._stream.receive()
            if message is None:
                raise StatusError(Code.UNIMPLEMENTED, "there is no message where one is expected")
            await self._stream.receive()  # the end
        except StatusError as error:
            return self._raised(error, await self._stream.header()), None
        return None, message
