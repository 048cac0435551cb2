"""What interceptors of grpc.aio channels answer themselves, in the place of a call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Generator
from functools import partial
from typing import Any

import grpc
import grpc.aio

from .conversion import LOCALLY_CANCELLED

_OVER = "the call is over"


class _OneAnswer:
    """A call with one response that has ended well."""

    def __init__(self, response: Any, made: Any) -> None:
        self._response = response

    def __await__(self) -> Generator[Any, None, Any]:
        return self._at_once().__await__()

    async def _at_once(self) -> Any:
        return self._response

    def cancel(self) -> bool:
        return False

    def cancelled(self) -> bool:
        return False

    def done(self) -> bool:
        return True

    def add_done_callback(self, callback: Callable[[Any], Any]) -> None:
        callback(self)

    def time_remaining(self) -> float | None:
        return None

    async def initial_metadata(self) -> grpc.aio.Metadata:
        return grpc.aio.Metadata()

    async def trailing_metadata(self) -> grpc.aio.Metadata:
        return grpc.aio.Metadata()

    async def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.OK

    async def details(self) -> str:
        return ""

    async def debug_error_string(self) -> str:
        return ""

    async def wait_for_connection(self) -> None:
        pass


def call_with(callback: Callable[[Any], Any], call: Any, made: Any) -> None:
    """For callbacks that are to be given this call, and not the one that was made."""
    callback(call)


class UnaryUnaryAnswer(_OneAnswer, grpc.aio.UnaryUnaryCall[Any, Any]):
    """A response."""


class StreamUnaryAnswer(_OneAnswer, grpc.aio.StreamUnaryCall[Any, Any]):
    """A response to many requests."""

    async def write(self, request: Any) -> None:
        raise asyncio.InvalidStateError(_OVER)

    async def done_writing(self) -> None:
        pass


class _Answers:
    """The responses of an iterator. All but them is that of the call that the interceptor has made; if it has made
    none, the call ends as the iterator does."""

    def __init__(self, responses: AsyncIterable[Any], made: Any) -> None:
        self._made = made
        self._each = self._responses(responses)
        self._end: asyncio.Future[tuple[grpc.StatusCode, str]] = asyncio.get_running_loop().create_future()

    async def _responses(self, responses: AsyncIterable[Any]) -> AsyncIterator[Any]:
        code, text = grpc.StatusCode.OK, ""
        try:
            async for response in responses:
                if self._end.done():
                    raise asyncio.CancelledError
                yield response
        except grpc.aio.AioRpcError as error:
            code, text = error.code(), error.details() or ""
            raise
        except (asyncio.CancelledError, GeneratorExit):
            code, text = grpc.StatusCode.CANCELLED, LOCALLY_CANCELLED
            raise
        except Exception as error:
            code, text = grpc.StatusCode.UNKNOWN, str(error)
            raise
        finally:
            if not self._end.done():
                self._end.set_result((code, text))

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._each

    async def read(self) -> Any:
        return await anext(self._each, grpc.aio.EOF)

    def cancel(self) -> bool:
        if self._made is not None:
            return bool(self._made.cancel())
        if self._end.done():
            return False
        self._end.set_result((grpc.StatusCode.CANCELLED, LOCALLY_CANCELLED))
        return True

    def cancelled(self) -> bool:
        if self._made is not None:
            return bool(self._made.cancelled())
        return self._end.done() and self._end.result()[0] is grpc.StatusCode.CANCELLED

    def done(self) -> bool:
        return self._end.done() if self._made is None else self._made.done()

    def add_done_callback(self, callback: Callable[[Any], Any]) -> None:
        if self._made is not None:
            self._made.add_done_callback(partial(call_with, callback, self))
        elif self._end.done():
            callback(self)
        else:
            self._end.add_done_callback(partial(call_with, callback, self))

    def time_remaining(self) -> float | None:
        return None if self._made is None else self._made.time_remaining()

    async def initial_metadata(self) -> grpc.aio.Metadata:
        return grpc.aio.Metadata() if self._made is None else await self._made.initial_metadata()

    async def trailing_metadata(self) -> grpc.aio.Metadata:
        if self._made is not None:
            found: grpc.aio.Metadata = await self._made.trailing_metadata()
            return found
        await asyncio.shield(self._end)
        return grpc.aio.Metadata()

    async def code(self) -> grpc.StatusCode:
        return (await asyncio.shield(self._end))[0] if self._made is None else await self._made.code()

    async def details(self) -> str:
        return (await asyncio.shield(self._end))[1] if self._made is None else await self._made.details()

    async def debug_error_string(self) -> str:
        return "" if self._made is None else await self._made.debug_error_string()

    async def wait_for_connection(self) -> None:
        if self._made is not None:
            await self._made.wait_for_connection()


class UnaryStreamAnswer(_Answers, grpc.aio.UnaryStreamCall[Any, Any]):
    """Many responses."""


class StreamStreamAnswer(_Answers, grpc.aio.StreamStreamCall[Any, Any]):
    """Many responses to many requests."""

    async def write(self, request: Any) -> None:
        if self._made is None:
            raise grpc.aio.UsageError("an interceptor has taken the requests of this call")
        await self._made.write(request)

    async def done_writing(self) -> None:
        if self._made is not None:
            await self._made.done_writing()
