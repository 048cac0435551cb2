"""Puts calls on a server and times them.

It knows nothing of any RPC framework: whoever measures one hands in functions that make a call, so that the reference
program and every peer beside it in the lab are driven and timed by the same code. The flags, the two experiments and
the line of JSON are those of lab/README.md, and of go/peer/load.

In reading order: `flags` the command line, `window` what is measured and how it ends, `closed` calls back to back,
`opened` calls at a fixed rate, `result` what came of it, `message` the 581-byte message and what the server does with
it.

A call function makes one call, checks the answer, and raises if either fails. For a streaming method one call is one
message each way: the factory opens the stream and has somebody send as fast as the stream takes messages, and the call
function receives one. The rate then is the stream's throughput in messages, the latencies are the gaps between
arrivals.
"""

from __future__ import annotations

from .flags import Options, UsageError, parse
from .result import Result
from .running import AsyncCall, BlockingCall, run_async, run_threads
from .window import Config, Failed, Stopped

__all__ = [
    "AsyncCall",
    "BlockingCall",
    "Config",
    "Failed",
    "Options",
    "Result",
    "Stopped",
    "UsageError",
    "parse",
    "run_async",
    "run_threads",
]
