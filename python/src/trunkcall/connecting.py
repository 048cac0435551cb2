"""A client's connections to one endpoint: opening them, trying again, and what becomes of them (client.md 9)."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, cast

from .backoff import pause
from .connection import End
from .servercall import resolve
from .slots import let_in
from .status import spelled
from .transport import Connection, DialError, Dialing, TurnedAway, clock, described, dial

if TYPE_CHECKING:
    from .endpoints import ClientEndpoint

STEADY = 5_000_000  # µs after which the end of a connection counts as no failure of the attempt that opened it
_LOOKS = 4  # within the idle timeout
_PROXY = "; TLS has negotiated no protocol: behind a proxy that ends TLS, use wss:"


class ClientEnd(End):
    """A client's end of one connection."""

    def __init__(self, connector: Connector) -> None:
        self.client = client = connector.endpoint.client
        super().__init__(client._serving, client._calling, client._loop)
        self.connector = connector
        self.endpoint = connector.endpoint
        self.began = clock()
        self.greeted: asyncio.Future[None] = client._loop.create_future()  # or gone
        self.taken = False  # calls use it, or did
        self.leaving = False  # it drains or is replaced, or its loss was counted: no failure when it ends
        self.fault = ""  # why the server turned the client away

    def connected(self) -> None:
        self.client._live[self] = None
        self.endpoint.live[self] = None

    def opened(self) -> None:
        resolve(self.greeted)
        super().opened()

    def leads_to(self) -> ClientEndpoint:
        return self.endpoint

    async def greeting(self) -> None:
        """Waits until the server has greeted. Raises TurnedAway."""
        await asyncio.shield(self.greeted)
        if not self.usable:
            raise TurnedAway(self.fault or "it takes no calls")

    @property
    def usable(self) -> bool:
        return not self.connection.lost and self.connection.session.accepts_calls

    def slot_free(self) -> None:
        own, slots = self.own_caller, self.endpoint.slots
        if own is not None and own._waiting:
            let_in(self.connection, (slots, own._slots))
        elif slots.waiting:
            let_in(self.connection, (slots,))

    def _was_good(self, drained: bool = True) -> None:
        """Forgets the attempts that failed: they are in a row with no others once a connection has lasted, or was
        drained."""
        if self.taken and (drained or clock() - self.began >= STEADY):
            self.connector.failures = 0

    def leave(self) -> None:
        super().leave()
        self._was_good()
        self.leaving = True
        self.connector.retire(self.connection)

    def goes_away(self, reason: int, text: str) -> None:
        self._was_good(drained=not reason)
        if reason:
            self.fault = f"the peer ended the connection: {text}"
            if self.taken:
                self.connector.failed(f"cannot reach {self.connection.remote}: {self.fault}")
        words = (self.connection.remote, text, reason)
        self.serving.journal.log(logging.INFO, "server %s goes away: %s (reason %d)", *words)
        self.leaving = True
        super().goes_away(reason, text)
        self.connector.retire(self.connection)

    def overdue(self) -> None:
        self._was_good()
        self.leaving = True
        super().overdue()
        self.connector.retire(self.connection)

    def spelled(self, why: str) -> str:
        """Why the connection is over, with what else is known of a server that has not greeted."""
        if self.young:
            if not self.connection.why:
                fault = self.connection.fault
                why = f"closed before a greeting{f' ({described(fault)})' if fault is not None else ''}"
                why += ": it may not be a Trunkcall server"
            if self.connection.tls is not None and self.connection.tls.selected_alpn_protocol() is None:
                why += _PROXY
        return why

    def count(self, why: str) -> None:
        """Has the loss of the connection counted, and the pause begin; once, by whoever notices it first."""
        if not self.taken or self.leaving or self.client._closed:
            return
        self.leaving = True
        remote = self.connection.remote
        if clock() - self.began >= STEADY:
            self.connector.lost()
        elif self.young:
            self.connector.failed(f"cannot reach {remote}: {why}")
        else:
            self.connector.failed(f"the connection to {remote} ended: {why}")

    def failed(self, kind: str, text: str) -> None:
        if kind == "preface":
            said, colon, advice = text.partition(": ")
            text = f"this is not a Trunkcall server ({said}){colon}{advice}"
        super().failed(kind, text)
        self.fault = self.fault or self.connection.why
        resolve(self.greeted)

    def disconnected(self, why: str) -> None:
        remote, client = self.connection.remote, self.client
        why = self.spelled(why)
        self.fault = self.fault or why
        if self.taken and not client._closed and not self.leaving:
            if clock() - self.began >= STEADY:
                self.connector.lost()
            elif self.young:
                self.connector.failed(f"cannot reach {remote}: {why}")
            else:
                self.connector.failed(f"the connection to {remote} ended: {why}")
        self.serving.journal.log(logging.DEBUG, "disconnected from %s: %s", remote, why)
        if self.taken and not self.young:
            client._told.ended(self.caller, self.connection.fault, self.why or why)
        del client._live[self]
        del self.endpoint.live[self]
        self.connector.retire(self.connection)
        resolve(self.greeted)
        super().disconnected(why)


class Connector:
    """Keeps one connection to an endpoint. Used on the client's loop only."""

    def __init__(self, endpoint: ClientEndpoint) -> None:
        self.endpoint = endpoint
        self.connection: Connection | None = None  # that new calls may use
        self.failures = 0  # attempts in a row that failed
        self.last = ""  # why the last one did
        self.due = 0  # µs: the next attempt not before
        self.attempt: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None  # until the next attempt
        self._idle: asyncio.TimerHandle | None = None  # until it is looked whether the connection is used
        self._mark: int | None = None  # what was seen then, which changes with each call
        self._unused = 0  # how many looks ago it last did

    @property
    def trying(self) -> bool:
        """Whether an attempt is under way, or as good as that: after a connection that has lasted."""
        return self.attempt is not None or (self.timer is not None and not self.failures)

    @property
    def next_attempt(self) -> float | None:
        """Seconds until the next attempt, 0 while one is under way; None if none is to come."""
        if self.attempt is not None:
            return 0.0
        return None if self.timer is None else max((self.due - clock()) / 1e6, 0.0)

    def want(self) -> None:
        """Opens a connection if there is none, at once or when the pause is over."""
        endpoint = self.endpoint
        if self.connection is not None or self.attempt is not None or self.timer is not None:
            return
        if endpoint.left or endpoint.client._closed:
            return
        pause = (self.due - clock()) / 1e6
        if pause > 0:
            self.timer = endpoint.client._loop.call_later(pause, self._again)
        else:
            self._begin()
        endpoint.changed()

    def _again(self) -> None:
        """The pause is over: dials, unless the client has become idle meanwhile (client.md 9.1)."""
        if not self.endpoint.client._endpoints.asleep:
            self._begin()
            return
        self.timer, self.failures = None, 0
        self.endpoint.tried()

    def _begin(self) -> None:
        self.timer = None
        attempt = self.endpoint.client._spawn(self._dial())
        self.attempt = None if attempt.done() else attempt  # an eager one may be

    async def _dial(self) -> None:
        client, endpoint = self.endpoint.client, self.endpoint
        try:
            async with endpoint.opening:
                made = await dial(
                    client._loop,
                    Dialing(
                        endpoint.addresses,
                        self._make,
                        client._tls.context(),
                        client._server_hostname or endpoint.endpoint.server_name,
                        client._open_socket(endpoint.endpoint),
                        _greeting,
                        client._endpoints.alone,
                    ),
                )
            end = cast(ClientEnd, made.end)
            if end.usable:
                self._take(end)
            else:
                self.failed(f"cannot reach {made.remote}: {end.fault or 'it takes no calls'}")
        except DialError as error:
            self.failed(f"cannot reach {error}")
        except Exception as error:
            client._logger.exception("connecting to %s failed in an unforeseen way", endpoint.endpoint)
            self.failed(f"cannot reach {endpoint.endpoint}: {spelled(error)}")
        finally:
            self.attempt = None
            endpoint.tried()
        self.want()

    def _make(self) -> Connection:
        client = self.endpoint.client
        methods = client._serving.methods
        return Connection(client._loop, ClientEnd(self), initiator=True, config=client._config, methods=methods)

    def _take(self, end: ClientEnd) -> None:
        client = self.endpoint.client
        self.connection = end.connection
        end.taken = True
        client._logger.debug("connected to %s", end.connection.remote)
        client._told.tell("connected", end.caller)
        if client._idle_timeout:
            self._mark, self._unused = None, 0
            self._look_later(end.connection)

    def failed(self, why: str) -> None:
        """Notes a failure and when the next attempt is due, at random within a time that doubles."""
        self.last = why
        self.failures += 1
        self.due = clock() + int(pause(self.failures) * 1e6)
        self.endpoint.failed(why)

    def lost(self) -> None:
        """A connection that had lasted is gone."""
        self.failures = 0
        self.due = clock() + int(pause(1) * 1e6)

    def retire(self, connection: Connection) -> None:
        """Has later calls use another connection, which is opened unless the balancer is lazy."""
        if self.connection is not connection:
            return
        self.connection = None
        end = cast(ClientEnd, connection.end)
        end.count(end.spelled(connection.why or "closed"))  # a call may be the first to see that it is over
        self.endpoint.tried()
        self.endpoint.slots.try_again()
        if not self.endpoint.client._endpoints.lazy or self.failures:
            self.want()

    def _look_later(self, connection: Connection) -> None:
        after = self.endpoint.client._idle_timeout / _LOOKS
        self._idle = self.endpoint.client._loop.call_later(after, self._look, connection)

    def _look(self, connection: Connection) -> None:
        """Closes a connection that had no call for the idle timeout. The next call opens another."""
        if self.connection is not connection:
            return
        seen = self._seen(connection)
        self._unused = 0 if seen is None or seen != self._mark else self._unused + 1
        self._mark = seen
        if not self.unused or not self.endpoint.client._endpoints.close_unused(self):
            self._look_later(connection)

    def _seen(self, connection: Connection) -> int | None:
        """What changes with each call; None while one is open."""
        caller, callee = connection.session.caller, connection.session.callee
        return None if caller.open or callee.open else sum(caller.words) + sum(callee.words)

    @property
    def unused(self) -> bool:
        """Whether there is a connection and no call went over it for the idle timeout."""
        connection = self.connection
        return connection is not None and self._unused > _LOOKS and self._seen(connection) == self._mark

    def close(self) -> None:
        """Closes the connection; the next call has another opened."""
        if self.connection is not None:
            self._drain(self.connection)
            self.endpoint.tried()

    def leave(self) -> None:
        """The endpoint has left: what runs goes on, and nothing new begins."""
        if self.attempt is not None:
            self.attempt.cancel()
        self.stop()
        if self.connection is not None:
            self._drain(self.connection)

    def _drain(self, connection: Connection) -> None:
        self.connection = None
        end = cast(ClientEnd, connection.end)
        end._was_good()
        end.leaving = True
        end.drain()

    def stop(self) -> None:
        for timer in (self.timer, self._idle):
            if timer is not None:
                timer.cancel()
        self.timer = self._idle = None


async def _greeting(made: Connection) -> None:
    await cast(ClientEnd, made.end).greeting()
