"""Calls back to back: capacity. The end of one call is the start of the next, so the clock is read once per call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from .window import ERROR_PAUSE, Stopped, Window, clock


async def async_caller(window: Window, call: Callable[[], Awaitable[None]]) -> None:
    note, take, total, stop = window.recorder(), window.take, window.total, window.stop
    last = clock()
    while take() < total:
        try:
            await call()
        except Stopped:
            return
        except Exception as error:
            now = clock()
            window.failed(error, now - last)
            if now >= stop:
                return
            await asyncio.sleep(ERROR_PAUSE)
            last = clock()
            continue
        now = clock()
        note(now - last)
        last = now
        if now >= stop:
            return


def blocking_caller(window: Window, call: Callable[[], None]) -> None:
    note, take, total, stop = window.recorder(), window.take, window.total, window.stop
    last = clock()
    while take() < total:
        try:
            call()
        except Exception as error:
            now = clock()
            window.failed(error, now - last)
            if now >= stop:
                return
            time.sleep(ERROR_PAUSE)
            last = clock()
            continue
        now = clock()
        note(now - last)
        last = now
        if now >= stop:
            return
