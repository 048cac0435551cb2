"""What a call knows of the handler that makes it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from .checking import check_call_timeout
from .transport import clock

if TYPE_CHECKING:
    from .servercall import ServerCall

current: ContextVar[ServerCall | None] = ContextVar("trunkcall_current", default=None)


def current_call() -> ServerCall | None:
    """The call that the running handler serves; None outside of handlers. Tasks that a handler starts inherit it."""
    return current.get()


def ends_at(timeout: float | None) -> int | None:
    """When a timeout that begins now is over, in µs of `clock`."""
    return None if timeout is None else clock() + int(min(timeout, 1e9) * 1e6)


def remaining(until: int | None) -> float | None:
    """Seconds until then, 0 once it has passed."""
    return None if until is None else max((until - clock()) / 1e6, 0.0)


def own_timeout(timeout: float | None, deadline: int) -> float | None:
    """The timeout of a call with that deadline; None if it was not what set it."""
    parent = current.get()
    return None if parent is not None and parent._deadline == deadline else timeout


def deadline_of(timeout: float | None) -> int:
    """When a call made now has to end, in µs of `clock`; 0: never; 1: it had no time. A handler's own deadline is
    forwarded. Raises TypeError, ValueError."""
    parent = current.get()
    inherited = parent._deadline if parent is not None else 0
    if timeout is None:
        return inherited
    if type(timeout) is not float or timeout != timeout:
        check_call_timeout(timeout)
    if timeout > 1e9:
        return inherited
    deadline = max(clock() + int(timeout * 1e6), 1) if timeout > 0 else 1
    return min(deadline, inherited) if inherited else deadline
