"""A server on an event loop of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import unittest
from typing import Any

from tests.public.kit import ECHO, PATIENCE, echo
from trunkcall import RAW, Code, Delivery, Handler, Server, ServerCall, StatusError, blocking, unary

from .kit import Working, run_program

SLOW = unary("/test.Service/Slow", bytes, bytes)


SIGNALLED = """
import os, signal, threading
from trunkcall import RAW, Server, blocking, unary

ECHO = unary("/test.Service/Echo", bytes, bytes)
server = blocking.Server(Server(codec=RAW))
server.register(ECHO.handler(lambda request, call: request))
signal.signal(signal.SIGTERM, lambda *_: print("stopped", server.stop()))
address = server.listen("127.0.0.1:0")

def call_and_end():
    with blocking.Client(address, codec=RAW) as client:
        print(client.call(ECHO, b"a"))
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=call_and_end).start()
try:
    server.serve(signals=False)
except KeyboardInterrupt:
    print("interrupted")
threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGTERM)).start()
server.serve()
print("served")
"""


ENDING = """
import os, signal, threading
from trunkcall import RAW, Observer, Server, blocking, unary

ECHO = unary("/test.Service/Echo", bytes, bytes)

def call(address):
    with blocking.Client(address, codec=RAW, timeout=60) as client:
        print(client.call(ECHO, b"answered"))

class Calling(Observer):
    def listening(self, address):
        global calling
        calling = threading.Thread(target=call, args=(address,))
        calling.start()

async def echo(request, call):
    os.kill(os.getpid(), signal.SIGN)
    await asynchronous.stopping.wait()
    return request

asynchronous = Server(codec=RAW, observer=Calling())
before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
with blocking.Server(asynchronous) as server:
    server.register(ECHO.handler(echo))
    server.serve("127.0.0.1:0")
calling.join()
print((signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before)
"""

BETWEEN = """
import os, signal
from trunkcall import Server, blocking

class Told(Server):
    async def listen(self, where, *, reuse_port=False):
        await super().listen(where, reuse_port=reuse_port)
        os.kill(os.getpid(), signal.SIGTERM)
        await self.leaving.wait()

with blocking.Server(Told()) as server:
    server.serve("127.0.0.1:0", "127.0.0.1:0")
print("served")
"""


class Holding:
    """A plain handler that says when it has begun and waits until it is let on."""

    def __init__(self) -> None:
        self.begun, self.on = threading.Event(), threading.Event()

    def __call__(self, request: bytes, call: ServerCall) -> bytes:
        self.begun.set()
        if not self.on.wait(PATIENCE):
            raise TimeoutError
        return request


class Servers(unittest.TestCase):
    def server(self, *handlers: Handler, **options: Any) -> tuple[blocking.Server, str]:
        server = blocking.Server(Server(codec=RAW, **options))
        self.addCleanup(server.close)
        server.register(ECHO.handler(echo), *handlers)
        return server, server.listen("127.0.0.1:0")

    def client(self, target: str) -> blocking.Client:
        client = blocking.Client(target, codec=RAW, timeout=PATIENCE)
        self.addCleanup(client.close)
        return client

    def test_what_a_handler_has_begun_beside_it_ends_with_the_server(self) -> None:
        tasks: list[asyncio.Task[None]] = []
        ended = threading.Event()

        async def beside() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        async def begins(request: bytes, call: ServerCall) -> bytes:
            tasks.append(asyncio.create_task(beside()))
            await asyncio.sleep(0)
            return request

        server, address = self.server(SLOW.handler(begins))
        self.assertEqual(self.client(address).call(SLOW, b"x"), b"x")
        self.assertTrue(server.stop())
        self.assertTrue(ended.is_set() and tasks[0].cancelled())

    def test_it_serves_plain_and_asynchronous_handlers(self) -> None:
        server, address = self.server(SLOW.handler(lambda request, call: request * 2))
        client = self.client(address)
        self.assertEqual((client.call(ECHO, b"a"), client.call(SLOW, b"a")), (b"a", b"aa"))
        self.assertEqual((server.addresses, server.port), ([address], int(address.rpartition(":")[2])))
        self.assertEqual((server.services, server.gauges().connections), (["test.Service"], 1))
        self.assertEqual({method.name for method in server.methods}, {ECHO.name, SLOW.name})

    def test_it_stops_without_losing_a_call(self) -> None:
        holding = Holding()
        server, address = self.server(SLOW.handler(holding))
        serving = Working(server.serve)
        call = self.client(address).start(SLOW, b"a")
        self.assertTrue(holding.begun.wait(PATIENCE))
        stopping = [Working(server.stop), Working(server.stop)]
        holding.on.set()
        self.assertEqual(call.result(PATIENCE), b"a")
        self.assertEqual([one.result() for one in stopping], [True, True])
        self.assertIsNone(serving.result())
        self.assertTrue(server.stop())
        server.close()
        with self.assertRaisesRegex(RuntimeError, "the server has been stopped"):
            server.listen("127.0.0.1:0")

    def test_who_stops_one_that_another_has_just_stopped_is_told_of_no_error(self) -> None:
        class Late(blocking.Server):
            """Is ended by another thread when this one has looked whether it is."""

            def _not_in_handler(self) -> None:
                super()._not_in_handler()
                if threading.current_thread() is here:
                    Working(self.stop).result()

        here = threading.current_thread()
        for end in (Late.stop, Late.close):
            server = Late(Server(codec=RAW))
            server.listen("127.0.0.1:0")
            self.assertIn(end(server), (True, None))

    def test_its_block_ends_with_it(self) -> None:
        threads = threading.active_count()
        with blocking.Server() as server:
            server.listen("127.0.0.1:0")
        self.assertLessEqual(threading.active_count(), threads)
        with self.assertRaises(ZeroDivisionError), blocking.Server() as other:
            other.listen("127.0.0.1:0")
            raise ZeroDivisionError
        self.assertLessEqual(threading.active_count(), threads)

    def test_one_that_is_closed_cuts_its_calls_off(self) -> None:
        holding = Holding()
        server, address = self.server(SLOW.handler(holding))
        call = self.client(address).start(SLOW, b"a")
        self.assertTrue(holding.begun.wait(PATIENCE))
        closing = Working(server.close)
        with self.assertRaises(StatusError) as caught:
            call.result(PATIENCE)
        self.assertEqual((caught.exception.code, caught.exception.delivery), (Code.UNAVAILABLE, Delivery.UNKNOWN))
        holding.on.set()
        closing.result()

    def test_an_address_that_is_taken_is_an_error_and_the_server_goes_on(self) -> None:
        _, address = self.server()
        other, _ = self.server()
        with self.assertRaises(OSError):
            other.listen(address)
        self.assertEqual(self.client(other.addresses[0]).call(ECHO, b"a"), b"a")

    def test_a_handler_cannot_wait_for_the_end_of_its_server(self) -> None:
        def stop(request: bytes, call: ServerCall) -> bytes:
            with self.assertRaisesRegex(RuntimeError, "handler"):
                server.stop()
            return b"refused"

        server, address = self.server(SLOW.handler(stop))
        self.assertEqual(self.client(address).call(SLOW, b""), b"refused")

    def test_in_an_event_loop_it_is_refused_with_advice(self) -> None:
        server, _ = self.server()

        async def use() -> None:
            with self.assertRaisesRegex(RuntimeError, r"use trunkcall\.Server"):
                server.listen("127.0.0.1:0")
            self.assertTrue((await asyncio.to_thread(server.listen, "127.0.0.1:0")).startswith("127.0.0.1:"))

        asyncio.run(use())

    def test_a_child_has_no_server_and_its_parent_keeps_it(self) -> None:
        server, address = self.server()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                server.listen("127.0.0.1:0")
            except RuntimeError as error:
                os.write(writing, str(error).encode())
            server.close()
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as told:
            self.assertIn("forked", told.read())
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(self.client(address).call(ECHO, b"a"), b"a")

    def test_a_signal_lets_calls_end_before_it_returns(self) -> None:
        for sign in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(sign.name):
                done = run_program(ENDING.replace("signal.SIGN)", f"{int(sign)})"))
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout.splitlines(), ["b'answered'", "True"])

    def test_a_signal_between_two_ports_ends_it_in_order(self) -> None:
        done = run_program(BETWEEN)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "served\n", ""))

    def test_signals_reach_who_serves(self) -> None:
        done = run_program(SIGNALLED)
        self.assertEqual(done.stdout.splitlines(), ["b'a'", "interrupted", "stopped True", "served"], done.stderr)
