"""What the threads of a blocking client wait with: a coroutine that one carries out, and a call without one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trunkcall.method import Method

from .loop import Loop

if TYPE_CHECKING:
    from trunkcall.calling import Calls
    from trunkcall.transport import Connection
    from trunkcall.wire import OutgoingCall

    from .driver import Driver


class Work:
    """A coroutine that a thread carries out. To asyncio it is the current task, as `asyncio.timeout` needs one."""

    __slots__ = ("__weakref__", "_cancelling", "cancelled", "loop", "waits_for")

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.waits_for: asyncio.Future[Any] | None = None
        self.cancelled = False  # the coroutine is to be told
        self._cancelling = 0

    def cancel(self, msg: Any = None) -> bool:
        self._cancelling += 1
        if self.waits_for is None or not self.waits_for.cancel(msg):
            self.cancelled = True
        return True

    def cancelling(self) -> int:
        return self._cancelling

    def uncancel(self) -> int:
        self._cancelling = max(self._cancelling - 1, 0)
        if not self._cancelling:
            self.cancelled = False
        return self._cancelling

    def done(self) -> bool:
        return False

    def get_loop(self) -> Loop:
        return self.loop

    def get_name(self) -> str:
        return threading.current_thread().name


class Answer:
    """A plain unary call, and what its thread waits for, without a coroutine: the end of the call. Used under the
    lock."""

    __slots__ = (
        "_callback",
        "_codec",
        "_data",
        "_deadline",
        "_done",
        "_driver",
        "_method",
        "_policy",
        "begun",
        "failed",
        "left",
        "sleeping",
        "sleeps_on",
    )

    sleeps_on: threading.Lock  # of a thread that hands the call over: released when it is to go on

    def __init__(
        self, driver: Driver, policy: Calls, method: Method[Any, Any], data: bytes, codec: int, deadline: int
    ) -> None:
        self._driver = driver
        self._policy, self._method, self._data, self._codec, self._deadline = policy, method, data, codec, deadline
        self._done = False
        self._callback: Callable[[object], object] | None = None
        self.begun: tuple[OutgoingCall, Connection] | None = None
        self.failed: BaseException | None = None  # the opening did
        self.sleeping: threading.Lock | None = None  # of the thread, while it follows
        self.left = False  # the thread was woken and has no more to do with the driver

    def open(self) -> bool:
        """Opens the call. False: it cannot be opened so, or its opening failed, or it has ended already."""
        try:
            self.begun = self._policy._open_quickly(self._method, self._data, self._codec, self._deadline, self)
        except BaseException as error:  # perhaps in another thread than that of the call
            self.failed = error
        return self.begun is not None and not self._done

    def done(self) -> bool:
        return self._done

    def set_result(self, result: None) -> None:
        """The call has ended, as its session says."""
        self._done = True
        if self._callback is not None:
            self._callback(self)
        elif self.sleeping is not None:
            self._driver.wake_for_good(self, self.sleeping)

    def add_done_callback(self, callback: Callable[[object], object]) -> None:
        self._callback = callback

    def remove_done_callback(self, callback: Callable[[object], object]) -> None:
        self._callback = None


Awaited = asyncio.Future[Any] | Answer
