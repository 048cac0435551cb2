"""Making calls, as users see it: a Caller has two methods, and everything else that makes calls uses those.

A Client and a Connection are callers. So is a class of your own that wraps another caller, routes between several, or
answers by itself in a test. It gets every call that is made through it, also those of stubs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, overload

from .checking import check_call_timeout, check_count, check_flags, wrong_type
from .codec import Codec
from .compression import Compressions
from .method import BidiMethod, ClientStreamMethod, Method, OneWayMethod, ServerStreamMethod, UnaryMethod
from .policy import Priority
from .status import Metadata, failure
from .wire import Code, Delivery, Status

Req = TypeVar("Req")
Resp = TypeVar("Resp")


@dataclass(slots=True, frozen=True)
class CallOptions:
    """What a single call may say of itself; `dataclasses.replace` makes another of it."""

    timeout: float | None = None
    """Seconds; None: as its policy says, math.inf: none. Within a handler the handler's own deadline counts as well."""

    metadata: Metadata = ()
    """Goes with the request: pairs of key and value."""

    codec: Codec | None = None
    """In place of the client's own: one of its `codecs`."""

    compression: Compressions | None = None
    """Of the requests, in place of the client's own; (): none."""

    wait_for_ready: bool | None = None
    """Whether the call waits for a connection until its deadline, instead of failing when none can be opened; None: as
    its policy says, else it fails."""

    priority: Priority | None = None
    """How much the call matters to limits of policy files. None: as its policy file says; a client with such a file
    gives a call else the priority of the call in whose handler it is made, other clients none."""

    max_receive: int | None = None
    """Bounds each message of the answer, in bytes, below the client's limit: a longer one is RESOURCE_EXHAUSTED."""


NO_OPTIONS = CallOptions()


@dataclass(slots=True)
class Response(Generic[Resp]):
    """The answer to a unary call: its message, and what came beside it."""

    message: Resp
    """None for a one-way call."""

    header: list[tuple[str, str | bytes]] = field(default_factory=list[tuple[str, "str | bytes"]])
    """The metadata ahead of the message."""

    trailer: list[tuple[str, str | bytes]] = field(default_factory=list[tuple[str, "str | bytes"]])
    """The metadata behind it."""

    peer: str = ""
    """The address of the side that answered."""

    server_time: float = 0.0
    """Seconds from the arrival of the request to the answer, by the server's clock."""


class ClientStream(ABC, Generic[Req, Resp]):
    """A call of a streaming method at its caller. One task may send while another receives.

    It must be received to its end, cancelled, or used as a context manager, which cancels what has not ended. One that
    is forgotten is cancelled when it is collected."""

    @abstractmethod
    async def send(self, message: Req) -> bool:
        """Sends a message, waiting while the peer is slow to consume. Returns False when the call is over; `receive`
        tells how it ended. If the task is cancelled while it waits, the message is not sent, unless a part of it was:
        then the rest follows. Raises StatusError for a call that could not be opened, or a message that cannot be
        sent."""

    @abstractmethod
    async def half_close(self) -> None:
        """Says that no more messages are sent. A second half-close does nothing."""

    @abstractmethod
    async def receive(self) -> Resp | None:
        """The next message; None when the call has ended well. Raises StatusError when it failed."""

    @abstractmethod
    async def status(self) -> Status:
        """How the call ended; waits for its end. Messages that were not received may keep it from ending."""

    @abstractmethod
    def cancel(self) -> None:
        """Ends the call with CANCELLED if it has not ended; messages that were not received are dropped."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether the call has ended."""

    async def header(self) -> list[tuple[str, str | bytes]]:
        """The metadata ahead of the answer, empty if there was none; waits until that is known."""
        return []

    @property
    def trailer(self) -> list[tuple[str, str | bytes]]:
        """The metadata that came with the end of the call; empty before."""
        return []

    @property
    def peer(self) -> str:
        """The server's address; "" before the call was opened."""
        return ""

    async def response(self) -> Resp:
        """Half-closes and waits for the one response of a client-streaming method. Raises StatusError."""
        await self.half_close()
        message = await self.receive()
        if message is None:
            raise failure(Code.UNIMPLEMENTED, "there is no message where one is expected", Delivery.EXECUTED)
        if await self.receive() is not None:
            self.cancel()
            raise failure(Code.UNIMPLEMENTED, "there are several messages where one is expected", Delivery.UNKNOWN)
        return message

    def __aiter__(self) -> AsyncIterator[Resp]:
        return self

    async def __anext__(self) -> Resp:
        message = await self.receive()
        if message is None:
            raise StopAsyncIteration
        return message

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()


class Caller(ABC):
    """What methods are called through. A class of your own needs `unary` and `stream` only: `call`, `send`, `open` and
    stubs use those."""

    @abstractmethod
    async def unary(self, method: Method[Req, Resp], request: Req, options: CallOptions) -> Response[Resp]:
        """Calls a unary method, or a one-way one, whose response has no message. Raises StatusError; TypeError for a
        method that streams."""

    @abstractmethod
    def stream(self, method: Method[Req, Resp], request: Req | None, options: CallOptions) -> ClientStream[Req, Resp]:
        """Opens a call of a streaming method; what goes wrong is told by the stream. `request` is that of a
        server-streaming method. Raises TypeError for a method that does not stream."""

    async def call(
        self,
        method: UnaryMethod[Req, Resp],
        request: Req,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        metadata: Metadata = (),
        codec: Codec | None = None,
        compression: Compressions | None = None,
        wait_for_ready: bool | None = None,
        priority: Priority | None = None,
    ) -> Resp:
        """Calls a unary method and returns the message of its response; `unary` returns what came beside it as well.
        The options are those of CallOptions; `timeout` is in seconds.

        Raises StatusError. A call that provably was not run is repeated once. Cancelling the task cancels the call."""
        options = CallOptions(timeout, metadata, codec, compression, wait_for_ready, priority)
        return (await self.unary(method, request, options)).message

    async def send(
        self,
        method: OneWayMethod[Req],
        request: Req,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        metadata: Metadata = (),
        codec: Codec | None = None,
        compression: Compressions | None = None,
        wait_for_ready: bool | None = None,
        priority: Priority | None = None,
    ) -> None:
        """Calls a one-way method and waits until the other side has accepted the call. From then on its handler runs,
        whatever becomes of this side and the connection (protocol.md 7.5). How the handler ends is told to the log
        there only. A deadline travels with the call and ends the handler.

        Raises StatusError, whose `delivery` says whether the handler may run nevertheless."""
        options = CallOptions(timeout, metadata, codec, compression, wait_for_ready, priority)
        await self.unary(method, request, options)

    @overload
    def open(
        self,
        method: ServerStreamMethod[Req, Resp],
        request: Req,
        *,
        timeout: float | None = None,
        metadata: Metadata = (),
        codec: Codec | None = None,
        compression: Compressions | None = None,
        wait_for_ready: bool | None = None,
        priority: Priority | None = None,
    ) -> ClientStream[Req, Resp]: ...

    @overload
    def open(
        self,
        method: ClientStreamMethod[Req, Resp] | BidiMethod[Req, Resp],
        *,
        timeout: float | None = None,
        metadata: Metadata = (),
        codec: Codec | None = None,
        compression: Compressions | None = None,
        wait_for_ready: bool | None = None,
        priority: Priority | None = None,
    ) -> ClientStream[Req, Resp]: ...

    def open(
        self,
        method: Method[Req, Resp],
        request: Req | None = None,
        *,
        timeout: float | None = None,
        metadata: Metadata = (),
        codec: Codec | None = None,
        compression: Compressions | None = None,
        wait_for_ready: bool | None = None,
        priority: Priority | None = None,
    ) -> ClientStream[Req, Resp]:
        """Opens a call of a streaming method; what goes wrong is told by the stream. A server-streaming method takes
        its request here. The stream must be received to its end, cancelled, or used as a context manager."""
        options = CallOptions(timeout, metadata, codec, compression, wait_for_ready, priority)
        return self.stream(method, request, options)


def check_options(options: CallOptions) -> None:
    """Raises TypeError, ValueError for options that no call can have. Codec and compression are looked at where they
    are used."""
    if not isinstance(options, CallOptions):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"the options of a call: {options!r:.200} was given, want CallOptions(timeout=…, …)")
    if options.timeout is not None:
        check_call_timeout(options.timeout)
    if options.wait_for_ready is not None:
        check_flags(wait_for_ready=options.wait_for_ready)
    if options.max_receive is not None:
        check_count(1, max_receive=options.max_receive)
    if options.priority is not None and not isinstance(options.priority, Priority):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise wrong_type("priority", options.priority, "a Priority")


def check_unary(method: Method[Any, Any]) -> None:
    """Raises TypeError for a method that streams, and for what is none."""
    check_method(method)
    if method.kind.streams:
        raise TypeError(f"{method.name} is {method.kind.value}: it is called by `open` or `stream`")


def check_stream(method: Method[Any, Any]) -> None:
    """Raises TypeError for a method that does not stream, and for what is none."""
    check_method(method)
    if not method.kind.streams:
        raise TypeError(f"{method.name} is {method.kind.value}: it is called by `call`, `send` or `unary`")


def check_method(given: object) -> None:
    """Raises TypeError for what is no method."""
    if not isinstance(given, Method):
        wanted = "want a method and then its request; a method is what unary(name, request, response) and the like make"
        raise TypeError(f"a call of {given!r:.200}: {wanted}")
