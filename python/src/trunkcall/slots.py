"""Calls that wait for a free slot, in the order in which they came."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from .transport import Connection
from .wire import OutgoingCall

if TYPE_CHECKING:
    from .calling import Calling

# Opens a call on a connection; None if there is no slot.
Opener = Callable[[Connection], OutgoingCall | None]


class Slots:
    """Calls that wait for a slot of one endpoint, or of one connection. The Calling, which all queues of a client
    share, counts them and bounds their number."""

    def __init__(self, calling: Calling) -> None:
        self.waiting: dict[asyncio.Future[OutgoingCall | None], tuple[int, Opener]] = {}
        self._calling = calling

    async def wait(self, opener: Opener) -> OutgoingCall | None:
        """Waits in turn until `opener` finds a slot; None when the connections have changed. Raises StatusError when
        too many wait."""
        calling = self._calling
        with calling.queued():
            future: asyncio.Future[OutgoingCall | None] = asyncio.get_running_loop().create_future()
            calling.ever_waited += 1
            self.waiting[future] = (calling.ever_waited, opener)
            try:
                return await future
            finally:
                self.waiting.pop(future, None)
                if not future.cancelled():
                    future.exception()  # seen, should the task be cancelled in this turn

    def try_again(self) -> None:
        """The connections have changed: those who wait look anew."""
        while self.waiting:
            future = next(iter(self.waiting))
            del self.waiting[future]
            if not future.done():
                future.set_result(None)

    @property
    def first(self) -> int:
        """The number of the one who has waited longest."""
        number, _ = next(iter(self.waiting.values()))
        return number

    def let_in(self, connection: Connection) -> bool:
        """Gives a slot to the one who has waited longest. False: there is none."""
        future, (_, opener) = next(iter(self.waiting.items()))
        if not future.done():
            opened, fault = None, None
            try:
                opened = opener(connection)
                if opened is None:
                    return False
                connection.schedule()
            except Exception as error:
                fault = error
            if future.done():  # what the user's code has done that was told of it
                return True
            if fault is not None:
                future.set_exception(fault)
            else:
                future.set_result(opened)
        self.waiting.pop(future, None)
        return True


def let_in(connection: Connection, queues: Iterable[Slots]) -> None:
    """Slots are free on a connection: they go to those who wait for one there, in the order in which they came."""
    while waiting := [queue for queue in queues if queue.waiting]:
        if not min(waiting, key=lambda queue: queue.first).let_in(connection):
            return
