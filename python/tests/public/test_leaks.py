"""What is used is given back."""

from __future__ import annotations

import asyncio
import gc
import os
import unittest

from trunkcall import ClientStream, Code, Delivery

from .kit import COUNT, ECHO, TWICE, Case, Gate, all_of, echo, eventually


def descriptors() -> int:
    return len(os.listdir("/dev/fd"))


class Leaks(Case):
    async def test_connections_give_their_descriptors_back(self) -> None:
        server, address = await self.serve()
        before = descriptors()
        for _ in range(50):
            client = self.client(address)
            await client.call(ECHO, b"x")
            await client.close()
        await eventually(lambda: not server.connections)
        self.assertEqual(descriptors(), before)

    async def test_cancelled_calls_leave_nothing_behind(self) -> None:
        gate = Gate()
        server, client = await self.pair(ECHO.handler(gate))
        for _ in range(20):
            tasks = [asyncio.create_task(client.call(ECHO, b"x")) for _ in range(50)]
            await gate.begun.wait()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await eventually(lambda: server.running == 0 and not server._serving.tasks)
        (end,) = client._live
        await eventually(lambda: end.connection.session.caller.open == 0)
        self.assertEqual(end.connection.session.caller.abandoned, {})
        self.assertEqual(end.connection.session.share.promised, 0)

    async def test_streams_leave_nothing_behind(self) -> None:
        server, client = await self.pair()
        for _ in range(20):
            async with client.open(TWICE) as stream:
                await stream.send(bytes(100_000))
            await all_of(client.open(COUNT, b"5"))
        await eventually(lambda: server.running == 0)
        del stream
        gc.collect()
        self.assertEqual([one for one in gc.get_objects() if isinstance(one, ClientStream)], [])

    async def test_calls_opened_and_cancelled_in_a_flood_stay_under_the_cap(self) -> None:
        most = 0
        server, client = await self.pair(ECHO.handler(echo), running_handlers=10)

        async def one() -> None:
            nonlocal most
            task = asyncio.create_task(client.call(ECHO, b"x"))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            most = max(most, server.running)

        await asyncio.gather(*(one() for _ in range(500)))
        self.assertLessEqual(most, 10)
        await eventually(lambda: server.running == 0)
        self.assertEqual(await client.call(ECHO, b"x"), b"x")

    async def test_an_unreachable_target_keeps_no_descriptor(self) -> None:
        server, address = await self.serve()
        await server.close()
        before = descriptors()
        client = self.client(address, connections=3)
        for _ in range(20):
            await self.fails(client.call(ECHO, b""), Code.UNAVAILABLE, Delivery.NOT_SENT)
        await client.close()
        self.assertEqual(descriptors(), before)


if __name__ == "__main__":
    unittest.main()
