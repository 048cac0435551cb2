"""The process that starts the others, and ends them. It has no event loop and no thread, so that it can fork at any
time, and it does none of the users' work, so that it stands when a process falls."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator
from typing import Any

from trunkcall.checking import check_callable, check_count, check_logger, check_seconds
from trunkcall.server import Server

from .child import MARGIN, Child, Settings, ignore
from .places import ABORTING, Place, Process, Restart, how
from .service import CUT, ServerFactory
from .sockets import Sockets

OK = 0
CUT_OFF = 1
NOT_STARTED = 3

GRACE = 30.0
HEALTH = 60.0
START_TIMEOUT = 60.0
ATTEMPTS = 5
# Within so many seconds of the first, a second signal to stop is the same one, passed on by a program around this one.
TWICE = 0.1
HEARD = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


def run(
    factory: Server | ServerFactory,
    *where: str | socket.socket,
    processes: int | None = None,
    grace: float | None = GRACE,
    health: float | None = HEALTH,
    start_timeout: float | None = START_TIMEOUT,
    attempts: int = ATTEMPTS,
    started: Callable[[list[str]], object] | None = None,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
    logger: logging.Logger | None = None,
) -> int:
    """Serves in several processes until it is told to stop, and returns the exit status for the program: OK (0) if no
    call was cut off, else CUT_OFF (1); NOT_STARTED (3) if the processes could not begin to serve.

    `factory` makes the server of a process, in that process. A server that was made before, and has not listened, will
    do too. `where` is what they listen on: HOST:PORT, port 0 for any free one; unix:PATH; a socket that listens, which
    is taken from its object. On Linux each process has its own queue of HOST:PORT, else all share one.

    - `processes` is how many, by default as many as the processors that this one may use.
    - `grace` is how many seconds calls that run have when a process stops, after the server's drain delay; None: as
      long as they take. A process that has not ended 6 seconds later is killed.
    - A process that stands still for `health` seconds, because its event loop does, is ended with SIGABRT (for which
      `faulthandler.enable()` prints where), else SIGKILL, and replaced. None: it is left alone.
    - One that does not serve `start_timeout` seconds after its start likewise.
    - One that ends is replaced, after a pause that grows while they end soon. When none serves, and `attempts` in a row
      have ended before they served, all is given up.
    - `started` is called once, when all serve for the first time, with the addresses. What it raises ends all.
    - `loop_factory` makes the event loops, such as `uvloop.new_event_loop`.
    - `logger` is told what becomes of the processes, by default `logging.getLogger("trunkcall")`.

    SIGTERM and SIGINT (Ctrl-C) stop all; the second one cuts off what still runs. On SIGHUP the processes are replaced
    one by one, each by one that has served for a second; if that fails, those that serve stay. What the factory imports
    and reads is then imported and read again, what was imported before `run` is not. When this process is killed, the
    others stop by themselves.

    It forks, so call it in the main thread, before there are other threads or an event loop. Blocking clients that were
    made before work on in the processes, others if they were not used.

    Raises OSError and ValueError for addresses, TypeError and ValueError for options, RuntimeError where it cannot
    fork."""
    if not isinstance(factory, Server):
        check_callable("factory", factory, "a function that makes a server")
    if processes is None:
        processes = _processors()
    check_count(1, processes=processes, attempts=attempts)
    check_seconds(0, none=True, grace=grace)
    for name, value in (("health", health), ("start_timeout", start_timeout)):
        check_seconds(1, none=True, **{name: value})
    check_callable("started", started)
    check_callable("loop_factory", loop_factory)
    check_logger(logger)
    if not where:
        raise TypeError("there is nothing to listen on: want HOST:PORT, unix:PATH or a socket that listens")
    _check_fork()
    settings = Settings(factory, processes, grace, health, loop_factory, logger or logging.getLogger("trunkcall"))
    return Supervisor(settings, Sockets(where, processes), start_timeout, attempts, started).run()


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_fork() -> None:
    if not hasattr(os, "fork"):
        raise RuntimeError("this system has no fork(): let a program of its own start the processes")
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise RuntimeError("processes are forked before there is an event loop: call run outside of it")
    main = threading.main_thread()
    if threading.current_thread() is not main:
        raise RuntimeError("processes are forked by the main thread: call run there")
    # The threads of blocking clients, which have this name, know about fork.
    others = [one.name for one in threading.enumerate() if one is not main and one.name != "trunkcall"]
    if others:
        raise RuntimeError(
            f"processes are forked before there are threads, and there is {', '.join(others)}: start it in the factory"
        )


class Supervisor:
    def __init__(
        self,
        settings: Settings,
        sockets: Sockets,
        start_timeout: float | None,
        attempts: int,
        started: Callable[[list[str]], object] | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._sockets = sockets
        self._start_timeout = start_timeout
        self._attempts = attempts
        self._started = started
        self._clock = clock
        self._log = settings.logger
        self._places = [Place(number) for number in range(settings.count)]
        self._processes: dict[int, Process] = {}
        self._restart = Restart([])
        self._selector = selectors.DefaultSelector()
        self._signals, self._noted = socket.socketpair()
        self._stops: float | None = None  # since when
        self._status = OK

    def run(self) -> int:
        with self._listening_to_signals():
            try:
                now = self._clock()
                for place in self._places:
                    place.start = now
                while self._processes or self._stops is None:
                    self._wait()
                self._log.info("all processes have ended")
                return self._status
            finally:
                self._end_all()

    @contextlib.contextmanager
    def _listening_to_signals(self) -> Generator[None]:
        for one in (self._signals, self._noted):
            one.setblocking(False)
        self._selector.register(self._signals, selectors.EVENT_READ)
        waking = signal.set_wakeup_fd(self._noted.fileno(), warn_on_full_buffer=False)
        handlers: list[tuple[signal.Signals, Any]] = [(number, signal.signal(number, ignore)) for number in HEARD]
        try:
            yield
        finally:
            for number, handler in handlers:
                signal.signal(number, handler)
            signal.set_wakeup_fd(waking)
            self._selector.close()
            self._signals.close()
            self._noted.close()

    def _end_all(self) -> None:
        """For a supervisor that fails itself."""
        self._sockets.close()
        for pid, process in self._processes.items():
            process.channel.close()
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self._processes.clear()

    # What happens.

    def _wait(self) -> None:
        """Until something happens, or is to be done."""
        began, until = self._clock(), self._next()
        happened = self._selector.select(None if until is None else max(until - began, 0.0))
        now = self._clock()
        if until is not None and now > until + 1:  # it was stopped itself, and the others may have been
            for process in self._processes.values():
                process.heard = now
        for key, _ in happened:
            if key.data is not None:
                self._hear(key.data, now)
        for number in self._came() if happened else ():
            if number == signal.SIGHUP:
                self._replace_all()
            elif number in (signal.SIGTERM, signal.SIGINT):
                self._told_to_stop(signal.Signals(number).name, now)
        self._reap(now)
        self._look(now)

    def _came(self) -> bytes:
        with contextlib.suppress(BlockingIOError):
            return self._signals.recv(4_096)
        return b""

    def _hear(self, process: Process, now: float) -> None:
        try:
            received = process.channel.recv(4_096)
        except (BlockingIOError, ConnectionError):
            received = b""
        if not received:  # it has ended, or nearly: a signal will tell
            with contextlib.suppress(KeyError):
                self._selector.unregister(process.channel)
            return
        process.heard = now
        for words in process.lines(received):
            if words[:1] == ["ready"]:
                process.takes = float(words[1]) if len(words) > 1 else None
                self._ready(process, now)
            elif words == ["leaving"] and not process.ends:
                process.told_to_end(now)
                if process is process.place.coming:
                    self._turn_down(process, "stops as soon as it served")
                    continue
                self._log.warning("process %d stops, and another takes its place", process.pid)
                process.place.vacate(process, now)

    def _ready(self, process: Process, now: float) -> None:
        self._log.info("process %d serves", process.pid)
        process.ready = now
        if process.ends:  # it was told to meanwhile, and has the time that it says now
            if not process.cut:
                process.told_to_end(now)
            return
        process.place.unready = 0
        if self._started is not None and all(one.serving and one.serving.serves for one in self._places):
            started, self._started = self._started, None
            self._log.info("%d processes serve on %s", len(self._places), ", ".join(self._sockets.addresses))
            started(self._sockets.addresses)

    def _reap(self, now: float) -> None:
        everybody = os.getpid() == 1  # of a container, where what others have left is this one's to reap
        for one in [-1] if everybody else list(self._processes):
            more = True
            while more:
                try:
                    pid, status = os.waitpid(one, os.WNOHANG)
                except ChildProcessError:
                    break
                if pid in self._processes:
                    self._ended(self._processes.pop(pid), os.waitstatus_to_exitcode(status), now)
                more = everybody and pid != 0

    def _ended(self, process: Process, status: int, now: float) -> None:
        self._hear(process, now)  # its last words
        with contextlib.suppress(KeyError):
            self._selector.unregister(process.channel)
        process.channel.close()
        if process.ends:
            # SIGTERM kills only who does not serve yet, or has closed its loop.
            if process.ready is not None and status not in (0, -signal.SIGTERM):
                self._status = self._status or CUT_OFF
                self._log.error("process %d has cut off calls: it ended with %s", process.pid, how(status))
            return
        place = process.place
        if process is place.coming:
            when = "before" if process.ready is None else "as soon as"
            self._turn_down(process, f"ended {when} it served, with {how(status)}")
            return
        place.vacate(process, now)
        before = "" if process.ready is not None else " before it served"
        self._log.error("process %d ended%s, with %s: another takes its place", process.pid, before, how(status))
        self._give_up_behind(place, now)

    def _turn_down(self, process: Process, why: str) -> None:
        """The first new one has failed: a rolling restart goes no further."""
        process.place.coming = None
        self._restart.left = []
        self._log.error("process %d %s: those that serve stay", process.pid, why)

    def _give_up_behind(self, place: Place, now: float) -> None:
        """If too many in a row have not come to serve there, and none serves elsewhere."""
        if place.unready >= self._attempts and not any(one.serves for one in self._processes.values()):
            self._log.error("given up: %d processes in a row ended before they served", place.unready)
            self._status = NOT_STARTED
            self._stop_all(now)

    # What is to be done.

    def _next(self) -> float | None:
        """When something is to be done that nobody will tell of."""
        times = [place.start for place in self._places]
        if self._stops is None:
            times += [place.changes for place in self._places]
        for one in self._processes.values():
            times.append(one.kill)
            limit = self._start_timeout if one.ready is None else self._settings.health
            if limit is not None and not one.ends and one.kill is None:
                times.append(one.heard + limit)
        return min((time for time in times if time is not None), default=None)

    def _look(self, now: float) -> None:
        for process in list(self._processes.values()):
            if process.kill is not None and now >= process.kill:
                self._log.error("process %d has not ended in time, and is killed", process.pid)
                process.kill = None
                os.kill(process.pid, signal.SIGKILL)
            elif why := process.failing(now, self._settings.health, self._start_timeout):
                self._log.error("process %d %s, and is ended", process.pid, why)
                process.kill = now + ABORTING
                os.kill(process.pid, signal.SIGABRT)
        self._begin_due(now)
        for one in self._places:
            if self._stops is None and one.changes is not None and now >= one.changes:
                before = one.change()
                if before is not None:
                    self._stop(before, now)
        if self._stops is None and (place := self._restart.next(self._places)):
            try:
                place.coming = self._begin(place, now)
            except OSError as error:
                self._restart.left = []
                self._log.error("no process could be started (%s): those that serve stay", error)

    def _begin_due(self, now: float) -> None:
        for place in self._places:
            if place.start is not None and now >= place.start:
                place.start = None
                try:
                    place.serving = self._begin(place, now)
                except OSError as error:
                    place.failed(now)
                    self._log.error("no process could be started: %s", error)
                    self._give_up_behind(place, now)

    def _begin(self, place: Place, now: float) -> Process:
        """Forks. Signals are blocked meanwhile, so that none meets a process that takes itself for the supervisor.
        Raises OSError where the system has no process, memory or descriptor left."""
        ours, theirs = socket.socketpair()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()  # else both would write it
        signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
        try:
            pid = os.fork()
            if not pid:
                self._be_child(place, ours, theirs)
        except BaseException:
            ours.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
            theirs.close()
        ours.setblocking(False)
        process = self._processes[pid] = Process(pid, place, ours, heard=now)
        self._selector.register(ours, selectors.EVENT_READ, process)
        return process

    def _be_child(self, place: Place, ours: socket.socket, theirs: socket.socket) -> None:
        """In the process: lets go of what is the supervisor's, above all of its ends of the others' sockets."""
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            for one in (self._selector, self._signals, self._noted, ours):
                one.close()
            for process in self._processes.values():
                process.channel.close()
            sockets = self._sockets.only(place.number)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
            Child(self._settings, theirs).run(sockets)
        except BaseException:
            self._log.exception("the process cannot begin")
        finally:
            os._exit(1)

    def _replace_all(self) -> None:
        if self._stops is None:
            self._log.info("the processes are replaced one by one")
            self._restart.left = list(self._places)

    def _told_to_stop(self, name: str, now: float) -> None:
        if self._stops is None:
            self._log.info("%s: the processes stop; another signal cuts off calls that still run", name)
            self._stop_all(now)
        elif now - self._stops >= TWICE:
            self._log.warning("a second signal came: calls that still run are cut off")
            for process in self._processes.values():
                if not process.cut:
                    process.cut, process.kill = True, now + CUT + MARGIN
                    with contextlib.suppress(OSError):
                        process.channel.send(b"cut\n")

    def _stop_all(self, now: float) -> None:
        self._stops = now
        self._sockets.close()
        for place in self._places:
            place.start = None
        for process in self._processes.values():
            if not process.ends:
                self._stop(process, now)

    def _stop(self, process: Process, now: float) -> None:
        process.told_to_end(now)
        os.kill(process.pid, signal.SIGTERM)
