"""Connections within a process: mem:NAME (client.md 6.2), without TLS. On one event loop there is no socket between the
ends; where the other end is on the loop of another thread, a pair of sockets joins them."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .connection import Connection

if TYPE_CHECKING:
    from .listener import Listener

_listening: dict[str, Listener] = {}  # by name, of all loops of the process


def listen(name: str, listener: Listener) -> None:
    """Raises OSError for a name that is in use."""
    other = _listening.get(name)
    if other is not None and not other.loop.is_closed():
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE), f"mem:{name}")
    _listening[name] = listener


def stop_listening(name: str, listener: Listener) -> None:
    if _listening.get(name) is listener:
        del _listening[name]


async def connect(loop: asyncio.AbstractEventLoop, name: str, make: Callable[[], Connection]) -> Connection:
    """Raises OSError."""
    listener = _listening.get(name)
    if listener is None or listener.loop.is_closed():
        raise ConnectionRefusedError(f"nobody listens on mem:{name} in this process")
    if listener.loop is not loop:
        return await _join(loop, listener, name, make)
    near, far = MemoryTransport(loop, name), MemoryTransport(loop, name)
    near.peer, far.peer = far, near
    made = make()
    for transport, protocol in ((far, listener.opened()), (near, made)):
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
    return made


async def _join(
    loop: asyncio.AbstractEventLoop, listener: Listener, name: str, make: Callable[[], Connection]
) -> Connection:
    """Connects to a listener on the loop of another thread."""
    if not listener.loop.is_running():
        raise ConnectionError(f"mem:{name} is listened on in another event loop, which does not run")
    near, far = socket.socketpair()
    try:
        near.setblocking(False)
        far.setblocking(False)
        accepting = asyncio.run_coroutine_threadsafe(_accept(listener, far), listener.loop)
    except BaseException:
        near.close()
        far.close()
        raise
    try:
        await asyncio.wrap_future(accepting, loop=loop)
        _, made = await loop.create_connection(make, sock=near)
    except BaseException:
        near.close()
        raise
    made.remote = made.session.remote = made.local = f"mem:{name}"
    return made


async def _accept(listener: Listener, far: socket.socket) -> None:
    try:
        await listener.loop.connect_accepted_socket(listener.opened, far)
    except BaseException:
        far.close()
        raise


class MemoryTransport(asyncio.Transport):
    """One end. What is written reaches the other one in a later turn of the loop."""

    peer: MemoryTransport
    _protocol: Any

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str) -> None:
        super().__init__({"peername": f"mem:{name}", "sockname": f"mem:{name}"})
        self._loop = loop
        self._unread: list[bytes] = []  # that the other end has not taken
        self._size = 0
        self._high, self._low = 64 << 10, 16 << 10
        self._full = False
        self._reading = True
        self._scheduled = False
        self._eof = False  # nothing more is written
        self._eof_passed = False
        self._closing = False
        self._lost = False

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol  # type: ignore[no-any-return]

    # Writing.

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._eof:
            raise RuntimeError("Cannot call write() after write_eof()")
        if self._closing or not data:
            return
        self._unread.append(bytes(data))
        self._size += len(data)
        self._schedule()
        if self._size > self._high and not self._full:
            self._full = True
            self._protocol.pause_writing()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self._eof = True
        self._schedule()

    def get_write_buffer_size(self) -> int:
        return self._size

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """As asyncio's: of one that is not given, the other makes four times, or a quarter. Raises ValueError."""
        if high is None:
            high = 64 << 10 if low is None else 4 * low
        if low is None:
            low = high // 4
        if not high >= low >= 0:
            raise ValueError(f"high ({high!r}) must be >= low ({low!r}) must be >= 0")
        self._high, self._low = high, low

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low, self._high

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._pass_on)

    def _pass_on(self) -> None:
        """Gives the other end what was written, and ends behind it if that was asked for."""
        self._scheduled = False
        if self._lost:
            return
        peer = self.peer
        if self._unread and peer._lost:
            self._end(ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET)))
            return
        if not peer._reading and not peer._closing:
            return  # until it reads on
        data = b"".join(self._unread)
        self._unread.clear()
        self._size = 0
        if data and not peer._closing:
            try:
                peer._protocol.data_received(data)
            except Exception as error:
                peer._broken(error)
                return
        if self._full and self._size <= self._low and not self._lost:
            self._full = False
            self._protocol.resume_writing()
        if self._unread:
            return  # it was scheduled again
        if (self._eof or self._closing) and not self._eof_passed:
            self._eof_passed = True
            peer._ended()
        if self._closing:
            self._end(None)

    # Reading.

    def is_reading(self) -> bool:
        return self._reading and not self._closing

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self.peer._schedule()

    def _ended(self) -> None:
        """The other end writes no more."""
        if self._closing:
            return
        try:
            stays = self._protocol.eof_received()
        except Exception as error:
            self._broken(error)
            return
        if not stays:
            self.close()

    def _broken(self, error: Exception) -> None:
        """The protocol has raised an exception: as with asyncio's sockets, the connection ends."""
        message = "Fatal error: protocol of a connection in memory raised an exception"
        self._loop.call_exception_handler(
            {"message": message, "exception": error, "transport": self, "protocol": self._protocol}
        )
        self._end(error)

    # The end.

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._schedule()
            self.peer._schedule()  # which may have waited for this one to read

    def abort(self) -> None:
        self._unread.clear()
        self._size = 0
        self._closing = True
        self._loop.call_soon(self._end, None)

    def _end(self, error: Exception | None) -> None:
        if self._lost:
            return
        self._lost = self._closing = True
        self._protocol.connection_lost(error)
        self.peer._schedule()  # what it has written is lost
        if not self._eof_passed and not self.peer._lost:
            self._eof_passed = True
            self.peer._ended()
