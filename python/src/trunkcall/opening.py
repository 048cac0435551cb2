"""How a call finds a connection and a slot."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .status import failure
from .transport import Connection, clock
from .wire import Code, Delivery, LimitError, Metadata, OutgoingCall

if TYPE_CHECKING:
    from .calling import Calls


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
    out: OutgoingCall
    connection: Connection

    def __init__(self, caller: Calls, deadline: int) -> None:
        self.caller = caller
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
        connection = None if caller._waiting or caller._closed else caller._pick()
        return connection is not None and self.ready(connection) and self._try(connection) is not None

    async def open(self, wait_for_ready: bool) -> None:
        """Opens the call. Raises StatusError: whatever goes wrong here was not sent. The end of its time, or of its
        task, may fall into the turn of the loop in which it was opened: then it was, and ends as open calls do."""
        self.opened = False
        left = (self.deadline - clock()) / 1e6 if self.deadline else None
        try:
            async with asyncio.timeout(left):
                await self._open(wait_for_ready)
        except asyncio.CancelledError:
            if self.opened:
                self.connection.give_up(self.out)
            raise
        except TimeoutError:
            if self.opened:
                return
            why = self.caller._trouble
            text = f"the deadline passed before the call was sent{why and f': {why}'}"
            raise failure(Code.DEADLINE_EXCEEDED, text, Delivery.NOT_SENT) from None

    async def _open(self, wait_for_ready: bool) -> None:
        caller = self.caller
        while True:
            connection = await caller._connected(wait_for_ready)
            if not self.ready(connection):
                await self.prepare(connection)
                continue
            if not caller._waiting and self._try(connection) is not None:
                return
            if not connection.session.accepts_calls:
                caller._retire(connection)
                continue
            try:
                if await caller._slot(self._open_on) is not None:
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
        return opened
