"""The command line that all peers share: serve, bench and version, with the flags and the output of lab/README.md."""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import os
import platform
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeVar

import load
from load.flags import Parser, UsageError

# Lets payloads be as large as Trunkcall takes them by default.
MAX_MESSAGE = 64 << 20

T = TypeVar("T")


def no_flags(parser: Parser) -> None:
    """For peers without flags of their own."""


@dataclass
class Peer:
    """One framework under measurement.

    `serve` answers on the host and port until SIGTERM, having called `listening`; `bench` opens connections and
    measures. Each gets the flags that `serve_flags` and `bench_flags` added.
    """

    name: str
    package: str  # as importlib.metadata knows it; empty for the standard library
    methods: Sequence[str]  # of the benchmark service, by their short names, the default first
    serve: Callable[[str, int, argparse.Namespace], None]
    bench: Callable[[load.Options], load.Result]
    serve_flags: Callable[[Parser], None] = no_flags
    bench_flags: Callable[[Parser], None] = no_flags

    def main(self) -> NoReturn:
        """Ends the process: 0 all went well, 1 something failed, 2 the command line asks for what is not there."""
        try:
            sys.exit(self.run(sys.argv[1:]))
        except UsageError as error:
            self.exit(2, error)
        except (load.Failed, OSError) as error:
            self.exit(1, error)

    def exit(self, status: int, error: Exception) -> NoReturn:
        print(f"{self.name}: {error}", file=sys.stderr)
        sys.exit(status)

    def run(self, words: Sequence[str]) -> int:
        match words:
            case ["serve", *flags]:
                self.start(flags)
                return 0
            case ["bench", *flags]:
                options = load.parse(self.name, self.methods, flags, self.bench_flags)
                return self.bench(options).tell(self.name, options.rate)
            case ["version"]:
                print(self.version())
                return 0
            case _:
                raise UsageError("want serve --listen HOST:PORT, bench --target HOST:PORT or version")

    def start(self, words: Sequence[str]) -> None:
        parser = Parser(prog=f"{self.name} serve", allow_abbrev=False)
        parser.add_argument("--listen", required=True, metavar="HOST:PORT", help="port 0 takes a free one")
        self.serve_flags(parser)
        flags = parser.parse_args(words)
        host, _, port = flags.listen.rpartition(":")
        if not host or not port.isdecimal():
            raise UsageError(f"--listen {flags.listen}: want HOST:PORT")
        self.serve(host, int(port), flags)

    def version(self) -> str:
        """What is measured, and on which interpreter."""
        package = f" {self.package} {importlib.metadata.version(self.package)}" if self.package else ""
        return f"{self.name}{package}, {platform.python_implementation()} {platform.python_version()}"


def listening(host: str, port: int) -> None:
    """Says that calls are answered."""
    print(f"listening {host}:{port}", flush=True)


def uvloop_flag(parser: Parser) -> None:
    parser.add_argument("--uvloop", action="store_true", help="run on uvloop instead of asyncio's own event loop")


def run_loop(main: Coroutine[object, object, T], flags: argparse.Namespace) -> T:
    """Runs a coroutine on the event loop that the flags ask for."""
    if not flags.uvloop:
        return asyncio.run(main)
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)


async def terminated() -> None:
    """Returns when SIGTERM or SIGINT has come."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()


def end_on_signals() -> None:
    """For servers without an event loop, whose threads cannot all be stopped: the process ends at once."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))


def spread(connections: Sequence[T], callers: int) -> list[T]:
    """Deals the connections out to the callers in turn."""
    return [connections[number % len(connections)] for number in range(callers)]
