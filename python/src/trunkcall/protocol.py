"""Protocols of one's own: other ways by which calls come to a server.

A Protocol hands calls over to Calls, where methods, codecs, interceptors, admission, deadlines, statuses and draining
are those of any call. A PortProtocol is spoken on the server's port; one without a listener, as of a message broker,
starts and ends with the server.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .adapt import Served
from .checking import wrong_type
from .compression import TooLong
from .context import current
from .executing import NotStarted
from .method import Method
from .servercall import ServerCall
from .servingend import ServingEnd, Undecodable, ended_by
from .status import Metadata, StatusError, pairs, told
from .transport import clock
from .wire import OK, Code, Delivery, Status, unserved

if TYPE_CHECKING:
    from .connection import Connection
    from .serving import Serving

from .admission import Rejected

RETRY = 0.001  # seconds, where the same server may soon accept the call


class Exchange(ABC):
    """One call as its protocol carries it. The protocol makes one for each call and gives it to Calls.serve."""

    method: str
    """The name, "/package.Service/Method"."""

    metadata: Metadata = ()
    codec: int = 1
    """The number of the codec of its messages (protocol.md 3.8): 0 raw, 1 Protobuf."""

    compression: int = 0
    """The number of the compression of its request messages: 1 gzip, 2 zstd, 0 none. They are decompressed by what the
    server accepts (`decompression`); a call in another one is refused UNIMPLEMENTED. Answers are given to `send`
    plain."""

    timeout: float | None = None
    """Seconds until its deadline."""

    peer: str = ""
    tls: Any = None

    @abstractmethod
    async def receive(self) -> bytes | None:
        """The next request message; None when there are no more."""

    @abstractmethod
    async def send(self, message: bytes) -> None:
        """Sends an answer message. Raises ConnectionError when nobody takes it any more."""

    async def send_header(self, metadata: Metadata) -> None:  # noqa: B027
        """Sends the metadata ahead of the first message, if the protocol can."""


@dataclass(slots=True, frozen=True)
class Ending:
    """How a call ended, for its protocol to tell the caller."""

    status: Status
    """Its delivery is `refused` if no handler ran."""

    trailer: list[tuple[str, str | bytes]]


class Protocol(ABC):
    """A way by which calls come to a server. Give it to `Server(protocols=[…])`."""

    @property
    @abstractmethod
    def name(self) -> str:
        """For admission and the log."""

    async def start(self, calls: Calls) -> None:  # noqa: B027
        """Begins to take calls: called once, when the server first listens or serves. Must not wait for their end."""

    async def stop(self) -> None:  # noqa: B027
        """Takes no more calls: called when the server drains. Those that were taken are still answered."""


class PortProtocol(Protocol):
    """A protocol that clients speak on the server's port."""

    alpn: Sequence[str] = ()
    """By which names it is negotiated with TLS."""

    @abstractmethod
    def recognize(self, first: bytes) -> bool | None:
        """Whether a connection that begins with these bytes, at most 64, speaks it; None: more of them will tell.
        Trunkcall and HTTP come first: what takes their beginnings for its own is refused by Server."""

    @abstractmethod
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, calls: Calls) -> None:
        """Serves one connection until it returns, in a task of its own; the connection is closed then. TLS is taken
        off. Once `calls.stopping` is set it should end; it is cancelled when the server has no more patience."""


class Calls:
    """Where protocols hand their calls over to a server."""

    def __init__(self, protocol: str, serving: Serving, stopping: asyncio.Event, most: int) -> None:
        self._protocol = protocol
        self._serving = serving
        self._stopping = stopping
        self._most = most  # bytes of a message

    @property
    def stopping(self) -> asyncio.Event:
        """Set when the server takes no more calls. To be looked at and waited for only."""
        return self._stopping

    async def serve(self, exchange: Exchange) -> Ending:
        """Serves one call to its end, and says how that was: also when it was refused. Cancelling the task that waits
        cancels the handler; when it has returned, nothing of `exchange` is used any more."""
        served, refusal = self._look(exchange)
        if served is None:
            return self._ended(exchange, Ending(refusal, []))
        end = ForeignEnd(self._serving, asyncio.get_running_loop(), self._protocol)
        call = ForeignCall(exchange, end, served.method, self._most)
        serving = self._serving
        serving.load.running += 1
        call._task = task = asyncio.create_task(end.run(served, call))
        serving.tasks.add(task)
        serving.handed_over.add(task)
        try:
            left = call.time_remaining()
            done, _ = await asyncio.wait([task], timeout=left)
            if not done:
                task.cancel(OUT_OF_TIME)
                await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise
        finally:
            serving.load.running -= 1
            serving.tasks.discard(task)
            serving.handed_over.discard(task)
        return self._ended(exchange, call.ending)

    def _ended(self, exchange: Exchange, ending: Ending) -> Ending:
        """Counts and tells of a call that no handler has answered."""
        status, serving = ending.status, self._serving
        if status.delivery is Delivery.REFUSED or (status.code and status.delivery is Delivery.UNKNOWN):
            refused = status.delivery is Delivery.REFUSED
            serving.load.count(refused)
            name = exchange.method.encode("utf-8", "replace")
            serving.journal.unserved(exchange.peer, name, refused, status.code, status.message)
        return ending

    def _look(self, exchange: Exchange) -> tuple[Served | None, Status]:
        """What serves a call, or why it is refused."""
        name, load = exchange.method, self._serving.load
        found = self._serving.methods.get(name.encode("utf-8", "replace"))
        if self._stopping.is_set():
            return None, refused(Code.UNAVAILABLE, "this server is draining", RETRY)
        if found is None:
            return None, refused(Code.UNIMPLEMENTED, unserved(name.encode("utf-8", "replace"), self._serving.methods))
        if exchange.codec not in found.target.bindings:
            return None, refused(Code.UNIMPLEMENTED, f"the messages of {name} have no codec {exchange.codec} here")
        if exchange.compression and exchange.compression not in self._serving.packing.accepted:
            return None, refused(Code.UNIMPLEMENTED, f"compression {exchange.compression} is not accepted here")
        if load.running >= load.running_limit:
            text = f"{load.running_limit} handlers are running, which is the limit"
            return None, refused(Code.RESOURCE_EXHAUSTED, text, RETRY)
        return found.target, OK


OUT_OF_TIME = "the deadline passed"


def refused(code: Code, text: str, retry_after: float = 0.0) -> Status:
    return Status(code, text, delivery=Delivery.REFUSED, retry_after=retry_after)


class ForeignCall(ServerCall):
    """A call that came by a protocol of a user's, as its handler sees it."""

    __slots__ = ("_exchange", "_most", "_name", "_until", "ending")

    def __init__(self, exchange: Exchange, end: ForeignEnd, method: Method[Any, Any], most: int) -> None:
        nothing: Any = None  # there is no session
        super().__init__(nothing, end, method)
        self._name = end.protocol
        self._exchange = exchange
        self._most = most
        self._until = 0 if exchange.timeout is None else max(clock() + int(exchange.timeout * 1e6), 1)
        self.ending = Ending(Status(Code.CANCELLED, "the handler was cancelled"), [])

    @property
    def metadata(self) -> list[tuple[str, str | bytes]]:
        return pairs(self._exchange.metadata)

    @property
    def codec(self) -> Any:
        return self._end.serving.codecs[self._exchange.codec]

    @property
    def connection(self) -> Connection:
        raise RuntimeError("nobody can be called back by the protocol that the call came by")

    @property
    def oneway(self) -> bool:
        return False

    @property
    def peer(self) -> str:
        return self._exchange.peer

    @property
    def tls(self) -> Any:
        return self._exchange.tls

    @property
    def _protocol(self) -> str:
        return self._name

    @property
    def _deadline(self) -> int:
        return self._until

    def time_remaining(self) -> float | None:
        return max((self._until - clock()) / 1e6, 0.0) if self._until else None

    @property
    def attempt(self) -> int:
        return 1

    @property
    def cancelled(self) -> bool:
        return self._stopped

    async def send_header(self, metadata: Metadata = ()) -> None:
        self.set_header(metadata)
        await self._pass_header()

    async def send(self, message: Any) -> bool:
        data = self._encoded(message)
        await self._pass_header()
        try:
            await self._exchange.send(data)
        except ConnectionError:
            self._stopped = True
        return not self._stopped

    async def receive(self) -> Any | None:
        data = await self._exchange.receive()
        if data is None:
            return None
        if len(data) > self._most:
            text = f"the request has {len(data)} bytes, max_message is {self._most}"
            raise StatusError(Code.RESOURCE_EXHAUSTED, text)
        decode, compression = self._binding.decode_request, self._exchange.compression
        try:
            if not compression:
                return decode(data)
            async with self._end.serving.packing.unpacked(compression, data, self._most) as message:
                return decode(message)
        except TooLong as error:
            raise StatusError(Code.RESOURCE_EXHAUSTED, f"the request {error}") from None
        except Exception as error:
            text = f"the request is not a valid {self.codec.name} message: {error}"
            raise StatusError(*told(error, Code.INVALID_ARGUMENT, text)) from error

    async def _pass_header(self) -> None:
        if self._header and not self._header_sent:
            await self._exchange.send_header(self._header)
        self._header_sent = True

    def _encoded(self, message: Any) -> bytes:
        try:
            return self._binding.encode_response(message)
        except Exception as error:
            raise self._end._unencodable(self, message) from error


class ForeignEnd(ServingEnd):
    """What serves a call that came by a protocol of a user's."""

    def __init__(self, serving: Serving, loop: asyncio.AbstractEventLoop, protocol: str) -> None:
        super().__init__(serving, loop)
        self.protocol = protocol

    async def run(self, served: Served, call: ForeignCall) -> None:
        current.set(call)
        status = OK
        try:
            await self._admit(call)
            request = await self._one_request(call) if served.method.kind.takes_one else None
            if call.time_remaining() == 0:
                raise NotStarted
            response = await self._answer(served, call, request)
            if served.answers_one:
                await call.send(response)
            await call._pass_header()
        except Rejected as error:
            status = _with(error.args[0], Delivery.REFUSED)
        except Undecodable as error:
            status = refused(*error.args)
        except NotStarted:
            status = refused(Code.DEADLINE_EXCEEDED, "the deadline passed before the handler started")
        except asyncio.CancelledError as error:
            status = ended_by(error)
        except Exception as error:
            ran = call._entered or not self.serving.interceptors
            status = _with(self._status(call, error), Delivery.EXECUTED if ran else Delivery.REFUSED)
        finally:
            call.ending = Ending(status, list(call._trailer or ()))
            call._code = None if status.delivery is Delivery.REFUSED else status.code
            self._leave(call)

    async def _one_request(self, call: ForeignCall) -> Any:
        """Raises Undecodable."""
        try:
            request = await call.receive()
        except StatusError as error:
            raise Undecodable(error.code, error.message) from error
        if request is None:
            raise Undecodable(Code.UNIMPLEMENTED, "there is no message where one is expected")
        return request

    async def _answer(self, served: Served, call: ForeignCall, request: Any) -> Any:
        if self.serving.interceptors:
            return await self._intercepted(served, call, None, request)
        return await served.run(request, call, call)


def _with(status: Status, delivery: Delivery) -> Status:
    return Status(status.code, status.message, status.details, delivery, status.retry_after)


def check_protocols(protocols: Sequence[Protocol], beginnings: Sequence[bytes]) -> None:
    """Raises TypeError, ValueError for protocols that cannot be reached, or keep others from that."""
    names: set[str] = set()
    for one in protocols:
        if not isinstance(one, Protocol):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise wrong_type("protocols", one, "objects of classes derived of trunkcall.Protocol")
        if one.name in names:
            raise ValueError(f"there are two protocols {one.name}")
        names.add(one.name)
        for first in beginnings if isinstance(one, PortProtocol) else ():
            if isinstance(one, PortProtocol) and one.recognize(first) is not False:
                raise ValueError(f"protocol {one.name} takes {first!r} for its own, which is not")
