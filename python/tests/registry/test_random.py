"""Good states, names and tellings of registries, spoilt at random by the thousand: read or refused, nothing else."""

from __future__ import annotations

import random
from collections.abc import Iterable

from google.protobuf.message import DecodeError

from trunkcall.registry import Entry, Record, RegistryError, open_registry
from trunkcall.registry.embedded import ALL, CHANGE, PARTIAL, Tellings
from trunkcall.registry.place import read_place
from trunkcall.registry.state import parse_state, write_state
from trunkcall.registry.v1.registry_pb2 import Entry as Answered
from trunkcall.registry.v1.registry_pb2 import WatchAnswer


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


def test_of_a_spoilt_state_what_is_good_is_known() -> None:
    draw = random.Random(7)
    whole = write_state(record(number).to_bytes() for number in range(5))
    faults = 0
    for _ in range(5_000):
        state = parse_state(spoilt(draw, whole))
        faults += bool(state.fault)
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
