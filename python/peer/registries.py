"""The registry command: keeps the embedded registry until a signal comes."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections.abc import Sequence

from load import Failed, UsageError
from load.flags import seconds
from trunkcall import registry

from .flags import make_parser
from .log import make_logger
from .loop import run_loop
from .serve import Signals, say_where
from .target import split_address

NOTES = """One line on stdout, "listening ADDRESS", says where. Its name for --registry is
then trunkcall:ADDRESS. SIGTERM ends it; servers go on, and publish again when it
is back.
"""
LEASE = 15.0  # seconds
LEASES = (1.0, 3600.0)


def keep_registry(words: Sequence[str]) -> int:
    flags = parse(words)
    run_loop(lambda: keep(flags), False)
    return 0


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = make_parser("registry", NOTES)
    parser.add_argument("--listen", metavar="HOST:PORT", default="", help="address; port 0 takes a free one")
    parser.add_argument("--unix", metavar="PATH", default="", help="Unix socket to listen on instead")
    help = "the file by which what was published is known after a restart"
    parser.add_argument("--state", metavar="FILE", help=help)
    help = "for how long a server counts that is stopped: 1s to 1h (default 15s)"
    parser.add_argument("--lease", metavar="D", type=seconds, default=LEASE, help=help)
    flags = parser.parse_args(words)
    if bool(flags.listen) == bool(flags.unix):
        raise UsageError("--listen or --unix is needed, and not both")
    if flags.listen:
        try:
            split_address(flags.listen)
        except ValueError:
            raise UsageError(f"--listen {flags.listen}: want HOST:PORT") from None
    if not LEASES[0] <= flags.lease <= LEASES[1]:
        raise UsageError(f"--lease {flags.lease:g}s: want 1s to 1h")
    return flags


async def keep(flags: argparse.Namespace) -> None:
    signals = Signals()
    where = flags.listen or f"unix:{flags.unix}"
    serving = asyncio.create_task(
        registry.serve(where, state=flags.state, lease=flags.lease, listening=say_where, logger=make_logger())
    )
    ending = asyncio.create_task(signals.next())
    await asyncio.wait([serving, ending], return_when=asyncio.FIRST_COMPLETED)
    ending.cancel()
    serving.cancel()
    try:
        with contextlib.suppress(asyncio.CancelledError):
            await serving
    except OSError as error:
        raise Failed(error) from None
