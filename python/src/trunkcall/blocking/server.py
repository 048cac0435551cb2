"""A server for programs without asyncio: a trunkcall.Server whose event loop has a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from google.protobuf.descriptor import ServiceDescriptor

from trunkcall import server as asynchronous
from trunkcall.context import current
from trunkcall.gauges import Gauges
from trunkcall.method import Handler, Method
from trunkcall.options import DRAIN_GRACE
from trunkcall.signals import Stopped, telling_of_signals

from .loopthread import LoopThread

T = TypeVar("T")


class Server:
    """Serves what a trunkcall.Server serves, without `await`:

        with blocking.Server(trunkcall.Server(tls=…)) as server:
            server.register(greet.handler(hello))
            server.serve("0.0.0.0:4000")

    Handlers that are plain functions run on threads, those of the server's `executor`; coroutine functions on the
    server's event loop, which has a thread of its own until `close`. May be used from any number of threads, also while
    one waits in `serve`. A process that is forked off has no server; make one there."""

    def __init__(self, server: asynchronous.Server | None = None) -> None:
        """`server` must not have listened yet; it belongs to this object. None: one with the default options."""
        self._server = asynchronous.Server() if server is None else server
        self._lock = threading.RLock()  # a handler of signals may interrupt who holds it
        self._thread: LoopThread | None = None
        self._under_way: set[Future[Any]] = set()  # what threads wait for
        self._ended = False
        self._gone = threading.Event()  # the server has stopped, though its thread may still be there
        self._process = os.getpid()

    # What is served.

    def register(self, *handlers: Handler) -> None:
        """See trunkcall.Server.register."""
        self._server.register(*handlers)

    def register_service(self, service: ServiceDescriptor, implementation: object) -> None:
        """See trunkcall.Server.register_service."""
        self._server.register_service(service, implementation)

    @property
    def services(self) -> list[str]:
        """The names of the services that are served."""
        return self._server.services

    @property
    def methods(self) -> list[Method[Any, Any]]:
        """The methods that are served."""
        return self._server.methods

    # Serving.

    def listen(self, where: str | socket.socket, *, reuse_port: bool = False) -> str:
        """See trunkcall.Server.listen: serves there from now on, and returns the address. Raises OSError; RuntimeError
        for a server that has been stopped, and where a thread must not wait: in an event loop."""
        return self._run(self._server.listen(where, reuse_port=reuse_port))

    def serve(
        self,
        *where: str | socket.socket,
        reuse_port: bool = False,
        signals: bool | None = None,
        grace: float | None = DRAIN_GRACE,
    ) -> None:
        """Listens on each of `where` and returns once the server has been stopped. What a handler of signals raises
        comes out of it; the server serves on until `stop` or `close`, such as by `with`. Raises as `listen`.

        With `signals` SIGTERM or SIGINT (Ctrl-C) begins `stop(grace)`, and a second one `close`: True, in the main
        thread only; None: in the main thread, unless the program handles the signal; False: never."""
        with self._lock:
            if self._ended and not where:
                return
            self._started()  # no handler of a signal is to interrupt that
        begun: list[Future[Any]] = []

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # it has been stopped meanwhile
                begun.append(self._begin(self._server.close() if begun else self._server.stop(grace)))

        with telling_of_signals(signals, tell):
            try:
                self._run(self._server.serve(*where, reuse_port=reuse_port, signals=False, grace=grace))
            except Stopped:  # while it began to listen
                if not begun:
                    raise
            wait(begun)
        if begun:
            self._end()

    def stop(self, grace: float | None = DRAIN_GRACE) -> bool:
        """See trunkcall.Server.stop: loses no call. Seconds; True if nothing was cut off. A second time does nothing.
        Raises as `listen`."""
        ending = self._ending(partial(self._server.stop, grace))
        if ending is None:
            return True
        done = ending.result()
        self._end()
        return done

    def close(self) -> None:
        """Ends the server: running calls lose their connection at once, and plain handlers are waited for. A second
        time does nothing. Raises as `listen`."""
        ending = self._ending(self._server.close)
        if ending is not None:
            ending.result()
            self._end()

    # What it has.

    @property
    def addresses(self) -> list[str]:
        """The addresses that are listened on."""
        return self._server.addresses

    @property
    def port(self) -> int:
        """The port of the first TCP listener, 0 without one."""
        return self._server.port

    def gauges(self) -> Gauges:
        """What the server has at the moment. Raises as `listen`."""

        async def gauges() -> Gauges:
            return self._server.gauges()

        return self._run(gauges())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops the server; at once if an exception passes."""
        if error is None:
            self.stop()
        else:
            self.close()

    @property
    def _over(self) -> bool:
        return self._ended or self._process != os.getpid()

    def _not_in_handler(self) -> None:
        call = current.get()
        if call is not None and call._task in self._server._serving.tasks:
            raise RuntimeError("a handler cannot wait for the end of its own server: leave that to another thread")

    def _ending(self, end: Callable[[], Coroutine[Any, Any, T]]) -> Future[T] | None:
        """Begins to end the server. None: it has ended, perhaps while this thread came here."""
        if self._over:
            return None
        self._not_in_handler()
        with self._lock:
            return None if self._ended else self._begin(end())

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._begin(work).result()

    def _begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            try:
                future = self._started().begin(work)
            except RuntimeError:
                work.close()
                raise
            self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        return future

    def _started(self) -> LoopThread:
        if self._process != os.getpid():
            raise RuntimeError("this server belongs to the process that this one was forked from: make one here")
        if self._ended:
            raise RuntimeError("the server has been stopped")
        if asyncio._get_running_loop() is not None:
            advice = "use trunkcall.Server, whose methods are awaited, or asyncio.to_thread"
            raise RuntimeError(f"a server that blocks was used in an event loop: {advice}")
        if self._thread is None:
            self._thread = LoopThread("trunkcall server").__enter__()
            self._thread.begin(self._notice_end())
        return self._thread

    async def _notice_end(self) -> None:
        """A task of a handler's, say, may stop the server itself, of which this object is not told."""
        await self._server._until_stopped()
        self._gone.set()

    def _end(self) -> None:
        with self._lock:
            thread, self._thread, self._ended = self._thread, None, True
        if thread is not None:
            wait(list(self._under_way))
            thread.__exit__(None, None, None)
        self._gone.set()
