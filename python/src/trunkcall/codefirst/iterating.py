"""As streaming.py, through callers that block: requests are taken from an iterator, answers are one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from typing import Any

from ..caller import NO_OPTIONS, CallOptions
from ..method import Kind, Method
from ..status import StatusError
from .signature import Signature


def opened(
    signature: Signature, method: Method[Any, Any], caller: Any
) -> Callable[[tuple[Any, ...], CallOptions | None], Any]:
    """What makes the calls of a method: of the arguments, or the iterator of requests alone."""

    def server_stream(values: tuple[Any, ...], options: CallOptions | None) -> Iterator[Any]:
        with caller.stream(method, values, options or NO_OPTIONS) as stream:
            yield from stream

    def client_stream(values: tuple[Any, ...], options: CallOptions | None) -> Any:
        with caller.stream(method, None, options or NO_OPTIONS) as stream:
            _send(stream, values[0])
            return stream.response()

    def bidi_stream(values: tuple[Any, ...], options: CallOptions | None) -> Iterator[Any]:
        with caller.stream(method, None, options or NO_OPTIONS) as stream:
            yield from _exchange(stream, values[0])

    if signature.kind is Kind.SERVER_STREAM:
        return server_stream
    return client_stream if signature.kind is Kind.CLIENT_STREAM else bidi_stream


def _send(stream: Any, requests: Iterable[Any]) -> None:
    """All requests, or those before the end of the call: how that ended is received."""
    for request in requests:
        if not stream.send(request):
            return
    stream.half_close()


def _exchange(stream: Any, requests: Iterable[Any]) -> Iterator[Any]:
    """Sends meanwhile, on a thread. What the iterator raises ends the call, and is raised in place of that end."""
    failed: list[BaseException] = []

    def send() -> None:
        try:
            _send(stream, requests)
        except BaseException as error:
            failed.append(error)
            stream.cancel()

    threading.Thread(target=copy_context().run, args=(send,), name="trunkcall requests", daemon=True).start()
    try:
        yield from stream
    except StatusError as ended:
        if failed:
            raise failed[0] from ended
        raise
