"""Several processes on one port: how they begin, are replaced and end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from harness.processes import Outcome, Server, run
from tests.public.kit import ECHO, PATIENCE, TWICE, echo
from trunkcall import RAW, Client, ClientStream, Code, Delivery, StatusError, memory, processes
from trunkcall.processes.sockets import Sockets

from .kit import PYTHON, Case, children, is_there, until
from .program import ASK, FAILS, FALLS, LEAVE, STAND_STILL, make


class Serving(Case):
    async def test_all_answer_at_one_port_and_end_together(self) -> None:
        for way in ("ordinary", "on_uvloop"):
            with self.subTest(way):
                served = await self.begun(way)
                answered = await self.all_answer(served)
                self.assertEqual(len(answered), 2)
                served.signal(signal.SIGTERM)
                await self.ends(served, processes.OK, "all processes have ended")
                self.assertFalse([pid for pid in answered if is_there(pid)])
                await self.is_refused(served.address)

    async def test_at_a_unix_socket_and_a_port(self) -> None:
        path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "s"
        served = await self.begun("ordinary", f"unix:{path}", "127.0.0.1:0")
        self.assertEqual(served.announced[1], f"unix:{path}")
        for address in served.announced[1:]:
            self.assertIn(await self.ask(address), children(served.pid))
        served.signal(signal.SIGTERM)
        await self.ends(served, processes.OK)
        self.assertFalse(path.exists())

    async def test_the_server_is_made_in_any_of_three_ways(self) -> None:
        served = await self.begun("in_three_ways")
        for _ in range(2):
            address = served.announced[-1]
            self.assertIn(await self.ask(address), children(served.pid))
            served.signal(signal.SIGTERM)
            served.announced = [await asyncio.to_thread(served.line)]
            if served.announced == ["after the server"]:
                served.announced = [await asyncio.to_thread(served.line)]
            served.announced = served.announced[0].split()
        self.assertIn(await self.ask(served.announced[1]), children(served.pid))
        served.signal(signal.SIGTERM)
        await self.ends(served, processes.OK)

    async def test_a_blocking_client_that_was_used_before_works_in_all_and_afterwards(self) -> None:
        _, address = await self.serve(ECHO.handler(echo))
        served = await self.begun("with_a_client", "127.0.0.1:0", address)
        for _ in range(6):
            async with Client(served.address, codec=RAW) as client:
                self.assertEqual(await client.call(ASK, b"x", timeout=PATIENCE), b"x")
        served.signal(signal.SIGTERM)
        await self.ends(served, processes.OK)


class Falling(Case):
    async def test_one_that_is_killed_is_replaced_and_the_others_go_on(self) -> None:
        served = await self.begun("ordinary")
        first, second = await self.all_answer(served)
        os.kill(first, signal.SIGKILL)
        await asyncio.to_thread(served.wait_said, f"process {first} ended", "SIGKILL", "another takes its place")
        after = await self.all_answer(served)
        await until("there are two again", lambda: len(children(served.pid)) == 2)
        self.assertIn(second, after)

    async def test_one_whose_server_stops_is_replaced_while_it_still_answers(self) -> None:
        served = await self.begun("ordinary")
        async with Client(served.address, codec=RAW) as client:
            stream = client.open(TWICE, timeout=PATIENCE)
            pid = await self.pid(client)
            await self.exchange(stream)
            await client.call(LEAVE, b"")
            await asyncio.to_thread(served.wait_said, f"process {pid} stops")
            await until("there are three", lambda: len(children(served.pid)) == 3)
            self.assertNotEqual(await self.ask(served.address), pid)
            await self.exchange(stream)
        await until("it is gone", lambda: not is_there(pid))

    async def test_one_that_stands_still_is_ended_and_replaced(self) -> None:
        served = await self.begun("watched")
        async with Client(served.address, codec=RAW, repeat=False) as client:
            pid = await self.pid(client)
            await self.fails(client.call(STAND_STILL, b""), Code.UNAVAILABLE, Delivery.UNKNOWN)
        await asyncio.to_thread(served.wait_said, f"process {pid} has stood still for 3 s")
        await asyncio.to_thread(served.wait_said, f"process {pid} ended", "SIGABRT", "another takes its place")
        await self.all_answer(served)

    async def test_all_is_given_up_when_none_can_begin(self) -> None:
        with tempfile.NamedTemporaryFile() as fails:
            ended = await asyncio.to_thread(self.run_to_its_end, "ordinary", fails.name)
        self.assertEqual(ended.status, processes.NOT_STARTED)
        self.assertIn("OSError: no database is there", ended.stderr)
        self.assertIn("given up: 5 processes in a row", ended.stderr)

    async def test_one_that_begins_for_too_long_is_ended(self) -> None:
        ended = await asyncio.to_thread(self.run_to_its_end, "late")
        self.assertEqual(ended.status, processes.NOT_STARTED)
        self.assertIn("did not serve within 1 s", ended.stderr)

    async def test_those_that_serve_stay_where_the_system_has_no_process_to_give(self) -> None:
        served = await self.begun("scarce", "127.0.0.1:0", "[3, 5]")
        first, second = await self.all_answer(served)
        os.kill(first, signal.SIGKILL)
        await asyncio.to_thread(served.wait_said, "no process could be started: [Errno 11]")
        await until("there are two again", lambda: len(children(served.pid)) == 2)
        before = await self.all_answer(served)
        self.assertIn(second, before)
        served.signal(signal.SIGHUP)
        await asyncio.to_thread(served.wait_said, "no process could be started ([Errno 11]", "those that serve stay")
        self.assertEqual(await self.all_answer(served), before)
        served.signal(signal.SIGTERM)
        await self.ends(served, processes.OK)

    async def test_all_is_given_up_when_the_system_gives_none(self) -> None:
        ended = await asyncio.to_thread(self.run_to_its_end, "scarce", "", "127.0.0.1:0", "[1, 2, 3, 4]")
        self.assertEqual(ended.status, processes.NOT_STARTED)
        self.assertIn("given up: 2 processes in a row", ended.stderr)

    def run_to_its_end(self, way: str, fails: str = "", *more: str) -> Outcome:
        return run(
            [sys.executable, "-W", "error", "-m", "tests.processes.program", way, *more],
            cwd=PYTHON,
            env={**os.environ, **({FAILS: fails} if fails else {})},
        )

    async def test_without_their_supervisor_they_end(self) -> None:
        served = await self.begun("hurried")
        async with Client(served.address, codec=RAW) as client:
            pid = await self.pid(client)
            stands_still = asyncio.create_task(client.call(STAND_STILL, b""))
            await asyncio.to_thread(served.wait_said, "stands still")
            await until("both are there", lambda: len(children(served.pid)) == 2)
            all_of_them = children(served.pid)
            served.signal(signal.SIGKILL)
            await until("they are gone", lambda: not [pid for pid in all_of_them if is_there(pid)])
            with self.assertRaises(StatusError):
                await stands_still
        self.assertIn(pid, all_of_them)

    async def test_without_their_supervisor_they_answer_what_runs(self) -> None:
        served = await self.begun("ordinary")
        before = await self.all_answer(served)
        async with Client(served.address, codec=RAW) as client:
            stream = client.open(TWICE, timeout=PATIENCE)
            await self.exchange(stream)
            served.signal(signal.SIGKILL)
            await until("one is gone", lambda: len([pid for pid in before if is_there(pid)]) == 1)
            await self.exchange(stream)
            await stream.half_close()
            self.assertIsNone(await stream.receive())
        await until("both are gone", lambda: not [pid for pid in before if is_there(pid)])

    async def exchange(self, stream: ClientStream[bytes, bytes]) -> None:
        await stream.send(b"x")
        self.assertEqual(await stream.receive(), b"xx")


class Stopping(Case):
    async def test_what_runs_is_answered_after_one_signal(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                served, stream = await self.watched_call()
                os.killpg(served.pid, number)  # as a terminal does on Ctrl-C
                await asyncio.to_thread(served.wait_said, "the processes stop")
                await until("one has ended", lambda served=served: len(children(served.pid)) == 1)  # type: ignore[misc]
                await self.is_refused(served.address)  # by the other's socket, too
                await stream.send(b"x")
                self.assertEqual(await stream.receive(), b"xx")
                await stream.half_close()
                self.assertIsNone(await stream.receive())
                await self.ends(served, processes.OK)

    async def test_a_second_signal_cuts_off_what_runs(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                served, stream = await self.watched_call()
                os.killpg(served.pid, number)
                await until("one has ended", lambda served=served: len(children(served.pid)) == 1)  # type: ignore[misc]
                while "a second signal came" not in served.said():  # one that comes at once is the same, passed on
                    os.killpg(served.pid, number)
                    await asyncio.sleep(0.02)
                await self.fails(stream.receive(), Code.UNAVAILABLE, Delivery.UNKNOWN)
                await self.ends(served, processes.CUT_OFF, "a second signal came", "has cut off calls")
                self.assertNotIn("is killed", served.said())

    async def watched_call(self) -> tuple[Server, ClientStream[bytes, bytes]]:
        served = await self.begun("ordinary")
        stream = self.client(served.address).open(TWICE, timeout=PATIENCE)
        await stream.send(b"x")
        self.assertEqual(await stream.receive(), b"xx")
        return served, stream

    async def test_one_that_does_not_end_is_killed(self) -> None:
        served = await self.begun("hurried")
        async with Client(served.address, codec=RAW, repeat=False) as client:
            pid = await self.pid(client)
            stands_still = asyncio.create_task(client.call(STAND_STILL, b""))
            await asyncio.to_thread(served.wait_said, "stands still")
            served.signal(signal.SIGTERM)
            await self.fails(stands_still, Code.UNAVAILABLE, Delivery.UNKNOWN)
        await self.ends(served, processes.CUT_OFF, f"process {pid} has not ended in time, and is killed")
        self.assertFalse(is_there(pid))


class Replacing(Case):
    async def test_on_sighup_all_are_replaced_and_no_call_is_lost(self) -> None:
        served = await self.begun("ordinary")
        before = await self.all_answer(served)
        held = self.client(served.address).open(TWICE, timeout=PATIENCE)  # keeps one of the old ones
        await held.send(b"x")
        self.assertEqual(await held.receive(), b"xx")
        async with self.load(served.address) as load:
            await load.goes_on()
            served.signal(signal.SIGHUP)
            await until("but for the one with a call they are gone", lambda: len(before & children(served.pid)) == 1)
            await load.goes_on()
            await held.send(b"y")
            self.assertEqual(await held.receive(), b"yy")
            await held.half_close()
            await until("all are gone", lambda: not before & children(served.pid))
        self.assertEqual(len(await self.all_answer(served)), 2)
        served.signal(signal.SIGTERM)
        await self.ends(served, processes.OK)

    async def test_those_that_serve_stay_if_new_ones_cannot_begin(self) -> None:
        fails = Path(self.enterContext(tempfile.TemporaryDirectory())) / "fails"
        served = await self.begun("ordinary", env={FAILS: str(fails)})
        before = await self.all_answer(served)
        fails.touch()
        served.signal(signal.SIGHUP)
        await asyncio.to_thread(served.wait_said, "ended before it served", "those that serve stay")
        self.assertEqual(await self.all_answer(served), before)
        fails.unlink()
        served.signal(signal.SIGHUP)
        await until("others are there", lambda: not before & children(served.pid))
        self.assertEqual(served.said().count("those that serve stay"), 1)  # no second one was tried

    async def test_those_that_serve_stay_if_new_ones_end_as_soon_as_they_serve(self) -> None:
        falls = Path(self.enterContext(tempfile.TemporaryDirectory())) / "falls"
        served = await self.begun("falling", env={FALLS: str(falls)})
        before = await self.all_answer(served)
        falls.touch()
        served.signal(signal.SIGHUP)
        await asyncio.to_thread(served.wait_said, "as soon as it served, with status 7: those that serve stay")
        self.assertEqual(await self.all_answer(served), before)
        falls.unlink()
        served.signal(signal.SIGHUP)
        await until("others are there", lambda: not before & children(served.pid))
        self.assertEqual(served.said().count("those that serve stay"), 1)
        self.assertNotIn("another takes its place", served.said())
        served.signal(signal.SIGTERM)
        await self.ends(served, processes.OK)


class Misuse(unittest.TestCase):
    def test_it_forks_only_where_it_can(self) -> None:
        async def within() -> None:
            processes.run(make, "127.0.0.1:0")

        with self.assertRaisesRegex(RuntimeError, "before there is an event loop"):
            asyncio.run(within())
        over = threading.Event()
        other = threading.Thread(target=over.wait, name="of mine")
        other.start()
        try:
            with self.assertRaisesRegex(RuntimeError, "there is .*of mine"):
                processes.run(make, "127.0.0.1:0")
        finally:
            over.set()
            other.join()

    def test_what_is_wrong_is_told_before_anything_is_forked(self) -> None:
        with self.assertRaisesRegex(ValueError, "processes: 0 was given"):
            processes.run(make, "127.0.0.1:0", processes=0)
        with self.assertRaisesRegex(ValueError, "health: 0 was given"):
            processes.run(make, "127.0.0.1:0", health=0)
        with self.assertRaisesRegex(TypeError, "factory"):
            processes.run("make", "127.0.0.1:0")  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "nothing to listen on"):
            processes.run(make)

    def test_addresses_that_cannot_be_listened_on(self) -> None:
        # Where tests run beside each other there is a thread.
        for where, kind, words in (("mem:x", ValueError, "share no memory"), ("here", ValueError, "want HOST:PORT")):
            with self.subTest(where), self.assertRaisesRegex(kind, words):
                Sockets([where], 2)
        with socket.create_server(("127.0.0.1", 0)) as taken, self.assertRaisesRegex(OSError, "in use"):
            Sockets([f"127.0.0.1:{taken.getsockname()[1]}"], 2)
        with socket.socket() as silent:
            with self.assertRaisesRegex(ValueError, "that listens"):
                Sockets([silent], 2)
            self.assertNotEqual(silent.fileno(), -1)

    def test_each_has_its_part_of_the_memory(self) -> None:
        whole = memory.check_memory(None)
        memory.share_among(4)
        try:
            self.assertEqual(memory.check_memory(None), max(whole // 4, memory.LEAST))
            self.assertEqual(memory.check_memory(5 << 20), 5 << 20)
        finally:
            memory.share_among(1)


if __name__ == "__main__":
    unittest.main()
