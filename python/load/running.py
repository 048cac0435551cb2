"""A whole run: callers are made, warm up, and are measured."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence

from . import closed, opened
from .result import Result
from .window import Config, Failed, Window

AsyncCall = Callable[[], Awaitable[None]]
BlockingCall = Callable[[], None]


async def run_async(config: Config, calls: Sequence[AsyncCall]) -> Result:
    """Runs each call function in a task of its own, one for each caller. Raises Failed if the warm-up fails."""
    if config.warmup:
        warm = Window(config.warmup_calls, config.warmup)
        await _together(warm, [closed.async_caller(warm, call) for call in calls])
        _check(warm)
    window = _measured(config)
    if not config.rate:
        await _together(window, [closed.async_caller(window, call) for call in calls])
        return Result.of(window)
    alarm = opened.Alarm()
    try:
        await _together(window, [opened.async_caller(window, call, config.rate, alarm) for call in calls])
    finally:
        alarm.close()
    return Result.of(window)


async def _together(window: Window, callers: Sequence[Awaitable[None]]) -> None:
    window.begin()
    await asyncio.gather(*callers)
    window.end()


def run_threads(config: Config, calls: Sequence[BlockingCall]) -> Result:
    """Runs each call function in a thread of its own, one for each caller. Raises Failed if the warm-up fails."""
    if config.warmup:
        warm = Window(config.warmup_calls, config.warmup)
        _in_threads(warm, calls, lambda call: closed.blocking_caller(warm, call))
        _check(warm)
    window = _measured(config)
    if config.rate:
        _in_threads(window, calls, lambda call: opened.blocking_caller(window, call, config.rate))
    else:
        _in_threads(window, calls, lambda call: closed.blocking_caller(window, call))
    return Result.of(window)


def _in_threads(window: Window, calls: Sequence[BlockingCall], caller: Callable[[BlockingCall], None]) -> None:
    # The threads stand ready before the clock starts.
    gate = threading.Barrier(len(calls), action=window.begin)

    def run(call: BlockingCall) -> None:
        gate.wait()
        caller(call)

    threads = [threading.Thread(target=run, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    window.end()


def _measured(config: Config) -> Window:
    if config.rate and config.duration:
        # All calls that are due in that time are made, however long it takes.
        return Window(max(int(config.rate * config.duration), 1), 0.0)
    return Window(config.calls, config.duration)


def _check(warm: Window) -> None:
    if warm.failures:
        error = warm.failures[0]
        raise Failed(f"in the warm-up: {type(error).__name__}: {' '.join(str(error).split())}") from error
