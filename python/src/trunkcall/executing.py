"""Plain functions on threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")


class NotStarted(Exception):
    """The time of a call ran out before its handler was started."""


def outcome(function: Callable[..., T], *args: Any) -> T:
    """What a function returns or raises, on a thread, for a future to tell of. StopIteration would leave the future
    without an end, and SystemExit would end the event loop with all that is on it: both become RuntimeError."""
    try:
        return function(*args)
    except (StopIteration, SystemExit) as error:
        raise RuntimeError(f"a plain function raised {error!r}") from error


async def in_executor(executor: Executor | None, function: Callable[..., Any], *args: Any) -> Any:
    """Runs a function on a thread, in a copy of the context, and waits for it to return even when cancelled: it runs
    and counts until then. Cancelled before a thread was free for it, it does not begin."""
    loop = asyncio.get_running_loop()
    context = copy_context()
    cancelled: asyncio.CancelledError | None = None

    def begin() -> Any:
        return None if cancelled is not None else context.run(outcome, function, *args)

    running = loop.run_in_executor(executor, begin)
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not running.cancelled():
            running.exception()  # seen: nobody else asks for it
        raise cancelled
    return running.result()
