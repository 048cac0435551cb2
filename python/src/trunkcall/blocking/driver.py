"""What has the threads of a blocking client do the work of its event loop.

Everything a client has is worked on under one lock. A thread that makes a call takes the lock, carries out the call's
coroutine as far as it goes, with what is written to sockets, and then waits for a future (see `turns`).

A thread of the client's own, the helper, leads where nobody has for a while: for keepalive, connecting, resolvers, and
what servers call. It ends its leading as soon as another thread waits.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from asyncio import _enter_task, _leave_task, _set_running_loop  # for loops and tasks of others
from collections.abc import Coroutine, Generator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, TypeVar, cast

from .interrupts import INTERRUPTS, Interrupts, of_this_thread
from .turns import FRESH, Turns
from .waiting import Work

T = TypeVar("T")

PAUSE = 0.05  # seconds without a leader, after which the helper leads


class Driver(Turns):
    """The loop of one client, its lock, and the threads that wait. What begins with an underscore needs the lock."""

    def __init__(self) -> None:
        super().__init__()
        self.openings: list[Coroutine[Any, Any, None]] = []  # of a stream that is being made, for its thread
        self._outside = 0  # of these, threads in functions of users
        self._helper: threading.Thread | None = None
        self._nudge = threading.Lock()  # released to have the helper look
        self._started = 0  # coroutines that no thread carries out
        self._forsaken: Coroutine[Any, Any, None] | None = None  # closes the client, which nobody can use any more
        _drivers.add(self)

    # The coroutines of calls.

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Carries out a coroutine in this thread. Raises what it raises, and RuntimeError where it must not be run."""
        try:
            interrupts = self.enter()
        except BaseException:
            work.close()
            raise
        try:
            return self._carry_out(work, interrupts)
        finally:
            self.leave(interrupts)

    @contextmanager
    def inside(self) -> Generator[None]:
        """Under the lock, for what does not wait."""
        interrupts = self.enter()
        try:
            yield
        finally:
            self.leave(interrupts)

    @contextmanager
    def outside(self) -> Generator[None]:
        """Without the lock, within a coroutine that a thread carries out: for functions of users, which may block."""
        task: Any = asyncio.current_task(self.loop)  # a Work: interceptors are carried out by threads only
        _leave_task(self.loop, task)
        interrupts = of_this_thread()
        if interrupts is not None and not interrupts.held:
            interrupts = None
        try:
            self._outside += 1
            self._let_go()
            if interrupts is not None:
                interrupts.release()
            yield
        finally:
            if interrupts is not None:
                interrupts.hold()
            self._take()
            self._outside -= 1
            _enter_task(self.loop, task)

    @property
    def at_work(self) -> bool:
        """Whether another thread is in a call and does not wait, but for those in functions of users. Used under the
        lock."""
        waiting = len(self._followers) + self._sleeps + self._started + self._outside
        return self._users - 1 > waiting

    @property
    def _sleeps(self) -> bool:
        """Whether a thread leads, and has nothing to do but to wait for sockets and timers."""
        return self.loop.selector.asleep and not (self._awaited is not None and self._awaited.done())

    @property
    def awaits(self) -> bool:
        """Whether the thread that turns the loop waits for something of its own. Used by that thread."""
        return self._awaited is not None and not self.loop.selector.impatient and not self.loop.selector.silent

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Has a coroutine carried out by whichever thread leads. Used under the lock."""
        task = self.loop.create_task(work)
        self._started += 1
        self._users += 1
        task.add_done_callback(self._ended)
        self._look()
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._started -= 1
        self._users -= 1

    def _carry_out(self, work: Coroutine[Any, Any, T], interrupts: Interrupts | None) -> T:
        loop, task = self.loop, Work(self.loop)
        known: Any = task  # to asyncio it is a task of somebody else's making
        broken_off: BaseException | None = None  # by the handler of a signal
        while True:
            _enter_task(loop, known)
            try:
                if task.cancelled:
                    task.cancelled = False
                    future: Any = work.throw(asyncio.CancelledError())
                else:
                    future = work.send(None)
            except StopIteration as end:
                if broken_off is not None:
                    raise broken_off from None
                return cast(T, end.value)
            except asyncio.CancelledError:
                if broken_off is not None:
                    raise broken_off from None
                raise
            finally:
                _leave_task(loop, known)
            if future is None:  # others are to have their turn
                try:
                    self._let_go()
                finally:
                    self._take()
                continue
            future._asyncio_future_blocking = False
            task.waits_for = future
            if task.cancelled and future.cancel():
                task.cancelled = False
            try:
                self._wait(future, interrupts)
            except BaseException as error:
                broken_off = error
                task.cancel()
            task.waits_for = None

    # The helper.

    def _look_after(self) -> None:
        if self._helper is not None:
            return
        self._nudge.acquire(blocking=False)
        self._helper = threading.Thread(target=_help, args=(self,), name="trunkcall", daemon=True)
        with suppress(RuntimeError):  # the interpreter shuts down: whoever waits does all the work
            self._helper.start()

    def help(self) -> bool:
        """Leads for as long as nobody else waits, if nobody has led since the last look. False: the client is closed.
        Runs in the helper's thread."""
        before = self._times
        self._nudge.acquire(timeout=FRESH if self._started else PAUSE)
        self.lock.acquire()
        if self.abandoned:
            self.lock.release()
            return False
        _set_running_loop(self.loop)
        self._users += 1
        try:
            if not (self._leads or self._followers or self._over or self._times != before):
                self._leads = True
                self.loop.woken()
                try:
                    while not (self._followers or self._over):
                        self.loop.turn()
                        self.loop.woken()
                finally:
                    self._leads = False
                    self._looked = monotonic()
            return not self._over
        finally:
            self._users -= 1
            self._let_go()

    @property
    def _over(self) -> bool:
        return self.closed or self._forsaken is not None

    def end_forsaken(self) -> None:
        """Closes a client that nobody can use any more, in the helper's thread."""
        if self._forsaken is not None and not self.abandoned:
            self.run(self._forsaken)
            self.close()

    @property
    def used(self) -> bool:
        """Whether anything was done."""
        return self._helper is not None

    # The end.

    def close(self) -> None:
        """The loop is closed by the last thread that has to do with it. Nothing runs on it any more."""
        with self.inside():
            self.closed = True
            if self.loop.selector.asleep:
                self.loop.wake()
        self._look()
        helper = self._helper
        if helper is not None and helper.is_alive() and helper is not threading.current_thread():
            helper.join()

    def forsake(self, closing: Coroutine[Any, Any, None]) -> None:
        """Has the helper close the client. May be called wherever objects are collected: takes no lock."""
        self._forsaken = closing
        self._look()
        with suppress(RuntimeError):  # it is closed
            self.loop.wake()

    def _look(self) -> None:
        """Has the helper look now."""
        with suppress(RuntimeError):  # it was told
            self._nudge.release()

    def abandon(self) -> None:
        """For a child of fork(): what the parent goes on using is let go of without a word to anybody. Descriptors are
        closed by putting others in their place, so that nothing here closes them again once they are another's."""
        self.abandoned = True
        self.lock = threading.Lock()
        _inherited.append(self)
        nothing = os.open(os.devnull, os.O_RDWR)
        try:
            for one in self.loop.sockets:
                if one >= 0:
                    os.dup2(nothing, one, inheritable=False)
        finally:
            os.close(nothing)


_inherited: list[Driver] = []  # kept, so that nothing in it is closed by being collected
_drivers: weakref.WeakSet[Driver] = weakref.WeakSet()


def _help(driver: Driver) -> None:
    helping = True
    while helping:
        with suppress(SystemExit, KeyboardInterrupt):  # of a function of users: nothing would replace this thread
            helping = driver.help()
    driver.end_forsaken()


def _after_fork() -> None:
    for driver in list(_drivers):
        driver.abandon()
    INTERRUPTS.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
