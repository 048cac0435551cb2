"""The server: listeners, connections, the methods that are served."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from functools import partial
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from .admission import Admit
from .attempt import AttemptObserver
from .calling import Calling
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
from .connection import Connection
from .gauges import Gauges, gauges_of
from .guests import Guests, chosen_application
from .interceptor import Interceptor
from .memory import check_memory
from .observer import Observer, Told
from .options import (
    DRAIN_GRACE,
    KEEPALIVE_TIMEOUT,
    RUNNING_HANDLERS,
    SERVER_KEEPALIVE,
    WAITING_CALLS,
    Limits,
    codec_table,
    session_config,
)
from .policyfile import FilePath, PolicyFile
from .protocol import PortProtocol, Protocol, check_protocols
from .registering import Registry
from .registrar import Publishing, Registrar
from .repeating import Repeating
from .serverend import ServerEnd, http_of
from .serving import Serving
from .signals import Stopped, stopping_on_signals
from .transport import (
    ALPN_HTTP1,
    ALPN_HTTP2,
    NOTHING_SAID,
    PER_ADDRESS,
    PREFACE_HTTP2,
    SILENT,
    ConnectionLimits,
    Listener,
    TLSFiles,
    TLSSource,
    for_servers,
)
from .transport import Connection as Carrier
from .wire import MAGIC, Load

if TYPE_CHECKING:
    from .http import Http

_CUT_OFF = 1.0  # seconds that peers have to hear that their calls were cut off


class Server(Registry):
    """Owns listeners and the handlers of methods; calls its clients over their connections (`connections`, and in a
    handler `call.connection`). Belongs to the event loop that runs when it first listens, and is used from that loop's
    thread only; methods may be registered before."""

    def __init__(
        self,
        *,
        tls: ssl.SSLContext | TLSFiles | None = None,
        allow_cleartext: bool = False,
        origins: Sequence[str] = (),
        native_only: bool = False,
        interceptors: Sequence[Interceptor] = (),
        reverse_interceptors: Sequence[Interceptor] = (),
        limits: Limits | None = None,
        max_connections: int | None = None,
        max_connections_per_address: int = PER_ADDRESS,
        proxy_protocol: bool = False,
        running_handlers: int = RUNNING_HANDLERS,
        memory: int | None = None,
        repeat: bool = True,
        waiting_calls: int = WAITING_CALLS,
        policy_file: FilePath | None = None,
        keepalive: float = SERVER_KEEPALIVE,
        keepalive_timeout: float = KEEPALIVE_TIMEOUT,
        max_connection_age: float | None = None,
        drain_delay: float = 0.0,
        admission: Admit | None = None,
        attempt_observer: AttemptObserver | None = None,
        observer: Observer | None = None,
        registrar: Registrar | None = None,
        protocols: Sequence[Protocol] = (),
        asgi: Callable[..., Any] | None = None,
        wsgi: Callable[..., Any] | None = None,
        codec: Codec = PROTOBUF,
        codecs: Iterable[Codec] = (),
        compression: Compressions | None = None,
        decompression: Compressions = ACCEPTED,
        executor: Executor | None = None,
        logger: logging.Logger | None = None,
    ) -> None:
        """What may connect:

        - `tls` is an `ssl.SSLContext`, whose ALPN is set, or what `tls_files` makes. With it cleartext is refused,
          unless `allow_cleartext`.
        - With the extra `http` installed gRPC, gRPC-Web and Connect are spoken too, over HTTP/2 and HTTP/1.1, with
          `websocket` WebSockets; with `native_only` none of them.
        - Web pages of `origins`, such as "https://app.example.com", may open WebSockets, besides those of the server's
          own host and port, and read the answers of HTTP; "*" stands for all.
        - `protocols` are ways of your own by which calls come.
        - `asgi` is an application of ASGI 3, such as FastAPI's, `wsgi` one of WSGI, such as Flask's, that is served on
          the same port for the paths that are no services; `admission` and `interceptors` see nothing of its requests,
          which count among the handlers that run. One of WSGI runs on the threads of `executor`. `listen`
          waits until it has started, and `stop` and `close` until it has ended.
        - `max_connections` bounds the connections over sockets, None: only the descriptors of the process do;
          `max_connections_per_address` those from one address, of IPv6 from one network of 64 bits (16,384). One too
          many is told so in its own protocol.
        - With `proxy_protocol` each connection of TCP must come through a proxy and begin with a header of the PROXY
          protocol, version 1 or 2, whose source is then the peer's address.
        - After `keepalive` seconds without input (60) a client is asked for a sign of life (0: never), and given up
          `keepalive_timeout` seconds later (20).
        - A connection that is `max_connection_age` seconds old, a tenth more or less, is drained, so that load spreads
          to new servers behind a load balancer; None: never.

        What holds for the calls that it serves:

        - `policy_file` has the limits that each call passes first (docs/policy.md). It is read again when it changes.
        - `admission` is asked about each call before anything is done for it. `interceptors` wrap the calls.
        - `running_handlers` bounds how many handlers run at once (16,384), `memory` the bytes held for clients, by
          default a quarter of what the process may have and at most 1 GiB. `limits` is what is accepted on each
          connection.
        - `codecs` are accepted beside Protobuf, raw, JSON and MessagePack.
        - Answers are compressed as their requests were. With `compression` answers to plain requests are compressed
          too, with the first that the client accepts; with () none are. `decompression` is what is accepted, by
          default gzip and, where its library is, zstd; (): nothing.
        - `executor` runs handlers that are plain functions, by default the loop's.

        What holds for the calls that it makes at its clients: `codec` is theirs, `compression` too,
        `reverse_interceptors` wrap them, `waiting_calls` bounds how many wait for a free slot (4,096), and with
        `repeat` one that was refused and may be accepted later is made again (spec/client.md). `attempt_observer` is
        told of each attempt to make one.

        `registrar` publishes the server when it listens (`trunkcall.registry`). `stop` withdraws it first, then
        serves on for `drain_delay` seconds, in which clients and load balancers forget it, before it begins.
        `observer` is told of listeners and connections, `logger` of what no caller is told and of the calls that no
        handler answers; by default that is `logging.getLogger("trunkcall")`.

        Raises TypeError and ValueError, which name the option, what was given and what is wanted; OSError, ssl.SSLError
        for files of TLS."""
        pages = listed_option("origins", origins, 'texts, such as "https://app.example.com"')
        for one in pages:
            check_text(origins=one)
        check_flags(
            allow_cleartext=allow_cleartext, native_only=native_only, proxy_protocol=proxy_protocol, repeat=repeat
        )
        check_count(1, running_handlers=running_handlers, max_connections_per_address=max_connections_per_address)
        check_count(1, none=True, max_connections=max_connections)
        check_count(0, waiting_calls=waiting_calls)
        check_seconds(0, drain_delay=drain_delay)
        check_seconds(0, none=True, max_connection_age=max_connection_age)
        check_functions(interceptors=interceptors, reverse_interceptors=reverse_interceptors)
        check_callable("admission", admission)
        check_object("attempt_observer", attempt_observer, "an observer", "attempt_began", "attempt_ended")
        check_object("registrar", registrar, "a registrar", "publish", "withdraw")
        check_callable("asgi", asgi, "an application of ASGI")
        check_callable("wsgi", wsgi, "an application of WSGI")
        check_executor(executor)
        check_logger(logger)
        check_tls(tls, server=True)
        check_codec("codec", codec)
        self._origins = None if native_only else pages
        if allow_cleartext and tls is None:
            raise ValueError("option allow_cleartext: True was given, and no tls, beside which cleartext is allowed")
        self._allow_cleartext = allow_cleartext
        self._logger = logger or logging.getLogger("trunkcall")
        own: tuple[Protocol, ...] = listed_option("protocols", protocols, "Protocol objects")
        check_protocols(own, [MAGIC] if native_only else [MAGIC, b"GET / HTTP/1.1\r\n", PREFACE_HTTP2])
        self._has_http = not native_only and all(find_spec(name) is not None for name in ("h2", "h11"))
        application = chosen_application(asgi, wsgi, executor, self._lacks_http())
        names = [] if native_only else [ALPN_HTTP2, ALPN_HTTP1] if self._has_http else [ALPN_HTTP1]
        for one in own:
            names += one.alpn if isinstance(one, PortProtocol) else ()
        self._tls = TLSSource(tls, for_servers, self._logger, *names)
        table = codec_table([*listed_option("codecs", codecs, "codecs"), codec])
        self._told = Told(observer)
        self._max_age = max_connection_age
        self._drain_delay = drain_delay
        self._publishing = Publishing(registrar, self._logger)
        self._registered = self._publishing.registered
        load = Load(running_handlers, check_memory(memory))
        packing = Packing(compression, decompression)
        self._policies = None if policy_file is None else PolicyFile(policy_file, self._logger, self._told)
        self._serving = Serving(table, interceptors, packing, executor, self._logger, load, admission, self._policies)
        self._calling = Calling(
            codec, table, tuple(reverse_interceptors), packing, waiting_calls, Repeating(repeat), attempt_observer
        )
        self._config = session_config(
            Limits() if limits is None else limits,
            table,
            packing.accepted,
            keepalive,
            keepalive_timeout,
            load,
        )
        self._packing = packing
        self._http: Http | None = None  # once somebody speaks HTTP
        self._connection_limits = ConnectionLimits(max_connections, max_connections_per_address)
        self._proxied = proxy_protocol
        self._listeners: list[Listener] = []
        self._addresses: list[str] = []
        self._connections: dict[ServerEnd, None] = {}
        self._leaving = asyncio.Event()
        self._stopping = asyncio.Event()
        self._guests = Guests(own, application, self._serving, self._stopping, self._config.settings.max_message)
        self._closing = False
        self._rejected_count = 0
        self._stopped: asyncio.Future[None] | None = None
        self._leaves = 0.0  # when the drain delay is over, by the loop's clock
        self._bound: asyncio.AbstractEventLoop | None = None

    def _lacks_http(self) -> str | None:
        """Why no HTTP is served, None if it is."""
        if self._has_http:
            return None
        return "native_only" if self._origins is None else "its packages are not installed (trunkcall[http])"

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The loop that the server belongs to. Raises RuntimeError in any other."""
        running = asyncio.get_running_loop()
        if self._bound is None:
            self._bound = running
            self._stopped = running.create_future()
        elif running is not self._bound:
            raise RuntimeError("this server belongs to another event loop")
        return running

    # Listening.

    async def listen(self, where: str | socket.socket, *, reuse_port: bool = False) -> str:
        """Listens on HOST:PORT, port 0 for any free one, unix:PATH, or mem:NAME for clients of this process and event
        loop, without TLS, and returns the address in the same form. A socket that listens already is taken from its
        object, which is as good as closed then, and closed when the server stops listening: processes that were forked
        with it share its connections, of which each takes some. Where this raises ValueError or TypeError, the socket
        is still yours. With `reuse_port` any number of processes of one user may listen on the same HOST:PORT, among
        which the system shares out the connections (SO_REUSEPORT).

        Raises OSError; RuntimeError once the server was stopped, also while this was under way."""
        check_flags(reuse_port=reuse_port)
        loop = self._loop
        if self._stopping.is_set():
            raise Stopped("the server has been stopped")
        await self._guests.start_protocols()
        await self._guests.start_application()
        listener = Listener(
            loop,
            self._accept,
            self._turned_away,
            self._tls,
            self._allow_cleartext,
            self._origins,
            self._guests.on_port,
            self._guests.connected,
            self._pauses,
            self._serve_http if self._has_http else None,
            self._connection_limits,
            self._proxied,
        )
        try:
            await listener.start(where, reuse_port)
        except OSError as error:
            error.filename = error.filename or str(where)  # which its text has then
            self._logger.error("cannot listen on %s: %s", where, error)
            self._told.tell("listen_failed", str(where), error)
            raise
        if self._stopping.is_set():  # meanwhile: nobody else would close it
            listener.close()
            raise Stopped("the server has been stopped")
        if self._policies is not None:
            self._policies.begin(loop)
        self._listeners.append(listener)
        self._addresses.append(str(listener.address))
        self._publish(listener)
        self._logger.info("listening on %s", listener.address)
        self._told.tell("listening", str(listener.address))
        return str(listener.address)

    def _publish(self, listener: Listener) -> None:
        try:
            self._publishing.publish(self)
        except BaseException:
            self._listeners.remove(listener)
            self._addresses.remove(str(listener.address))
            listener.close()
            raise

    async def serve(
        self,
        *where: str | socket.socket,
        reuse_port: bool = False,
        signals: bool | None = None,
        grace: float | None = DRAIN_GRACE,
    ) -> None:
        """Listens on each of `where`, as `listen` does, and serves until the server has been stopped. It returns when
        `stop` or `close` is done, so that a program may then exit without losing a call. Raises as `listen`.

        With `signals` SIGTERM or SIGINT (Ctrl-C) begins `stop(grace)`, and a second one `close`: True, in the main
        thread only; None: in the main task of `asyncio.run`, unless the program handles the signal; False: never."""
        check_seconds(0, none=True, grace=grace)
        _ = self._loop
        async with stopping_on_signals(signals, partial(self.stop, grace), self.close):
            await self._guests.start_protocols()
            for one in where:
                await self.listen(one, reuse_port=reuse_port)
            await self._until_stopped()

    async def _until_stopped(self) -> None:
        """Returns when `stop` or `close` is done, whoever has called it."""
        loop = self._loop
        await asyncio.shield(self._stopped or loop.create_future())

    @property
    def leaving(self) -> asyncio.Event:
        """Set when `stop` or `close` begins. From then on health checks should fail, although the server still serves
        for the drain delay. Do not set or clear it."""
        return self._leaving

    @property
    def stopping(self) -> asyncio.Event:
        """Set when the server takes no more calls: when `stop` begins, or after the drain delay. A handler whose stream
        has no end of its own should end it then. Do not set or clear it."""
        return self._stopping

    def gauges(self) -> Gauges:
        """What the server has at the moment."""
        carriers = [end.connection for end in self._connections]
        return gauges_of(carriers, self._serving, self._calling, rejected_connections=self._rejected_count)

    @property
    def addresses(self) -> list[str]:
        """The addresses that are listened on."""
        return list(self._addresses)

    @property
    def port(self) -> int:
        """The port of the first TCP listener, 0 without one."""
        return next((listener.address.port for listener in self._listeners if listener.address.port), 0)

    @property
    def connections(self) -> list[Connection]:
        """The connections that are up: those whose clients can be called."""
        return [end.caller for end in self._connections if not end.young]

    def _accept(self, since: int) -> Carrier:
        return Carrier(
            self._loop,
            ServerEnd(self),
            initiator=False,
            config=self._config,
            methods=self._serving.methods,
            since=since,
        )

    def _serve_http(self) -> Http:
        """What serves HTTP. Its libraries are loaded for the first client that speaks it."""
        if self._http is None:
            self._http = http_of(self)
        return self._http

    def _turned_away(self, remote: str, why: str) -> None:
        self._rejected_count += 1
        level = logging.DEBUG if why in (NOTHING_SAID, SILENT) else logging.WARNING
        self._serving.journal.log(level, "connection rejected: %s: %s", remote or "a client", why)

    def _pauses(self, why: str) -> None:
        self._serving.journal.log(logging.WARNING, "accepting pauses for %s", why)

    def _connected(self, end: ServerEnd) -> None:
        self._connections[end] = None
        self._logger.debug("connected: %s", end.connection.remote)
        if self._closing:  # accepted before, and nobody waits for it
            end.connection.abort("the server has been stopped")
        elif self._stopping.is_set():
            end.drain()

    def _disconnected(self, end: ServerEnd, why: str) -> None:
        self._connections.pop(end, None)
        self._serving.journal.log(logging.DEBUG, "disconnected: %s: %s", end.connection.remote, why)

    # Stopping.

    async def stop(self, grace: float | None = DRAIN_GRACE) -> bool:
        """Ends the server without losing a call: stops listening, asks its peers to open no more calls, waits until
        those that run are answered and the one-way calls that were accepted are done, and closes. Handlers may still
        call their callers meanwhile. With `drain_delay` all that begins after the delay, and so does `grace`. What is
        left after `grace` seconds is cut off; None: nothing ever is. Returns True if nothing was. Raises RuntimeError
        in a handler of the server."""
        check_seconds(0, none=True, grace=grace)
        await self._leave()
        self._begin_stop()
        began = self._loop.time()
        for end in list(self._connections):
            end.drain()
        await self._guests.stop_protocols()
        left = await self._gone(grace)
        for end in left:
            end.connection.grace_over()
        if left:
            await self._gone(_CUT_OFF)
        elif accepted := self._serving.unanswered():
            rest = None if grace is None else max(grace - (self._loop.time() - began), 0.0)
            await asyncio.wait(accepted, timeout=rest)
        all_done = not left and not self._serving.unanswered()
        await self.close()
        return all_done

    async def close(self) -> None:
        """Ends the server at once: running calls lose their connection and their handlers are cancelled. Returns
        when the handlers have. Raises RuntimeError in one of them."""
        self._begin_stop()
        self._publishing.begin()
        self._closing = True
        for end in list(self._connections):
            end.connection.abort("the server has been stopped")
        await self._gone(None)
        self._guests.cancel_connections()
        if self._policies is not None:
            self._policies.end()
        await self._serving.end()
        await self._guests.end()
        await self._publishing.end()
        await asyncio.sleep(0)  # for the transports' own last callbacks
        if self._stopped is not None and not self._stopped.done():
            self._stopped.set_result(None)

    async def _leave(self) -> None:
        """Says that the server is about to go, and waits for the drain delay, unless `close` is called meanwhile."""
        loop = self._loop
        self._serving.not_in_handler("server")
        self._leaving.set()
        await self._publishing.done(unless=self._stopping)
        self._leaves = self._leaves or loop.time() + self._drain_delay
        if self._leaves > loop.time():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(self._leaves):
                    await self._stopping.wait()

    async def _gone(self, seconds: float | None) -> list[ServerEnd]:
        """Waits until all connections are gone, also those that come late; returns those that are not in time."""
        until = None if seconds is None else self._loop.time() + seconds
        while self._connections:
            left = None if until is None else max(until - self._loop.time(), 0.0)
            _, waiting = await asyncio.wait([end.gone for end in self._connections], timeout=left)
            if waiting:
                break
        return list(self._connections)

    def _begin_stop(self) -> None:
        _ = self._loop
        self._serving.not_in_handler("server")
        self._leaving.set()
        self._stopping.set()
        for listener in self._listeners:
            try:
                listener.close()
            except Exception:  # the others are to be closed, and connections drained, none the less
                self._logger.exception("listening on %s could not be ended in order", listener.address)
        self._listeners = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.stop()
        else:
            await self.close()
