"""gRPC's health service while its server leaves (`Server.leaving`): it says NOT_SERVING from the beginning, also while
the server still serves for the drain delay, and those who watch do not keep the server from stopping."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Any

from trunkcall import Code
from trunkcall.server import Server
from trunkcall.servercall import ServerCall
from trunkcall.status import StatusError

SERVICE = "/grpc.health.v1.Health/"
_SERVING, _NOT_SERVING = 1, 2  # of HealthCheckResponse.ServingStatus


def until_it_leaves(serve: Callable[..., Any], watches: bool, server: Server) -> Callable[..., Any]:
    """Has a method of the health service tell of its server's end."""
    return _watch(serve, server) if watches else _check(serve, server)


def _check(serve: Callable[..., Any], server: Server) -> Callable[..., Any]:
    async def check(request: Any, call: ServerCall) -> Any:
        answer = await serve(request, call)
        return _not_serving(answer) if server.leaving.is_set() else answer

    return check


def _watch(serve: Callable[..., Any], server: Server) -> Callable[..., Any]:
    async def watch(request: Any, call: ServerCall) -> None:
        watching: Any = _Watching(call, server)
        ends = asyncio.timeout(None)

        async def follow() -> None:
            await server.leaving.wait()
            with suppress(StatusError):  # the call ends by itself if it cannot be told
                await watching.tell_again()
            await server.stopping.wait()
            ends.reschedule(asyncio.get_running_loop().time())

        following = asyncio.create_task(follow())
        try:
            async with ends, aclosing(serve(request, watching)) as answers:
                async for answer in answers:
                    await watching.send(answer)
        except TimeoutError:
            if ends.expired():
                raise StatusError(Code.UNAVAILABLE, "the server is stopping") from None
            raise
        finally:
            following.cancel()
            await asyncio.wait([following])

    return watch


class _Watching:
    """The call of one who watches: what is sent is what holds while the server leaves, and nothing is sent twice."""

    def __init__(self, call: ServerCall, server: Server) -> None:
        self._call = call
        self._server = server
        self._turn = asyncio.Lock()  # of the servicer and of those who tell again
        self._last: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)

    async def send(self, answer: Any) -> bool:
        async with self._turn:
            if self._server.leaving.is_set():
                answer = _not_serving(answer)
            if answer == self._last:
                return True
            self._last = answer
            return await self._call.send(answer)

    async def tell_again(self) -> None:
        """Sends what was sent last, as it is while the server leaves."""
        if self._last is not None:
            await self.send(self._last)


def _not_serving(answer: Any) -> Any:
    """An answer as it is while the server leaves, with all that are in it."""
    told = type(answer)()
    told.CopyFrom(answer)
    for one in (told, *getattr(told, "statuses", {}).values()):
        if getattr(one, "status", None) == _SERVING:
            one.status = _NOT_SERVING
    return told
