"""Good states, names and tellings of registries, spoilt at random by the thousand: read or refused, nothing else."""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from google.protobuf.message import DecodeError
from kazoo.exceptions import NoNodeError

from trunkcall.registry import Entry, Record, RegistryError, open_registry
from trunkcall.registry.embedded import ALL, CHANGE, PARTIAL, Tellings
from trunkcall.registry.place import Account, read_place
from trunkcall.registry.state import parse_state, write_state
from trunkcall.registry.v1.registry_pb2 import Entry as Answered
from trunkcall.registry.v1.registry_pb2 import WatchAnswer
from trunkcall.registry.view import View
from trunkcall.registry.zookeeper import Looking


def spoilt(draw: random.Random, whole: bytes) -> bytes:
    """Some bytes are others, some are gone, some are there twice, or it is cut off."""
    made = bytearray(whole)
    for _ in range(draw.randint(1, 3)):
        if not made:
            break
        at = draw.randrange(len(made))
        end = at + draw.randint(1, 8)
        match draw.randrange(5):
            case 0:
                made[at] = draw.randrange(256)
            case 1:
                made[at] = draw.choice(b'{}[]",:\\/?=\n019')
            case 2:
                del made[at:end]
            case 3:
                made[at:at] = made[at:end]
            case _:
                del made[at:]
    return bytes(made)


def record(number: int) -> Record:
    return Record(service="users", id=f"i{number}", addresses=(f"a:{number + 1}",))


# What a record is refused with, which names the member that is at fault (registry.md 2.5).
REFUSED = re.compile(
    r"record of \d+ bytes, at most 16384|not a JSON object|want no control characters"
    r"|(addresses(\[\d+\])?|attributes|id|server_name|service|version|weight|zone): want "
)


def check_fault(fault: str, records: int) -> None:
    """The line of a fault follows those of the first text and of the records that are good."""
    line, _, text = fault.partition(": ")
    if text == 'want "trunkcall registry 1"':
        assert line == "1"
    elif text == "want nothing behind the end":
        assert int(line) == records + 3
    else:
        assert int(line) == records + 2, (fault, records)
        ended = text in (f'want "end {records}"', f'want a record or "end {records}"')
        assert ended or text.endswith(" is there twice") or REFUSED.match(text), text


def test_of_a_spoilt_state_what_is_good_is_known() -> None:
    draw = random.Random(7)
    whole = write_state(record(number).to_bytes() for number in range(5))
    faults = 0
    for _ in range(5_000):
        state = parse_state(spoilt(draw, whole))
        if state.fault:
            check_fault(state.fault, len(state.records))
            faults += 1
        again = parse_state(write_state(one.data for one in state.records))
        assert not again.fault and again.records == state.records
    assert 1_000 < faults < 5_000


def test_spoilt_names_are_opened_or_refused() -> None:
    draw = random.Random(7)
    names = [
        "trunkcall:127.0.0.1:4001",
        "trunkcall:unix:/run/x",
        "file:/run/x",
        "srv:example.com",
        "etcd:a:1,[::1]:2/r/v1?lease=3",
        "zookeeper:a:1/r",
        "consul:a:1?lease=3",
        "consul:a:1/r/v1?lease=3",
    ]
    refused = 0
    for _ in range(5_000):
        name = spoilt(draw, draw.choice(names).encode()).decode("utf-8", "replace")
        try:
            open_registry(name)
        except ValueError as error:
            assert str(error).startswith(f'registry "{name}": ')
            refused += 1
        place = name.partition(":")[2]
        try:
            found = read_place(place)
        except ValueError:
            continue
        assert 1 <= len(found.hosts) <= 9 and 1 <= found.lease <= 3600
    assert 1_000 < refused < 5_000


class Holding:
    """A watcher that counts what it holds."""

    def __init__(self) -> None:
        self.there: dict[str, bytes] = {}

    def all(self, entries: Iterable[Entry], /) -> None:
        self.there = {one.id: one.data for one in entries}

    def change(self, came: Iterable[Entry], went: Iterable[str], /) -> None:
        self.there.update((one.id, one.data) for one in came)
        for ident in went:
            self.there.pop(ident, None)

    async def failed(self) -> None:
        raise AssertionError


def test_spoilt_tellings_are_taken_or_refused() -> None:
    draw = random.Random(7)
    kinds = [CHANGE, ALL, PARTIAL]
    taken = refused = 0
    for _ in range(3_000):
        holding = Holding()
        tellings = Tellings(holding)
        for number in range(draw.randint(1, 4)):
            answer = WatchAnswer(
                kind=draw.choice(kinds) if number else ALL,
                came=[Answered(id=draw.choice("abc"), record=b"x" * draw.randrange(9)) for _ in range(3)],
                went=[draw.choice("abc")] if number else [],
                more=draw.random() < 0.2,
            )
            data = answer.SerializeToString()
            try:
                tellings.take(WatchAnswer.FromString(data if draw.random() < 0.5 else spoilt(draw, data)))
            except DecodeError:
                break
            except RegistryError:
                refused += 1
                break
            taken += 1
        assert len(holding.there) <= 15 and sum(map(len, holding.there.values())) <= 200
    assert taken > 1_000 and refused > 200, (taken, refused)


class Nodes:
    """Stands in the place of a session with ZooKeeper: its nodes change at random, also between two questions."""

    PATH = "/root/users"

    def __init__(self, draw: random.Random) -> None:
        self.there: dict[str, bytes | None] | None = None  # None: the node above them is not there
        self.left = 60  # changes to come
        self._draw = draw
        self._watched: set[str] = set()
        self._changes: set[str] = set()

    def noting(self, path: str) -> str:
        return path

    async def changed(self) -> set[str]:
        while not self._changes and self.left:
            self._change()
        if not self._changes:
            raise EOFError
        changes, self._changes = self._changes, set()
        return changes

    async def ask(self, what: str, path: str, *, watch: str) -> Any:
        if self.left and self._draw.random() < 0.1:
            self._change()
        if self.left and self._draw.random() < 0.005:
            raise RegistryError("on purpose")
        ident = path.removeprefix(self.PATH).removeprefix("/")
        there = self.there is not None and (not ident or ident in self.there)
        if there or what == "exists":
            self._watched.add(watch)
        if what == "exists":
            return SimpleNamespace(version=0) if there else None
        if not there or self.there is None:
            raise NoNodeError
        return list(self.there) if what == "get_children" else (self.there[ident], SimpleNamespace(version=0))

    def _change(self) -> None:
        draw = self._draw
        self.left -= 1
        name = draw.choice(["i1", "i2", "i3", "i4", "\u00e9", "\udc80", " ", "a b", "..", "x" * 300])
        if self.there is None:
            self.there = {}
            self._tell("")
        elif name in self.there and draw.random() < 0.4:
            del self.there[name]
            self._tell(name, "")
        else:
            good = record(int(name[1])).to_bytes() if name[0] == "i" else record(9).to_bytes()
            data = draw.choice([good, spoilt(draw, good), None, b"", draw.randbytes(20), b"x" * 20_000])
            self._tell(name, *([] if name in self.there else [""]))
            self.there[name] = data

    def _tell(self, *idents: str) -> None:
        for ident in idents:
            path = f"{self.PATH}/{ident}" if ident else self.PATH
            if path in self._watched:
                self._watched.discard(path)
                self._changes.add(path)


def test_of_random_answers_of_zookeeper_what_stands_there_is_told() -> None:
    draw = random.Random(7)
    handed: list[list[Any]] = []
    ends = Counter[str]()

    class Told:
        """Holds what it is told, and has a view take it too."""

        def __init__(self) -> None:
            self.there: dict[str, Entry] = {}
            self._view = View(
                "users", lambda at, found: handed.append(found), self._left_out, *[lambda *told: None] * 3
            )
            self._at = 0.0

        def _left_out(self, *told: object) -> None:
            ends["left out"] += 1

        def all(self, entries: Iterable[Entry], /) -> None:
            came = list(entries)
            self.there = {one.id: one for one in came}
            self._at += 1
            self._view.all(self._at, came)

        def change(self, came: Iterable[Entry], went: Iterable[str], /) -> None:
            came, went = list(came), list(went)
            assert not {one.id for one in came} & set(went)
            for ident in went:
                del self.there[ident]
            self.there |= {one.id: one for one in came}
            self._at += 1
            self._view.change(self._at, came, went)

        async def failed(self) -> None:
            raise AssertionError

    async def follow(nodes: Any, told: Told) -> str:
        """As a resolver does: after a failure all is asked anew."""
        try:
            await Looking(nodes, nodes.PATH, told).follow()
        except (RegistryError, EOFError) as error:
            return type(error).__name__
        raise AssertionError

    async def test() -> None:
        for _ in range(200):
            nodes, told = Nodes(draw), Told()
            while (end := await follow(nodes, told)) != "EOFError":
                ends[end] += 1
            account = Account()
            assert told.there == {ident: account.put(ident, data or b"") for ident, data in (nodes.there or {}).items()}

    asyncio.run(test())
    assert ends["RegistryError"] > 20 and ends["left out"] > 1_000 and len(handed) > 500, (ends, len(handed))
