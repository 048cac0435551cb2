"""What clients and servers are configured with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .checking import check_codec, check_range, check_seconds, listed_option, wrong_type
from .codec import FIRST_NAMED, JSON, MSGPACK, PROTOBUF, RAW, Codec
from .wire import INITIAL_WINDOW, Config, Load, Settings

WAITING_CALLS = 4_096
RUNNING_HANDLERS = 16_384
CLIENT_KEEPALIVE = 20.0  # seconds
SERVER_KEEPALIVE = 60.0
KEEPALIVE_TIMEOUT = 20.0
DRAIN_GRACE = 30.0
POOL = 1 << 20
MAX_POOL = 128 << 20  # and no more than an eighth of the memory


@dataclass(frozen=True, slots=True)
class Limits:
    """What this side accepts from its peers; they are told so when a connection begins (spec/limits.md)."""

    message_bytes: int = 67_108_864  # of one message
    calls: int = 1_024  # that a peer may have open per connection
    metadata_bytes: int = 16_384  # of one side of a call; the default is the least
    metadata_entries: int = 128  # likewise
    window: int = INITIAL_WINDOW  # bytes of a stream that may be unconsumed; the default is the least
    pool: int = POOL  # bytes that all streams of a connection share beyond their windows, at first; 0: none
    # What the pool grows to on a long path; it does not grow if this is not above `pool`. None: an eighth of the
    # memory, 128 MiB at most.
    max_pool: int | None = None


def codec_table(codecs: Iterable[Codec]) -> dict[int, Codec]:
    """Codecs by number, raw, Protobuf, JSON and MessagePack among them. Raises TypeError; ValueError for a
    number that cannot be used."""
    table = {codec.number: codec for codec in (RAW, PROTOBUF, JSON, MSGPACK)}
    for codec in listed_option("codecs", codecs, "codecs"):
        check_codec("codecs", codec)
        if not 0 <= codec.number <= 15 or 5 <= codec.number < FIRST_NAMED:
            raise ValueError(f"option codecs: codec {codec.name} has number {codec.number}, want 0 to 4, or 8 to 15")
        table[codec.number] = codec
    return table


def listed(codecs: Iterable[Codec]) -> str:
    """Codecs for people: "0 (raw), 1 (protobuf)"."""
    return ", ".join(f"{codec.number} ({codec.name})" for codec in sorted(codecs, key=lambda codec: codec.number))


def session_config(
    limits: Limits,
    codecs: dict[int, Codec],
    compressions: Iterable[int],
    keepalive: float,
    keepalive_timeout: float,
    load: Load,
) -> Config:
    """The configuration of sessions. Times are in seconds. Raises TypeError, ValueError."""
    check_seconds(0, keepalive=keepalive)
    check_seconds(0, keepalive_timeout=keepalive_timeout)
    if keepalive and not keepalive_timeout:
        raise ValueError(f"option keepalive_timeout: {keepalive_timeout:,} was given, want seconds above 0")
    if not isinstance(limits, Limits):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise wrong_type("limits", limits, "Limits(…)")
    max_pool = min(MAX_POOL, load.budget.limit // 8) if limits.max_pool is None else limits.max_pool
    for name, value, least, greatest in (
        ("window", limits.window, INITIAL_WINDOW, 0x7FFFFFFF),
        ("pool", limits.pool, 0, 0x7FFFFFFF),
        ("max_pool", max_pool, 0, 0x7FFFFFFF),
        ("message_bytes", limits.message_bytes, 1, 0xFFFFFFFF),
        ("calls", limits.calls, 0, 0xFFFFF),
        ("metadata_bytes", limits.metadata_bytes, 16_384, 32_700),  # less than half of a frame body
        ("metadata_entries", limits.metadata_entries, 128, 0xFFFFFFFF),
    ):
        check_range(f"limits.{name}", value, least, greatest)
    settings = Settings(
        max_message=limits.message_bytes,
        max_calls=limits.calls,
        max_metadata_bytes=limits.metadata_bytes,
        max_metadata_entries=limits.metadata_entries,
        codecs={number: codec.name.encode() for number, codec in codecs.items() if number >= FIRST_NAMED},
        compressions=frozenset(compressions),
        keepalive_interval=min(int(keepalive * 1_000), 0xFFFFFFFF),
        pool=limits.pool,
    )
    return Config(
        settings=settings,
        window=limits.window,
        max_pool=max_pool,
        codecs=frozenset(number for number in codecs if number < FIRST_NAMED),
        codec_list=listed(codecs.values()),
        keepalive=int(keepalive * 1e6),
        keepalive_answer=int(keepalive_timeout * 1e6),
        load=load,
    )
