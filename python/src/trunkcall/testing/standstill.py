"""Notices that all loops of a clock wait for it, and says for what: otherwise a test would wait for ever."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .seconds import nanoseconds

if TYPE_CHECKING:
    from .moving import Held

STANDSTILL = 5.0  # seconds of the system's clock
_TOLD = 5  # timers


class Standstill:
    """What the loops of one clock have in common. Any thread may use it."""

    LONGER = 60.0  # seconds of the system's clock, where plain functions run, or another thread may move the clock

    def __init__(self, seconds: float) -> None:
        """Raises TypeError and ValueError for what is no time."""
        if seconds != math.inf and nanoseconds(seconds) == 0:
            raise ValueError("want a time above 0 s to stand still for, or math.inf")
        self._seconds = seconds
        self._stirred = time.monotonic()
        self._owner = threading.get_ident()
        self.loops: list[Held] = []

    def used(self) -> None:
        """The clock was: by the thread that will move it again, as is assumed."""
        self._owner = threading.get_ident()
        self.stir()

    def stir(self) -> None:
        """Something was done, or has come."""
        self._stirred = time.monotonic()

    @property
    def pause(self) -> float:
        """Seconds between two looks."""
        return min(self._seconds, self.LONGER) / 4

    @property
    def reached(self) -> bool:
        """Whether nothing has happened for so long, and there are timers. A thread that has never moved the clock has
        more patience: another may be about to."""
        loops = self.loops.copy()
        others = self._owner != threading.get_ident() or any(held.jobs for held in loops)
        patience = max(self._seconds, self.LONGER) if others else self._seconds
        still = time.monotonic() - self._stirred
        return still >= patience and any(held.due < math.inf for held in loops)

    def words(self, advice: str) -> str:
        timers = [(timer, held) for held in self.loops.copy() for timer in held.timers]
        timers.sort(key=lambda each: each[0].when())
        told = [f"  in {timer.when() - held.now:.3f} s: {_of(timer, held.loop)}" for timer, held in timers[:_TOLD]]
        if len(timers) > _TOLD:
            told.append(f"  and {len(timers) - _TOLD} later ones")
        still = (
            f"the test's clock stands still, and for {time.monotonic() - self._stirred:.0f} s nothing else has happened"
        )
        return "\n".join([f"{still}: {advice}. Timers that wait for it:", *told])


def watched(
    select: Callable[[float | None], list[Any]],
    watch: Standstill,
    stir: Callable[[], object],
    tell: Callable[[], object],
) -> Any:
    """The method of a loop's selector, which calls `stir` where the loop has something to do, and `tell` at a
    standstill, in the loop's thread."""

    def selecting(timeout: float | None = None) -> list[Any]:
        if timeout is not None and timeout <= 0:
            stir()
            return select(timeout)
        found = select(watch.pause if timeout is None else min(timeout, watch.pause))
        if found:
            stir()
        elif watch.reached:
            tell()
        return found

    return selecting


def _of(timer: asyncio.TimerHandle, loop: asyncio.AbstractEventLoop) -> str:
    """Whose it is: a task's place in its code, or a function."""
    known: Any = timer
    callback, args = known._callback, known._args or ()
    for task in asyncio.all_tasks(loop):
        waiter = getattr(task, "_fut_waiter", None)
        if waiter is not None and any(waiter is one for one in args):
            return f"{task.get_name()} at {_place(task)}"
    owner = getattr(callback, "__self__", None)
    timed: asyncio.Task[Any] | None = getattr(owner, "_task", None)
    if isinstance(owner, asyncio.Timeout) and timed is not None:
        return f"{type(owner).__name__} of {timed.get_name()} at {_place(timed)}"
    return getattr(callback, "__qualname__", None) or repr(callback)


def _place(task: asyncio.Task[Any]) -> str:
    """Where it waits, in the code nearest to the user's: the innermost function that is not asyncio's."""
    at: Any = task.get_coro()
    place = getattr(at, "__qualname__", repr(at))
    while at is not None:
        frame = getattr(at, "cr_frame", None) or getattr(at, "gi_frame", None)
        if frame is not None and not frame.f_code.co_filename.startswith(_ASYNCIO):
            place = f"{frame.f_code.co_filename}:{frame.f_lineno}, in {frame.f_code.co_qualname}"
        at = getattr(at, "cr_await", None) or getattr(at, "gi_yieldfrom", None)
    return place


_ASYNCIO = asyncio.__file__.removesuffix("__init__.py")
