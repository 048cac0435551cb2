"""Connections that are lost: what counts as a failure, and that calls wait until the pause is over."""

from __future__ import annotations

import asyncio
from unittest import mock

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
