"""A program that is told to end stops its server: calls that run are answered first."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from types import FrameType
from typing import Any


class Stopped(RuntimeError):
    """What needs a server that has not been stopped was begun, or under way."""


@contextlib.asynccontextmanager
async def stopping_on_signals(
    wanted: bool | None, stop: Callable[[], Coroutine[Any, Any, Any]], close: Callable[[], Coroutine[Any, Any, Any]]
) -> AsyncGenerator[None]:
    """Within it the first SIGTERM or SIGINT begins `stop`, the second `close`, and a third does what it did before.
    What was begun has ended behind it; that the server was stopped by it while it began to listen is no error. None:
    only in the main task of `asyncio.run`, and of those signals that the program has not said anything of. Raises as
    `add_signal_handler` if it is wanted."""
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
    except Stopped:
        if not begun:
            raise
    finally:
        restore()
        if begun:
            await asyncio.wait(begun)
            for task in begun:
                task.result()


def _default() -> tuple[int, ...]:
    """Those that do what they do in any program, where this task is all that the program runs."""
    if threading.current_thread() is not threading.main_thread() or not _is_main():
        return ()
    of_runner = "main_task" in getattr(signal.getsignal(signal.SIGINT), "keywords", {})  # asyncio.Runner's handler
    default = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    return (*((signal.SIGINT,) if of_runner else ()), *((signal.SIGTERM,) if default else ()))


def _is_main() -> bool:
    """Whether the current task is what `asyncio.run` runs. Its runner tells nobody but its handler of SIGINT, and has
    none where that is ignored, as it is in what a shell without a terminal has put into the background."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and (frame.f_globals.get("__name__"), frame.f_code.co_name) != ("asyncio.runners", "run"):
        frame = frame.f_back
    return frame is not None and frame.f_locals.get("task") is asyncio.current_task()


@contextlib.contextmanager
def telling_of_signals(wanted: bool | None, tell: Callable[[], None]) -> Generator[None]:
    """The same for a thread that blocks: within it `tell` is called for the first two signals. None: only in the main
    thread, and of those that the program has not said anything of. Raises ValueError if it is wanted in another."""
    numbers: tuple[int, ...] = (signal.SIGTERM, signal.SIGINT) if wanted else ()
    if wanted is None and threading.current_thread() is threading.main_thread():
        unchanged = {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
        numbers = tuple(number for number, handler in unchanged.items() if signal.getsignal(number) is handler)
    before = {number: signal.getsignal(number) for number in numbers}
    count = 0

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        before.clear()

    def told(*_: object) -> None:
        nonlocal count
        count += 1
        if count > 1:
            restore()
        tell()

    try:
        for number in numbers:
            signal.signal(number, told)
        yield
    finally:
        restore()
