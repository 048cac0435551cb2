"""When the connections of an event loop are written, with connections that only tell so."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from functools import partial
from weakref import ref

import pytest

from trunkcall.transport import Connection, ConnectionEvents, monotonic
from trunkcall.transport.flushes import FEW, LOOKS, MOMENT, Flushes, flushes_of
from trunkcall.wire import Config

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


def fail() -> None:
    raise MemoryError("of the test")


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


def test_those_behind_one_that_fails_are_not_put_off(loop: asyncio.AbstractEventLoop, time: Time) -> None:
    log: Log = []
    loop.set_exception_handler(lambda loop, context: None)
    first = Told("a", log)
    first.behind = fail
    made = added(loop, first, Told("b", log), Told("c", log))
    for _ in range(LOOKS):
        turn(loop)
        made.came(loop)
    turn(loop)
    assert log == ["a"]
    turn(loop)
    assert log == ["a", "b", "c"]


def test_tasks_that_take_long_do_not_hold_it_up_twice(loop: asyncio.AbstractEventLoop, time: Time) -> None:
    log: Log = []
    added(loop, Told("a", log), Told("b", log))
    turn(loop)
    time.now = MOMENT
    turn(loop)
    assert log == ["a", "b"]


def test_one_that_is_added_twice_is_one(loop: asyncio.AbstractEventLoop, time: Time) -> None:
    log: Log = []
    one = Told("a", log)
    added(loop, one, one)
    turn(loop)
    assert log == ["a"]


def test_where_the_loop_takes_no_more_the_next_one_is_written(
    loop: asyncio.AbstractEventLoop, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise RecursionError("of the test")

    log: Log = []
    made = Flushes()
    with monkeypatch.context() as patched, pytest.raises(RecursionError):
        patched.setattr(loop, "call_soon", full)
        made.add(Told("a", log), loop)
    made.add(Told("b", log), loop)
    turn(loop)
    assert log == ["b"]


class End(ConnectionEvents):
    """The layer above a connection, which wants to know nothing."""


class Wire(asyncio.Transport):
    """A transport that notes what is written."""

    def __init__(self, name: str, log: Log) -> None:
        super().__init__()
        self.name = name
        self._log = log

    def write(self, data: object) -> None:
        self._log.append(self.name)

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_extra_info(self, name: str, default: object = None) -> object:
        return default


def test_connections_of_a_loop_are_written_together(
    loop: asyncio.AbstractEventLoop, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "calls", FEW)
    log: Log = []
    each: list[Connection] = []
    for name in "abc":
        made = Connection(loop, End(), initiator=True, config=Config())
        made.connection_made(Wire(name, log))
        each.append(made)
    assert log == ["a", "b", "c"]  # their prefaces
    log.clear()
    a, b, c = each

    def append(one: Connection) -> None:
        one.session.output.buffer += b"x"
        one.schedule()

    append(a)
    append(b)
    turn(loop)
    assert log == []
    b.data_received(b"")  # an answer, and a task that it has woken
    append(c)
    turn(loop, 2)
    assert log == []
    turn(loop)
    assert log == ["a", "b", "c"]


def test_a_loop_that_is_gone_is_not_kept() -> None:
    made = asyncio.new_event_loop()
    of = flushes_of(made)
    assert flushes_of(made) is of
    one = Told("a", [])
    one.behind = partial(of.add, one, made)  # it has both, as connections do
    of.add(one, made)
    gone = ref(made)
    made.close()
    del made, of, one
    gc.collect()
    assert gone() is None
