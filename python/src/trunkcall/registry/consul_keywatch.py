"""Finds servers that are published as keys of Consul (spec/registry.md 10.5)."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from .asking import Answer, in_order, read_json
from .consul_agent import MOST_ANSWER, Agent, index_of
from .consul_listing import Listing
from .place import check_held
from .store import Watcher

ONE_BY_ONE = 50  # new records that are asked for so; of more all are
READ = 64 << 10  # bytes of an answer that are read in one turn of the loop, and what follows of the last value
_BEGIN = b'{"LockIndex":'  # of each key with its value, as Consul writes it; within a text there is a \\ before each "


@dataclass(frozen=True, slots=True)
class Pair:
    """A key, and what stands there."""

    key: str
    data: bytes
    index: int  # since when


class KeyLooking:
    """What a watcher knows of a service: it has the names of its keys told, and asks for the records of new ones."""

    between = 0.01  # seconds from one list of names to the next at least

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._listing = Listing()

    async def ask(self, agent: Agent, index: int, watcher: Watcher) -> int:
        """Has Consul tell the names, once there is something newer than an index, and returns what is asked for next;
        0 is to begin anew. Raises OSError, RegistryError."""
        answer = await agent.newer(f"kv/{quote(self._prefix)}?keys", index)
        if answer.status != 404:
            answer.check()
        following = index_of(answer, index)
        if following in (0, index):  # it is not believed, or nothing has changed in that time
            return following
        fresh = await self._names(answer)
        if len(fresh) > ONE_BY_ONE:
            await self._read_all(agent, fresh)
        else:
            for name in fresh:
                await self._read(agent, name)
        first = not self._listing.begun
        came, went = self._listing.end()
        if first:
            watcher.all(came)
        elif came or went:
            watcher.change(came, went)
        return following

    async def _names(self, answer: Answer) -> list[str]:
        """Those of an answer that are new."""
        prefix, cut = self._prefix, len(self._prefix)
        fresh: list[str] = []
        self._listing.begin()
        for keys in values(answer, b'"' + prefix.encode()):
            try:
                names = [key[cut:] for key in keys if key.startswith(prefix)]
            except AttributeError as error:
                raise in_order("Consul", error) from None
            fresh += self._listing.take(names)
            check_held(len(fresh), 0)
            await asyncio.sleep(0)
        return fresh

    async def _read(self, agent: Agent, name: str) -> None:
        answer = await agent.get(f"kv/{quote(self._prefix + name)}?raw&consistent", most=MOST_ANSWER)
        if answer.status != 404:  # else it has gone by now
            answer.check()
            self._listing.put(name, answer.data)

    async def _read_all(self, agent: Agent, fresh: list[str]) -> None:
        wanted = set(fresh)
        answer = await agent.get(f"kv/{quote(self._prefix)}?recurse&consistent", most=MOST_ANSWER)
        for some in pairs(answer):
            for pair in some:
                name = pair.key.removeprefix(self._prefix)
                if name in wanted:
                    wanted.discard(name)
                    self._listing.put(name, pair.data)
            await asyncio.sleep(0)


def pairs(answer: Answer) -> Iterator[list[Pair]]:
    """The keys of an answer with what stands there, as `values`. Raises RegistryError."""
    for some in values(answer, _BEGIN):
        yield [_pair(one) for one in some]


def _pair(one: Any) -> Pair:
    try:
        key, value, index = one["Key"], one["Value"], one["ModifyIndex"]
        if not isinstance(key, str) or type(index) is not int:
            raise TypeError("a key is no text, or its index no number")
        return Pair(key, b"" if value is None else b64decode(value, validate=True), index)
    except (LookupError, TypeError, ValueError) as error:
        raise in_order("Consul", error) from None


def values(answer: Answer, begin: bytes) -> Iterator[list[Any]]:
    """What stands in the list of an answer, some at a time, between which who else runs on the event loop is to have
    its turn. Where there is nothing, Consul answers 404. `begin` is how each value begins as Consul writes it, and
    stands nowhere else behind a comma; of what is written otherwise more is read at once. Raises RegistryError."""
    if answer.status == 404:
        return
    answer.check()
    data = answer.data.strip()
    if not data.startswith(b"[") or not data.endswith(b"]"):
        raise in_order("Consul", TypeError(f"{type(read_json(answer.who, data)).__name__} is no list"))
    for part in _parts(data, b"," + begin):
        yield read_json(answer.who, b"[" + part + b"]")


def _parts(data: bytes, border: bytes) -> Iterator[bytes]:
    """Cuts what stands in a list."""
    start, end = 1, len(data) - 1
    while (cut := data.find(border, start + READ, end)) >= 0:
        yield data[start:cut]
        start = cut + 1
    yield data[start:end]
