"""Stands between client and server as the delay proxy does, and delays nothing: for testing the runner."""

import os
import sys

from lab.runner.proxy import Proxy

words = sys.argv[1:]
flags = dict(zip(words[::2], words[1::2], strict=True))
with open(os.path.join(os.environ["FAKE_PEER_PIDS"], f"delay-{os.getpid()}"), "x", encoding="ascii"):
    pass
with Proxy(flags["--target"]) as proxy:
    print(f"listening {proxy.address}", flush=True)
    while True:
        proxy.step(1)
