"""Functions of users, which block, in the form in which the policy awaits them."""

from __future__ import annotations

import asyncio
import inspect
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar, cast, overload

from trunkcall import client as asynchronous
from trunkcall import interceptor as awaited
from trunkcall import resolver as resolving
from trunkcall.checking import check_callable, check_functions
from trunkcall.endpoint import Endpoint
from trunkcall.executing import outcome
from trunkcall.interceptor import Call, check_of_method
from trunkcall.method import (
    BidiMethod,
    ClientStreamMethod,
    Method,
    OneWayMethod,
    ServerStreamMethod,
    UnaryMethod,
)
from trunkcall.status import failure
from trunkcall.typevars import Req, Resp
from trunkcall.wire import Code, Delivery

from .caller import Interceptor, Next
from .driver import Driver
from .stream import Messages, Unblocked
from .waiting import Work

T = TypeVar("T")

GIVEN_UP = "cancelled by the caller"

# Opens the byte stream to HOST:PORT, unix:PATH or mem:NAME of an endpoint in place of the system: returns a connected
# socket. As trunkcall.Dialer, but runs on a thread of its own and may block.
Dialer = Callable[[str, Endpoint], socket.socket]


class Watch:
    """What a resolver works for. Used from any thread."""

    def __init__(self, inner: resolving.Watch, driver: Driver) -> None:
        self._inner = inner
        self._driver = driver
        self._over = asyncio.Event()  # nobody wants sets any more

    @property
    def target(self) -> str:
        """What follows the scheme in the client's target."""
        return self._inner.target

    @property
    def closed(self) -> bool:
        """Whether the client is closed: the resolver is to return."""
        return self._over.is_set()

    def set(self, endpoints: Sequence[Endpoint]) -> None:
        """Exchanges the whole set. Raises InvalidSet for one that is empty or wrong: the last good set stays then."""
        if not self.closed:
            with self._driver.inside():
                if not self._driver.closed:  # meanwhile
                    self._inner.set(endpoints)

    def fail(self, why: str) -> None:
        """Says why there is no set, or none that is newer, while the resolver goes on. It is logged. The last good set
        stays; as long as there was none, calls fail or wait as if the resolver had raised."""
        if not self.closed:
            with self._driver.inside():
                self._inner.fail(why)

    def failed(self, timeout: float | None = None) -> bool:
        """Waits until an endpoint could not be reached, at most for so many seconds; at once if that has happened since
        the last wait. False: it has not, or the client is closed."""
        return self._driver.run(self._failed(timeout))

    async def _failed(self, timeout: float | None) -> bool:  # noqa: ASYNC109
        if self.closed or self._driver.closed:
            return False
        failed = asyncio.ensure_future(self._inner.failed())
        over = asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait([failed, over], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            return failed.done() and not self.closed
        finally:
            failed.cancel()
            over.cancel()

    def _end(self) -> None:
        self._over.set()


# A function that calls `watch.set` with the whole set, at once and whenever it changes, until `watch.closed`. Has a
# thread of its own. It may return when no change will come. After an exception it is called again, later each time.
Resolver = Callable[[Watch], None]


def check_plain(option: str, *given: Any) -> None:
    """Raises TypeError for an asynchronous function."""
    for one in given:
        if _is_async(one):
            name = getattr(one, "__qualname__", one)
            text = f"option {option}: {name} is asynchronous, and a blocking client calls plain functions"
            raise TypeError(f"{text}; trunkcall.Client takes it")


@overload
def for_method(method: UnaryMethod[Req, Resp], intercept: Interceptor[Req, Resp]) -> Interceptor: ...
@overload
def for_method(
    method: ServerStreamMethod[Req, Resp] | ClientStreamMethod[Req, Resp] | BidiMethod[Req, Resp] | OneWayMethod[Req],
    intercept: Callable[[Call[Req, Resp], Callable[[Call[Req, Resp]], Any]], Any],
) -> Interceptor: ...
def for_method(method: Method[Any, Any], intercept: Callable[..., Any]) -> Interceptor:
    """An interceptor of the calls of one method, whose request and response are typed; all other calls go by. Raises
    TypeError for what is no method, cannot be called or is asynchronous. See trunkcall.for_method."""
    check_of_method(method, intercept)
    check_plain("intercept", intercept)

    def intercepting(call: Call, proceed: Next) -> Any:
        return intercept(call, proceed) if call.method.name == method.name else proceed(call)

    return _named(intercepting, intercept)


def _is_async(given: Any) -> bool:
    while isinstance(given, partial):
        given = cast(Any, given).func
    if not inspect.isroutine(given):
        given = cast(Any, type(given)).__call__
    return inspect.iscoroutinefunction(given) or inspect.isasyncgenfunction(given)


def on_thread(function: Callable[..., T], *args: Any) -> asyncio.Future[T]:
    """Runs a function on a daemon thread of its own, in a copy of the context."""
    told: Future[T] = Future()
    context = copy_context()

    def run() -> None:
        if not told.set_running_or_notify_cancel():
            return
        try:
            told.set_result(context.run(outcome, function, *args))
        except BaseException as error:
            told.set_exception(error)

    waiting = asyncio.wrap_future(told)
    threading.Thread(target=run, name="trunkcall", daemon=True).start()
    return waiting


def dialer(given: Dialer | None) -> asynchronous.Dialer | None:
    check_callable("dialer", given, "a function")
    if given is None:
        return None
    check_plain("dialer", given)
    known = given

    async def dial(address: str, endpoint: Endpoint) -> socket.socket:
        return await on_thread(known, address, endpoint)

    return dial


def resolver(given: Resolver, driver: Driver) -> resolving.Resolver:
    check_callable("resolvers", given, "functions")
    check_plain("resolvers", given)

    async def resolve(watch: resolving.Watch) -> None:
        told = Watch(watch, driver)
        try:
            await on_thread(given, told)
        finally:
            told._end()

    return resolve


def interceptors(given: Sequence[Interceptor], driver: Driver) -> list[awaited.Interceptor]:
    check_functions(interceptors=given)
    check_plain("interceptors", *given)
    return [_intercepting(one, driver) for one in given]


def _intercepting(intercept: Interceptor, driver: Driver) -> awaited.Interceptor:
    """In the thread that makes the call; of one that goes on by itself, on a thread of its own."""

    async def intercepting(call: Call, proceed: awaited.Next) -> Any:
        task: Any = asyncio.current_task()
        if not isinstance(task, Work):
            return await _on_its_thread(intercept, driver, call, proceed)
        with driver.outside():
            return _awaited(intercept(call, lambda call: _blocking(driver, proceed, call)), driver)

    return _named(intercepting, intercept)


def reverse_interceptors(given: Sequence[Interceptor], driver: Driver) -> list[awaited.Interceptor]:
    check_functions(reverse_interceptors=given)
    check_plain("reverse_interceptors", *given)
    return [_reverse(one, driver) for one in given]


def _reverse(intercept: Interceptor, driver: Driver) -> awaited.Interceptor:
    async def intercepting(call: Call, proceed: awaited.Next) -> Any:
        return await _on_its_thread(intercept, driver, call, proceed)

    return _named(intercepting, intercept)


async def _on_its_thread(intercept: Interceptor, driver: Driver, call: Call, proceed: awaited.Next) -> Any:
    """Runs an interceptor on a thread that nothing else waits for: it takes as long as the call. Cancelled, what it
    went on with is; the thread is waited for, as it runs and counts until it returns."""
    under_way: list[asyncio.Task[Any]] = []
    cancelled: asyncio.CancelledError | None = None

    def go_on(call: Call) -> Any:
        with driver.inside():
            if cancelled is not None:
                raise failure(Code.CANCELLED, GIVEN_UP, Delivery.NOT_SENT)
            task = driver.loop.create_task(_coroutine(proceed(call)))
            under_way.append(task)
        return driver.run(_outcome(task))

    running = on_thread(intercept, call, go_on)
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            cancelled = error
            for one in under_way:
                one.cancel()
    if cancelled is not None:
        running.exception()  # seen: nobody else asks for it
        raise cancelled
    return running.result()


async def _outcome(task: asyncio.Task[T]) -> T:
    await asyncio.wait([task])
    if task.cancelled():
        raise failure(Code.CANCELLED, GIVEN_UP, Delivery.UNKNOWN)
    return task.result()


def _named(function: T, user: Any) -> T:
    """Errors name the user's function."""
    cast(Any, function).__qualname__ = getattr(user, "__qualname__", type(user).__qualname__)
    return function


def _blocking(driver: Driver, proceed: awaited.Next, call: Call) -> Any:
    answer = driver.run(_coroutine(proceed(call)))
    return Messages(driver, answer) if call.method.kind.streams else answer


def _awaited(answer: Any, driver: Driver) -> Any:
    """What an interceptor returned, as the next one outward gets it."""
    if isinstance(answer, Messages):
        return answer.inner
    if answer is not None and callable(getattr(answer, "receive", None)):
        return Unblocked(driver, answer)
    return answer


async def _coroutine(work: Awaitable[T]) -> T:
    return await work
