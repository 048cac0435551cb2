"""The default of the memory of all connections, and what becomes of calls when it is used up."""

from __future__ import annotations

import asyncio
import unittest
from collections.abc import AsyncIterator

from trunkcall import Client, ClientStream, Code, Delivery, Limits, ServerCall
from trunkcall.memory import available, budget_of
from trunkcall.options import codec_table, session_config
from trunkcall.wire import Load

from .kit import ECHO, JOIN, PATIENCE, TWICE, Case, echo, eventually

MIB = 1 << 20


async def read_nothing(requests: AsyncIterator[bytes], call: ServerCall) -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


class Default(unittest.TestCase):
    def test_it_follows_the_container(self) -> None:
        files = {
            "/proc/meminfo": "MemTotal:        16777216 kB\nMemFree: 1 kB\n",
            "/proc/self/cgroup": "0::/a/b\n",
            "/sys/fs/cgroup/a/b/memory.max": "max\n",
            "/sys/fs/cgroup/a/memory.max": "2147483648\n",
        }
        self.assertEqual(available(lambda name: files.get(name, "")), 2 << 30)
        files["/proc/self/cgroup"] = "7:cpu,memory:/c\n"
        files["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = "1073741824\n"
        files["/sys/fs/cgroup/memory/c/memory.limit_in_bytes"] = "9223372036854771712\n"
        self.assertEqual(available(lambda name: files.get(name, "")), 1 << 30)
        self.assertEqual(available(lambda name: ""), 0)

    def test_it_is_a_quarter_and_at_most_a_gibibyte(self) -> None:
        self.assertEqual(
            [budget_of(n) for n in (0, 1 << 20, 2 << 30, 64 << 30)], [1 << 30, 1 << 20, 512 << 20, 1 << 30]
        )

    def test_less_than_a_mebibyte_is_an_error(self) -> None:
        with self.assertRaisesRegex(ValueError, "memory"):
            Client("127.0.0.1:1", memory=MIB - 1)


class UsedUp(Case):
    async def test_connections_that_announce_and_stall_lock_nobody_out(self) -> None:
        """Four of them announce all of the memory, and send a piece of it."""
        _, address = await self.serve(TWICE.handler(read_nothing), ECHO.handler(echo), memory=8 * MIB)
        for _ in range(4):
            client = self.client(address)
            stream = client.open(TWICE)
            sending = asyncio.create_task(stream.send(bytes(8 * MIB)))
            await eventually(lambda stream=stream: bool(stream._plain))  # type: ignore[misc]
            session = next(iter(client._live)).connection.session
            await eventually(lambda session=session: session.output.taken > 100_000)  # type: ignore[misc]
            sending.cancel()
        other = self.client(address)
        self.assertEqual(await other.call(ECHO, bytes(2 * MIB), timeout=PATIENCE), bytes(2 * MIB))

    async def test_the_call_longest_held_by_the_connection_that_holds_most_is_ended(self) -> None:
        server, address = await self.serve(TWICE.handler(read_nothing), ECHO.handler(echo), memory=4 * MIB)
        greedy = self.client(address)
        streams: list[ClientStream[bytes, bytes]] = []
        for _ in range(3):
            stream = greedy.open(TWICE)
            await stream.send(bytes(MIB))
            streams.append(stream)
        await eventually(lambda: server._serving.load.budget.used > 2 * MIB)
        other = self.client(address)
        self.assertEqual(await other.call(ECHO, bytes(2 * MIB), timeout=PATIENCE), bytes(2 * MIB))
        async with asyncio.timeout(PATIENCE):
            status = await streams[0].status()
        self.assertEqual((status.code, status.delivery), (Code.RESOURCE_EXHAUSTED, Delivery.UNKNOWN))
        self.assertFalse(streams[2].done)
        for stream in streams:
            stream.cancel()
        await eventually(lambda: server._serving.load.budget.used == 0)

    async def test_answers_that_are_not_read_count(self) -> None:
        async def big(requests: AsyncIterator[bytes], call: ServerCall) -> bytes:
            return bytes(2 * MIB)

        server, address = await self.serve(JOIN.handler(big), ECHO.handler(echo), memory=8 * MIB)
        client = self.client(address, limits=Limits(pool=0))
        await client.connect()
        connection = next(iter(client._live)).connection
        connection.transport.pause_reading()
        streams = [client.open(JOIN) for _ in range(20)]
        budget = server._serving.load.budget
        await eventually(lambda: budget.used > 4 * MIB)
        other = self.client(address)
        for _ in range(20):
            self.assertEqual(await other.call(ECHO, bytes(MIB), timeout=PATIENCE), bytes(MIB))
            self.assertLessEqual(budget.used, budget.limit)
        connection.transport.resume_reading()
        async with asyncio.timeout(PATIENCE):
            codes = {(await stream.status()).code for stream in streams[:1]}
        self.assertEqual(codes, {Code.RESOURCE_EXHAUSTED})
        for stream in streams:
            stream.cancel()


class Pools(unittest.TestCase):
    def test_a_pool_may_grow_to_an_eighth_of_the_memory(self) -> None:
        for memory, most in ((16 << 20, 2 << 20), (1 << 30, 128 << 20), (8 << 30, 128 << 20)):
            config = session_config(Limits(), codec_table(()), (), 0, 1, Load(memory=memory))
            self.assertEqual(config.max_pool, most)
        config = session_config(Limits(max_pool=3 << 20), codec_table(()), (), 0, 1, Load(memory=16 << 20))
        self.assertEqual(config.max_pool, 3 << 20)


if __name__ == "__main__":
    unittest.main()
