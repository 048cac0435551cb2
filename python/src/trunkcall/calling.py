"""Making calls: what a Client and a Connection have in common."""

from __future__ import annotations

import asyncio
import math
from asyncio import get_running_loop
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from .attempt import AttemptObserver
from .caller import NO_OPTIONS, Caller, CallOptions, ClientStream, Response, check_options, check_stream, check_unary
from .checking import check_codec
from .clientstream import CANCELLED, OpenedStream
from .codec import FIRST_NAMED, PROTOBUF, Codec
from .compression import Compression, Compressions, Packing, in_order
from .context import deadline_of, own_timeout
from .governed import made
from .interceptor import Call, Interceptor, chain, wrong_answer
from .method import Kind, Method, UnaryMethod
from .options import listed
from .policies import NO_POLICIES, Policies
from .priority import carrying, priority_of
from .quick import call_quickly
from .repeating import Repeating
from .slots import Slots
from .status import Attempts, StatusError, failure, intercepted, pairs
from .transport import Connection, clock
from .unarycall import Attempt, Begun, invoke, unencodable
from .wire import OK, Code, Delivery, LimitError, OutgoingCall, local_status

if TYPE_CHECKING:
    from .endpoints import ClientEndpoint, Turns
    from .opening import Opening

Req = TypeVar("Req")
Resp = TypeVar("Resp")
UNARY = Kind.UNARY


@dataclass(slots=True)
class Calling:
    """What the calls of one Client or Server have in common, those that it makes."""

    codec: Codec
    codecs: dict[int, Codec]
    interceptors: tuple[Interceptor, ...]
    packing: Packing
    waiting_limit: int  # calls that may wait for a connection or a slot, over all connections
    repeating: Repeating
    attempts: AttemptObserver | None = None
    policies: Policies = NO_POLICIES
    opener: Callable[[Coroutine[Any, Any, None]], object] | None = None  # has streams opened that are intercepted
    waiting: int = 0
    ever_waited: int = 0  # the number of the last one that began to

    @contextmanager
    def queued(self) -> Generator[None]:
        """Counts a call that waits within. Raises StatusError when too many do."""
        if self.waiting >= self.waiting_limit:
            text = f"waiting calls have reached their limit of {self.waiting_limit}"
            raise failure(Code.RESOURCE_EXHAUSTED, text, Delivery.NOT_SENT)
        self.waiting += 1
        try:
            yield
        finally:
            self.waiting -= 1


class Calls(Caller):
    """The calls of a Client, which takes whichever of its connections is there, or of a Connection, which is one.
    Belongs to one event loop and is used from that loop's thread only. Made by this package alone."""

    _alone = False  # calls go over one connection, whose place no other takes
    _closed = False

    def __init__(self, calling: Calling) -> None:
        self._calling = calling
        self._codec = calling.codec
        self._interceptors = calling.interceptors
        # Whether nothing stands between a call and its making: no interceptor, no derived class.
        self._direct = not calling.interceptors and type(self).unary is Calls.unary
        self._plain = self._direct and not calling.packing.order and calling.attempts is None and calling.policies.quick
        self._slots = Slots(calling)
        self._waiting = self._slots.waiting  # those who wait for a slot of `_quick`
        self._policies = calling.policies
        self._timeout = calling.policies.timeout  # of unary calls that say none
        self._bound: asyncio.AbstractEventLoop | None = None
        self._quick: Connection | None = None  # for calls that nobody intercepts or compresses
        self._several = False  # connections to pick one of
        # Whether nobody intercepts or compresses calls, and nothing is to be looked up for them but in a policy file.
        known = calling.policies.quick or calling.policies.file is not None
        self._featured = self._direct and not calling.packing.order and known
        self._passes = False  # calls of such a client may go as `quickly` has it
        self._file = calling.policies.file
        self._turns: Turns | None = None  # of those that it may choose of

    # What it takes a Client or a Connection to know.

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The loop that it belongs to. Raises RuntimeError in any other."""
        raise NotImplementedError

    @property
    def target(self) -> str:
        """What the calls go to: what a client was made for, the address of a connection's other end."""
        raise NotImplementedError

    @property
    def secure(self) -> bool:
        """Whether the calls go through TLS."""
        raise NotImplementedError

    def _next(self, method: Method[Any, Any], *, sampled: bool = True) -> Connection | None:
        """A connection for a plain unary call, if there are several. None: the call has to go by `unary`, as do calls
        that are not `sampled` if a picker chooses. Raises StatusError: `not_sent`."""
        return None

    def _pick(self, opening: Opening) -> Connection | None:
        """A connection for a call; None if there is none now. Raises StatusError: `not_sent`."""
        raise NotImplementedError

    async def _connected(self, opening: Opening, wait_for_ready: bool) -> Connection:
        """A connection for a call, opened if need be. Raises StatusError: UNAVAILABLE, `not_sent`."""
        raise NotImplementedError

    def _queue(self, connection: Connection) -> Slots:
        """Where calls wait for a slot of a connection."""
        return self._slots

    def _endpoint_of(self, connection: Connection) -> ClientEndpoint | None:
        """The endpoint that a connection leads to, of a client's."""
        return None

    def _retire(self, connection: Connection) -> None:
        """Has later calls use another connection, if there can be one: this one takes no more."""

    async def _changed(self) -> None:
        """Waits until its connections change, or it is closed."""
        raise NotImplementedError

    def _watch(self, look: Callable[[], object]) -> Callable[[], None]:
        """Has a function called by the loop after each such change. Returns what ends that, for the loop's thread."""
        raise NotImplementedError

    def _check_open(self) -> None:
        """Raises StatusError when no calls can be made any more, RuntimeError in another loop."""
        raise NotImplementedError

    def _spawn_opening(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        """Has a stream opened meanwhile, behind interceptors if there are any. None: that is done, or another's."""
        if self._interceptors and self._calling.opener is not None:
            self._calling.opener(work)
            return None
        task = self._loop.create_task(work)
        return None if task.done() else task  # an eager one may be

    @property
    def _ready(self) -> bool:
        """Whether calls can be made now."""
        raise NotImplementedError

    async def _become_ready(self) -> None:
        """Waits until calls can be made. Raises StatusError when none ever can."""
        raise NotImplementedError

    @property
    def _elsewhere(self) -> bool:
        """Whether a call that was turned away over one connection may be made over another."""
        return False

    @property
    def _waits_for(self) -> str:
        """What a call without a connection waits for, for people."""
        return "a connection"

    @property
    def _trouble(self) -> str:
        """Why there is no connection, "" if there is one or nothing is known."""
        return ""

    # Calls.

    call = call_quickly

    async def unary(self, method: Method[Req, Resp], request: Req, options: CallOptions = NO_OPTIONS) -> Response[Resp]:
        check_unary(method)
        check_options(options)
        self._check_open()
        order, most = self._order(options.compression), options.max_receive
        rules = self._policies.rules(method.name)
        policy = self._policies.of(method.name) if rules is None else rules.policy
        wait_for_ready = bool(policy.wait_for_ready if options.wait_for_ready is None else options.wait_for_ready)
        timeout = _bounded(policy.timeout if options.timeout is None else options.timeout)
        priority = priority_of(options.priority, rules)
        until = deadline_of(timeout)
        attempts = Attempts()
        given: Any = attempts  # what the connection answered; nothing yet

        async def last(call: Call) -> Any:
            nonlocal given
            attempts.begin()
            delivery = Delivery.UNKNOWN
            try:
                if rules is None:
                    self._calling.repeating.calls += 1
                codec = options.codec or method.codec
                data = self._encode(method, call.request, codec)
                deadline = until if call.timeout == timeout else deadline_of(call.timeout)
                metadata = carrying(call.metadata, options.priority if rules is None else priority)
                attempt = Attempt(self, method, data, codec or self._codec, deadline, metadata, wait_for_ready)
                attempt.timeout = own_timeout(call.timeout, deadline)
                attempt.compress(order)
                attempt.response = call.response
                attempt.most = most
                given = await (invoke(attempt) if rules is None else made(attempt, rules, priority))
                delivery = Delivery.EXECUTED
                return given
            except StatusError as error:
                delivery = error.delivery
                raise
            finally:
                attempts.end(delivery)

        def judge(interceptor: str, answer: Any) -> StatusError | None:
            if answer is given:
                return None
            wrong = wrong_answer(interceptor, answer, method)
            return None if wrong is None else failure(Code.INTERNAL, wrong, attempts.delivery)

        call = Call(method, pairs(options.metadata), request, timeout)
        if not self._interceptors:
            call.response.message = await last(call)
            return call.response
        status = OK
        try:
            call.response.message = await chain(self._interceptors, last, judge)(call)
            return call.response
        except Exception as error:
            said = intercepted(error, attempts.went_on, attempts.delivery)
            status = said.status
            if said is error:
                raise
            raise said from error
        except asyncio.CancelledError:
            delivery = Delivery.UNKNOWN if attempts.went_on else Delivery.NOT_SENT
            status = local_status(Code.CANCELLED, CANCELLED, delivery)
            raise
        finally:
            call._end(status)

    def stream(
        self, method: Method[Req, Resp], request: Req | None = None, options: CallOptions = NO_OPTIONS
    ) -> ClientStream[Req, Resp]:
        check_stream(method)
        check_options(options)
        if request is not None and not method.kind.takes_one:
            raise TypeError(f"{method.name} is {method.kind.value}: it is opened without a request, and then sent some")
        self._check_open()
        codec = options.codec or method.codec or self._codec
        stream = OpenedStream[Req, Resp](self, method, codec, self._order(options.compression), options)
        policy = self._policies.of(method.name)
        timeout = _bounded(self._policies.of_stream(method.name) if options.timeout is None else options.timeout)
        wait_for_ready = bool(policy.wait_for_ready if options.wait_for_ready is None else options.wait_for_ready)
        call: Call = Call(method, pairs(options.metadata), request, timeout)
        stream.begin(self._interceptors, call, deadline_of(timeout), wait_for_ready)
        return stream

    def _begin(self, method: Method[Any, Any], data: bytes, deadline: int) -> Begun | None:
        """Opens a unary call in PROTOBUF without metadata, if nobody intercepts it and it can be opened now. For stubs;
        `deadline` in µs of `clock`, 0: none. Raises StatusError."""
        connection = self._quick
        if connection is None and self._several:
            connection = self._next(method, sampled=False)
        if connection is None or self._waiting or self._codec is not PROTOBUF:
            return None
        loop = get_running_loop()
        if loop is not self._bound:
            loop = self._loop
        self._calling.repeating.calls += 1
        session = connection.session
        if deadline:
            session.now = clock()
        future: asyncio.Future[None] = loop.create_future()
        try:
            out = session.unary(method._wire_name, data, future, 1, deadline)
        except LimitError as error:
            raise failure(Code.RESOURCE_EXHAUSTED, str(error), Delivery.NOT_SENT) from None
        if out is None:
            return None
        if not connection.scheduled:
            connection.schedule()
        return out, connection, future

    def _open_quickly(
        self, method: Method[Any, Any], data: bytes, codec: int, deadline: int, end: Any
    ) -> tuple[OutgoingCall, Connection] | None:
        """Opens a unary call as `call` does, if it can be opened now and there is one connection; `end.set_result` is
        called when it has ended, and the caller sees to it that it is written. For blocking clients. Raises
        StatusError."""
        connection = self._quick
        if connection is None or self._waiting:
            return None
        self._calling.repeating.calls += 1
        session = connection.session
        if deadline:
            session.now = clock()
        try:
            out = session.unary(method._wire_name, data, end, codec, deadline)
        except LimitError as error:
            raise failure(Code.RESOURCE_EXHAUSTED, str(error), Delivery.NOT_SENT) from None
        return None if out is None else (out, connection)

    async def _finish(
        self,
        method: UnaryMethod[Any, Resp],
        data: bytes,
        codec: Codec,
        deadline: int,
        timeout: float | None,  # noqa: ASYNC109
        wait_for_ready: bool,
        begun: tuple[OutgoingCall, Connection],
    ) -> Resp:
        """What is to be done with a call that has ended otherwise than with a plain message."""
        attempt = Attempt(self, method, data, codec, deadline, None, wait_for_ready)
        attempt.timeout = own_timeout(timeout, deadline)
        attempt.adopt(*begun, None)
        response: Resp = await invoke(attempt)
        return response

    def _order(self, compression: Compressions | None) -> Sequence[Compression]:
        """What the requests of a call are compressed with, the preferred one first. Raises TypeError, ValueError."""
        return self._calling.packing.order if compression is None else in_order(compression)

    def _check_codec(self, codec: Codec) -> None:
        """Raises StatusError for a codec of a call that the other side was not told of, TypeError for what is none."""
        check_codec("codec", codec)
        known = self._calling.codecs.get(codec.number)
        if known is None or (codec.number >= FIRST_NAMED and known.name != codec.name):
            only = listed(self._calling.codecs.values())
            text = f"codec {codec.number} ({codec.name}) is not known here, only {only}"
            raise failure(Code.UNIMPLEMENTED, f"{text}: give it to `codecs`", Delivery.NOT_SENT)

    def _encode(self, method: Method[Any, Any], request: Any, codec: Codec | None) -> bytes:
        """A request as bytes. Raises StatusError."""
        if codec is None:
            codec = self._codec
        else:
            self._check_codec(codec)
        try:
            return method.binding(codec).encode_request(request)
        except Exception as error:
            raise unencodable(codec, error, method, request) from error


def _bounded(timeout: float | None) -> float | None:
    """None for a timeout that says that there is none."""
    return None if timeout == math.inf else timeout
