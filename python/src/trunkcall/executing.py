"""Plain functions on threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from contextvars import copy_context
from typing import Any


async def in_executor(executor: Executor | None, function: Callable[..., Any], *args: Any) -> Any:
    """Runs a function on a thread, in a copy of the context, and waits for it to return even when cancelled: it runs
    and counts until then."""
    loop = asyncio.get_running_loop()
    context = copy_context()
    running = loop.run_in_executor(executor, lambda: context.run(function, *args))
    cancelled: asyncio.CancelledError | None = None
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
