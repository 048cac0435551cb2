"""The end of what is sent, where the peer is no longer there."""

from __future__ import annotations

import asyncio
import socket
import struct
import unittest

from tests.public.kit import PATIENCE
from trunkcall.transport.halfclose import half_close


class Ended(asyncio.Protocol):
    def __init__(self) -> None:
        self.lost = asyncio.get_running_loop().create_future()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set_result(None)


class HalfClosing(unittest.IsolatedAsyncioTestCase):
    async def test_a_connection_that_its_peer_has_reset_meanwhile_ends(self) -> None:
        loop = asyncio.get_running_loop()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            transport, protocol = await loop.create_connection(Ended, *listener.getsockname())
            peer, _ = listener.accept()
        transport.pause_reading()  # so that the loop does not learn of it first
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()
        with self.assertRaises(OSError):
            transport.get_extra_info("socket").shutdown(socket.SHUT_WR)
        half_close(transport)
        await asyncio.wait_for(protocol.lost, PATIENCE)


if __name__ == "__main__":
    unittest.main()
