"""The pauses before something that has failed is tried again (limits.md 3)."""

from __future__ import annotations

import random

FIRST = 0.1  # seconds, doubled with each failure in a row
LAST = 10.0


def longest_pause(failures: int) -> float:
    """Seconds, after so many failures in a row."""
    return min(FIRST * 2.0 ** min(failures - 1, 10), LAST)


def pause(failures: int) -> float:
    """A random part of the longest one, so that many do not try at the same moment."""
    return random.uniform(0, longest_pause(failures))
