"""Calls under a policy file: what they pass before all attempts, and how often they are tried (spec/policy.md)."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any

from .policy import Outcome, Retries, Sample, inject, judged, sample_of
from .policy import Priority as Level
from .policyfile import Rules, draw, end_of, now
from .status import StatusError, failure, least
from .wire import OK, Code, Delivery, Status

if TYPE_CHECKING:
    from .calling import Calls
    from .unarycall import Attempt


class Admitted:
    """A call that has passed the limits of its client. Raises StatusError if it may not."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        holds = rules.holds
        self._entered = now()
        if rules.rate is not None and holds.rate is not None and rules.rate.take(self._entered, Level.NORMAL):
            raise failure(Code.RESOURCE_EXHAUSTED, f"rate of {holds.rate.scope} is used up", Delivery.NOT_SENT)
        self._limit = rules.concurrency
        if self._limit is not None and holds.concurrency is not None:
            if not self._limit.enter(self._entered, Level.NORMAL):
                text = f"concurrency of {holds.concurrency.scope} is used up"
                raise failure(Code.RESOURCE_EXHAUSTED, text, Delivery.NOT_SENT)

    def leave(self, status: Status | None) -> None:
        """The call is over; `None`: it was cancelled. A second time does nothing."""
        limit, self._limit = self._limit, None
        if limit is not None:
            sample = Sample.NONE if status is None else sample_of(end_of(status))
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
                raise failure(Code.UNAVAILABLE, f"breaker of {rules.name} is open", Delivery.NOT_SENT)

    def ended(self, status: Status | None) -> None:
        """How the attempt ended; None: it was not made. A second time does nothing."""
        breaker, self._breaker = self._breaker, None
        if breaker is not None and self._number is not None and self._rules.breaker_rules is not None:
            outcome = Outcome.NEITHER if status is None else judged(self._rules.breaker_rules, end_of(status))
            breaker.ended(now(), self._number, outcome, draw)
        if self._call is not None:
            self._call.leave(status)


def passed(rules: Rules) -> Passage:
    """A stream that has passed the limits and the breaker. Raises StatusError."""
    call = Admitted(rules)
    try:
        return Passage(rules, call)
    except StatusError:
        call.leave(None)
        raise


async def drilled(rules: Rules, caller: Calls) -> None:
    """Does to a call what faults for drills say. Raises StatusError."""
    if rules.holds.faults:
        fault = inject(rules.holds.faults, draw)
        if fault.delay:
            await paused(caller, fault.delay / 1e9)
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


async def made(attempt: Attempt, rules: Rules) -> Any:
    """Makes a unary or one-way call under its rules. Raises StatusError."""
    await drilled_within(attempt, rules)
    call, status = Admitted(rules), None
    try:
        response = await _tried(attempt, rules)
        status = OK
        return response
    except StatusError as error:
        status = error.status
        raise
    finally:
        call.leave(status)


async def drilled_within(attempt: Attempt, rules: Rules) -> None:
    """Faults for drills, within the time of the call."""
    left = (attempt.deadline * 1000 - now()) / 1e9 if attempt.deadline else None
    try:
        async with asyncio.timeout(left):
            await drilled(rules, attempt.caller)
    except TimeoutError:
        text = "the deadline passed while a fault of the policy held the call up"
        raise failure(Code.DEADLINE_EXCEEDED, text, Delivery.NOT_SENT) from None


async def _tried(attempt: Attempt, rules: Rules) -> Any:
    holds, caller = rules.holds, attempt.caller
    retries = None
    if holds.retries is None:
        rules.budget.made(now())
    else:
        deadline = attempt.deadline * 1000 if attempt.deadline else None
        retries = Retries(holds.retries, rules.budget, holds.idempotent, now(), deadline)
    promised = Delivery.NOT_SENT  # that promises least, of the attempts that ended
    while True:
        try:
            passage = Passage(rules)
        except StatusError:
            if attempt.number > 1:
                break  # the call ends as the attempt before did
            raise
        attempt.passage = passage
        try:
            await attempt.run()
        except StatusError as error:
            passage.ended(None)
            raise _promising(error, promised) from None
        except asyncio.CancelledError:
            passage.ended(None)
            raise
        status = attempt.out.status or OK
        if status.code:
            promised = least(promised, status.delivery)
        if retries is None:
            if attempt.number > 1 or holds.once or not await attempt.again():
                break
            continue
        lost = status.delivery is Delivery.NOT_SENT and status.code is Code.UNAVAILABLE and not caller._alone
        elsewhere = caller._elsewhere and not caller._alone
        pause = retries.ended(now(), end_of(status, lost=lost, elsewhere=elsewhere), draw)
        if isinstance(pause, str) or not await paused(caller, pause / 1e9):
            break
        attempt.avoid = caller._endpoint_of(attempt.connection)
        attempt.number += 1
    try:
        return await attempt.result()
    except StatusError as error:
        raise _promising(error, promised) from error.__cause__


def _promising(error: StatusError, promised: Delivery) -> StatusError:
    """A failure of a call of several attempts."""
    delivery = least(error.delivery, promised)
    if delivery is error.delivery:
        return error
    status = dataclasses.replace(error.status, delivery=delivery)
    return StatusError.of(status, error.trailer, error.header, error.peer)
