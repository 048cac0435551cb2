"""Many threads share a client: one of them reads for all, and hands that over."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from tests.public.kit import COUNT, ECHO, OTHER, PATIENCE, echo
from trunkcall import RAW, Code, StatusError
from trunkcall.blocking import Client

from .kit import Case, Gate, Working, until


class Sharing(Case):
    def test_many_threads_get_their_own_answers(self) -> None:
        _, client = self.pair()

        def calls(thread: int) -> None:
            for number in range(100):
                message = b"%d %d" % (thread, number)
                self.assertEqual(client.call(ECHO, message), message)
                if not number % 20:
                    self.assertEqual(len(list(client.open(COUNT, b"20"))), 20)

        for one in [Working(lambda thread=thread: calls(thread)) for thread in range(32)]:  # type: ignore[misc]
            one.result()

    def test_who_waits_longer_reads_on_when_the_reader_has_its_answer(self) -> None:
        gate = Gate()
        _, client = self.pair(ECHO.handler(gate), OTHER.handler(echo))
        client.connect()
        waiting = []
        for _ in range(4):
            waiting.append(Working(lambda: client.call(ECHO, b"x")))
            self.begun(gate)
        for number, one in enumerate(waiting):  # the first to wait reads for all, and is the first to be answered
            self.there.run(gate.let_on(number))
            self.assertEqual(one.result(), b"x")
            self.assertEqual(client.call(OTHER, b"between"), b"between")

    def test_calls_are_answered_while_another_thread_waits_for_long(self) -> None:
        gate = Gate()
        _, client = self.pair(ECHO.handler(gate), OTHER.handler(echo))
        waiting = Working(lambda: client.call(ECHO, b"x"))
        self.begun(gate)
        for number in range(200):
            self.assertEqual(client.call(OTHER, b"%d" % number), b"%d" % number)
        self.there.run(gate.let_on())
        self.assertEqual(waiting.result(), b"x")

    def test_no_call_is_lost_when_threads_come_and_go(self) -> None:
        _, client = self.pair()
        rounds = threading.Barrier(8)

        def calls() -> None:
            for _ in range(50):
                rounds.wait(PATIENCE)
                self.assertEqual(client.call(ECHO, b"x"), b"x")

        for one in [Working(calls) for _ in range(8)]:
            one.result()

    def test_a_request_is_encoded_while_others_call(self) -> None:
        _, client = self.pair()
        client.connect()
        begun, on = threading.Event(), threading.Event()

        class Slow(bytearray):
            def __bytes__(self) -> bytes:
                begun.set()
                return b"slow" if on.wait(PATIENCE) else b"too late"

        slow: Any = Slow()
        one = Working(lambda: client.call(ECHO, slow))
        self.assertTrue(begun.wait(PATIENCE))
        self.assertEqual(client.call(ECHO, b"x"), b"x")
        on.set()
        self.assertEqual(one.result(), b"slow")

    def test_an_answer_comes_after_a_pause_in_which_nobody_waits(self) -> None:
        _, client = self.pair()
        self.assertEqual(client.call(ECHO, b"x"), b"x")
        driver, _ = client._both
        until("the helper waits", lambda: driver.loop.selector.asleep)
        self.assertEqual(client.call(ECHO, b"y"), b"y")

    def test_closing_from_several_threads_is_no_fault(self) -> None:
        _, address = self.serve()
        for _ in range(20):
            client = Client(address, codec=RAW)
            client.call(ECHO, b"")
            for one in [Working(client.close) for _ in range(4)]:
                one.result()

    def test_calls_while_another_thread_closes_end_with_a_status(self) -> None:
        _, address = self.serve()
        for _ in range(20):
            client = Client(address, codec=RAW)
            client.call(ECHO, b"")

            def calls(client: Client = client) -> Code:
                try:
                    while True:
                        client.call(ECHO, b"")
                except StatusError as error:
                    return error.code

            working = [Working(calls) for _ in range(4)]
            client.close()
            self.assertEqual([one.result() for one in working], [Code.CANCELLED] * 4)


class Refused(Case):
    def test_a_call_in_an_event_loop_is_refused_with_advice(self) -> None:
        _, client = self.pair()

        async def misuse() -> None:
            client.call(ECHO, b"")

        with self.assertRaisesRegex(RuntimeError, "use trunkcall.Client, whose calls are awaited, or"):
            asyncio.run(misuse())
        self.assertEqual(client.call(ECHO, b"x"), b"x")

    def test_a_call_in_an_event_loop_is_made_on_a_thread(self) -> None:
        _, client = self.pair()
        self.assertEqual(asyncio.run(asyncio.to_thread(client.call, ECHO, b"x")), b"x")

    def test_a_call_from_within_the_work_of_the_client_is_refused(self) -> None:
        from trunkcall import Connection, Observer

        said: list[str] = []

        class Calling(Observer):
            def connected(self, connection: Connection) -> None:
                try:
                    client.call(ECHO, b"")
                except RuntimeError as error:
                    said.append(str(error))

        _, address = self.serve()
        client = self.client(address, observer=Calling())
        self.assertEqual(client.call(ECHO, b"x"), b"x")
        self.assertIn("would wait for itself", said[0])
