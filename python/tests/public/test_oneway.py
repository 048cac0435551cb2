"""One-way calls at the server, from a client that writes frames itself."""

from __future__ import annotations

import asyncio

from example.v1.user_pb2 import GetUserRequest, GetUserResponse
from trunkcall import PROTOBUF, ServerCall, unary
from trunkcall.wire import INITIAL_WINDOW, PREFACE_SIZE, Settings
from trunkcall.wire.frame import HEADER, MSG, ONEWAY, REFUSED
from trunkcall.wire.preface import preface_bytes

from .kit import PATIENCE, Case

TELL = unary("/test.Service/Tell", GetUserRequest, GetUserResponse)
CALL, END = 2, 1


class OneWay(Case):
    async def tell(self, address: str, codec: int, message: bytes) -> tuple[int, int]:
        """Sends one one-way call; the status and the flags of its RESULT."""
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            name = TELL.wire_name
            body = bytes([len(name)]) + name + message
            flags = MSG | END | ONEWAY
            writer.write(preface_bytes(Settings(), INITIAL_WINDOW))
            writer.write(HEADER.pack(CALL << 24 | len(body), 1 << 20 | 1, codec << 24 | flags << 16, 0) + body)
            async with asyncio.timeout(PATIENCE):
                preface = await reader.readexactly(PREFACE_SIZE)
                await reader.readexactly(int.from_bytes(preface[12:16], "little"))
                _, _, w2, _ = HEADER.unpack(await reader.readexactly(HEADER.size))
            return w2 & 0xFFFF, w2 >> 16 & 0xFF
        finally:
            writer.close()
            await writer.wait_closed()

    async def test_is_accepted_before_its_handler_has_said_anything(self) -> None:
        got: list[int] = []

        async def serve(request: GetUserRequest, call: ServerCall) -> GetUserResponse:
            got.append(request.user_id)
            raise RuntimeError("nobody hears it")

        _, address = await self.serve(TELL.handler(serve))
        with self.assertLogs("trunkcall", "ERROR"):
            self.assertEqual(await self.tell(address, PROTOBUF.number, b"\x08\x07"), (0, 0))
        self.assertEqual(got, [7])

    async def test_that_does_not_decode_is_logged(self) -> None:
        async def serve(request: GetUserRequest, call: ServerCall) -> GetUserResponse:
            raise AssertionError("not reached")

        _, address = await self.serve(TELL.handler(serve))
        for codec, why in ((PROTOBUF.number, "not a valid protobuf message"), (0, "are not raw")):
            with self.assertLogs("trunkcall", "WARNING") as logged:
                self.assertEqual(await self.tell(address, codec, b"\xff"), (0, 0))
            (line,) = [line for line in logged.output if "one-way" in line]
            self.assertIn("/test.Service/Tell", line)
            self.assertIn(why, line)

    async def test_in_a_codec_that_nobody_has_is_refused(self) -> None:
        async def serve(request: GetUserRequest, call: ServerCall) -> GetUserResponse:
            raise AssertionError("not reached")

        _, address = await self.serve(TELL.handler(serve))
        self.assertEqual(await self.tell(address, 3, b""), (12, REFUSED))
