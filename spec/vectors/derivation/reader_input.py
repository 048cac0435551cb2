"""Bytes being read, and the two ways in which reading them can end badly."""

from __future__ import annotations


class Incomplete(Exception):
    """More bytes are needed."""


class Fault(Exception):
    """The bytes are wrong; the argument is the class of protocol.md 15."""


class Input:
    """Reads from known bytes; `error` is the class of whatever goes wrong."""

    def __init__(self, data: bytes, error: str) -> None:
        self.data = data
        self.at = 0
        self.error = error

    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, count: int) -> bytes:
        if count > self.left():
            raise Fault(self.error)
        self.at += count
        return self.data[self.at - count : self.at]

    def rest(self) -> bytes:
        return self.take(self.left())

    def varint(self) -> int:
        """Protocol.md 1.3."""
        value = 0
        for count in range(5):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << 7 * count
            if byte < 0x80:
                if value >= 2**32 or count > 0 and byte == 0:
                    raise Fault(self.error)
                return value
        raise Fault(self.error)
