"""What the server's time goes into, by share: build/peer-python's own server under cProfile, with any load put on it.

PYTHONPATH=src:gen:. python bench/shares.py [--flags='--uvloop'] [--functions N] -- COMMAND WITH {target}
    … -- ../build/peers/go-http bench --target {target} --codec json-arguments --connections 100 --callers 100
    … -- ../build/peers/go-grpc bench --target {target} --connections 10 --callers 100
    … -- ../build/peer-go bench --target {target} --connections 10 --callers 100

The time of functions in C counts as that of who calls them, except system calls; waiting counts as nothing. The
profiler makes calls of functions in Python dearer than they are, and so the shares of C smaller. On uvloop, which is in
C, the loop has no share of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
import shlex
import subprocess
import sys
from collections import Counter
from typing import Any

from peer import serve

# The first whose part is in a function's path has its time.
SHARES = (
    ("h2 and hpack", ("/h2/", "/hpack/", "/hyperframe/")),
    ("h11", ("/h11/",)),
    ("codec", ("/google/protobuf/", "/msgspec/", "/json/", "/trunkcall/values/", "/trunkcall/codec.py")),
    ("wire", ("/trunkcall/wire/",)),
    ("transport", ("/trunkcall/transport/",)),
    ("HTTP", ("/trunkcall/http/",)),
    ("calls and handlers", ("/trunkcall/", "/python/peer/", "/python/load/")),
    ("loop", ("/asyncio/", "/selectors.py", "uvloop")),
)
SYSTEM = ("'send'", "'recv'", "'recv_into'", "'sendmsg'", "'accept'")
WAITING = ("'poll'", "'select'")
BEGINNING = 1.0  # seconds of load that are not looked at: modules are loaded, connections made
Function = tuple[str, int, str]


def share_of(function: Function) -> str | None:
    """None for what is in C: its callers say."""
    path, _, name = function
    if path == "~":
        if any(one in name for one in WAITING):
            return "waiting"
        return "system calls" if any(one in name for one in SYSTEM) else None
    return next((share for share, parts in SHARES if any(part in path for part in parts)), "other")


def shares(stats: dict[Function, Any]) -> Counter[str]:
    """Seconds by share."""
    found: Counter[str] = Counter()
    for function, (_, _, own, _, callers) in stats.items():
        share = share_of(function)
        if share is not None:
            found[share] += own
            continue
        for caller, (_, _, part, _) in callers.items():
            found[share_of(caller) or "other"] += part
    del found["waiting"]
    return found


async def profiled(flags: argparse.Namespace, command: list[str], profile: cProfile.Profile) -> int:
    """Serves until the command has ended; its status."""
    server = serve.trunkcall.Server()
    serve.register(server, flags)
    target = await server.listen("127.0.0.1:0")
    load = await asyncio.create_subprocess_exec(*(word.replace("{target}", target) for word in command))
    asyncio.get_running_loop().call_later(BEGINNING, profile.enable)
    try:
        return await load.wait()
    finally:
        profile.disable()
        await server.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flags", default="", help="of peer-python's serve: --uvloop, --codec, --inline")
    parser.add_argument("--functions", type=int, default=0, help="so many functions as well, those of most time")
    parser.add_argument("command", nargs="+", help="the load; {target} is the server's address")
    options = parser.parse_args()
    flags = serve.parse(["--listen", "127.0.0.1:0", *shlex.split(options.flags)])
    profile = cProfile.Profile()
    try:
        status = serve.run_loop(lambda: profiled(flags, options.command, profile), flags.uvloop)
    except subprocess.SubprocessError as error:
        print(error, file=sys.stderr)
        return 1
    stats: Any = pstats.Stats(profile)
    found = shares(stats.stats)
    for share, seconds in found.most_common():
        print(f"{seconds / found.total():6.1%}  {share}")
    if options.functions:
        stats.sort_stats("tottime").print_stats(options.functions)
    return int(status or 0)


if __name__ == "__main__":
    sys.exit(main())
