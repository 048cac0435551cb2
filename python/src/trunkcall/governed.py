"""Calls under a policy file: how often they are tried (spec/policy.md 8)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .cores import draw, now
from .governance import Rules
from .hedging import hedged
from .passing import Admitted, Passage, drilled, ending, paused, promising
from .policy import Priority, Retries
from .status import StatusError, least
from .wire import OK, Delivery

if TYPE_CHECKING:
    from .unarycall import Attempt


async def made(attempt: Attempt, rules: Rules, priority: Priority) -> Any:
    """Makes a unary or one-way call under its rules. Raises StatusError."""
    await drilled(rules, attempt.caller, attempt.deadline)
    call, status = Admitted(rules, priority), None
    attempt.chooser = rules.chooser
    try:
        response = await (_tried(attempt, rules) if rules.holds.hedging is None else hedged(attempt, rules))
        status = OK
        return response
    except StatusError as error:
        status = error.status
        raise
    finally:
        call.leave(status)


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
            raise promising(error, promised) from None
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
        pause = retries.ended(now(), ending(status, caller), draw)
        if isinstance(pause, str) or not await paused(caller, pause / 1e9):
            break
        attempt.avoid = caller._endpoint_of(attempt.connection)
        attempt.number += 1
    try:
        return await attempt.result()
    except StatusError as error:
        raise promising(error, promised) from error.__cause__
