"""When the connections of an event loop are written, with connections that only tell so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from trunkcall.transport import flushes, monotonic
from trunkcall.transport.flushes import FEW, LOOKS, MOMENT, Flushes, flushes_of

Log = list[str]


class Told:
    """A connection. `calls` of it are open."""

    def __init__(self, name: str, log: Log, calls: int = FEW) -> None:
        self.name = name
        self.calls = calls
        self._log = log
        self.behind: Callable[[], None] = lambda: None

    def flush(self) -> None:
        self._log.append(self.name)
        self.behind()


class Time:
    now = 0


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    """The clock, which stands still unless it is set."""
    made = Time()
    monkeypatch.setattr(monotonic, "nanoseconds", lambda: made.now)
    return made


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


def turn(loop: asyncio.AbstractEventLoop, turns: int = 1) -> None:
    """Has the loop do what is due, so many times."""
    for _ in range(turns):
        loop.call_soon(loop.stop)
        loop.run_forever()


def added(loop: asyncio.AbstractEventLoop, *all: Told) -> Flushes:
    made = Flushes()
    for one in all:
        made.add(one, loop)
    return made


def test_one_connection_is_written_in_the_same_turn(loop: asyncio.AbstractEventLoop, time: Time) -> None:
    log: Log = []
    added(loop, Told("a", log))
    assert log == []
    turn(loop)
    assert log == ["a"]


def test_of_several_with_few_calls_all_are_written_in_the_same_turn(
    loop: asyncio.AbstractEventLoop, time: Time
) -> None:
    log: Log = []
    added(loop, Told("a", log, 1), Told("b", log, FEW - 2))
    turn(loop)
    assert sorted(log) == ["a", "b"]


def test_several_are_put_off_until_nothing_has_come(loop: asyncio.AbstractEventLoop, time: Time) -> None:
    log: Log = []
    made = added(loop, Told("a", log), Told("b", log))
    turn(loop, 2)
    assert log == []
    made.add(Told("c", log), loop)
    turn(loop)
    assert sorted(log) == ["a", "b", "c"]


def test_what_tasks_add_that_were_woken_meanwhile_is_written_with_the_others(
    loop: asyncio.AbstractEventLoop, time: Time
) -> None:
    log: Log = []
    made = added(loop, Told("a", log), Told("b", log))
    turn(loop)
    loop.call_soon(made.add, Told("c", log), loop)  # a task
    made.came(loop)
    assert log == []
    turn(loop, 4)
    assert sorted(log) == ["a", "b", "c"]


def test_they_are_put_off_for_a_few_looks(loop: asyncio.AbstractEventLoop, time: Time) -> None:
    log: Log = []
    made = added(loop, Told("a", log), Told("b", log))
    for _ in range(LOOKS):
        turn(loop)
        assert log == []
        made.came(loop)
    turn(loop)
    assert sorted(log) == ["a", "b"]


def test_they_are_put_off_for_a_moment(loop: asyncio.AbstractEventLoop, time: Time) -> None:
    log: Log = []
    made = added(loop, Told("a", log), Told("b", log))
    turn(loop)
    time.now = MOMENT - 1
    made.came(loop)
    turn(loop)
    assert log == []
    time.now = MOMENT
    made.came(loop)
    turn(loop)
    assert sorted(log) == ["a", "b"]


def test_what_is_written_next_is_put_off_anew(loop: asyncio.AbstractEventLoop, time: Time) -> None:
    log: Log = []
    made = added(loop, Told("a", log), Told("b", log))
    turn(loop, 3)
    log.clear()
    time.now = 2 * MOMENT
    made.add(Told("a", log), loop)
    made.add(Told("b", log), loop)
    turn(loop, 2)
    assert log == []
    turn(loop)
    assert sorted(log) == ["a", "b"]


def test_what_comes_while_nothing_is_due_writes_nothing(loop: asyncio.AbstractEventLoop, time: Time) -> None:
    made = Flushes()
    made.came(loop)
    log: Log = []
    made.add(Told("a", log), loop)
    turn(loop)
    made.came(loop)
    turn(loop)
    assert log == ["a"]


def test_one_that_fails_does_not_keep_the_others_from_being_written(
    loop: asyncio.AbstractEventLoop, time: Time
) -> None:
    def fail() -> None:
        raise MemoryError("of the test")

    log: Log = []
    told: list[object] = []
    loop.set_exception_handler(lambda loop, context: told.append(context["exception"]))
    each = [Told("a", log, 0), Told("b", log, 0), Told("c", log, 0)]
    each[2].behind = fail
    added(loop, *each)
    turn(loop, 2)
    assert sorted(log) == ["a", "b", "c"]
    assert [str(one) for one in told] == ["of the test"]


def test_what_is_added_meanwhile_is_written_in_the_next_turn(loop: asyncio.AbstractEventLoop, time: Time) -> None:
    log: Log = []
    first = Told("a", log)
    made = added(loop, first)
    first.behind = lambda: made.add(Told("b", log), loop)
    turn(loop)
    assert log == ["a"]
    turn(loop)
    assert log == ["a", "b"]


def test_a_loop_that_is_gone_is_not_kept() -> None:
    made = asyncio.new_event_loop()
    assert flushes_of(made) is flushes_of(made)
    made.close()
    before = len(flushes._of)
    del made
    assert len(flushes._of) == before - 1
