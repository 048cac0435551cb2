"""SIGTERM during calls loses nothing, in either direction."""

from __future__ import annotations

import asyncio
import json
import signal
from unittest import IsolatedAsyncioTestCase

import trunkcall
from example.v1.user_pb2 import GetUserRequest, GetUserResponse
from harness.processes import PATIENCE, Outcome, Process
from harness.programs import USER_7, USERS, ProgramTest
from harness.proxy import Proxy

from .languages import HUB, PAIRS, PROGRAMS, bench_words, each_pair

GET_USER = trunkcall.unary("/trunkcall.example.v1.UserService/GetUser", GetUserRequest, GetUserResponse)
WATCH_USERS = trunkcall.bidi_stream("/trunkcall.example.v1.UserService/WatchUsers", GetUserRequest, GetUserResponse)


@each_pair(PAIRS)
class Draining(ProgramTest, IsolatedAsyncioTestCase):
    client: str
    server: str

    async def asyncSetUp(self) -> None:
        asyncio.get_running_loop().set_debug(False)  # the proxy has to be quick

    async def finished(self, process: Process) -> Outcome:
        return await asyncio.to_thread(process.finish)

    async def test_under_load_all_calls_succeed_at_the_next_server(self) -> None:
        first, second = self.serve(PROGRAMS[self.server]), self.serve(PROGRAMS[self.server])
        async with Proxy(first.address) as proxy:
            flags = ("--calls", "20000", "--connections", "3", "--callers", "30")
            words = bench_words(self.client, f"{proxy.address},{second.address}", *flags)
            calling = self.enterContext(Process([*PROGRAMS[self.client], *words]))
            async with asyncio.timeout(PATIENCE):
                await proxy.has_passed("up", 500_000)
            await proxy.stop_listening()
            await asyncio.to_thread(first.stop_listening)
            self.assertEqual((await self.finished(first)).status, 0)
            got = await self.finished(calling)
        self.assertEqual(got.status, 0, got)
        figures = json.loads(got.stdout)
        self.assertEqual((figures["calls"], figures["errors"]), (20000, 0), got)

    async def test_a_stream_that_runs_goes_on_to_its_end(self) -> None:
        many = 9_000
        request = "[" + ",".join(['{"userId":7}'] * many) + "]"
        served = self.serve(PROGRAMS[self.server])
        async with Proxy(served.address) as proxy:
            words = ("call", "--target", proxy.address, USERS + "WatchUsers", request)
            calling = self.enterContext(Process([*PROGRAMS[self.client], *words]))
            async with asyncio.timeout(PATIENCE):
                await proxy.has_passed("up", 20_000)
            await asyncio.to_thread(served.stop_listening)
            # Together: a client whose output nobody reads stands still.
            ended, got = await asyncio.gather(self.finished(served), self.finished(calling))
        self.assertEqual((ended.status, got), (0, Outcome(USER_7 * many)))


class DrainingCallByCall(ProgramTest, IsolatedAsyncioTestCase):
    async def test_the_server_waits_for_a_stream_and_takes_no_call_that_it_does_not_answer(self) -> None:
        served = self.serve(PROGRAMS[HUB])
        async with trunkcall.Client(served.address) as client:
            stream = client.open(WATCH_USERS, timeout=PATIENCE)
            await stream.send(GetUserRequest(user_id=7))
            self.assertIsNotNone(await stream.receive())
            await asyncio.to_thread(served.stop_listening)
            await asyncio.to_thread(served.wait_said, "calls that still run", "calls=1")
            try:
                await client.call(GET_USER, GetUserRequest(user_id=7), timeout=PATIENCE)
            except trunkcall.StatusError as failed:
                self.assertIn(failed.delivery, (trunkcall.Delivery.NOT_SENT, trunkcall.Delivery.REFUSED))
            await stream.send(GetUserRequest(user_id=7))
            self.assertIsNotNone(await stream.receive())
            await stream.half_close()
            self.assertIsNone(await stream.receive())
            self.assertEqual((await asyncio.to_thread(served.finish)).status, 0)

    async def test_a_second_signal_leaves_unknown_what_became_of_a_call(self) -> None:
        served = self.serve(PROGRAMS[HUB])
        async with trunkcall.Client(served.address) as client:
            stream = client.open(WATCH_USERS, timeout=PATIENCE)
            await stream.send(GetUserRequest(user_id=7))
            self.assertIsNotNone(await stream.receive())
            await asyncio.to_thread(served.stop_listening)
            # Before it says so, another signal may be the first one again.
            await asyncio.to_thread(served.wait_said, "another signal cuts them off")
            served.signal(signal.SIGTERM)
            with self.assertRaises(trunkcall.StatusError) as caught:
                await stream.receive()
            self.assertEqual(caught.exception.code, trunkcall.Code.UNAVAILABLE)
            self.assertEqual(caught.exception.delivery, trunkcall.Delivery.UNKNOWN)
            self.assertEqual((await asyncio.to_thread(served.finish)).status, 1)
