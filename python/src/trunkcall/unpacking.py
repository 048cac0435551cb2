"""Large messages are compressed and decompressed on threads, so that the event loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future, ThreadPoolExecutor

from .executing import outcome

TURNS = max(os.cpu_count() or 1, 2)  # messages at once, in the process (limits.md 2)


class _Threads:
    """The threads of the process, and the turns that messages take. A turn is held until what it gave was used."""

    def __init__(self) -> None:
        self.turns = threading.BoundedSemaphore(TURNS)
        self.pool = ThreadPoolExecutor(TURNS, "trunkcall-unpacking")  # which starts them when they are needed

    def work(self, function: Callable[[], bytes]) -> bytes:
        self.turns.acquire()
        try:
            return outcome(function)
        except BaseException:
            self.turns.release()
            raise

    def give_back(self, work: Future[bytes]) -> None:
        """Of a message that nobody wants any more."""
        if not work.cancelled() and work.exception() is None:
            self.turns.release()


_threads = _Threads()


def _forked() -> None:
    global _threads
    _threads = _Threads()  # the threads of the other process are not here


os.register_at_fork(after_in_child=_forked)


@contextlib.asynccontextmanager
async def on_a_thread(function: Callable[[], bytes]) -> AsyncGenerator[bytes]:
    """What `function` returns, to be used within."""
    threads = _threads
    work = threads.pool.submit(threads.work, function)
    try:
        message = await asyncio.wrap_future(work)
    except asyncio.CancelledError:
        work.add_done_callback(threads.give_back)
        raise
    try:
        yield message
    finally:
        threads.turns.release()
