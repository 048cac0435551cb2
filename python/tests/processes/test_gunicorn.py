"""Servers, and clients from before the fork, under gunicorn."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping

import grpc

from example.v1 import user_pb2_grpc
from example.v1.user_pb2 import GetUserRequest
from harness.processes import Process, run
from tests.public.kit import ECHO, PATIENCE, TWICE, echo
from trunkcall import RAW, Client, Code, Delivery, StatusError

from .application import ASK_ASYNCHRONOUSLY, ASK_USED, BEHIND, GET_USER
from .kit import PYTHON, Case, children, is_there, until
from .program import ASK, FAILS, STAND_STILL

WORDS = (sys.executable, "-W", "error", "-m", "gunicorn", "-k", "trunkcall.gunicorn.Worker", "--no-control-socket")


class Gunicorn(Case):
    async def gunicorn(self, named: str, *flags: str, env: Mapping[str, str] | None = None) -> Process:
        """gunicorn with two workers at a Unix socket, once both serve."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.address = f"unix:{folder}/s"
        where = ("-w", "2", "-b", self.address, "-b", "127.0.0.1:0")
        words = [*WORDS, *where, *flags, f"tests.processes.application:{named}"]
        process = await asyncio.to_thread(Process, words, cwd=PYTHON, env={**os.environ, **(env or {})})
        self.addCleanup(process.kill)
        await asyncio.to_thread(process.wait_said, "Listening at")
        self.port = process.said().partition("http://127.0.0.1:")[2].partition(" ")[0]
        await self.both_answer(process)
        return process

    async def both_answer(self, process: Process) -> set[int]:
        found: set[int] = set()
        async with asyncio.timeout(PATIENCE):
            while len(found) < 2:
                found = (found & children(process.pid)) | {await self.ask(self.address)}
        return found

    async def end(self, process: Process, status: int = 0) -> None:
        process.signal(signal.SIGTERM)
        ended = await asyncio.to_thread(process.finish)
        self.assertEqual(ended.status, status, ended.stderr)
        self.assertNotIn("Traceback", ended.stderr)

    async def test_a_server_is_called_natively_over_grpc_and_by_curl(self) -> None:
        for named in ("server", "make"):
            with self.subTest(named):
                process = await self.gunicorn(named)
                async with Client(f"127.0.0.1:{self.port}") as client:
                    user = await client.call(GET_USER, GetUserRequest(user_id=7), timeout=PATIENCE)
                self.assertEqual(user.name, "user-7")
                self.assertEqual(await asyncio.to_thread(self.over_grpc), "user-7")
                if shutil.which("curl"):
                    self.assertEqual(json.loads(await asyncio.to_thread(self.by_curl))["name"], "user-7")
                await self.end(process)

    def over_grpc(self) -> str:
        with grpc.insecure_channel(f"127.0.0.1:{self.port}") as channel:
            stub = user_pb2_grpc.UserServiceStub(channel)
            return str(stub.GetUser(GetUserRequest(user_id=7), timeout=PATIENCE).name)

    def by_curl(self) -> str:
        url = f"http://127.0.0.1:{self.port}{GET_USER.name}"
        flags = ("-sS", "--max-time", f"{PATIENCE:g}", "-H", "Content-Type: application/json", "-d", '{"userId":7}')
        return run(["curl", *flags, url]).stdout

    async def test_on_sighup_workers_are_replaced_and_no_call_is_lost(self) -> None:
        process = await self.gunicorn("server")
        before = await self.both_answer(process)
        held = self.client(self.address).open(TWICE, timeout=PATIENCE)  # keeps an old one
        await held.send(b"x")
        self.assertEqual(await held.receive(), b"xx")
        async with self.load(self.address) as load:
            await load.goes_on()
            process.signal(signal.SIGHUP)
            await until("but for the one with a call they are gone", lambda: len(before & children(process.pid)) == 1)
            await load.goes_on()
            await held.send(b"y")
            self.assertEqual(await held.receive(), b"yy")
            await held.half_close()
            self.assertIsNone(await held.receive())
            await until("all are gone", lambda: not before & children(process.pid))
        await self.end(process)

    async def test_what_runs_is_answered_on_sigterm_and_cut_off_behind_the_graceful_timeout(self) -> None:
        for seconds, lost in (("60", False), ("3", True)):
            with self.subTest(seconds):
                process = await self.gunicorn("server", "--graceful-timeout", seconds)
                stream = self.client(self.address).open(TWICE, timeout=PATIENCE)
                await stream.send(b"x")
                self.assertEqual(await stream.receive(), b"xx")
                process.signal(signal.SIGTERM)
                await until("one has ended", lambda process=process: len(children(process.pid)) <= 1)  # type: ignore[misc]
                if lost:
                    await self.fails(stream.receive(), Code.UNAVAILABLE, Delivery.UNKNOWN)
                    await asyncio.to_thread(process.wait_said, "Calls that still ran were cut off")
                else:
                    await stream.send(b"y")
                    self.assertEqual(await stream.receive(), b"yy")
                    await stream.half_close()
                    self.assertIsNone(await stream.receive())
                await self.end(process)

    async def test_one_that_stands_still_is_replaced(self) -> None:
        # Loaded before the fork: for a worker that begins the timeout counts, too.
        process = await self.gunicorn("make", "--preload", "--timeout", "5")
        async with Client(self.address, codec=RAW, repeat=False) as client:
            pid = await self.pid(client)
            with self.assertRaises(StatusError):
                await client.call(STAND_STILL, b"")
        await asyncio.to_thread(process.wait_said, "WORKER TIMEOUT", str(pid))
        await until("it is gone", lambda: not is_there(pid))
        await self.both_answer(process)

    async def test_workers_end_after_so_many_calls(self) -> None:
        process = await self.gunicorn("server", "--max-requests", "50")
        client = self.client(self.address)
        pid = await self.pid(client)
        async with asyncio.timeout(PATIENCE):
            while await self.pid(client) == pid:
                pass
        await asyncio.to_thread(process.wait_said, "Autorestarting worker", str(pid))
        await until("it is gone", lambda: not is_there(pid))

    async def test_a_server_that_cannot_be_made_ends_gunicorn(self) -> None:
        with tempfile.NamedTemporaryFile() as fails:
            words = [*WORDS, "-b", "127.0.0.1:0", "tests.processes.application:make"]
            env = {**os.environ, FAILS: fails.name}
            ended = await asyncio.to_thread(run, words, cwd=PYTHON, env=env)
        self.assertEqual(ended.status, 3, ended.stderr)
        self.assertIn("no database is there", ended.stderr)

    async def test_what_is_not_there_and_tls_of_gunicorn_are_refused(self) -> None:
        for flags, status, words in (
            (("tests.processes.application:nothing",), 4, "there is no nothing in"),
            (("--keyfile", __file__, "--certfile", __file__, "tests.processes.application:make"), 1, "Server(tls="),
        ):
            with self.subTest(words):
                ended = await asyncio.to_thread(run, [*WORDS, "-b", "127.0.0.1:0", *flags], cwd=PYTHON)
                self.assertEqual(ended.status, status, ended.stderr)
                self.assertIn(words, ended.stderr)

    async def test_without_gunicorn_workers_end(self) -> None:
        process = await self.gunicorn("make")
        workers = await self.both_answer(process)
        process.signal(signal.SIGKILL)
        await until("they are gone", lambda: not [pid for pid in workers if is_there(pid)])

    async def test_clients_from_before_the_fork(self) -> None:
        """A blocking one works on, and an asynchronous one that is new; one that was used belongs to another loop."""
        _, behind = await self.serve(ECHO.handler(echo))
        process = await self.gunicorn("with_clients", "--preload", env={BEHIND: behind})
        answered: set[int] = set()
        async with asyncio.timeout(PATIENCE):
            while len(answered) < 2:
                async with Client(self.address, codec=RAW) as client:
                    answered.add(await self.pid(client))
                    self.assertEqual(await client.call(ASK, b"x"), b"x")
                    self.assertEqual(await client.call(ASK_ASYNCHRONOUSLY, b"x"), b"x")
                    answer: bytes = await client.call(ASK_USED, b"x")
                    self.assertIn(b"belongs to another event loop", answer)
        process.signal(signal.SIGTERM)
        ended = await asyncio.to_thread(process.finish)  # and says that nobody has closed the clients
        self.assertEqual(ended.status, 0, ended.stderr)
