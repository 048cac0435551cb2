"""Interceptors written for servers of gRPC, of both styles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import grpc
import grpc.aio

from trunkcall import Code
from trunkcall.checking import wrong_type
from trunkcall.servercall import ServerCall
from trunkcall.status import StatusError

from .conversion import Entry, to_entries


class CallDetails(NamedTuple):
    """What an interceptor is told of a call: a grpc.HandlerCallDetails."""

    method: str
    invocation_metadata: tuple[Entry, ...]


def checked(interceptors: Sequence[Any]) -> tuple[Any, ...]:
    """Raises TypeError for what is none of gRPC's, and for both styles at once."""
    for one in interceptors:
        if not isinstance(one, grpc.aio.ServerInterceptor | grpc.ServerInterceptor):
            raise wrong_type("interceptors", one, "objects of grpc.aio.ServerInterceptor, or of grpc.ServerInterceptor")
    if len({isinstance(one, grpc.aio.ServerInterceptor) for one in interceptors}) > 1:
        raise wrong_type("interceptors", tuple(interceptors), "those of grpc.aio or those of grpc, not both")
    return tuple(interceptors)


async def chosen(interceptors: Sequence[Any], handler: Any, call: ServerCall) -> Any:
    """The RpcMethodHandler that interceptors put in the place of a call's, or leave there. Those that are not awaited
    run on one thread. Raises StatusError: UNIMPLEMENTED when they choose none, INTERNAL for one of another kind of
    method; and what they raise."""
    details = CallDetails(call.method.name, to_entries(call.metadata))
    if interceptors and not isinstance(interceptors[0], grpc.aio.ServerInterceptor):
        found = await call.run_in_executor(_on_thread, interceptors, handler, details)
    else:
        found = await _awaited(interceptors, handler, details)
    if found is None:
        raise StatusError(Code.UNIMPLEMENTED, f"{details.method} is not served: an interceptor has chosen no handler")
    if (found.request_streaming, found.response_streaming) != (handler.request_streaming, handler.response_streaming):
        text = f"an interceptor has chosen a handler for {details.method} that is of another kind of method"
        raise StatusError(Code.INTERNAL, text)
    return found


async def _awaited(interceptors: Sequence[grpc.aio.ServerInterceptor], handler: Any, details: Any) -> Any:
    if not interceptors:
        return handler

    async def proceed(details: Any) -> Any:
        return await _awaited(interceptors[1:], handler, details)

    return await interceptors[0].intercept_service(proceed, details)


def _on_thread(interceptors: Sequence[grpc.ServerInterceptor], handler: Any, details: Any) -> Any:
    if not interceptors:
        return handler
    return interceptors[0].intercept_service(lambda details: _on_thread(interceptors[1:], handler, details), details)
