"""Serving calls: what the calls have in common that a server serves for its clients, and a client for its servers over
its own connections."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from .adapt import Served
from .admission import Admit
from .codec import Codec
from .compression import Packing
from .interceptor import Interceptor
from .journal import Journal
from .method import Handler
from .wire import Load, Method

if TYPE_CHECKING:
    from .policyfile import PolicyFile
    from .servercall import ServerCall


class Serving:
    """What the calls have in common that a Server, or a Client for its servers, serves."""

    def __init__(
        self,
        codecs: dict[int, Codec],
        interceptors: Iterable[Interceptor],
        packing: Packing,
        executor: Executor | None,
        logger: logging.Logger,
        load: Load,
        admission: Admit | None = None,
        policies: PolicyFile | None = None,
    ) -> None:
        self.codecs = codecs
        self.interceptors = tuple(interceptors)
        self.packing = packing
        self.packs = bool(packing.order)  # also answers to requests that came plain
        self.executor = executor
        self.logger = logger
        self.journal = Journal(logger)
        self.load = load
        self.admission = admission
        self.policies = policies
        self.admits = admission is not None or policies is not None  # whether calls are asked about first
        self.one_way_failures = 0
        self.methods: dict[bytes, Method] = {}  # as sessions look them up
        self.tasks: set[asyncio.Task[None]] = set()  # of handlers
        self.handed_over: set[asyncio.Task[None]] = set()  # those of them whose calls came by a user's protocol
        self.one_ways: dict[ServerCall, asyncio.Task[None]] = {}  # those of them that no connection knows of any more

    def register(self, handlers: Iterable[Handler]) -> None:
        for handler in handlers:
            if not isinstance(handler, Handler):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"register takes what a method's `handler` returns, not {handler!r}")
            method = handler.method
            if method._wire_name in self.methods:
                raise ValueError(f"method {method.name} is registered already")
            served = Served(handler, self.codecs, self.executor)
            self.methods[method._wire_name] = Method(method._wire_name, method.kind.takes_one, served)

    def keep(self, task: asyncio.Task[None]) -> None:
        """Waits for a task at the end, as for those of users' protocols, and cancels it."""
        for kept in (self.tasks, self.handed_over):
            kept.add(task)
            task.add_done_callback(kept.discard)

    def not_in_handler(self, what: str) -> None:
        """Raises RuntimeError in a task of a handler, which would wait for its own end."""
        if asyncio.current_task() in self.tasks:
            raise RuntimeError(f"a handler cannot wait for the end of its own {what}: leave that to another task")

    def accepted(self) -> list[asyncio.Task[None]]:
        """The handlers of one-way calls that run."""
        return [task for task in self.one_ways.values() if not task.done()]

    def unanswered(self) -> list[asyncio.Task[None]]:
        """What still runs without a connection of its own: one-way calls, and those of users' protocols."""
        return [*self.accepted(), *(task for task in self.handed_over if not task.done())]

    async def end(self) -> None:
        """Waits for the handlers that are left. Connections have cancelled their own; one-way calls know of none."""
        for call in self.one_ways:
            call._stop()
        for task in self.handed_over:
            task.cancel()
        if self.tasks:
            await asyncio.wait(list(self.tasks))
