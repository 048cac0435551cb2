"""Several processes that serve on the same listening sockets: forked before there is an event loop or a thread."""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass

from load import Failed

from .target import split_address

BACKLOG = 1_024
# A process that ends sooner would end again at once, in seconds.
TOO_SOON = 1.0
# What the parent waits for. They are blocked from before the first fork on, so that none is lost or meets a process
# that does not know yet what to do about it.
WAITED_FOR = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)


@dataclass(frozen=True)
class Worker:
    """A process that serves. `parent` can be read once the parent is gone."""

    parent: int

    def ready(self) -> None:
        """Signals are dealt with from now on, those that came meanwhile first."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WAITED_FOR)


class Processes:
    """The parent: it serves nothing, passes signals on, and sees to it that there are as many as there should be. One
    that dies is named and another takes its place, unless it died at once: then all end."""

    def __init__(self, count: int, sockets: Sequence[socket.socket], logger: logging.Logger) -> None:
        """`sockets` are those that the processes listen on."""
        self._count = count
        self._sockets = sockets
        self._logger = logger
        self._began: dict[int, float] = {}  # when each running process began
        self._alive = os.pipe()  # only the parent holds the writing end, so that reading ends when the parent does
        self._stopping = False
        self._failed = False
        signal.pthread_sigmask(signal.SIG_BLOCK, WAITED_FOR)

    def begin(self) -> Worker | None:
        """Forks. Returns in each of the processes, and None in the parent."""
        for _ in range(self._count):
            if worker := self._fork():
                return worker
        return None

    def watch(self) -> Worker | None:
        """Returns None in the parent when all have ended, and in processes that take another's place. Raises Failed if
        one ended badly that was to end, or at once."""
        while self._began:
            if signal.sigwait(WAITED_FOR) != signal.SIGCHLD:
                self._stop()
                continue
            for pid, status in reaped():
                if worker := self._ended(pid, os.waitstatus_to_exitcode(status)):
                    return worker
        if self._failed:
            raise Failed("a process ended badly, as it said")
        return None

    def _fork(self) -> Worker | None:
        reading, writing = self._alive
        pid = os.fork()
        if not pid:
            os.close(writing)
            return Worker(reading)
        self._began[pid] = time.monotonic()
        return None

    def _ended(self, pid: int, status: int) -> Worker | None:
        lived = time.monotonic() - self._began.pop(pid)
        if self._stopping:
            self._failed = self._failed or status != 0
            return None
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
        fields = {"fields": {"pid": pid, "ended": how}}
        if lived < TOO_SOON:
            self._logger.error("a process has ended as soon as it began: the others end too", extra=fields)
            self._failed = True
            self._stop()
            return None
        self._logger.error("a process has ended, and another takes its place", extra=fields)
        return self._fork()

    def _stop(self) -> None:
        self._stopping = True
        for one in self._sockets:
            one.close()  # else clients could still connect, to nobody
        for pid in self._began:
            os.kill(pid, signal.SIGTERM)


def reaped() -> list[tuple[int, int]]:
    """The processes that have ended, with their statuses. One signal may stand for several."""
    found: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if not pid:
            return found
        found.append((pid, status))


def bind(listen: str, unix: str) -> list[socket.socket]:
    """The sockets to share: that of --unix first. Raises Failed."""
    bound: list[socket.socket] = []
    if unix:
        one = socket.socket(socket.AF_UNIX)
        try:
            one.bind(unix)
        except OSError as error:
            raise Failed(f"--unix: unix:{unix}: {error.strerror}") from None
        one.listen(BACKLOG)
        bound.append(one)
    if listen:
        host, port = split_address(listen)
        try:
            family, *_, where = socket.getaddrinfo(
                host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            bound.append(socket.create_server(where, family=family, backlog=BACKLOG))
        except OSError as error:
            raise Failed(f"--listen: {listen}: {error.strerror}") from None
    return bound
