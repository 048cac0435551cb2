"""Calls under a policy file: how often they are tried (spec/policy.md 8)."""

from __future__ import annotations

import asyncio
from typing import Any

from .cores import draw, now
from .governance import Rules
from .hedging import hedged
from .passing import Admitted, Passage, drilled, ending, paused, promising
from .policy import Priority, Retries
from .status import StatusError, least
from .transport import clock
from .unarycall import Attempt
from .wire import OK, Delivery, Status


async def made(attempt: Attempt, rules: Rules, priority: Priority) -> Any:
    """Makes a unary or one-way call under its rules. Raises StatusError."""
    attempt.begun = clock()
    await drilled(rules, attempt.caller, attempt.deadline)
    call: Admitted | None = None
    status: Status | None = None
    attempt.chooser = rules.chooser
    try:
        call = Admitted(rules, priority)
        response = await (tried(attempt, rules) if rules.holds.hedging is None else hedged(attempt, rules))
        status = OK
        return response
    except StatusError as error:
        status = error.status
        await left_alone(status)
        raise
    finally:
        if call is not None:
            call.leave(status)


async def left_alone(status: Status) -> None:
    """Gives the loop a turn behind a call that was not sent: one that a breaker or a limit has stopped has not waited
    for anything, and who calls again at once would keep all others waiting."""
    if status.delivery is Delivery.NOT_SENT:
        await asyncio.sleep(0)


async def tried(attempt: Attempt, rules: Rules, *, counted: bool = False) -> Any:
    """Tries a call; its first attempt may have been made. `counted`: the budget knows of the call."""
    holds, caller = rules.holds, attempt.caller
    retries = None
    if holds.retries is None:
        if not counted:
            rules.budget.made(now())
    else:
        deadline = attempt.deadline * 1000 if attempt.deadline else None
        retries = Retries(holds.retries, rules.budget, holds.idempotent, now(), deadline, counted=counted)
    promised = Delivery.NOT_SENT  # that promises least, of the attempts that ended
    while True:
        if not attempt.ended or attempt.number > 1:
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
