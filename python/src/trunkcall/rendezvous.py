"""Hashes, and which of several endpoints a key belongs to (client.md 10.7). A change of the set moves only what
belonged to those that left, or belongs to those that came."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .differences import differences, exchanged

if TYPE_CHECKING:
    from .resolver import Resolved

_MASK = (1 << 64) - 1


def mixed(z: int) -> int:
    """The output function of SplitMix64."""
    z = z + 0x9E3779B97F4A7C15 & _MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    return z ^ z >> 31


def hashed(data: bytes) -> int:
    """FNV-1a of 64 bits, mixed."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & _MASK
    return mixed(value)


class Ranking:
    """Which of many endpoints a hashed key belongs to, from one set of them to the next."""

    def __init__(self, key: int) -> None:
        self._key = key
        self._last: list[Resolved] = []  # the last set
        self._scores: list[int] = []  # of these
        self._best: list[Resolved] = []  # the best of them, in their order
        self._least = 0  # what the last of those scored

    def best(self, found: list[Resolved], most: int) -> list[Resolved]:
        """Those of a set, at most so many, that the key belongs to first, in their order."""
        where = differences(self._last, found)
        went = {self._last[at].identity: self._scores[at] for one in where for at in range(one.begin, one.end)}
        came = [[self._score(one.identity, went) for one in found[part.came]] for part in where]
        self._last, self._scores = found, exchanged(self._scores, where, came)
        same = len(self._best) == most and all(one.identity not in went for one in self._best)
        if not same or any(score >= self._least for part in came for score in part):
            self._choose(most)
        return self._best

    def forget(self) -> None:
        """All are used: nothing is kept of the last set."""
        self._last, self._scores, self._best = [], [], []

    def _score(self, name: str, known: Mapping[str, int]) -> int:
        return known[name] if name in known else mixed(self._key ^ hashed(name.encode()))

    def _choose(self, most: int) -> None:
        found, scores = self._last, self._scores
        self._least = min(heapq.nlargest(most, scores))
        among = [at for at, score in enumerate(scores) if score >= self._least]
        if len(among) > most:  # two that score the same
            among.sort(key=lambda at: (-scores[at], found[at].identity.encode()))
            among = sorted(among[:most])
        self._best = [found[at] for at in among]
