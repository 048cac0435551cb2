"""What a process does that somebody else starts and ends: it makes a server, and serves until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

from trunkcall.server import Server

ServerFactory = Callable[[], Server | Awaitable[Server] | AbstractAsyncContextManager[Server]]
"""Makes the server of a process: a plain function, an `async` one, or an `asynccontextmanager`, whose rest runs when
the server has stopped. It is called on the event loop of the process."""

CUT = 1.0  # seconds that peers, and handlers, have when calls are cut off


class Orders:
    """What a process is told from outside. Belongs to its event loop."""

    def __init__(self) -> None:
        self.stopping = asyncio.Event()
        self.cutting = asyncio.Event()
        self.beginning: asyncio.Task[Any] | None = None  # until the server serves

    def stop(self) -> None:
        """Ends the process once what runs is answered; one that has not begun to serve, at once."""
        if not self.stopping.is_set():
            self.stopping.set()
            if self.beginning is not None:
                self.beginning.cancel()

    def cut(self) -> None:
        """Ends it without waiting for calls."""
        self.cutting.set()
        self.stop()


async def serve(
    factory: Server | ServerFactory,
    sockets: Sequence[socket.socket],
    orders: Orders,
    grace: Callable[[Server], float | None],
    ready: Callable[[Server], None],
    leaving: Callable[[], None],
) -> bool:
    """Serves on sockets that listen until it is told to stop, or the server is. Returns False if calls were cut off.
    Raises what the factory raises, TypeError for one that makes no server, and as Server.listen."""
    async with AsyncExitStack() as stack:
        server = await _begun(factory, sockets, orders, stack)
        if server is None:
            return True
        ready(server)
        told = [asyncio.create_task(one.wait()) for one in (orders.stopping, server.leaving)]
        await asyncio.wait(told, return_when=asyncio.FIRST_COMPLETED)
        for one in told:
            one.cancel()
        leaving()
        return await _stopped(server, grace(server), orders)


async def _begun(
    factory: Server | ServerFactory, sockets: Sequence[socket.socket], orders: Orders, stack: AsyncExitStack
) -> Server | None:
    """The server, once it listens; None if it was told to stop before."""
    task = orders.beginning = asyncio.current_task()
    try:
        if orders.stopping.is_set():
            return None
        server = await _made(factory, stack)
        try:
            for one in sockets:
                await server.listen(one)
        except BaseException:
            await server.close()
            raise
        return server
    except asyncio.CancelledError:
        if not orders.stopping.is_set():
            raise
        if task is not None:
            task.uncancel()
        return None
    finally:
        orders.beginning = None


async def _made(factory: Server | ServerFactory, stack: AsyncExitStack) -> Server:
    made: Any = factory if isinstance(factory, Server) else factory()
    if not isinstance(made, Server):
        if hasattr(made, "__aenter__"):
            made = await stack.enter_async_context(made)
        elif hasattr(made, "__await__"):
            made = await made
    if not isinstance(made, Server):
        raise TypeError(f"{factory!r} made {made!r}, want a trunkcall.Server")
    return made


async def _stopped(server: Server, grace: float | None, orders: Orders) -> bool:
    draining, cutting = asyncio.create_task(server.stop(grace)), asyncio.create_task(orders.cutting.wait())
    await asyncio.wait((draining, cutting), return_when=asyncio.FIRST_COMPLETED)
    cutting.cancel()
    if draining.done():
        return await draining
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(server.close(), CUT)
    draining.cancel()
    return False
