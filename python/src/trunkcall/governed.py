"""Calls under a policy file: how often they are tried (spec/policy.md 8)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .caller import CallOptions
from .codec import Codec
from .context import deadline_of, own_timeout
from .cores import draw, now
from .governance import Rules
from .hedging import hedged
from .method import UnaryMethod
from .passing import Admitted, Passage, drilled, ending, paused, promising
from .policy import Priority, Retries
from .status import StatusError, failure, least, told
from .transport import Connection, clock
from .unarycall import Attempt
from .wire import OK, Code, Delivery, LimitError, Status

if TYPE_CHECKING:
    from .calling import Calls


async def made(attempt: Attempt, rules: Rules, priority: Priority) -> Any:
    """Makes a unary or one-way call under its rules. Raises StatusError."""
    attempt.begun = clock()
    await drilled(rules, attempt.caller, attempt.deadline)
    call: Admitted | None = None
    status: Status | None = None
    attempt.chooser = rules.chooser
    try:
        call = Admitted(rules, priority)
        response = await (_tried(attempt, rules) if rules.holds.hedging is None else hedged(attempt, rules))
        status = OK
        return response
    except StatusError as error:
        status = error.status
        await _left_alone(status)
        raise
    finally:
        if call is not None:
            call.leave(status)


async def _left_alone(status: Status) -> None:
    """Gives the loop a turn behind a call that was not sent: one that a breaker or a limit has stopped has not waited
    for anything, and who calls again at once would keep all others waiting."""
    if status.delivery is Delivery.NOT_SENT:
        await asyncio.sleep(0)


async def quickly(
    caller: Calls,
    connection: Connection,
    method: UnaryMethod[Any, Any],
    request: Any,
    codec: Codec,
    options: CallOptions,
) -> Any:
    """Makes a unary call that has a timeout at most, outside of handlers, without an object for its attempt. What does
    not end well goes on as other calls do."""
    rules = caller._policies.rules(method.name)
    loop = caller._loop
    if rules is None or not rules.quick:
        return (await caller.unary(method, request, options)).message
    timeout = rules.policy.timeout if options.timeout is None else options.timeout
    data = caller._encode(method, request, None if codec is caller._codec else codec)
    deadline = 0 if timeout is None else deadline_of(timeout)
    begun = 0  # nobody asks when there is no deadline
    call: Admitted | None = None
    status: Status | None = None
    try:
        if rules.rate is not None or rules.concurrency is not None:
            call = Admitted(rules, Priority.NORMAL)
        passage = None if rules.breaker is None else Passage(rules)
        rules.budget.made(now())
        future: asyncio.Future[None] = loop.create_future()
        session = connection.session
        if deadline:
            session.now = begun = clock()
        out = None
        try:
            out = session.unary(method._wire_name, data, future, codec.number, deadline)
            if out is not None:
                if not connection.scheduled:
                    connection.schedule()
                await future
                status = out.status or OK
        except LimitError as error:
            raise failure(Code.RESOURCE_EXHAUSTED, str(error), Delivery.NOT_SENT) from None
        except asyncio.CancelledError:
            if out is not None:
                connection.give_up(out)
            raise
        finally:
            if passage is not None:
                passage.ended(status)
        if out is not None and out.message is not None and not out.compression:
            try:
                return method.binding(codec).decode_response(out.message)
            except Exception as error:
                text = f"the response is not a valid {codec.name} message: {error}"
                raise failure(*told(error, Code.INTERNAL, text), Delivery.EXECUTED) from error
        attempt = Attempt(caller, method, data, codec, deadline, None, False)
        attempt.timeout, attempt.begun = own_timeout(timeout, deadline), begun
        if out is not None:
            attempt.adopt(out, connection, None)
        status = None
        response = await _tried(attempt, rules, counted=True)
        status = OK
        return response
    except StatusError as error:
        status = error.status
        await _left_alone(status)
        raise
    finally:
        if call is not None:
            call.leave(status)


async def _tried(attempt: Attempt, rules: Rules, *, counted: bool = False) -> Any:
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
