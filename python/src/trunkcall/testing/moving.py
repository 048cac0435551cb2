"""Time that passes when it is told to, in event loops: what the clocks for asyncio and for threads have in common."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from asyncio import _get_running_loop  # without an exception where none runs
from collections.abc import Callable
from functools import partial
from typing import Any

from trunkcall.transport import monotonic

from .seconds import nanoseconds
from .standstill import STANDSTILL, Standstill, watched

PATIENCE = 30.0  # seconds of the system's clock in which an event loop has to come to rest
ROUNDED = 501_000  # ns by which timers may be later than what they are for
_PRIVATE = ("_ready", "_scheduled", "_selector")  # of asyncio's event loops, as old as they are
_SET = ("time", "run_in_executor")  # attributes of the loop, in place of its methods


class Time:
    """One time for several event loops. Stands still until `ns` is set."""

    def __init__(self, standstill: float = STANDSTILL) -> None:
        """Raises TypeError and ValueError for a standstill that is no time."""
        self.standstill = Standstill(standstill)
        self.ns = time.monotonic_ns()
        self.began = self.ns
        self.end = self.ns  # of the last step, or the one that is under way

    def seconds(self) -> float:
        """As an event loop counts."""
        return self.ns / 1e9

    def hold(self, loop: asyncio.AbstractEventLoop, tell: Callable[[], object] = lambda: None) -> Held:
        """Has a loop go by this time; in its thread `tell` is called at a standstill. Raises RuntimeError for one whose
        time cannot be set, or goes by another."""
        return Held(self, loop, tell)

    @property
    def elapsed(self) -> float:
        """Seconds, without what a timer has gone beyond a step."""
        return (min(self.ns, self.end) - self.began) / 1e9

    def step(self, seconds: float) -> int:
        """Begins a step: until when timers go off in it, in ns. Raises TypeError and ValueError for what is no time to
        pass."""
        self.standstill.used()
        self.end += nanoseconds(seconds)
        return self.end + ROUNDED

    def move(self, to: float) -> None:
        self.ns = max(self.ns, int(to))


class Held:
    """An event loop that goes by a Time."""

    def __init__(self, held_by: Time, loop: asyncio.AbstractEventLoop, tell: Callable[[], object]) -> None:
        self.loop: Any = loop
        self._time = held_by
        if not isinstance(loop, asyncio.BaseEventLoop) or any(not hasattr(loop, name) for name in _PRIVATE):
            kind = f"{type(loop).__module__}.{type(loop).__qualname__}"
            raise RuntimeError(f"a test's clock needs an event loop of asyncio's own, and this one is a {kind}")
        with _lock:
            if loop in _held:
                raise RuntimeError("this event loop goes by a clock already")
            _held[loop] = held_by
            monotonic.replace(_nanoseconds)
        self.jobs: set[asyncio.Future[Any]] = set()  # plain functions that run on threads
        self.turns = 0  # in which there was something to do
        self.seen = 0  # of these, by who looks whether it is at rest
        self._run_in_executor = self.loop.run_in_executor
        own: dict[str, Any] = vars(loop)
        self._own = own
        self._before = {name: own[name] for name in _SET if name in own}
        self._slow = self.loop.slow_callback_duration
        self.loop.slow_callback_duration = math.inf  # whoever moves the clock would be told to be slow
        own |= {"time": held_by.seconds, "run_in_executor": self._run}
        selector: Any = own["_selector"]
        self._selector: dict[str, Any] = selector.__dict__
        self._selector["select"] = watched(selector.select, held_by.standstill, self._stir, tell)
        held_by.standstill.loops.append(self)

    def release(self) -> None:
        """The loop goes by the system's clock again."""
        with _lock:
            if _held.pop(self.loop, None) is None:
                return
            if not _held:
                monotonic.replace(None)
        self._time.standstill.loops.remove(self)
        del self._selector["select"]
        for name in _SET:
            del self._own[name]
        self._own.update(self._before)
        self.loop.slow_callback_duration = self._slow

    def _stir(self) -> None:
        self.turns += 1
        self._time.standstill.stir()

    def _run(self, executor: Any, function: Any, *args: Any) -> Any:
        job = self._run_in_executor(executor, partial(_in_time, self._time, function), *args)
        self.jobs.add(job)
        job.add_done_callback(self.jobs.discard)
        return job

    @property
    def ready(self) -> int:
        """How many callbacks are to run now."""
        return len(self.loop._ready)

    @property
    def timers(self) -> list[asyncio.TimerHandle]:
        return [timer for timer in self.loop._scheduled.copy() if not timer.cancelled()]

    @property
    def now(self) -> float:
        """As the loop counts."""
        return self._time.seconds()

    @property
    def due(self) -> float:
        """When the next timer is due, in ns; math.inf without one."""
        moments = [timer.when() for timer in self.timers]
        return math.ceil(min(moments) * 1e9) if moments else math.inf

    async def settle(self) -> bool:
        """Has the loop do what is ready and what becomes ready of that, and waits for plain functions on threads; says
        whether there was anything. Runs in the loop. Raises RuntimeError if it does not come to rest."""
        until = time.monotonic() + PATIENCE
        busy, idle = False, 0
        while idle < 2:  # in the first of two turns another callback may have been ahead of this one
            await asyncio.sleep(0)
            idle = 0 if self.ready or self.jobs else idle + 1
            busy = busy or not idle
            if not idle and time.monotonic() > until:
                raise RuntimeError(f"{self._unrest()} after {PATIENCE:.0f} s")
            if self.jobs and not self.ready:
                await self._wait_for_jobs(until - time.monotonic())
        return busy

    def _unrest(self) -> str:
        if self.jobs:
            advice = "write what outlasts a step of the clock as `async def`"
            return f"the clock waits for plain functions, and {len(self.jobs)} still run on threads ({advice})"
        return "the clock waits for the event loop to come to rest, and it still has something to do"

    async def _wait_for_jobs(self, seconds: float) -> None:
        """Until one of them has ended, by the system's clock."""
        over = self.loop.create_future()
        timer = threading.Timer(max(seconds, 0), self._tell, [over])
        timer.daemon = True
        timer.start()
        try:
            await asyncio.wait([over, *self.jobs], return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            over.cancel()

    def _tell(self, over: asyncio.Future[None]) -> None:
        def end() -> None:
            if not over.done():
                over.set_result(None)

        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(end)


_lock = threading.Lock()
_thread = threading.local()  # `time`: that a plain function goes by
_held: dict[asyncio.AbstractEventLoop, Time] = {}


def _in_time(by: Time, function: Callable[..., Any], *args: Any) -> Any:
    """Runs a plain function by the time of the loop that waits for it."""
    before = getattr(_thread, "time", None)
    _thread.time = by
    try:
        return function(*args)
    finally:
        _thread.time = before


def _nanoseconds() -> int:
    """By the clock of the running loop. In a plain handler by the clock of its server's loop, in other threads by the
    only clock that there is."""
    loop = _get_running_loop()
    if loop is None:
        by = getattr(_thread, "time", None)
        if by is not None:
            return int(by.ns)
        clocks = set(_held.copy().values())  # which other threads may exchange
        return clocks.pop().ns if len(clocks) == 1 else time.monotonic_ns()
    found = _held.get(loop)
    return time.monotonic_ns() if found is None else found.ns
