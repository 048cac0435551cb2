"""One connection, as users see it at either end, and what its session tells."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from .calling import Calling, Calls
from .gauges import ConnectionGauges, connection_gauges
from .opening import CallEvents, Opening
from .servercall import resolve
from .serving import Serving
from .servingend import ServingEnd
from .slots import let_in
from .status import failure
from .transport import Connection as Carrier
from .transport import clock
from .wire import Code, Delivery, Metadata, OutgoingCall

if TYPE_CHECKING:
    from .endpoints import ClientEndpoint

DISCONNECTED = "disconnected by this side"


class Connection(Calls):
    """One connection between a client and a server, at either end. Through it a server calls what its client serves
    (Client.register), and a client calls this one server. `call`, `open` and `send` are those of a Client, with the
    same rules for repeating, waiting and deadlines.

    When it is over or drains, calls through it fail UNAVAILABLE, `not_sent`: no other takes its place. While it drains,
    handlers that still run may call. Handlers have it as `ServerCall.connection`; Server.connections and
    Client.connections list those that are up."""

    _alone = True

    def __init__(self, calling: Calling, end: End) -> None:
        super().__init__(calling)
        self._end = end
        self._carrier = end.connection
        self._bound = end.loop
        if self._plain and not end.draining and end.connection.makes_calls:
            self._quick = self._carrier

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        if asyncio.get_running_loop() is not self._end.loop:
            raise RuntimeError(f"the connection to {self.remote} belongs to another event loop")
        return self._end.loop

    @property
    def remote(self) -> str:
        """The address of the other end."""
        return self._carrier.remote

    @property
    def local(self) -> str:
        """The address of this end."""
        return self._carrier.local

    @property
    def target(self) -> str:
        return self._carrier.remote

    @property
    def tls(self) -> Any:
        """The ssl.SSLObject (or the like of another loop), None in the clear."""
        return self._carrier.tls

    @property
    def secure(self) -> bool:
        return self._carrier.tls is not None

    @property
    def error(self) -> str | None:
        """Why the connection is over, or is ending; None while it is not."""
        return self._end.why

    def gauges(self) -> ConnectionGauges:
        """What the connection has at the moment."""
        return connection_gauges(self._carrier, len(self._waiting), self.error or "")

    def disconnect(self) -> None:
        """Ends the connection at once: calls that are open on it fail, with an unknown delivery, and handlers are
        cancelled. A client opens another with its next calls. Does not wait."""
        if self._carrier.lost:
            return
        self._end.leave()
        self._carrier.session.drain(clock())  # so that a client does not take it for a failure
        end_calls(self._carrier, Code.UNAVAILABLE, DISCONNECTED)

    def __repr__(self) -> str:
        return f"<connection to {self.remote}>"

    # For calls.

    def _check_open(self) -> None:
        _ = self._loop

    @property
    def _ready(self) -> bool:
        session = self._carrier.session
        return session.accepts_calls and not (self._end.draining and not session.callee.open)

    def _pick(self, opening: Opening) -> Carrier | None:
        return self._carrier if self._ready else None

    async def _become_ready(self) -> None:
        if not self._ready:
            raise failure(Code.UNAVAILABLE, f"the connection to {self.remote}: {self._trouble}", Delivery.NOT_SENT)

    async def _connected(self, opening: Opening, wait_for_ready: bool) -> Carrier:
        await self._become_ready()
        return self._carrier

    async def _changed(self) -> None:
        if self._end.gone.done():
            await self._loop.create_future()  # nothing changes any more: who looks again and again must not spin
        await asyncio.shield(self._end.gone)

    def _watch(self, look: Callable[[], object]) -> Callable[[], None]:
        def tell(_: object) -> None:
            look()

        self._end.gone.add_done_callback(tell)
        return lambda: cast(None, self._end.gone.remove_done_callback(tell))

    def _endpoint_of(self, connection: Carrier) -> ClientEndpoint | None:
        return self._end.leads_to()

    @property
    def _trouble(self) -> str:
        if self._ready:
            return ""
        return self._end.why or ("the other side has not greeted yet" if self._end.young else "it takes no more calls")

    def _drains(self) -> None:
        """From now on only handlers that are to finish may call."""
        self._quick = None
        self._slots.try_again()


class CalledOnly(Connection):
    """A connection of HTTP: the server cannot call its client over it."""

    @property
    def _ready(self) -> bool:
        return False

    @property
    def _trouble(self) -> str:
        return "clients cannot be called over HTTP"

    async def _become_ready(self) -> None:
        text = f"the connection to {self.remote}: {self._trouble}"
        raise failure(Code.UNIMPLEMENTED, text, Delivery.NOT_SENT)

    def disconnect(self) -> None:
        self._end.leave()
        self._carrier.abort(DISCONNECTED)


class End(ServingEnd):
    """One end of a connection: calls served and calls made."""

    def __init__(self, serving: Serving, calling: Calling, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(serving, loop)
        self.calling = calling
        self.gone: asyncio.Future[None] = loop.create_future()
        self.draining = False  # for this side's own reasons
        self.why: str | None = None  # it is over, or is ending
        self.young = True  # the other side has not greeted
        self.own_caller: Connection | None = None  # made when somebody asks

    @property
    def caller(self) -> Connection:
        made = self.own_caller
        if made is None:
            kind = Connection if self.connection.makes_calls else CalledOnly
            made = self.own_caller = kind(self.calling, self)
        return made

    def leads_to(self) -> ClientEndpoint | None:
        """The endpoint, at a client."""
        return None

    def leave(self) -> None:
        """This side ends the connection."""
        self.why = self.why or DISCONNECTED

    def drain(self, why: str = "this side drains") -> None:
        """Asks the other side to open no more calls; closes when all are done."""
        self.draining = True
        self.why = self.why or why
        self.connection.drain()
        if self.own_caller is not None:
            self.own_caller._drains()

    def retire(self, why: str) -> None:
        """The connection has reached its age."""
        if self.connection.makes_calls:
            self.drain(why)
        else:
            self.why = self.why or why
            self.connection.retire()

    # What the session tells.

    def opened(self) -> None:
        self.young = False
        self.slot_free()

    def ended(self, call: OutgoingCall) -> None:
        user: Any = call.user
        if not user.done():
            user.set_result(None)

    def header(self, call: OutgoingCall, metadata: Metadata) -> None:
        if isinstance(call.user, CallEvents):
            call.user.header(metadata)

    def arrived(self, call: Any) -> None:
        if not isinstance(call, OutgoingCall):
            call.user._arrived()
        elif isinstance(call.user, CallEvents):
            call.user.arrived()

    def writable(self, call: Any) -> None:
        if not isinstance(call, OutgoingCall):
            call.user._room()
        elif isinstance(call.user, CallEvents):
            call.user.writable()

    def slot_free(self) -> None:
        """Slots are free: calls that wait for one get them."""
        if self.own_caller is not None:
            let_in(self.connection, (self.own_caller._slots,))

    def goes_away(self, reason: int, text: str) -> None:
        self.why = self.why or f"the peer goes away: {text}"
        self.tell_waiting()

    def overdue(self) -> None:
        self.why = self.why or "an answer is overdue"
        self.tell_waiting()

    def failed(self, kind: str, text: str) -> None:
        self.connection.why = text

    def disconnected(self, why: str) -> None:
        self.why = self.why or why
        self.tell_waiting()
        resolve(self.gone)

    def tell_waiting(self) -> None:
        """Calls that wait for a slot of this connection go elsewhere, or fail."""
        if self.own_caller is not None:
            self.own_caller._slots.try_again()


def end_calls(connection: Carrier, code: Code, text: str) -> None:
    """Ends the calls that a connection's own side made, and closes it behind what was sent."""
    connection.session.caller.cancel_all(code, text)
    connection.shut(text)
