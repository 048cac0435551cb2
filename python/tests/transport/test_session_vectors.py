"""Replays the session vectors with a connection, whose timers are those of an event loop under a test's clock: one of
asyncio's, and that of a blocking client. The peer is a transport that notes what it is told."""

from __future__ import annotations

import asyncio
import unittest
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any
from unittest import mock

import pytest

from tests.wire.session_script import Recorder, Runner
from tests.wire.session_writing import Written
from tests.wire.test_session_vectors import SCRIPTS
from tests.wire.vectors import Entry, each
from trunkcall.blocking.driver import Driver
from trunkcall.testing.moving import Held, Time
from trunkcall.transport import Connection, ConnectionEvents, clock
from trunkcall.wire import Config, Method, Session

SOCKETS = [script for script in SCRIPTS if script["layer"] == "transport"]


class World:
    """An event loop whose time passes when it is told to."""

    loop: asyncio.AbstractEventLoop
    time: Time
    held: Held

    def inside(self) -> AbstractContextManager[None]:
        """As a callback of the loop."""
        return nullcontext()

    def settle(self) -> None:
        raise NotImplementedError

    def advance(self, seconds: float) -> None:
        last = self.time.step(seconds)
        self.settle()
        while self.held.due <= last:
            self.time.move(self.held.due)
            self.settle()
        self.time.move(self.time.end)


class Awaiting(World):
    """asyncio's."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.time = Time()
        self.held = self.time.hold(self.loop)

    def settle(self) -> None:
        self.loop.run_until_complete(self.held.settle())


class Blocking(World):
    """That of a blocking client."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.loop = driver.loop
        self.time = Time()
        self.held = self.time.hold(self.loop)
        self._inside = False

    @contextmanager
    def inside(self) -> Generator[None]:
        if self._inside:
            yield
            return
        with self.driver.inside():
            self._inside = True
            try:
                yield
            finally:
                self._inside = False

    def settle(self) -> None:
        with self.inside():
            self.driver.loop.look()
            while self.held.ready:
                self.driver.loop.settle()


@contextmanager
def awaiting() -> Generator[World]:
    world = Awaiting()
    try:
        yield world
    finally:
        world.held.release()
        world.loop.close()


@contextmanager
def blocking() -> Generator[World]:
    driver = Driver()
    world = Blocking(driver)
    try:
        yield world
    finally:
        world.held.release()
        driver.close()


class Noted(asyncio.Transport):
    """Keeps what is written to it, and where it is half-closed and closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.loop = loop
        self.noted: list[bytes | str] = []
        self.closed = False
        self.connection: Connection | None = None

    def write(self, data: Any) -> None:
        assert not self.closed
        self.noted.append(bytes(data))

    def write_eof(self) -> None:
        self.noted.append("HALF_CLOSE")

    def can_write_eof(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.noted.append("CLOSE")
            assert self.connection is not None
            self.loop.call_soon(self.connection.connection_lost, None)

    def abort(self) -> None:
        self.close()

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


class Told(Recorder, ConnectionEvents):
    """What the layer above a connection is told."""

    def connected(self) -> None:
        pass

    def disconnected(self, why: str) -> None:
        pass


class Replay(Runner):
    """One run of one script, with a connection."""

    def __init__(self, test: unittest.TestCase, script: Entry, world: World, bytewise: bool) -> None:
        self.world = world
        self.far = Noted(world.loop)
        super().__init__(test, script, bytewise, reused=False)

    def recording(self, methods: dict[str, str]) -> Recorder:
        return Told(methods)

    def opened(self, config: Config, served: dict[bytes, Method]) -> Session:
        assert isinstance(self.recorder, Told)
        initiator = self.script["role"] == "initiator"
        with self.world.inside():
            self.connection = Connection(
                self.world.loop, self.recorder, initiator=initiator, config=config, methods=served
            )
            self.far.connection = self.connection
            self.connection.connection_made(self.far)
        return self.connection.session

    def do(self, step: Entry) -> None:
        if step["do"] == "advance":
            self.world.advance(step["ms"] / 1_000)
            return
        with self.world.inside():
            self.session.now = clock()
            super().do(step)
            self.connection.schedule()  # as the layer above does

    def take_in(self, parts: list[bytes], late: int = 0) -> None:
        receive = Session.receive

        def later(session: Session, data: bytes | memoryview, now: int) -> None:
            receive(session, data, now)
            self.world.time.step(late / 1e6)
            self.world.time.move(self.world.time.end)

        with mock.patch.object(Session, "receive", later) if late else nullcontext():
            for part in parts:
                if not self.far.closed:  # else nothing is read any more
                    self.connection.data_received(part)

    def flush(self) -> None:
        self.world.settle()
        noted, self.far.noted = self.far.noted, []
        for one in noted:
            if isinstance(one, bytes):
                self.parser.feed(one)
            else:
                self.parser.frames.append(Written(one))

    def do_hold(self, step: Entry) -> None:
        self.connection.pause_writing()

    def do_release(self, step: Entry) -> None:
        self.connection.resume_writing()

    def do_end(self, step: Entry) -> None:
        if self.connection._full:
            self.session.take()
            self.session.wrote(step.get("passed", 0))
        if not self.connection.eof_received():
            self.far.close()

    def do_grace_over(self, step: Entry) -> None:
        self.connection.grace_over()


def replay(script: Entry, world: Callable[[], AbstractContextManager[World]], bytewise: bool) -> None:
    case = unittest.TestCase()
    case.maxDiff = None
    with world() as opened:
        Replay(case, script, opened, bytewise).run()


@pytest.mark.parametrize("bytewise", [False, True])
@pytest.mark.parametrize("world", [awaiting, blocking])
@each(SOCKETS)
def test_of_sockets(entry: Entry, world: Any, bytewise: bool) -> None:
    replay(entry, world, bytewise)


@pytest.mark.parametrize("world", [awaiting, blocking])
@each([script for script in SCRIPTS if script["layer"] != "transport"])
def test_of_sessions(entry: Entry, world: Any) -> None:
    replay(entry, world, bytewise=False)
