"""Load of bench that is to show what becomes of calls under faults, not how fast they are."""

from __future__ import annotations

import argparse
import asyncio
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from google.protobuf import json_format

import trunkcall
from fault.v1.fault_pb2 import Answer, Behaviour
from load import AsyncCall, Stopped, UsageError, message
from load.flags import Parser, seconds

from . import native
from .faults import BEHAVE, EXCHANGE, POUR, TAKE
from .flags import add_keepalive, choice
from .ledger import KEY, Ledger, deadline

# The framework's default, in seconds (spec/limits.md 2).
KEEPALIVE = 20.0

MAX_WEIGHT = 1000
MAX_MESSAGE = 200  # how much of a status message is kept

# How many requests a call of Take or Exchange has.
STREAMED = 3

Connect = Callable[[], AbstractAsyncContextManager[trunkcall.Client]]


def add_flags(parser: Parser) -> None:
    parser.add_argument(
        "--mix",
        metavar="METHOD=WEIGHT,…",
        default="",
        help=f"in place of --method: methods drawn at random, of {choice(list(RUNS))}",
    )
    parser.add_argument(
        "--ledger",
        metavar="FILE",
        default="",
        help="append a line for each beginning and end of a call, which then has an id",
    )
    parser.add_argument("--behaviour", metavar="JSON", default="{}", help="of the requests to FaultService")
    parser.add_argument(
        "--timeout",
        metavar="D or D-D",
        type=timeout,
        help="deadline of each call; of two times, drawn between them; none unless given",
    )
    parser.add_argument(
        "--cancel-share", metavar="P", type=float, default=0.0, help="share of the calls that are given up, 0 to 1"
    )
    parser.add_argument(
        "--cancel-after", metavar="D", type=seconds, default=0.005, help="time within which they are, drawn at random"
    )
    help = "what holds for the calls (spec/policy.md)"
    parser.add_argument("--policy-file", metavar="FILE", help=help)
    help = "have an observer count the attempts; with --mix the result then has how many there were for a call; "
    help += "and log the client's warnings"
    parser.add_argument("--observe", action="store_true", help=help)
    add_keepalive(parser, KEEPALIVE)
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="decides what is drawn")


class Counting:
    """Counts attempts."""

    def __init__(self) -> None:
        self.attempts = 0

    def attempt_began(self, attempt: trunkcall.CallAttempt) -> None:
        self.attempts += 1

    def attempt_ended(self, attempt: trunkcall.CallAttempt) -> None:
        pass


def wanted(flags: argparse.Namespace) -> bool:
    """Whether one of the flags asks for such load."""
    return bool(flags.mix or flags.ledger or flags.timeout is not None or flags.cancel_share)


def timeout(text: str) -> tuple[float, float]:
    """`50ms` or `1ms-50ms`; a single one may be negative. Raises ArgumentTypeError."""
    found = re.fullmatch(r"(-?)([^-]+)(?:-([^-]+))?", text)
    if found is None or found[1] and found[3]:
        raise argparse.ArgumentTypeError("want a time such as 50ms, or two such as 1ms-50ms")
    least = seconds(found[2]) * (-1 if found[1] else 1)
    most = seconds(found[3]) if found[3] else least
    if found[3] and most <= least:
        raise argparse.ArgumentTypeError("want a time such as 50ms, or two such as 1ms-50ms")
    return least, most


class Mix:
    """Load of several methods, each call with an id, perhaps a deadline, and perhaps given up."""

    def __init__(self, flags: argparse.Namespace, method: str, size: int) -> None:
        """Raises UsageError, Failed."""
        if not 0 <= flags.cancel_share <= 1 or flags.cancel_after <= 0:
            raise UsageError("--cancel-share is between 0 and 1, --cancel-after above 0")
        self.request = Behaviour()
        try:
            json_format.Parse(flags.behaviour, self.request)
        except json_format.ParseError as error:
            raise UsageError(f"--behaviour: {error}") from None
        self.payload = message.payload(size)
        self._methods: list[tuple[trunkcall.Method[Any, Any], Run]] = []  # each as often as its weight says
        for part in (flags.mix or method).split(","):
            name, _, weight = part.partition("=")
            times = int(weight) if weight.isdecimal() else 0 if weight else 1
            if name not in RUNS or not 1 <= times <= MAX_WEIGHT:
                text = f"want one of {choice(list(RUNS))}, a weight from 1 to {MAX_WEIGHT}"
                raise UsageError(f"--mix {part}: {text}")
            self._methods += [RUNS[name]] * times
        self._timeout: tuple[float, float] | None = flags.timeout
        self._cancel_share: float = flags.cancel_share
        self._cancel_after: float = flags.cancel_after
        self._seed: int = flags.seed
        self.stopped = False
        self._ledger = Ledger(flags.ledger) if flags.ledger else None

    def stop(self) -> None:
        """Has no more calls made."""
        self.stopped = True

    def new_call(self, caller: int, connect: Connect) -> AsyncCall:
        """The call function of one caller. It raises failures that the caller did not bring about itself."""
        draw = random.Random(f"{self._seed}-{caller}")

        async def call() -> None:
            if self.stopped:
                raise Stopped
            method, run = draw.choice(self._methods)
            options = trunkcall.CallOptions(draw.uniform(*self._timeout) if self._timeout else None)
            given_up = draw.uniform(0, self._cancel_after) if draw.random() < self._cancel_share else None
            await self._call(Attempt(self._ledger, method, options), run, connect, given_up)

        return call

    async def _call(self, attempt: Attempt, run: Run, connect: Connect, given_up: float | None) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task
        attempt.begin()
        timer = None if given_up is None else loop.call_later(given_up, attempt.give_up, task)
        async with connect() as client:  # the call is over before its connection is, which may take long to close
            try:
                await run(client, attempt.options, self)
            except asyncio.CancelledError:
                if not attempt.given_up:
                    raise
                task.uncancel()
                attempt.end("CANCELLED", trunkcall.Delivery.UNKNOWN, "the caller gave it up")
            except trunkcall.StatusError as error:
                attempt.end(error.code.name, error.delivery, error.message)
                raise
            except Exception as error:
                attempt.end("UNKNOWN", trunkcall.Delivery.UNKNOWN, f"{type(error).__name__}: {error}")
                raise
            else:
                attempt.end("OK", trunkcall.Delivery.EXECUTED)
            finally:
                if timer is not None:
                    timer.cancel()


class Attempt:
    """A call, as the ledger is told of it."""

    def __init__(
        self, ledger: Ledger | None, method: trunkcall.Method[Any, Any], options: trunkcall.CallOptions
    ) -> None:
        self.given_up = False
        self.options = options
        self._ledger = ledger
        self._method = method
        self._id = ""

    def begin(self) -> None:
        if self._ledger is None:
            return
        self._id, left = self._ledger.id(), self.options.timeout
        due = None if left is None else deadline(left)
        self._ledger.write("begin", self._id, method=self._method.name, deadline=due)
        self.options = trunkcall.CallOptions(left, [(KEY, self._id)])

    def give_up(self, task: asyncio.Task[None]) -> None:
        if self._ledger is not None:
            self._ledger.write("cancel", self._id)
        self.given_up = True
        task.cancel()

    def end(self, code: str, delivery: trunkcall.Delivery, text: str = "") -> None:
        if self._ledger is not None:
            message = text[:MAX_MESSAGE] or None
            self._ledger.write("end", self._id, code=code, delivery=delivery.value, message=message)


@asynccontextmanager
async def shared(client: trunkcall.Client) -> AsyncGenerator[trunkcall.Client]:
    """A client that outlives the call."""
    yield client


# Makes a call with these options.
Run = Callable[[trunkcall.Client, trunkcall.CallOptions, Mix], Awaitable[None]]


async def run_say(client: trunkcall.Client, options: trunkcall.CallOptions, mix: Mix) -> None:
    answer = (await client.unary(native.SAY, message.request(), options)).message
    message.check(answer.field1, answer.field2)


async def run_echo(client: trunkcall.Client, options: trunkcall.CallOptions, mix: Mix) -> None:
    answer = (await client.unary(native.ECHO, mix.payload, options)).message
    message.check_data(answer.data, mix.payload.data)


async def run_behave(client: trunkcall.Client, options: trunkcall.CallOptions, mix: Mix) -> None:
    await client.unary(BEHAVE, mix.request, options)


async def run_pour(client: trunkcall.Client, options: trunkcall.CallOptions, mix: Mix) -> None:
    async with client.stream(POUR, mix.request, options) as stream:
        await drained(stream)


async def run_take(client: trunkcall.Client, options: trunkcall.CallOptions, mix: Mix) -> None:
    async with client.stream(TAKE, None, options) as stream:
        for _ in range(STREAMED):
            if not await stream.send(mix.request):
                break
        answer = await stream.response()
    if answer.requests != STREAMED:
        raise message.WrongAnswer(f"{answer.requests} requests arrived of {STREAMED}")


async def run_exchange(client: trunkcall.Client, options: trunkcall.CallOptions, mix: Mix) -> None:
    async with client.stream(EXCHANGE, None, options) as stream:
        for _ in range(STREAMED):
            await stream.send(mix.request)
            if await stream.receive() is None:
                raise message.WrongAnswer("the call ended before all was answered")
        await stream.half_close()
        await drained(stream)


async def drained(stream: trunkcall.ClientStream[Behaviour, Answer]) -> None:
    """Receives to the end."""
    while await stream.receive() is not None:
        pass


# What a mix can hold, by the short names of the methods.
RUNS: dict[str, tuple[trunkcall.Method[Any, Any], Run]] = {
    "Say": (native.SAY, run_say),
    "Echo": (native.ECHO, run_echo),
    "Behave": (BEHAVE, run_behave),
    "Pour": (POUR, run_pour),
    "Take": (TAKE, run_take),
    "Exchange": (EXCHANGE, run_exchange),
}
