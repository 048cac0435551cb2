"""Calls that are hedged: attempts at once, of which the first answer counts (spec/policy.md 9)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .cores import end_of, now
from .governance import Rules
from .passing import Passage, ending, paused, promising
from .policy import Ended, HedgeRules, Hedging
from .status import StatusError, least
from .wire import OK, Delivery, Status

if TYPE_CHECKING:
    from .endpoints import ClientEndpoint
    from .unarycall import Attempt


async def hedged(attempt: Attempt, rules: Rules) -> Any:
    """Makes a unary or one-way call, and makes it again elsewhere while it is not answered. Raises StatusError."""
    if rules.holds.hedging is None:
        raise RuntimeError(f"{rules.name} is not hedged")
    call = _Hedged(attempt, rules, rules.holds.hedging)
    try:
        return await call.answer()
    finally:
        await call.end()


class _Try:
    """One attempt, in a task of its own."""

    def __init__(self, attempt: Attempt, task: asyncio.Task[Status]) -> None:
        self.attempt = attempt
        self.task = task

    @property
    def place(self) -> ClientEndpoint | None:
        """Where it went, or waits to go."""
        if self.attempt.opened:
            return self.attempt.caller._endpoint_of(self.attempt.connection)
        return None if self.attempt.picked is None else self.attempt.picked.endpoint


class _Hedged:
    """One call. All of its attempts have ended when it has."""

    def __init__(self, first: Attempt, rules: Rules, hedging: HedgeRules) -> None:
        self._first = first
        self._rules = rules
        deadline = first.deadline * 1000 if first.deadline else None
        self._core = Hedging(hedging, rules.budget, now(), deadline)
        self._tries: list[_Try] = []  # by number, from 1
        self._running: set[asyncio.Task[Status]] = set()
        self._barred = 0  # the number of the one that the breaker refused, behind which none starts
        self._last: _Try | None = None  # that ended last, of those that it did not refuse if there is one
        self._promised = Delivery.NOT_SENT  # that promises least, of the attempts that have ended

    async def answer(self) -> Any:
        """Carries out what the core decides."""
        decision = self._core.begun
        while True:
            if decision.start is not None:
                self._start(decision.start)
            ended = await self._ended(decision.look)
            for at, one in enumerate(ended, 1):
                decision = self._core.ended(now(), one.attempt.number, self._end(one))
                if decision.finish is not None:
                    for other in ended[at:]:
                        self._end(other)  # for what it promises
                    return await self._finish(self._tries[decision.finish - 1])
                if decision.start is not None:
                    self._start(decision.start)
            if self._first.caller._closed and not self._running:
                return await self._finish(self._tries[-1])
            decision = self._core.look(now())
            if decision.finish is not None:
                return await self._finish(self._tries[decision.finish - 1])

    def _start(self, number: int) -> None:
        attempt = self._first
        if number > 1:
            attempt = self._first.another(number)
            attempt.tried = [place for one in self._tries if (place := one.place) is not None]
            attempt.avoid = attempt.tried[-1] if attempt.tried else None
        task = attempt.caller._loop.create_task(self._carried_out(attempt))
        self._running.add(task)
        self._tries.append(_Try(attempt, task))

    async def _carried_out(self, attempt: Attempt) -> Status:
        """Makes an attempt, and gives how it ended. Raises StatusError if it could not be made."""
        try:
            attempt.passage = passage = Passage(self._rules)
        except StatusError:
            self._barred = attempt.number
            raise
        try:
            await attempt.run()
        finally:
            passage.ended(None)  # does nothing if the attempt has ended, as those do that were made
        return attempt.out.status or OK

    async def _ended(self, look: int | None) -> list[_Try]:
        """Waits until attempts have ended, which it gives in order, or it is time to look."""
        left = None if look is None else max(look - now(), 0) / 1e9
        if not self._running:
            await paused(self._first.caller, left or 0)
            return []
        done, self._running = await asyncio.wait(self._running, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        return [one for one in self._tries if one.task in done]

    def _end(self, one: _Try) -> Ended:
        if self._last is None or one.attempt.number != self._barred:
            self._last = one
        error = one.task.exception()
        if error is None:
            status = one.task.result()
            end = ending(status, self._first.caller)
        elif isinstance(error, StatusError):
            status = error.status
            end = end_of(status)
        else:
            raise error
        if status.code:
            self._promised = least(self._promised, status.delivery)
        return end

    async def _finish(self, last: _Try) -> Any:
        """Ends the call with an attempt that has ended, or that before it if the breaker refused it."""
        if self._last and last.attempt.number == self._barred:
            last = self._last
        promised = [self._promised, *([Delivery.UNKNOWN] if self._running else [])]
        try:
            error = last.task.exception()
            if error is not None:
                raise error
            return await last.attempt.result()
        except StatusError as error:
            raise promising(error, *promised) from error.__cause__

    async def end(self) -> None:
        """Cancels what still runs, and waits for its end."""
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)
        for one in self._tries:
            if one.task.done() and not one.task.cancelled():
                one.task.exception()  # it was looked at
