"""The blocking client as the commands `call` and `conformance` use a client: each step of a call on another thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Self

import trunkcall
from trunkcall import blocking

from .target import READ_AGAIN, words_of

# Steps that may wait beside each other. Whoever waits has a thread.
THREADS = 256


class OnThreads:
    """What trunkcall.Client does, done by a blocking one. Belongs to one event loop."""

    def __init__(self, client: blocking.Client, handlers: Sequence[trunkcall.Handler] = ()) -> None:
        """`handlers` are what it serves."""
        self._client = client
        self._threads = ThreadPoolExecutor(THREADS, "step")
        self._threads.submit(client.register, *handlers).result()  # it may not be used in an event loop
        self._cancelling: list[asyncio.Future[Any]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def connect(self) -> None:
        await self.step(self._client.connect)

    async def close(self) -> None:
        await self.step(self._client.close)
        await asyncio.gather(*self._cancelling, return_exceptions=True)
        self._threads.shutdown(wait=False)

    async def call(self, method: Any, request: Any, **options: Any) -> Any:
        return (await self._started(method, request, options))[0]

    async def unary(self, method: Any, request: Any, options: trunkcall.CallOptions) -> trunkcall.Response[Any]:
        message, started = await self._started(
            method,
            request,
            {
                "timeout": options.timeout,
                "metadata": options.metadata,
                "codec": options.codec,
                "compression": options.compression,
                "wait_for_ready": options.wait_for_ready,
            },
        )
        return trunkcall.Response(message, started.header, started.trailer)

    async def _started(
        self, method: Any, request: Any, options: dict[str, Any]
    ) -> tuple[Any, blocking.StartedCall[Any]]:
        """Begins a call on one thread and waits for it on another; cancelled, it is given up from here."""
        starting = asyncio.ensure_future(self.step(partial(self._client.start, method, request, **options)))
        try:
            started = await asyncio.shield(starting)
        except asyncio.CancelledError:
            (await starting).cancel()
            raise
        try:
            return await self.step(started.result), started
        except asyncio.CancelledError:
            started.cancel()
            raise

    async def send(self, method: Any, request: Any, **options: Any) -> None:
        await self.step(partial(self._client.send, method, request, **options))

    def open(self, method: Any, *request: Any, **options: Any) -> StreamOnThreads:
        return StreamOnThreads(self, partial(self._client.open, method, *request, **options))

    def cancel(self, work: Coroutine[Any, Any, Any]) -> None:
        """Has a stream cancelled; nobody waits for that but the end of the client."""
        self._cancelling = [one for one in self._cancelling if not one.done()]
        self._cancelling.append(asyncio.ensure_future(work))

    async def step(self, function: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function)


class StreamOnThreads:
    """What trunkcall.ClientStream does, done by a blocking one."""

    def __init__(self, client: OnThreads, begin: Callable[[], blocking.ClientStream[Any, Any]]) -> None:
        self._client = client
        self._opening = asyncio.ensure_future(client.step(begin))

    async def _step(self, name: str, *arguments: Any) -> Any:
        stream = await asyncio.shield(self._opening)
        return await self._client.step(partial(getattr(stream, name), *arguments))

    async def send(self, message: Any) -> bool:
        return bool(await self._step("send", message))

    async def half_close(self) -> None:
        await self._step("half_close")

    async def receive(self) -> Any:
        return await self._step("receive")

    async def response(self) -> Any:
        return await self._step("response")

    async def header(self) -> Any:
        return await self._step("header")

    @property
    def trailer(self) -> Any:
        return self._opening.result().trailer

    def cancel(self) -> None:
        """Has a thread cancel the call."""
        self._client.cancel(self._step("cancel"))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        message = await self.receive()
        if message is None:
            raise StopAsyncIteration
        return message


def from_file(watch: blocking.Watch) -> None:
    """Endpoints from a file, as target.from_file."""
    last = None
    while not watch.closed:
        lines = words_of(watch.target)
        if lines != last:
            last = lines
            watch.set([trunkcall.Endpoint(address) for address in lines])
        watch.failed(READ_AGAIN)


FILES = {"file": from_file}
