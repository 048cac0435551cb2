"""A channel that generated stubs take instead of grpc's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import grpc

from trunkcall import Caller as AsyncCaller
from trunkcall.blocking import Caller
from trunkcall.blocking.calls import Calls
from trunkcall.caller import CallOptions
from trunkcall.checking import wrong_type
from trunkcall.context import ends_at
from trunkcall.method import BidiMethod, ClientStreamMethod, ServerStreamMethod, UnaryMethod
from trunkcall.status import StatusError

from .blockingcalls import StartedFuture, Stream, StreamCall, ThreadFuture, feed, only_response
from .callbacks import Callbacks
from .conversion import entries
from .outcome import EndedCall, Ending, error_of
from .shapes import StreamStream, StreamUnary, UnaryStream, UnaryUnary
from .stubmethod import StubMethod, compression_of, refuse_credentials
from .subscribing import Subscriptions


class Channel(grpc.Channel):
    """A blocking caller as a grpc.Channel: a trunkcall.blocking.Client, one of its connections, or a caller of one's
    own. Used from any thread. Calls, their metadata, deadlines, cancellation and errors are those of grpc; what a
    failed call raises is a CallError, which says more.

    - A call sends and reads in the thread that makes it, and Trunkcall's interceptors run there: with any, a stream is
      opened before the stub's method returns. In the thread of an event loop a call raises RuntimeError.
    - Requests that come from an iterator are sent by a thread of the call, in a copy of its context: the iterator may
      block. One that raises an exception ends the call with UNKNOWN.
    - Functions given to `add_done_callback`, `add_callback` and `subscribe` are called one at a time, on a thread of
      the channel, where they may make calls.
    - `credentials` of a call raise ValueError. `compression` NoCompression and Gzip hold for its requests; Deflate
      leaves it to the client.
    - Of a caller that is neither a client nor a connection, the call of a `future` cannot be given up: after `cancel`
      its answer is dropped.

    The channel does not own the client: `close` leaves it open. After fork() the channel can be used in the child as
    its client can; calls that were open, and subscriptions, are the parent's."""

    def __init__(self, caller: Caller, *, policies: bool = False) -> None:
        """With `policies`, what the options of a client say of timeouts and of waiting holds for these calls as well;
        stubs of gRPC do not expect it. What a policy file says always does. Raises TypeError for what is no blocking
        Caller."""
        self._caller = _checked(caller)
        self._policies = policies or isinstance(caller, Calls) and caller._ruled
        self._callbacks = Callbacks()
        self._subscriptions = Subscriptions(caller, self._callbacks)

    def subscribe(
        self, callback: Callable[[grpc.ChannelConnectivity], None], try_to_connect: bool | None = False
    ) -> None:
        """Has a function told of the state of the client, as it is now and whenever it changes. A caller that is
        neither a client nor a connection is READY: nobody knows better."""
        self._subscriptions.add(callback, bool(try_to_connect))

    def unsubscribe(self, callback: Callable[[grpc.ChannelConnectivity], None]) -> None:
        self._subscriptions.remove(callback)

    def unary_unary(self, method: str, *functions: Any, **named: Any) -> Any:
        return _UnaryUnary(self, UnaryMethod, method, *functions, **named)

    def unary_stream(self, method: str, *functions: Any, **named: Any) -> Any:
        return _UnaryStream(self, ServerStreamMethod, method, *functions, **named)

    def stream_unary(self, method: str, *functions: Any, **named: Any) -> Any:
        return _StreamUnary(self, ClientStreamMethod, method, *functions, **named)

    def stream_stream(self, method: str, *functions: Any, **named: Any) -> Any:
        return _StreamStream(self, BidiMethod, method, *functions, **named)

    def close(self) -> None:
        """Ends the subscriptions. The client is closed by the one who made it."""
        self._subscriptions.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _checked(caller: Any) -> Caller:
    if isinstance(caller, Caller):
        return caller
    wanted = "a trunkcall.blocking.Client, or another blocking Caller"
    if isinstance(caller, AsyncCaller):
        wanted += "; trunkcall.grpcstub.aio.Channel takes this one"
    raise wrong_type("caller", caller, wanted)


class _Method(StubMethod):
    """One method of a stub."""

    def __init__(self, channel: Channel, *method: Any, **functions: Any) -> None:
        super().__init__(*method, **functions)
        self._caller = channel._caller
        self._policies = channel._policies
        self._callbacks = channel._callbacks

    def _options(
        self,
        timeout: float | None,
        metadata: Any,
        credentials: object,
        wait_for_ready: bool | None,
        compression: grpc.Compression | None,
    ) -> dict[str, Any]:
        """The fields of CallOptions."""
        if credentials is not None:
            refuse_credentials(credentials)
        if not self._policies:
            timeout = math.inf if timeout is None else timeout
            wait_for_ready = bool(wait_for_ready)
        return {
            "timeout": timeout,
            "metadata": entries(metadata),
            "compression": compression_of(compression),
            "wait_for_ready": wait_for_ready,
        }

    def _open(self, request: Any, options: dict[str, Any]) -> Stream:
        """Opens a call that is not unary. Raises CallError for a client that is closed."""
        try:
            return self._caller.stream(self.method, request, CallOptions(**options))
        except StatusError as error:
            raise error_of(error) from error


class _UnaryUnary(_Method, UnaryUnary):
    def __call__(
        self,
        request: Any,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
    ) -> Any:
        options = self._options(timeout, metadata, credentials, wait_for_ready, compression)
        try:
            return self._caller.call(self.method, request, **options)
        except StatusError as error:
            raise error_of(error) from error

    def with_call(
        self,
        request: Any,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
    ) -> Any:
        options = self._options(timeout, metadata, credentials, wait_for_ready, compression)
        try:
            ended = self._ended(request, options)
        except StatusError as error:
            raise error_of(error) from error
        return ended.result(), ended

    def future(
        self,
        request: Any,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
    ) -> Any:
        options = self._options(timeout, metadata, credentials, wait_for_ready, compression)
        ending, until = Ending(self._callbacks), ends_at(timeout)
        if not isinstance(self._caller, Calls):
            return ThreadFuture(partial(self._ended, request, options), ending, until)
        try:
            started = self._caller.start(self.method, request, **options)
        except StatusError as error:
            return error_of(error)
        return StartedFuture(started, ending, until)

    def _ended(self, request: Any, options: dict[str, Any]) -> EndedCall:
        response = self._caller.unary(self.method, request, CallOptions(**options))
        return EndedCall(response.message, response.header, response.trailer)


class _UnaryStream(_Method, UnaryStream):
    def __call__(
        self,
        request: Any,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
    ) -> Any:
        options = self._options(timeout, metadata, credentials, wait_for_ready, compression)
        until = ends_at(timeout)
        return StreamCall(self._open(request, options), Ending(self._callbacks), until)


class _StreamUnary(_Method, StreamUnary):
    def __call__(
        self,
        request_iterator: Any,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
    ) -> Any:
        options = self._options(timeout, metadata, credentials, wait_for_ready, compression)
        stream, ending = self._fed(request_iterator, options)
        return only_response(stream, ending).result()

    def with_call(
        self,
        request_iterator: Any,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
    ) -> Any:
        options = self._options(timeout, metadata, credentials, wait_for_ready, compression)
        stream, ending = self._fed(request_iterator, options)
        ended = only_response(stream, ending)
        return ended.result(), ended

    def future(
        self,
        request_iterator: Any,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
    ) -> Any:
        options = self._options(timeout, metadata, credentials, wait_for_ready, compression)
        until = ends_at(timeout)
        stream, ending = self._fed(request_iterator, options)
        return ThreadFuture(partial(only_response, stream, ending), ending, until, stream)

    def _fed(self, requests: Any, options: dict[str, Any]) -> tuple[Stream, Ending]:
        stream, ending = self._open(None, options), Ending(self._callbacks)
        feed(stream, requests, ending)
        return stream, ending


class _StreamStream(_Method, StreamStream):
    def __call__(
        self,
        request_iterator: Any,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
    ) -> Any:
        options = self._options(timeout, metadata, credentials, wait_for_ready, compression)
        until = ends_at(timeout)
        call = StreamCall(self._open(None, options), Ending(self._callbacks), until)
        feed(call._stream, request_iterator, call._ending)
        return call
