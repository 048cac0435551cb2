"""The endpoints of a client: the set that there is, how each stands, and where a call goes (client.md 7 to 10)."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .balancer import Balancer, Counter, Outcome, Pick, Picker, PickObserver, even_turns, is_ours
from .connecting import ClientEnd, Connector
from .differences import differences, exchanged
from .endpoint import Endpoint, EndpointState, State
from .gauges import EndpointGauges
from .latency import MovingLatency
from .placing import Chooser, Chosen
from .rendezvous import Ranking
from .resolver import Resolved, Resolving, Target
from .slots import Slots
from .status import failure
from .transport import Address, Connection, clock, monotonic
from .wire import Code, Delivery, Status

if TYPE_CHECKING:
    from .client import Client
    from .method import Kind, Method
    from .opening import Opening

_OPENING = 64  # connections to an endpoint that are opened at a time (client.md 9.3)
_STAY = 64  # calls made over one connection of an endpoint before another is looked at
_NAMED = 8  # endpoints that an error names

_NONE_LIVE: dict[ClientEnd, None] = {}
_UNSAMPLED = MovingLatency()

# A connection, its endpoint, and the calls that wait for a slot there.
Way = tuple[Connection, "ClientEndpoint", Collection[object]]


class ClientEndpoint(EndpointState):
    """An endpoint of a client, with its connections."""

    def __init__(self, client: Client, endpoint: Endpoint, addresses: tuple[Address, ...]) -> None:
        super().__init__(endpoint)
        self.client = client
        self.addresses = addresses
        self.left = False  # it is in the set no more
        self.last = ""  # why the last attempt failed
        # Its own once it is wanted, which of the many of a lazy balancer most never are.
        self.connectors: Sequence[Connector] = ()
        self.live = _NONE_LIVE  # every connection that is not gone
        self.slots = client._slots  # where nobody waits
        self.latencies = _UNSAMPLED
        self._turn = 0
        self._uses = 0

    @property
    def calls(self) -> int:
        return sum(end.connection.session.caller.open for end in self.live)

    @property
    def latency(self) -> float | None:
        moving = self.latencies.at(monotonic.nanoseconds())
        return None if moving is None else int(moving) / 1e9

    @property
    def failures(self) -> int:
        return max((one.failures for one in self.connectors), default=0)

    @property
    def trying(self) -> bool:
        """Whether an attempt to connect is under way."""
        return any(one.trying for one in self.connectors)

    def gauges(self, ejected: Mapping[str, Collection[str]]) -> EndpointGauges:
        """`ejected` are the identities of the endpoints that are left out, by scopes."""
        due = [wait for one in self.connectors if (wait := one.next_attempt) is not None]
        return EndpointGauges(
            endpoint=self.endpoint,
            state=self.state,
            connections=tuple(end.caller.gauges() for end in self.live),
            calls=self.calls,
            latency=self.latency,
            failures=self.failures,
            error=self.last,
            next_attempt=min(due, default=None),
            ejected=tuple(scope for scope, left_out in ejected.items() if self.endpoint.identity in left_out),
        )

    def sample(self, kind: Kind, status: Status, picked_at: int) -> int:
        """A call has ended that was picked for then, in ns; how long it took."""
        now = monotonic.nanoseconds()
        self.latencies.ended(kind, status, now - picked_at, now)
        return now - picked_at

    def exchange(self, endpoint: Endpoint) -> None:
        """Takes another description of the same endpoint."""
        self._endpoint = endpoint

    def want(self) -> None:
        """Has its connections opened."""
        self.prepare()
        for one in self.connectors:
            one.want()

    def prepare(self) -> None:
        """Makes what it takes to connect."""
        if not self.connectors:
            self.live = {}
            self.slots = Slots(self.client._calling)
            self.latencies = MovingLatency()
            self.opening = asyncio.Semaphore(_OPENING)
            self.connectors = [Connector(self) for _ in range(self.client._per_endpoint)]

    def connection(self) -> Connection | None:
        """A connection for the next call, if there is one: of several the less loaded of two, now and then."""
        connectors = self.connectors
        if len(connectors) == 1:
            return connectors[0].connection
        if not connectors:
            return None
        self._uses += 1
        found = connectors[self._turn].connection
        if found is not None and self._uses % _STAY:
            return found
        for _ in connectors:
            self._turn = (self._turn + 1) % len(connectors)
            other = connectors[self._turn].connection
            if other is None:
                connectors[self._turn].want()
            elif found is None or other.session.caller.open <= found.session.caller.open:
                return other
        return found

    # What its connectors tell.

    def failed(self, why: str) -> None:
        self.last = why
        client = self.client
        client._serving.journal.log(client._unreached_level, "no connection: %s", why)
        client._connect_failures += 1
        client._told.tell("connect_failed", str(self.endpoint), why)
        client._endpoints.endpoint_failed()

    def tried(self) -> None:
        """An attempt has ended, or a connection takes no more calls."""
        self._update()
        self.client._endpoints.changed()

    def changed(self) -> None:
        """What its state follows from has changed."""
        if self._update():
            self.client._endpoints.changed()

    def _update(self) -> bool:
        connectors = self.connectors
        if any(one.connection is not None for one in connectors):
            state = State.READY
        elif any(one.failures for one in connectors):
            state = State.FAILING
        elif any(one.attempt is not None or one.timer is not None for one in connectors):
            state = State.CONNECTING
        else:
            state = State.IDLE
        changed = state is not self._state
        self._state = state
        return changed

    def leave(self) -> None:
        """It has left the set: no new calls, those that run end, then its connections close."""
        self.left = True
        for one in self.connectors:
            one.leave()
        self._update()
        self.slots.try_again()


class Picked:
    """A pick, until its call has ended."""

    __slots__ = ("_at", "_observer", "endpoint")

    def __init__(self, endpoint: ClientEndpoint, observer: PickObserver | None) -> None:
        self.endpoint = endpoint
        self._observer = observer
        self._at = monotonic.nanoseconds()

    def ended(self, opening: Opening, status: Status) -> None:
        duration = self.endpoint.sample(opening.method.kind, status, self._at)
        if self._observer is not None:
            try:
                self._observer.ended(self.endpoint, Outcome(status, duration / 1e9))
            except (Exception, asyncio.CancelledError) as error:
                journal = self.endpoint.client._serving.journal
                journal.log(logging.ERROR, "a picker failed when it was told of the end of a call", error=error)


class Turns:
    """Connections that take turns, while each endpoint that is ready has one and weighs as much as the others: what
    pickers of `round_robin` choose, without asking one."""

    __slots__ = ("counter", "each", "number", "sampled")

    def __init__(self, each: Sequence[Way], counter: Counter, sampled: bool) -> None:
        """`sampled`: how long calls take is wanted to be known."""
        self.each = each
        self.number = len(each)
        self.counter = counter
        self.sampled = sampled


class Endpoints:
    """All endpoints of a client. Used on the client's loop only."""

    def __init__(self, client: Client, target: Target, balancer: Balancer, most: int) -> None:
        """`most` is how many are used at a time, 0: all."""
        self.order: tuple[ClientEndpoint, ...] = ()
        self.lazy = bool(getattr(balancer, "lazy", False))
        self.ranking = Ranking(random.getrandbits(64))
        self._client = client
        self._target = target
        self._balancer = balancer
        self._most = most
        self._resolving: Resolving | None = None
        self._set: list[Resolved] = []  # whose endpoints those are
        self._picker: Picker | None = None
        self._observer: PickObserver | None = None  # the picker, if it wants to know how calls end
        self._fault = ""  # what is wrong with the balancer
        self._stale = False  # the picker is of another set, or of other states
        self._any = Chooser(None, None, None) if is_ours(balancer) else None  # for hedges
        self._version = 0  # of the set and the states in it
        self._awake = False  # somebody has wanted connections

    @property
    def alone(self) -> bool:
        """Whether the set has a single endpoint."""
        return len(self.order) == 1

    # The set.

    def wake(self) -> None:
        """Begins to resolve and to connect, if that has not begun."""
        if self._awake:
            return
        self._awake = True
        if self._target.resolver is not None and self._resolving is None:
            self._resolving = Resolving(self._target, self.apply, self._client._changes, self._client._logger)
            self._client._spawn(self._resolving.run())
        self._connect(self.order)

    def close_unused(self, one: Connector) -> bool:
        """Closes a connection that nobody uses. Where the balancer wants all connected they are closed together, once
        none is used or being opened: calls would go to those only that are left. Whether anything was closed."""
        unused = [one]
        if not self.lazy:
            unused = [connector for endpoint in self.order for connector in endpoint.connectors]
            if any(not connector.unused and (connector.connection or connector.attempt) for connector in unused):
                return False
        self._awake = False  # the next call has them connected again
        for connector in unused:
            connector.close()
        return True

    @property
    def asleep(self) -> bool:
        """Whether nobody wants connections now, where the balancer wants all: they were closed for being idle."""
        return not self._awake and not self.lazy

    def _connect(self, those: Iterable[ClientEndpoint]) -> None:
        if self._awake and not self.lazy:
            for one in those:
                one.want()

    def apply(self, found: list[Resolved]) -> None:
        """Exchanges the set: new ones first, then those that are in it no more are drained. `found` is not changed
        later."""
        if self._client._closed:
            return
        found = self._part(found)
        where = differences(self._set, found)
        if not where:  # what has changed is none of this client's
            return
        there = {one.endpoint.identity: one for part in where for one in self.order[part.went]}
        came = [[self._known(one, there) for one in found[part.came]] for part in where]
        self._set, self.order = found, tuple(exchanged(self.order, where, came))
        self._connect(one for part in came for one in part)
        for one in there.values():
            one.leave()
        self.changed()

    def _known(self, one: Resolved, there: dict[str, ClientEndpoint]) -> ClientEndpoint:
        """The endpoint of a description: of those that are there one may be the same, which stays."""
        old = there.get(one.identity)
        if old is None or not _same(old.endpoint, one.endpoint):
            return ClientEndpoint(self._client, one.endpoint, one.addresses)
        old.exchange(one.endpoint)
        return there.pop(one.identity)

    def _part(self, found: list[Resolved]) -> list[Resolved]:
        """Those of a set that this client uses, in its order."""
        if self.lazy or not self._most or len(found) <= self._most:
            self.ranking.forget()
            return found
        return self.ranking.best(found, self._most)

    def endpoint_failed(self) -> None:
        if self._resolving is not None:
            self._resolving.endpoint_failed()

    def changed(self) -> None:
        """The set or a state in it has changed."""
        self._stale = True
        self._client._turns = None
        self._version += 1
        self._client._changes()

    def stop(self) -> None:
        """The client is closed."""
        self._client._turns = None
        if self._resolving is not None:
            self._resolving.stop()
        for one in self.order:
            for connector in one.connectors:
                connector.stop()
            one.slots.try_again()

    # Picking.

    def single(self) -> ClientEndpoint | None:
        """The one endpoint that there is, if it is ready and no picker has to be asked."""
        if not self.alone or self.order[0].state is not State.READY:
            return None
        if self._stale:
            self._balance()
        return self.order[0] if self._observer is None and self._awake and not self._fault else None

    def pick(self, opening: Opening) -> Connection | None:
        """A connection for a call; None if there is none now. Raises StatusError: INTERNAL, `not_sent`."""
        opening.unpick()
        self.wake()
        if not self.order:
            return None
        if (single := self.single()) is not None:
            return single.connection()
        if self._stale:
            self._balance()
        chooser = opening.chooser or (self._any if opening.tried else None)
        found = self._ask(Pick(opening.method, opening.metadata, opening.avoid), chooser, opening.tried)
        if found is None:
            return None
        opening.picked = Picked(found, self._observer if chooser is None else None)
        connection = found.connection()
        if connection is None:
            opening.unpick()
            found.want()
        return connection

    @property
    def picks_plainly(self) -> bool:
        """Whether `pick_plainly` may be asked: there are several endpoints, and nobody wants to know how calls end."""
        return self._awake and bool(self.order) and (self._stale or self._observer is None)

    def pick_plainly(self, method: Method[Any, Any]) -> Connection | None:
        """A connection for a unary call without metadata; None: it has to go the long way. Raises as `pick`."""
        if self._stale:
            self._balance()
        if self._observer is not None:
            return None
        found = self._ask(Pick(method))
        return None if found is None or found.slots.waiting else found.connection()

    def _ask(
        self, call: Pick, chooser: Chooser | None = None, tried: Collection[EndpointState] = ()
    ) -> ClientEndpoint | None:
        picker: Picker | None = self._picker
        if chooser is not None:
            picker = Chosen(chooser, self.order, self._version, self._client._zone, self._balancer, tried)
        if picker is None:
            raise self._failure(self._fault)
        try:
            found = picker.pick(call)
            for _ in self.order if self._fault else ():  # it was kept, and does not know who has left
                if not isinstance(found, ClientEndpoint) or not found.left:
                    break
                found = picker.pick(call)
        except (Exception, asyncio.CancelledError) as error:
            raise self._failure(f"the picker failed: {error!r}", log=True) from error
        if found is None or (self._fault and isinstance(found, ClientEndpoint) and found.left):
            return None
        if not isinstance(found, ClientEndpoint) or found.client is not self._client:
            raise self._failure(f"the picker chose {found!r}, which it was not given", log=True)
        if found.left:
            raise self._failure(f"the picker chose {found.endpoint}, which has left", log=True)
        return found

    def _balance(self) -> None:
        self._stale = False
        try:
            picker = self._balancer.balance(self.order)
            if not callable(getattr(picker, "pick", None)):
                raise TypeError(f"{picker!r} is no picker")
        except (Exception, asyncio.CancelledError) as error:
            self._fault = f"it failed: {error!r}"
            self._client._serving.journal.log(logging.ERROR, "%s", self._named(self._fault), error=error)
            return
        self._picker, self._fault = picker, ""
        self._observer = picker if isinstance(picker, PickObserver) else None
        self._client._turns = self._turns(picker)

    def _turns(self, picker: Picker) -> Turns | None:
        """What may be done in place of asking the picker, until something changes."""
        even = even_turns(picker)
        if even is None or self._client._per_endpoint > 1 or not self._awake or self._client._closed:
            return None
        among, counter = even
        each: list[Way] = []
        for one in among:
            connection = one.connection() if isinstance(one, ClientEndpoint) else None
            if connection is None or not isinstance(one, ClientEndpoint):
                return None
            each.append((connection, one, one.slots.waiting))
        return Turns(each, Counter(0) if self.alone else counter, not self.alone)

    def _named(self, fault: str) -> str:
        named = getattr(self._balancer, "name", None)
        return f"balancer {named if isinstance(named, str) else type(self._balancer).__name__}: {fault}"

    def _failure(self, fault: str, *, log: bool = False) -> Exception:
        if log:
            self._client._serving.journal.log(logging.ERROR, "%s", self._named(fault))
        return failure(Code.INTERNAL, self._named(fault), Delivery.NOT_SENT)

    # Why there is no connection.

    @property
    def hopeful(self) -> bool:
        """Whether something is under way that may end well."""
        if not self.order:
            return self._resolving is not None and not self._resolving.reason
        return any(one.trying for one in self.order)

    @property
    def unsettled(self) -> bool:
        """Whether what comes of a first attempt, or of one for a further connection, is not known yet."""
        return any(one.state is State.CONNECTING or (one.state is State.READY and one.trying) for one in self.order)

    @property
    def none_chosen(self) -> str:
        """What is to be said when there are endpoints and none that a call may go to."""
        if any(one.state is State.READY for one in self.order):
            return self._named("the picker chose no endpoint")
        return "the connection was lost"

    @property
    def trouble(self) -> str:
        """Why no endpoint is ready, "" if nothing is known or one is."""
        if not self.order:
            return self._resolving.reason if self._resolving is not None else ""
        if any(one.state is State.READY for one in self.order):
            return ""
        if self.alone:
            return self.order[0].last or self._unheard()
        known = [one for one in self.order if one.last]
        said = [f"{'' if str(one.endpoint) in one.last else f'{one.endpoint}: '}{one.last}" for one in known[:_NAMED]]
        more = len(self.order) - len(said)
        return "; ".join([*said, *([f"and {more} more"] if said and more else [])]) or self._unheard()

    def _unheard(self) -> str:
        """What is known of a server that has accepted a connection and not spoken, "" if there is none."""
        for one in self.order:
            for end in one.live:
                if end.young and (why := end.connection.session.lifecycle.unheard(clock())):
                    return f"{end.connection.remote}: {why}"
        return ""


def _same(one: Endpoint, other: Endpoint) -> bool:
    """Whether two descriptions with one identity are of the same endpoint."""
    return one.addresses == other.addresses and one.server_name == other.server_name
