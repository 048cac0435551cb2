"""Stands between client and server as the delay proxy does, and delays nothing: for testing the runner."""

import asyncio
import os
import sys

from harness.proxy import Proxy


async def forward(target):
    async with Proxy(target) as proxy:
        print(f"listening {proxy.address}", flush=True)
        await asyncio.Event().wait()


words = sys.argv[1:]
flags = dict(zip(words[::2], words[1::2], strict=True))
with open(os.path.join(os.environ["FAKE_PEER_PIDS"], f"delay-{os.getpid()}"), "x", encoding="ascii"):
    pass
asyncio.run(forward(flags["--target"]))
