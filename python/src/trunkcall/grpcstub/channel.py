"""A channel that generated stubs take instead of grpc.aio's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Self

import grpc
import grpc.aio

from trunkcall.caller import Caller
from trunkcall.calling import Calls
from trunkcall.checking import wrong_type
from trunkcall.method import BidiMethod, ClientStreamMethod, ServerStreamMethod, UnaryMethod
from trunkcall.policies import NO_POLICIES

from .calls import StreamStreamCall, StreamUnaryCall, UnaryStreamCall, UnaryUnaryCall
from .clientinterceptors import (
    STREAM_STREAM,
    STREAM_UNARY,
    UNARY_STREAM,
    UNARY_UNARY,
    InterceptedMethod,
    Shape,
    by_shape,
)
from .conversion import entries
from .states import connectivity
from .stubmethod import StubMethod, compression_of, refuse_credentials


class Channel(grpc.aio.Channel):
    """A Trunkcall caller as a grpc.aio.Channel: a client, a caller of one's own, or one connection at either end, so
    that stubs on `call.connection` call the servicers of a handler's caller. Calls begin when the stub's method is
    called, as grpc.aio's do. Metadata, deadlines, cancellation and errors are those of grpc.aio; `credentials` of a
    call raise ValueError.

    The channel does not own the client: `close` leaves it open."""

    def __init__(
        self, caller: Caller, *, policies: bool = False, interceptors: Sequence[grpc.aio.ClientInterceptor] = ()
    ) -> None:
        """`interceptors` are those that grpc.aio.insecure_channel takes: they see the calls of this channel, outside of
        the interceptors of its client, the first of them outermost.

        With `policies`, what the options of a client say of timeouts and of waiting holds for these calls as well;
        stubs of gRPC do not expect it. What a policy file says always does. Raises TypeError for what is no Caller,
        and for what is no such interceptor."""
        if not isinstance(caller, Caller):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise wrong_type("caller", caller, "a trunkcall.Client, or another Caller")
        self._caller = caller
        self._interceptors = by_shape(interceptors)
        self._policies = NO_POLICIES
        if isinstance(caller, Calls) and (policies or caller._file is not None):
            self._policies = caller._policies

    def unary_unary(self, method: str, *functions: Any, **named: Any) -> Any:
        return self._method(UNARY_UNARY, UnaryUnaryCall, UnaryMethod, method, functions, named)

    def unary_stream(self, method: str, *functions: Any, **named: Any) -> Any:
        return self._method(UNARY_STREAM, UnaryStreamCall, ServerStreamMethod, method, functions, named)

    def stream_unary(self, method: str, *functions: Any, **named: Any) -> Any:
        return self._method(STREAM_UNARY, StreamUnaryCall, ClientStreamMethod, method, functions, named)

    def stream_stream(self, method: str, *functions: Any, **named: Any) -> Any:
        return self._method(STREAM_STREAM, StreamStreamCall, BidiMethod, method, functions, named)

    def _method(self, shape: Shape, call: Any, kind: Any, name: str, functions: Any, named: dict[str, Any]) -> Any:
        def plain(name: str) -> _MultiCallable:
            return _MultiCallable(self, call, kind, name, *functions, **named)

        interceptors = self._interceptors[shape]
        return InterceptedMethod(shape, interceptors, plain, name) if interceptors else plain(name)

    async def close(self, grace: float | None = None) -> None:
        """Does nothing: the client is closed by the one who made it."""

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        """READY for a caller that is neither a client nor a connection: nobody knows better."""
        caller = self._caller
        if not isinstance(caller, Calls):
            return grpc.ChannelConnectivity.READY
        return connectivity(caller, try_to_connect=try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        while self.get_state() is last_observed_state:
            if not isinstance(self._caller, Calls):
                await asyncio.get_running_loop().create_future()  # it never changes
            else:
                await self._caller._changed()

    async def channel_ready(self) -> None:
        if isinstance(self._caller, Calls):
            await self._caller._become_ready()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()


class _MultiCallable(StubMethod):
    """One method of a stub."""

    def __init__(self, channel: Channel, call: Callable[..., Any], *method: Any, **functions: Any) -> None:
        super().__init__(*method, **functions)
        self._caller = channel._caller
        self._policies = channel._policies
        self._call = call

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
        refuse_credentials(credentials)
        given = request if request_iterator is None else request_iterator
        if self._policies:
            name, policy = self.method.name, self._policies.of(self.method.name)
            if timeout is None:
                timeout = self._policies.of_stream(name) if self.method.kind.streams else policy.timeout
            if wait_for_ready is None:
                wait_for_ready = policy.wait_for_ready
        return self._call(
            self._caller,
            self.method,
            given,
            timeout,
            entries(metadata),
            bool(wait_for_ready),
            compression_of(compression),
        )
