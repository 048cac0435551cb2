"""What the command lines of the commands have in common."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import trunkcall
from load import UsageError
from load.flags import Parser, seconds

PROGRAM = "peer-python"

# Names that --codec takes, the default first: typed methods, or the stock stubs. Both encode Protobuf.
FAST = "protobuf"
STOCK = "protobuf-stock"
CODECS = (FAST, STOCK)

COMPRESSIONS = {one.name: one for one in (trunkcall.GZIP, trunkcall.ZSTD)}

# The framework's default, in seconds (spec/limits.md 2).
KEEPALIVE_TIMEOUT = 20.0


def make_parser(command: str, notes: str) -> Parser:
    return Parser(
        prog=f"{PROGRAM} {command}",
        allow_abbrev=False,
        epilog=notes,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def choice(names: Sequence[str]) -> str:
    """Lists the values that a flag takes."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


def add_codec(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--codec",
        metavar="NAME",
        default=FAST,
        help=f"name of the codec: {choice(CODECS)}, which is the stock stubs instead of typed methods",
    )


def check_codec(name: str) -> None:
    if name not in CODECS:
        raise UsageError(f"--codec {name}: want {choice(CODECS)}")


def add_compression(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--compression",
        metavar="NAME",
        default="",
        help=f"name of the compression of {what}: {choice(list(COMPRESSIONS))}; none unless given",
    )


def find_compression(name: str) -> trunkcall.Compression | None:
    """The compression that a flag names, None if it is empty. Raises UsageError."""
    if name and name not in COMPRESSIONS:
        raise UsageError(f"--compression {name}: want {choice(list(COMPRESSIONS))}")
    return COMPRESSIONS.get(name)


def add_retain_heap(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--retain-heap", action="store_true", help="have glibc keep the memory of large messages")


def add_uvloop(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--uvloop", action="store_true", help="run on uvloop instead of asyncio's own event loop")


def add_blocking(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--blocking", action="store_true", help="make the calls by the blocking client, from threads")


def add_keepalive(parser: argparse.ArgumentParser, interval: float) -> None:
    """`interval` is the framework's default, in seconds."""
    parser.add_argument(
        "--keepalive",
        metavar="INTERVAL,TIMEOUT",
        type=two_times,
        default=(interval, KEEPALIVE_TIMEOUT),
        help="when a silent peer is asked for a sign of life, and how long it has to give one "
        f"(default {interval:g}s,{KEEPALIVE_TIMEOUT:g}s)",
    )


def two_times(text: str) -> tuple[float, float]:
    """`20s,20s` in seconds. Raises ArgumentTypeError."""
    first, _, second = text.partition(",")
    try:
        interval, answer = seconds(first), seconds(second)
    except argparse.ArgumentTypeError:
        interval = answer = 0.0
    if interval <= 0 or answer <= 0:
        raise argparse.ArgumentTypeError("want two times above 0, such as 20s,20s")
    return interval, answer
