"""What tests of services and clients need: a server and its client in one, and a clock that a test moves by hand.

    async with TestServer(get_user.handler(serve)) as server:
        user = await server.client.call(get_user, GetUserRequest(user_id=7))

    async with Clock() as clock, TestServer(get_user.handler(never)) as server:
        call = asyncio.create_task(server.client.call(get_user, GetUserRequest(user_id=7), timeout=3600))
        await clock.advance(3600)  # at once
        with assert_fails(Code.DEADLINE_EXCEEDED):
            await call

    TestServer           a server and a client of it, in memory or on a free port
    Clock                the time of an event loop, which passes when a test says so
    assert_fails         checks with which code a call fails, and what is known of its handler
    assert_not_executed  checks that a call fails and may be repeated

`trunkcall.testing.blocking` has TestServer and Clock for code that blocks. `trunkcall.testing.fixtures` has both as
fixtures of pytest, which nothing else here imports.
"""

from __future__ import annotations

from .assertions import Failure, assert_fails, assert_not_executed
from .clock import Clock
from .server import TestServer

__all__ = ["Clock", "Failure", "TestServer", "assert_fails", "assert_not_executed"]
