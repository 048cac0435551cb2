"""What a side of a connection is configured with."""

from __future__ import annotations

from dataclasses import dataclass, field

from .budget import Load
from .preface import INITIAL_WINDOW
from .settings import DEFAULTS, Settings


@dataclass(slots=True, frozen=True)
class Config:
    """What a side is configured with. Intervals are µs; keepalive 0: none.

    `codecs` are the fixed numbers, 0 to 7, that it has; its own, 8 to 15, are named in the settings; `codec_list` names
    all of them for people. `exact`: the transport tells by `wrote` exactly which bytes have left (protocol.md 14).
    `max_pool` is what the pool may grow to, in bytes (limits.md 2); 0: the pool does not grow."""

    settings: Settings = DEFAULTS
    window: int = INITIAL_WINDOW
    max_pool: int = 0
    codecs: frozenset[int] = frozenset((0, 1, 2, 3, 4))
    codec_list: str = ""
    keepalive: int = 20_000_000
    keepalive_answer: int = 20_000_000
    exact: bool = False
    incomplete_bytes: int = 256 << 20
    load: Load = field(default_factory=Load)
