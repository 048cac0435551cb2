"""Calls of methods that stream: requests are taken from an asynchronous iterator, answers are one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from typing import Any

from ..caller import NO_OPTIONS, CallOptions
from ..method import Kind, Method
from ..status import StatusError
from .signature import Signature


def opened(
    signature: Signature, method: Method[Any, Any], caller: Any
) -> Callable[[tuple[Any, ...], CallOptions | None], Any]:
    """What makes the calls of a method: of the arguments, or the iterator of requests alone."""

    def server_stream(values: tuple[Any, ...], options: CallOptions | None) -> AsyncIterator[Any]:
        return _answers(lambda: caller.stream(method, values, options or NO_OPTIONS))

    async def client_stream(values: tuple[Any, ...], options: CallOptions | None) -> Any:
        stream = caller.stream(method, None, options or NO_OPTIONS)
        async with _sending(stream, values[0]) as sending:
            await asyncio.wait([sending])
            return await stream.response()

    def bidi_stream(values: tuple[Any, ...], options: CallOptions | None) -> AsyncIterator[Any]:
        return _exchange(lambda: caller.stream(method, None, options or NO_OPTIONS), values[0])

    if signature.kind is Kind.SERVER_STREAM:
        return server_stream
    return client_stream if signature.kind is Kind.CLIENT_STREAM else bidi_stream


async def _answers(begin: Callable[[], Any]) -> AsyncIterator[Any]:
    stream = begin()
    try:
        async for answer in stream:
            yield answer
    finally:
        stream.cancel()


async def _exchange(begin: Callable[[], Any], requests: AsyncIterable[Any]) -> AsyncIterator[Any]:
    stream = begin()
    async with _sending(stream, requests):
        async for answer in stream:
            yield answer


@contextlib.asynccontextmanager
async def _sending(stream: Any, requests: AsyncIterable[Any]) -> AsyncGenerator[asyncio.Task[None]]:
    """Sends meanwhile. What the iterator raises ends the call, and is raised in place of that end."""
    failed: list[BaseException] = []

    async def send() -> None:
        try:
            async for request in requests:
                if not await stream.send(request):
                    return
            await stream.half_close()
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            failed.append(error)
            stream.cancel()

    sending = asyncio.ensure_future(send())
    try:
        yield sending
    except StatusError as ended:
        if failed:
            raise failed[0] from ended
        raise
    finally:
        stream.cancel()
        sending.cancel()
        await asyncio.wait([sending])
