"""Takes messages out of bodies: each behind five bytes, or the whole body as one. Memory grows with what comes: a
length that is only said costs nothing."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterator

from trunkcall.wire import Code

from .refusal import Refusal

PREFIX = 5


class Deframer:
    """The messages of one request."""

    def __init__(
        self, framed: bool, most: int, length: int, hold: Callable[[int], None], promise: Callable[[int], None]
    ) -> None:
        """Messages of at most `most` bytes; `length` is that of a plain body, or -1. `hold` is told of bytes that are
        kept, `promise` of those that are announced; both raise Refusal. Raises Refusal."""
        self._framed = framed
        self._most = most
        self._hold = hold
        self._promise = promise
        self._buffer = bytearray()
        self._size = -1  # of the message that has begun
        self._flags = 0
        if not framed and length >= 0:
            if length > most:
                raise self._too_long(str(length))
            promise(length)

    def _too_long(self, size: str) -> Refusal:
        return Refusal(Code.RESOURCE_EXHAUSTED, f"message of {size} bytes exceeds max_message {self._most}")

    @property
    def under_way(self) -> bool:
        """Whether a message has begun and is not whole."""
        return self._size >= 0 or bool(self._buffer)

    def take(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """The messages, with their flags, that are whole with these bytes. Raises Refusal."""
        self._hold(len(data))
        buffer = self._buffer
        if not self._framed:
            if len(buffer) + len(data) > self._most:
                raise self._too_long(f"more than {self._most}")
            buffer += data
            return
        if not buffer and self._size < 0:  # often what comes is one message, or several
            at, end = 0, len(data)
            while end - at >= PREFIX:
                size = self._begin(data, at)
                if end - at - PREFIX < size:
                    self._size = size
                    at += PREFIX
                    break
                flags = self._flags
                message = data[at + PREFIX : at + PREFIX + size]
                at += PREFIX + size
                self._promise(0)
                yield flags, message
            buffer += data[at:]
            return
        buffer += data
        while True:
            if self._size < 0:
                if len(buffer) < PREFIX:
                    return
                self._size = self._begin(buffer, 0)
                del buffer[:PREFIX]
            if len(buffer) < self._size:
                return
            message = bytes(buffer[: self._size])
            del buffer[: self._size]
            self._size = -1
            self._promise(0)
            yield self._flags, message

    def _begin(self, data: bytes | bytearray, at: int) -> int:
        """The length of the message whose prefix stands at `at`."""
        size = int.from_bytes(data[at + 1 : at + PREFIX], "big")
        if size > self._most:
            raise self._too_long(str(size))
        self._flags = data[at]
        self._promise(size)
        return size

    def rest(self) -> bytes:
        """What a plain body has come to."""
        whole = bytes(self._buffer)
        self.drop()
        return whole

    def drop(self) -> None:
        """Forgets what has come of a message that is not whole."""
        self._buffer = bytearray()
        self._size = -1


class Base64Groups:
    """Decodes base64 that may be padded anywhere, as it is where pieces were encoded one by one."""

    def __init__(self) -> None:
        self._left = b""

    def take(self, data: bytes) -> bytes:
        """Decodes the groups that have come whole. Raises Refusal."""
        data = self._left + data
        end = len(data) // 4 * 4
        data, self._left = data[:end], data[end:]
        out = bytearray()
        at = 0
        try:
            while at < end:
                padded = data.find(b"=", at)
                stop = end if padded < 0 else padded // 4 * 4 + 4
                out += binascii.a2b_base64(data[at:stop], strict_mode=True)
                at = stop
        except ValueError:
            raise Refusal(Code.INVALID_ARGUMENT, "the body is not base64") from None
        return bytes(out)

    def end(self) -> None:
        """Raises Refusal if a group is cut off."""
        if self._left:
            raise Refusal(Code.INVALID_ARGUMENT, "the body ends within a group of base64")
