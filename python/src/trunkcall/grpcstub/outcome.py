"""How calls of blocking stubs end."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, NoReturn

import grpc

from trunkcall import Code, Delivery, Status
from trunkcall.context import remaining
from trunkcall.status import StatusError, failure

from .callbacks import Callbacks
from .conversion import CODES, LOCALLY_CANCELLED, Entries, copied, to_entries, with_details
from .shapes import Future

OK = Status(Code.OK)


class EndedCall(grpc.Call, Future):
    """A call that is over."""

    _cancelled = False

    def __init__(
        self,
        response: Any = None,
        header: Iterable[tuple[str, str | bytes]] = (),
        trailer: Iterable[tuple[str, str | bytes]] = (),
    ) -> None:
        self.status = OK
        self._response = response
        self._header: Entries = list(header)
        self._trailer: Entries = list(trailer)

    # grpc.Call.

    def initial_metadata(self) -> Any:
        return to_entries(self._header)

    def trailing_metadata(self) -> Any:
        return to_entries(with_details(self.status, self._trailer))

    def code(self) -> grpc.StatusCode:
        return CODES[int(self.status.code)]

    def details(self) -> str:
        return self.status.message

    def debug_error_string(self) -> str:
        return ""

    def is_active(self) -> bool:
        return False

    def time_remaining(self) -> Any:
        return None

    def add_callback(self, callback: Callable[[], None]) -> bool:
        return False

    # grpc.Future.

    def cancel(self) -> bool:
        return False

    def cancelled(self) -> bool:
        return self._cancelled

    def running(self) -> bool:
        return False

    def done(self) -> bool:
        return True

    def result(self, timeout: float | None = None) -> Any:
        return self._response

    def exception(self, timeout: float | None = None) -> Exception | None:
        return None

    def traceback(self, timeout: float | None = None) -> TracebackType | None:
        return None

    def add_done_callback(self, fn: Callable[[Any], Any]) -> None:
        fn(self)


class CallError(EndedCall, grpc.RpcError):
    """A failed call, as callers of blocking stubs know it: a grpc.RpcError, a grpc.Call and a grpc.Future. `status` is
    Trunkcall's own, `delivery` says whether the handler ran (spec/status.md 2)."""

    def __init__(
        self, error: StatusError, header: Iterable[tuple[str, str | bytes]] = (), *, cancelled: bool = False
    ) -> None:
        super().__init__(None, header, error.trailer)
        grpc.RpcError.__init__(self, str(error))
        self.status = error.status
        self.delivery = error.status.delivery
        self._cancelled = cancelled
        self._text = str(error)

    def debug_error_string(self) -> str:
        return self._text

    def result(self, timeout: float | None = None) -> NoReturn:
        raise grpc.FutureCancelledError if self._cancelled else self

    def exception(self, timeout: float | None = None) -> Exception | None:
        if self._cancelled:
            raise grpc.FutureCancelledError
        return self

    def traceback(self, timeout: float | None = None) -> TracebackType | None:
        try:
            self.result()
        except CallError as error:
            return error.__traceback__

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._text}>"

    def __reduce__(self) -> Any:
        return copied(type(self), self.status, self._trailer, self._header)


def error_of(error: BaseException) -> CallError:
    """What the callers of a stub see of an exception."""
    if isinstance(error, CallError):
        return error
    told = error if isinstance(error, StatusError) else failure(Code.UNKNOWN, str(error), Delivery.UNKNOWN)
    raised = CallError(told, told.header)
    raised.__cause__ = error
    return raised


def cancelled() -> CallError:
    return CallError(failure(Code.CANCELLED, LOCALLY_CANCELLED, Delivery.UNKNOWN), cancelled=True)


class Ending:
    """How a running call ends: the first to tell it counts. Used from any thread. It has no lock, which a child of
    fork() might find held."""

    def __init__(self, callbacks: Callbacks) -> None:
        self._callbacks = callbacks
        self._told: dict[str, EndedCall] = {}
        self._functions: deque[Callable[[], object]] = deque()
        self._waiting: deque[threading.Event] = deque()
        self.stopped = False  # by this side, which has no use for what still comes

    @property
    def outcome(self) -> EndedCall | None:
        """None while the call runs."""
        return self._told.get("outcome")

    def tell(self, outcome: EndedCall) -> EndedCall:
        """Says how the call ended. Returns what was told first."""
        known = self._told.setdefault("outcome", outcome)
        self._pass_on()
        return known

    def stop(self, outcome: EndedCall) -> bool:
        """Ends the call from this side. False: it has ended before."""
        if self._told.setdefault("outcome", outcome) is not outcome:
            return False
        self.stopped = True
        self._pass_on()
        return True

    def when_over(self, function: Callable[[], object]) -> None:
        """Has a function called on a thread that may block."""
        self._functions.append(function)
        if self.outcome is not None:
            self._pass_on()

    def wait(self, timeout: float | None) -> EndedCall:
        """Waits for the end, at most for so many seconds. Raises grpc.FutureTimeoutError."""
        over = threading.Event()
        self._waiting.append(over)
        try:
            if self.outcome is None:
                over.wait(timeout)
        finally:
            with suppress(ValueError):
                self._waiting.remove(over)
        if self.outcome is None:
            raise grpc.FutureTimeoutError
        return self.outcome

    def _pass_on(self) -> None:
        with suppress(IndexError):
            while True:
                self._waiting.popleft().set()
        with suppress(IndexError):
            while True:
                self._callbacks.call(self._functions.popleft())


class RunningCall(grpc.Call, Future):
    """A call that goes on while its caller does something else. Used from any thread."""

    def __init__(self, ending: Ending, until: int | None) -> None:
        self._ending = ending
        self._until = until

    def _end(self, timeout: float | None = None) -> EndedCall:
        """Waits for the end, at most for so many seconds. Raises grpc.FutureTimeoutError."""
        raise NotImplementedError

    def _give_up(self) -> None:
        """Has the call end, of which nothing is wanted any more. Does not wait."""
        raise NotImplementedError

    def _watch(self) -> None:
        """Sees to it that the end is told although nobody waits for it."""

    # grpc.Call.

    def initial_metadata(self) -> Any:
        return self._end().initial_metadata()

    def trailing_metadata(self) -> Any:
        return self._end().trailing_metadata()

    def code(self) -> grpc.StatusCode:
        return self._end().code()

    def details(self) -> str:
        return self._end().details()

    def debug_error_string(self) -> str:
        return self._end().debug_error_string()

    def is_active(self) -> bool:
        return not self.done()

    def time_remaining(self) -> Any:
        return remaining(self._until)

    def add_callback(self, callback: Callable[[], None]) -> bool:
        if self.done():
            return False
        self._ending.when_over(callback)
        self._watch()
        return True

    # grpc.Future.

    def cancel(self) -> bool:
        """Gives the call up, which tells the server. False: it has ended before. Does not wait, and may be called from
        any thread, that of an event loop too."""
        if not self._ending.stop(cancelled()):
            return False
        self._give_up()
        return True

    def cancelled(self) -> bool:
        outcome = self._ending.outcome
        return outcome is not None and outcome.cancelled()

    def running(self) -> bool:
        return not self.done()

    def done(self) -> bool:
        return self._ending.outcome is not None

    def result(self, timeout: float | None = None) -> Any:
        return self._end(timeout).result()

    def exception(self, timeout: float | None = None) -> Exception | None:
        return self._end(timeout).exception()

    def traceback(self, timeout: float | None = None) -> TracebackType | None:
        return self._end(timeout).traceback()

    def add_done_callback(self, fn: Callable[[Any], Any]) -> None:
        """Calls a function with this call when it is over: at once if it is, else on a thread of the channel, where it
        may block and make calls."""
        if self.done():
            fn(self)
            return
        self._ending.when_over(partial(fn, self))
        self._watch()

    def __repr__(self) -> str:
        outcome = self._ending.outcome
        return f"<{type(self).__name__} {'running' if outcome is None else outcome.code().name}>"
