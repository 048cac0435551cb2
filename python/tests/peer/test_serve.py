"""The serve command: where it listens, and how it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest import IsolatedAsyncioTestCase

import trunkcall
from example.v1.user_pb2 import GetUserRequest, GetUserResponse
from harness.processes import PATIENCE, Outcome, Server
from harness.programs import USER_7, USERS, ProgramTest, run, run_unheard

from .own import PYTHON

WATCH_USERS = trunkcall.bidi_stream("/trunkcall.example.v1.UserService/WatchUsers", GetUserRequest, GetUserResponse)


def get_user_7(target: str, *flags: str) -> Outcome:
    return run(PYTHON, "call", "--target", target, USERS + "GetUser", '{"userId":7}', *flags)


class Listening(ProgramTest):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(Path(folder.name) / "s")

    def test_on_a_free_port(self) -> None:
        served = self.serve(PYTHON)
        self.assertNotEqual(served.address.rpartition(":")[2], "0")
        self.assertEqual(get_user_7(served.address), Outcome(USER_7))
        self.assertEqual(served.stop(), Outcome(""))

    def test_on_a_unix_socket_too(self) -> None:
        served = self.serve(PYTHON, "--listen", "127.0.0.1:0", "--unix", self.path)
        for address in (served.address, f"unix:{self.path}"):
            self.assertEqual(get_user_7(address), Outcome(USER_7))
        self.assertRegex(served.stop().stderr, rf"^time=\S+ level=INFO msg=listening address=unix:{self.path}\n$")

    def test_on_a_unix_socket_only(self) -> None:
        served = self.serve(PYTHON, "--unix", self.path)
        self.assertEqual(served.address, f"unix:{self.path}")
        self.assertEqual(get_user_7(served.address), Outcome(USER_7))
        self.assertEqual(served.stop(), Outcome(""))
        self.assertFalse(Path(self.path).exists())

    def test_on_uvloop(self) -> None:
        served = self.serve(PYTHON, "--listen", "127.0.0.1:0", "--uvloop")
        self.assertEqual(get_user_7(served.address, "--uvloop"), Outcome(USER_7))

    def test_it_fails_if_it_cannot_say_where(self) -> None:
        done = run_unheard(PYTHON, "serve", "--listen", "127.0.0.1:0")
        self.assertEqual((done.status, done.stderr.count("\n")), (1, 1), done.stderr)
        self.assertIn("No space left", done.stderr)


class Ending(ProgramTest, IsolatedAsyncioTestCase):
    """What a signal does to a server with a call that is running."""

    async def watch(self, served: Server) -> trunkcall.ClientStream[GetUserRequest, GetUserResponse]:
        """A call that is running, as an exchange of messages has shown."""
        client = await self.enterAsyncContext(trunkcall.Client(served.address))
        stream = client.open(WATCH_USERS, timeout=60)
        await self.exchange(stream)
        return stream

    async def exchange(self, stream: trunkcall.ClientStream[GetUserRequest, GetUserResponse]) -> None:
        await stream.send(GetUserRequest(user_id=7))
        answer = await stream.receive()
        self.assertEqual(answer and answer.name, "user-7")

    async def test_a_signal_drains(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                served = self.serve(PYTHON)
                stream = await self.watch(served)
                await asyncio.to_thread(served.stop_listening, number)
                await asyncio.to_thread(served.wait_said, "calls that still run", "calls=1")
                await self.exchange(stream)
                await stream.half_close()
                self.assertIsNone(await stream.receive())
                self.assertEqual((await asyncio.to_thread(served.finish)).status, 0)

    async def test_a_signal_passed_on_twice_is_one(self) -> None:
        served = self.serve(PYTHON)
        stream = await self.watch(served)
        for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):  # so that both come at once
            served.signal(number)
        await asyncio.to_thread(served.wait_said, "calls that still run", "calls=1")
        await self.exchange(stream)
        await stream.half_close()
        self.assertIsNone(await stream.receive())
        self.assertEqual((await asyncio.to_thread(served.finish)).status, 0)

    async def test_a_second_signal_ends_it_at_once(self) -> None:
        served = self.serve(PYTHON)
        stream = await self.watch(served)
        await asyncio.to_thread(served.stop_listening)
        await asyncio.to_thread(served.wait_said, "calls that still run")
        served.signal(signal.SIGTERM)
        with self.assertRaises(trunkcall.StatusError) as caught:
            await stream.receive()
        self.assertEqual(caught.exception.code, trunkcall.Code.UNAVAILABLE)
        self.assertEqual(caught.exception.delivery, trunkcall.Delivery.UNKNOWN)
        ended = await asyncio.to_thread(served.finish)
        self.assertEqual(ended.status, 1)
        self.assertIn("a second signal came", ended.stderr)


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


class SeveralProcesses(ProgramTest):
    def until(self, what: str, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.01)

    def test_they_answer_at_the_same_addresses_and_end_together(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/s"
            server = self.serve(PYTHON, "--listen", "127.0.0.1:0", "--unix", path, "--processes", "3")
            workers = children(server.pid)
            self.assertEqual(len(workers), 3)
            for _ in range(3):
                for address in (server.address, f"unix:{path}"):
                    self.assertEqual(get_user_7(address), Outcome(USER_7))
            stopped = server.stop()
            self.assertRegex(stopped.stderr, rf"^time=\S+ level=INFO msg=listening address=unix:{path}\n$")
            self.assertEqual(stopped.status, 0)
            self.assertFalse(Path(path).exists())
            self.assertFalse([pid for pid in workers if Path(f"/proc/{pid}").exists()])

    def test_one_that_dies_is_named_and_another_takes_its_place(self) -> None:
        server = self.serve(PYTHON, "--listen", "127.0.0.1:0", "--processes", "2")
        first = children(server.pid)
        os.kill(first[0], signal.SIGKILL)
        server.wait_said("another takes its place", f"process {first[0]}", "SIGKILL")
        self.until("there are two again", lambda: len(children(server.pid)) == 2)
        self.assertEqual(get_user_7(server.address), Outcome(USER_7))

    def test_one_that_cannot_begin_ends_all(self) -> None:
        flags = ("--listen", "127.0.0.1:0", "--processes", "2", "--ledger", "/nowhere/ledger")
        ended = run(PYTHON, "serve", *flags)
        self.assertEqual(ended.status, 1)
        self.assertIn("before they served", ended.stderr)
        self.assertIn("/nowhere/ledger", ended.stderr)

    def test_without_their_parent_they_end(self) -> None:
        server = self.serve(PYTHON, "--listen", "127.0.0.1:0", "--processes", "2")
        workers = children(server.pid)
        os.kill(server.pid, signal.SIGKILL)
        self.until("they are gone", lambda: not [pid for pid in workers if Path(f"/proc/{pid}").exists()])
        server.kill()
