"""What differs between two sets that follow each other, so that what is done for a change is as much as the change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

_BLOCK = 256  # that are compared at once
_AHEAD = 16  # how far those that came and went in one place are told apart from those that stay

_T = TypeVar("_T")


class Difference(NamedTuple):
    """Some places of the list before, and those that stand there in the list behind it."""

    begin: int  # of the list before
    end: int
    first: int  # of the list behind it
    last: int

    @property
    def went(self) -> slice:
        """Of the list before."""
        return slice(self.begin, self.end)

    @property
    def came(self) -> slice:
        """Of the list behind it."""
        return slice(self.first, self.last)


def differences(before: list[_T], behind: list[_T]) -> list[Difference]:
    """Where two lists differ, in order. What is equal in both is compared by blocks. Where much has changed in one
    place, more may be told than differs."""
    n, m = len(before), len(behind)
    begin = _alike(before, 0, behind, 0)
    if begin == n == m:
        return []
    tail = min(_alike(before[::-1], 0, behind[::-1], 0), min(n, m) - begin)
    n, m = n - tail, m - tail
    found: list[Difference] = []
    first = begin
    while begin < n or first < m:
        went, came = _until_alike(before, begin, n, behind, first, m)
        found.append(Difference(begin, begin + went, first, first + came))
        begin, first = begin + went, first + came
        stay = min(_alike(before, begin, behind, first), n - begin, m - first)
        begin, first = begin + stay, first + stay
    return found


def _alike(one: list[_T], at: int, other: list[_T], there: int) -> int:
    """How many are equal from two places on."""
    count = 0
    while True:
        some, beside = one[at + count : at + count + _BLOCK], other[there + count : there + count + _BLOCK]
        if some != beside:
            break
        if not some:
            return count
        count += len(some)
    for a, b in zip(some, beside, strict=False):
        if a is not b and a != b:
            break
        count += 1
    return count


def _until_alike(before: list[_T], begin: int, n: int, behind: list[_T], first: int, m: int) -> tuple[int, int]:
    """How many went and came until both go on alike; all that are left, if that is not near."""
    for both in range(1, _AHEAD + 1):
        for went in range(max(both - (m - first), 0), min(both, n - begin) + 1):
            at, there = begin + went, first + both - went
            if at == n and there == m or at < n and there < m and before[at] == behind[there]:
                return went, both - went
    return n - begin, m - first


def exchanged(there: Sequence[_T], where: Iterable[Difference], came: Iterable[Sequence[_T]]) -> list[_T]:
    """What belongs to a list, each to one of it, after changes of that: `came` is what belongs to those that came."""
    found = list(there)
    for one, new in zip(reversed(list(where)), reversed(list(came)), strict=True):
        found[one.went] = new
    return found
