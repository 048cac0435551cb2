"""A server and a client in one, and the checks of how calls fail, as users' tests have them."""

from __future__ import annotations

import subprocess
import sys
import unittest
from functools import partial

from tests.public.kit import ECHO, PATIENCE, echo
from trunkcall import RAW, Client, Code, Delivery, Server, ServerCall, StatusError
from trunkcall import blocking as threads
from trunkcall.testing import TestServer, assert_fails, assert_not_executed, blocking


def plain(request: bytes, call: ServerCall) -> bytes:
    if not request:
        raise StatusError(Code.NOT_FOUND, "nothing")
    return request


RAW_CLIENT = partial(Client, codec=RAW)
RAW_THREADS = partial(threads.Client, codec=RAW)


class Servers(unittest.IsolatedAsyncioTestCase):
    async def test_in_memory_it_has_no_port(self) -> None:
        async with TestServer(ECHO.handler(echo), client=RAW_CLIENT) as server:
            self.assertEqual(await server.client.call(ECHO, b"x"), b"x")
            self.assertTrue(server.target.startswith("mem:"))
            self.assertEqual(len(server.server.connections), 1)

    async def test_two_do_not_meet(self) -> None:
        async with TestServer(ECHO.handler(echo)) as one, TestServer() as other:
            self.assertNotEqual(one.target, other.target)
            with assert_fails(Code.UNIMPLEMENTED, Delivery.REFUSED):
                await other.client.call(ECHO, b"x", codec=RAW)

    async def test_on_loopback_others_can_call_it(self) -> None:
        async with TestServer(ECHO.handler(echo), on_loopback=True) as server:
            self.assertRegex(server.target, r"^127\.0\.0\.1:[1-9]")
            async with Client(server.target, codec=RAW) as another:
                self.assertEqual(await another.call(ECHO, b"x"), b"x")

    async def test_a_server_with_options_of_its_own(self) -> None:
        given = Server(logger=None)
        given.register(ECHO.handler(echo))
        async with TestServer(server=given, client=RAW_CLIENT) as server:
            self.assertIs(server.server, given)
            self.assertEqual(await server.client.call(ECHO, b"x"), b"x")

    async def test_both_end_behind_the_block(self) -> None:
        async with TestServer(ECHO.handler(echo), client=RAW_CLIENT) as server:
            client, target = server.client, server.target
        with assert_not_executed() as failure:
            await client.call(ECHO, b"x")
        self.assertIn("closed", failure.error.message)
        async with Client(target, codec=RAW) as another:
            with assert_fails(Code.UNAVAILABLE, Delivery.NOT_SENT):
                await another.call(ECHO, b"x")

    async def test_what_cannot_start_leaves_nothing(self) -> None:
        with self.assertRaises(ValueError):
            async with TestServer(ECHO.handler(echo), ECHO.handler(echo)):
                pass
        with self.assertRaisesRegex(OSError, "no client"):
            async with TestServer(client=no_client):
                pass

    async def test_before_it_is_entered_there_is_no_client(self) -> None:
        server = TestServer()
        with self.assertRaisesRegex(RuntimeError, "enter it"):
            _ = server.client
        with self.assertRaisesRegex(RuntimeError, "enter it"):
            _ = server.target


def no_client(target: str) -> Client:
    raise OSError("no client")


class Threads(unittest.TestCase):
    def test_plain_and_asynchronous_handlers_are_called_without_await(self) -> None:
        for handler in (ECHO.handler(plain), ECHO.handler(echo)):
            with blocking.TestServer(handler, client=RAW_THREADS) as server:
                self.assertEqual(server.client.call(ECHO, b"x"), b"x")
                self.assertTrue(server.target.startswith("mem:"))

    def test_on_loopback(self) -> None:
        with blocking.TestServer(ECHO.handler(plain), on_loopback=True) as server:
            another = threads.Client(server.target, codec=RAW)
            self.addCleanup(another.close)
            self.assertEqual(another.call(ECHO, b"x"), b"x")

    def test_both_end_behind_the_block(self) -> None:
        with blocking.TestServer(ECHO.handler(plain), client=RAW_THREADS) as server:
            client = server.client
            call = client.call(ECHO, b"x")
        self.assertEqual(call, b"x")
        with assert_not_executed():
            client.call(ECHO, b"x")

    def test_what_cannot_start_leaves_nothing(self) -> None:
        with self.assertRaises(ValueError), blocking.TestServer(ECHO.handler(plain), ECHO.handler(plain)):
            pass
        server = blocking.TestServer()
        with self.assertRaisesRegex(RuntimeError, "enter it"):
            _ = server.client
        with self.assertRaisesRegex(RuntimeError, "enter it"):
            _ = server.target


class Failures(unittest.TestCase):
    def test_the_code_and_the_delivery_are_compared(self) -> None:
        with blocking.TestServer(ECHO.handler(plain), client=RAW_THREADS) as server:
            with assert_fails(Code.NOT_FOUND, Delivery.EXECUTED) as failure:
                server.client.call(ECHO, b"")
            self.assertEqual(failure.error.message, "nothing")
            with assert_fails(Code.NOT_FOUND):
                server.client.call(ECHO, b"")
            refused = r"want NOT_FOUND \(refused\), got NOT_FOUND \(executed\)"
            for check, text in (
                (assert_fails(Code.ABORTED), r"want ABORTED, got NOT_FOUND: .*nothing"),
                (assert_fails(Code.NOT_FOUND, Delivery.REFUSED), refused),
                (assert_not_executed(), "want not_sent or refused, got executed"),
            ):
                with self.assertRaisesRegex(AssertionError, text), check:
                    server.client.call(ECHO, b"")

    def test_a_success_is_no_failure(self) -> None:
        for check in (assert_fails(Code.ABORTED), assert_not_executed()):
            with self.assertRaisesRegex(AssertionError, "succeeded"), check:
                pass

    def test_other_exceptions_pass_through(self) -> None:
        for check in (assert_fails(Code.ABORTED), assert_not_executed()):
            with self.assertRaises(KeyError), check:
                raise KeyError

    def test_within_the_block_nothing_is_known(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "behind the block"), assert_fails(Code.ABORTED) as failure:
            _ = failure.error


class Imports(unittest.TestCase):
    def test_who_does_not_test_imports_neither_this_nor_pytest(self) -> None:
        for program in (
            "import sys, trunkcall, trunkcall.blocking; sys.exit('trunkcall.testing' in sys.modules)",
            "import sys, trunkcall.testing.blocking; sys.exit('pytest' in sys.modules)",
        ):
            done = subprocess.run([sys.executable, "-W", "error", "-c", program], timeout=PATIENCE, check=False)
            self.assertEqual(done.returncode, 0, program)

    def test_pytest_takes_none_of_it_for_tests(self) -> None:
        self.assertEqual((TestServer.__test__, blocking.TestServer.__test__), (False, False))
