"""The server that plays what no server should leaves nothing behind: what is left fails whatever test runs then."""

from __future__ import annotations

import asyncio
import gc
import socket

from .faults.hostile import Hostile, Met


async def never(met: Met) -> None:
    """Is not reached."""
    raise AssertionError(met)


async def left_at_once() -> tuple[int, list[BaseException]]:
    """Leaves the server in the round of the loop in which it has taken a connection, before anything plays on it."""
    hostile = Hostile("127.0.0.1:0", never)
    async with hostile:
        host, _, port = hostile.address.rpartition(":")
        with socket.create_connection((host, int(port))):
            while not hostile.connections:  # noqa: ASYNC110 (what happens in each round of the loop is the point)
                await asyncio.sleep(0)
    return hostile.connections, hostile.failures


def test_a_connection_that_was_just_taken_is_closed_with_the_server() -> None:
    assert asyncio.run(left_at_once()) == (1, [])
    gc.collect()  # a coroutine that never ran and a socket that nobody closed are told now
