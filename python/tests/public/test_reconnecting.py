"""Connections that are lost: what counts as a failure, and that calls wait until the pause is over."""

from __future__ import annotations

import asyncio
from unittest import mock

from trunkcall import Delivery, StatusError

from .kit import ECHO, Case, connector, eventually


class Reconnecting(Case):
    async def test_a_call_that_sees_first_that_a_connection_is_over_waits_for_the_pause_as_well(self) -> None:
        _, address = await self.serve()
        client = self.client(address)
        await client.connect()
        one = connector(client)
        assert one.connection is not None
        with mock.patch("trunkcall.connecting.pause", return_value=1_000.0):
            one.connection.data_received(bytes(64))  # a connection error: it is over, but not closed yet
            call = asyncio.create_task(client.call(ECHO, b"", wait_for_ready=True))
            await eventually(lambda: one.connection is None)
            self.assertEqual((one.failures, one.attempt, one.timer is not None), (1, None, True))
            await eventually(lambda: not client._live)
            self.assertEqual((one.failures, one.attempt), (1, None))
        call.cancel()
        await asyncio.wait([call])

    async def test_calls_that_fail_since_nobody_is_reached_leave_the_loop_its_turns(self) -> None:
        """Else a program that calls again at once keeps its own client from connecting, and from hearing signals."""
        server, address = await self.serve()
        await server.close()
        client = self.client(address)
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        with mock.patch("trunkcall.connecting.pause", return_value=1_000.0):
            with self.assertRaises(StatusError):  # it waits for the attempt to connect
                await client.call(ECHO, b"")
            task = asyncio.create_task(others())
            for number in range(1, 11):
                with self.subTest(number), self.assertRaises(StatusError) as failed:
                    await client.call(ECHO, b"")
                self.assertEqual(failed.exception.status.delivery, Delivery.NOT_SENT)
                self.assertGreaterEqual(turns, number)
        task.cancel()
        await asyncio.wait([task])
