"""Where calls go by a policy file: ejected endpoints and other zones are left out before a balancer chooses."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from .balancer import Balancer, Pick, Picker, first, hash_by, least_loaded, round_robin
from .cores import draw, now
from .endpoint import EndpointState, State
from .policy import BalancerRules, Ended, OutlierRules, Outliers, Place, Zoned, ZoneRules, judged, pick_zone

if TYPE_CHECKING:
    from .endpoints import ClientEndpoint

_PLAIN: dict[str, Callable[[], Balancer]] = {"first": first, "round_robin": round_robin, "least_loaded": least_loaded}


class OutlierState:
    """Which endpoints are left out by one scope's rules."""

    def __init__(self, rules: OutlierRules) -> None:
        self._rules = rules
        self._core = Outliers(rules)
        self._known: Sequence[EndpointState] = ()

    def _know(self, endpoints: Sequence[EndpointState], time: int) -> None:
        if endpoints is not self._known:
            self._known = endpoints
            self._core.endpoints(time, [one.endpoint.identity for one in endpoints])

    def ejected(self, endpoints: Sequence[EndpointState]) -> tuple[str, ...]:
        """The identities of those that are left out now."""
        time = now()
        self._know(endpoints, time)
        return tuple(self._core.ejected(time))

    def ended(self, endpoint: ClientEndpoint, end: Ended) -> None:
        """An attempt at an endpoint has ended."""
        time = now()
        client = endpoint.client
        self._know(client._endpoints.order, time)
        identity = endpoint.endpoint.identity
        until = self._core.ended(time, identity, judged(self._rules, end), draw)
        if until is not None:
            words = (identity, client.target, (until - time) / 1e9)
            client._serving.journal.log(logging.WARNING, "endpoint ejected: %s of %s, for %.3g s", *words)


class Chooser:
    """Chooses the endpoints of the calls of methods with the same rules about that."""

    def __init__(self, outliers: OutlierState | None, zones: ZoneRules | None, balancer: BalancerRules | None) -> None:
        """None: none is left out; zones make no difference; the balancer is the client's."""
        self.outliers = outliers
        self.zones = zones
        self.balancer: Balancer | None = None
        if balancer is not None:
            self.balancer = hash_by(balancer.key) if balancer.name == "hash" else _PLAIN[balancer.name]()
        self._made_for: tuple[int, tuple[str, ...]] = (-1, ())
        self._pickers: dict[Place, Picker] = {}

    def pickers(self, version: int, ejected: tuple[str, ...]) -> dict[Place, Picker]:
        """Those that were made for endpoints in the same states, of which the same are left out."""
        if self._made_for != (version, ejected):
            self._made_for = (version, ejected)
            self._pickers = {}
        return self._pickers


class Chosen:
    """A picker for one call: its chooser, and what there is to choose from."""

    def __init__(
        self,
        chooser: Chooser,
        endpoints: Sequence[ClientEndpoint],
        version: int,
        zone: str,
        balancer: Balancer,
        tried: Collection[EndpointState],
    ) -> None:
        """`version` changes with the endpoints and their states; `zone` and `balancer` are the client's. One of `tried`
        is chosen only if no other is available."""
        self._chooser = chooser
        self._endpoints = endpoints
        self._zone = zone
        self._tried = tried
        self._balancer = chooser.balancer or balancer
        self._ejected = () if chooser.outliers is None else chooser.outliers.ejected(endpoints)
        self._pickers = chooser.pickers(version, self._ejected)

    def pick(self, call: Pick) -> EndpointState | None:
        place = self._place()
        if self._tried:
            rest = [one for one in self._endpoints if self._available(one) and one not in self._tried]
            if rest:
                inside = [one for one in rest if self._at(one, place)]
                return self._balancer.balance(inside or rest).pick(call)
        found = self._picker(place).pick(call)
        if found is None and place is not Place.ALL:
            found = self._picker(Place.ALL).pick(call)
        return found

    def _place(self) -> Place:
        zones = self._chooser.zones
        if zones is None or not self._zone:
            return Place.ALL
        total = available = calls = others = 0
        for one in self._endpoints:
            if one.endpoint.zone == self._zone:
                total += 1
                calls += one.calls
                available += self._available(one)
            else:
                others += self._available(one)
        return pick_zone(zones, Zoned(total, available, calls, others), draw)

    def _picker(self, place: Place) -> Picker:
        found = self._pickers.get(place)
        if found is None:
            among: Sequence[EndpointState] = [one for one in self._endpoints if self._at(one, place)]
            kept = [one for one in among if one.endpoint.identity not in self._ejected]
            if any(one.state is State.READY for one in kept):
                among = kept  # else every ready one is left out, and then none is (policy.md 11)
            found = self._pickers[place] = self._balancer.balance(among)
        return found

    def _at(self, one: EndpointState, place: Place) -> bool:
        return place is Place.ALL or (one.endpoint.zone == self._zone) == (place is Place.OWN)

    def _available(self, one: EndpointState) -> bool:
        return one.state is State.READY and one.endpoint.identity not in self._ejected
