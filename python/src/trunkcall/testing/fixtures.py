"""Fixtures of pytest, for those whose conftest.py asks for them:

    pytest_plugins = ["trunkcall.testing.fixtures"]

    async def test_of_code_that_awaits(trunkcall_server, trunkcall_clock):
        server = await trunkcall_server(get_user.handler(serve))
        user = await server.client.call(get_user, GetUserRequest(user_id=7))

    def test_of_code_that_blocks(blocking_trunkcall_server):
        server = blocking_trunkcall_server(get_user.handler(serve))
        user = server.client.call(get_user, GetUserRequest(user_id=7))

The first two are for tests that are coroutine functions, whatever runs them: pytest-asyncio, anyio on asyncio, or
another plugin. What they start lives in the test's own event loop, and ends with the test.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import pytest

from . import blocking
from .clock import Clock
from .server import TestServer

__all__ = [
    "StartBlockingServer",
    "StartServer",
    "blocking_trunkcall_clock",
    "blocking_trunkcall_server",
    "trunkcall_clock",
    "trunkcall_server",
]

StartServer = Callable[..., Awaitable[TestServer]]
"""Starts a server as `TestServer(…)` does, with the same arguments."""

StartBlockingServer = Callable[..., blocking.TestServer]
"""Starts a server as `trunkcall.testing.blocking.TestServer(…)` does, with the same arguments."""

_STACK = pytest.StashKey[AsyncExitStack]()
_FIRST = pytest.StashKey[Clock]()


@pytest.fixture
def trunkcall_server(request: pytest.FixtureRequest) -> StartServer:
    """Starts servers in memory, each with a client, which end with the test."""
    stack = _around(request)

    async def start(*handlers: Any, **options: Any) -> TestServer:
        return await stack.enter_async_context(TestServer(*handlers, **options))

    return start


@pytest.fixture
def trunkcall_clock(request: pytest.FixtureRequest) -> Clock:
    """The clock of the test's event loop, from the beginning of the test's function on."""
    clock = Clock()
    _around(request)
    request.node.stash[_FIRST] = clock
    return clock


@pytest.fixture
def blocking_trunkcall_clock() -> Iterator[blocking.Clock]:
    """A clock for servers and clients of code that blocks, for `clock=` of the server."""
    with blocking.Clock() as clock:
        yield clock


@pytest.fixture
def blocking_trunkcall_server() -> Iterator[StartBlockingServer]:
    """Starts servers in memory, each with a blocking client, which end with the test."""
    with ExitStack() as stack:

        def start(*handlers: Any, **options: Any) -> blocking.TestServer:
            return stack.enter_context(blocking.TestServer(*handlers, **options))

        yield start


def _around(request: pytest.FixtureRequest) -> AsyncExitStack:
    """What is left when the test's function returns, in its own event loop: so it does not matter who runs that."""
    item: Any = request.node
    known: AsyncExitStack | None = item.stash.get(_STACK, None)
    if known is not None:
        return known
    function = item.obj
    if not inspect.iscoroutinefunction(function):
        advice = "in others use blocking_trunkcall_server, or `async with TestServer(…)` in what they run"
        raise TypeError(f"{request.fixturename} is for tests that are coroutine functions: {advice}")
    stack = item.stash[_STACK] = AsyncExitStack()

    @functools.wraps(function)
    async def within(*args: Any, **kwargs: Any) -> Any:
        async with AsyncExitStack() as whole:
            if (clock := item.stash.get(_FIRST, None)) is not None:
                await whole.enter_async_context(clock)
            await whole.enter_async_context(stack)
            return await function(*args, **kwargs)

    item.obj = within
    return stack
