"""What users register as handlers, in the one form in which it is run."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from .codec import Codec, kind_of
from .described import check_described, is_safe
from .executing import NotStarted, in_executor
from .interceptor import MessageStream
from .method import Binding, Handler, Kind, Method
from .status import StatusError

if TYPE_CHECKING:
    from .servercall import ServerCall

# Serves a call: the request if there is exactly one, the messages, the call. Returns the response if there is one.
Run = Callable[[Any, MessageStream, "ServerCall"], Awaitable[Any]]

_END: Any = object()


class Served:
    """A method that is served. `bindings` are by the number of the codec; `function` is for inline calls."""

    __slots__ = ("answers_one", "bindings", "function", "inline", "method", "run", "safe", "streams")

    def __init__(self, handler: Handler, codecs: dict[int, Codec], executor: Executor | None) -> None:
        self.method: Method[Any, Any] = handler.method
        check_described(handler.method)
        self.bindings: dict[int, Binding] = {}
        for number, codec in codecs.items():
            with suppress(AttributeError, TypeError, StatusError):  # not a codec for these messages
                self.bindings[number] = handler.method.binding(codec)
        if not self.bindings:
            raise ValueError(f"none of the server's codecs is for the messages of {handler.method.name}")
        self.answers_one = handler.method.kind.answers_one
        self.streams = handler.method.kind.streams
        self.safe = handler.no_side_effects or is_safe(handler.method)
        self.function: Callable[..., Any] = handler.serve
        self.inline = handler.inline and not _is_async(handler.serve)
        self.run: Run = _runner(handler, executor)
        if handler.inline and handler.method.kind is not Kind.UNARY:
            raise ValueError(f"{handler.method.name} is {handler.method.kind.value}: only unary handlers run inline")


def _is_async(serve: Callable[..., Any]) -> bool:
    call: Any = serve
    while isinstance(call, partial):
        call = _inner(call)
    if not inspect.isroutine(call):
        call = type(call).__call__
    return inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call)


def _inner(call: Any) -> Any:
    return call.func


def _runner(handler: Handler, executor: Executor | None) -> Run:
    serve, kind = handler.serve, handler.method.kind
    if not kind.streams:
        if _is_async(serve):
            return _unary(serve)
        return _inline(serve) if handler.inline else _unary_in(executor, serve)
    if kind is Kind.CLIENT_STREAM:
        return _client_stream(serve)
    return _many(serve, kind, executor)


def _unary(serve: Callable[..., Any]) -> Run:
    def run(request: Any, stream: MessageStream, call: ServerCall) -> Awaitable[Any]:
        running: Awaitable[Any] = serve(request, call)
        return running

    return run


def _inline(serve: Callable[..., Any]) -> Run:
    async def run(request: Any, stream: MessageStream, call: ServerCall) -> Any:
        return serve(request, call)

    return run


def _unary_in(executor: Executor | None, serve: Callable[..., Any]) -> Run:
    begin = _in_time(serve)

    async def run(request: Any, stream: MessageStream, call: ServerCall) -> Any:
        response = await in_executor(executor, begin, request, call)
        return await response if inspect.isawaitable(response) else response

    return run


def _in_time(serve: Callable[..., Any]) -> Callable[..., Any]:
    """A plain function, that looks at the time when a thread has been found for it."""

    def begin(request: Any, call: ServerCall) -> Any:
        if call.time_remaining() == 0 and not call.oneway:
            raise NotStarted
        return serve(request, call)

    return begin


def _client_stream(serve: Callable[..., Any]) -> Run:
    def run(request: Any, stream: MessageStream, call: ServerCall) -> Awaitable[Any]:
        return cast(Awaitable[Any], serve(_Messages(stream), call))

    return run


def _many(serve: Callable[..., Any], kind: Kind, executor: Executor | None) -> Run:
    plain = kind is Kind.SERVER_STREAM and not (_is_async(serve) or inspect.isgeneratorfunction(serve))
    begin = _in_time(serve)

    async def run(request: Any, stream: MessageStream, call: ServerCall) -> None:
        if plain:
            answers = await in_executor(executor, begin, request, call)
        else:
            answers = serve(request if kind is Kind.SERVER_STREAM else _Messages(stream), call)
        if inspect.isawaitable(answers):
            answers = await answers
        if answers is None:
            return
        many: Any = answers
        if hasattr(many, "__aiter__"):
            await _send_all(many, stream)
        elif not hasattr(many, "__iter__"):
            raise TypeError(f"the handler of a stream returned {kind_of(many)}: yield the messages, or await call.send")
        else:
            await _send_each(many, stream, executor)

    return run


async def _send_all(answers: AsyncIterable[Any], stream: MessageStream) -> None:
    iterator = aiter(answers)
    try:
        async for answer in iterator:
            if not await stream.send(answer):
                return
    finally:
        close = getattr(iterator, "aclose", None)
        if close is not None:
            await close()


async def _send_each(answers: Iterable[Any], stream: MessageStream, executor: Executor | None) -> None:
    iterator = await in_executor(executor, iter, answers)
    try:
        while (answer := await in_executor(executor, _next, iterator)) is not _END:
            if not await stream.send(answer):
                return
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            await in_executor(executor, close)


def _next(iterator: Iterator[Any]) -> Any:
    return next(iterator, _END)


class _Messages:
    """The requests of a call, for `async for`."""

    __slots__ = ("_stream",)

    def __init__(self, stream: MessageStream) -> None:
        self._stream = stream

    def __aiter__(self) -> _Messages:
        return self

    async def __anext__(self) -> Any:
        message = await self._stream.receive()
        if message is None:
            raise StopAsyncIteration
        return message
