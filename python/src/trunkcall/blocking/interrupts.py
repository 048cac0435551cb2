"""Ctrl-C in the middle of a call. Python raises KeyboardInterrupt between any two instructions of the main thread, and
the state of a client is that of all threads: while the main thread works on it, the signal is noted and told later."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_SIGINT = signal.SIGINT


class Interrupts:
    """Of the main thread, the only one that signals are told to."""

    def __init__(self) -> None:
        self.held = False
        self.wake: Callable[[], object] | None = None  # ends the wait that the thread is in
        self._told: tuple[int, FrameType | None] | None = None
        self._handler: Any = None  # whose place was taken

    @property
    def noted(self) -> bool:
        """Whether the signal has come."""
        return self._told is not None

    def hold(self) -> bool:
        """From now on the signal is noted. False: there is nobody to keep it from."""
        handler = signal.getsignal(_SIGINT)
        if self.held or not callable(handler):
            return False
        self._handler = handler
        try:
            signal.signal(_SIGINT, self._note)
        except (
            ValueError
        ):  # not the main interpreter, or the first thread that imported `threading` is not the main one
            return False
        self.held = True
        return True

    def release(self) -> None:
        """From now on the signal is told again; if it has come, at once."""
        self.held = False
        signal.signal(_SIGINT, self._handler)
        if self._told is not None:
            self.tell()

    def abandon(self) -> None:
        """In a child of fork(): the thread for which the signal was noted may not be there."""
        if self.held:
            self.held, self.wake, self._told = False, None, None
            signal.signal(_SIGINT, self._handler)

    def tell(self) -> None:
        """Has the handler told of the signal that has come, which raises KeyboardInterrupt unless it is the user's."""
        told, self._told = self._told, None
        if told is not None:
            self._handler(*told)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._told = (number, frame)
        wake = self.wake
        if wake is not None:
            wake()


INTERRUPTS = Interrupts()


def of_this_thread() -> Interrupts | None:
    """None in all threads but the main one."""
    return INTERRUPTS if threading.get_ident() == threading.main_thread().ident else None
