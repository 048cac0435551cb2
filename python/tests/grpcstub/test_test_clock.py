"""What servicers and callers are told is left of a call's time, under the clocks of trunkcall.testing."""

from __future__ import annotations

import asyncio
import unittest
from functools import partial
from typing import Any

from example.v1 import user_pb2_grpc as stubs
from tests.grpcstub.kit import ID, USER, Users
from tests.public.kit import PATIENCE
from trunkcall import PROTOBUF, Client, Server
from trunkcall import blocking as threads
from trunkcall.blocking.loopthread import LoopThread
from trunkcall.grpcstub import aio, blocking
from trunkcall.testing import Clock, TestServer
from trunkcall.testing import blocking as testing
from trunkcall.testing.moving import Time

HOUR = 3600.0
PATIENT = partial(Client, codec=PROTOBUF)
PATIENT_THREADS = partial(threads.Client, codec=PROTOBUF)


class Telling(Users):
    """Tells what is left, once ten seconds have passed."""

    async def GetUser(self, request: Any, context: Any) -> Any:
        await asyncio.sleep(10)
        return USER(name=str(round(context.time_remaining())))


class TellingOnAThread(Users):
    """Tells at once."""

    def GetUser(self, request: Any, context: Any) -> Any:
        return USER(name=str(round(context.time_remaining())))


def served(servicer: Any) -> Server:
    server = Server()
    stubs.add_UserServiceServicer_to_server(servicer, aio.Server(server))
    return server


class TimeRemaining(unittest.IsolatedAsyncioTestCase):
    async def test_by_the_clock_of_the_loop(self) -> None:
        for servicer, left in ((Telling(), HOUR - 10), (TellingOnAThread(), HOUR)):
            async with Clock() as clock, TestServer(server=served(servicer), client=PATIENT) as server:
                await clock.advance(HOUR)
                stub: Any = stubs.UserServiceStub(aio.Channel(server.client))
                call = stub.GetUser(ID(user_id=7), timeout=HOUR)
                stream = stub.WatchUsers(timeout=HOUR)
                self.assertAlmostEqual(call.time_remaining(), HOUR, places=2)
                await clock.advance(10)
                for one in (call, stream):
                    self.assertAlmostEqual(one.time_remaining(), HOUR - 10, places=2)
                self.assertEqual((await call).name, str(round(left)))
                stream.cancel()

    async def test_of_several_clocks_by_that_of_the_servicer_s_loop(self) -> None:
        async with Clock() as clock, TestServer(server=served(TellingOnAThread()), client=PATIENT) as server:
            with LoopThread("another") as there:
                other = Time().hold(there.loop)
                self.addCleanup(other.release)
                await clock.advance(HOUR)
                stub: Any = stubs.UserServiceStub(aio.Channel(server.client))
                call = stub.GetUser(ID(user_id=7), timeout=HOUR)
                await clock.settle()
                self.assertEqual((await call).name, str(round(HOUR)))


class OnThreads(unittest.TestCase):
    def test_by_the_clock_of_server_and_client(self) -> None:
        with (
            testing.Clock() as clock,
            testing.TestServer(server=served(Telling()), client=PATIENT_THREADS, clock=clock) as server,
        ):
            clock.advance(HOUR)
            channel = blocking.Channel(server.client)
            stub: Any = stubs.UserServiceStub(channel)
            call = stub.GetUser.future(ID(user_id=7), timeout=HOUR)
            self.assertAlmostEqual(call.time_remaining(), HOUR, places=2)
            clock.advance(10)
            self.assertAlmostEqual(call.time_remaining(), HOUR - 10, places=2)
            self.assertEqual(call.result(timeout=PATIENCE).name, str(round(HOUR - 10)))


if __name__ == "__main__":
    unittest.main()
