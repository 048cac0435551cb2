"""Threads that find the lock of their client taken leave their calls to whoever has it. Each test holds threads where
they pass the lock on, so that what runs in which order is not left to chance."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from tests.public.kit import COUNT, ECHO, OTHER, echo
from trunkcall import Code, Delivery, Limits
from trunkcall.blocking import Client
from trunkcall.blocking.driver import Driver
from trunkcall.transport import Connection

from .kit import Case, Gate, Working, until


class Lock:
    """The lock of a driver, which always looks taken. Once, something is done ahead of a release."""

    def __init__(self, driver: Driver) -> None:
        self.ahead: Callable[[], object] | None = None
        self.real = driver.lock
        self.acquire = self.real.acquire
        driver.lock = self  # type: ignore[assignment]

    def locked(self) -> bool:
        return True

    def release(self) -> None:
        ahead, self.ahead = self.ahead, None
        if ahead is not None:
            ahead()
        self.real.release()


class HandingOver(Case):
    def connected(self, *handlers: Any, **options: Any) -> tuple[Client, Driver]:
        """A client without its helper, which would look after what was missed."""
        _, client = self.pair(*handlers, **options)
        client.connect()
        driver = client._both[0]
        helper, driver.help = driver._helper, lambda: False  # type: ignore[method-assign]
        driver._look()
        assert helper is not None
        helper.join()
        return client, driver

    def handed(self, driver: Driver, client: Client, *messages: bytes) -> list[Working]:
        """Calls on threads that wait for the lock."""
        before = len(driver._handed)
        calls = [Working(lambda one=one: client.call(ECHO, one)) for one in messages]  # type: ignore[misc]
        until("all are handed over", lambda: len(driver._handed) - before == len(messages))
        return calls

    @contextmanager
    def writing(self) -> Iterator[list[int]]:
        """How many bytes clients' connections write at a time."""
        real = Connection.flush
        writes: list[int] = []

        def flush(one: Connection) -> None:
            if one.session.initiator and one.session.output.buffer:
                writes.append(len(one.session.output.buffer))
            real(one)

        with mock.patch.object(Connection, "flush", flush):
            yield writes

    def test_who_has_the_lock_writes_all_calls_together(self) -> None:
        client, driver = self.connected()
        messages = [b"%d" % number for number in range(8)]
        with self.writing() as writes:
            with driver.inside():
                calls = self.handed(driver, client, *messages)
            self.assertEqual([one.result() for one in calls], messages)
        self.assertEqual(len(writes), 1)

    def test_a_call_is_made_when_the_lock_was_let_go_of_meanwhile(self) -> None:
        client, driver = self.connected()
        Lock(driver)
        for number in range(20):
            self.assertEqual(Working(lambda number=number: client.call(ECHO, b"%d" % number)).result(), b"%d" % number)  # type: ignore[misc]

    def test_a_call_is_seen_that_comes_just_before_the_lock_is_released(self) -> None:
        client, driver = self.connected()
        calls: list[Working] = []
        lock = Lock(driver)
        with driver.inside():
            lock.ahead = lambda: calls.extend(self.handed(driver, client, b"x", b"y"))
        self.assertEqual([one.result() for one in calls], [b"x", b"y"])

    def test_a_call_is_seen_that_comes_just_before_the_leader_sleeps(self) -> None:
        gate = Gate()
        client, driver = self.connected(ECHO.handler(echo), OTHER.handler(gate))
        calls: list[Working] = []
        lock = Lock(driver)
        driver.lock, driver.loop.selector._lock = lock.real, lock  # type: ignore[assignment]
        lock.ahead = lambda: calls.extend(self.handed(driver, client, b"x"))
        leads = Working(lambda: client.call(OTHER, b"long"))
        self.begun(gate)
        until("there is a call", lambda: bool(calls))
        self.assertEqual(calls[0].result(), b"x")
        self.there.run(gate.let_on())
        self.assertEqual(leads.result(), b"long")

    def test_calls_that_are_made_by_those_who_were_woken_leave_with_one_write(self) -> None:
        client, driver = self.connected()
        calls: list[Working] = []

        def meanwhile(seconds: float) -> None:
            calls.extend(self.handed(driver, client, b"x", b"y"))

        driver._woken = 2
        with mock.patch("trunkcall.blocking.turns.sleep", meanwhile), self.writing() as writes:
            self.assertEqual(Working(lambda: client.call(ECHO, b"first")).result(), b"first")
            self.assertEqual([one.result() for one in calls], [b"x", b"y"])
        self.assertEqual(len(writes), 1)

    def test_what_is_wrong_with_a_call_is_told_to_its_own_thread(self) -> None:
        client, driver = self.connected(limits=Limits(message_bytes=1_000))
        with driver.inside():
            large = Working(lambda: client.call(ECHO, bytes(1_001)))
            late = Working(lambda: client.call(ECHO, b"late", timeout=1e-6))
            until("both are handed over", lambda: len(driver._handed) == 2)
            calls = self.handed(driver, client, b"x")
        self.fails(large.result, Code.RESOURCE_EXHAUSTED, Delivery.NOT_SENT)
        self.fails(late.result, Code.DEADLINE_EXCEEDED, Delivery.NOT_SENT)
        self.assertEqual(calls[0].result(), b"x")

    def test_a_call_that_can_no_longer_be_opened_plainly_goes_the_long_way(self) -> None:
        client, driver = self.connected()
        with driver.inside():
            calls = self.handed(driver, client, b"x")
            client._both[1]._quick = None
        self.assertEqual(calls[0].result(), b"x")

    def test_threads_that_are_switched_at_any_instruction_lose_no_call(self) -> None:
        _, client = self.pair()
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-6)
        rounds = threading.Barrier(12)

        def calls(thread: int) -> None:
            for number in range(60):
                if not number % 15:
                    rounds.wait()
                message = b"%d %d" % (thread, number)
                timeout = None if number % 3 else 600.0
                self.assertEqual(client.call(ECHO, message, timeout=timeout), message)
                if not number % 20:
                    self.assertEqual(len(list(client.open(COUNT, b"3"))), 3)

        for one in [Working(lambda thread=thread: calls(thread)) for thread in range(12)]:  # type: ignore[misc]
            one.result()
