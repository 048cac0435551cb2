"""A client's line to its target: the current connection, or the attempt to replace it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from .calling import let_in
from .connection import End
from .servercall import resolve
from .transport import Address, Connection, DialError, clock, dial

if TYPE_CHECKING:
    from .client import Client

FIRST_PAUSE = 0.1  # seconds; before the nth attempt up to twice as many as before the last (limits.md 3)
LAST_PAUSE = 10.0
STEADY = 5_000_000  # µs after which the end of a connection counts as no failure of the attempt that opened it


class ClientEnd(End):
    """A client's end of one connection."""

    def __init__(self, line: Line) -> None:
        client = line.client
        super().__init__(client._serving, client._calling, client._loop)
        self.line = line
        self.began = clock()
        self.greeted: asyncio.Future[None] = client._loop.create_future()
        self.address: Address | None = None  # that was dialled
        self.leaving = False  # it drains or is replaced: no failure when it ends

    def connected(self) -> None:
        self.line.client._live[self] = None

    def opened(self) -> None:
        resolve(self.greeted)
        super().opened()

    def slot_free(self) -> None:
        client, own = self.line.client, self.own_caller
        if own is not None and own._waiting:
            let_in(self.connection, (client, own))
        elif client._waiting:
            let_in(self.connection, (client,))

    def leave(self) -> None:
        super().leave()
        self.leaving = True
        self.line.retire(self.connection)

    def goes_away(self, reason: int, text: str) -> None:
        if reason:
            self.line.failed(f"cannot reach {self.connection.remote}: the peer ended the connection: {text}")
        self.line.client._logger.info("server %s goes away: %s (reason %d)", self.connection.remote, text, reason)
        self.leaving = True
        super().goes_away(reason, text)
        self.line.retire(self.connection)

    def overdue(self) -> None:
        self.leaving = True
        super().overdue()
        self.line.retire(self.connection)

    def failed(self, kind: str, text: str) -> None:
        super().failed(kind, text if kind != "preface" or not self.young else f"this is not a Trunkcall server: {text}")

    def disconnected(self, why: str) -> None:
        line, client = self.line, self.line.client
        remote = self.connection.remote
        if self.young and not self.connection.why:
            why = f"{why} before a greeting: it may not be a Trunkcall server"
        if client._closed or self.leaving:
            pass
        elif clock() - self.began >= STEADY:
            line.failures = 0
        else:
            line.failed(f"cannot reach {remote}: {why}" if self.young else f"the connection to {remote} ended: {why}")
            if self.young and self.address is not None:
                line.pass_over(self.address)
        client._logger.debug("disconnected from %s: %s", remote, why)
        del client._live[self]
        line.retire(self.connection)
        resolve(self.greeted)
        super().disconnected(why)


class Line:
    """One of a client's connections. Used on the client's loop only."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.connection: Connection | None = None  # that new calls may use
        self.failures = 0  # attempts in a row that failed
        self.last = ""  # why the last one did
        self._next_try = 0  # µs: not before then
        self._first = 0  # which address the next attempt begins with
        self._attempt: asyncio.Task[None] | None = None
        self._reopening: asyncio.Task[None] | None = None

    async def open(self) -> Connection | None:
        """The current connection, or a new one; None when it cannot be had now: `last` says why. After a failure that
        is so until the next attempt is due."""
        if self.connection is not None:
            return self.connection
        if self._attempt is None:
            if clock() < self._next_try:
                return None
            attempt = self.client._spawn(self._dial())
            self._attempt = None if attempt.done() else attempt  # an eager one may be
        else:
            attempt = self._attempt
        await asyncio.wait([attempt])
        if not attempt.cancelled():  # as it is when the client is closed: no reason to cancel those who wait
            attempt.result()
        return self.connection

    async def _dial(self) -> None:
        client = self.client
        try:
            made, address = await dial(client._loop, self._in_turn(), self._make, client._tls, client._server_hostname)
            end = cast(ClientEnd, made.end)
            end.address = address
            if not made.lost and made.session.accepts_calls:
                self._take(made)
            elif end.young or made.lost:
                self.pass_over(address)
        except DialError as error:
            self.failed(f"cannot reach {error}")
        finally:
            self._attempt = None

    def _in_turn(self) -> Sequence[Address]:
        addresses = self.client._addresses
        return (*addresses[self._first :], *addresses[: self._first])

    def pass_over(self, address: Address) -> None:
        """Has the next attempt begin behind an address that ended a connection without a greeting, and at once unless
        it was the last in the list."""
        addresses = self.client._addresses
        self._first = (addresses.index(address) + 1) % len(addresses)
        if self._first:
            self._next_try = 0

    def _take(self, made: Connection) -> None:
        self.connection = made
        self.client._logger.debug("connected to %s", made.remote)
        self.client._lines_changed()

    def _make(self) -> Connection:
        client = self.client
        methods = client._serving.methods
        return Connection(client._loop, ClientEnd(self), initiator=True, config=client._config, methods=methods)

    def failed(self, why: str) -> None:
        """Notes a failure and when the next attempt is due, at random within a time that doubles."""
        self.last = why
        self.failures += 1
        bound = min(FIRST_PAUSE * 2 ** min(self.failures - 1, 10), LAST_PAUSE)
        self._next_try = clock() + int(random.uniform(0, bound) * 1e6)
        self.client._logger.info("no connection: %s", self.last)

    @property
    def pause(self) -> float:
        """Seconds until the next attempt may be made."""
        return max((self._next_try - clock()) / 1e6, 0.001)

    def retire(self, connection: Connection) -> None:
        """Has later calls use another connection, which is opened in the background."""
        if self.connection is not connection:
            return
        self.connection = None
        self.client._lines_changed()
        self.client._try_again()
        self.reopen()

    def reopen(self) -> None:
        """Tries in the background until there is a connection again."""
        if self._reopening is None and not self.client._closed:
            task = self.client._spawn(self._reopen())
            self._reopening = None if task.done() else task

    async def _reopen(self) -> None:
        try:
            while not self.client._closed and await self.open() is None:  # noqa: ASYNC110
                await asyncio.sleep(self.pause)
        finally:
            self._reopening = None
