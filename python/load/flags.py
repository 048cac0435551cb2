"""The flags of the bench command, the same in every program that offers it."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from .window import Config

BENCH_SERVICE = "trunkcall.bench.v1.BenchService"
DEFAULT_DURATION = 5.0
DEFAULT_WARMUP = 1.0
DEFAULT_WARMUP_CALLS = 20_000

UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")


class UsageError(Exception):
    """A command line that cannot be served; the exit status is 2."""


class Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would end the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


@dataclass
class Options:
    """The flags of bench; times in seconds. `warmup`, `duration` and `calls` are None unless given."""

    target: str
    method: str
    connections: int
    callers: int
    calls: int | None
    duration: float | None
    rate: float
    warmup: float | None
    size: int
    extra: argparse.Namespace  # flags of the program's own

    def config(self) -> Config:
        """The load that the flags ask for."""
        given = self.warmup is not None
        return Config(
            callers=self.callers,
            calls=self.calls or 0,
            duration=0.0 if self.calls else self.duration or DEFAULT_DURATION,
            rate=self.rate,
            warmup=self.warmup if self.warmup is not None else DEFAULT_WARMUP,
            warmup_calls=0 if given else DEFAULT_WARMUP_CALLS,
        )

    def address(self) -> tuple[str, int]:
        """The target as host and port."""
        host, _, port = self.target.rpartition(":")
        if not host or not port.isdecimal():
            raise UsageError(f"--target {self.target}: want HOST:PORT")
        return host.strip("[]"), int(port)


def seconds(text: str) -> float:
    """`250ms`, `2s`, `1m30s` in seconds."""
    parts = PART.findall(text)
    if text == "0":
        return 0.0
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise argparse.ArgumentTypeError("want a time such as 2s or 250ms")
    return sum(float(number) * UNITS[unit] for number, unit in parts)


def parse(
    program: str, methods: Sequence[str], words: Sequence[str], add: Callable[[Parser], object] = lambda _: None
) -> Options:
    """Reads the flags of bench; `methods` are the short names that the program drives, `add` adds flags of its own."""
    parser = Parser(prog=f"{program} bench", allow_abbrev=False)
    known = ["target", "method", "connections", "callers", "calls", "duration", "rate", "warmup", "size"]
    parser.add_argument("--target", required=True, metavar="HOST:PORT", help="address of the server")
    parser.add_argument("--method", default=methods[0], help=f"of {BENCH_SERVICE}: {', '.join(methods)}")
    parser.add_argument("--connections", type=int, default=1, help="over which callers are spread evenly")
    parser.add_argument("--callers", type=int, default=1, help="calls in flight")
    parser.add_argument("--calls", type=int, help="end after so many calls in total")
    parser.add_argument(
        "--duration", type=seconds, help=f"end after this time ({DEFAULT_DURATION:g}s unless --calls is given)"
    )
    parser.add_argument("--rate", type=float, help="open loop: calls per second, each timed from when it was due")
    parser.add_argument(
        "--warmup",
        type=seconds,
        help=f"uncounted load before the clock starts ({DEFAULT_WARMUP:g}s, or {DEFAULT_WARMUP_CALLS} calls if sooner)",
    )
    parser.add_argument("--size", type=int, default=1024, help="bytes of payload, for Echo, EchoStream and Emit")
    add(parser)
    extra = parser.parse_args(words)
    values = {name: extra.__dict__.pop(name) for name in known}
    check(values)
    values["method"] = short_name(values["method"], methods)
    values["rate"] = values["rate"] or 0.0
    return Options(**values, extra=extra)


def check(values: dict[str, float | None]) -> None:
    def below(bound: float, *names: str) -> bool:
        return any((value := values[name]) is not None and value < bound for name in names)

    if below(1, "connections", "callers"):
        raise UsageError("--connections and --callers must be at least 1")
    if values["calls"] is not None and values["duration"] is not None:
        raise UsageError("--calls and --duration cannot go together")
    if (
        below(1, "calls")
        or any(values[name] is not None and not values[name] for name in ("duration", "rate"))
        or below(0, "rate")
        or math.isnan(values["rate"] or 0.0)
    ):
        raise UsageError("--calls, --duration and --rate must be above 0")
    if below(0, "size"):
        raise UsageError("--size cannot be negative")


def short_name(method: str, methods: Sequence[str]) -> str:
    """The short name of a method, however much of the whole name was given."""
    short = method.removeprefix("/").removeprefix(BENCH_SERVICE + "/")
    if short not in methods:
        raise UsageError(f"--method {method} is not there, {', '.join(methods)} is")
    return short
