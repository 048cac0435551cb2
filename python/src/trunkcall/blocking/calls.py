"""The calls of a blocking Client, or of one of its Connections: those of asyncio, carried out by the thread that makes
them."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from trunkcall.caller import NO_OPTIONS, CallOptions, Response
from trunkcall.calling import UNARY
from trunkcall.calling import Calls as Awaited
from trunkcall.codec import FIRST_NAMED, Codec
from trunkcall.compression import Compressions
from trunkcall.context import current, deadline_of
from trunkcall.gauges import ConnectionGauges
from trunkcall.method import Method, UnaryMethod
from trunkcall.policy import Priority
from trunkcall.status import Metadata, failure
from trunkcall.unarycall import undecodable, unencodable
from trunkcall.wire import Code, Delivery

from .. import connection as asynchronous
from .caller import Caller, ClientStream
from .driver import Driver
from .started import StartedCall
from .stream import OpenedStream
from .waiting import Answer

Req = TypeVar("Req")
Resp = TypeVar("Resp")
T = TypeVar("T")

FORKED = "the connection is one of the parent process, before fork(): the client has others here"


class Calls(Caller):
    """Made by this package alone."""

    def _now(self) -> tuple[Driver, Awaited]:
        """What drives the calls, and the policy that they go by. Raises StatusError."""
        raise NotImplementedError

    @property
    def _ruled(self) -> bool:
        """Whether a policy file says what holds for the calls."""
        raise NotImplementedError

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
        """See Caller.call."""
        driver, policy = self._now()
        own = getattr(method, "codec", None) or policy._codec
        if not (
            metadata
            or codec is not None
            or compression is not None
            or priority is not None
            or not (wait_for_ready is None or wait_for_ready is True or wait_for_ready is False)
            or (own is not policy._codec and own.number >= FIRST_NAMED)
            or policy._quick is None
            or not isinstance(method, Method)  # pyright: ignore[reportUnnecessaryIsInstance]
            or method.kind is not UNARY
        ):
            return self._call_quickly(driver, policy, method, request, own, timeout, wait_for_ready)
        return driver.run(
            policy.call(
                method,
                request,
                timeout=timeout,
                metadata=metadata,
                codec=codec,
                compression=compression,
                wait_for_ready=wait_for_ready,
                priority=priority,
            )
        )

    def _call_quickly(
        self,
        driver: Driver,
        policy: Awaited,
        method: UnaryMethod[Req, Resp],
        request: Req,
        codec: Codec,
        timeout: float | None,
        wait_for_ready: bool | None,
    ) -> Resp:
        """What `Calls.call` of asyncio does, without a coroutine. Encodes and decodes without the lock."""
        binding = method.binding(codec)
        try:
            data = binding.encode_request(request)
        except Exception as error:
            raise unencodable(codec, error, method, request) from error
        if timeout is None:
            timeout = policy._timeout
        deadline = 0
        if timeout is not None or current.get() is not None:
            deadline = deadline_of(timeout)
        answer = Answer(driver, policy, method, data, codec.number, deadline)
        driver.call(answer)
        begun = answer.begun
        if begun is None:
            failed, answer.failed = answer.failed, None
            if failed is not None:
                raise failed
            return driver.run(policy.call(method, request, timeout=timeout, wait_for_ready=wait_for_ready))
        message = begun[0].message
        if message is None or begun[0].compression:
            return driver.run(policy._finish(method, data, codec, deadline, timeout, bool(wait_for_ready), begun))
        try:
            return cast(Resp, binding.decode_response(message))
        except Exception as error:
            raise undecodable(codec, error) from error

    def start(
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
    ) -> StartedCall[Resp]:
        """Begins a call of a unary method and returns at once: a concurrent.futures.Future, which any thread may wait
        for or cancel. Interceptors run on threads of their own. Raises StatusError for a client that is closed; what
        else goes wrong, the future tells."""
        driver, policy = self._now()
        options = CallOptions(timeout, metadata, codec, compression, wait_for_ready, priority)
        started = StartedCall[Resp](driver, self)
        with driver.inside():
            if not driver.closed:
                started._begin(policy.unary(method, request, options))
                return started
        driver.run(policy.unary(method, request, options))  # raises why no calls can be made any more
        return started

    def unary(self, method: Method[Req, Resp], request: Req, options: CallOptions = NO_OPTIONS) -> Response[Resp]:
        driver, policy = self._now()
        return driver.run(policy.unary(method, request, options))

    def stream(
        self, method: Method[Req, Resp], request: Req | None = None, options: CallOptions = NO_OPTIONS
    ) -> ClientStream[Req, Resp]:
        driver, policy = self._now()
        with driver.inside():
            stream = policy.stream(method, request, options)
            opening = driver.openings.pop() if driver.openings else None
        opened = OpenedStream(driver, stream)
        if opening is not None:
            driver.run(opening)  # interceptors run in this thread
        return opened


class Connection(Calls):
    """One connection between a client and a server. Through it a client calls this one server. `call`, `open` and
    `send` are those of a Client. When it is over or drains, calls through it fail UNAVAILABLE, `not_sent`."""

    def __init__(self, driver: Driver, inner: asynchronous.Connection) -> None:
        self._driver = driver
        self._inner = inner

    def _now(self) -> tuple[Driver, Awaited]:
        if self._driver.abandoned:
            raise failure(Code.UNAVAILABLE, FORKED, Delivery.NOT_SENT)
        return self._driver, self._inner

    @property
    def _ruled(self) -> bool:
        return self._inner._file is not None

    @property
    def remote(self) -> str:
        """The address of the other end."""
        return self._inner.remote

    @property
    def local(self) -> str:
        """The address of this end."""
        return self._inner.local

    @property
    def secure(self) -> bool:
        """Whether the calls go through TLS."""
        return self._inner.secure

    @property
    def tls(self) -> Any:
        """The ssl.SSLObject, None in the clear."""
        return self._inner.tls

    @property
    def error(self) -> str | None:
        """Why the connection is over, or is ending; None while it is not."""
        return self._inner.error

    def gauges(self) -> ConnectionGauges:
        """What the connection has at the moment."""
        return self._inner.gauges()

    def disconnect(self) -> None:
        """Ends the connection at once: calls that are open on it fail, with an unknown delivery, and handlers are
        cancelled. A client opens another with its next calls. Does not wait."""
        driver, _ = self._now()
        with driver.inside():
            self._inner.disconnect()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Connection) and other._inner is self._inner

    def __hash__(self) -> int:
        return hash(self._inner)

    def __repr__(self) -> str:
        return f"<connection to {self.remote}>"
