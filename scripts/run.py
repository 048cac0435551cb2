"""Shows the framework at work: what `make run` does once everything is built.

Starts the example server of each language. One makes a call, a stream and a call that fails; then come programs that it
shows, as one server and its client, and others call the same port, as curl and a WebSocket do. Then
clients call the servers of other languages, with the same outcomes. At last it
puts load on these, and on a raw socket echo. Every process is ended, whichever way this ends.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Iterator

from harness import interrupts, processes
from harness.durations import seconds
from harness.languages import ROOT, Language, Show, Words, hub
from harness.prerequisites import here, pairs_here
from harness.processes import PATIENCE, Failed, Outcome, Server

SERVICE = "trunkcall.example.v1.UserService"


@contextlib.contextmanager
def server(words: Words) -> Iterator[str]:
    """Runs a server for as long as the block lasts, and gives its address."""
    with Server(words, cwd=ROOT) as process:
        yield process.address
        status = process.stop().status
        if status not in (0, -signal.SIGTERM):
            raise process.failure(f"ended with status {status}")


def run(words: Words, patience: float = PATIENCE) -> Outcome:
    return processes.run(words, patience=patience, cwd=ROOT)


def shown(words: Words) -> str:
    """A command as it is typed in this tree."""
    return shlex.join(word.removeprefix(f"{ROOT}/") for word in words)


def show(title: str, words: Words, status: int = 0) -> str:
    """Runs a program in view, and returns what it printed."""
    print(f"\n{title}\n  $ {shown(words)}", flush=True)
    done = run(words)
    printed = done.stdout + done.stderr
    for line in printed.splitlines():
        print(f"  {line}")
    if done.status != status:
        raise Failed(f"that ended with status {done.status}, not {status}")
    return printed


def expect(that: bool, what: str) -> None:
    if not that:
        raise Failed(f"expected {what}")


def program(language: Language) -> Words:
    """The reference program as users start it."""
    return language.words(language.peer.program)


def calls(caller: Language, address: str) -> None:
    def call(title: str, method: str, request: str, status: int = 0) -> str:
        words = (*program(caller), "call", "--target", address, f"{SERVICE}/{method}", request)
        return show(title, words, status)

    answer = json.loads(call("A typed call.", "GetUser", '{"user_id": 7}'))
    expect(answer == {"name": "user-7", "email": "user-7@example.com"}, "user 7")
    answers = call("A stream of three.", "ListUsers", '{"count": 3}').splitlines()
    expect([json.loads(a)["name"] for a in answers] == ["user-1", "user-2", "user-3"], "three users")
    check_failure(call("A call that fails, and says why.", "GetUser", '{"user_id": 1000000000}', status=1))


def shows(language: Language, one: Show, address: str) -> None:
    words = tuple(word.replace("{target}", address) for word in language.words(one.command))
    printed = show(one.title, words)
    if one.prints:
        expect(printed.splitlines() == list(one.prints), "; ".join(one.prints))


def other_protocols(caller: Language, address: str) -> None:
    """Makes the same calls by plain HTTP, and natively through a WebSocket."""
    user = json.dumps({"user_id": 7})
    if "connect" in caller.peer.protocols and (curl := shutil.which("curl")):
        printed = show("So does curl, in JSON: a call, and a stream of three.", (f"{ROOT}/examples/curl.sh", address))
        one, stream = printed.splitlines()
        expect(json.loads(one)["name"] == "user-7", "user 7")
        names = re.findall(r'"name": ?"([^"]*)"', stream)
        expect(names == ["user-1", "user-2", "user-3"], "three users")
        printed = show("And a function that has no .proto.", (curl, "-sS", "--json", "[7,2]", f"http://{address}/calc/div"))
        expect(json.loads(printed) == [3, 1], "[3,1]")
    else:
        print("\nThere is no curl here, which could call the same port in JSON.")
    words = (*program(caller), "call", "--target", f"ws://{address}", f"{SERVICE}/GetUser", user)
    printed = show("A call through a WebSocket, on the same port.", words)
    expect(json.loads(printed)["name"] == "user-7", "user 7")


def calls_across(caller: Language, server: Language, address: str) -> None:
    """Calls a server in another language; what comes of it is what calls within one language have shown."""

    def call(what: str, method: str, request: str, status: int = 0) -> str:
        words = (*program(caller), "call", "--target", address, f"{SERVICE}/{method}", request)
        return show(f"{caller.name} calls {server.name}: {what}.", words, status)

    answer = json.loads(call("a typed call", "GetUser", '{"user_id": 7}'))
    expect(answer == {"name": "user-7", "email": "user-7@example.com"}, "user 7")
    answers = call("a stream both ways", "WatchUsers", '[{"user_id": 2}, {"user_id": 1}]').splitlines()
    expect([json.loads(a)["name"] for a in answers] == ["user-2", "user-1"], "users 2 and 1")
    check_failure(call("a call that fails", "GetUser", '{"user_id": 1000000000}', status=1))


def check_failure(printed: str) -> None:
    failure = json.loads(printed)
    expect(failure["code"] == "NOT_FOUND" and failure["delivery"] == "executed", "NOT_FOUND by the handler")
    expect("google.rpc.ResourceInfo" in json.dumps(failure["details"]), "a detail that names the resource")


def load(program: Words, address: str, duration: str, *more: str) -> dict[str, float]:
    flags = ["--method", "Say", "--connections", "10", "--callers", "200", "--duration", duration, *more]
    done = run((*program, "bench", "--target", address, *flags), PATIENCE + seconds(duration))
    if done.status != 0:
        raise Failed(f"{shown(program)} bench: {done.stderr.strip()}")
    figures: dict[str, float] = json.loads(done.stdout)
    expect(figures["errors"] == 0, "no call to fail under load")
    return figures


def table(rows: dict[str, dict[str, float]]) -> None:
    heads = ("calls/s", "client CPU/call", "p50", "p99")
    print("  " + f"{'':<28}" + "".join(f"{head:>17}" for head in heads))
    for name, row in rows.items():
        cells = (f"{row['rate']:,.0f}", f"{row['cpu_us']:.1f} µs", f"{row['p50_us']:,.0f} µs", f"{row['p99_us']:,.0f} µs")
        print("  " + f"{name:<28}" + "".join(f"{cell:>17}" for cell in cells))


def met() -> list[tuple[Language, Language]]:
    """Client and server of different languages, those of this machine."""
    return [(client, server) for client, server in pairs_here() if client is not server]


def plan() -> list[str]:
    """What is shown and measured, a line each."""
    first = hub()
    lines = [f"serve {language.name}" for language in here().values()]
    lines += [f"call {first.name} {first.name}"]
    lines += [f"show {one.command[0]}" for language in here().values() for one in language.shows]
    lines += [f"call {client.name} {server.name}" for client, server in met()]
    lines += [f"load {client.name} {server.name}" for client, server in [(first, first), *met()]]
    return lines + [f"load {language.echo[0]}" for language in here().values() if language.echo]


def show_all(duration: str) -> None:
    serve = ("serve", "--listen", "127.0.0.1:0")
    rows: dict[str, dict[str, float]] = {}
    first = hub()
    with contextlib.ExitStack() as stack:
        at = {
            key: stack.enter_context(server((*program(language), *serve, *language.peer.fast.serve)))
            for key, language in here().items()
        }
        for key, address in at.items():
            print(f"The example server in {here()[key].name} listens on {address}.")
        calls(first, at[first.key])
        for key, language in here().items():
            for one in language.shows:
                shows(language, one, at[key])
        other_protocols(first, at[first.key])
        for client, other in met():
            calls_across(client, other, at[other.key])
        print(f"\nLoad for {duration} each: a 581-byte message there and back, 10 connections, 200 callers.")
        for client, other in [(first, first), *met()]:
            name = f"client {client.name}, server {other.name}"
            rows[name] = load(program(client), at[other.key], duration, *client.peer.fast.bench)
    for language in here().values():
        if language.echo:
            echo = language.words(language.echo)
            with server((*echo, *serve)) as address:
                rows[f"raw socket echo in {language.name}"] = load(echo, address, duration)
    table(rows)
    print("  Each as fast as its language's flags make it. The echo sends back bytes that it does not look at: no codec, no")
    print("  handler. Client and server share this machine, and one short run each is no measurement; `make bench` is one")
    print("  (lab/README.md).")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", default="3s", metavar="D", help="how long each load lasts")
    parser.add_argument("--plan", action="store_true", help="print what would be shown, and show nothing")
    parser.add_argument("--began", type=float, default=time.time(), help="when the building before began, in seconds")
    options = parser.parse_args()
    try:
        seconds(options.load)
    except ValueError as error:
        print(f"LOAD={options.load}: {error}", file=sys.stderr)
        return 2
    if options.plan:
        print("\n".join(plan()))
        return 0
    interrupts.install()
    began = time.monotonic()
    try:
        show_all(options.load)
    except interrupts.Interrupted as interrupted:
        processes.end_all()
        return 128 + interrupted.signum
    except (Failed, OSError, ValueError, KeyError) as failure:
        sys.stdout.flush()
        print(f"\nmake run failed: {failure}", file=sys.stderr)
        return 1
    built = time.time() - options.began - (ran := time.monotonic() - began)
    print(f"\nAll of that took {built + ran:.0f} s, {built:.0f} s of it to build, and every process has ended.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
