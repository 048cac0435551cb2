"""Serves under gunicorn, which has the processes, signals and sockets.

    gunicorn -k trunkcall.gunicorn.Worker -w 4 -b 0.0.0.0:4000 module:make

`module:make` names a function that makes the server of a process, as trunkcall.processes.run takes it, or a Server that
has not listened. One to one with gunicorn's settings:

- `--bind`: its sockets are listened on, for all protocols of the server. `--reuse-port` leaves them to the workers, and
  then the connections that a worker has not accepted are lost when it ends.
- `--graceful-timeout`: what a worker has to end after SIGTERM and on HUP, its server's drain delay included.
- `--timeout`: a worker whose event loop stands still for so long is ended, also one that does not begin in time.
- `--max-requests`, `--max-requests-jitter`: after so many calls a worker ends as on SIGTERM.
- `--preload`: the module is imported before the fork; name a function then. Blocking clients that were made by then
  work in all workers, asynchronous ones if they were not used.

TLS is the server's own (`Server(tls=…)`), and so are limits: `--certfile`, `--worker-connections` and what there is for
requests of HTTP have no meaning.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from gunicorn.errors import AppImportError
from gunicorn.workers import base

from . import memory
from .interceptor import Call, Next
from .processes.service import CUT, Orders, ServerFactory, serve
from .server import Server

__all__ = ["Worker"]

_MARGIN = 0.5  # seconds that a worker has left of the graceful timeout, behind which gunicorn kills it
_BEAT = 1.0


class Worker(base.Worker):  # type: ignore[misc]
    """A process of gunicorn that serves a trunkcall.Server. Name it with -k; a subclass may set `loop_factory`."""

    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    """Makes the event loop, such as `staticmethod(uvloop.new_event_loop)`."""

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        """Called by gunicorn. Raises RuntimeError for TLS of gunicorn's."""
        if cfg.is_ssl:
            raise RuntimeError("trunkcall: --certfile and the like are not used: give Server(tls=…) the files")

    def init_process(self) -> None:
        """Called by gunicorn in the new process."""
        memory.share_among(max(self.cfg.workers, 1))
        super().init_process()

    def load_wsgi(self) -> None:
        """Called by gunicorn: finds what its command line names. Raises AppImportError."""
        self._factory: Server | ServerFactory = self._named()

    def _named(self) -> Any:
        module, _, name = (getattr(self.app, "app_uri", None) or "").partition(":")
        if self.cfg.preload_app or not name.isidentifier():
            return self.app.wsgi()
        try:
            return getattr(import_module(module), name)  # gunicorn takes functions only
        except AttributeError:
            raise AppImportError(f"there is no {name} in {module}") from None

    def run(self) -> None:
        """Called by gunicorn: serves until it is told to stop."""
        self.booted = False  # who fails before it serves would fail again
        with asyncio.Runner(loop_factory=self.loop_factory) as runner:
            if not runner.run(self._serve()):
                self.log.warning("Calls that still ran were cut off (pid: %s)", self.pid)
        self.init_signals()  # the loop's are gone with it, and a second SIGTERM would kill what exits

    async def _serve(self) -> bool:
        loop, orders = asyncio.get_running_loop(), Orders()

        def quickly() -> None:
            self.cfg.worker_int(self)
            orders.cut()

        loop.add_signal_handler(signal.SIGTERM, orders.stop)
        loop.add_signal_handler(signal.SIGINT, quickly)
        loop.add_signal_handler(signal.SIGQUIT, quickly)
        loop.add_signal_handler(signal.SIGUSR1, self.log.reopen_files)
        beating = loop.create_task(self._beat(orders))
        try:
            ready = partial(self._ready, orders=orders)
            return await serve(self._factory, self._taken(), orders, self._grace, ready, _none)
        finally:
            beating.cancel()

    def _taken(self) -> list[socket.socket]:
        bound: list[Any] = list(self.sockets)
        return [one.sock for one in bound]

    def _ready(self, server: Server, orders: Orders) -> None:
        self.booted = True
        most, made = self.max_requests, 0
        if not self.cfg.max_requests:
            return

        async def counted(call: Call, proceed: Next) -> object:
            nonlocal made
            made += 1
            if made == most:
                self.log.info("Autorestarting worker after %s calls (pid: %s)", made, self.pid)
                orders.stop()
            return await proceed(call)

        server._serving.interceptors = (counted, *server._serving.interceptors)

    def _grace(self, server: Server) -> float:
        total: float = self.cfg.graceful_timeout
        return max(total - server._drain_delay - CUT - _MARGIN, 0.0)

    async def _beat(self, orders: Orders) -> None:
        """Tells gunicorn that the worker is well, and looks whether gunicorn is there."""
        while True:
            self.notify()
            if not self.alive or self.ppid != os.getppid():
                orders.stop()
            await asyncio.sleep(min(_BEAT, self.timeout / 2) or _BEAT)


def _none() -> None:
    pass
