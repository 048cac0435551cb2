"""Faults of group wire: raw bytes at a live server, beside callers who must not notice."""

from __future__ import annotations

import asyncio
import contextlib
import random
import struct
from collections.abc import Callable

from .faults import raw
from .faults.kit import SERVERS, FaultTest, each, in_full, size
from .faults.process import FAULTS, Server

BEHAVE = "/" + FAULTS + "Behave"
TAKE = "/" + FAULTS + "Take"

# What is sent behind a faultless preface, and ends the connection with GOAWAY and a word of its class (protocol.md 15).
BREACHES: dict[str, tuple[bytes, str]] = {
    "a length that lies": (raw.frame(raw.CALL, b"x", stream=raw.stream(), length=0xFFFFFF), "max_frame_body"),
    "a type that is not defined": (raw.frame(9), "type"),
    "a flag that is not defined": (raw.frame(raw.PING, flags=0x80), "flag"),
    "a reserved field": (raw.frame(raw.PING, low=7), "reserved"),
    "a stream without a slot": (raw.frame(raw.CALL, b"\1x", stream=1 << 20), "slot"),
    "credit of 0": (raw.call(TAKE, flags=0) + raw.frame(raw.CREDIT, stream=raw.stream()), "CREDIT"),
    "credit past its end": (
        raw.call(TAKE, flags=0) + 2 * raw.frame(raw.CREDIT, stream=raw.stream(), word=0x7FFFFFFF),
        "window",
    ),
    "credit overspent": (
        raw.call(TAKE, raw.field(2, 60_000), flags=raw.MSG)
        + 5 * raw.frame(raw.DATA, bytes(65_000), stream=raw.stream(), flags=raw.MSG, codec=raw.PROTOBUF),
        "window",
    ),
    "a stream id used again": (2 * raw.call(BEHAVE, raw.field(2, 60_000)), "slot"),
    "an answer to a call nobody made": (raw.frame(raw.RESULT, stream=raw.stream() | 1 << 31), ""),
    "a piece that is too small": (
        raw.call(TAKE, raw.varint(100_000) + bytes(10), flags=raw.MSG | raw.MORE),
        "piece",
    ),
}  # fmt: skip

# What fails one call, and not the connection: the code of its RESULT.
BAD_CALLS: dict[str, tuple[bytes, int]] = {
    "a method that nobody serves": (raw.call("/nobody/Knows"), 12),
    "a bad metadata entry": (raw.call(BEHAVE, metadata={"Upper": "x"}), 3),
    "an inline name that lies": (raw.frame(raw.CALL, b"\x7fx", stream=raw.stream(), codec=1, flags=3), 3),
    "a codec that is not there": (raw.frame(raw.CALL, b"\1x", stream=raw.stream(), codec=7, flags=3), 12),
    "a total above the limit": (
        raw.frame(raw.CALL, (raw.varint(len(TAKE)) + TAKE.encode() + raw.varint((64 << 20) + 1)).ljust(65_536, b"x"),
                  stream=raw.stream(), codec=1, flags=raw.MSG | raw.MORE), 8),
    "a request that does not decode": (raw.call(BEHAVE, b"\xff\xff\xff"), 3),
    "10,000 levels of nesting": (raw.call(BEHAVE, b"\x0b" * 10_000), 3),
    "a length in a message that lies": (raw.call(BEHAVE, b"\x7a\xff\xff\xff\xff\x07x"), 3),
    "metadata above the limit": (raw.call(BEHAVE, metadata={f"k{i}": "x" * 250 for i in range(100)}), 8),
}  # fmt: skip


@each(*SERVERS)
class Wire(FaultTest):
    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.server = await self.serve()

    async def test_what_breaks_the_protocol_ends_its_connection_and_says_why(self) -> None:
        async with self.unharmed(self.server):
            for name, (data, words) in BREACHES.items():
                for _ in range(size(3, 20)):
                    with self.subTest(name):
                        async with raw.Raw(self.server.address) as client:
                            await client.send(raw.preface(), data)
                            _, _, _, reason, text = await client.frame(raw.GOAWAY)
                            self.assertEqual(reason, 1)
                            self.assertIn(words, text.decode())
                            await client.to_end()

    async def test_what_is_no_preface_is_closed_without_a_word(self) -> None:
        openings = (b"\x00", b"GET / HTTP/1.0\r\n\r\n", b"\xf5TK2", raw.preface(version=0), raw.preface(window=1),
                    raw.preface()[:12] + struct.pack("<I", 1 << 30))  # fmt: skip
        async with self.unharmed(self.server):
            for opening in openings:
                for _ in range(size(3, 20)):
                    async with raw.Raw(self.server.address) as client:
                        await client.send(opening)
                        with self.subTest(opening):
                            self.assertNotIn(bytes([raw.GOAWAY]), (await client.to_end())[3:4])

    async def test_a_bad_call_fails_alone(self) -> None:
        async with self.unharmed(self.server):
            for name, (data, code) in BAD_CALLS.items():
                with self.subTest(name):
                    async with raw.Raw(self.server.address) as client:
                        await client.send(raw.preface(), data, raw.call(BEHAVE, slot=2))
                        got = {}
                        for _ in range(2):
                            word, _, status, _, _ = await client.frame(raw.RESULT)
                            got[word & 0xFFFFF] = status
                        self.assertEqual(got, {1: code, 2: 0})

    async def test_input_cut_off_at_every_offset_is_a_clean_end(self) -> None:
        whole = raw.preface() + raw.call(BEHAVE, raw.field(2, 1), metadata={"k": "v"}) + raw.frame(raw.PING)
        async with self.unharmed(self.server):
            for ending in (raw.Raw.half_close, raw.Raw.reset):
                await self.at_every_offset(whole, ending)

    async def at_every_offset(self, whole: bytes, ending: Callable[[raw.Raw], None]) -> None:
        async def cut(offset: int) -> None:
            async with raw.Raw(self.server.address) as client:
                await client.send(whole[:offset])
                ending(client)
                if ending is raw.Raw.half_close:
                    await client.to_end()

        for first in range(0, len(whole), 20):
            await asyncio.gather(*(cut(offset) for offset in range(first, min(first + 20, len(whole)))))

    async def test_noise_harms_nobody(self) -> None:
        """Good frames with a few bytes changed, and nothing but noise, from a fixed seed."""
        draw = random.Random(1)
        whole = (
            raw.call(BEHAVE, raw.field(2, 1), metadata={"k": "v"})
            + raw.frame(raw.PING)
            + raw.call(TAKE, slot=2, flags=0)
        )
        async with self.unharmed(self.server):
            for number in range(size(150, 3_000)):
                data = bytearray(whole if number % 4 else draw.randbytes(200))
                for _ in range(draw.randint(1, 4)):
                    data[draw.randrange(len(data))] = draw.randrange(256)
                async with raw.Raw(self.server.address) as client:
                    await client.send(raw.preface(), bytes(data))
                    if number % 10 == 0:
                        client.half_close()
                        with contextlib.suppress(TimeoutError):
                            await client.to_end(5)

    async def test_floods_are_bounded(self) -> None:
        """PINGs and calls above the limit whose answers nobody reads: the connection ends, and memory stays."""
        floods = (raw.frame(raw.PING), raw.call(BEHAVE, slot=0xFFFFF), raw.call("/nobody/Knows", slot=2000))
        async with self.unharmed(self.server):
            before = self.server.held().resident
            for flood in floods:
                async with raw.Raw(self.server.address, receive_buffer=4096) as client:
                    await client.send(raw.preface())
                    flooding = asyncio.create_task(pour(client, flood * 1000))
                    # Either the server ends it, or what comes is so little that it stands at the socket.
                    await asyncio.wait([flooding], timeout=size(2, 10))
                    flooding.cancel()
                    await asyncio.gather(flooding, return_exceptions=True)
            self.assertLess(self.server.held().resident - before, 64 << 20)

    async def test_totals_that_lie_cost_nothing(self) -> None:
        """Calls that announce 60 MiB each and send one piece: counted, not allocated."""
        name = raw.varint(len(TAKE)) + TAKE.encode()
        body = name + raw.varint(60 << 20) + bytes(65_536)
        async with self.unharmed(self.server), contextlib.AsyncExitStack() as stack:
            before = self.server.held().resident
            for _ in range(20):
                client = await stack.enter_async_context(raw.Raw(self.server.address))
                first = raw.frame(raw.CALL, body[:65_536], stream=raw.stream(), codec=1, flags=raw.MSG | raw.MORE)
                await client.send(raw.preface(), first, raw.frame(raw.PING))
                await client.frame(raw.PING)  # it has been read
            self.assertLess(self.server.held().resident - before, 32 << 20)

    @in_full
    async def test_one_byte_then_silence_is_closed_in_time(self) -> None:
        async with self.unharmed(self.server):
            await asyncio.gather(*(silent(self.server, data) for data in (b"\xf5", b"", raw.preface()[:15], b"P")))


async def pour(client: raw.Raw, data: bytes) -> None:
    """Sends without reading until the server ends the connection."""
    loop = asyncio.get_running_loop()
    with contextlib.suppress(OSError):
        while True:
            await loop.sock_sendall(client.socket, data)


async def silent(server: Server, data: bytes) -> None:
    async with raw.Raw(server.address) as client:
        await client.send(data)
        await client.to_end(20)
