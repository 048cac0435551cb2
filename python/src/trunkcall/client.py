"""The client: connections to one target, and calls to methods there."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from asyncio import get_running_loop
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextvars import Context
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from .attempt import AttemptObserver
from .balancer import Balancer, round_robin
from .calling import Calling, Calls
from .checking import (
    check_callable,
    check_codec,
    check_count,
    check_executor,
    check_flags,
    check_functions,
    check_logger,
    check_object,
    check_seconds,
    check_text,
    check_tls,
    listed_option,
)
from .codec import PROTOBUF, Codec
from .compression import ACCEPTED, Compressions, Packing
from .connecting import ClientEnd
from .connection import Connection, end_calls
from .endpoint import Endpoint, State
from .endpoints import ClientEndpoint, Endpoints
from .gauges import EndpointGauges, Gauges, gauges_of
from .interceptor import Interceptor
from .memory import check_memory
from .method import Method
from .observer import Observer, Told
from .options import (
    CLIENT_KEEPALIVE,
    KEEPALIVE_TIMEOUT,
    RUNNING_HANDLERS,
    WAITING_CALLS,
    Limits,
    codec_table,
    session_config,
)
from .policies import Policy
from .policyfile import FilePath, FilePolicies, chosen_policies
from .registering import Registry
from .resolver import Resolver, Target
from .servercall import resolve
from .serving import Serving
from .slots import Slots
from .status import failure
from .transport import Connection as Carrier
from .transport import OpenSocket, TLSFiles, TLSSource, for_clients
from .wire import Code, Delivery, Load

if TYPE_CHECKING:
    from .opening import Opening

CLOSED = "the client is closed"
MOST_ENDPOINTS = 20

# Opens the byte stream to HOST:PORT, unix:PATH or mem:NAME of an endpoint in place of the system: returns a connected
# socket. TLS and WebSockets lie above it. What is no socket of the system's is joined to one end of a
# socket.socketpair.
Dialer = Callable[[str, Endpoint], Awaitable[socket.socket]]


class Client(Calls, Registry):
    """Owns the connections to the endpoints of one target and calls methods there. What is registered with it, its
    servers can call over those connections.

    Belongs to the event loop that runs when it is first used, and must be used from that loop's thread only."""

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
        """`target` is one of:

        - HOST:PORT, unix:PATH, ws://HOST:PORT/PATH or wss://HOST:PORT/PATH, or several of them separated by commas,
          each of which is an endpoint;
        - mem:NAME, what a server of this process listens on: no port and no TLS, for tests;
        - dns:HOST:PORT, of which each address of the name is an endpoint;
        - SCHEME:REST, which the one of `resolvers` for that scheme turns into endpoints.

        Where the calls go:

        - `balancer` chooses the endpoint, by default `round_robin()`.
        - `connections` are kept to each endpoint (1), to `most_endpoints` at a time (20; 0: all). They are opened with
          the first calls, or by `connect`, and closed after `idle_timeout` seconds without calls (0: never).
        - `zone` is where the client runs: a policy file may have it prefer endpoints of the same zone.
        - `dialer` opens the sockets.
        - `tls` is an `ssl.SSLContext`, of which only the ALPN is set, or what `tls_files` makes, whose files are read
          again when they change. `server_hostname` is the name that the servers' certificates must show; by default it
          is that of the endpoint, or the host of its address.

        What holds for the calls:

        - `timeout` is a default for unary calls, in seconds. `policies` say what holds for the calls of a method.
        - `policy_file` says it in a file instead of both and of `repeat` (docs/policy.md). It is looked at every second
          and read again when it has changed; one at fault is logged, `observer` is told, and what held before holds on.
        - `codec` is that of calls that name no other; `codecs` are those that they may name.
        - Requests are sent with the first of `compression` that the server accepts; by default plain. `decompression`
          is what is accepted, by default gzip and, where its library is, zstd; (): nothing.
        - `interceptors` wrap the calls that the client makes.
        - With `repeat`, a unary call that provably was not run is made once more (spec/client.md).
        - `waiting_calls` bounds how many calls wait for a connection or a free slot (4,096).
        - After `keepalive` seconds without input (20) the server is asked for a sign of life (0: never), and given up
          `keepalive_timeout` seconds later (20).

        What holds for the calls that its servers make at it:

        - `reverse_interceptors` wrap them, `running_handlers` bounds how many run at once (16,384).
        - `memory` bounds the bytes held for the servers, by default a quarter of what the process may have and at most
          1 GiB; `limits` is what is accepted on each connection.
        - `executor` runs handlers that are plain functions, by default the loop's.

        Who is told: `attempt_observer` of each attempt to make a call, `observer` of connections, `logger` of what no
        caller is told.

        Raises TypeError and ValueError, which name the option, what was given and what is wanted; OSError, ssl.SSLError
        for files; ImportError for a WebSocket without its library."""
        check_count(1, running_handlers=running_handlers, connections=connections)
        check_count(0, waiting_calls=waiting_calls, most_endpoints=most_endpoints)
        check_seconds(0, idle_timeout=idle_timeout)
        check_functions(interceptors=interceptors, reverse_interceptors=reverse_interceptors)
        check_callable("dialer", dialer, "an asynchronous function")
        check_object("balancer", balancer, "a balancer", "balance")
        check_object("attempt_observer", attempt_observer, "an observer", "attempt_began", "attempt_ended")
        check_text(none=True, server_hostname=server_hostname)
        check_text(zone=zone)
        check_flags(repeat=repeat)
        check_executor(executor)
        check_logger(logger)
        check_tls(tls, server=False)
        check_codec("codec", codec)
        table = codec_table([*listed_option("codecs", codecs, "codecs"), codec])
        packing = Packing(compression, decompression)
        self._logger = logger or logging.getLogger("trunkcall")
        self._unreached_level = logging.INFO  # of records that say that an endpoint could not be reached
        self._told = Told(observer)
        self._zone = zone
        given = (policies, timeout, repeat, policy_file)
        chosen, repeating = chosen_policies(*given, self._logger, self._told, balancer)
        super().__init__(
            Calling(
                codec,
                table,
                tuple(interceptors),
                packing,
                waiting_calls,
                repeating,
                attempt_observer,
                chosen,
            )
        )
        self._target = Target(target, {} if resolvers is None else resolvers)
        self._tls = TLSSource(tls, for_clients, self._logger)
        self._server_hostname = server_hostname or ""
        secure = tls is not None or self._target.resolver is not None or "wss:" in target
        if server_hostname and not secure:
            raise ValueError(f"option server_hostname: {server_hostname!r} was given, and no TLS that could show it")
        self._dialer = dialer
        self._per_endpoint = connections
        self._idle_timeout = idle_timeout
        load = Load(running_handlers, check_memory(memory))
        self._serving = Serving(table, reverse_interceptors, packing, executor, self._logger, load)
        self._config = session_config(
            Limits() if limits is None else limits,
            table,
            packing.accepted,
            keepalive,
            keepalive_timeout,
            load,
        )
        self._live: dict[ClientEnd, None] = {}  # every connection that is not gone
        self._connect_failures = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._watched = chosen if isinstance(chosen, FilePolicies) else None  # until somebody watches its file
        self._watching: dict[asyncio.Future[None], None] = {}  # those who wait for a change
        self._watchers: list[Callable[[], object]] = []  # are told of each change
        self._single: ClientEndpoint | None = None  # the only endpoint, while no picker has to be asked
        self._endpoints = Endpoints(self, self._target, balancer or round_robin(), most_endpoints)
        if self._target.known:
            self._endpoints.apply(self._target.known)

    @property
    def target(self) -> str:
        return self._target.text

    @property
    def secure(self) -> bool:
        addresses = [address for known in self._target.known for address in known.addresses]
        addresses = addresses or [address for one in self._endpoints.order for address in one.addresses]
        if self._tls:
            return self._dialer is not None or not any(address.name for address in addresses)
        return bool(addresses) and all(address.url.startswith("wss:") for address in addresses)

    @property
    def connections(self) -> list[Connection]:
        """The connections that are up: those over which the server can call, and can be called."""
        return [end.caller for end in self._live if not end.young]

    @property
    def endpoints(self) -> list[EndpointGauges]:
        """How the client stands with each endpoint that it uses."""
        order, file = self._endpoints.order, self._file
        ejected = {} if file is None else file.current.ejected(order)
        return [one.gauges(ejected) for one in order]

    def gauges(self) -> Gauges:
        """What the client has at the moment."""
        carriers = [end.connection for end in self._live]
        return gauges_of(carriers, self._serving, self._calling, connect_failures=self._connect_failures)

    # Opening and closing.

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The loop that the client belongs to. Raises RuntimeError in any other."""
        running = get_running_loop()
        if self._bound is None:
            self._bound = running
        elif running is not self._bound:
            state = "which is closed" if self._bound.is_closed() else "and must be used there"
            raise RuntimeError(f"this client of {self.target} belongs to another event loop, {state}")
        return running

    async def connect(self) -> None:
        """Opens the connections that are not open, of a lazy balancer to the first endpoint that will do, and waits
        until each is open or has failed once, and a server has greeted. Raises StatusError: UNAVAILABLE, `not_sent`,
        if no endpoint is ready then; with a single endpoint if any of its connections has failed."""
        self._check_open()
        endpoints = self._endpoints
        endpoints.wake()
        while True:
            self._check_open()
            if endpoints.lazy and not any(one.trying for one in endpoints.order):
                self._want_first()
            up = [one for one in endpoints.order if one.state is State.READY]
            if not endpoints.unsettled and (up or not endpoints.hopeful):
                break
            await self._changed()
        if not up or (endpoints.alone and any(one.connection is None for one in up[0].connectors)):
            raise failure(Code.UNAVAILABLE, endpoints.trouble or "the connection was lost", Delivery.NOT_SENT)

    async def close(self) -> None:
        """Ends the client: calls that run end CANCELLED, connections are closed, handlers are cancelled. Returns when
        all are done. Raises RuntimeError in one of its handlers."""
        _ = self._loop
        self._serving.not_in_handler("client")
        self._closed = True
        self._endpoints.stop()
        self._changes()
        for task in list(self._tasks):
            task.cancel()
        gone = [end.gone for end in self._live]
        for end in list(self._live):
            end_calls(end.connection, Code.CANCELLED, CLOSED)
        pending = [*gone, *self._tasks]
        if pending:
            await asyncio.wait(pending)
        await self._serving.end()
        await asyncio.sleep(0)  # for the transports' own last callbacks

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs work of the client's own, which `close` waits for, in an empty context: what it opens outlives the call
        that asked for it, so that call's variables and deadline must not hold for it."""
        policies, self._watched = self._watched, None
        if policies is not None:
            self._spawn(policies.watch())
        task = self._loop.create_task(work, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _check_open(self) -> None:
        _ = self._loop
        if self._closed:
            raise failure(Code.CANCELLED, CLOSED, Delivery.NOT_SENT)

    # Connections.

    def _open_socket(self, endpoint: Endpoint) -> OpenSocket | None:
        dialer = self._dialer
        return None if dialer is None else lambda address: dialer(address, endpoint)

    def _next(self, method: Method[Any, Any], *, sampled: bool = True) -> Carrier | None:
        if self._single is not None:
            return self._single.connection()
        return self._endpoints.pick_plainly(method) if sampled else None

    def _pick(self, opening: Opening) -> Carrier | None:
        return self._endpoints.pick(opening)

    async def _connected(self, opening: Opening, wait_for_ready: bool) -> Carrier:
        connection = self._look(opening, wait_for_ready)
        if connection is None:
            with self._calling.queued():
                while connection is None:
                    await self._changed()
                    connection = self._look(opening, wait_for_ready)
        return connection

    def _look(self, opening: Opening, wait_for_ready: bool) -> Carrier | None:
        """A connection for a call, None: it is to wait. Raises StatusError."""
        self._check_open()
        endpoints = self._endpoints
        connection = endpoints.pick(opening)
        if connection is None and not wait_for_ready and not endpoints.hopeful:
            raise failure(Code.UNAVAILABLE, endpoints.trouble or endpoints.none_chosen, Delivery.NOT_SENT)
        return connection

    def _retire(self, connection: Carrier) -> None:
        cast(ClientEnd, connection.end).connector.retire(connection)

    def _queue(self, connection: Carrier) -> Slots:
        return cast(ClientEnd, connection.end).endpoint.slots

    def _endpoint_of(self, connection: Carrier) -> ClientEndpoint | None:
        return cast(ClientEnd, connection.end).endpoint

    @property
    def _ready(self) -> bool:
        return any(one.connection() is not None for one in self._endpoints.order)

    async def _become_ready(self) -> None:
        self._endpoints.wake()
        while not self._ready:
            self._check_open()
            self._seek()
            await self._changed()

    def _seek(self) -> None:
        """Has a lazy balancer's first endpoint connected, if none is or may soon be."""
        if self._endpoints.lazy and not self._endpoints.hopeful:
            self._want_first()

    def _want_first(self) -> None:
        """Has the first endpoint connected that is not failing, as a lazy balancer may want it."""
        for one in self._endpoints.order:
            if one.state is not State.FAILING:
                one.want()
                break

    @property
    def _elsewhere(self) -> bool:
        return self._per_endpoint > 1 or len(self._endpoints.order) > 1

    @property
    def _waits_for(self) -> str:
        if self._endpoints.alone:
            return f"a connection to {self._endpoints.order[0].endpoint}"
        return "an endpoint that is ready" if self._endpoints.order else "the resolver"

    @property
    def _trouble(self) -> str:
        return self._endpoints.trouble

    def _changes(self) -> None:
        """Endpoints or their connections have changed: calls that wait look anew."""
        endpoints = self._endpoints
        single = endpoints.single() if self._featured and not self._closed else None
        self._single = single
        self._waiting = self._slots.waiting if single is None else single.slots.waiting
        several = endpoints.picks_plainly if single is None else self._per_endpoint > 1
        self._several = several and self._plain and not self._closed
        self._quick = single.connection() if single is not None and self._plain and not several else None
        ready = several or single is not None
        self._passes = self._featured and ready and self._quick is None and not self._closed
        watching, self._watching = self._watching, {}
        for one in watching:
            resolve(one)
        for look in self._watchers:
            self._loop.call_soon(look)  # once all of the change is there

    def _watch(self, look: Callable[[], object]) -> Callable[[], None]:
        self._watchers.append(look)
        return lambda: self._watchers.remove(look)

    async def _changed(self) -> None:
        one: asyncio.Future[None] = self._loop.create_future()  # for each its own: to leave costs no search
        self._watching[one] = None
        try:
            await one
        finally:
            self._watching.pop(one, None)
