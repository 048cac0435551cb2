"""What a watcher makes of many entries that are told at once: its loop goes on meanwhile, and all stays in order."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from trunkcall import Endpoint
from trunkcall.registry import Record
from trunkcall.registry.resolver import AT_ONCE, Watching
from trunkcall.registry.view import Entry

from .kit import run

SERVICE = "test.Many"
COUNT = 4 * AT_ONCE
PATIENCE = 60


class Client:
    """What a client is told, in order: the size of a set with the weight of its first endpoint, or why it fails."""

    target = SERVICE

    def __init__(self) -> None:
        self.told: list[object] = []

    def set(self, endpoints: Sequence[Endpoint], /) -> None:
        self.told.append((len(endpoints), endpoints[0].weight))

    def fail(self, why: str, /) -> None:
        self.told.append(why)


def entry(number: int, weight: int = 1) -> Entry:
    made = Record(service=SERVICE, id=f"one-{number:05d}", addresses=("127.0.0.1:4000",), weight=weight)
    return Entry(made.id, made.to_bytes())


MANY = [entry(number) for number in range(COUNT)]


def watching(client: Client) -> Watching:
    return Watching(SERVICE, client, logging.getLogger("trunkcall"))


async def until(there: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not there():  # noqa: ASYNC110  # turns of the loop are what is waited for
            await asyncio.sleep(0)


def carry_out(test: Callable[[Client, Watching], Awaitable[None]]) -> None:
    async def whole() -> None:
        client = Client()
        made = watching(client)
        try:
            await test(client, made)
        finally:
            made.stop()

    run(whole)


def test_few_are_taken_at_once() -> None:
    async def test(client: Client, made: Watching) -> None:
        made.all(MANY[:AT_ONCE])
        assert client.told == [(AT_ONCE, 1)]

    carry_out(test)


def test_while_many_are_read_the_loop_goes_on() -> None:
    async def test(client: Client, made: Watching) -> None:
        made.all(MANY)
        turns = 0

        def told() -> bool:
            nonlocal turns
            turns += 1
            return bool(client.told)

        await until(told)
        assert turns >= COUNT / AT_ONCE
        assert client.told == [(COUNT, 1)]

    carry_out(test)


def test_what_is_told_behind_many_comes_behind_them() -> None:
    async def test(client: Client, made: Watching) -> None:
        made.all(MANY)
        made.change([entry(0, weight=7)], [])
        assert client.told == []
        await until(lambda: len(client.told) == 2)
        assert client.told == [(COUNT, 1), (COUNT, 7)]

    carry_out(test)


def test_what_fails_behind_many_fails_behind_them(caplog: pytest.LogCaptureFixture) -> None:
    async def test(client: Client, made: Watching) -> None:
        made.all(MANY)
        await asyncio.sleep(0)
        made.fail("of the test")
        assert client.told == [(COUNT, 1), f"watching {SERVICE}: of the test"]
        made.all([entry(0, weight=7), *MANY[1:]])  # and it goes on
        await until(lambda: len(client.told) == 3)
        assert client.told[2] == (COUNT, 7)

    carry_out(test)


def test_so_many_entries_wait_and_then_whoever_tells_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[Watching.__module__], "MOST_WAITING", 3 * COUNT)

    async def test(client: Client, made: Watching) -> None:
        for weight in (1, 2, 3):
            made.all([entry(0, weight), *MANY[1:]])
        assert client.told == []
        made.all([entry(0, 4), *MANY[1:]])
        assert client.told  # if not all of it: sets settle
        await until(lambda: client.told[-1] == (COUNT, 4))
        client.told.clear()
        for weight in (5, 6, 7):
            made.all([entry(0, weight), *MANY[1:]])
        assert len(made._waiting) == 3

    carry_out(test)


def test_what_is_no_entry_is_a_failure_of_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[Watching.__module__], "MOST_WAITING", 2 * COUNT)

    async def test(client: Client, made: Watching) -> None:
        nothing: Any = [None] * COUNT
        made.all(nothing)
        await until(lambda: bool(client.told))
        assert "'NoneType' object has no attribute" in str(client.told[0])
        made.all(MANY)
        made.all(MANY)
        assert len(client.told) == 1
        await until(lambda: len(client.told) == 2)
        assert client.told[1] == (COUNT, 1)

    carry_out(test)


def test_what_is_no_record_is_left_out_as_ever(caplog: pytest.LogCaptureFixture) -> None:
    async def test(client: Client, made: Watching) -> None:
        made.all([Entry("bad", b"{"), *MANY])
        await until(lambda: bool(client.told))
        assert client.told == [(COUNT, 1)]

    carry_out(test)
    assert f"{SERVICE}/bad: not a JSON object" in caplog.text


def test_who_stops_is_told_no_more() -> None:
    async def test(client: Client, made: Watching) -> None:
        made.all(MANY)
        made.stop()
        for _ in range(COUNT):
            await asyncio.sleep(0)
        assert client.told == []

    carry_out(test)
