"""Servers that are published in etcd, and found there (spec/registry.md 3), by its gateway for HTTP and JSON, which
each of its servers has from version 3.4 on. Needs the extra `etcd`."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from itertools import count
from typing import Any

from .asking import Asking, TooLong, in_order, read_json
from .place import LEASE, ROOT, Account, Place, check_free
from .store import RegistryError, Watcher, Written
from .view import Entry

RENEWS = 3  # in a lease
ASKS_AFTER, ANSWERS_WITHIN = 10.0, 10.0  # seconds
WITHDRAWS_WITHIN = 5.0  # seconds
PAGE = 256  # entries that are asked for at once
MOST_ANSWER = 16 << 20  # bytes: a page of records has a third of it, and a value of etcd 1.5 MiB
IN_TRANSACTION = 60  # records, of 128 operations that etcd allows


class Etcd:
    """A registry in etcd. It is a Store. Each server that is published and each service that is watched has connections
    of its own."""

    def __init__(
        self,
        hosts: Sequence[str],
        *,
        root: str = ROOT,
        lease: int = LEASE,
        tls: ssl.SSLContext | None = None,
        user: str = "",
        password: str = "",
    ) -> None:
        """- `hosts` are the servers, 1 to 9 of HOST:PORT.
        - `root` is above all keys: names with slashes between them.
        - `lease` is for how many seconds a server counts that is not heard of.
        - `tls` is how clients connect; None: in the clear.
        - `user`, if it is not empty, and `password` are who they say to be.

        Raises ValueError, TypeError."""
        self.place = Place(tuple(hosts) if not isinstance(hosts, str) else hosts, root, lease)
        self._tls = tls
        self._user, self._password = user, password
        self._turn = count()  # who is asked first: another each time, since one may answer nothing, or only errors

    async def watch(self, service: str, watcher: Watcher, /) -> None:
        """See Source."""
        async with Asking(self.place.hosts, self._tls, next(self._turn)) as asking:
            etcd = _Api(asking)
            await etcd.begin(self._user, self._password)
            looking = Looking(etcd, f"/{self.place.root}/{service}/", watcher)
            await looking.follow(await looking.all())

    async def keep(self, records: Sequence[Written], published: Callable[[], None], /) -> None:
        """See Store."""
        async with Asking(self.place.hosts, self._tls, next(self._turn)) as asking:
            etcd = _Api(asking)
            await etcd.begin(self._user, self._password)
            keeping = Keeping(etcd, self.place, records)
            try:
                await keeping.put()
                published()
                while True:
                    await asyncio.sleep(self.place.lease / RENEWS)
                    await keeping.renew()
            except asyncio.CancelledError:
                await keeping.withdraw()
                raise


def _text(key: str | bytes) -> str:
    """Bytes as etcd's JSON has them."""
    return b64encode(_bytes(key) if isinstance(key, str) else key).decode()


def _bytes(key: str) -> bytes:
    """By these etcd orders its keys."""
    return key.encode("utf-8", "surrogateescape")


def _behind(prefix: str) -> str:
    """The first key behind all that begin so."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def _key_of(pair: Mapping[str, Any]) -> str:
    return b64decode(pair["key"], validate=True).decode("utf-8", "surrogateescape")


def _data_of(pair: Mapping[str, Any]) -> bytes:
    return b64decode(pair.get("value", ""), validate=True)


class _Api:
    """What is asked of etcd. Everything raises OSError, RegistryError."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        # A server that has lost the others says so, instead of telling nothing.
        asking.headers["Grpc-Metadata-hasleader"] = "true"

    async def begin(self, user: str, password: str) -> None:
        if user:
            answer = await self.ask("auth/authenticate", name=user, password=password)
            self._asking.headers["Authorization"] = str(answer.get("token", ""))

    async def ask(self, what: str, *, within: float | None = None, **body: Any) -> dict[str, Any]:
        seconds = ANSWERS_WITHIN if within is None else within
        answer = await self._asking.ask("POST", f"/v3/{what}", body, within=seconds, most=MOST_ANSWER)
        return _object(answer.who, answer.value())

    async def watch(self, **how: Any) -> AsyncGenerator[dict[str, Any], None]:
        """What a watch is told. It is asked how far it is when it tells nothing: that its connection has died nothing
        else shows."""
        request: dict[str, Any] = {"create_request": how}
        sign: dict[str, Any] = {"progress_request": {}}
        async with aclosing(
            self._asking.lines(
                "POST", "/v3/watch", request, sign=sign, after=ASKS_AFTER, within=ANSWERS_WITHIN, most=MOST_ANSWER
            )
        ) as lines:
            async for line in lines:
                answer = _object("etcd", read_json("etcd", line))
                if "error" in answer:
                    raise RegistryError(f"etcd has ended the watch: {answer['error']}")
                yield _object("etcd", answer.get("result"))


def _object(who: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RegistryError(f"{who} answered what is no JSON object")
    return value  # pyright: ignore[reportUnknownVariableType]


class Looking:
    """What a watcher knows of a service."""

    def __init__(self, etcd: _Api, prefix: str, watcher: Watcher) -> None:
        self.prefix = prefix
        self._etcd = etcd
        self._watcher = watcher
        self._account = Account()

    async def all(self) -> int:
        """Tells the watcher of all entries, and returns the revision at which they stood there."""
        entries: list[Entry] = []
        start, revision, limit = self.prefix, 0, PAGE
        while True:
            try:
                part = await self._etcd.ask(
                    "kv/range",
                    key=_text(start),
                    range_end=_text(_behind(self.prefix)),
                    limit=limit,
                    revision=revision,
                )
            except TooLong:  # they are longer than records
                if limit == 1:
                    raise
                limit //= 2
                continue
            try:
                revision = revision or int(part["header"]["revision"])
                pairs = part.get("kvs", [])
                for pair in pairs:
                    key = _key_of(pair)
                    if _bytes(key) < _bytes(start):  # which might have no end
                        raise RegistryError("etcd answered with keys that do not ascend")
                    start = f"{key}\0"
                    entries.append(self._entry(pair))
                if not part.get("more") or not pairs:
                    break
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                raise in_order("etcd", error) from None
        self._watcher.all(entries)
        return revision

    def _entry(self, pair: Mapping[str, Any]) -> Entry:
        return self._account.put(self._id(pair), _data_of(pair))

    def _id(self, pair: Mapping[str, Any]) -> str:
        return _key_of(pair).removeprefix(self.prefix)

    async def follow(self, revision: int) -> None:
        """Tells the watcher what changes behind a revision."""
        wanted = {
            "key": _text(self.prefix),
            "range_end": _text(_behind(self.prefix)),
            "start_revision": revision + 1,
            "fragment": True,
        }
        async with aclosing(self._etcd.watch(**wanted)) as answers:
            async for answer in answers:
                self._take(answer)
        raise RegistryError("etcd tells no more")

    def _take(self, answer: Mapping[str, Any]) -> None:
        if answer.get("compact_revision"):
            raise RegistryError(f"etcd has forgotten what changed up to its revision {answer['compact_revision']}")
        if answer.get("canceled"):
            raise RegistryError(f"etcd has ended the watch: {answer.get('cancel_reason', '')}")
        try:
            came, went = self._changed(answer.get("events", []))
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise in_order("etcd", error) from None
        if came or went:
            self._watcher.change(came, went)

    def _changed(self, events: Sequence[Mapping[str, Any]]) -> tuple[list[Entry], list[str]]:
        """What came and what went; of each id the last event counts."""
        came: list[Entry] = []
        went: list[str] = []
        for ident, event in {self._id(event["kv"]): event for event in events}.items():
            if event.get("type") == "DELETE":
                self._account.remove(ident)
                went.append(ident)
            else:
                came.append(self._entry(event["kv"]))
        return came, went


class Keeping:
    """What keeps records in etcd."""

    def __init__(self, etcd: _Api, place: Place, records: Sequence[Written]) -> None:
        self._etcd = etcd
        self._place = place
        self._records = records
        self._lease = ""  # its id

    def _key(self, one: Written) -> str:
        return _text(f"/{self._place.root}/{one.record.key}")

    async def put(self) -> None:
        """Writes the records under a new lease. Raises RegistryError where another server is published."""
        seen = [await self._there(one) for one in self._records]
        granted = await self._etcd.ask("lease/grant", TTL=self._place.lease)
        self._lease = str(granted.get("ID", ""))
        for at in range(0, len(self._records), IN_TRANSACTION):
            part = list(zip(self._records, seen, strict=True))[at : at + IN_TRANSACTION]
            done = await self._etcd.ask(
                "kv/txn",
                compare=[
                    {"key": self._key(one), "target": "MOD", "result": "EQUAL", "mod_revision": revision}
                    for one, revision in part
                ],
                success=[
                    {"request_put": {"key": self._key(one), "value": _text(one.data), "lease": self._lease}}
                    for one, _ in part
                ],
            )
            if not done.get("succeeded"):
                raise RegistryError("another server has published there at the same time")

    async def _there(self, one: Written) -> int:
        """The revision of what stands under the key of a record, 0 for nothing. Raises RegistryError."""
        for data, revision in _found(await self._etcd.ask("kv/range", key=self._key(one))):
            check_free(one, data)
            return revision
        return 0

    async def renew(self) -> None:
        """Raises RegistryError if the lease or a record was lost."""
        within = float(self._place.lease)
        answer = await self._etcd.ask("lease/keepalive", within=within, ID=self._lease)
        if not _object("etcd", answer.get("result")).get("TTL"):
            raise RegistryError("the lease was lost")
        for one in self._records:
            found = [data for data, _ in _found(await self._etcd.ask("kv/range", within=within, key=self._key(one)))]
            if found != [one.data]:
                raise RegistryError(f"{one.record.key} was removed, or written by somebody else")

    async def withdraw(self) -> None:
        """Gives the lease back, and with it goes what still stands under it."""
        if self._lease:
            await self._etcd.ask("lease/revoke", within=WITHDRAWS_WITHIN, ID=self._lease)


def _found(answer: Mapping[str, Any]) -> Iterator[tuple[bytes, int]]:
    """The values of an answer, and their revisions. Raises RegistryError."""
    try:
        for pair in answer.get("kvs", []):
            yield _data_of(pair), int(pair["mod_revision"])
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise in_order("etcd", error) from None
