"""The command line: which command, how its failures are told, and the exit status."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from collections.abc import Callable, Sequence

import load

from .flags import PROGRAM

USAGE = f"""usage: {PROGRAM} COMMAND [FLAG…]

  serve    answer UserService and BenchService
  call     call a method, with JSON in and out
  bench    put load on a server and measure
  conformance
           carry out conformance cases, lines of JSON on stdin
  registry serve the embedded registry
  connect-server, connect-client
           the ends under test of the public suite of Connect
  version  print what this runs on

{PROGRAM} COMMAND -h lists the flags of a command.
"""

# Exit statuses.
OK = 0
FAILED = 1
WRONG_USAGE = 2


def main(words: Sequence[str]) -> int:
    """Carries out a command line and returns the exit status."""
    match words:
        case [
            "serve" | "call" | "bench" | "conformance" | "registry" | "connect-server" | "connect-client" as command,
            *rest,
        ]:
            return run(command, rest)
        case ["version" | "-version" | "--version", *_]:
            print(version())
            return OK
        case ["help" | "-h" | "-help" | "--help", *_]:
            print(USAGE, end="")
            return OK
        case [wrong, *_]:
            print(f'{PROGRAM}: there is no command "{wrong}"\n\n{USAGE}', end="", file=sys.stderr)
        case _:
            print(USAGE, end="", file=sys.stderr)
    return WRONG_USAGE


def run(command: str, words: Sequence[str]) -> int:
    try:
        return commands(command)(words)
    except load.UsageError as error:
        tell(command, error)
        return WRONG_USAGE
    except load.Failed as error:
        tell(command, error)
        forget_output()
        return FAILED
    except ImportError as error:  # a library that only some targets need
        tell(command, error)
        return FAILED
    except OSError as error:
        tell(command, error.strerror or error)
        forget_output()
        return FAILED
    except KeyboardInterrupt:
        return 130
    except SystemExit as end:  # argparse, having shown the help
        return end.code if isinstance(end.code, int) else FAILED


def commands(command: str) -> Callable[[Sequence[str]], int]:
    """A command's function. What a command needs is imported with it: the others start without."""
    match command:
        case "serve":
            from .serve import serve

            return serve
        case "call":
            from .call import call

            return call
        case "conformance":
            from .conform import conform

            return conform
        case "registry":
            from .registries import keep_registry

            return keep_registry
        case "connect-server":
            from .suite import connect_server

            return connect_server
        case "connect-client":
            from .suite import connect_client

            return connect_client
        case _:
            from .bench import bench

            return bench


def tell(command: str, text: object) -> None:
    """Prints a line on stderr."""
    # A reader who is gone is told nothing.
    with contextlib.suppress(OSError):
        print(f"{PROGRAM} {command}: {one_line(str(text))}", file=sys.stderr, flush=True)


def forget_output() -> None:
    """Keeps the interpreter from failing once more, when it ends, with output that nobody takes."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def one_line(text: str) -> str:
    """Joins the parts of a message that stands on several lines."""
    return "; ".join(part for part in text.replace("\r", "\n").split("\n") if part)


def version() -> str:
    """What was installed, and on which interpreter it runs."""
    import importlib.metadata  # a tenth of what all other commands take to begin

    words = [PROGRAM]
    for package in ("trunkcall", "protobuf", "grpcio", "uvloop", "websockets"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            words += [package, importlib.metadata.version(package)]
    return " ".join([*words, platform.python_implementation(), platform.python_version()])
