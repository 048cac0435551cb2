"""Endpoints: instances of a service, as resolvers tell of them and as balancers and pickers see them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .checking import check_text, wrong_type

_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, init=False)
class Endpoint:
    """One instance of a service, which may have several addresses: Endpoint("10.0.0.1:50051", weight=3).

    `id` identifies the endpoint from one set to the next; by default its addresses and server name do. If those change,
    it is another endpoint; with another weight, zone or attributes it is the same."""

    addresses: tuple[str, ...]  # HOST:PORT, unix:PATH, mem:NAME, ws://… or wss://…, raced as RFC 8305 says
    id: str = ""
    server_name: str = ""  # what its certificate must show unless the client says it; by default the address's host
    weight: int = 1  # its part of the calls beside others, for balancers that look at it; 0 counts as 1
    zone: str = ""  # where it runs, for users' balancers
    attributes: Mapping[str, str] = field(
        default_factory=dict[str, str], hash=False
    )  # for users' balancers and dialers

    def __init__(
        self,
        *addresses: str,
        id: str = "",
        server_name: str = "",
        weight: int = 1,
        zone: str = "",
        attributes: Mapping[str, str] = _NONE,
    ) -> None:
        """Raises TypeError. What else is wrong is told by `Watch.set`, or by the client."""
        for address in addresses:
            check_text(addresses=address)
        check_text(id=id, server_name=server_name, zone=zone)
        if not isinstance(attributes, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise wrong_type("attributes", attributes, "a dict of texts")
        for name, value in (
            ("addresses", addresses),
            ("id", id),
            ("server_name", server_name),
            ("weight", weight),
            ("zone", zone),
            ("attributes", attributes),
        ):
            object.__setattr__(self, name, value)

    @property
    def identity(self) -> str:
        """Its id, or its addresses, with its server name if it has one."""
        if self.id:
            return self.id
        name = ",".join(self.addresses)
        return f"{name}#{self.server_name}" if self.server_name else name

    def __str__(self) -> str:
        return self.id or ",".join(self.addresses)


class State(enum.Enum):
    """How a client stands with an endpoint."""

    IDLE = "idle"  # no connection, and none wanted so far
    CONNECTING = "connecting"  # the first attempt, or the first since the last connection, is under way
    READY = "ready"  # calls can be made
    FAILING = "failing"  # the last attempt failed; it is tried again by itself


class EndpointState:
    """An endpoint as balancers and pickers see it. What it says changes with the calls that are made. Those of a client
    are made by the client; tests of balancers make their own."""

    def __init__(
        self,
        endpoint: Endpoint,
        state: State = State.IDLE,
        *,
        calls: int = 0,
        latency: float | None = None,
        failures: int = 0,
    ) -> None:
        self._endpoint = endpoint
        self._state = state
        self._calls = calls
        self._latency = latency
        self._failures = failures
        self._hash: int | None = None  # of the endpoint's identity, once it was asked for

    @property
    def endpoint(self) -> Endpoint:
        """What it is the state of."""
        return self._endpoint

    @property
    def state(self) -> State:
        """Whether it can be called now."""
        return self._state

    @property
    def calls(self) -> int:
        """How many calls this client has open there."""
        return self._calls

    @property
    def latency(self) -> float | None:
        """A moving mean, in seconds, of how long the unary calls took that were picked for it; None if none ended
        within the last ten seconds."""
        return self._latency

    @property
    def failures(self) -> int:
        """How many attempts to connect have failed in a row."""
        return self._failures

    def __repr__(self) -> str:
        return f"<endpoint {self.endpoint} {self.state.value}>"
