"""How a call finds a connection and a slot."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from .attempt import AttemptObserver, CallAttempt
from .status import StatusError, failure
from .transport import Connection, clock
from .wire import LATE, Code, Delivery, LimitError, Metadata, OutgoingCall, Status, local_status

if TYPE_CHECKING:
    from .calling import Calls
    from .endpoints import ClientEndpoint, Picked
    from .method import Method
    from .passing import Passage
    from .placing import Chooser

_log = logging.getLogger("trunkcall")
IN_ROW = 128  # messages of a stream that a task may send or receive without waiting until others have their turn
NOT_TAKEN = local_status(Code.UNAVAILABLE, "the call did not go there", Delivery.NOT_SENT)


class CallEvents:
    """What waits for a call that is not on the quick path, as the `user` of its OutgoingCall. Like a future it is told
    of the end by `set_result`, unless it is `done`."""

    def done(self) -> bool:
        return False

    def set_result(self, result: None) -> None:
        """The call has ended."""

    def header(self, metadata: Metadata) -> None:
        """Early metadata has come."""

    def arrived(self) -> None:
        """A message has come."""

    def writable(self) -> None:
        """What was queued is on its way."""


class Opening(CallEvents):
    """A call that is to be opened. `out` and `connection` are set once it is. Times are µs of the sessions' clock."""

    opened = False  # whether this attempt was appended to a session
    number = 1  # of the attempt
    avoid: ClientEndpoint | None = None  # where the attempt before went
    tried: Collection[ClientEndpoint] = ()  # where attempts went that are not to be repeated there
    chooser: Chooser | None = None  # by a policy file
    picked: Picked | None = None  # what a picker has chosen, until the attempt has ended
    out: OutgoingCall
    connection: Connection
    passage: Passage | None = None  # under a policy file, until the attempt has ended
    told: CallAttempt | None = None  # what an observer was told of, until the attempt has ended
    timeout: float | None = None  # seconds, if that set the deadline
    begun = 0  # when the call began, under a policy file
    given = 0  # when the attempt was given to a connection
    _began = 0  # when the attempt was wanted
    _waits_for = ""

    def __init__(
        self, caller: Calls, method: Method[Any, Any], metadata: list[tuple[str, str | bytes]], deadline: int
    ) -> None:
        self.caller = caller
        self.method = method
        self.metadata = metadata
        self.deadline = deadline

    def append(self, connection: Connection) -> OutgoingCall | None:
        """Opens the call on a connection; None if there is no slot. Raises LimitError, ValueError."""
        raise NotImplementedError

    def ready(self, connection: Connection) -> bool:
        """Whether `append` may be called for a connection; else `prepare` is to be awaited before."""
        return True

    async def prepare(self, connection: Connection) -> None:
        """Makes the call ready for a connection. Nothing is sent."""

    def open_now(self) -> bool:
        """Opens the call if that can be done without waiting. Raises StatusError."""
        caller = self.caller
        self._began = clock()
        try:
            connection = None if caller._closed else caller._pick(self)
            if connection is not None and self.ready(connection) and not caller._queue(connection).waiting:
                return self._try(connection) is not None
            return False
        finally:
            if not self.opened:
                self.unpick()

    async def open(self, wait_for_ready: bool) -> None:
        """Opens the call. Raises StatusError: whatever goes wrong here was not sent. The end of its time, or of its
        task, may fall into the turn of the loop in which it was opened: then it was, and ends as open calls do."""
        self.opened = False
        self._began = clock()
        left = (self.deadline - self._began) / 1e6 if self.deadline else None
        try:
            async with asyncio.timeout(left):
                await self._open(wait_for_ready)
        except asyncio.CancelledError:
            if self.opened:
                self.connection.give_up(self.out)
            raise
        except StatusError:
            await asyncio.sleep(0)  # who calls again at once leaves the loop the turn in which a server may be reached
            raise
        except TimeoutError:
            if self.opened:
                return
            why = self.caller._trouble
            if left is not None and left <= 0:
                raise failure(Code.DEADLINE_EXCEEDED, self._no_time, Delivery.NOT_SENT) from None
            text = f"the deadline passed before the call was sent, while it waited for {self._waits_for}: {self._had}"
            raise failure(Code.DEADLINE_EXCEEDED, f"{text}{why and f'; {why}'}", Delivery.NOT_SENT) from None
        finally:
            if not self.opened:
                self.unpick()

    async def _open(self, wait_for_ready: bool) -> None:
        caller = self.caller
        while True:
            self._waits_for = caller._waits_for
            connection = await caller._connected(self, wait_for_ready)
            if not self.ready(connection):
                await self.prepare(connection)
            if not connection.session.accepts_calls:
                caller._retire(connection)
                continue
            queue = caller._queue(connection)
            if not queue.waiting and self._try(connection) is not None:
                return
            self._waits_for = "a slot"
            try:
                if await queue.wait(self._open_on) is not None or self.opened:
                    return
            except LimitError as error:
                raise failure(Code.RESOURCE_EXHAUSTED, str(error), Delivery.NOT_SENT) from None
            except ValueError as error:
                raise failure(Code.INVALID_ARGUMENT, str(error), Delivery.NOT_SENT) from None

    def _try(self, connection: Connection) -> OutgoingCall | None:
        try:
            opened = self._open_on(connection)
        except LimitError as error:
            raise failure(Code.RESOURCE_EXHAUSTED, str(error), Delivery.NOT_SENT) from None
        except ValueError as error:
            raise failure(Code.INVALID_ARGUMENT, str(error), Delivery.NOT_SENT) from None
        if opened is not None:
            connection.schedule()
        return opened

    def _open_on(self, connection: Connection) -> OutgoingCall | None:
        connection.session.now = clock()
        opened = self.append(connection)
        if opened is not None:
            self.out, self.connection, self.opened = opened, connection, True
            self.given = connection.session.now
            observer = self.caller._calling.attempts
            if observer is not None:
                self._tell(observer)
            if opened.status is not None:
                self.name_late()
                self.finish(opened.status)
        return opened

    @property
    def _had(self) -> str:
        """Whose deadline has passed, for people."""
        if self.timeout is None:
            return self.method.name
        told = f"{self.timeout:g}s" if self.timeout >= 1 else f"{self.timeout * 1e3:g}ms"
        return f"{self.method.name} had {told}"

    @property
    def _no_time(self) -> str:
        """Why the deadline had passed before the call began, for people."""
        if self.timeout is None:
            return "the deadline had passed when the call began: that of the handler that makes it"
        wanted = f"option timeout: {self.timeout:g} was given, want seconds above 0"
        return f"the deadline had passed when the call began: {wanted}"

    def name_late(self) -> None:
        """Has the status of a call whose deadline has passed say which, and what is known of a silent peer."""
        status = self.out.status
        if status is not None and self.deadline == 1 and status.delivery is Delivery.NOT_SENT:
            if status.code is Code.DEADLINE_EXCEEDED:
                self.out.status = dataclasses.replace(status, message=self._no_time)
        if self.out.status is LATE:
            unheard = self.connection.session.lifecycle.unheard(clock())
            text = f"{LATE.message}: {self._had}{unheard and f'; {unheard}'}"
            self.out.status = dataclasses.replace(LATE, message=text)

    # Those who want to know.

    def _tell(self, observer: AttemptObserver) -> None:
        connection = self.connection
        endpoint = self.caller._endpoint_of(connection)
        queued = (self.given - self._began) / 1e6
        known = endpoint.endpoint if endpoint is not None else None
        self.told = CallAttempt(self.method, self.number, known, connection.remote, queued, self.sent())
        try:
            observer.attempt_began(self.told)
        except (Exception, asyncio.CancelledError):
            _log.exception("an attempt observer failed")

    def sent(self) -> int:
        """Bytes of the message that goes with the CALL."""
        return 0

    def finish(self, status: Status) -> None:
        """The attempt has ended. Nothing happens when it has before."""
        picked, self.picked = self.picked, None
        if picked is not None:
            picked.ended(self, status)
        passage, self.passage = self.passage, None
        if passage is not None:
            passage.ended(status, self)
        told, self.told = self.told, None
        observer = self.caller._calling.attempts
        if told is not None and observer is not None:
            told.status = status
            told.duration = (clock() - self.given) / 1e6
            try:
                observer.attempt_ended(told)
            except (Exception, asyncio.CancelledError):
                _log.exception("an attempt observer failed")

    def unpick(self) -> None:
        """Nothing came of what was picked."""
        picked, self.picked = self.picked, None
        if picked is not None:
            picked.ended(self, NOT_TAKEN)
