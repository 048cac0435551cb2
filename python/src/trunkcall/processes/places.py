"""The places that processes take, and what is known of each process: when one is started, waited for and given up.
Times are parameters, in seconds of a clock that does not jump."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from dataclasses import dataclass

from trunkcall.backoff import longest_pause

from .child import MARGIN

STEADY = 10.0  # seconds of service, after which a process that ends has not failed as the one before it
PROVEN = 1.0  # seconds of service, after which a process takes the place of the one before it
ABORTING = 5.0  # seconds between SIGABRT, at which faulthandler prints where each thread is, and SIGKILL


@dataclass(eq=False)
class Process:
    """One that was started and has not ended."""

    pid: int
    place: Place
    channel: socket.socket
    heard: float  # when it last said something, at first when it began
    ready: float | None = None  # since when it serves
    takes: float | None = None  # what its stop may take
    ends: bool = False  # it was told to, or said so itself
    kill: float | None = None  # when it is killed
    cut: bool = False
    _unread: bytes = b""

    @property
    def serves(self) -> bool:
        return self.ready is not None and not self.ends

    def lines(self, received: bytes) -> Iterator[list[str]]:
        """The words of each line that is whole."""
        *whole, self._unread = (self._unread + received).split(b"\n")
        for line in whole:
            yield line.decode("ascii", "replace").split()

    def told_to_end(self, now: float) -> None:
        """It is killed if it has not ended when its time is over. One that does not serve yet has nothing to wait
        for."""
        self.ends = True
        if self.ready is None:
            self.kill = now + MARGIN
        elif self.takes is not None:
            self.kill = now + self.takes + MARGIN

    def failing(self, now: float, health: float | None, start_timeout: float | None) -> str:
        """Why the process is to be replaced although it runs; "": it is not."""
        if self.ends or self.kill is not None:
            return ""
        if self.ready is None:
            late = start_timeout is not None and now - self.heard >= start_timeout
            return f"did not serve within {start_timeout:g} s (start_timeout)" if late else ""
        silent = health is not None and now - self.heard >= health
        return f"has stood still for {health:g} s (health)" if silent else ""


@dataclass(eq=False)
class Place:
    """Where one process serves at a time, and a second one has come, and served a while, before the first is told to
    go."""

    number: int
    serving: Process | None = None
    coming: Process | None = None  # to take the other's place
    start: float | None = None  # when one is started
    unready: int = 0  # processes in a row that have ended before they served
    brief: int = 0  # and those that have soon after

    @property
    def changes(self) -> float | None:
        """When the process that comes takes the place, if it serves until then; None: there is none that serves."""
        coming = self.coming
        return None if coming is None or coming.ready is None else coming.ready + PROVEN

    def change(self) -> Process | None:
        """The process that comes takes the place. Returns the one that had it, which is to end."""
        before, self.serving, self.coming = self.serving, self.coming, None
        return before

    def vacate(self, process: Process, now: float) -> None:
        """The process that had the place has ended, or is about to: when the next one starts."""
        self.serving, self.coming = self.coming, None
        if process.ready is None:
            self.unready += 1
        elif now - process.ready >= STEADY:
            self.brief = 0
        self.brief += 1
        if self.serving is None:
            once = process.ready is not None and self.brief == 1
            self.start = now if once else now + longest_pause(self.brief)

    def failed(self, now: float) -> None:
        """None could be started; one is tried again as if it had ended before it served."""
        self.unready += 1
        self.brief += 1
        self.start = now + longest_pause(self.brief)


def how(status: int) -> str:
    """An exit status, as Python has it, in words."""
    if status >= 0:
        return f"status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"


@dataclass
class Restart:
    """Replaces the processes one by one."""

    left: list[Place]

    def next(self, places: list[Place]) -> Place | None:
        """The place whose process is to be replaced now."""
        if any(place.coming for place in places):
            return None
        while self.left:
            place = self.left.pop(0)
            if place.serving is not None:  # else whoever comes is new
                return place
        return None
