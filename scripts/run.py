#!/usr/bin/env python3
"""Shows the framework at work: what `make run` does once everything is built.

Starts the example server, makes a call, a stream and a call that fails, runs the example of the README, then puts load
on the server and on a raw socket echo. Every process is ended, whichever way this ends.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEER = "build/peer-go"
ECHO = "build/peers/go-echo"
QUICKSTART = "build/examples/quickstart"
SERVICE = "trunkcall.example.v1.UserService"


# A time as the programs take it, and above 0.
DURATION = re.compile(r"(?=.*[1-9])((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+")


class Failed(Exception):
    """Something did not go as it should; the text says what."""


@contextlib.contextmanager
def server(*words: str) -> Iterator[str]:
    """Runs a server for as long as the block lasts, and gives its address."""
    process = subprocess.Popen(
        [ROOT / words[0], *words[1:]], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    try:
        ready, _, _ = select.select([process.stdout], [], [], 10)
        first = process.stdout.readline() if ready else ""
        if not first.startswith("listening "):
            raise Failed(f"{words[0]} did not say where it listens, but {first.strip() or 'nothing within ten seconds'!r}")
        yield first.split()[1]
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.returncode not in (0, -signal.SIGTERM):
        raise Failed(f"{words[0]} ended with status {process.returncode}")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [ROOT / words[0], *words[1:]],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"{shlex.join(words)} did not end within a minute") from None


def show(title: str, *words: str, status: int = 0) -> str:
    """Runs a program in view, and returns what it printed."""
    print(f"\n{title}\n  $ {shlex.join(words)}")
    done = run(*words)
    printed = done.stdout + done.stderr
    for line in printed.splitlines():
        print(f"  {line}")
    if done.returncode != status:
        raise Failed(f"that ended with status {done.returncode}, not {status}")
    return printed


def expect(that: bool, what: str) -> None:
    if not that:
        raise Failed(f"expected {what}")


def calls(address: str) -> None:
    def call(title: str, method: str, request: str, status: int = 0) -> str:
        return show(title, PEER, "call", "--target", address, f"{SERVICE}/{method}", request, status=status)

    answer = json.loads(call("A typed call.", "GetUser", '{"user_id": 7}'))
    expect(answer == {"name": "user-7", "email": "user-7@example.com"}, "user 7")
    answers = call("A stream of three.", "ListUsers", '{"count": 3}').splitlines()
    expect([json.loads(a)["name"] for a in answers] == ["user-1", "user-2", "user-3"], "three users")
    failure = json.loads(call("A call that fails, and says why.", "GetUser", '{"user_id": 1000000000}', status=1))
    expect(failure["code"] == "NOT_FOUND" and failure["delivery"] == "executed", "NOT_FOUND by the handler")
    expect("google.rpc.ResourceInfo" in json.dumps(failure["details"]), "a detail that names the resource")


def load(program: str, address: str, duration: str) -> dict[str, float]:
    flags = ["--method", "Say", "--connections", "10", "--callers", "200", "--duration", duration]
    done = run(program, "bench", "--target", address, *flags)
    if done.returncode != 0:
        raise Failed(f"{program} bench: {done.stderr.strip()}")
    figures = json.loads(done.stdout)
    expect(figures["errors"] == 0, "no call to fail under load")
    return figures


def table(rows: dict[str, dict[str, float]]) -> None:
    heads = ("calls/s", "client CPU/call", "p50", "p99")
    print("  " + f"{'':<18}" + "".join(f"{head:>17}" for head in heads))
    for name, row in rows.items():
        cells = (f"{row['rate']:,.0f}", f"{row['cpu_us']:.1f} µs", f"{row['p50_us']:,.0f} µs", f"{row['p99_us']:,.0f} µs")
        print("  " + f"{name:<18}" + "".join(f"{cell:>17}" for cell in cells))


def show_all(duration: str) -> None:
    with server(PEER, "serve", "--listen", "127.0.0.1:0") as address:
        print(f"The example server listens on {address}.")
        calls(address)
        show("The example of the README: a server and a client in one file.", QUICKSTART)
        print(f"\nLoad for {duration} each: a 581-byte message there and back, 10 connections, 200 callers.")
        trunkcall = load(PEER, address, duration)
    with server(ECHO, "serve", "--listen", "127.0.0.1:0") as address:
        echo = load(ECHO, address, duration)
    table({"Trunkcall": trunkcall, "raw socket echo": echo})
    print("  The echo sends back bytes that it does not look at: no codec, no handler. Client and server share this")
    print("  machine, and one short run each is no measurement; `make bench` is one (lab/README.md).")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", default="3s", metavar="D", help="how long each load lasts")
    options = parser.parse_args()
    if not DURATION.fullmatch(options.load):
        print(f"LOAD={options.load}: want a time such as 3s or 250ms", file=sys.stderr)
        return 2
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    began = time.monotonic()
    try:
        show_all(options.load)
    except (Failed, OSError, ValueError, KeyError) as failure:
        sys.stdout.flush()
        print(f"\nmake run failed: {failure}", file=sys.stderr)
        return 1
    print(f"\nAll of that took {time.monotonic() - began:.1f} s, and every process has ended.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
