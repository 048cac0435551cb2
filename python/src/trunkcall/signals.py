"""A program that is told to end stops its server: calls that run are answered first."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any


@contextlib.asynccontextmanager
async def stopping_on_signals(
    wanted: bool | None, stop: Callable[[], Coroutine[Any, Any, Any]], close: Callable[[], Coroutine[Any, Any, Any]]
) -> AsyncGenerator[None]:
    """Within it the first SIGTERM or SIGINT begins `stop`, the second `close`, and a third does what it did before.
    What was begun has ended behind it. None: only in the main task of `asyncio.run`, and of those signals that the
    program has not said anything of. Raises as `add_signal_handler` if it is wanted."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT) if wanted else _default() if wanted is None else ()
    before = {number: signal.getsignal(number) for number in numbers}
    begun: list[asyncio.Task[Any]] = []

    def restore() -> None:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        before.clear()

    def told() -> None:
        if begun:
            restore()
        begun.append(loop.create_task((close if begun else stop)()))

    try:
        for number in numbers:
            loop.add_signal_handler(number, told)
        yield
    finally:
        restore()
        if begun:
            await asyncio.wait(begun)
            for task in begun:
                task.result()


def _default() -> tuple[int, ...]:
    """Those that do what they do in any program, where this task is all that the program runs."""
    if threading.current_thread() is not threading.main_thread():
        return ()
    of_runner = getattr(signal.getsignal(signal.SIGINT), "keywords", {})  # the handler of asyncio.Runner
    if of_runner.get("main_task") is not asyncio.current_task():
        return ()
    return (signal.SIGINT, *((signal.SIGTERM,) if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL else ()))
