"""A client that sends any bytes to a server, for what no good client would send."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct

MAGIC = b"\xf5TK1"
CALL, DATA, RESULT, CREDIT, CANCEL, PING, GOAWAY = 2, 3, 4, 5, 6, 7, 8
END = ACK = 0x01
MSG, MORE, META = 0x02, 0x04, 0x08
PROTOBUF = 1


def preface(version: int = 1, window: int = 262_144, settings: bytes = b"") -> bytes:
    return MAGIC + struct.pack("<BBHII", version, version, 0, window, len(settings)) + settings


def frame(
    kind: int, body: bytes = b"", *, stream: int = 0, flags: int = 0, codec: int = 0, low: int = 0, word: int = 0,
    length: int | None = None,
) -> bytes:  # fmt: skip
    """One frame. `stream` is the whole second word; `length` what the header says of the body, if that is a lie."""
    size = len(body) if length is None else length
    return struct.pack("<IIII", kind << 24 | size, stream, codec << 24 | flags << 16 | low, word) + body


def stream(slot: int = 1, generation: int = 1) -> int:
    return generation << 20 | slot


def call(
    method: str, message: bytes = b"", *, slot: int = 1, generation: int = 1, flags: int = MSG | END,
    metadata: dict[str, str] | None = None, micros: int = 0,
) -> bytes:  # fmt: skip
    """A CALL with the method's name in it."""
    name = method.encode()
    body = block(metadata) if metadata else b""
    body += varint(len(name)) + name + message
    flags |= META if metadata else 0
    return frame(CALL, body, stream=stream(slot, generation), flags=flags, codec=PROTOBUF, word=micros)


def block(metadata: dict[str, str]) -> bytes:
    """A META block with literal keys (protocol.md 5)."""
    entries = b""
    for key, value in metadata.items():
        entries += bytes([0]) + varint(len(key)) + key.encode() + varint(len(value)) + value.encode()
    return varint(len(entries)) + entries


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | bytes) -> bytes:
    """A field of a Protobuf message."""
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)


class Raw:
    """A connection. `send` does not mind that the server has ended it; `frames` are what has been read of them."""

    def __init__(self, address: str, *, receive_buffer: int = 0) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.setblocking(False)
        self._where = (host, int(port))
        self._read = b""

    async def __aenter__(self) -> Raw:
        await asyncio.get_running_loop().sock_connect(self.socket, self._where)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.socket.close()

    def reset(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def half_close(self) -> None:
        self.socket.shutdown(socket.SHUT_WR)

    async def send(self, *data: bytes) -> None:
        with contextlib.suppress(ConnectionError):
            await asyncio.get_running_loop().sock_sendall(self.socket, b"".join(data))

    async def to_end(self, limit: float = 30.0) -> bytes:
        """All that comes until the server ends the connection. TimeoutError if it does not."""
        async with asyncio.timeout(limit):
            with contextlib.suppress(ConnectionError):
                while piece := await asyncio.get_running_loop().sock_recv(self.socket, 1 << 16):
                    self._read += piece
        return self._read

    async def frame(self, *kinds: int, limit: float = 30.0) -> tuple[int, int, int, int, bytes]:
        """The next frame of one of these types: its slot and generation, flags, low word, w3 and body."""
        async with asyncio.timeout(limit):
            while True:
                found = self._next()
                if found is None:
                    piece = await asyncio.get_running_loop().sock_recv(self.socket, 1 << 16)
                    if not piece:
                        raise EOFError
                    self._read += piece
                elif found[0] in kinds:
                    return found[1:]

    def _next(self) -> tuple[int, int, int, int, int, bytes] | None:
        if self._read.startswith(MAGIC):
            if len(self._read) < 16:
                return None
            (length,) = struct.unpack_from("<I", self._read, 12)
            if len(self._read) < 16 + length:
                return None
            self._read = self._read[16 + length :]
        if len(self._read) < 16:
            return None
        w0, w1, w2, w3 = struct.unpack_from("<IIII", self._read)
        size = w0 & 0xFFFFFF
        if len(self._read) < 16 + size:
            return None
        body, self._read = self._read[16 : 16 + size], self._read[16 + size :]
        return w0 >> 24, w1, w2 >> 16 & 0xFF, w2 & 0xFFFF, w3, body
