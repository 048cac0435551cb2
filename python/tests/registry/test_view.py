"""Sets that follow from the ones before and from what has changed: they are those that the rules say."""

from __future__ import annotations

import random

from trunkcall import Endpoint
from trunkcall.registry import Entry
from trunkcall.registry.view import MISSING, SETTLING, Parsed, View

SERVICE = "users"


def entry(ident: str, weight: int) -> Entry:
    return Entry(ident, f'{{"addresses":["a:1"],"id":"{ident}","service":"{SERVICE}","weight":{weight}}}'.encode())


def ignore(*told: object) -> None:
    pass


class Rules:
    """spec/registry.md 6.2 to 6.4 as they stand there, of entries that are good."""

    def __init__(self) -> None:
        self.there: dict[str, int] = {}  # weights by ids
        self.missing: dict[str, tuple[float, int]] = {}
        self.kept: set[str] = set()  # of those that are missing

    def change(self, at: float, came: dict[str, int], went: list[str]) -> None:
        none = not self.there
        for ident in went:
            if ident in self.there:
                self.missing[ident] = at, self.there.pop(ident)
                self.kept.add(ident)
        for ident, weight in came.items():
            self.there[ident] = weight
            self.missing.pop(ident, None)
            self.kept.discard(ident)
        if none and self.there:
            self.missing = {ident: (at, weight) for ident, (_, weight) in self.missing.items()}
        self.compute(at)

    def compute(self, at: float) -> None:
        if self.there:
            self.missing = {ident: one for ident, one in self.missing.items() if at < one[0] + MISSING}
            self.kept &= self.missing.keys()
            if len(self.there) >= len(self.missing):
                self.kept.clear()

    @property
    def set(self) -> list[tuple[str, int]]:
        return sorted([*self.there.items(), *((ident, self.missing[ident][1]) for ident in self.kept)])


def test_each_set_is_what_the_rules_say() -> None:
    draw = random.Random(11)
    expected_of_all = handed_of_all = 0
    for number in range(20):
        handed: list[list[Endpoint]] = []
        view = View(SERVICE, lambda at, found: handed.append(found), *[ignore] * 4)  # noqa: B023
        rules = Rules()
        ids = [f"i{place}" for place in range(draw.choice([5, 40, 400]))]
        at, last = 0.0, list[tuple[str, int]]()
        for step in range(120):
            at += draw.choice([0.001, SETTLING, 1.0, 7.0])
            if view.due is not None and view.due <= at:
                rules.compute(at)
                view.compute(at)
            some = draw.sample(ids, min(draw.choice([1, 2, 150]), len(ids)))
            if step == 0 or draw.random() < 0.1:
                came = dict.fromkeys(some, 1)
                rules.change(at, came, [one for one in rules.there if one not in came])
                view.all(at, [entry(ident, 1) for ident in some])
            elif draw.random() < 0.4:
                came = {ident: draw.randint(1, 3) for ident in some}
                rules.change(at, came, [])
                view.change(at, [entry(*pair) for pair in came.items()], [])
            else:
                rules.change(at, {}, some)
                view.change(at, [], some)
            at += SETTLING
            rules.compute(at)
            view.compute(at)
            if rules.there:
                last = rules.set
            found = [(one.id, one.weight) for one in handed[-1]] if handed else []
            assert found == last, (number, step)
        expected_of_all += len(last)
        handed_of_all += len(handed)
    assert expected_of_all and handed_of_all > 500


def test_of_many_that_are_missing_those_that_went_later_stay() -> None:
    """Though fewer are there than are missing, by which all of those are gone over in one pass."""
    handed: list[list[Endpoint]] = []
    view = View(SERVICE, lambda at, found: handed.append(found), *[ignore] * 4)
    there = Endpoint("a:1", id="there")
    view.all(0.0, [Parsed(there.id, b"0", endpoint=there)])
    many = [Parsed(f"i{number}", b"1", endpoint=Endpoint("a:1", id=f"i{number}")) for number in range(1_000)]
    view.change(1.0, many, [])
    view.change(2.0, [], [one.id for one in many[:-2]])
    view.change(3.0, [], [one.id for one in many[-2:]])
    assert len(handed[-1]) == len(many) + 1
    view.compute(2.0 + MISSING)
    assert [one.id for one in handed[-1]] == sorted(["there", *(one.id for one in many[-2:])])
