"""Servers that are published in Consul, and found there (spec/registry.md 3), by the API of its agents over HTTP. Needs
the extra `consul`."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any
from urllib.parse import quote

from trunkcall.transport import parse_place

from .asking import Answer, Asking, in_order, read_json
from .place import LEASE, Account, Place, check_free
from .record import MOST_BYTES, Record
from .store import RegistryError, Watcher, Written
from .view import Entry

RENEWS = 3  # in a lease
ANSWERS_WITHIN = 10.0  # seconds
WAITS = 60  # seconds that Consul holds a question back while nothing changes; a sixteenth more at most
LOOKS = 0.02  # seconds between two questions at least: each answer has all instances
WITHDRAWS_WITHIN = 5.0  # seconds
FORGOTTEN = 60  # seconds after which a server that is critical is deregistered
MOST_ANSWER = 512 << 20  # bytes: an instance without its record has about 1 KiB
MOST_SHORT = 1 << 20  # of other answers
PIECE = 512  # bytes: the longest text of metadata
PIECES = MOST_BYTES // (PIECE - 3) + 1  # of a record, in characters of up to four bytes
NAMED = "trunkcall-"
_BEGIN = b'{"Node":{'  # of each instance, as Consul writes it; within a text there is a \\ before each "
_DECODER = json.JSONDecoder()


class Consul:
    """A registry in Consul, by an agent, which checks the servers that are published with it. It is a Store. Each
    server that is published and each service that is watched has connections of its own."""

    def __init__(
        self,
        host: str,
        *,
        lease: int = LEASE,
        tls: ssl.SSLContext | None = None,
        token: str = "",
    ) -> None:
        """- `host` is where the agent is, HOST:PORT.
        - `lease` is for how many seconds a server counts that is not heard of.
        - `tls` is how clients connect; None: in the clear.
        - `token` is by which they may do what they ask for, if it is not empty.

        Raises ValueError."""
        self.place = Place((host,), lease=lease)
        self._tls = tls
        self._headers = {"X-Consul-Token": token} if token else {}

    def _asking(self) -> Asking:
        asking = Asking(self.place.hosts, self._tls)
        asking.headers.update(self._headers)
        return asking

    async def watch(self, service: str, watcher: Watcher, /) -> None:
        """See Source."""
        looking = Looking(service)
        index = 0
        async with self._asking() as asking:
            while True:
                began = asyncio.get_running_loop().time()
                answer = await _ask_health(asking, service, index)
                answer.check()
                index = _index(answer, index)
                if index:
                    came, went = looking.look(answer)
                    if not looking.told:
                        watcher.all(came)
                    elif came or went:
                        watcher.change(came, went)
                    looking.told = True
                await asyncio.sleep(max(began + LOOKS - asyncio.get_running_loop().time(), 0))

    async def keep(self, records: Sequence[Written], published: Callable[[], None], /) -> None:
        """See Store."""
        async with self._asking() as asking:
            keeping = Keeping(asking, self.place.lease, records)
            try:
                await keeping.put()
                published()
                while True:
                    await asyncio.sleep(self.place.lease / RENEWS)
                    await keeping.renew()
            except asyncio.CancelledError:
                await keeping.withdraw()
                raise


async def _ask_health(asking: Asking, service: str, index: int) -> Answer:
    # At first consistent, or a server that has just been started may tell of its past.
    how = f"index={index}&wait={WAITS}s" if index else "consistent"
    within = ANSWERS_WITHIN + (WAITS * 17 / 16 if index else 0)
    return await asking.ask("GET", f"/v1/health/service/{quote(service)}?{how}", within=within, most=MOST_ANSWER)


def _index(answer: Answer, before: int) -> int:
    """What a good answer says is to be asked for next; 0 if it is not believed, because its index goes back."""
    text = answer.headers.get("x-consul-index", "")
    if not text.isdecimal() or len(text) > 20:
        raise RegistryError(f"{answer.who} answered without an index")
    index = int(text)
    return max(index, 1) if index >= before else 0


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

    def __init__(self, service: str) -> None:
        self.told = False
        self._service = service
        self._read: dict[bytes, _Instance] = {}  # by the digest of what was said of each
        self._known: dict[str, bytes] = {}
        self._account = Account()

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

    def __init__(self, asking: Asking, lease: int, records: Sequence[Written]) -> None:
        self._asking = asking
        self._lease = lease
        self._records = records
        self._begun = False

    async def _act(self, what: str, body: Any, within: float) -> None:
        answer = await self._asking.ask("PUT", f"/v1/agent/{what}", body, within=within, most=MOST_SHORT)
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
            await self._act("service/register?replace-existing-checks=true", body, ANSWERS_WITHIN)
            await self._pass(one, ANSWERS_WITHIN)

    async def _check(self, one: Written) -> None:
        """Raises RegistryError if the agent has another server's record there that is alive."""
        target = f"/v1/agent/health/service/id/{quote(one.record.key)}"
        answer = await self._asking.ask("GET", target, within=ANSWERS_WITHIN, most=MOST_SHORT)
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

    async def _pass(self, one: Written, within: float) -> None:
        await self._act(f"check/pass/{quote(f'service:{one.record.key}')}", None, within)

    async def renew(self) -> None:
        """Raises RegistryError if a record was lost."""
        within = float(self._lease)
        for one in self._records:
            if not await self._is_own(one, within):
                raise RegistryError(f"{one.record.key} was removed, or written by somebody else")
            await self._pass(one, within)

    async def _is_own(self, one: Written, within: float) -> bool:
        """Whether the agent still has what was registered."""
        target = f"/v1/agent/service/{quote(one.record.key)}"
        answer = await self._asking.ask("GET", target, within=within, most=MOST_SHORT)
        return answer.status != 404 and _meta(answer.value()) == one.data

    async def withdraw(self) -> None:
        """Deregisters what is still its own. Raises RegistryError, OSError."""
        async with asyncio.timeout(WITHDRAWS_WITHIN):
            for one in self._records if self._begun else ():
                if await self._is_own(one, WITHDRAWS_WITHIN):
                    await self._act(f"service/deregister/{quote(one.record.key)}", None, WITHDRAWS_WITHIN)


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
