"""Signals as exceptions, at moments when nothing can slip through.

SIGINT, SIGTERM and SIGHUP raise Interrupted in the main thread, so that the `finally` blocks run that end processes.
Only the first signal does: a second Ctrl-C must not break into the clearing up. Inside `held()` the exception waits,
so that no process is started without being noted down.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Generator

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """The user, or whoever runs this, wants an end. Not an Exception: no `except Exception` may swallow it."""

    def __init__(self, signum: int):
        super().__init__(signal.Signals(signum).name)
        self.signum = signum


_holds = 0
_first: int | None = None
_raised = False


def install() -> None:
    global _first, _raised
    _first, _raised = None, False
    for signum in SIGNALS:
        signal.signal(signum, _on_signal)


def _on_signal(signum: int, _frame: object) -> None:
    global _first
    if _first is None:
        _first = signum
    _raise_unless_held()


def _raise_unless_held() -> None:
    global _raised
    if _first is not None and not _raised and not _holds:
        _raised = True
        raise Interrupted(_first)


@contextlib.contextmanager
def held() -> Generator[None]:
    """Signals that arrive inside are raised at its end. Only the main thread gets signals."""
    global _holds
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _holds += 1
    try:
        yield
    finally:
        _holds -= 1
    _raise_unless_held()
