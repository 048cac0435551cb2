"""Publishes servers as keys of Consul, which a session holds (spec/registry.md 10.5)."""

from __future__ import annotations

import asyncio
import re
import time
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Any
from urllib.parse import quote

from .asking import in_order, read_json
from .consul_agent import ANSWERS_WITHIN, RENEWS, WITHDRAWS_WITHIN, Agent
from .consul_keywatch import Pair, pairs
from .consul_listing import id_in, name_of
from .place import MOST_TOTAL, Place, check_free, check_held
from .store import RegistryError, Written

LEAST_TTL = 10  # seconds, of a session
UNTIL_OVER = 2  # times of a session that have passed when Consul ends it
LEAST_ANSWER = 1.0  # seconds that an answer to a renewal may take at least, however short the lease
MOST_STANDING = 2 * MOST_TOTAL  # bytes of an answer with what stands under an id
LOCK_DELAY = "1ms"  # 0 is 15 s
IN_TRANSACTION = 30  # operations, of which Consul allows 64
MOST_WRITTEN = 256 << 10  # characters of values in a transaction, whose text Consul bounds at 512 KiB
_SESSION = re.compile(r"[0-9A-Za-z-]{1,64}")

_Operation = dict[str, Any]


class KeyKeeping:
    """What keeps records as keys."""

    def __init__(
        self, agent: Agent, place: Place, records: Sequence[Written], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._agent = agent
        self._root = place.root
        self._lease = place.lease
        self._ttl = max((place.lease + 1) // 2, LEAST_TTL)  # seconds
        self._records = records
        self._session = ""
        self._clock = clock
        self._good = 0.0  # when all was last known to be as it should
        self._next = 0  # of the records, the one to look at next

    def _key(self, one: Written) -> str:
        return f"{self._root}/{one.record.service}/{name_of(one.record.id, one.data)}"

    async def put(self) -> None:
        """Writes the records by a new session. Raises RegistryError where another server is published."""
        replaced = [await self._replaced(one) for one in self._records]
        self._session = await self._begin()
        self._good = self._clock()
        writing = ([*before, self._lock(one)] for before, one in zip(replaced, self._records, strict=True))
        for operations in in_transactions(writing):
            await self._commit(operations)

    async def _replaced(self, one: Written) -> list[_Operation]:
        """Deletes what stands there of a record's id. Raises RegistryError where that is another server's."""
        found: list[_Operation] = []
        async with aclosing(self._standing(one)) as there:
            async for pair in there:
                if self._counts(one, pair):
                    check_free(one, pair.data)
                found.append({"KV": {"Verb": "delete-cas", "Key": pair.key, "Index": pair.index}})
                check_held(len(found), 0)
        return found

    async def _standing(self, one: Written, within: float | None = None) -> AsyncGenerator[Pair]:
        """What there is of a record's id, without the rubbish beside it."""
        what = f"kv/{quote(f'{self._root}/{one.record.key}/')}?recurse&consistent"
        above = f"{self._root}/{one.record.service}/"
        for some in pairs(await self._agent.get(what, within=within, most=MOST_STANDING)):
            for pair in some:
                if id_in(pair.key.removeprefix(above)) == one.record.id:
                    yield pair
            await asyncio.sleep(0)

    def _counts(self, one: Written, pair: Pair) -> bool:
        """Whether what stands at a key is what its name says."""
        return pair.key == f"{self._root}/{one.record.service}/{name_of(one.record.id, pair.data)}"

    async def _begin(self) -> str:
        """A session. It is not bound to the agent's own health, which others doubt sooner than the server."""
        body: dict[str, Any] = {
            "Name": "trunkcall",
            "Behavior": "delete",
            "LockDelay": LOCK_DELAY,
            "TTL": f"{self._ttl}s",
            "NodeChecks": [],
            "Checks": [],
        }
        answer = await self._agent.put("session/create", body)
        try:
            session = answer.value()["ID"]
            if not _SESSION.fullmatch(session):
                raise ValueError(f"the session {session!r}")
        except (LookupError, TypeError, ValueError) as error:
            raise in_order("Consul", error) from None
        return str(session)

    def _lock(self, one: Written) -> _Operation:
        value = b64encode(one.data).decode()
        return {"KV": {"Verb": "lock", "Key": self._key(one), "Value": value, "Session": self._session}}

    async def _commit(self, operations: list[_Operation]) -> None:
        answer = await self._agent.put("txn", operations)
        if answer.status != 409:
            answer.check()
            return
        try:
            said = [str(one["What"]) for one in read_json(answer.who, answer.data)["Errors"]]
        except (LookupError, TypeError) as error:
            raise in_order("Consul", error) from None
        raise RegistryError(": ".join([f"Consul refuses to write {operations[-1]['KV']['Key']}", *said]))

    async def renew(self) -> float:
        """How many seconds behind its beginning it is to be done again. Raises RegistryError if a record is lost;
        RegistryError, OSError if that is not known for so long that the session is over. It may outlive what keeps
        Consul from answering: a leader that is elected, an agent that starts."""
        asked, third = self._clock(), self._lease / RENEWS
        try:
            lost = await self._lost(asked, third)
        except (OSError, RegistryError):
            if self._clock() - self._good >= UNTIL_OVER * self._ttl:
                raise
            return max(third / RENEWS, min(1.0, third))
        if lost:
            raise RegistryError(lost)
        self._good = asked
        return third

    async def _lost(self, asked: float, third: float) -> str:
        """Renews the session, and says why a record is lost. Raises RegistryError, OSError: it is not known."""
        within = min(max(third, LEAST_ANSWER), ANSWERS_WITHIN)
        answer = await self._agent.put(f"session/renew/{self._session}", within=within)
        if answer.status == 404:
            return await self._over(within)
        answer.check()
        for number in range(len(self._records)):
            if number and self._clock() - asked >= third:
                break
            if lost := await self._lost_by(self._records[self._next], within):
                return lost
            self._next = (self._next + 1) % len(self._records)
        return ""

    async def _over(self, within: float) -> str:
        """Looks for a session of which Consul says that it is not there, which may be of its past."""
        answer = await self._agent.get(f"session/info/{self._session}?consistent", within=within)
        known = answer.value()
        if not isinstance(known, list):
            raise in_order("Consul", TypeError(f"{type(known).__name__} is no list"))
        if known:
            raise RegistryError("Consul does not renew a session that it has")
        return "the session is over"

    async def _lost_by(self, one: Written, within: float) -> str:
        """Why a record is lost by what there is of its id, of which the first counts: it is gone, or another was
        written at the same time."""
        async with aclosing(self._standing(one, within)) as there:
            async for first in there:
                if not self._counts(one, first):
                    break
                if first.data == one.data:
                    return ""
                try:
                    check_free(one, first.data)
                except RegistryError as taken:
                    return str(taken)
                break
        return f"{one.record.key} was removed, or written by somebody else"

    async def withdraw(self) -> None:
        """Ends the session, and with it goes what it holds. Raises RegistryError, OSError."""
        if self._session:
            answer = await self._agent.put(f"session/destroy/{self._session}", within=WITHDRAWS_WITHIN)
            answer.check()


def in_transactions(groups: Iterable[list[_Operation]]) -> Iterator[list[_Operation]]:
    """Operations as they are carried out together: those of a group, unless there are too many."""
    held: list[_Operation] = []
    for group in groups:
        for at in range(0, len(group), IN_TRANSACTION):
            part = group[at : at + IN_TRANSACTION]
            if held and (len(held) + len(part) > IN_TRANSACTION or _written(held) + _written(part) > MOST_WRITTEN):
                yield held
                held = []
            held = [*held, *part]
    if held:
        yield held


def _written(operations: Iterable[_Operation]) -> int:
    return sum(len(one["KV"].get("Value", "")) for one in operations)
