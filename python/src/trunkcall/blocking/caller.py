"""Making blocking calls, as users see it: the same as trunkcall.Caller and trunkcall.ClientStream, without `await`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Generic, Protocol, Self, overload

from trunkcall.caller import CallOptions, Response
from trunkcall.codec import Codec
from trunkcall.compression import Compressions
from trunkcall.interceptor import Call
from trunkcall.method import BidiMethod, ClientStreamMethod, Method, OneWayMethod, ServerStreamMethod, UnaryMethod
from trunkcall.policy import Priority
from trunkcall.status import Metadata, failure
from trunkcall.typevars import Received_co, Req, Resp, Sent_contra
from trunkcall.wire import Code, Delivery, Status


class MessageStream(Protocol[Sent_contra, Received_co]):
    """The messages of a call that is not unary, as interceptors see them: what is sent there, and what is received."""

    def send(self, message: Sent_contra) -> bool:
        """Sends a message, waiting while the peer is slow to consume. False: the call is over."""
        ...

    def receive(self) -> Received_co | None:
        """The next message; None when the peer has sent all and, at the caller's end, the call succeeded."""
        ...


Next = Callable[[Call[Req, Resp]], Resp]
"""Goes on with a call: to the next interceptor, at last to the connection."""

Interceptor = Callable[[Call[Req, Resp], Next[Req, Resp]], Resp]
"""Wraps calls of all kinds: `def intercept(call, proceed): return proceed(call)`. Runs in the thread that makes the
call, and may block. What it returns, trunkcall.Interceptor says.

`Interceptor[Req, Resp]` is one for a unary method with these messages; `for_method` makes one for all calls of it."""


class ClientStream(ABC, Generic[Req, Resp]):
    """A call of a streaming method at its caller. One thread may send while another receives, and any may cancel.

    It must be received to its end, cancelled, or used as a context manager, which cancels what has not ended. One that
    is forgotten is cancelled when it is collected."""

    @abstractmethod
    def send(self, message: Req) -> bool:
        """Sends a message, waiting while the peer is slow to consume. Returns False when the call is over; `receive`
        tells how it ended. Raises StatusError for a call that could not be opened, or a message that cannot be
        sent."""

    @abstractmethod
    def half_close(self) -> None:
        """Says that no more messages are sent. A second half-close does nothing."""

    @abstractmethod
    def receive(self) -> Resp | None:
        """The next message; None when the call has ended well. Raises StatusError when it failed."""

    @abstractmethod
    def status(self) -> Status:
        """How the call ended; waits for its end. Messages that were not received may keep it from ending."""

    @abstractmethod
    def cancel(self) -> None:
        """Ends the call with CANCELLED if it has not ended; messages that were not received are dropped. A thread that
        sends or receives is told."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether the call has ended."""

    def header(self) -> list[tuple[str, str | bytes]]:
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

    def response(self) -> Resp:
        """Half-closes and waits for the one response of a client-streaming method. Raises StatusError."""
        self.half_close()
        return self._only()

    def _only(self) -> Resp:
        message = self.receive()
        if message is None:
            raise failure(Code.UNIMPLEMENTED, "there is no message where one is expected", Delivery.EXECUTED)
        if self.receive() is not None:
            self.cancel()
            raise failure(Code.UNIMPLEMENTED, "there are several messages where one is expected", Delivery.UNKNOWN)
        return message

    def __iter__(self) -> Iterator[Resp]:
        return self

    def __next__(self) -> Resp:
        message = self.receive()
        if message is None:
            raise StopIteration
        return message

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()


class Caller(ABC):
    """What methods are called through. A class of your own needs `unary` and `stream` only: `call`, `send` and `open`
    use those."""

    @abstractmethod
    def unary(self, method: Method[Req, Resp], request: Req, options: CallOptions) -> Response[Resp]:
        """Calls a unary method, or a one-way one, whose response has no message. Raises StatusError; TypeError for a
        method that streams."""

    @abstractmethod
    def stream(self, method: Method[Req, Resp], request: Req | None, options: CallOptions) -> ClientStream[Req, Resp]:
        """Opens a call of a streaming method; what goes wrong is told by the stream. `request` is that of a
        server-streaming method. Raises TypeError for a method that does not stream."""

    def call(
        self,
        method: UnaryMethod[Req, Resp],
        request: Req,
        *,
        timeout: float | None = None,
        metadata: Metadata = (),
        codec: Codec | None = None,
        compression: Compressions | None = None,
        wait_for_ready: bool | None = None,
        priority: Priority | None = None,
    ) -> Resp:
        """Calls a unary method and returns the message of its response; `unary` returns what came beside it as well.
        The options are those of CallOptions; `timeout` is in seconds.

        Raises StatusError. A call that provably was not run is repeated once. KeyboardInterrupt cancels the call."""
        options = CallOptions(timeout, metadata, codec, compression, wait_for_ready, priority)
        return self.unary(method, request, options).message

    def send(
        self,
        method: OneWayMethod[Req],
        request: Req,
        *,
        timeout: float | None = None,
        metadata: Metadata = (),
        codec: Codec | None = None,
        compression: Compressions | None = None,
        wait_for_ready: bool | None = None,
        priority: Priority | None = None,
    ) -> None:
        """Calls a one-way method and waits until the other side has accepted the call, as trunkcall.Caller.send."""
        self.unary(method, request, CallOptions(timeout, metadata, codec, compression, wait_for_ready, priority))

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
