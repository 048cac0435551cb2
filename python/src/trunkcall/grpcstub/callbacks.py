"""Functions of users that are told of a call's end, or of a channel's state: on a thread that may block."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue

logger = logging.getLogger("trunkcall")

IDLE = 1.0  # seconds without a function to call, after which the thread ends


class Callbacks:
    """Calls functions one after the other, on a daemon thread that is there while there are any. Used from any thread,
    under the lock of a client too: it waits for nothing."""

    def __init__(self) -> None:
        self._renew()
        _all.add(self)

    def _renew(self) -> None:
        """At first, and in a child of fork(), where the thread is not."""
        self._due: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._lock = threading.RLock()  # whether there is a thread; the handler of a signal may come in between
        self._running = False

    def call(self, function: Callable[[], object]) -> None:
        """Has a function called. What it raises is logged."""
        self._due.put(function)
        with self._lock:
            if self._running:
                return
            self._running = True
        try:
            threading.Thread(target=self._run, name="trunkcall callbacks", daemon=True).start()
        except RuntimeError:  # there are too many threads: the next call tries again
            self._running = False
            raise

    def _run(self) -> None:
        while True:
            try:
                function = self._due.get(timeout=IDLE)
            except Empty:
                with self._lock:
                    if self._due.empty():
                        self._running = False
                        return
                continue
            try:
                function()
            except BaseException:  # the thread would end, and the functions behind this one with it
                logger.exception("a callback of a stub's call or channel raised an exception")
            del function  # which may hold the call


_all: weakref.WeakSet[Callbacks] = weakref.WeakSet()


def _after_fork() -> None:
    for callbacks in list(_all):
        callbacks._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
