"""Sets of many endpoints: a change of a few costs as much as the few, and what comes of it is what a new client has."""

from __future__ import annotations

import asyncio
import gc
import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from trunkcall import Balancer, Client, Endpoint, InvalidSet, Watch, first, hash_by, least_loaded, round_robin
from trunkcall.differences import differences, exchanged
from trunkcall.rendezvous import Ranking
from trunkcall.resolver import GoodSets, Resolved, check_endpoints

MANY = 10_000


async def nobody(watch: Watch) -> None:
    await asyncio.Event().wait()


def changed(draw: random.Random, before: list[Any], new: Callable[[], Any]) -> list[Any]:
    """Some go, some come, some change places; some of that in a row."""
    found = list(before)
    for _ in range(draw.randrange(4)):
        at, end = sorted(draw.randrange(len(found) + 1) for _ in range(2))
        end = min(end, at + draw.choice([1, 1, 2, 30, 300]))
        match draw.randrange(4):
            case 0:
                del found[at:end]
            case 1:
                found[at:at] = [new() for _ in range(end - at)]
            case 2:
                found[at:end] = [new() for _ in range(end - at)]
            case _:
                found.append(found.pop(at)) if at < len(found) else found.reverse()
    return found


def test_the_list_before_with_what_differs_is_the_list_behind() -> None:
    draw = random.Random(5)
    last: list[int] = []
    for _ in range(2_000):
        before, last = last, changed(draw, last or list(range(700)), lambda: draw.randrange(9))
        where = differences(before, last)
        assert exchanged(before, where, [last[one.came] for one in where]) == last
        assert bool(where) == (before != last)


def test_what_differs_here_and_there_is_told_apart() -> None:
    before = list(range(MANY))
    behind = [-1, *before[:3000], *before[3001:7000], -2, -3, *before[7001:]]
    told = [(before[one.went], behind[one.came]) for one in differences(before, behind)]
    assert told == [([], [-1]), ([3000], []), ([7000], [-2, -3])]


def endpoint(number: int, weight: int = 1) -> Endpoint:
    return Endpoint(f"10.0.{number >> 8}.{number & 255}:4000", id=f"instance-{number:05d}", weight=weight)


def test_a_set_that_follows_others_is_what_it_is_by_itself() -> None:
    draw = random.Random(5)
    sets = GoodSets()
    begun = [endpoint(number) for number in range(100)]
    last = begun
    refused = twice = 0
    for _ in range(300):
        given = changed(draw, last, lambda: endpoint(draw.randrange(200), draw.choice([1, 1, 1, 2])))
        if draw.random() < 0.1:
            given.insert(draw.randrange(len(given) + 1), Endpoint("nowhere"))
        try:
            found = check_endpoints(given)
        except InvalidSet:
            refused += 1
            with pytest.raises(InvalidSet):
                sets.next(list(given))
            continue
        assert sets.next(list(given)) == found
        twice += len(found) < len(given)
        last = given if 50 < len(given) < 150 else begun
    assert refused > 10 and twice > 10


def test_of_a_set_only_what_is_new_is_looked_at() -> None:
    stay, goes, comes = (endpoint(number) for number in range(3))
    sets = GoodSets()
    before = sets.next([stay, goes])
    after = sets.next([comes, stay, stay])
    assert [one.endpoint for one in after] == [comes, stay]
    assert after[1] is before[0]
    with pytest.raises(InvalidSet):
        sets.next([stay, Endpoint("10.0.0.1", id=goes.id)])  # another one of that identity


def test_what_was_chosen_before_makes_no_difference() -> None:
    draw = random.Random(3)
    ranking = Ranking(7)

    def new() -> Resolved:
        number = draw.randrange(400)
        return Resolved(f"instance-{number}", endpoint(number, draw.randrange(9)), ())

    last = [Resolved(f"instance-{number}", endpoint(number), ()) for number in range(300)]
    for _ in range(1_000):
        given = changed(draw, last, new)
        found = list({one.identity: one for one in given}.values())
        if len(found) > 50:
            last = found
        assert ranking.best(last, 20) == Ranking(7).best(last, 20)


def test_a_set_that_is_used_whole_keeps_nothing_of_those_before() -> None:
    """What follows it is chosen as by a new client."""

    async def main() -> None:
        client = Client("test:", resolvers={"test": nobody}, most_endpoints=20)
        endpoints, sets = client._endpoints, GoodSets()

        def used(count: int) -> list[str]:
            endpoints.apply(sets.next([endpoint(number) for number in range(MANY, MANY + count)]))
            return [one.endpoint.identity for one in endpoints.order]

        chosen = used(100)
        assert len(chosen) == 20
        assert len(used(10)) == 10
        gc.collect()
        kept = [one for one in gc.get_objects() if isinstance(one, Resolved) and one.identity >= endpoint(MANY).id]
        assert len(kept) == 10
        assert used(100) == chosen
        await client.close()

    asyncio.run(main())


def calls_of(apply: Callable[[list[Resolved]], None], sets: GoodSets, given: list[Endpoint]) -> int:
    """How many functions are called for a set."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        apply(sets.next(given))
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("balancer", [round_robin(), least_loaded(), first(), hash_by("key")])
def test_a_change_costs_as_much_as_has_changed(balancer: Balancer) -> None:
    async def main() -> None:
        client = Client("test:", resolvers={"test": nobody}, balancer=balancer)
        endpoints = client._endpoints
        sets = GoodSets()
        there = [endpoint(number) for number in range(MANY)]
        endpoints.apply(sets.next(there))
        for number in (MANY, MANY + 1):  # the first has what is made once made
            behind = [*there[:5000], endpoint(number), *there[5001:]]
            count = calls_of(endpoints.apply, sets, behind)
            there = behind
        assert count < 1_000
        assert {one.endpoint for one in endpoints.order} <= set(there)
        assert len(endpoints.order) == (MANY if endpoints.lazy else 20)
        await client.close()

    asyncio.run(main())
