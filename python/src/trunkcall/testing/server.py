"""A server and a client of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import ClassVar, Generic, Self, TypeVar

from trunkcall import Client, Handler, Server

C = TypeVar("C")

_names = itertools.count(1)
_NOT_STARTED = "the server has not been started: enter it with `with`, or `async with`"


class _Tested(Generic[C]):
    """What the servers for tests have in common, whichever their clients are."""

    __test__: ClassVar[bool] = False  # pytest takes it for no class of tests
    TIMEOUT: ClassVar[float] = 30.0
    """Seconds, of unary calls, so that a test ends whose answer does not come."""

    def __init__(
        self, handlers: Sequence[Handler], server: Server | None, make: Callable[[str], C], on_loopback: bool
    ) -> None:
        self._handlers = handlers
        self._server = Server() if server is None else server
        self._make = make
        self._address = "127.0.0.1:0" if on_loopback else f"mem:trunkcall-test-{next(_names)}"
        self._target = ""
        self._client: C | None = None

    @property
    def client(self) -> C:
        """The client, which connects with the first call. Raises RuntimeError before the server is there."""
        if self._client is None:
            raise RuntimeError(_NOT_STARTED)
        return self._client

    @property
    def target(self) -> str:
        """Where the server is: the target of more clients. Raises RuntimeError before the server is there."""
        if self._client is None:
            raise RuntimeError(_NOT_STARTED)
        return self._target

    async def _listen(self) -> str:
        self._server.register(*self._handlers)
        return await self._server.listen(self._address)


class TestServer(_Tested[Client]):
    """A server and a client of it, with all that lies between them.

        async with TestServer(get_user.handler(serve)) as server:
            user = await server.client.call(get_user, GetUserRequest(user_id=7))

    In memory there is no port and no socket. On loopback there is a port that was free, which other programs can call
    too. Belongs to the event loop in which it is entered."""

    def __init__(
        self,
        *handlers: Handler,
        server: Server | None = None,
        client: Callable[[str], Client] | None = None,
        on_loopback: bool = False,
    ) -> None:
        """`handlers` are registered with the server. What it is to have besides (interceptors, limits, services, TLS) a
        `server` has that is not started yet. `client` makes the client from its target, if it is to have options:
        `client=partial(Client, interceptors=[…])`."""
        super().__init__(handlers, server, _client if client is None else client, on_loopback)
        self._stack = AsyncExitStack()

    @property
    def server(self) -> Server:
        """The server."""
        return self._server

    async def __aenter__(self) -> Self:
        """Has the server listen. Raises OSError, and ValueError for two handlers of one method."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._server.close)
            self._target = await self._listen()
            client = self._make(self._target)
            stack.push_async_callback(client.close)
            self._stack = stack.pop_all()
        self._client = client
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends both at once: calls that run fail."""
        await self._stack.aclose()


def _client(target: str) -> Client:
    return Client(target, timeout=TestServer.TIMEOUT)
