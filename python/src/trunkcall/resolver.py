"""Resolvers: which endpoints a target stands for, now and later."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, cast

from .backoff import pause
from .checking import wrong_type
from .codec import kind_of
from .differences import Difference, differences, exchanged
from .endpoint import Endpoint
from .status import spelled
from .transport import Address, check_library, parse_place

MOST = 100_000  # endpoints of a set
MOST_ADDRESSES = 64  # of an endpoint
SETTLING = 0.01  # seconds between two sets that are applied
DNS_INTERVAL = 30.0  # seconds, and up to a fifth more or less
DNS_PAUSE = 5.0  # seconds between two questions at least, when endpoints fail
_ADDRESSES = ("unix", "mem", "ws", "wss")  # what addresses begin with
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")
_PLACE = re.compile(r"//|[0-9]+(/|\Z)")  # what follows the colon of what is meant as an address, or as a URL


class Resolved(NamedTuple):
    """An endpoint of a good set."""

    identity: str
    endpoint: Endpoint
    addresses: tuple[Address, ...]  # as they are dialled


class InvalidSet(ValueError):
    """A set of endpoints that is not applied. The text says what is wrong with it."""


class Watch:
    """What a resolver works for. Used on the client's loop only."""

    def __init__(
        self, target: str, apply: Callable[[Sequence[Endpoint]], None], tell: Callable[[str], None] | None = None
    ) -> None:
        self._target = target
        self._apply = apply
        self._tell = tell
        self._failed = asyncio.Event()

    @property
    def target(self) -> str:
        """What follows the scheme in the client's target."""
        return self._target

    def set(self, endpoints: Sequence[Endpoint]) -> None:
        """Exchanges the whole set. Raises InvalidSet for one that is empty or wrong: the last good set stays then."""
        self._apply(endpoints)

    def fail(self, why: str) -> None:
        """Says why there is no set, or none that is newer, while the resolver goes on. It is logged. The last good set
        stays; as long as there was none, calls fail or wait as if the resolver had raised."""
        if self._tell is not None:
            self._tell(why)

    async def failed(self) -> None:
        """Returns when an endpoint could not be reached, at once if that has happened since the last wait. A resolver
        that asks at intervals may then ask again."""
        await self._failed.wait()
        self._failed.clear()

    def _tell_failed(self) -> None:
        self._failed.set()


# An asynchronous function that calls `watch.set` with the whole set, at once and whenever it changes, until it is
# cancelled. It may return when no change will come. After an exception it is called again, later each time.
Resolver = Callable[[Watch], Awaitable[None]]


async def dns(watch: Watch) -> None:
    """The addresses of a name, each an endpoint: dns:HOST:PORT. Asks again now and then, and when one has failed."""
    place = _dns_place(watch.target)
    loop = asyncio.get_running_loop()
    while True:
        found = await loop.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
        hosts = dict.fromkeys(str(name[0]) for *_, name in found)
        watch.set([Endpoint(str(Address(host, place.port)), server_name=place.host) for host in hosts])
        asked = loop.time()
        try:
            async with asyncio.timeout(random.uniform(0.8, 1.2) * DNS_INTERVAL):
                await watch.failed()
        except TimeoutError:
            continue
        await asyncio.sleep(max(asked + DNS_PAUSE - loop.time(), 0))


def _dns_place(text: str) -> Address:
    with suppress(ValueError):
        place = parse_place(text)
        if place.host and not place.url and not text.startswith(":"):
            return place
    why = ""
    bare = text.lstrip("/")
    with suppress(ValueError):
        if bare != text and parse_place(bare).host and not bare.startswith(":"):
            why = f"there are slashes in it, without which it is dns:{bare}: "
    raise ValueError(f'target "dns:{text}": {why}want dns:HOST:PORT')


class Target:
    """What the user of a client has named: endpoints that are known, or a resolver that finds them."""

    def __init__(self, text: str, resolvers: Mapping[str, Resolver]) -> None:
        """Raises ValueError, TypeError; ImportError for a WebSocket without its library."""
        check_resolvers(resolvers)
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"a target is HOST:PORT, unix:PATH, dns:HOST:PORT or the like, not {kind_of(text)}")
        self.text = text
        self.scheme, self.rest = _scheme_of(text, resolvers)
        self.resolver: Resolver | None = None
        self.known: list[Resolved] = []
        if not self.scheme:
            self.known = check_endpoints([Endpoint(part) for part in _parts(text)])
        elif self.scheme in resolvers:
            self.resolver = resolvers[self.scheme]
        else:
            _dns_place(self.rest)
            self.resolver = dns


def check_resolvers(resolvers: Mapping[str, Resolver]) -> None:
    """Raises ValueError, TypeError."""
    if not isinstance(resolvers, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise wrong_type("resolvers", resolvers, "a dict of functions by scheme")
    for scheme, resolver in resolvers.items():
        if not _SCHEME.fullmatch(scheme) or scheme in _ADDRESSES:
            raise ValueError(f"resolver for {scheme!r}: a scheme is of small letters and digits, and none of ours")
        if not callable(resolver):
            raise wrong_type(f"resolvers[{scheme!r}]", resolver, "an asynchronous function")


def _scheme_of(text: str, resolvers: Mapping[str, Resolver]) -> tuple[str, str]:
    """The scheme of a target that is to be resolved and what follows it; "" for addresses."""
    scheme, colon, rest = text.partition(":")
    if colon and (scheme in resolvers or scheme == "dns"):
        return scheme, rest
    return "", text


def _parts(text: str) -> list[str]:
    """The addresses of a target. Raises ValueError, ImportError."""
    found = [part.strip() for part in text.split(",")]
    if len(found) > 1 and "" in found:
        raise ValueError(f'target "{text}": a part of it is empty')
    for part in found:
        try:
            check_library(parse_place(part))
        except ValueError as error:
            raise ValueError(_with_scheme(part, str(error))) from None
    return found


def _with_scheme(part: str, why: str) -> str:
    """Why a part is no address, and what else may be wrong with it: first what is more likely meant."""
    scheme, _, rest = part.partition(":")
    if not rest or not _SCHEME.fullmatch(scheme) or scheme in _ADDRESSES:
        return why
    if scheme == "dns":
        return f"{why}; dns: is for a whole target, with one HOST:PORT"
    none, whole = f'no resolver was given for the scheme "{scheme}"', f'target "{part}": '
    if _PLACE.match(rest):
        return f"{why}; {none} either"
    return f"{whole}{none}; as an address: {why.removeprefix(whole)}"


class GoodSets:
    """What is known of the sets that a resolver hands over one after the other: who stays is not looked at again."""

    def __init__(self) -> None:
        self._last: list[Endpoint] = []  # the last good set
        self._found: list[Resolved] = []  # of these, each once
        self._names: set[str] = set()  # of those

    def next(self, endpoints: list[Endpoint]) -> list[Resolved]:
        """The endpoints of a set, each once, with their addresses. Raises InvalidSet: the set before counts then."""
        if not endpoints:
            raise InvalidSet("the set of endpoints is empty")
        if len(endpoints) > MOST:
            raise InvalidSet(f"a set of {len(endpoints):,} endpoints, of at most {MOST:,}")
        each_once = len(self._found) == len(self._last)
        where = differences(self._last, endpoints) if each_once else [Difference(0, len(self._last), 0, len(endpoints))]
        went = [one for part in where for one in self._found[part.went]]
        known = {id(one.endpoint): one for one in went}
        came = [[known.get(id(one)) or _checked(one) for one in endpoints[part.came]] for part in where]
        found = exchanged(self._found, where, came) if each_once else came[0]
        names = [one.identity for part in came for one in part]
        self._names.difference_update(one.identity for one in went)
        self._names.update(names)
        if len(self._names) < len(found):
            each: dict[str, Resolved] = {}
            for one in found:
                each.setdefault(one.identity, one)
            found = list(each.values())
        self._last, self._found = endpoints, found
        return found


def check_endpoints(endpoints: Sequence[Endpoint]) -> list[Resolved]:
    """The endpoints of a set, each once, with their addresses. Raises InvalidSet."""
    return GoodSets().next(list(endpoints))


def _checked(endpoint: Endpoint) -> Resolved:
    """An endpoint with its addresses. Raises InvalidSet."""
    if not isinstance(endpoint, Endpoint):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidSet(f"{endpoint!r} is no Endpoint")
    weight: Any = endpoint.weight
    if not isinstance(weight, int) or not 0 <= weight <= 1_000_000:
        raise InvalidSet(f"endpoint {endpoint} has a weight of {weight!r}: 0 to 1,000,000")
    count = len(endpoint.addresses)
    if not 1 <= count <= MOST_ADDRESSES:
        raise InvalidSet(f"endpoint {endpoint.identity!r} has {count} addresses: 1 to {MOST_ADDRESSES}")
    try:
        addresses = tuple(parse_place(address) for address in endpoint.addresses)
    except (ValueError, TypeError) as error:
        raise InvalidSet(f"endpoint {endpoint}: {error}") from None
    return Resolved(endpoint.identity, endpoint, addresses)


def _listed(endpoints: Any) -> list[Endpoint]:
    if not isinstance(endpoints, list | tuple):
        raise InvalidSet(f"a set of endpoints is a list of them, not {endpoints!r}")
    return list(cast("Sequence[Endpoint]", endpoints))


class Resolving:
    """Has a resolver work for a client: calls it again when it fails, and keeps what it tells in order."""

    def __init__(
        self, target: Target, apply: Callable[[list[Resolved]], None], failed: Callable[[], None], log: logging.Logger
    ) -> None:
        """`failed` is called when there is a new reason why there is no set."""
        self.reason = ""  # what the last failure was, as long as no good set came after it
        self.resolved = False  # there is a good set
        self._target = target
        self._apply = apply
        self._failed = failed
        self._log = log
        self._watch = Watch(target.rest, self._set, self._note)
        self._noted = ""  # what was logged last; empty since there was a good set
        self._last: list[Endpoint] = []
        self._sets = GoodSets()
        self._pending: list[Resolved] | None = None
        self._settled: asyncio.TimerHandle | None = None  # until then sets are kept back

    async def run(self) -> None:
        """Until it is cancelled, or the resolver has returned."""
        resolver = self._target.resolver
        assert resolver is not None
        failures = 0
        while True:
            before = self._last
            try:
                await self._call(resolver)
                if self.resolved:
                    return
                self._note("it returned without a set")
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise
                self._note("it was cancelled")
            except InvalidSet:
                pass  # noted when it was told
            except Exception as error:
                self._note(spelled(error))
            failures = 1 if self._last is not before else failures + 1
            await asyncio.sleep(pause(failures))

    async def _call(self, resolver: Resolver) -> None:
        """Until it returns, or this is cancelled: that it ends is not waited for then, as it is not ours."""
        task = asyncio.ensure_future(resolver(self._watch))
        try:
            await asyncio.shield(task)
        finally:
            task.cancel()

    def stop(self) -> None:
        """The client is closed."""
        if self._settled is not None:
            self._settled.cancel()
        self._pending = None

    def endpoint_failed(self) -> None:
        self._watch._tell_failed()

    def _note(self, why: str) -> None:
        self.reason = f"resolver {self._target.scheme}: {why}"
        kept = "; the last good set stays" if self.resolved else ""
        if self.reason != self._noted:
            self._noted = self.reason
            self._log.warning("target %s: %s%s", self._target.text, self.reason, kept)
        self._failed()

    def _set(self, endpoints: Sequence[Endpoint]) -> None:
        try:
            given = _listed(endpoints)
            if self.resolved and given == self._last:
                self._noted = ""
                return
            found = self._sets.next(given)
        except InvalidSet as error:
            self._note(str(error))
            raise
        if len(found) < len(given):
            self._log.warning("target %s: endpoints stand twice in a set; the first counts", self._target.text)
        self.resolved, self.reason, self._noted, self._last = True, "", "", given
        if self._settled is None:
            self._apply(found)
            self._settled = asyncio.get_running_loop().call_later(SETTLING, self._settle)
        else:
            self._pending = found

    def _settle(self) -> None:
        self._settled = None
        found, self._pending = self._pending, None
        if found is not None:
            self._apply(found)
            self._settled = asyncio.get_running_loop().call_later(SETTLING, self._settle)
