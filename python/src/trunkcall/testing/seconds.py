"""Times that tests give."""

from __future__ import annotations

import math


def nanoseconds(seconds: float) -> int:
    """Raises TypeError and ValueError for what is no time to pass."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"want seconds, got {seconds!r}")
    if not 0 <= seconds < math.inf:
        raise ValueError(f"want seconds from 0 on, got {seconds!r}: time does not go back")
    return round(seconds * 1e9)
