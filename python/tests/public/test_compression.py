"""Compression: what is sent compressed and when, what is taken, and what is not."""

from __future__ import annotations

import asyncio
import os
import tracemalloc
import unittest
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from unittest import mock

from trunkcall import (
    GZIP,
    RAW,
    ZSTD,
    Caller,
    Client,
    Code,
    Compression,
    Delivery,
    Limits,
    ServerCall,
    StatusError,
    TooLong,
    compression,
    one_way,
    server_stream,
)
from trunkcall.compression import LONGEST_REST, Economy

from .kit import ECHO, JOIN, TWICE, Case, all_of, black_hole, echo, eventually

AGAIN = server_stream("/test.Service/Again", bytes, bytes)
POST = one_way("/test.Service/Post", bytes)
MIB = 1 << 20


class Zstd(unittest.TestCase):
    """What is taken of zstd."""

    def test_a_message_comes_back(self) -> None:
        for message in (b"", b"a", bytes(MIB), os.urandom(MIB)):
            self.assertEqual(ZSTD.decompress(ZSTD.compress(message), len(message)), message)

    def test_more_than_the_limit_is_not_made(self) -> None:
        packed = ZSTD.compress(bytes(64 * MIB))
        tracemalloc.start()
        try:
            self.assertRaises(TooLong, ZSTD.decompress, packed, MIB)
            self.assertLess(tracemalloc.get_traced_memory()[1], 16 * MIB)
        finally:
            tracemalloc.stop()

    def test_what_is_damaged_cut_short_or_followed_is_refused(self) -> None:
        packed = ZSTD.compress(b"abc" * 1_000)
        for data in (b"", b"x", packed[:-1], packed + b"x", packed + packed, packed[:5] + b"\xff" + packed[6:]):
            self.assertRaises(ValueError, ZSTD.decompress, data, MIB)

    def test_a_window_beyond_8_mib_is_refused(self) -> None:
        # A frame of a raw block of one byte, whose window is 2^(10 + exponent) bytes (RFC 8878, 3.1.1.1).
        for exponent, taken in ((13, True), (14, False), (17, False)):
            frame = b"\x28\xb5\x2f\xfd\x00" + bytes([exponent << 3]) + b"\x09\x00\x00a"
            if taken:
                self.assertEqual(ZSTD.decompress(frame, 10), b"a")
            else:
                self.assertRaises(ValueError, ZSTD.decompress, frame, 10)

    def test_without_its_library_it_is_refused_with_advice(self) -> None:
        with (
            mock.patch.object(compression, "_zstd", []),
            mock.patch.object(compression, "_zstd_names", lambda: []),
            self.assertRaisesRegex(ImportError, r"which trunkcall\[zstd\] brings"),
        ):
            Client("127.0.0.1:1", compression=ZSTD)


class Spy:
    """gzip that counts, also by the number of the other compression."""

    def __init__(self, number: int = 1) -> None:
        self.name = f"spy {number}"
        self.number = number
        self.packed = self.unpacked = 0

    def compress(self, message: bytes) -> bytes:
        self.packed += 1
        return GZIP.compress(message)

    def decompress(self, data: bytes, limit: int) -> bytes:
        message = GZIP.decompress(data, limit)
        self.unpacked += 1
        return message


class Fixed(Spy):
    """Makes always the same of a message."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.data = data

    def compress(self, message: bytes) -> bytes:
        return self.data


class Broken(Spy):
    def compress(self, message: bytes) -> bytes:
        raise OSError("out of order")


def wordy(size: int) -> bytes:
    return (b"a long-distance call " * (size // 21 + 1))[:size]


async def again(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
    for _ in range(3):
        yield request


async def same(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
    async for request in requests:
        yield request


async def join(requests: AsyncIterator[bytes], call: ServerCall) -> bytes:
    return b"".join([request async for request in requests])


SERVED = (ECHO.handler(echo), AGAIN.handler(again), JOIN.handler(join), TWICE.handler(same))


class Compressing(Case):
    async def exchange(
        self, caller: Caller, message: bytes, compression: Sequence[Compression] | None = None
    ) -> tuple[int, int]:
        """A call of each kind; how many messages went each way."""
        self.assertEqual(await caller.call(ECHO, message, compression=compression), message)
        self.assertEqual(await all_of(caller.open(AGAIN, message, compression=compression)), [message] * 3)
        joining = caller.open(JOIN, compression=compression)
        await joining.send(message)
        self.assertEqual(await joining.response(), message)
        async with caller.open(TWICE, compression=compression) as both:
            for _ in range(2):
                await both.send(message)
                self.assertEqual(await both.receive(), message)
        return 5, 7

    def wants(self, spy: Spy, packed: int, unpacked: int) -> None:
        self.assertEqual((spy.packed, spy.unpacked), (packed, unpacked))

    async def joined(self, server: Mapping[str, Any], client: Mapping[str, Any]) -> Client:
        """A client that knows what its server accepts."""
        _, address = await self.serve(*SERVED, **server)
        made = self.client(address, **client)
        await made.connect()
        return made


class Both(Compressing):
    async def test_messages_of_all_kinds_are_compressed_both_ways(self) -> None:
        for size in (1 << 10, 60_000, 3 * MIB):
            ours, theirs = Spy(), Spy()
            client = await self.joined({"decompression": theirs}, {"compression": ours, "decompression": ours})
            sent, answered = await self.exchange(client, wordy(size))
            self.wants(ours, sent, answered)
            self.wants(theirs, answered, sent)

    async def test_one_call_may_be_compressed_and_one_may_not(self) -> None:
        ours = Spy()
        client = await self.joined({}, {"decompression": ours})
        await self.exchange(client, wordy(10_000))
        self.wants(ours, 0, 0)
        sent, answered = await self.exchange(client, wordy(10_000), [ours])
        self.wants(ours, sent, answered)
        client = await self.joined({}, {"compression": ours})
        await self.exchange(client, wordy(10_000), ())
        self.wants(ours, sent, answered)

    async def test_a_server_may_compress_what_it_is_not_asked_to(self) -> None:
        theirs = Spy()
        told = {"compression": theirs}
        _, answered = await self.exchange(await self.joined(told, {}), wordy(10_000))
        self.wants(theirs, answered, 0)
        await self.exchange(await self.joined(told, {"decompression": ()}), wordy(10_000))
        self.wants(theirs, answered, 0)

    async def test_a_server_may_answer_plain_always(self) -> None:
        ours = Spy()
        client = await self.joined({"compression": ()}, {"compression": ours, "decompression": ours})
        sent, _ = await self.exchange(client, wordy(10_000))
        self.wants(ours, sent, 0)

    async def test_the_first_compression_that_the_peer_accepts_is_used(self) -> None:
        other, gzip = Spy(2), Spy(1)
        both = {"compression": (other, gzip)}
        sent, _ = await self.exchange(await self.joined({"decompression": GZIP}, both), wordy(10_000))
        self.wants(other, 0, 0)
        self.wants(gzip, sent, 0)
        await self.exchange(await self.joined({"decompression": ()}, both), wordy(10_000))
        self.wants(gzip, sent, 0)

    async def test_short_and_empty_messages_are_not_compressed(self) -> None:
        ours, theirs = Spy(), Spy()
        client = await self.joined(
            {"compression": theirs, "decompression": theirs}, {"compression": ours, "decompression": ours}
        )
        for size in (0, 1, 1_023):
            await self.exchange(client, wordy(size))
        self.wants(ours, 0, 0)
        self.wants(theirs, 0, 0)

    async def test_what_does_not_shrink_is_sent_as_it_is_and_soon_not_tried(self) -> None:
        ours, theirs = Spy(), Spy()
        client = await self.joined({"compression": theirs, "decompression": theirs}, {"compression": ours})
        noise = os.urandom(5_000)
        for _ in range(200):
            self.assertEqual(await client.call(ECHO, noise), noise)
        self.wants(ours, 7, 0)  # 4 at first; then after 16, 32, 64 that were not tried one each
        self.wants(theirs, 7, 0)

    async def test_a_compression_that_fails_leaves_messages_plain(self) -> None:
        await self.exchange(await self.joined({"compression": Broken()}, {"compression": Broken()}), wordy(10_000))

    async def test_nothing_is_compressed_before_the_peer_s_settings_are_known(self) -> None:
        ours = Spy()
        async with black_hole() as address:
            client = self.client(address, compression=ours)
            calling = asyncio.create_task(client.call(ECHO, wordy(10_000)))
            await eventually(lambda: bool(client._live))
            calling.cancel()
        self.wants(ours, 0, 0)

    async def test_interceptors_and_slots_that_are_waited_for_change_nothing(self) -> None:
        ours = Spy()
        _, address = await self.serve(*SERVED, limits=Limits(calls=1))
        client = self.client(address, compression=ours)
        await client.connect()
        messages = [wordy(2_000 + number) for number in range(10)]
        self.assertEqual(await asyncio.gather(*(client.call(ECHO, message) for message in messages)), messages)
        self.wants(ours, 10, 0)  # once each, however often they looked for a slot

    async def test_one_way_calls_and_those_of_a_server_are_compressed(self) -> None:
        for size in (2 << 10, 70_000, 3 * MIB):
            got: asyncio.Queue[bytes] = asyncio.Queue()

            async def post(request: bytes, call: ServerCall, got: asyncio.Queue[bytes] = got) -> None:
                got.put_nowait(request)

            ours, theirs = Spy(), Spy()
            handlers = (ECHO.handler(echo), POST.handler(post))
            server, address = await self.serve(*handlers, compression=theirs, decompression=theirs, codec=RAW)
            client = self.client(address, compression=ours, decompression=ours)
            client.register(*handlers)
            await client.connect()
            await eventually(lambda server=server: bool(server.connections))  # type: ignore[misc]
            for caller in (client, *server.connections):
                await caller.send(POST, wordy(size))
                self.assertEqual(await got.get(), wordy(size))
                self.assertEqual(await caller.call(ECHO, wordy(size)), wordy(size))
            self.wants(ours, 3, 3)  # two requests and an answer
            self.wants(theirs, 3, 3)


class Limited(Compressing):
    async def test_a_compressed_message_counts_by_its_length_before(self) -> None:
        limits = Limits(message_bytes=100_000)
        client = await self.joined({"limits": limits}, {"compression": GZIP})
        error = await self.fails(client.call(ECHO, wordy(200_000)), Code.RESOURCE_EXHAUSTED, Delivery.NOT_SENT)
        self.assertIn("100000", error.message)
        client = await self.joined({}, {"compression": GZIP, "limits": limits})
        error = await self.fails(client.call(ECHO, wordy(200_000)), Code.RESOURCE_EXHAUSTED)
        self.assertIn("100000", error.message)

    async def stream_fails(self, client: Client, code: Code) -> StatusError:
        async with client.open(TWICE) as both:
            await both.send(wordy(1 << 17))
            delivery = Delivery.UNKNOWN if code is Code.INTERNAL else Delivery.EXECUTED  # its handler passes on why
            return await self.fails(both.receive(), code, delivery)

    async def test_a_bomb_stops_at_the_limit(self) -> None:
        bomb = GZIP.compress(bytes(256 * MIB))
        self.assertLess(len(bomb), 2 * MIB)
        limits, plain = Limits(message_bytes=2 * MIB), wordy(2 * MIB)
        client = await self.joined({"limits": limits}, {"compression": Fixed(bomb)})
        tracemalloc.start()
        try:
            error = await self.fails(client.call(ECHO, plain), Code.RESOURCE_EXHAUSTED, Delivery.REFUSED)
            self.assertIn("the request exceeds max_message 2097152 when decompressed", error.message)
            async with client.open(TWICE) as both:
                await both.send(plain)
                await self.fails(both.receive(), Code.RESOURCE_EXHAUSTED)
            client = await self.joined({"compression": Fixed(bomb)}, {"limits": limits})
            error = await self.fails(client.call(ECHO, plain), Code.RESOURCE_EXHAUSTED)
            self.assertIn("the response exceeds max_message 2097152 when decompressed", error.message)
            async with client.open(TWICE) as both:
                await both.send(plain)
                await self.fails(both.receive(), Code.RESOURCE_EXHAUSTED, Delivery.UNKNOWN)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        self.assertLess(most, 40 * MIB)

    async def test_damaged_data_ends_its_call_alone(self) -> None:
        whole = GZIP.compress(wordy(5_000))
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 0x40
        damaged = {
            "cut short": whole[:-1],
            "one byte": whole[:1],
            "damaged": bytes(flipped),
            "a byte behind it": whole + b"\0",
            "another member behind it": whole + whole,
            "not gzip": b"\x78\x9c" + whole[2:],
        }
        for what, data in damaged.items():
            with self.subTest(what):
                client = await self.joined({}, {"compression": Fixed(data)})
                work = client.call(ECHO, wordy(1 << 17))
                error = await self.fails(work, Code.INVALID_ARGUMENT, Delivery.REFUSED)
                self.assertIn("decompress with gzip", error.message)
                await self.stream_fails(client, Code.INVALID_ARGUMENT)
                self.assertEqual(await client.call(ECHO, b"x"), b"x")
                client = await self.joined({"compression": Fixed(data)}, {})
                error = await self.fails(client.call(ECHO, wordy(1 << 17)), Code.INTERNAL)
                self.assertIn("decompress with gzip", error.message)
                await self.stream_fails(client, Code.INTERNAL)
                self.assertEqual(await client.call(ECHO, b"x"), b"x")

    async def test_compressions_that_cannot_be_are_told(self) -> None:
        _, client = await self.pair()
        for wrong, kind in ((Spy(3), ValueError), (None, TypeError), ("gzip", TypeError)):
            with self.assertRaises(kind):
                Client("127.0.0.1:1", compression=(wrong,))  # type: ignore[arg-type]
            with self.assertRaises(kind):
                await client.call(ECHO, b"", compression=(wrong,))  # type: ignore[arg-type]
            with self.assertRaises(kind):
                client.open(AGAIN, b"", compression=(wrong,))  # type: ignore[arg-type]
        with self.assertRaises(TypeError):
            Client("127.0.0.1:1", decompression="gzip")  # type: ignore[arg-type]


class Gzip(unittest.TestCase):
    def test_a_message_may_come_to_the_limit_and_no_further(self) -> None:
        for size in (0, 1, 1_000, 3 * MIB):
            data = GZIP.compress(wordy(size))
            self.assertEqual(GZIP.decompress(data, size), wordy(size))
            if size:
                with self.assertRaises(TooLong):
                    GZIP.decompress(data, size - 1)

    def test_other_members_than_its_own_are_read(self) -> None:
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        data = packer.compress(wordy(3_000)) + packer.flush()
        named = data[:3] + b"\x08" + data[4:10] + b"name\0" + data[10:]  # FNAME, as the program gzip writes
        self.assertEqual(GZIP.decompress(named, 3_000), wordy(3_000))


class Economies(unittest.TestCase):
    def test_what_saves_an_eighth_in_time_pays(self) -> None:
        for plain, packed, took, worth, trust in (
            (8_000, 7_000, 80_000, True, 5),
            (8_000, 7_001, 0, False, 3),
            (8_000, 7_000, 80_001, True, 3),  # it shrank, and the time is spent: but it does not pay
            (8_000, 9_000, 0, False, 3),
        ):
            economy = Economy()
            self.assertEqual((economy.note(plain, packed, took), economy.trust), (worth, trust))

    def test_pauses_double_up_to_a_bound_and_begin_anew_once_it_pays(self) -> None:
        economy = Economy()

        def rest_after(packed: int) -> int:
            """How many messages are sent plain after a try."""
            economy.note(8_000, packed, 0)
            plain = 0
            while not economy.tries():
                plain += 1
            return plain

        self.assertEqual(
            [rest_after(8_000) for _ in range(12)], [0, 0, 0, 16, 32, 64, 128, 256, 512, 1_024, 1_024, 1_024]
        )
        self.assertEqual(rest_after(10), 0)
        self.assertEqual([rest_after(8_000) for _ in range(3)], [0, 16, 32])
        self.assertEqual(LONGEST_REST, 1_024)

    def test_trust_is_bounded(self) -> None:
        economy = Economy()
        for _ in range(100):
            economy.note(8_000, 10, 0)
        for _ in range(8):
            self.assertTrue(economy.tries())
            economy.note(8_000, 8_000, 0)
        self.assertFalse(economy.tries())
