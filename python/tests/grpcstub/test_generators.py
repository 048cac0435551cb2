"""Generators of servicers end with their calls."""

from __future__ import annotations

import asyncio
import sys
import threading
import unittest
from collections.abc import AsyncIterator, Iterator
from typing import Any

from example.v1 import user_pb2 as pb
from example.v1 import user_pb2_grpc as stubs

from .kit import USER
from .test_aio import Case

PATIENCE = 60.0


class Endless(stubs.UserServiceServicer):
    """An asynchronous generator that keeps a reference to itself, so that nothing but `aclose` ends it."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.closed = asyncio.Event()

    async def WatchUsers(self, request_iterator: Any, context: Any) -> AsyncIterator[Any]:
        self.kept.append(sys._getframe())
        try:
            while True:
                yield USER(name="again")
        finally:
            self.closed.set()


class EndlessOnThreads(stubs.UserServiceServicer):
    """The same with a plain generator."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.closed = threading.Event()

    def ListUsers(self, request: Any, context: Any) -> Iterator[Any]:
        self.kept.append(sys._getframe())
        try:
            while True:
                yield USER(name="again")
        finally:
            self.closed.set()


class Generators(Case):
    async def test_an_asynchronous_one_is_closed_when_its_call_is_cancelled(self) -> None:
        servicer = Endless()
        stub = await self.stub(servicer)
        collected: list[Any] = []
        sys.set_asyncgen_hooks(finalizer=collected.append)
        call = stub.WatchUsers(iter([pb.GetUserRequest(user_id=1)]))
        self.assertEqual((await call.read()).name, "again")
        call.cancel()
        async with asyncio.timeout(PATIENCE):
            await servicer.closed.wait()
        self.assertEqual(collected, [])

    async def test_a_plain_one_is_closed_when_its_call_is_cancelled(self) -> None:
        servicer = EndlessOnThreads()
        stub = await self.stub(servicer)
        call = stub.ListUsers(pb.ListUsersRequest(count=1))
        self.assertEqual((await call.read()).name, "again")
        call.cancel()
        closed = await asyncio.get_running_loop().run_in_executor(None, servicer.closed.wait, PATIENCE)
        self.assertTrue(closed)


if __name__ == "__main__":
    unittest.main()
