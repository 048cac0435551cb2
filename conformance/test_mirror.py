"""What travels beside the messages, compared in full: every kind of call, each client with each server."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol
from unittest import IsolatedAsyncioTestCase

from trunkcall import Code

from .mirror import DETAILS, FAILURE, METHODS, GoMirror, Outcome, Plan, PythonMirror, call_in_go, call_in_python, plain

# Keys that are repeated, empty, binary with any bytes, common on the wire, and as long as they may be.
METADATA: list[tuple[str, str | bytes]] = [
    ("key", "first"),
    ("raw-bin", bytes(range(256))),
    ("key", ""),
    ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ("raw-bin", b""),
    ("authorization", "Bearer ~ token"),
    ("key", "first"),
    ("some.key_with-all", " spaces are kept "),
    ("k" * 255, "v" * 1_000),
    ("-bin", b"\x00"),
]
ANSWERS = {
    "GetUser": ["reflected"],
    "ListUsers": ["reflected"] * 2,
    "ImportUsers": ["2"],
    "WatchUsers": ["reflected"] * 2,
}

Caller = Callable[[str, Plan, asyncio.Event], Awaitable[Outcome]]
CALLERS: dict[str, Caller] = {"go": call_in_go, "python": call_in_python}


class Mirror(Protocol):
    """A server of either language."""

    address: str

    async def line(self) -> str: ...


class Mirrors(IsolatedAsyncioTestCase):
    maxDiff = None

    @asynccontextmanager
    async def servers(self) -> AsyncIterator[dict[str, Mirror]]:
        async with GoMirror() as in_go, PythonMirror() as in_python:
            yield {"go": in_go, "python": in_python}

    async def everywhere(self, plan: Plan, check: Callable[[Outcome, Mirror], Awaitable[None]]) -> None:
        """Carries a plan out from each client at each server."""
        async with self.servers() as servers:
            for client, call in CALLERS.items():
                for server, mirror in servers.items():
                    with self.subTest(client=client, server=server, method=plan.method):
                        await check(await call(mirror.address, plan, asyncio.Event()), mirror)

    async def test_metadata_comes_back_in_header_and_trailer(self) -> None:
        for method in METHODS:
            want = Outcome(ANSWERS[method], plain(METADATA), plain(METADATA))

            async def same(got: Outcome, mirror: Mirror, want: Outcome = want) -> None:
                self.assertEqual(got, want)

            await self.everywhere(Plan(method, METADATA), same)

    async def test_no_metadata_is_none(self) -> None:
        for method in METHODS:
            want = Outcome(ANSWERS[method])

            async def same(got: Outcome, mirror: Mirror, want: Outcome = want) -> None:
                self.assertEqual(got, want)

            await self.everywhere(Plan(method), same)

    async def test_failures_arrive_with_details_and_metadata(self) -> None:
        metadata: list[tuple[str, str | bytes]] = [*METADATA, ("do", "fail")]
        failed = {"code": int(Code.ABORTED), "message": FAILURE, "delivery": "executed", "details": list(DETAILS)}
        want = dataclasses.replace(Outcome(), header=plain(metadata), trailer=plain(metadata), **failed)

        async def same(got: Outcome, mirror: Mirror) -> None:
            self.assertEqual(got, want)

        for method in METHODS:
            await self.everywhere(Plan(method, metadata), same)

    async def test_the_deadline_arrives_and_ends_both_ends(self) -> None:
        plans = [Plan(method, [("do", "wait")], timeout_ms=2_000) for method in METHODS]
        async with self.servers() as servers:
            calls = [(server, caller, plan) for server in servers for caller in CALLERS for plan in plans]
            made = [CALLERS[caller](servers[server].address, plan, asyncio.Event()) for server, caller, plan in calls]
            for (server, caller, plan), got in zip(calls, await asyncio.gather(*made), strict=True):
                with self.subTest(client=caller, server=server, method=plan.method):
                    self.assertEqual((got.code, got.delivery), (int(Code.DEADLINE_EXCEEDED), "unknown"))
            many = len(CALLERS) * len(plans)
            for server, mirror in servers.items():
                with self.subTest(server=server):
                    lines = sorted([await mirror.line() for _ in range(2 * many)])
                    self.assertEqual(lines, ["deadline"] * many + ["waits"] * many)

    async def test_handlers_know_what_time_is_left(self) -> None:
        async def left(got: Outcome, mirror: Mirror) -> None:
            (told,) = got.messages
            self.assertTrue(0 < int(told) <= 60_000, told)

        async def none(got: Outcome, mirror: Mirror) -> None:
            self.assertEqual(got.messages, ["none"])

        await self.everywhere(Plan("GetUser", [("do", "left")], timeout_ms=60_000), left)
        await self.everywhere(Plan("GetUser", [("do", "left")]), none)

    async def test_the_deadline_goes_along_with_calls_made_inside_a_handler(self) -> None:
        async with self.servers() as servers:
            for outer, inner in ((a, b) for a in servers for b in servers if a != b):
                for client, call in CALLERS.items():
                    with self.subTest(client=client, outer=outer, inner=inner):
                        forward = [("do", "forward"), ("to", servers[inner].address)]
                        at_outer = servers[outer].address
                        got = await call(at_outer, Plan("GetUser", [*forward], timeout_ms=60_000), asyncio.Event())
                        (told,) = got.messages
                        self.assertTrue(0 < int(told) <= 60_000, told)
                        got = await call(at_outer, Plan("GetUser", [*forward]), asyncio.Event())
                        self.assertEqual(got.messages, ["none"])

    async def test_a_handler_calls_its_caller_back(self) -> None:
        async def no_time(got: Outcome, mirror: Mirror) -> None:
            self.assertEqual((got.messages, got.code), (["none 2"], 0), got)

        async def some_time(got: Outcome, mirror: Mirror) -> None:
            left, answers = got.messages[0].split()
            self.assertTrue(0 < int(left) <= 60_000 and answers == "2", got)

        await self.everywhere(Plan("GetUser", [("do", "back")]), no_time)
        await self.everywhere(Plan("GetUser", [("do", "back")], timeout_ms=60_000), some_time)

    async def test_cancelling_reaches_the_handler(self) -> None:
        async with self.servers() as servers:
            for client, call in CALLERS.items():
                for server, mirror in servers.items():
                    for method in METHODS:
                        with self.subTest(client=client, server=server, method=method):
                            cancel = asyncio.Event()
                            plan = Plan(method, [("do", "wait")], cancel=True)
                            calling = asyncio.ensure_future(call(mirror.address, plan, cancel))
                            self.assertEqual(await mirror.line(), "waits")
                            cancel.set()
                            got = await calling
                            self.assertEqual((got.code, got.delivery), (int(Code.CANCELLED), "unknown"))
                            self.assertEqual(await mirror.line(), "cancelled")
