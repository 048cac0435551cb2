"""What calls under a policy file pass before they are made: faults for drills, limits, and each attempt the breaker
(spec/policy.md 16)."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any

from .cores import draw, end_of, now
from .governance import Rules
from .policy import Ended, Outcome, Priority, Sample, Scoped, inject, judged, of_stream, sample_of
from .status import StatusError, failure, least
from .wire import Code, Delivery, Status

if TYPE_CHECKING:
    from .calling import Calls
    from .opening import Opening


def used_up(what: str, said: Scoped[Any] | None) -> StatusError:
    """For a call beyond a limit of its client."""
    text = f"{what} of {'' if said is None else said.scope} is used up"
    return failure(Code.RESOURCE_EXHAUSTED, text, Delivery.NOT_SENT)


def is_open(rules: Rules) -> StatusError:
    """For an attempt that the breaker does not let through."""
    return failure(Code.UNAVAILABLE, f"breaker of {rules.name} is open", Delivery.NOT_SENT)


def refused(rules: Rules, time: int) -> StatusError | None:
    """Why a call that goes the quick way is beyond the limits of its client. None: it has passed them, and counts among
    those that run."""
    if rules.rate is not None and rules.rate.take(time, Priority.NORMAL):
        return used_up("rate", rules.holds.rate)
    if rules.concurrency is not None and not rules.concurrency.enter(time, Priority.NORMAL):
        return used_up("concurrency", rules.holds.concurrency)
    return None


class Admitted:
    """A call that has passed the limits of its client. Raises StatusError if it may not."""

    def __init__(self, rules: Rules, priority: Priority, stream: bool = False) -> None:
        holds = rules.holds
        self._stream = stream
        self._entered = now()
        if rules.rate is not None and rules.rate.take(self._entered, priority):
            raise used_up("rate", holds.rate)
        self._limit = rules.concurrency
        if self._limit is not None and not self._limit.enter(self._entered, priority):
            raise used_up("concurrency", holds.concurrency)

    def leave(self, status: Status | None) -> None:
        """The call is over; `None`: it was cancelled. A second time does nothing."""
        limit, self._limit = self._limit, None
        if limit is not None:
            sample = Sample.NONE if status is None else sample_of(end_of(status))
            sample = of_stream(sample) if self._stream else sample
            left = now()
            limit.leave(left, left - self._entered, sample, draw)


class Passage:
    """An attempt that has passed the breaker. Raises StatusError if it may not."""

    def __init__(self, rules: Rules, call: Admitted | None = None) -> None:
        """`call` ends with the attempt."""
        self._rules = rules
        self._call = call
        self._breaker = rules.breaker
        self._number: int | None = 0
        if self._breaker is not None:
            self._number, _ = self._breaker.ask(now())
            if self._number is None:
                raise is_open(rules)

    def ended(self, status: Status | None, at: Opening | None = None) -> None:
        """How the attempt ended, and where; None: it was not made. A second time does nothing."""
        breaker, self._breaker = self._breaker, None
        if breaker is not None and self._number is not None and self._rules.breaker_rules is not None:
            outcome = Outcome.NEITHER if status is None else judged(self._rules.breaker_rules, _within(status, at))
            breaker.ended(now(), self._number, outcome, draw)
        outliers = self._rules.outliers
        if outliers is not None and at is not None and status is not None:
            endpoint = at.caller._endpoint_of(at.connection)
            if endpoint is not None:
                outliers.ended(endpoint, _within(status, at))
        if self._call is not None:
            self._call.leave(status)


def _within(status: Status, at: Opening | None) -> Ended:
    """How an attempt ended, for a breaker or an endpoint. `at`: the attempt, unless it was sent as soon as the call
    began."""
    if at is None or not at.deadline or status.code is not Code.DEADLINE_EXCEEDED:
        return end_of(status)
    return end_of(status, time=(at.deadline - at.begun) * 1000, left=(at.deadline - at.given) * 1000)


def passed(rules: Rules, priority: Priority) -> Passage:
    """A stream that has passed the limits and the breaker. Raises StatusError."""
    call = Admitted(rules, priority, stream=True)
    try:
        return Passage(rules, call)
    except StatusError:
        call.leave(None)
        raise


async def drilled(rules: Rules, caller: Calls, deadline: int) -> None:
    """Does to a call what faults for drills say, until its deadline in µs, 0: none. Raises StatusError."""
    if not rules.holds.faults:
        return
    fault = inject(rules.holds.faults, draw)
    if fault.delay:
        left = (deadline * 1000 - now()) / 1e9 if deadline else None
        try:
            async with asyncio.timeout(left):
                await paused(caller, fault.delay / 1e9)
        except TimeoutError:
            text = f"the deadline passed while a fault of the policy held the call up: {rules.name}"
            raise failure(Code.DEADLINE_EXCEEDED, text, Delivery.NOT_SENT) from None
    if fault.code:
        raise failure(Code(fault.code), f"fault {fault.name} of the policy", Delivery.NOT_SENT)


async def paused(caller: Calls, seconds: float) -> bool:
    """Waits, but not beyond the end of the caller, and gives whether that is still there."""
    if seconds:
        try:
            async with asyncio.timeout(seconds):
                while not caller._closed:
                    await caller._changed()
        except TimeoutError:
            pass
    return not caller._closed


def ending(status: Status, caller: Calls) -> Ended:
    """How an attempt ended, as the core knows it that decides about the next."""
    several = not caller._alone
    lost = status.delivery is Delivery.NOT_SENT and status.code is Code.UNAVAILABLE and several
    return end_of(status, lost=lost, elsewhere=several and caller._elsewhere)


def promising(error: StatusError, *others: Delivery) -> StatusError:
    """The failure of a call of several attempts: its delivery is the one that promises least."""
    delivery = least(error.delivery, *others)
    if delivery is error.delivery:
        return error
    status = dataclasses.replace(error.status, delivery=delivery)
    return StatusError.of(status, error.trailer, error.header, error.peer)
