"""What all connections of one client or server hold in memory for their peers (limits.md 2)."""

from __future__ import annotations

from collections.abc import Callable

from .fault import CallFault

FREE_SHARE = 64 << 10  # what a connection holds without counting it: small calls never touch what they share
DRAW_STEP = 64 << 10  # by how much a connection draws on the budget
LEAST_SHARE = 1 << 20  # what a connection may hold before it holds more than its share
MEMORY = 1 << 30


class Budget:
    """Bounds messages that are not whole or not consumed, answers that wait, and output that was not written. When it
    is full, the connection that holds most ends the call that it has held something of for longest."""

    __slots__ = ("holders", "limit", "used")

    def __init__(self, limit: int = MEMORY) -> None:
        self.limit = limit
        self.used = 0
        self.holders: dict[Share, None] = {}  # that have drawn something

    def greatest(self, asker: Share, more: int) -> Share:
        """The share that has taken most, with `more` bytes added to the asker's."""
        greatest, most = asker, asker.drawn + more
        for share in self.holders:
            if share is not asker and share.drawn > most:
                greatest, most = share, share.drawn
        return greatest


class Load:
    """What all sessions of one client or server share: running handlers and memory.

    Not thread-safe: sessions on several threads need one each, or a lock around their calls."""

    __slots__ = ("budget", "cut_off", "refused", "running", "running_limit")

    def __init__(self, running_limit: int = 16_384, memory: int = MEMORY) -> None:
        self.running = 0
        self.refused = 0  # calls, ever
        self.cut_off = 0
        self.running_limit = running_limit
        self.budget = Budget(memory)

    def count(self, refused: bool) -> None:
        """A call has ended REFUSED, or else CUT."""
        if refused:
            self.refused += 1
        else:
            self.cut_off += 1


class Share:
    """One connection's part of a Budget, and the bytes that its peer has promised: those are counted against a limit of
    the connection alone, and take no memory."""

    __slots__ = ("_relieve", "_unsent", "budget", "drawn", "held", "most_promised", "order", "promised")

    def __init__(
        self, budget: Budget, most_promised: int, unsent: Callable[[], int], relieve: Callable[[object], bool]
    ) -> None:
        """`unsent` gives the bytes of unwritten output. `relieve` ends the call that was held for longest, unless that
        is the given one, and returns whether it did."""
        self.budget = budget
        self.most_promised = most_promised
        self._unsent = unsent
        self._relieve = relieve
        self.promised = 0  # of messages being put together, with whole ones not consumed
        self.held = 0  # of messages and queued answers
        self.drawn = 0
        self.order = 0  # counts the calls that began to hold something

    def promise(self, size: int) -> None:
        """Raises CallFault `memory` when the connection has promised too much; nothing is counted then."""
        if self.promised + size > self.most_promised:
            raise CallFault("memory", f"messages of this connection would exceed {self.most_promised} bytes")
        self.promised += size

    def hold(self, size: int, holder: object) -> None:
        """Counts bytes that are held for a call. Raises CallFault `memory` when memory is full."""
        self.held += size
        if self.held - FREE_SHARE > self.drawn:
            try:
                self.draw(holder)
            except CallFault:
                self.held -= size
                raise

    def draw(self, holder: object = None) -> None:
        """Draws on the budget for what is held. Raises CallFault `memory`."""
        budget = self.budget
        while (lacking := self.held + self._unsent() - FREE_SHARE - self.drawn) > 0:
            step = -(-lacking // DRAW_STEP) * DRAW_STEP
            if budget.used + step <= budget.limit:
                budget.used += step
                self.drawn += step
                budget.holders[self] = None
                return
            if not budget.greatest(self, step)._relieve(holder):
                raise CallFault("memory", f"messages and answers held would exceed memory {budget.limit}")

    def let_go(self, size: int) -> None:
        """Bytes are no longer held."""
        self.held -= size
        if self.drawn:
            self.return_surplus()

    def return_surplus(self) -> None:
        needed = max(self.held + self._unsent() - FREE_SHARE, 0)
        surplus = (self.drawn - needed) // DRAW_STEP * DRAW_STEP
        if surplus > 0:
            self.drawn -= surplus
            self.budget.used -= surplus
            if not self.drawn:
                self.budget.holders.pop(self, None)

    def close(self) -> None:
        """The connection is gone, and its output with it."""
        self._unsent = _nothing
        self.return_surplus()

    @property
    def part(self) -> int:
        """What the connection may hold: an equal part of the budget for each connection that has drawn on it, and at
        least LEAST_SHARE."""
        return max(self.budget.limit // max(len(self.budget.holders), 1), LEAST_SHARE)

    @property
    def exceeded(self) -> bool:
        """Whether the connection holds more than its share."""
        return self.drawn >= LEAST_SHARE and self.drawn > self.budget.limit // max(len(self.budget.holders), 1)


def _nothing() -> int:
    return 0
