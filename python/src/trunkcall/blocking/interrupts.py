"""Signals in the middle of a call. Python runs their handlers between any two instructions of the main thread. What a
handler raises there, such as KeyboardInterrupt or SystemExit, could leave the state of a client half changed, which is
that of all threads. So while the main thread works on it, signals are noted, and their handlers called afterwards."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from importlib import import_module
from types import FrameType
from typing import Any

# Those whose handlers may well raise. The others are left alone.
NOTED = tuple(
    int(getattr(signal, name))
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGABRT")
    if hasattr(signal, name)
)
# What the module `signal` is made of, without the enumerations: a tenth of the time, which each call takes twice.
try:
    _signal: Any = import_module("_signal")
except ImportError:  # another Python
    _signal = signal
_handler_of: Callable[[int], Any] = _signal.getsignal
_handle: Callable[[int, Any], Any] = _signal.signal


class Interrupts:
    """Of the main thread, the only one that handlers are called in."""

    def __init__(self) -> None:
        self.held = False
        self.wake: Callable[[], object] | None = None  # ends the wait that the thread is in
        self._told: dict[int, FrameType | None] = {}  # the signals that have come
        self._handlers: dict[int, Any] = {}  # whose place was taken
        self._note = self._take_note  # one object, to be known again

    @property
    def noted(self) -> bool:
        """Whether a signal has come."""
        return bool(self._told)

    def hold(self) -> bool:
        """From now on signals are noted. False: there is nobody to keep them from. A handler that raises meanwhile
        leaves what was done: until all are held, a signal is passed on at once."""
        if self.held:
            return False
        handlers, note, found = self._handlers, self._note, False
        try:
            for number in NOTED:
                handler = _handler_of(number)
                if handler is note:  # a handler has raised while they were let go
                    found = True
                elif callable(handler):
                    handlers[number] = handler
                    _handle(number, note)
                    found = True
                else:
                    handlers.pop(number, None)
        except ValueError:  # not the main interpreter, or who first imported `threading` was not its main thread
            handlers.clear()
            return False
        self.held = found
        return found

    def release(self) -> None:
        """From now on signals are told again; those that have come, at once."""
        self.held = False
        try:
            self._restore()
        finally:
            if self._told:
                self.tell()

    def abandon(self) -> None:
        """In a child of fork(): the thread for which signals were noted may not be there."""
        if self.held:
            self.held, self.wake = False, None
            self._told.clear()
            self._restore()

    def tell(self) -> None:
        """Has handlers told of the signals that have come. Raises what they raise, such as KeyboardInterrupt."""
        if not self._told:
            return
        number = next(iter(self._told))
        frame = self._told.pop(number)
        try:
            self._handlers[number](number, frame)
        finally:
            self.tell()

    def _restore(self) -> None:
        for number, handler in self._handlers.items():
            if _handler_of(number) is self._note:  # else a handler has set another one
                _handle(number, handler)

    def _take_note(self, number: int, frame: FrameType | None) -> None:
        if not self.held:  # before all are held, or a handler has raised before all were let go
            self._handlers[number](number, frame)
            return
        self._told[number] = frame
        wake = self.wake
        if wake is not None:
            wake()


INTERRUPTS = Interrupts()


def of_this_thread() -> Interrupts | None:
    """None in all threads but the main one."""
    return INTERRUPTS if threading.get_ident() == threading.main_thread().ident else None
