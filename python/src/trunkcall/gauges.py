"""Gauges: what a server, a client or a connection has at the moment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from .endpoint import Endpoint, State
from .transport import Figures, clock

if TYPE_CHECKING:
    from .calling import Calling
    from .serving import Serving


class Carried(Protocol):
    """A connection, whatever is spoken on it."""

    began: int

    def figures(self) -> Figures: ...


@dataclass(slots=True, frozen=True)
class Gauges:
    """What a Server or a Client has at the moment, and counts since it was made."""

    connections: int
    """Connections that are up, those included that end."""

    calls_made: int
    """Open calls of this side."""

    calls_served: int
    """Open calls of the other sides. A handler that outlives its call is not among them."""

    running_handlers: int
    """Handlers that run, those included whose call was ended already."""

    one_way_handlers: int
    """Those of them that serve one-way calls, whose callers have been answered."""

    waiting_calls: int
    """Calls of this side that wait for a connection or a free slot."""

    unsent_bytes: int
    """Bytes that wait to be written."""

    held_bytes: int
    """Bytes held for the other sides, which count against `memory`: of messages that have not arrived whole or were not
    consumed, of answers that wait, and unsent_bytes."""

    withheld_credit: int
    """How many bytes less the other sides may send on open streams because messages were not consumed."""

    pool_bytes: int
    """Bytes granted to the other sides as pools of their connections."""

    pool_held_bytes: int
    """Those of them that lie in messages that were not consumed."""

    refused: int
    """Calls that were never started; their callers were told."""

    cut_off: int
    """Calls that were ended without their handler; their callers were told."""

    one_way_failures: int
    """One-way calls whose handler failed, of which nobody was told."""

    rejected_connections: int
    """Connections that a server closed for what they began with."""

    connect_failures: int
    """A client's attempts to connect that failed."""


@dataclass(slots=True, frozen=True)
class ConnectionGauges:
    """What a Connection has at the moment. Times are in seconds."""

    state: str
    """"open"; "draining": it takes no more calls; "closed"."""

    age: float
    """Since it was opened."""

    round_trip: float
    """What its last PING took; 0 before one was answered."""

    calls_made: int
    calls_served: int
    waiting_calls: int
    """Calls that wait for a slot of this connection and no other."""

    unsent_bytes: int
    held_bytes: int
    withheld_credit: int
    pool_bytes: int
    """Granted to the other side beyond its windows."""

    error: str
    """Why it is over, or is ending; "" while it is not."""


@dataclass(slots=True, frozen=True)
class EndpointGauges:
    """How a Client stands with an endpoint. Times are in seconds."""

    endpoint: Endpoint

    state: State

    connections: tuple[ConnectionGauges, ...]
    """Those that are there, with those that end."""

    calls: int
    """Open calls of this side."""

    latency: float | None
    """A moving mean of how long calls took that were picked for it; None if there is none of late."""

    failures: int
    """Attempts to connect in a row that have failed."""

    error: str
    """Why the last of them did; "" if none has."""

    next_attempt: float | None
    """Until the next attempt; 0 while one is under way, None if none is needed or wanted."""

    ejected: tuple[str, ...]
    """The scopes of the policy file by whose `outliers` it is left out now, in their order, such as "defaults"."""


def gauges_of(
    carriers: Iterable[Carried],
    serving: Serving,
    calling: Calling,
    rejected_connections: int = 0,
    connect_failures: int = 0,
) -> Gauges:
    figures = [carrier.figures() for carrier in carriers]
    return Gauges(
        connections=len(figures),
        calls_made=sum(one.calls_made for one in figures),
        calls_served=sum(one.calls_served for one in figures),
        running_handlers=serving.load.running,
        one_way_handlers=len(serving.accepted()),
        waiting_calls=calling.waiting,
        unsent_bytes=sum(one.unsent for one in figures),
        held_bytes=sum(one.held for one in figures),
        withheld_credit=sum(one.withheld for one in figures),
        pool_bytes=sum(one.pool for one in figures),
        pool_held_bytes=sum(one.pool_held for one in figures),
        refused=serving.load.refused,
        cut_off=serving.load.cut_off,
        one_way_failures=serving.one_way_failures,
        rejected_connections=rejected_connections,
        connect_failures=connect_failures,
    )


def connection_gauges(carrier: Carried, waiting: int, error: str) -> ConnectionGauges:
    one = carrier.figures()
    return ConnectionGauges(
        state=one.state,
        age=(clock() - carrier.began) / 1e6,
        round_trip=one.round_trip,
        calls_made=one.calls_made,
        calls_served=one.calls_served,
        waiting_calls=waiting,
        unsent_bytes=one.unsent,
        held_bytes=one.held,
        withheld_credit=one.withheld,
        pool_bytes=one.pool,
        error=error,
    )
