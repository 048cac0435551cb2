"""Times as the commands take them: 3s, 250ms, 1m30s."""

from __future__ import annotations

import re

UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)"


def seconds(text: str) -> float:
    """A time, in seconds. Raises ValueError if it is none, or is not above 0."""
    if not re.fullmatch(f"({_PART})+", text):
        raise ValueError("want a time such as 3s or 250ms")
    found = sum(float(number) * UNITS[unit] for number, unit in re.findall(_PART, text))
    if found <= 0:
        raise ValueError("want a time above 0")
    return found
