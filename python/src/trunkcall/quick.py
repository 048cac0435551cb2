"""The quick ways of Client.call: for what is plain, and for clients that have a policy file, an attempt observer or
several endpoints. No object is made for a call, the clock is looked at once when it is made, and not at all when it has
been answered. What ends otherwise than with a plain answer goes on as other calls do."""

from __future__ import annotations

import asyncio
import logging
from asyncio import get_running_loop
from typing import TYPE_CHECKING, TypeVar

from .attempt import CallAttempt
from .balancer import TURNS
from .caller import CallOptions
from .codec import FIRST_NAMED, Codec
from .compression import Compressions
from .context import current, deadline_of, own_timeout
from .cores import draw
from .method import Kind, Method, UnaryMethod
from .passing import is_open, refused
from .policy import Breaker, Concurrency, Outcome, Priority, Sample
from .priority import priority_in
from .quickend import QuickEnd
from .status import Metadata, failure
from .transport import clock, monotonic
from .unarycall import Attempt, undecodable, unencodable
from .wire import OK, Code, Delivery, LimitError, OutgoingCall

if TYPE_CHECKING:
    from .calling import Calls
    from .endpoints import ClientEndpoint
    from .governance import Rules

Req = TypeVar("Req")
Resp = TypeVar("Resp")
UNARY = Kind.UNARY
_log = logging.getLogger("trunkcall")


async def call_quickly(
    self: Calls,
    method: UnaryMethod[Req, Resp],
    request: Req,
    *,
    timeout: float | None = None,  # noqa: ASYNC109
    metadata: Metadata = (),
    codec: Codec | None = None,
    compression: Compressions | None = None,
    wait_for_ready: bool | None = None,
    priority: Priority | None = None,
) -> Resp:
    """See Caller.call. It is one function because each coroutine that another waits for costs 4 % of a call."""
    connection = self._quick
    own = getattr(method, "codec", None) or self._codec
    if (
        (connection is None and not self._passes)
        or metadata
        or codec is not None
        or (own is not self._codec and own.number >= FIRST_NAMED)  # which the other side may not know
        or compression is not None
        or priority is not None
        or not (wait_for_ready is None or wait_for_ready is True or wait_for_ready is False)
        or self._waiting
        or not isinstance(method, Method)  # pyright: ignore[reportUnnecessaryIsInstance]
        or method.kind is not UNARY
    ):
        options = CallOptions(timeout, metadata, codec, compression, wait_for_ready, priority)
        return (await self.unary(method, request, options)).message
    out: OutgoingCall | None
    future: asyncio.Future[None]
    answer: Resp
    if connection is not None:
        # Nothing but the one connection, and a timeout.
        loop = get_running_loop()
        if loop is not self._bound:
            loop = self._loop
        self._calling.repeating.calls += 1
        binding = method.binding(own)
        try:
            data = binding.encode_request(request)
        except Exception as error:
            raise unencodable(own, error, method, request) from error
        session = connection.session
        deadline = 0
        if timeout is None:
            timeout = self._timeout
        if timeout is not None or current.get() is not None:
            deadline = deadline_of(timeout)
            if deadline:
                session.now = clock()
        future = loop.create_future()
        try:
            out = session.unary(method._wire_name, data, future, own.number, deadline)
        except LimitError as error:
            raise failure(Code.RESOURCE_EXHAUSTED, str(error), Delivery.NOT_SENT) from None
        if out is None:
            return (await self.unary(method, request, CallOptions(timeout, wait_for_ready=wait_for_ready))).message
        if not connection.scheduled:
            connection.schedule()
        try:
            await future
        except asyncio.CancelledError:
            connection.give_up(out)
            raise
        message = out.message
        if message is not None and not out.compression:
            try:
                answer = binding.decode_response(message)
                return answer
            except Exception as error:
                raise undecodable(own, error) from error
        return await self._finish(method, data, own, deadline, timeout, bool(wait_for_ready), (out, connection))

    # A file says what holds, an observer is told of attempts, or there are several connections.
    rules: Rules | None = None
    within = current.get()
    if self._file is not None:
        governance = self._file.current
        rules = governance.known.get(method.name) or governance.of(method.name)
    endpoint: ClientEndpoint | None = None
    sampled = False  # how long it takes is wanted to be known
    turns = self._turns
    if rules is not None and (
        wait_for_ready is not None
        or not rules.quick
        or (within is not None and priority_in(within.metadata) is not Priority.NORMAL)
    ):
        pass
    elif turns is not None:
        turn = turns.counter.value
        connection, endpoint, waiting = turns.each[turn % turns.number]
        turns.counter.value = turn + 1 & TURNS
        sampled = turns.sampled
        if waiting:
            connection = None
    else:
        connection = self._next(method)
        if connection is not None and self._queue(connection).waiting:
            connection = None
        elif connection is not None:
            endpoint, sampled = self._endpoint_of(connection), True
    if connection is None:
        options = CallOptions(timeout, wait_for_ready=wait_for_ready)
        return (await self.unary(method, request, options)).message
    loop = get_running_loop()
    if loop is not self._bound:
        loop = self._loop
    binding = method.binding(own)
    try:
        data = binding.encode_request(request)
    except Exception as error:
        raise unencodable(own, error, method, request) from error
    began = monotonic.nanoseconds()
    session = connection.session
    session.now = began // 1_000
    breaker: Breaker | None = None
    limit: Concurrency | None = None
    number: int | None = 0  # of the breaker's state
    if rules is None:
        self._calling.repeating.calls += 1
        if timeout is None:
            timeout = self._timeout
        deadline = deadline_of(timeout) if within is not None or timeout is not None else 0
    else:
        if timeout is None and within is None:
            timeout = rules.policy.timeout
            deadline = 0 if rules.timeout is None else session.now + rules.timeout
        else:
            timeout = rules.policy.timeout if timeout is None else timeout
            deadline = deadline_of(timeout)
        breaker, limit = rules.breaker, rules.concurrency
        if limit is not None or rules.rate is not None:
            refusal = refused(rules, began)
            if refusal is not None:
                await asyncio.sleep(0)  # as `left_alone` has it
                raise refusal
        if breaker is not None:
            number = breaker.closed or breaker.ask(began)[0]
            if number is None:
                if limit is not None:
                    limit.leave(began, 0, Sample.NONE, draw)
                await asyncio.sleep(0)
                raise is_open(rules)
        made = rules.budget.calls
        if began < made.until:
            made.events += 1
        else:
            rules.budget.made(began)
    told: CallAttempt | None = None
    observer = self._calling.attempts
    out = None
    try:
        future = loop.create_future()
        out = session.unary(method._wire_name, data, future, own.number, deadline)
        if out is not None:
            if not connection.scheduled:
                connection.schedule()
            if observer is not None:
                place = None if endpoint is None else endpoint._endpoint
                told = CallAttempt(method, 1, place, connection.remote, 0.0, len(data))
                try:
                    observer.attempt_began(told)
                except (Exception, asyncio.CancelledError):
                    _log.exception("an attempt observer failed")
            await future
    except BaseException as error:
        end = QuickEnd(self, rules, number, limit, began, endpoint if sampled else None, told)
        if out is not None and not loop.is_closed():
            connection.give_up(out)
        end.attempt_over(out)
        end.leave(None)
        if isinstance(error, LimitError):
            await asyncio.sleep(0)
            raise failure(Code.RESOURCE_EXHAUSTED, str(error), Delivery.NOT_SENT) from None
        raise
    message = None if out is None else out.message
    if out is None or message is None or out.compression or out.status is not OK:
        end = QuickEnd(self, rules, number, limit, began, endpoint if sampled else None, told)
        attempt = Attempt(self, method, data, own, deadline, None, bool(wait_for_ready))
        attempt.timeout, attempt.begun = own_timeout(timeout, deadline), began // 1_000
        if out is not None:
            attempt.adopt(out, connection, None)
            attempt.name_late()
        end.attempt_over(out)
        answer = await end.go_on(attempt)
        return answer
    ended = session.lifecycle.received_at * 1_000  # the answer came with what was read last
    if breaker is not None and number:
        trip = breaker.trip
        if number == breaker.closed and not trip.row and ended < trip.ends.until:
            trip.ends.events += 1
        else:
            breaker.ended(ended, number, Outcome.SUCCESS, draw)
    if limit is not None:
        limit.leave(ended, ended - began, Sample.MEASURED, draw)
    if sampled and endpoint is not None and ended != endpoint.latencies.last:
        endpoint.latencies.answered(ended - began, ended)
    if told is not None and observer is not None:
        told.status, told.received, told.duration = OK, len(message), (ended - began) / 1e9
        try:
            observer.attempt_ended(told)
        except (Exception, asyncio.CancelledError):
            _log.exception("an attempt observer failed")
    try:
        answer = binding.decode_response(message)
        return answer
    except Exception as error:
        raise undecodable(own, error) from error
