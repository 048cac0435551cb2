"""Hashes, and which of several endpoints a key belongs to (client.md 10.7). A change of the set moves only what
belonged to those that left, or belongs to those that came."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

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
    """Which of many identities a hashed key belongs to, from one set of them to the next."""

    def __init__(self, key: int) -> None:
        self._key = key
        self._scores: dict[str, int] = {}  # of the last set

    def best(self, identities: Sequence[str], most: int) -> list[int]:
        """Indexes of those, at most so many, that the key belongs to first, in their order."""
        known = self._scores
        self._scores = {
            name: known[name] if name in known else mixed(self._key ^ hashed(name.encode())) for name in identities
        }
        scores = list(map(self._scores.__getitem__, identities))
        least = min(heapq.nlargest(most, scores))
        among = [at for at, score in enumerate(scores) if score >= least]
        if len(among) > most:  # two that score the same
            among.sort(key=lambda at: (-scores[at], identities[at].encode()))
            among = sorted(among[:most])
        return among
