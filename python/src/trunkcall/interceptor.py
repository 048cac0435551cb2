"""Interceptors: one shape for both ends and all kinds of calls."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from inspect import isawaitable
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Generic, Protocol, cast, overload

from .caller import Response
from .checking import check_functions, wrong_type
from .codec import kind_of, one_of
from .method import BidiMethod, ClientStreamMethod, Method, OneWayMethod, ServerStreamMethod, UnaryMethod
from .typevars import Received_co, Req, Resp, Sent_contra
from .wire import Status

if TYPE_CHECKING:
    from .servercall import ServerCall

logger = logging.getLogger("trunkcall")


class MessageStream(Protocol[Sent_contra, Received_co]):
    """The messages of a call that is not unary, at either end: what is sent there, and what is received."""

    async def send(self, message: Sent_contra) -> bool:
        """Sends a message, waiting while the peer is slow to consume. False: the call is over."""
        ...

    async def receive(self) -> Received_co | None:
        """The next message; None when the peer has sent all and, at the caller's end, the call succeeded."""
        ...


@dataclass(slots=True)
class Call(Generic[Req, Resp]):
    """One invocation as interceptors see it, the same at both ends. `Call` alone is a call of any method,
    `Call[Req, Resp]` one of a method with these messages."""

    method: Method[Req, Resp]
    metadata: list[tuple[str, str | bytes]]
    """The request's. A client's interceptor may add to it before it goes on."""

    request: Req = None  # type: ignore[assignment]
    """The message of a method that takes exactly one; None of others."""

    timeout: float | None = None
    """Seconds that remain; at the client the next step goes by it."""

    stream: MessageStream[Resp, Req] | None = None
    """At the server, the messages of a call that is not unary; an interceptor may replace it by one that wraps it."""

    response: Response[Resp] = field(default_factory=lambda: Response[Any](None))
    """At the client: what came beside the message of a unary call, filled in when the next step returns or raises."""

    server: ServerCall | None = None
    """At the server: the call as its handler sees it."""

    _ends: list[Callable[[Status], None]] = field(default_factory=list[Callable[["Status"], None]], repr=False)

    def on_end(self, function: Callable[[Status], None]) -> None:
        """Calls `function` once, with the status, when the call is over. A stream at the client is over after its
        interceptors have returned, or when its user drops it. `function` must not raise; what it raises is logged."""
        self._ends.append(function)

    def _end(self, status: Status) -> None:
        while self._ends:  # which others made of this one by dataclasses.replace share
            function = self._ends.pop(0)
            try:
                function(status)
            except Exception:
                logger.exception("what was to be told of the end of a call of %s raised an exception", self.method.name)


Next = Callable[[Call[Req, Resp]], Awaitable[Resp]]
"""Goes on with a call: to the next interceptor, at last to the handler at the server, the connection at the client."""

Interceptor = Callable[[Call[Req, Resp], Next[Req, Resp]], Awaitable[Resp]]
"""Wraps calls of all kinds: `async def intercept(call, proceed): return await proceed(call)`.

It returns what the next step returned or something in its place: of a unary call the message of the response; of others
at the client the MessageStream, as soon as the call was opened, and at the server what the handler returns, when it is
done. One that returns something else, such as None or what it forgot to await, fails the call with INTERNAL, named.
`Call.on_end` tells of the end of all of them. It may answer without `proceed` (a cache), or call it more than once (a
retry, at the client). The first in the list is the outermost.

`Interceptor[Req, Resp]` is one for a unary method with these messages; `for_method` makes one for all calls of it."""


@overload
def for_method(method: UnaryMethod[Req, Resp], intercept: Interceptor[Req, Resp]) -> Interceptor: ...
@overload
def for_method(
    method: ServerStreamMethod[Req, Resp] | ClientStreamMethod[Req, Resp] | BidiMethod[Req, Resp] | OneWayMethod[Req],
    intercept: Callable[[Call[Req, Resp], Callable[[Call[Req, Resp]], Awaitable[Any]]], Awaitable[Any]],
) -> Interceptor: ...
def for_method(method: Method[Any, Any], intercept: Callable[..., Any]) -> Interceptor:
    """An interceptor of the calls of one method, whose request and response are typed; all other calls go by. For
    either end. Of a unary method it returns the response:

        async def check(call: Call[GetUserRequest, User], proceed: Next[GetUserRequest, User]) -> User:
            ...

        Client(address, interceptors=[trunkcall.for_method(get_user, check)])

    Raises TypeError for what is no method, or cannot be called."""
    check_of_method(method, intercept)

    def intercepting(call: Call, proceed: Next) -> Awaitable[Any]:
        return cast(Awaitable[Any], intercept(call, proceed)) if call.method.name == method.name else proceed(call)

    intercepting.__qualname__ = getattr(intercept, "__qualname__", type(intercept).__qualname__)
    return intercepting


def check_of_method(method: Any, intercept: Any) -> None:
    """Raises TypeError."""
    if not isinstance(method, Method):
        raise wrong_type("method", method, "a method, as trunkcall.unary makes one")
    check_functions(intercept=[intercept])


Judge = Callable[[str, Any], Exception | None]
"""The error for what an interceptor returned, whose name it is given as well; None: the call goes on with that."""

Blame = Callable[[str, Exception], None]
"""Told what an interceptor raised or let pass, the innermost first."""


def chain(interceptors: Sequence[Interceptor], last: Next, judge: Judge, blame: Blame | None = None) -> Next:
    """Wraps `last` in the interceptors, what each of which returns `judge` is asked about."""
    for intercept in reversed(interceptors):
        last = _link(intercept, last, judge, blame)
    return last


def _link(intercept: Interceptor, proceed: Next, judge: Judge, blame: Blame | None) -> Next:
    async def go_on(call: Call) -> Any:
        try:
            going: Any = intercept(call, proceed)
            answer: Any = going
            if isawaitable(going):
                answer = await going
            elif going is not None:
                answer = _Plain(going)
        except Exception as error:
            if blame is not None:
                blame(_name(intercept), error)
            raise
        if (wrong := judge(_name(intercept), answer)) is not None:
            raise wrong
        return answer

    return go_on


class _Plain:
    """What a plain function returned that cannot be awaited."""

    def __init__(self, answer: Any) -> None:
        self.what = f"{kind_of(answer)} and is a plain function: make it `async def`"


def _name(intercept: Any) -> str:
    return str(getattr(intercept, "__qualname__", type(intercept).__qualname__))


def answers(method: Method[Any, Any]) -> bool:
    """Whether a call of the method ends in an answer that cannot be None. Stubs of gRPC tell no type of theirs."""
    return method.kind.answers_one and (method._fixed is not None or not isinstance(None, method.response))


def wrong_answer(interceptor: str, answer: Any, method: Method[Any, Any]) -> str | None:
    """What is said of an interceptor that returned what is no answer to a call; None: it is one."""
    if (found := _unawaited(answer)) is not None:
        return f"the interceptor {interceptor} returned {found}"
    if not method.kind.answers_one or isinstance(answer, object if method._fixed else method.response):
        if answer is not None or not answers(method):
            return None
    wanted = _WANTED if answer is None else f"want {one_of(method.response)}"
    return f"the interceptor {interceptor} returned {kind_of(answer)} for a call of {method.name}: {wanted}"


def wrong_stream(interceptor: str, answer: Any, method: Method[Any, Any]) -> str | None:
    """What is said of a client's interceptor that returned no MessageStream for a call that is not unary."""
    if (found := _unawaited(answer)) is not None:
        return f"the interceptor {interceptor} returned {found}"
    if callable(getattr(answer, "send", None)) and callable(getattr(answer, "receive", None)):
        return None
    return f"the interceptor {interceptor} returned {kind_of(answer)} for a call of {method.name}: {_WANTED}"


def _unawaited(answer: Any) -> str | None:
    if isinstance(answer, _Plain):
        return answer.what
    if isinstance(answer, CoroutineType):
        answer.close()
        return "a coroutine that nobody has awaited: write `await proceed(call)`"
    return None


_WANTED = "want what `proceed` returned, or something in its place"
