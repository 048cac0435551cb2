#!/usr/bin/env python3
"""Shows the framework at work: what `make run` does once everything is built.

Starts the example server in Go, makes a call, a stream and a call that fails, and runs the example of the README. A
client of gRPC calls the same port, and so do curl and a WebSocket. Then
the client in Go calls the server in Python, and the client in Python the server in Go, with the same outcomes. At last it
puts load on these, and on a raw socket echo. Every process is ended, whichever way this ends.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEER = "build/peer-go"
PEER_PYTHON = "build/peer-python"
NAMES = {PEER: "Go", PEER_PYTHON: "Python"}
ECHO = "build/peers/go-echo"
QUICKSTART = "build/examples/quickstart"
GRPC_CLIENT = "build/examples/grpcclient"
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
    check_failure(call("A call that fails, and says why.", "GetUser", '{"user_id": 1000000000}', status=1))


def other_protocols(address: str) -> None:
    """Makes the same calls by plain HTTP, and natively through a WebSocket."""
    user = json.dumps({"user_id": 7})
    if curl := shutil.which("curl"):
        printed = show("So does curl, in JSON.", curl, "-sS", "--json", user, f"http://{address}/{SERVICE}/GetUser")
        expect(json.loads(printed)["name"] == "user-7", "user 7")
        printed = show("And a function that has no .proto.", curl, "-sS", "--json", "[7,2]", f"http://{address}/calc/div")
        expect(json.loads(printed) == [3, 1], "[3,1]")
    else:
        print("\nThere is no curl here, which could call the same port in JSON.")
    printed = show("A call through a WebSocket, on the same port.", PEER, "call", "--target", f"ws://{address}", f"{SERVICE}/GetUser", user)
    expect(json.loads(printed)["name"] == "user-7", "user 7")


def calls_across(caller: str, address: str, server: str) -> None:
    """Calls a server in another language; what comes of it is what calls within one language have shown."""

    def call(what: str, method: str, request: str, status: int = 0) -> str:
        words = (caller, "call", "--target", address, f"{SERVICE}/{method}", request)
        return show(f"{NAMES[caller]} calls {NAMES[server]}: {what}.", *words, status=status)

    answer = json.loads(call("a typed call", "GetUser", '{"user_id": 7}'))
    expect(answer == {"name": "user-7", "email": "user-7@example.com"}, "user 7")
    answers = call("a stream both ways", "WatchUsers", '[{"user_id": 2}, {"user_id": 1}]').splitlines()
    expect([json.loads(a)["name"] for a in answers] == ["user-2", "user-1"], "users 2 and 1")
    check_failure(call("a call that fails", "GetUser", '{"user_id": 1000000000}', status=1))


def check_failure(printed: str) -> None:
    failure = json.loads(printed)
    expect(failure["code"] == "NOT_FOUND" and failure["delivery"] == "executed", "NOT_FOUND by the handler")
    expect("google.rpc.ResourceInfo" in json.dumps(failure["details"]), "a detail that names the resource")


def load(program: str, address: str, duration: str, *more: str) -> dict[str, float]:
    flags = ["--method", "Say", "--connections", "10", "--callers", "200", "--duration", duration, *more]
    done = run(program, "bench", "--target", address, *flags)
    if done.returncode != 0:
        raise Failed(f"{program} bench: {done.stderr.strip()}")
    figures = json.loads(done.stdout)
    expect(figures["errors"] == 0, "no call to fail under load")
    return figures


def table(rows: dict[str, dict[str, float]]) -> None:
    heads = ("calls/s", "client CPU/call", "p50", "p99")
    print("  " + f"{'':<28}" + "".join(f"{head:>17}" for head in heads))
    for name, row in rows.items():
        cells = (f"{row['rate']:,.0f}", f"{row['cpu_us']:.1f} µs", f"{row['p50_us']:,.0f} µs", f"{row['p99_us']:,.0f} µs")
        print("  " + f"{name:<28}" + "".join(f"{cell:>17}" for cell in cells))


def show_all(duration: str) -> None:
    serve = ("serve", "--listen", "127.0.0.1:0")
    rows: dict[str, dict[str, float]] = {}
    with server(PEER, *serve) as in_go, server(PEER_PYTHON, *serve, "--uvloop") as in_python:
        print(f"The example server in Go listens on {in_go}, the one in Python on {in_python}.")
        calls(in_go)
        show("The example of the README: a server and a client in one file.", QUICKSTART)
        printed = show("A client of gRPC, which knows nothing of Trunkcall, calls the same port.", GRPC_CLIENT, in_go)
        expect(printed.splitlines() == ["found user-7", "failed with NotFound, 1 detail"], "user 7 and a failure")
        other_protocols(in_go)
        calls_across(PEER, in_python, PEER_PYTHON)
        calls_across(PEER_PYTHON, in_go, PEER)
        print(f"\nLoad for {duration} each: a 581-byte message there and back, 10 connections, 200 callers.")
        rows["Trunkcall, Go and Go"] = load(PEER, in_go, duration)
        rows["client Go, server Python"] = load(PEER, in_python, duration)
        rows["client Python, server Go"] = load(PEER_PYTHON, in_go, duration, "--async", "--uvloop")
    with server(ECHO, *serve) as address:
        rows["raw socket echo in Go"] = load(ECHO, address, duration)
    table(rows)
    print("  Python runs on uvloop, on one processor. The echo sends back bytes that it does not look at: no codec, no")
    print("  handler. Client and server share this machine, and one short run each is no measurement; `make bench` is one")
    print("  (lab/README.md).")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", default="3s", metavar="D", help="how long each load lasts")
    parser.add_argument("--began", type=float, default=time.time(), help="when the building before began, in seconds")
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
    built = time.time() - options.began - (ran := time.monotonic() - began)
    print(f"\nAll of that took {built + ran:.0f} s, {built:.0f} s of it to build, and every process has ended.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
