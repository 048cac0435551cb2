"""Hashes, and which of several endpoints a key belongs to (client.md 10.7). A change of the set moves only what
belonged to those that left, or belongs to those that came."""

from __future__ import annotations

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


def ranked(key: int, identities: Sequence[str]) -> list[int]:
    """Indexes of identities, that which a hashed key belongs to first."""
    names = [identity.encode() for identity in identities]
    return sorted(range(len(names)), key=lambda at: (-mixed(key ^ hashed(names[at])), names[at]))
