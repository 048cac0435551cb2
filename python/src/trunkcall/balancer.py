"""Balancers: which endpoint a call goes to (client.md 10). Ours are `first`, `round_robin`, `least_loaded` and
`hash_by`; users' own need the few lines of `Balancer` and `Picker`."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from .endpoint import EndpointState, State
from .rendezvous import hashed, mixed

if TYPE_CHECKING:
    from .method import Method
    from .wire import Status

KEPT = 64  # calls in a row for which least_loaded may keep an endpoint
TURNS = 0xFFFFFFFF_FFFFFFFF  # where those of round_robin begin anew
ALLOWANCE = 1.25  # while its load is at most so many times the other's
_COMING = (State.IDLE, State.CONNECTING)

Draw = Callable[[], int]  # a random number of 64 bits


@dataclass(slots=True)
class Pick:
    """What a picker knows of the call that it chooses for."""

    method: Method[Any, Any]
    metadata: Sequence[tuple[str, str | bytes]] = ()
    avoid: EndpointState | None = None  # the endpoint of the attempt before, None for the first


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a pick."""

    status: Status
    duration: float  # seconds, from when it was given to a connection


class Picker(Protocol):
    """Chooses the endpoint of each call. Must not wait."""

    def pick(self, call: Pick, /) -> EndpointState | None:
        """Returns one of the endpoints that the balancer was given, or None if none will do now. If it is not ready,
        the call waits, and is picked for again when there is a new picker."""
        ...


@runtime_checkable
class PickObserver(Protocol):
    """A picker that also wants to know what became of the endpoints that it chose."""

    def pick(self, call: Pick, /) -> EndpointState | None:
        """See Picker."""
        ...

    def ended(self, endpoint: EndpointState, outcome: Outcome, /) -> None:
        """Told once for each endpoint that `pick` returned. If the call did not go there, because the endpoint was not
        ready or the call ended before, the status is a local one, `not_sent`."""
        ...


class Balancer(Protocol):
    """Makes the picker for a set of endpoints. If it has a true attribute `lazy`, it is given the whole set, and
    endpoints are connected once they are picked. For others all endpoints are connected, and kept so."""

    def balance(self, endpoints: Sequence[EndpointState], /) -> Picker:
        """Called with each change of the set or of a state in it. The sequence is never changed."""
        ...


def random_word() -> int:
    return random.getrandbits(64)


def first() -> Balancer:
    """The first endpoint in order that is not failing. It alone is connected, and others when it fails."""
    return _First()


def round_robin(*, draw: Callable[[], int] = random_word) -> Balancer:
    """The endpoints that are ready take turns, as often as their weights say. It is the default of a client. `draw` is
    for tests: random numbers of 64 bits."""
    return _RoundRobin(draw)


def least_loaded(*, draw: Callable[[], int] = random_word) -> Balancer:
    """Of two endpoints drawn at random that with the lesser load: its calls in flight, times its moving latency."""
    return _LeastLoaded(draw)


def hash_by(key: str | Callable[[Pick], str], *, draw: Callable[[], int] = random_word) -> Balancer:
    """Calls with the same key go to the same endpoint as long as it is there, and to the next in rank while it fails.
    `key` is the name of a metadata entry, or a function; calls without one are spread. Raises TypeError."""
    if not isinstance(key, str) and not callable(key):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"hash_by takes the name of a metadata entry or a function, not {key!r}")
    return _Hash(_entry(key) if isinstance(key, str) else key, draw)


def is_ours(balancer: Balancer) -> bool:
    """Whether a balancer is one of those above, whose pickers may be made of some of the endpoints."""
    return isinstance(balancer, (_First, _RoundRobin, _LeastLoaded, _Hash))


def index(number: int, n: int) -> int:
    """A random number of 64 bits as an index below n."""
    return number * n >> 64


class _First:
    name = "first"
    lazy = True

    def balance(self, endpoints: Sequence[EndpointState]) -> Picker:
        return _Ranked(list(islice((one for one in endpoints if one.state is not State.FAILING), 2)))


class _Ranked:
    """The first of those that there are, at most two, unless it is to be avoided and there is another."""

    def __init__(self, endpoints: Sequence[EndpointState]) -> None:
        self._endpoints = endpoints

    def pick(self, call: Pick) -> EndpointState | None:
        endpoints = self._endpoints
        if not endpoints:
            return None
        return endpoints[1] if endpoints[0] is call.avoid and len(endpoints) > 1 else endpoints[0]


class _Hash:
    name = "hash"
    lazy = True

    def __init__(self, key: Callable[[Pick], str], draw: Draw) -> None:
        self._key = key
        self._draw = draw

    def balance(self, endpoints: Sequence[EndpointState]) -> Picker:
        return _HashPicker([one for one in endpoints if one.state is not State.FAILING], self._key, self._draw)


def _entry(name: str) -> Callable[[Pick], str]:
    def key(call: Pick) -> str:
        found = next((value for entry, value in call.metadata if entry == name), "")
        return found if isinstance(found, str) else found.decode("utf-8", "backslashreplace")

    return key


class _HashPicker:
    def __init__(self, endpoints: Sequence[EndpointState], key: Callable[[Pick], str], draw: Draw) -> None:
        self._endpoints = [(_hash_of(one), one) for one in endpoints]
        self._key = key
        self._draw = draw

    def pick(self, call: Pick) -> EndpointState | None:
        endpoints = self._endpoints
        if not endpoints:
            return None
        key = self._key(call)
        value = hashed(key.encode()) if key else self._draw()
        best, found = -1, endpoints[0][1]
        for own, one in endpoints:
            if one is call.avoid and len(endpoints) > 1:
                continue
            score = mixed(value ^ own)
            if score > best or score == best and _name(one) < _name(found):
                best, found = score, one
        return found


def _name(one: EndpointState) -> bytes:
    return one.endpoint.identity.encode()


def _hash_of(one: EndpointState) -> int:
    """The hash of an endpoint's identity, which is computed once."""
    if one._hash is None:
        one._hash = hashed(one.endpoint.identity.encode())
    return one._hash


class _RoundRobin:
    name = "round_robin"

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._counters: tuple[Counter, Counter] | None = None

    def balance(self, endpoints: Sequence[EndpointState]) -> Picker:
        counters = self._counters = self._counters or (Counter(self._draw()), Counter(self._draw()))
        return _Eager(endpoints, lambda among: _Turns(among, *counters))


class Counter:
    """Turns that were taken, over the life of a balancer, by calls that avoid an endpoint or by the others."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value


class _Group:
    """Candidates that are in the same state."""

    def __init__(self, among: Sequence[EndpointState]) -> None:
        self.among = among

    def choose(self, avoid: EndpointState | None) -> EndpointState:
        """One of them; not `avoid`, if there is another."""
        raise NotImplementedError


class _Eager:
    """Candidates of balancers that are not lazy (client.md 10.2)."""

    def __init__(self, endpoints: Sequence[EndpointState], group: Callable[[list[EndpointState]], _Group]) -> None:
        ready = [one for one in endpoints if one.state is State.READY]
        coming = [one for one in endpoints if one.state in _COMING]
        self._groups = [group(one) for one in (ready, coming) if one]

    def pick(self, call: Pick) -> EndpointState | None:
        avoid = call.avoid
        for group in self._groups:
            among = group.among
            if among[0] is not avoid or len(among) > 1:
                return group.choose(avoid)
        return avoid if self._groups else None


class _Turns(_Group):
    """Turns by weight (client.md 10.6)."""

    def __init__(self, among: Sequence[EndpointState], counter: Counter, further: Counter) -> None:
        super().__init__(among)
        self.counter = counter
        self._further = further
        self._weights = [one.endpoint.weight or 1 for one in among]
        self._most = max(self._weights)

    @property
    def even(self) -> bool:
        """Whether all weigh the same: then each turn is that of the next in order."""
        return min(self._weights) == self._most

    def choose(self, avoid: EndpointState | None) -> EndpointState:
        if avoid is None:
            return self._next(self.counter)
        others = [one for one in self.among if one is not avoid]
        return _Turns(others or self.among, self.counter, self._further)._next(self._further)

    def _next(self, counter: Counter) -> EndpointState:
        among, weights, most = self.among, self._weights, self._most
        n = len(among)
        while True:
            turn, at = divmod(counter.value, n)
            counter.value = counter.value + 1 & TURNS
            if (weights[at] * (turn % most) + at * (most // 2)) % most >= most - weights[at]:
                return among[at]


def even_turns(picker: Picker) -> tuple[Sequence[EndpointState], Counter] | None:
    """The endpoints of which a picker of `round_robin` chooses the next in order for every call that avoids none: that
    at the counter's value modulo their number, which goes on by one. None: it does something else."""
    group = picker._groups[0] if isinstance(picker, _Eager) and picker._groups else None
    if isinstance(group, _Turns) and group.among[0].state is State.READY and group.even:
        return group.among, group.counter
    return None


class _LeastLoaded:
    name = "least_loaded"

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def balance(self, endpoints: Sequence[EndpointState]) -> Picker:
        kept = _Kept()
        return _Eager(endpoints, lambda among: _Less(among, self._draw, kept))


class _Kept:
    """The endpoint that a picker keeps."""

    one: EndpointState | None = None
    row = 0  # how often it was picked in a row

    def keep(self, one: EndpointState, again: bool) -> None:
        self.one, self.row = one, self.row + 1 if again else 1


class _Less(_Group):
    """The less loaded of two (client.md 10.8)."""

    def __init__(self, among: Sequence[EndpointState], draw: Draw, kept: _Kept) -> None:
        super().__init__(among)
        self._draw = draw
        self._kept = kept

    def choose(self, avoid: EndpointState | None) -> EndpointState:
        among = self.among
        if avoid is not None and avoid in among:
            among = [one for one in among if one is not avoid]
        n = len(among)
        if n == 1:
            return among[0]
        kept = self._kept.one if self._kept.row < KEPT else None
        a = among.index(kept) if kept is not None and kept in among else -1
        stays = a >= 0
        if not stays:
            a = index(self._draw(), n)
        b = index(self._draw(), n - 1)
        one, other = among[a], among[b + (b >= a)]
        if _load(one, among) > _load(other, among) * (ALLOWANCE if stays else 1):
            one, stays = other, False
        self._kept.keep(one, stays)
        return one


def _load(one: EndpointState, among: Sequence[EndpointState]) -> float:
    latency = one.latency
    if latency is None:
        known = [moving for other in among if (moving := other.latency) is not None]
        latency = sum(known) / len(known) if known else 1e-9
    return (one.calls + 1) * latency
