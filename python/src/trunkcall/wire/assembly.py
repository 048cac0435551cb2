"""Where messages that come in pieces are put together, in memory that later ones use again (decision 0015)."""

from __future__ import annotations

KEPT = 4 << 20  # bytes of one spare at most
SPARES = 2  # of a process

_spares: list[bytearray] = []  # taken and put back whole, so by any thread


class Assembly:
    """A message in progress. Its memory grows with what has come of it, never with what was announced."""

    __slots__ = ("_memory", "_room", "_size", "_view")

    def __init__(self) -> None:
        try:
            self._memory = _spares.pop()
        except IndexError:
            self._memory = bytearray()
        self._view = memoryview(self._memory)
        self._room = len(self._memory)
        self._size = 0

    def add(self, piece: bytes | memoryview) -> None:
        """Adds a piece, which is copied."""
        size = self._size
        end = self._size = size + len(piece)
        if end <= self._room:
            self._view[size:end] = piece
            return
        self._view.release()
        del self._memory[size:]
        self._memory += piece
        self._view = memoryview(self._memory)
        self._room = end

    def finish(self) -> bytearray:
        """The message, for `give_back`, or for good. Nothing may be added behind it."""
        self._view.release()
        del self._memory[self._size :]
        return self._memory


def give_back(message: bytearray) -> None:
    """Leaves a message's memory to later ones: nothing may refer to it any more."""
    if len(_spares) < SPARES and len(message) <= KEPT:
        _spares.append(message)


def kept(message: bytes | bytearray) -> bytes:
    """A message that its owner may keep, in place of one for `give_back`."""
    if not isinstance(message, bytearray):
        return message
    whole = bytes(message)
    give_back(message)
    return whole
