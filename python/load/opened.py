"""Calls at a fixed rate: latency. Whoever is free takes the next call that nobody has taken, and waits until it is due.

A call that falls due while all callers are busy waits for one of them, and its wait is part of its time. Times that are
due are computed from the start: adding up a rounded interval would drift.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import os
import struct
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable

from .window import Stopped, Window, clock

CLOCK_MONOTONIC = 1


async def async_caller(window: Window, call: Callable[[], Awaitable[None]], rate: float, alarm: Alarm) -> None:
    note, start = window.recorder(), window.start
    while (number := window.take()) < window.total:
        due = start + round(number / rate * 1e9)
        if (early := due - clock()) > 0:
            await alarm.sleep(due, early)
        try:
            await call()
        except Stopped:
            return
        except Exception as error:
            window.failed(error, clock() - due)
        else:
            note(clock() - due)


def blocking_caller(window: Window, call: Callable[[], None], rate: float) -> None:
    note, start = window.recorder(), window.start
    while (number := window.take()) < window.total:
        due = start + round(number / rate * 1e9)
        while (early := due - clock()) > 0:
            time.sleep(early / 1e9)
        try:
            call()
        except Exception as error:
            window.failed(error, clock() - due)
        else:
            note(clock() - due)


class Alarm:
    """Wakes coroutines at times finer than an event loop's timers, which round to a millisecond.

    On Linux by a timer that is a file; elsewhere by the loop's own. Callers of `sleep`
    must come in the order of their times: only the first is timed.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._file = timer_file()
        if self._file is not None:
            self._loop.add_reader(self._file, self._ring)

    async def sleep(self, due: int, early: int) -> None:
        """Returns at the time `due` of `clock`, which is `early` nanoseconds from now."""
        woken: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append((due, woken))
        if len(self._waiting) == 1:
            self._set(early)
        await woken

    def _set(self, early: int) -> None:
        if self._file is None:
            self._loop.call_later(early / 1e9, self._ring)
            return
        set_timer(self._file, early)

    def _ring(self) -> None:
        if self._file is not None:
            with contextlib.suppress(BlockingIOError):  # set again since the loop saw it
                os.read(self._file, 8)
        now = clock()
        while self._waiting and self._waiting[0][0] <= now:
            _, woken = self._waiting.popleft()
            if not woken.done():
                woken.set_result(None)
        if self._waiting:
            self._set(self._waiting[0][0] - now)

    def close(self) -> None:
        if self._file is not None:
            self._loop.remove_reader(self._file)
            os.close(self._file)


def timer_file() -> int | None:
    """A timer's file descriptor, or None where there is no such thing."""
    if sys.platform != "linux":
        return None
    file = int(libc().timerfd_create(CLOCK_MONOTONIC, os.O_NONBLOCK))
    return file if file >= 0 else None


def set_timer(file: int, nanoseconds: int) -> None:
    """Has the file become readable after that time, once."""
    whole, rest = divmod(max(nanoseconds, 1), 1_000_000_000)
    # struct itimerspec: the interval, which is none, and the time.
    if libc().timerfd_settime(file, 0, struct.pack("@llll", 0, 0, whole, rest), None) != 0:
        raise OSError(ctypes.get_errno(), "timerfd_settime")


@functools.cache
def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
