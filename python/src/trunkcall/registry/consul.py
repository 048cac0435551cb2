"""Servers that are published in Consul, and found there (spec/registry.md 3, 10.4, 10.5), by the API of its agents over
HTTP: as services of its catalog or, with a root, as keys. Needs the extra `consul`."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any
from urllib.parse import quote

from trunkcall.transport import parse_place

from .asking import Answer, in_order, read_json
from .consul_agent import RENEWS, WITHDRAWS_WITHIN, Agent, index_of
from .consul_keys import KeyKeeping
from .consul_keywatch import KeyLooking
from .place import LEASE, ROOT, Account, Place, check_free
from .record import MOST_BYTES, Record
from .store import RegistryError, Watcher, Written
from .view import Entry

FORGOTTEN = 60  # seconds after which a server that is critical is deregistered
PIECE = 512  # bytes: the longest text of metadata
PIECES = MOST_BYTES // (PIECE - 3) + 1  # of a record, in characters of up to four bytes
NAMED = "trunkcall-"
_BEGIN = b'{"Node":{'  # of each instance, as Consul writes it; within a text there is a \\ before each "
_DECODER = json.JSONDecoder()


class Consul:
    """A registry in Consul, by an agent. It is a Store. Each server that is published and each service that is watched
    has connections of its own.

    Without a root, servers are services of Consul's catalog, which the agent checks: for up to a thousand of a service.
    With one they are keys under it, of which a watcher is told only the names and reads what is new."""

    def __init__(
        self,
        host: str,
        *,
        root: str | None = None,
        lease: int = LEASE,
        tls: ssl.SSLContext | None = None,
        token: str = "",
    ) -> None:
        """- `host` is where the agent is, HOST:PORT.
        - `root` is above all keys: names with slashes between them. None: servers are services of the catalog.
        - `lease` is for how many seconds a server counts that is not heard of; with a root 20 at least.
        - `tls` is how clients connect; None: in the clear.
        - `token` is by which they may do what they ask for, if it is not empty.

        Raises ValueError."""
        self.place = Place((host,), ROOT if root is None else root, lease)
        self.root = root
        self._tls = tls
        self._token = token

    def _agent(self) -> Agent:
        return Agent(self.place.hosts[0], self._tls, self._token)

    async def watch(self, service: str, watcher: Watcher, /) -> None:
        """See Source."""
        index = 0
        async with self._agent() as agent:
            looking = Looking(service) if self.root is None else KeyLooking(f"{self.root}/{service}/")
            while True:
                began = asyncio.get_running_loop().time()
                index = await looking.ask(agent, index, watcher)
                await asyncio.sleep(max(began + looking.between - asyncio.get_running_loop().time(), 0))

    async def keep(self, records: Sequence[Written], published: Callable[[], None], /) -> None:
        """See Store."""
        lease = self.place.lease
        async with self._agent() as agent:
            in_catalog = self.root is None
            keeping = Keeping(agent, lease, records) if in_catalog else KeyKeeping(agent, self.place, records)
            try:
                await keeping.put()
                published()
                pause, loop = lease / RENEWS, asyncio.get_running_loop()
                while True:
                    await asyncio.sleep(pause)
                    began = loop.time()
                    pause = began + await keeping.renew() - loop.time()
            except asyncio.CancelledError:
                await keeping.withdraw()
                raise


def pieces(data: bytes) -> dict[str, str]:
    """The metadata of a record."""
    found: dict[str, str] = {}
    while data:
        end = min(PIECE, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:  # not within a character
            end -= 1
        found[f"{NAMED}{len(found)}"] = data[:end].decode()
        data = data[end:]
    return found


def joined(meta: Mapping[str, str]) -> bytes:
    """The record that metadata has."""
    found: list[str] = []
    while len(found) < PIECES and (piece := meta.get(f"{NAMED}{len(found)}")) is not None:
        found.append(piece)
    return "".join(found).encode("utf-8", "surrogatepass")


_Instance = tuple[str, bytes] | None  # the id and record of an instance, None of one that is critical


def _instance(service: str, one: Any) -> _Instance:
    """Of one that an answer has. Raises RegistryError."""
    try:
        if any(check["Status"] == "critical" for check in one["Checks"]):
            return None
        instance = one["Service"]
        name = str(instance["ID"])
        ident = name.removeprefix(f"{service}/")
        return f"consul:{name}" if ident == name else ident, joined(instance["Meta"] or {})
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise in_order("Consul", error) from None


def _parts(data: bytes) -> list[bytes] | None:
    """What stands for each instance in an answer, as Consul writes them; None if it is written otherwise."""
    begin, *parts = data.split(_BEGIN)
    return parts if begin.strip() == b"[" else None


class Looking:
    """What a watcher knows of a service."""

    between = 0.02  # seconds from one answer, which has all instances, to the next at least

    def __init__(self, service: str) -> None:
        self._told = False
        self._service = service
        self._read: dict[bytes, _Instance] = {}  # by the digest of what was said of each
        self._known: dict[str, bytes] = {}
        self._account = Account()

    async def ask(self, agent: Agent, index: int, watcher: Watcher) -> int:
        """Has Consul tell all instances, once there is something newer than an index, and returns what is asked for
        next; 0 is to begin anew. Raises OSError, RegistryError."""
        answer = await agent.newer(f"health/service/{quote(self._service)}", index)
        answer.check()
        following = index_of(answer, index)
        if following:
            came, went = self.look(answer)
            if not self._told:
                watcher.all(came)
            elif came or went:
                watcher.change(came, went)
            self._told = True
        return following

    def look(self, answer: Answer) -> tuple[list[Entry], list[str]]:
        """What came or changed, and the ids of what went, of an answer. Raises RegistryError."""
        there: dict[str, bytes] = {}
        for one in self._instances(answer):
            if one is not None:
                there.setdefault(*one)
        went = [ident for ident in self._known if ident not in there]
        for ident in went:
            self._account.remove(ident)
        came = [self._account.put(ident, data) for ident, data in there.items() if self._known.get(ident) != data]
        self._known = there
        return came, went

    def _instances(self, answer: Answer) -> Sequence[_Instance]:
        """All of an answer. Each answer has all instances, nearly all of them as they were: those are not read again,
        which would hold the event loop up for longer than all else that a change brings about."""
        parts = _parts(answer.data)
        found = None if parts is None else self._new(parts)
        if found is None:
            try:
                return [_instance(self._service, one) for one in answer.value()]
            except TypeError as error:
                raise in_order("Consul", error) from None
        self._read = found
        return list(found.values())

    def _new(self, parts: list[bytes]) -> dict[bytes, _Instance] | None:
        """The instances of the parts of an answer; None if they are not what they look like."""
        found: dict[bytes, _Instance] = {}
        for number, part in enumerate(parts, 1):
            follows = b"]" if number == len(parts) else b","
            if not part.rstrip().endswith(follows):
                return None
            digest = blake2b(part, digest_size=16).digest()
            if digest in self._read:
                found[digest] = self._read[digest]
                continue
            try:
                text = (_BEGIN + part).decode()
                one, end = _DECODER.raw_decode(text)
            except (ValueError, RecursionError):
                return None
            if text[end:].strip() != follows.decode():
                return None
            found[digest] = _instance(self._service, one)
        return found


class Keeping:
    """What keeps records with an agent."""

    def __init__(self, agent: Agent, lease: int, records: Sequence[Written]) -> None:
        self._agent = agent
        self._lease = lease
        self._records = records
        self._begun = False

    async def _act(self, what: str, body: Any = None, within: float | None = None) -> None:
        answer = await self._agent.put(f"agent/{what}", body, within=within)
        answer.check()

    async def put(self) -> None:
        """Registers the records. Raises RegistryError where another server is published."""
        for one in self._records:
            await self._check(one)
        self._begun = True
        for one in self._records:
            check = {
                "TTL": f"{self._lease}s",
                "DeregisterCriticalServiceAfter": f"{FORGOTTEN}s",
                "Status": "passing",
            }
            body = {
                "Name": one.record.service,
                "ID": one.record.key,
                "Meta": pieces(one.data),
                "Check": check,
                **_reached(one.record),
            }
            await self._act("service/register?replace-existing-checks=true", body)
            await self._pass(one)

    async def _check(self, one: Written) -> None:
        """Raises RegistryError if the agent has another server's record there that is alive."""
        answer = await self._agent.get(f"agent/health/service/id/{quote(one.record.key)}")
        if answer.status == 404:
            return
        # Of one whose checks do not pass the agent answers 429 or 503, with the same.
        told = answer.status in (429, 503) and "json" in answer.headers.get("content-type", "")
        there = read_json(answer.who, answer.data) if told else answer.value()
        try:
            alive, data = there["AggregatedStatus"] != "critical", joined(there["Service"]["Meta"] or {})
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise in_order("Consul", error) from None
        if alive:
            check_free(one, data)

    async def _pass(self, one: Written, within: float | None = None) -> None:
        await self._act(f"check/pass/{quote(f'service:{one.record.key}')}", within=within)

    async def renew(self) -> float:
        """How many seconds behind its beginning it is to be done again. Raises RegistryError if a record was lost."""
        within = float(self._lease)
        for one in self._records:
            if not await self._is_own(one, within):
                raise RegistryError(f"{one.record.key} was removed, or written by somebody else")
            await self._pass(one, within)
        return self._lease / RENEWS

    async def _is_own(self, one: Written, within: float) -> bool:
        """Whether the agent still has what was registered."""
        answer = await self._agent.get(f"agent/service/{quote(one.record.key)}", within=within)
        return answer.status != 404 and _meta(answer.value()) == one.data

    async def withdraw(self) -> None:
        """Deregisters what is still its own. Raises RegistryError, OSError."""
        async with asyncio.timeout(WITHDRAWS_WITHIN):
            for one in self._records if self._begun else ():
                if await self._is_own(one, WITHDRAWS_WITHIN):
                    await self._act(f"service/deregister/{quote(one.record.key)}", within=WITHDRAWS_WITHIN)


def _reached(record: Record) -> dict[str, Any]:
    """The host and port of the first address that has them, for who knows only Consul."""
    for address in record.addresses:
        place = parse_place(address)
        if place.host and place.port and not place.url:
            return {"Address": place.host, "Port": place.port}
    return {}


def _meta(instance: Any) -> bytes:
    """The record of an instance. Raises RegistryError."""
    try:
        return joined(instance["Meta"] or {})
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise in_order("Consul", error) from None
