"""Whose turn it is to work on what a blocking client has: its lock, and its threads that lead, follow, and hand over.

A thread that calls takes the lock, works, and waits for a future or the end of a call. If no other thread waits, it
*leads*: it turns the loop until that has come, and lets go of the lock while it waits for sockets. Otherwise it
*follows*: it sleeps until that has come or the leader has what it waits for, and hands the leading over.

A plain unary call needs no coroutine. Where another thread has the lock, its thread leaves it in a queue and sleeps:
whoever releases the lock opens and writes all calls that are there. Once woken, it has nothing more to do here.
"""

from __future__ import annotations

import sys
import threading
from asyncio import _get_running_loop, _set_running_loop
from collections import deque
from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from .interrupts import Interrupts, of_this_thread
from .loop import Loop

if TYPE_CHECKING:
    from trunkcall.transport import Connection

    from .waiting import Answer, Awaited

FRESH = 0.001  # seconds without a leader, after which a call looks first at what has come: it may be a farewell
MISSED = 1.0  # seconds of one wait where handlers of signals are called: one that comes just before it ends no wait
IN_A_LOOP = (
    "a blocking call in the thread of an event loop would stop all its tasks: use trunkcall.Client, whose calls are "
    "awaited, or for stubs trunkcall.grpcstub.aio; or run this on a thread with `await asyncio.to_thread(…)`"
)
FROM_WITHIN = (
    "a blocking call from within the work of its own client, such as an observer, a balancer or an inline handler, "
    "would wait for itself: leave it to another thread"
)
FINALIZING = "the interpreter is shutting down, and its threads are stopped: make calls before, at the latest in atexit"


class Abandoned(Exception):
    """The process was forked: what was opened before it is the parent's."""


class Turns:
    """What begins with an underscore needs the lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._handed: deque[Answer] = deque()  # calls whose threads found the lock taken; appended to without it
        self.loop = Loop(self.lock, self._handed, self._open_handed)
        self.abandoned = False
        self.closed = False
        self._users: int = 0  # threads at work here, whether they wait or not, and what was started
        self._leads = False  # a thread does
        self._awaited: Awaited | None = None  # by the leader
        self._woken = 0  # threads whose calls have ended, since one last wrote
        self._looked = 0.0  # when a thread last ended its leading
        self._times = 0  # that a thread has begun to lead
        self._followers: dict[threading.Lock, None] = {}  # each sleeps until its own is released

    def _look_after(self) -> None:
        """Sees to it that somebody leads where no thread waits for long."""
        raise NotImplementedError

    # Plain unary calls.

    def call(self, answer: Answer) -> None:
        """Opens a call and waits for its end; `answer.begun` tells whether it could be opened. Raises what the handler
        of a signal raises, and RuntimeError where calls must not be made."""
        interrupts, left = None, False
        hand_over = self.lock.locked() and of_this_thread() is None
        if hand_over:
            self._check_thread()
        else:
            interrupts = self.enter()
        try:
            if hand_over:
                left = self._hand_over(answer)
            elif answer.open() and answer.begun is not None:
                self._write(answer.begun[1])
            if not left and answer.begun is not None:
                left = self._await_answer(answer, interrupts)
        except BaseException:
            if answer.begun is not None:
                answer.begun[1].give_up(answer.begun[0])
            raise
        finally:
            if not left:
                self.leave(interrupts)

    def _write(self, connection: Connection) -> None:
        """Writes a call that was opened. If several threads were woken just now, they first get the interpreter's lock:
        what they call next leaves with the same write."""
        if self._woken > 1:
            sleep(0)
        self._woken = 0
        if self._handed:
            self._open_handed(connection)
        else:
            connection.flush()

    def _hand_over(self, answer: Answer) -> bool:
        """Leaves a call to the thread that has the lock, and sleeps. True: it is over, or was not opened. False: this
        thread is to lead, and has the lock."""
        sleeping = answer.sleeps_on = threading.Lock()
        sleeping.acquire()
        self._handed.append(answer)
        # Who has the lock looks there after releasing it, too. So either that thread sees the call, or this one gets
        # the lock.
        held = self.lock.acquire(blocking=False)
        if held:
            _set_running_loop(self.loop)
        return self._sleep(answer, sleeping, held)

    def _sleep(self, answer: Answer, sleeping: threading.Lock, held: bool) -> bool:
        """Lets go of the lock, if it is held, and sleeps. True: the call is over, or was not opened. False: this thread
        is to lead, and has the lock, as when it raises."""
        try:
            if held:
                self._let_go()
            sleeping.acquire()
        except BaseException:
            self._take()
            if answer.left or answer in self._handed:
                self._users += 1  # which leaves now
            with suppress(ValueError):
                self._handed.remove(answer)
            self._followers.pop(sleeping, None)
            answer.sleeping = None
            raise
        if answer.left:
            return True
        self._take()
        answer.sleeping = None
        return False

    def _open_handed(self, connection: Connection | None = None) -> bool:
        """Opens the calls that were handed over, and writes them together, with what is to be written to `connection`.
        Whether the loop has something to do now."""
        handed = self._handed
        connections = {} if connection is None else {connection: None}
        while handed:
            answer = handed.popleft()
            sleeping = answer.sleeps_on
            if answer.open() and answer.begun is not None:
                answer.sleeping = sleeping
                self._followers[sleeping] = None
                self._users += 1
                connections[answer.begun[1]] = None
            else:
                answer.left = True
                sleeping.release()
        for connection in connections:
            try:
                connection.flush()
            except Exception as error:
                self.loop.call_exception_handler({"message": "calls were not written", "exception": error})
        return self.loop.busy

    def _await_answer(self, answer: Answer, interrupts: Interrupts | None) -> bool:
        """Waits for the end of a call that was opened, under the lock. True: it has left already. Raises what the
        handler of a signal raises, with the lock."""
        if interrupts is not None:
            self._wait(answer, interrupts)
            return False
        followers = self._followers
        while not answer.done():
            if not self._leads:
                self._lead(answer, None)
                continue
            sleeping = answer.sleeping = threading.Lock()
            sleeping.acquire()
            followers[sleeping] = None
            if self._sleep(answer, sleeping, held=True):
                return True
        return False

    def wake_for_good(self, answer: Answer, sleeping: threading.Lock) -> None:
        """Wakes the thread of a call that has ended, unless it was woken to lead."""
        if self._followers.pop(sleeping, _NOBODY) is not _NOBODY:
            answer.left = True
            self._users -= 1
            self._woken += 1
            sleeping.release()

    # The lock.

    def _check_thread(self) -> None:
        """Raises RuntimeError where no calls must be made."""
        running = _get_running_loop()
        if running is not None:
            raise RuntimeError(FROM_WITHIN if running is self.loop else IN_A_LOOP)
        if sys.is_finalizing():  # whoever holds the lock, or leads, may never run again
            raise RuntimeError(FINALIZING)

    def enter(self) -> Interrupts | None:
        self._check_thread()
        interrupts = of_this_thread()
        if interrupts is not None and not interrupts.hold():
            interrupts = None
        try:
            self.lock.acquire()
            if self.abandoned:
                self.lock.release()
                raise Abandoned
        except BaseException:
            if interrupts is not None:
                interrupts.release()
            raise
        _set_running_loop(self.loop)
        self._users += 1
        if not self.closed and (self._awaited is None or not self._leads):
            self._look_after()
            if monotonic() - self._looked > FRESH:
                self._looked = monotonic()
                try:
                    self.loop.look()
                except BaseException:  # of work of the loop, such as SystemExit: it is not this call's alone
                    self.leave(interrupts)
                    raise
        return interrupts

    def leave(self, interrupts: Interrupts | None) -> None:
        self._users -= 1
        try:
            self._let_go()
        finally:
            if interrupts is not None:
                interrupts.release()

    def _take(self) -> None:
        self.lock.acquire()
        _set_running_loop(self.loop)

    def _let_go(self) -> None:
        """Releases the lock, once what is ready is done, calls that were handed over are open, and somebody leads if
        somebody waits. Releases it also when it raises, what work of the loop has raised that is no Exception."""
        try:
            self._release()
        finally:
            while self._handed and self.lock.acquire(blocking=False):  # see _hand_over
                _set_running_loop(self.loop)
                self._release()

    def _release(self) -> None:
        loop = self.loop
        try:
            if self._handed:
                self._open_handed()
            loop.settle()
        finally:
            if self._leads:
                if loop.late or (self._awaited is not None and self._awaited.done() and loop.selector.asleep):
                    loop.wake()
            elif self._followers:
                self._wake_one()
            elif self.closed and not self._users:
                loop.close()
            _set_running_loop(None)
            self.lock.release()

    def _wake_one(self) -> None:
        try:
            sleeping, _ = self._followers.popitem()
        except KeyError:
            return  # the handler of a signal has woken it
        sleeping.release()

    # Waiting.

    def _wait(self, future: Awaited, interrupts: Interrupts | None) -> None:
        """Until the future is done. Raises what the handler of a signal raises."""
        self.loop.settle()
        while not future.done():
            if interrupts is not None and interrupts.noted:
                try:
                    self._let_go()
                    interrupts.tell()
                finally:
                    self._take()
            elif self._leads:
                self._follow(future, interrupts)
            else:
                self._lead(future, interrupts)

    def _lead(self, future: Awaited, interrupts: Interrupts | None) -> None:
        loop = self.loop
        self._leads, self._awaited = True, future
        self._times += 1
        if interrupts is not None:
            interrupts.wake, loop.selector.longest = loop.wake, MISSED
        loop.woken()
        try:
            while not future.done():
                if interrupts is not None and interrupts.noted:
                    break
                loop.turn()
                loop.woken()
        finally:
            self._leads, self._awaited, loop.selector.longest = False, None, None
            self._looked = monotonic()
            if interrupts is not None:
                interrupts.wake = None

    def _follow(self, future: Awaited, interrupts: Interrupts | None) -> None:
        sleeping, followers = threading.Lock(), self._followers
        sleeping.acquire()

        def wake(future: object = None) -> None:
            if followers.pop(sleeping, _NOBODY) is not _NOBODY:
                sleeping.release()

        followers[sleeping] = None
        future.add_done_callback(wake)
        if interrupts is not None:
            interrupts.wake = wake
            if interrupts.noted:
                wake()
        try:
            self._let_go()
            while not sleeping.acquire(timeout=-1 if interrupts is None else MISSED):
                pass
        finally:  # the handler of a signal that is not held back may have raised
            self._take()
            if interrupts is not None:
                interrupts.wake = None
            followers.pop(sleeping, None)
            future.remove_done_callback(wake)


_NOBODY: Any = object()
