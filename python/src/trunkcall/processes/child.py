"""A process that serves, from the fork to its end.

It and its supervisor each have one end of a socket. The supervisor hears "ready SECONDS" once it serves, with the time
that stopping may take, "alive" from then on, and "leaving" when it begins to stop. It is told "cut" there; SIGTERM
tells it to stop. When its supervisor is gone it reads the end, and stops too.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

from trunkcall import memory
from trunkcall.server import Server

from .service import CUT, Orders, ServerFactory, serve

MARGIN = 5.0  # seconds that a process has beyond what its stop may take


@dataclass(frozen=True)
class Settings:
    """What all processes have in common."""

    factory: Server | ServerFactory
    count: int
    grace: float | None
    health: float | None
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None
    logger: logging.Logger


class Child:
    """In the process itself."""

    def __init__(self, settings: Settings, channel: socket.socket) -> None:
        self._settings = settings
        self._channel = channel
        self._takes: float | None = 0.0  # what stopping may take, in seconds
        self._cut: Callable[[], object] | None = None

    def run(self, sockets: Sequence[socket.socket]) -> NoReturn:
        """Serves, and ends the process: with status 0 if no call was cut off, else 1. What the parent has registered
        with atexit, and what encloses its call of `run`, is the parent's."""
        status = 1
        try:
            memory.share_among(self._settings.count)
            threading.Thread(target=self._watch, name="trunkcall-supervisor", daemon=True).start()
            with asyncio.Runner(loop_factory=self._settings.loop_factory) as runner:
                status = 0 if runner.run(self._serve(sockets)) else 1
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except BaseException:
            self._settings.logger.exception("the process cannot serve")
        finally:
            with contextlib.suppress(Exception):
                logging.shutdown()
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            os._exit(status)

    async def _serve(self, sockets: Sequence[socket.socket]) -> bool:
        loop, orders = asyncio.get_running_loop(), Orders()
        self._cut = lambda: loop.call_soon_threadsafe(orders.cut)
        loop.add_signal_handler(signal.SIGTERM, orders.stop)
        beating: list[asyncio.Task[None]] = []

        def ready(server: Server) -> None:
            grace = self._settings.grace
            self._takes = None if grace is None else server._drain_delay + grace + CUT
            self._say("ready" if self._takes is None else f"ready {self._takes}")
            beating.append(loop.create_task(self._beat()))

        try:
            return await serve(
                self._settings.factory,
                sockets,
                orders,
                lambda server: self._settings.grace,
                ready,
                lambda: self._say("leaving"),
            )
        finally:
            for one in beating:
                one.cancel()

    async def _beat(self) -> None:
        if self._settings.health is None:
            return
        while True:
            await asyncio.sleep(self._settings.health / 4)
            self._say("alive")

    def _say(self, word: str) -> None:
        with contextlib.suppress(OSError):  # it is gone, or has not read for long
            self._channel.send(f"{word}\n".encode(), socket.MSG_DONTWAIT)

    def _watch(self) -> None:
        """On a thread of its own, so that an orphan ends even where its event loop stands still."""
        with contextlib.suppress(OSError):
            while self._channel.recv(64):
                if self._cut is not None:
                    with contextlib.suppress(RuntimeError):  # the loop is closed: it ends anyway
                        self._cut()
        os.kill(os.getpid(), signal.SIGTERM)
        if self._takes is not None:
            time.sleep(self._takes + MARGIN)
            os.kill(os.getpid(), signal.SIGKILL)


def ignore(number: int, frame: FrameType | None) -> None:
    """A handler of signals. Unlike SIG_IGN it is not passed on to the programs that a process starts."""
