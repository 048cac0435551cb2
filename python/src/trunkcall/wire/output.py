"""What is to be written: one buffer, handed over whole, and how much of it has been written."""

from __future__ import annotations

from collections import deque

OWED_LIMIT = 1_024  # answers owed without a slot, unsent (protocol.md 9.6)
ORDINARY_LIMIT = 1 << 20  # unsent bytes at which senders of streams wait (limits.md 2)
PIECES_LIMIT = 128 << 10  # unsent bytes while pieces enter, other calls being open (protocol.md 9.7)
ONE_CALL_LIMIT = (1 << 20) + PIECES_LIMIT  # the same while no other call is open: a mebibyte leaves with one write


class Output:
    """`buffer` holds what was appended and not yet taken; `taken` and `written` count bytes since the beginning.

    `exact` says that the transport tells by `wrote` exactly which bytes have left; otherwise what was taken counts as
    passed on (protocol.md 14)."""

    __slots__ = ("_owed", "buffer", "exact", "owed_now", "owed_taken", "taken", "written")

    def __init__(self, exact: bool) -> None:
        self.buffer = bytearray()
        self.exact = exact
        self.taken = 0
        self.written = 0
        self.owed_now = 0
        self.owed_taken = 0
        self._owed: deque[tuple[int, int]] = deque()

    @property
    def position(self) -> int:
        """The offset, since the beginning, of the next byte to be appended."""
        return self.taken + len(self.buffer)

    @property
    def unsent(self) -> int:
        """Bytes appended that the transport has not written yet."""
        return self.taken - self.written + len(self.buffer)

    @property
    def passed(self) -> int:
        """How many bytes were passed on for certain or perhaps: a CALL behind them is `not_sent`."""
        return self.written if self.exact else self.taken

    def owe(self, answer: bytes) -> bool:
        """Appends an answer without a slot; False when too many of them are unsent."""
        if self.owed_now + self.owed_taken >= OWED_LIMIT:
            return False
        self.owed_now += 1
        self.buffer += answer
        return True

    def take(self) -> bytearray:
        """All that was appended; it now belongs to the one who takes it."""
        buffer = self.buffer
        self.buffer = bytearray()
        self.taken += len(buffer)
        if self.owed_now:
            self._owed.append((self.taken, self.owed_now))
            self.owed_taken += self.owed_now
            self.owed_now = 0
        return buffer

    def wrote(self, size: int) -> None:
        """`size` more of the bytes taken have left."""
        self.written += size
        while self._owed and self._owed[0][0] <= self.written:
            self.owed_taken -= self._owed.popleft()[1]

    def drop(self) -> None:
        """Forgets what was appended and not taken: the connection is gone."""
        self.buffer.clear()
        self.owed_now = 0
