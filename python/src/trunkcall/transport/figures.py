"""What a connection has at the moment, whatever is spoken on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Figures:
    """Bytes and calls; `round_trip` in seconds."""

    state: str  # "open", "draining", "closed"
    round_trip: float = 0.0
    calls_made: int = 0
    calls_served: int = 0
    unsent: int = 0
    held: int = 0  # with what is unsent
    withheld: int = 0
    pool: int = 0
    pool_held: int = 0
