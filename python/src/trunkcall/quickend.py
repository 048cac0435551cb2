"""How calls go on that went the quick way (`quick.py`) and do not end with a plain answer."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from .attempt import CallAttempt
from .cores import draw, end_of, now
from .governed import left_alone, tried
from .method import Kind
from .policy import Concurrency, Outcome, Sample, judged, sample_of
from .status import StatusError
from .unarycall import Attempt, invoke
from .wire import OK, OutgoingCall, Status

if TYPE_CHECKING:
    from .calling import Calls
    from .endpoints import ClientEndpoint
    from .governance import Rules

_log = logging.getLogger("trunkcall")


class QuickEnd:
    """The end of a call that went the quick way, with what it has passed there."""

    def __init__(
        self,
        caller: Calls,
        rules: Rules | None,
        number: int | None,
        limit: Concurrency | None,
        began: int,
        endpoint: ClientEndpoint | None,
        told: CallAttempt | None,
    ) -> None:
        """`number` is the one by which the breaker knows the attempt, `endpoint` one whose latency is to be known, and
        `told` what an observer was told of."""
        self._caller = caller
        self._rules = rules
        self._number = number
        self._limit = limit
        self._began = began
        self._endpoint = endpoint
        self._told = told

    def attempt_over(self, out: OutgoingCall | None) -> None:
        """The attempt has ended; None: it was not opened."""
        time, rules, told = now(), self._rules, self._told
        status = None if out is None else out.status
        if rules is not None and rules.breaker is not None and rules.breaker_rules is not None and self._number:
            outcome = Outcome.NEITHER if status is None else judged(rules.breaker_rules, end_of(status))
            rules.breaker.ended(time, self._number, outcome, draw)
        if self._endpoint is not None and status is not None:
            self._endpoint.sample(Kind.UNARY, status, self._began)
        observer = self._caller._calling.attempts
        if told is not None and observer is not None and out is not None:
            told.status, told.duration = status, (time - self._began) / 1e9
            told.received = 0 if out.message is None else len(out.message)
            try:
                observer.attempt_ended(told)
            except (Exception, asyncio.CancelledError):
                _log.exception("an attempt observer failed")

    def leave(self, status: Status | None) -> None:
        """The call is over; None: it was cancelled, or not sent."""
        if self._limit is not None:
            sample, time = Sample.NONE if status is None else sample_of(end_of(status)), now()
            self._limit.leave(time, time - self._began, sample, draw)

    async def go_on(self, attempt: Attempt) -> Any:
        """Goes on with the call, whose first attempt has ended or could not be opened at once. Raises StatusError."""
        rules, status = self._rules, None
        try:
            response = await (invoke(attempt) if rules is None else tried(attempt, rules, counted=True))
            status = OK
            return response
        except StatusError as error:
            status = error.status
            if rules is not None:
                await left_alone(status)
            raise
        finally:
            self.leave(status)
