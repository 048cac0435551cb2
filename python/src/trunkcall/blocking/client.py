"""The blocking client: connections to one target, and calls to methods there from any number of threads."""

from __future__ import annotations

import asyncio
import logging
import ssl
import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from types import TracebackType
from typing import Any, Self

from google.protobuf.descriptor import ServiceDescriptor

from trunkcall import client as asynchronous
from trunkcall.attempt import AttemptObserver
from trunkcall.balancer import Balancer
from trunkcall.calling import Calls as Awaited
from trunkcall.client import MOST_ENDPOINTS
from trunkcall.codec import PROTOBUF, Codec
from trunkcall.compression import ACCEPTED, Compressions
from trunkcall.context import current
from trunkcall.gauges import EndpointGauges, Gauges
from trunkcall.method import Handler, Method
from trunkcall.observer import Observer
from trunkcall.options import CLIENT_KEEPALIVE, KEEPALIVE_TIMEOUT, RUNNING_HANDLERS, WAITING_CALLS, Limits
from trunkcall.policies import Policy
from trunkcall.policyfile import FilePath
from trunkcall.services import service_handlers
from trunkcall.transport import TLSFiles

from . import adapting
from .adapting import Dialer, Resolver
from .caller import Interceptor
from .calls import Calls, Connection
from .driver import Driver


class _Client(asynchronous.Client):
    """The policy. Its loop is that which threads turn."""

    def __init__(self, loop: asyncio.AbstractEventLoop, target: str, **options: Any) -> None:
        super().__init__(target, **options)
        self._turned = self._bound = loop

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        return self._turned


class Client(Calls):
    """Owns the connections to the endpoints of one target and calls methods there, from any number of threads. The same
    as trunkcall.Client, without `await`: a call sends and reads in the thread that makes it.

    From its first use to `close` it has one thread of its own, which works only while no call does. After fork() the
    child has connections of its own."""

    def __init__(
        self,
        target: str,
        *,
        resolvers: Mapping[str, Resolver] | None = None,
        balancer: Balancer | None = None,
        dialer: Dialer | None = None,
        connections: int = 1,
        most_endpoints: int = MOST_ENDPOINTS,
        idle_timeout: float = 0,
        zone: str = "",
        policies: Iterable[Policy] = (),
        timeout: float | None = None,
        policy_file: FilePath | None = None,
        attempt_observer: AttemptObserver | None = None,
        observer: Observer | None = None,
        codec: Codec = PROTOBUF,
        codecs: Iterable[Codec] = (),
        compression: Compressions | None = None,
        decompression: Compressions = ACCEPTED,
        tls: ssl.SSLContext | TLSFiles | None = None,
        server_hostname: str | None = None,
        interceptors: Sequence[Interceptor] = (),
        reverse_interceptors: Sequence[Interceptor] = (),
        limits: Limits | None = None,
        repeat: bool = True,
        waiting_calls: int = WAITING_CALLS,
        running_handlers: int = RUNNING_HANDLERS,
        memory: int | None = None,
        executor: Executor | None = None,
        keepalive: float = CLIENT_KEEPALIVE,
        keepalive_timeout: float = KEEPALIVE_TIMEOUT,
        logger: logging.Logger | None = None,
    ) -> None:
        """`target` and the options are those of trunkcall.Client, which says what each is for. Functions that are
        awaited there are plain ones here:

        - `interceptors` run in the thread that makes the call, `reverse_interceptors` on threads; they may block.
        - `dialer` and each of `resolvers` run on threads of their own; see Watch for the latter.
        - Of `mem:NAME` the server is in an event loop of another thread.
        - `balancer`, `observer`, `attempt_observer`, `logger`'s handlers, codecs and compressions are called by
          whichever thread is at work, one at a time. They must not block, wait for a lock that is held around calls,
          nor make calls through this client.
        - `executor` runs the handlers of what servers call, by default a pool of threads.

        Raises as trunkcall.Client, and TypeError for a function that is asynchronous."""
        resolvers = {} if resolvers is None else dict(resolvers)
        self._options: dict[str, Any] = {
            "balancer": balancer,
            "connections": connections,
            "most_endpoints": most_endpoints,
            "idle_timeout": idle_timeout,
            "zone": zone,
            "policies": list(policies),
            "timeout": timeout,
            "policy_file": policy_file,
            "attempt_observer": attempt_observer,
            "observer": observer,
            "codec": codec,
            "codecs": list(codecs),
            "compression": compression,
            "decompression": decompression,
            "tls": tls,
            "server_hostname": server_hostname,
            "limits": limits,
            "repeat": repeat,
            "waiting_calls": waiting_calls,
            "running_handlers": running_handlers,
            "memory": memory,
            "executor": executor,
            "keepalive": keepalive,
            "keepalive_timeout": keepalive_timeout,
            "logger": logger,
        }
        self._target = target
        self._functions = (resolvers, dialer, tuple(interceptors), tuple(reverse_interceptors))
        self._handlers: list[Handler] = []
        self._closed = False
        self._both = self._begun()

    def _begun(self) -> tuple[Driver, _Client]:
        """A driver, and a policy for it: the first ones, and those of a child process."""
        resolvers, dialer, interceptors, reverse = self._functions
        driver = Driver()
        try:
            policy = _Client(
                driver.loop,
                self._target,
                resolvers={scheme: adapting.resolver(one, driver) for scheme, one in resolvers.items()},
                dialer=adapting.dialer(dialer),
                interceptors=adapting.interceptors(interceptors, driver),
                reverse_interceptors=adapting.reverse_interceptors(reverse, driver),
                **self._options,
            )
        except BaseException:
            driver.loop.close()
            raise
        policy._calling.opener = driver.openings.append
        policy.register(*self._handlers)
        policy._closed = self._closed
        return driver, policy

    def _now(self) -> tuple[Driver, Awaited]:
        return self._whole()

    def _whole(self) -> tuple[Driver, _Client]:
        both = self._both
        if both[0].abandoned:  # this is a child of the process that made it
            with both[0].lock:
                if self._both is both:
                    self._both = self._begun()
        return self._both

    @property
    def _ruled(self) -> bool:
        return self._both[1]._file is not None

    @property
    def target(self) -> str:
        return self._target

    @property
    def secure(self) -> bool:
        """Whether the calls go through TLS."""
        return self._whole()[1].secure

    @property
    def connections(self) -> list[Connection]:
        """The connections that are up: those over which the server can call, and can be called."""
        driver, policy = self._whole()
        with driver.inside():
            return [Connection(driver, one) for one in policy.connections]

    @property
    def endpoints(self) -> list[EndpointGauges]:
        """How the client stands with each endpoint that it uses."""
        driver, policy = self._whole()
        with driver.inside():
            return policy.endpoints

    def gauges(self) -> Gauges:
        """What the client has at the moment."""
        driver, policy = self._whole()
        with driver.inside():
            return policy.gauges()

    # What its servers call.

    def register(self, *handlers: Handler) -> None:
        """Serves methods to the servers over the client's own connections. Plain functions, of unary, one-way and
        server-streaming methods, run on threads. Coroutine functions run on the client's event loop, on whichever
        thread is at work for the client: they must not block, nor make calls of this client; they await those of
        `call.connection`. Raises ValueError for a method that is served already, TypeError for what is no Handler."""
        driver, policy = self._whole()
        with driver.inside():
            policy.register(*handlers)
        self._handlers += handlers

    def register_service(self, service: ServiceDescriptor, implementation: object) -> None:
        """Serves all methods of a service that Protobuf describes, as Server.register_service."""
        self.register(*service_handlers(service, implementation))

    @property
    def methods(self) -> list[Method[Any, Any]]:
        """The methods that are served, by name."""
        return self._whole()[1].methods

    @property
    def services(self) -> list[str]:
        """The names of the services that have a method, sorted."""
        return self._whole()[1].services

    @property
    def running(self) -> int:
        """The number of handlers that run, those included whose call was ended already."""
        return self._whole()[1].running

    # Opening and closing.

    def connect(self, timeout: float | None = None) -> None:
        """Opens the connections that are not open, and waits until each is open or has failed once, and a server has
        greeted. Raises StatusError: UNAVAILABLE, `not_sent`, if no endpoint is ready then; TimeoutError after so many
        seconds."""
        driver, policy = self._whole()
        driver.run(_within(timeout, policy.connect()))

    def close(self) -> None:
        """Ends the client: calls that run end CANCELLED, connections are closed, handlers are cancelled. Returns when
        all are done. Raises RuntimeError in one of its handlers."""
        self._closed = True
        driver, policy = self._both
        if driver.closed or driver.abandoned:
            return
        serving = current.get()
        if serving is not None and serving._end.serving is policy._serving:
            raise RuntimeError("a handler cannot wait for the end of its own client: leave that to another thread")
        driver.run(policy.close())
        driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        both: tuple[Driver, _Client] | None = getattr(self, "_both", None)
        if both is None or both[0].closed or both[0].abandoned:
            return
        driver, policy = both
        if driver.used:
            warnings.warn(f"a client of {self._target} was not closed", ResourceWarning, stacklevel=1, source=self)
            driver.forsake(policy.close())
        else:
            driver.loop.close()


async def _within(timeout: float | None, work: Any) -> None:  # noqa: ASYNC109
    async with asyncio.timeout(timeout):
        await work
