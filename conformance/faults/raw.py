"""Ends of connections that send any bytes, for what no good client would send, and no good server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct

from harness.proxy import where

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
    body = block(metadata) if metadata else b""
    body += text(method) + message
    flags |= META if metadata else 0
    return frame(CALL, body, stream=stream(slot, generation), flags=flags, codec=PROTOBUF, word=micros)


def block(metadata: dict[str, str]) -> bytes:
    """A META block with literal keys (protocol.md 5)."""
    entries = b""
    for key, value in metadata.items():
        entries += bytes([0]) + text(key) + text(value)
    return varint(len(entries)) + entries


def text(value: str) -> bytes:
    """Its length, and it."""
    return varint(len(value.encode())) + value.encode()


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


class End:
    """One end of a connection, within TLS if there is a context. `send` does not mind that the other side has ended it;
    `frame` reads what the other side sent."""

    def __init__(self, end: socket.socket, tls: ssl.SSLContext | None = None, *, serves: bool = False) -> None:
        self.socket = end
        self.socket.setblocking(False)
        self._read = b""
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        name = None if serves else "127.0.0.1"
        self._tls = tls.wrap_bio(self._in, self._out, server_side=serves, server_hostname=name) if tls else None

    async def handshake(self) -> None:
        """That of TLS, if it is within TLS. Raises ssl.SSLError, and EOFError if the other side ends it."""
        done = not self._tls
        while self._tls and not done:
            try:
                self._tls.do_handshake()
                done = True
            except ssl.SSLWantReadError:
                pass
            finally:  # what is wrong is said, too
                await self.send_bare(self._out.read())
            if not done:
                await self._take()

    def half_close(self) -> None:
        """Says that no more comes, as the transport says it: within TLS by close_notify."""
        if not self._tls:
            self.end_of_stream()
            return
        with contextlib.suppress(ssl.SSLWantReadError):
            self._tls.unwrap()
        with contextlib.suppress(OSError):
            self.socket.send(self._out.read())

    def end_of_stream(self) -> None:
        """Ends this direction of the socket, within TLS without close_notify."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def sealed(self, *data: bytes) -> bytes:
        """What goes over the socket for these bytes: within TLS their records. It has to be sent, or to be the last."""
        left = memoryview(b"".join(data))
        if not self._tls:
            return bytes(left)
        while left:
            left = left[self._tls.write(left) :]
        return self._out.read()

    async def send(self, *data: bytes) -> None:
        with contextlib.suppress(ConnectionError):
            await self.write(*data)

    async def write(self, *data: bytes) -> None:
        """The same, but raises ConnectionError. Others have their turn, however fast the other side reads."""
        await asyncio.get_running_loop().sock_sendall(self.socket, self.sealed(*data))
        await asyncio.sleep(0)

    async def send_bare(self, data: bytes) -> None:
        """Sends bytes past TLS."""
        with contextlib.suppress(ConnectionError):
            await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def to_end(self, limit: float = 30.0) -> bytes:
        """All that comes until the other side ends the connection. TimeoutError if it does not."""
        async with asyncio.timeout(limit):
            with contextlib.suppress(ConnectionError, EOFError, ssl.SSLError):
                while piece := await self._receive():
                    self._read += piece
        return self._read

    async def frames_to_end(self) -> list[int]:
        """The types of the frames among it, behind a preface. An answer of HTTP has none."""
        await self.to_end()
        kinds = []
        while found := self._next():
            kinds.append(found[0])
        return kinds

    async def _receive(self) -> bytes:
        """What comes next; nothing when the other side has ended its direction in order."""
        if not self._tls:
            return await asyncio.get_running_loop().sock_recv(self.socket, 1 << 16)
        while True:
            try:
                return self._tls.read(1 << 16)
            except ssl.SSLWantReadError:
                await self._take()

    async def _take(self) -> None:
        """Takes in what TLS waits for."""
        piece = await asyncio.get_running_loop().sock_recv(self.socket, 1 << 16)
        if not piece:
            raise EOFError("the connection ended without close_notify")
        self._in.write(piece)

    async def frame(self, *kinds: int, limit: float = 30.0) -> tuple[int, int, int, int, bytes]:
        """The next frame of one of these types: its slot and generation, flags, low word, w3 and body."""
        async with asyncio.timeout(limit):
            while True:
                found = self._next()
                if found is None:
                    piece = await self._receive()
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


class Raw(End):
    """A connection to a server."""

    def __init__(self, address: str, tls: ssl.SSLContext | None = None, *, receive_buffer: int = 0) -> None:
        family, self._where = where(address)
        end = socket.socket(family)
        if receive_buffer:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        super().__init__(end, tls)

    async def __aenter__(self) -> Raw:
        try:
            await asyncio.get_running_loop().sock_connect(self.socket, self._where)
            await self.handshake()
        except BaseException:
            self.socket.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self.socket.close()
