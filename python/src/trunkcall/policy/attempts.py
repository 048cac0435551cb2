"""How often a call is tried: the budget, retries and hedging (policy.md 8 and 9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from .numbers import SECOND, Clock, Random, Window, part
from .rules import OK, UNAVAILABLE, BudgetRules, HedgeRules, RetryRules

_BUDGET_SECONDS = 10
_FOREVER = 1 << 63


class Budget:
    """Bounds all repetitions and hedges of a client (policy.md 8.1)."""

    def __init__(self, rules: BudgetRules) -> None:
        self._rules = rules
        self._clock = Clock()
        self.calls = Window(_BUDGET_SECONDS * SECOND)
        self._repeated = Window(_BUDGET_SECONDS * SECOND)

    def made(self, now: int, calls: int = 1) -> None:
        """Counts calls."""
        self.calls.add(self._clock.at(now), calls)

    def take(self, now: int) -> bool:
        """Whether one more attempt is allowed, which counts then."""
        now = self._clock.at(now)
        most = max(_BUDGET_SECONDS * self._rules.least, self.calls.sum(now) * self._rules.percent // 100)
        allowed = self._repeated.sum(now) < most
        if allowed:
            self._repeated.add(now, 1)
        return allowed


class Delivery(IntEnum):
    """What is known of whether a call ran (status.md 2). A greater one promises more."""

    EXECUTED = -1
    UNKNOWN = 0
    REFUSED = 1
    NOT_SENT = 2


EXECUTED, UNKNOWN, REFUSED, NOT_SENT = Delivery


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attempt ended."""

    code: int = OK
    delivery: Delivery = UNKNOWN
    retry_after: int = 0  # nanoseconds, of one that was refused
    lost: bool = False  # the connection ended before a byte of the call was passed on
    elsewhere: bool = False  # another connection or endpoint can take the call
    time: int = 0  # nanoseconds that the call had when it began; 0: it has no deadline
    left: int = 0  # what was left of that when the attempt was given to its connection


class Retries:
    """Decides about the attempts of one call (policy.md 8). It begins with the first."""

    def __init__(
        self,
        rules: RetryRules,
        budget: Budget,
        idempotent: bool,
        now: int,
        deadline: int | None = None,
        *,
        counted: bool = False,
    ) -> None:
        """`counted`: the budget knows of the call."""
        if not counted:
            budget.made(now)
        self._rules = rules
        self._budget = budget
        self._idempotent = idempotent
        self._deadline = _FOREVER if deadline is None else deadline
        self._attempts = 1
        self._step = 0
        self._clock = Clock()
        self._clock.at(now)

    def ended(self, now: int, end: Ended, random: Random) -> int | str:
        """After which pause, in nanoseconds, the next attempt is made; or why the call ends. Draws at most one
        number."""
        now = self._clock.at(now)
        why = self._final(end)
        if why:
            return why
        at_once = end.delivery == NOT_SENT or end.delivery == REFUSED and end.code == UNAVAILABLE and end.elsewhere
        self._climb()
        pause = 0
        if self._attempts > 1 or not at_once:
            pause = self._step - part(self._step * self._rules.jitter // 100, random)
            if end.delivery == REFUSED:
                pause = max(pause, end.retry_after)
        if now + pause >= self._deadline:
            return "time"
        if not self._budget.take(now):
            return "budget"
        self._attempts += 1
        return pause

    def _final(self, end: Ended) -> str:
        """Why no attempt may follow, whatever time and budget allow."""
        if end.code == OK:
            return "ok"
        if self._attempts >= self._rules.attempts:
            return "attempts"
        if end.delivery == NOT_SENT:
            return "" if end.lost else "not_sent"
        if end.delivery == REFUSED and end.retry_after <= 0:
            return "refused"
        if end.delivery in (EXECUTED, UNKNOWN) and not self._idempotent:
            return end.delivery.name.lower()
        if end.code not in self._rules.codes:
            return "code"
        if end.delivery == REFUSED and end.retry_after > self._rules.max_backoff:
            return "retry_after"
        return ""

    def _climb(self) -> None:
        """Goes to the pause of the next repetition (policy.md 8.2)."""
        rules = self._rules
        self._step = min(rules.max_backoff, self._step * rules.multiplier // 100) if self._step else rules.backoff


@dataclass(frozen=True, slots=True)
class Decision:
    """What hedging decides."""

    start: int | None = None  # an attempt that starts
    look: int | None = None  # when to look again
    finish: int | None = None  # the attempt that the call ends with
    delivery: Delivery | None = field(default=None)  # of a call that has finished


class Hedging:
    """Decides about the attempts of one call that is hedged (policy.md 9). Attempts are numbered from 1; the first
    starts at once, and the first look is `begun.look`."""

    def __init__(self, rules: HedgeRules, budget: Budget, now: int, deadline: int | None = None) -> None:
        budget.made(now)
        self._rules = rules
        self._budget = budget
        self._deadline = _FOREVER if deadline is None else deadline
        self._next = now + rules.delay  # when the next attempt may start
        self._over = False  # no further attempt starts
        self._started = 1
        self._running = {1}
        self._least = NOT_SENT  # of the deliveries of attempts that have ended
        self._last: tuple[int, Ended] | None = None  # the attempt that ended last, and how
        self._finished = False
        self._clock = Clock()
        self._clock.at(now)
        self.begun = Decision(start=1, look=self._look())

    def look(self, now: int) -> Decision:
        """Starts an attempt if it is time for one. It finishes the call if none runs and none can start any more."""
        return self._go_on(self._clock.at(now))

    def _go_on(self, now: int) -> Decision:
        start = self._start(now)
        if self._last is not None and not self._finished and not self._running and self._look() is None:
            return self._finish(*self._last)
        return Decision(start=start, look=self._look())

    def ended(self, now: int, attempt: int, end: Ended) -> Decision:
        """Decides when an attempt has ended. What is told of a call that has finished, or of an attempt that does not
        run, changes nothing."""
        now = self._clock.at(now)
        if self._finished or attempt not in self._running:
            return Decision(look=self._look())
        self._running.discard(attempt)
        self._last = attempt, end
        self._least = min(self._least, end.delivery)
        if end.code == OK or end.code in self._rules.stop:
            return self._finish(attempt, end)
        self._next = now
        if end.delivery == REFUSED and end.retry_after > 0:
            self._next = now + end.retry_after
        elif end.delivery == REFUSED or end.delivery == NOT_SENT and not end.lost:
            self._over = True
        return self._go_on(now)

    def _finish(self, attempt: int, end: Ended) -> Decision:
        self._finished = True
        least = min(self._least, UNKNOWN) if self._running else self._least
        return Decision(finish=attempt, delivery=end.delivery if end.code == OK else least)

    def _start(self, now: int) -> int | None:
        """Starts an attempt if one may start now."""
        if now < self._next or self._look() is None:
            return None
        if now >= self._deadline or not self._budget.take(now):
            self._over = True
            return None
        self._started += 1
        self._running.add(self._started)
        self._next = now + self._rules.delay
        return self._started

    def _look(self) -> int | None:
        """When an attempt can start next."""
        ended = self._finished or self._over or self._started >= self._rules.attempts
        return None if ended or self._next >= self._deadline else self._next
