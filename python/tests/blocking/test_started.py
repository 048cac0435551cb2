"""Unary calls that go on while the thread that began them does something else."""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
import threading
from typing import Any

from tests.public.kit import ECHO, OTHER, PATIENCE, echo
from trunkcall import RAW, Call, Code, Connection, Delivery, ServerCall, StatusError, unary
from trunkcall.blocking import Client, Next
from trunkcall.blocking.interrupts import INTERRUPTS

from .kit import Case, Gate, Working

CONFIRM = unary("/test.Client/Confirm", bytes, bytes)


class Started(Case):
    def test_a_call_goes_on_while_its_thread_makes_others(self) -> None:
        gate = Gate()
        _, client = self.pair(ECHO.handler(gate), OTHER.handler(echo))
        started = client.start(ECHO, b"x")
        self.begun(gate)
        self.assertEqual(client.call(OTHER, b"between"), b"between")
        self.assertEqual((started.done(), started.running()), (False, True))
        self.there.run(gate.let_on())
        self.assertEqual(started.result(PATIENCE), b"x")
        self.assertIsNone(started.exception())
        self.assertEqual((started.done(), started.running(), started.cancelled()), (True, False, False))

    def test_it_ends_without_a_thread_that_waits_in_the_client(self) -> None:
        _, client = self.pair()
        calls = {client.start(ECHO, b"%d" % number): b"%d" % number for number in range(50)}
        done, left = concurrent.futures.wait(calls, PATIENCE)
        self.assertEqual((len(done), len(left)), (50, 0))
        self.assertEqual([call.result() for call in calls], list(calls.values()))

    def test_it_is_awaited_in_an_event_loop(self) -> None:
        _, client = self.pair()

        async def main() -> bytes:
            started = await asyncio.to_thread(client.start, ECHO, b"x")
            return await asyncio.wait_for(asyncio.wrap_future(started), PATIENCE)

        self.assertEqual(asyncio.run(main()), b"x")

    def test_another_thread_cancels_it(self) -> None:
        gate = Gate()
        _, client = self.pair(ECHO.handler(gate), OTHER.handler(echo))
        started = client.start(ECHO, b"x")
        self.begun(gate)
        waiting = Working(started.result)
        self.assertTrue(Working(started.cancel).result())
        with self.assertRaises(concurrent.futures.CancelledError):
            waiting.result()
        self.assertTrue(gate.cancelled.acquire(timeout=PATIENCE), "the handler was not told")
        self.assertTrue(started.cancelled())
        self.assertTrue(started.cancel())
        self.assertEqual(client.call(OTHER, b"y"), b"y")

    def test_the_thread_of_an_event_loop_cancels_it(self) -> None:
        gate = Gate()
        _, client = self.pair(ECHO.handler(gate))
        started = client.start(ECHO, b"x")
        self.begun(gate)

        async def cancel() -> bool:
            return started.cancel()

        self.assertTrue(asyncio.run(cancel()))
        self.assertTrue(gate.cancelled.acquire(timeout=PATIENCE), "the handler was not told")

    def test_one_that_has_ended_is_not_cancelled(self) -> None:
        _, client = self.pair()
        started = client.start(ECHO, b"x")
        self.assertEqual(started.result(PATIENCE), b"x")
        self.assertFalse(started.cancel())
        self.assertEqual(started.result(), b"x")

    def test_a_wait_that_takes_too_long_leaves_the_call_alone(self) -> None:
        gate = Gate()
        _, client = self.pair(ECHO.handler(gate))
        started = client.start(ECHO, b"x")
        with self.assertRaises(TimeoutError):
            started.result(0.01)
        self.begun(gate)
        self.there.run(gate.let_on())
        self.assertEqual(started.result(PATIENCE), b"x")

    def test_failures_are_those_of_a_call(self) -> None:
        async def refuse(request: bytes, call: ServerCall) -> bytes:
            call.set_trailer([("k", "v")])
            raise StatusError(Code.ABORTED, "no")

        _, client = self.pair(ECHO.handler(refuse))
        started = client.start(ECHO, b"x")
        error = self.fails(lambda: started.result(PATIENCE), Code.ABORTED)
        self.assertIs(started.exception(), error)
        self.assertEqual(started.trailer, [("k", "v")])
        late = client.start(OTHER, b"x", timeout=PATIENCE)
        self.fails(lambda: late.result(PATIENCE), Code.UNIMPLEMENTED, Delivery.REFUSED)

    def test_a_function_that_is_told_of_its_end_and_exits_harms_no_other_call(self) -> None:
        gate = Gate()
        _, client = self.pair(ECHO.handler(gate), OTHER.handler(echo))
        exiting = client.start(ECHO, b"x")
        exiting.add_done_callback(lambda _: sys.exit(3))
        self.begun(gate)
        self.there.run(gate.let_on())
        done, _ = concurrent.futures.wait([exiting], PATIENCE)
        self.assertEqual(done, {exiting})
        # Nobody but the thread that all this happened on carries these out.
        for _ in (1, 2):
            done, left = concurrent.futures.wait([client.start(OTHER, b"y")], PATIENCE)
            self.assertEqual((len(done), len(left)), (1, 0))
        self.assertEqual(client.call(OTHER, b"z"), b"z")

    def test_who_comes_when_the_work_of_another_exits_leaves_the_client_as_it_was(self) -> None:
        _, client = self.pair()
        self.assertEqual(client.call(ECHO, b"x"), b"x")
        driver, _ = client._whole()
        driver.help = lambda: False  # type: ignore[method-assign]
        driver._look()
        helper = driver._helper
        assert helper is not None
        helper.join(PATIENCE)
        driver.loop.call_soon_threadsafe(sys.exit, 3)
        driver._looked = 0.0
        with self.assertRaises(SystemExit):
            client.call(ECHO, b"x")
        self.assertEqual(Working(lambda: client.call(ECHO, b"y")).result(), b"y")
        with self.assertRaises(SystemExit), driver.inside():
            driver.loop.call_soon(sys.exit, 3)
        self.assertFalse(INTERRUPTS.held)  # else no signal would come through any more

    def test_the_end_of_the_client_ends_it(self) -> None:
        gate = Gate()
        _, client = self.pair(ECHO.handler(gate))
        started = client.start(ECHO, b"x")
        self.begun(gate)
        client.close()
        self.fails(lambda: started.result(PATIENCE), Code.CANCELLED, Delivery.UNKNOWN)
        with self.assertRaises(StatusError):
            client.start(ECHO, b"x")

    def test_it_is_refused_in_an_event_loop_with_advice(self) -> None:
        _, client = self.pair()

        async def main() -> None:
            client.start(ECHO, b"x")

        with self.assertRaisesRegex(RuntimeError, "asyncio.to_thread"):
            asyncio.run(main())


class Intercepted(Case):
    def test_interceptors_run_on_threads_of_their_own(self) -> None:
        threads: set[int] = set()

        def marks(call: Call, proceed: Next) -> Any:
            threads.add(threading.get_ident())
            return proceed(call) + b"!"

        def calls(call: Call, proceed: Next) -> Any:
            return proceed(call) if call.method is OTHER else proceed(call) + client.call(OTHER, b"?")

        _, address = self.serve(ECHO.handler(echo), OTHER.handler(echo))
        client = self.client(address, interceptors=[marks, calls])
        begun = [client.start(ECHO, b"%d" % number) for number in range(20)]
        self.assertEqual([one.result(PATIENCE) for one in begun], [b"%d?!!" % number for number in range(20)])
        self.assertNotIn(threading.get_ident(), threads)

    def test_what_one_went_on_with_is_cancelled(self) -> None:
        gate = Gate()
        seen: list[StatusError] = []
        told = threading.Semaphore(0)

        def watches(call: Call, proceed: Next) -> Any:
            try:
                return proceed(call)
            except StatusError as error:
                seen.append(error)
                raise
            finally:
                told.release()

        _, address = self.serve(ECHO.handler(gate))
        client = self.client(address, interceptors=[watches])
        started = client.start(ECHO, b"x")
        self.begun(gate)
        started.cancel()
        self.assertTrue(gate.cancelled.acquire(timeout=PATIENCE), "the handler was not told")
        self.assertTrue(told.acquire(timeout=PATIENCE), "the interceptor was not told")
        self.assertEqual([error.code for error in seen], [Code.CANCELLED])

    def test_several_of_what_servers_call_do_not_wait_for_each_others_threads(self) -> None:
        connections: list[Connection] = []
        inside = threading.Semaphore(0)
        go_on = threading.Event()

        async def serve(request: bytes, call: ServerCall) -> bytes:
            connections.append(call.connection)
            return request

        def outer(call: Call, proceed: Next) -> Any:
            inside.release()
            if not go_on.wait(PATIENCE):
                raise AssertionError("nobody let it on")
            return proceed(call) + b"!"

        def inner(call: Call, proceed: Next) -> Any:
            return proceed(call) + b"?"

        _, address = self.serve(ECHO.handler(serve))
        client = Client(address, codec=RAW, reverse_interceptors=[outer, inner])
        self.addCleanup(client.close)
        client.register(CONFIRM.handler(lambda request, call: request))
        client.call(ECHO, b"")

        async def many() -> list[bytes]:
            return await asyncio.gather(*(connections[0].call(CONFIRM, b"%d" % n, codec=RAW) for n in range(64)))

        calling = asyncio.run_coroutine_threadsafe(many(), self.there.loop)
        for _ in range(64):
            self.assertTrue(inside.acquire(timeout=PATIENCE), "an interceptor waits for the thread of another")
        go_on.set()
        self.assertEqual(calling.result(PATIENCE), [b"%d?!" % n for n in range(64)])
