"""A server object that generated code takes for its servicers."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast

import grpc
import grpc.aio

from trunkcall.client import Client
from trunkcall.described import described_messages, is_described
from trunkcall.executing import NotStarted
from trunkcall.method import (
    BidiMethod,
    Binding,
    ClientStreamMethod,
    Handler,
    Method,
    ServerStreamMethod,
    UnaryMethod,
)
from trunkcall.server import Server as NativeServer
from trunkcall.servercall import ServerCall
from trunkcall.status import StatusError

from . import health
from .context import AsyncContext, CommonContext, Requests, ThreadContext
from .conversion import failed
from .interceptors import checked, chosen
from .stubmethod import same

_KINDS: dict[tuple[bool, bool], type[Method[Any, Any]]] = {
    (False, False): UnaryMethod,
    (False, True): ServerStreamMethod,
    (True, False): ClientStreamMethod,
    (True, True): BidiMethod,
}


# Versions of a service of gRPC whose messages and methods are the same. Its package for Python has the first only, and
# there are clients that ask for the other one alone.
_ALSO = {"/grpc.reflection.v1alpha.ServerReflection/": "/grpc.reflection.v1.ServerReflection/"}


class Server(grpc.aio.Server):
    """A Trunkcall server, or a client that serves its servers, as a grpc.aio.Server, for add_…Servicer_to_server.
    Servicers may have coroutines, asynchronous generators, and plain methods, which run on the Trunkcall server's
    executor.

    Ports and credentials are the Trunkcall server's own, and its interceptors run around those given here; `stop` stops
    it. A client is not stopped.

    gRPC's own services work as others do: health of grpcio-health-checking, which says NOT_SERVING while the server
    leaves, whatever it was told, and reflection of grpcio-reflection, which is served as v1 as well as v1alpha."""

    def __init__(
        self,
        server: NativeServer | Client,
        *,
        hide_errors: bool = False,
        interceptors: Sequence[grpc.aio.ServerInterceptor | grpc.ServerInterceptor] = (),
    ) -> None:
        """Callers of a servicer that raises an exception are told its type and text, as by grpc.aio. With `hide_errors`
        they are told an id, and the log has the text beside it.

        `interceptors` choose the handlers of calls to servicers that are registered here; those of grpc, which are not
        awaited, run on threads. A handler of theirs gets and gives the messages of the method: serializers of its own
        are not used. Raises TypeError for what is none."""
        self._server = server
        self._interceptors = checked(interceptors)
        self._hide = hide_errors
        self._registered: set[str] = set()

    @property
    def services(self) -> list[str]:
        """The names of the services that are served and that a `.proto` file describes, sorted: what to give reflection
        of grpcio-reflection, which has nothing to say of others."""
        return [name for name in self._server.services if is_described(name)]

    def add_generic_rpc_handlers(self, generic_rpc_handlers: Iterable[grpc.GenericRpcHandler]) -> None:
        """Takes the handlers of generated code, which have names; others raise ValueError."""
        for generic in generic_rpc_handlers:
            named: Mapping[str, Any] | None = getattr(generic, "_method_handlers", None)
            if named is None:
                raise ValueError("a generic handler without a list of its methods cannot be served")
            for name, handler in named.items():
                self._register(name, handler)

    def add_registered_method_handlers(self, service_name: str, method_handlers: Mapping[str, Any]) -> None:
        for name, handler in method_handlers.items():
            self._register(f"/{service_name}/{name}", handler)

    def _register(self, name: str, handler: Any) -> None:
        if name in self._registered:
            return  # generated code registers both ways
        kind = _KINDS[bool(handler.request_streaming), bool(handler.response_streaming)]
        decode, encode = handler.request_deserializer or same, handler.response_serializer or same
        method = kind(name, *described_messages(name), Binding(same, decode, encode, same))
        serve = _serve(handler, self._hide)
        if self._interceptors:
            serve = self._choosing(handler)
        if name.startswith(health.SERVICE) and isinstance(self._server, NativeServer):
            serve = health.until_it_leaves(serve, handler.response_streaming, self._server)
        self._server.register(Handler(method, serve))
        self._registered.add(name)
        service = name[: name.rindex("/") + 1]
        if also := _ALSO.get(service):
            self._register(also + name.removeprefix(service), handler)

    def _choosing(self, handler: Any) -> Callable[..., Any]:
        """Serves with what the interceptors choose for each call."""

        async def choose(call: ServerCall) -> Callable[..., Any]:
            try:
                return _serve(await chosen(self._interceptors, handler, call), self._hide)
            except Exception as error:
                _instead(CommonContext(call), error, self._hide)
                raise

        async def answer_one(request: Any, call: ServerCall) -> Any:
            return await (await choose(call))(request, call)

        async def answer_many(request: Any, call: ServerCall) -> AsyncIterator[Any]:
            serve = await choose(call)
            async with aclosing(serve(request, call)) as answers:
                async for answer in answers:
                    yield answer

        return answer_many if handler.response_streaming else answer_one

    def add_insecure_port(self, address: str) -> int:
        raise NotImplementedError("use Server.listen of the Trunkcall server")

    def add_secure_port(self, address: str, server_credentials: grpc.ServerCredentials) -> int:
        raise NotImplementedError("use Server.listen of the Trunkcall server")

    async def start(self) -> None:
        """Does nothing: Server.listen serves at once."""

    async def stop(self, grace: float | None) -> None:
        if isinstance(self._server, NativeServer):
            await self._server.stop(grace or 0.0)

    async def wait_for_termination(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109
        try:
            async with asyncio.timeout(timeout):
                if isinstance(self._server, NativeServer):
                    await self._server.serve(signals=False)
        except TimeoutError:
            return False
        return True


def _serve(handler: Any, hide: bool) -> Callable[..., Any]:
    behaviour = cast(
        Callable[..., Any],
        handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream,
    )
    if inspect.isasyncgenfunction(behaviour) or inspect.iscoroutinefunction(behaviour):
        return _answers_many(behaviour, hide) if handler.response_streaming else _answers_one(behaviour, hide)
    if handler.response_streaming:
        return _thread_answers_many(behaviour, handler.request_streaming, hide)
    return _thread_answers_one(behaviour, handler.request_streaming, hide)


def _answers_one(behaviour: Callable[..., Any], hide: bool) -> Callable[..., Any]:
    async def serve(request: Any, call: ServerCall) -> Any:
        context = AsyncContext(call)
        try:
            return context.finish(await behaviour(request, context))
        except Exception as error:
            _instead(context, error, hide)
            raise
        finally:
            _tell(context, context)

    return serve


def _answers_many(behaviour: Callable[..., Any], hide: bool) -> Callable[..., Any]:
    async def serve(request: Any, call: ServerCall) -> AsyncIterator[Any]:
        context = AsyncContext(call)
        try:
            answers = behaviour(request, context)
            if inspect.isawaitable(answers):
                await answers
            else:
                async with aclosing(answers):
                    async for answer in answers:
                        yield answer
            context.finish()
        except Exception as error:
            _instead(context, error, hide)
            raise
        finally:
            _tell(context, context)

    return serve


def _thread_answers_one(behaviour: Callable[..., Any], many: bool, hide: bool) -> Callable[..., Any]:
    async def serve(request: Any, call: ServerCall) -> Any:
        loop = asyncio.get_running_loop()
        context = ThreadContext(call, loop)
        given = Requests(call, loop) if many else request

        def work() -> Any:
            _check_time(call)
            try:
                return context.finish(behaviour(given, context))
            except Exception as error:
                _instead(context, error, hide)
                raise
            finally:
                _tell(context)

        return await call.run_in_executor(work)

    return serve


def _thread_answers_many(behaviour: Callable[..., Any], many: bool, hide: bool) -> Callable[..., Any]:
    async def serve(request: Any, call: ServerCall) -> AsyncIterator[Any]:
        loop = asyncio.get_running_loop()
        context = ThreadContext(call, loop)
        given = Requests(call, loop) if many else request
        end = object()

        def begin() -> Iterator[Any]:
            _check_time(call)
            return iter(behaviour(given, context))

        answers: Any = None
        try:
            answers = await call.run_in_executor(begin)
            while (answer := await call.run_in_executor(next, answers, end)) is not end:
                yield answer
            context.finish()
        except Exception as error:
            _instead(context, error, hide)
            raise
        finally:
            if hasattr(answers, "close"):
                await call.run_in_executor(answers.close)
            _tell(context)

    return serve


def _check_time(call: ServerCall) -> None:
    """Looks at the time when a thread was found: a call whose time has run out does not start."""
    if call.time_remaining() == 0:
        raise NotStarted


def _instead(context: CommonContext, error: Exception, hide: bool) -> None:
    """Raises what the caller is told of a servicer's exception: what it asked for, else what grpc.aio tells."""
    asked = context.failure()
    if context.aborted or (asked is not None and hide):
        raise asked or error from None
    if hide or isinstance(error, StatusError | NotStarted):
        return
    call = context.call
    call._end.serving.journal.log(logging.ERROR, "servicer of %s raised an exception", call.method.name, error=error)
    code = grpc.StatusCode.UNKNOWN if asked is None else asked.code
    raise failed(code, f"Unexpected {type(error)}: {error}", context.trailing) from error


def _tell(context: CommonContext, *args: Any) -> None:
    for callback in context.end():
        callback(*args)
