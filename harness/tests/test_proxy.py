"""The proxy does what its rules say, and nothing else."""

from __future__ import annotations

import asyncio
import errno
import gc
import select
import socket
import sys
import tempfile
import warnings
from pathlib import Path
from unittest import IsolatedAsyncioTestCase, TestCase

from harness.processes import run
from harness.proxy import Hole, Proxy, listening, where
from harness.rules import RuleError, Step, parse

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 20.0
SYN_SENT = 2  # the state of a connection that nobody has answered


class Rules(TestCase):
    def test_steps_are_read(self) -> None:
        plan = parse(
            "* both: pass 1-20; slice 3; delay 20ms; jitter 5ms; stall 1.5s; throttle 9; swallow; end; close; reset"
        )
        self.assertEqual(
            plan(7, "down"),
            (
                Step("pass", 1, 20),
                Step("slice", 3, 3),
                Step("delay", seconds=0.02),
                Step("jitter", seconds=0.005),
                Step("stall", seconds=1.5),
                Step("throttle", 9, 9),
                Step("swallow"),
                Step("end"),
                Step("close"),
                Step("reset"),
            ),
        )

    def test_the_last_rule_that_fits_counts(self) -> None:
        plan = parse("* both: swallow  # all\n2-3 up: reset\n\n3- up: close\n5 down: end")
        kinds = [["".join(step.kind for step in plan(n, way)) for n in range(6)] for way in ("up", "down")]
        self.assertEqual(kinds[0], ["swallow", "swallow", "reset", "close", "close", "close"])
        self.assertEqual(kinds[1], ["swallow"] * 5 + ["end"])
        self.assertEqual(parse("")(0, "up"), ())

    def test_what_cannot_be_read_is_turned_down(self) -> None:
        for rule in ("up: pass", "1 2 up: pass", "* side: pass", "* up: jump", "* up: pass x", "* up: pass 3-2",
                     "* up: slice 0", "* up: delay 3", "* up: reset 3", "x up: pass", "12 up pass"):  # fmt: skip
            with self.subTest(rule), self.assertRaises(RuleError):
                parse(rule)


class Addresses(TestCase):
    def test_those_of_ipv4_and_unix_sockets_are_known(self) -> None:
        self.assertEqual(where("127.0.0.1:80"), (socket.AF_INET, ("127.0.0.1", 80)))
        self.assertEqual(where("unix:/a:b"), (socket.AF_UNIX, "/a:b"))
        for other in ("[::1]:80", "::1", "localhost", "a:http", ":80", "a:65536", "a:", "unix:", ""):
            with self.subTest(other), self.assertRaisesRegex(ValueError, "is not HOST:PORT of IPv4 or unix:PATH"):
                where(other)

    def test_the_command_line_says_which_is_none(self) -> None:
        done = run([sys.executable, "-m", "harness.proxy", "--target", "[::1]:80"], cwd=ROOT)
        self.assertEqual(done.status, 2)
        self.assertIn("error: argument --target: '[::1]:80' is not HOST:PORT of IPv4 or unix:PATH", done.stderr)


class Ends:
    """A client's socket that came through a proxy, and the server's."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server = client, server

    async def send(self, end: socket.socket, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(end, data)

    async def receive(self, end: socket.socket, size: int) -> bytes:
        """That many bytes, or fewer at the end of the input."""
        got = b""
        async with asyncio.timeout(LIMIT):
            while len(got) < size:
                piece = await asyncio.get_running_loop().sock_recv(end, size - len(got))
                if not piece:
                    break
                got += piece
        return got


class Passing(IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.passed, clock = 0.0, self.loop.time
        self.loop.time = lambda: clock() + self.passed  # type: ignore[method-assign]
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.addCleanup(self.listener.close)
        host, port = self.listener.getsockname()
        self.target = f"{host}:{port}"

    async def proxy(self, rules: str) -> Proxy:
        return await self.enterAsyncContext(Proxy(self.target, rules))

    async def connect(self, proxy: Proxy) -> Ends:
        client = socket.socket()
        client.setblocking(False)
        self.addCleanup(client.close)
        async with asyncio.timeout(LIMIT):
            await self.loop.sock_connect(client, where(proxy.address)[1])
            server, _ = await self.loop.sock_accept(self.listener)
        server.setblocking(False)
        self.addCleanup(server.close)
        return Ends(client, server)

    def pass_time(self, seconds: float) -> None:
        """The loop's clock, by which the proxy goes, leaps: whatever the machine takes."""
        self.passed += seconds

    async def turns(self) -> None:
        """The proxy, which is on this loop, does all that it can do now."""
        for _ in range(100):
            await asyncio.sleep(0)

    async def test_all_passes_without_rules(self) -> None:
        ends = await self.connect(proxy := await self.proxy(""))
        data = bytes(range(256)) * 4000
        for one, other in ((ends.client, ends.server), (ends.server, ends.client)):
            sending = asyncio.create_task(ends.send(one, data))
            self.assertEqual(await ends.receive(other, len(data)), data)
            await sending
        self.assertEqual(proxy.passed, {"up": len(data), "down": len(data)})
        ends.client.shutdown(socket.SHUT_WR)
        self.assertEqual(await ends.receive(ends.server, 1), b"")
        await ends.send(ends.server, b"late")
        ends.server.close()
        self.assertEqual(await ends.receive(ends.client, 100), b"late")

    async def test_a_connection_that_was_just_taken_is_closed_with_the_proxy(self) -> None:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            async with Proxy(self.target) as proxy:
                listener = proxy._listener
                assert listener
                with socket.create_connection(where(proxy.address)[1]):
                    # It is left before anything else happens.
                    while select.select([listener], [], [], 0)[0]:  # noqa: ASYNC110
                        await asyncio.sleep(0)
            del proxy
            gc.collect()
        self.assertEqual([str(one.message) for one in warned], [])

    async def test_before_a_unix_socket_there_is_another_one(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            target, address = listening(f"unix:{folder}/socket")
            async with Proxy(address) as proxy, Proxy(address) as other:
                self.assertNotEqual(proxy.address, other.address)
                client = socket.socket(socket.AF_UNIX)
                client.setblocking(False)
                with target, client:
                    await self.loop.sock_connect(client, where(proxy.address)[1])
                    server, _ = await self.loop.sock_accept(target)
                    with server:
                        await self.loop.sock_sendall(client, b"there")
                        self.assertEqual(await self.loop.sock_recv(server, 10), b"there")
                await proxy.stop_listening()
                with self.assertRaises(ConnectionRefusedError), socket.socket(socket.AF_UNIX) as refused:
                    refused.connect(where(proxy.address)[1])
                proxy.listen()

    async def test_reset_at_a_byte_reaches_both_sides(self) -> None:
        ends = await self.connect(await self.proxy("* up: pass 3; reset"))
        await ends.send(ends.client, b"abc")
        for end in (ends.server, ends.client):
            with self.assertRaises(OSError) as caught:
                while await ends.receive(end, 1):
                    pass
            self.assertEqual(caught.exception.errno, errno.ECONNRESET)

    async def test_bytes_ahead_of_a_step_arrive_and_those_behind_do_not(self) -> None:
        ends = await self.connect(await self.proxy("* up: pass 3; swallow 2; pass 1; end"))
        await ends.send(ends.client, b"abcdefgh")
        self.assertEqual(await ends.receive(ends.server, 9), b"abcf")
        await ends.send(ends.server, b"back")  # the other way goes on
        self.assertEqual(await ends.receive(ends.client, 4), b"back")

    async def test_close_ends_both_ways(self) -> None:
        ends = await self.connect(await self.proxy("* down: pass 2; close"))
        await ends.send(ends.server, b"ab")
        self.assertEqual(await ends.receive(ends.client, 9), b"ab")
        self.assertEqual(await ends.receive(ends.server, 9), b"")

    async def test_a_connection_that_has_passed_bytes_can_be_silenced(self) -> None:
        ends = await self.connect(proxy := await self.proxy(""))
        await ends.send(ends.client, b"a")
        self.assertEqual(await ends.receive(ends.server, 1), b"a")
        proxy.silence_all()
        await ends.send(ends.client, b"bc")
        await ends.send(ends.server, b"d")
        ends.client.shutdown(socket.SHUT_WR)
        await self.turns()
        for end in (ends.client, ends.server):
            with self.assertRaises(BlockingIOError):
                end.recv(1)
        self.assertEqual((proxy.passed, proxy.lost), ({"up": 1}, {"up": 2, "down": 1}))

    async def test_swallowing_hides_the_end_too(self) -> None:
        ends = await self.connect(proxy := await self.proxy("* up: pass 1; swallow"))
        await ends.send(ends.client, b"abc")
        ends.client.shutdown(socket.SHUT_WR)
        self.assertEqual(await ends.receive(ends.server, 1), b"a")
        await ends.send(ends.server, b"x")  # one way only
        self.assertEqual(await ends.receive(ends.client, 1), b"x")
        await self.turns()
        with self.assertRaises(BlockingIOError):
            ends.server.recv(1)
        self.assertEqual((proxy.passed["up"], proxy.lost["up"]), (1, 2))

    async def test_slices_delays_stalls_and_throttles_lose_nothing(self) -> None:
        ends = await self.connect(
            await self.proxy("* up: slice 1; pass 50; delay 1ms; slice 7; pass 50; stall 5ms; throttle 90000")
        )
        data = bytes(range(200))
        await ends.send(ends.client, data)
        ends.client.shutdown(socket.SHUT_WR)
        self.assertEqual(await ends.receive(ends.server, 999), data)

    async def test_a_long_way_takes_its_time_and_holds_up_nobody(self) -> None:
        ends = await self.connect(proxy := await self.proxy("* up: delay 6000s; jitter 2s; pass 9000000; end"))
        data = bytes(range(250)) * 36_000
        await ends.send(ends.client, data)
        await ends.send(ends.server, b"back")  # the other way is short
        self.assertEqual(await ends.receive(ends.client, 4), b"back")
        await self.turns()
        self.pass_time(5000)
        await self.turns()
        self.assertEqual(proxy.passed["up"], 0)
        got = bytearray()

        async def take() -> None:
            while piece := await self.loop.sock_recv(ends.server, 1 << 20):
                got.extend(piece)

        taking = asyncio.create_task(take())
        for _ in range(10_000):
            await self.turns()
            if taking.done():
                break
            self.pass_time(6002)
        self.assertTrue(taking.done())
        self.assertEqual(got, data)

    async def test_what_is_under_way_leaves_the_sender_free(self) -> None:
        ends = await self.connect(proxy := await self.proxy("* up: delay 600s"))
        async with asyncio.timeout(LIMIT):
            for _ in range(200):
                await ends.send(ends.client, bytes(100_000))
        self.assertEqual(proxy.passed["up"], 0)

    async def test_at_a_rate_nothing_is_lost_and_what_is_sent_is_held_back(self) -> None:
        ends = await self.connect(proxy := await self.proxy("* up: throttle 1"))
        data = bytes(range(60))
        began = self.loop.time()
        await ends.send(ends.client, data)
        for size in range(1, len(data) + 1):
            await self.turns()
            self.pass_time(1)
            async with asyncio.timeout(LIMIT):
                await proxy.has_passed("up", size)
            self.assertLessEqual(proxy.passed["up"], self.loop.time() - began)
        self.assertEqual(await ends.receive(ends.server, 60), data)

    async def test_bytes_can_be_watched_and_waited_for(self) -> None:
        seen: list[tuple[int, str, int]] = []
        proxy = await self.enterAsyncContext(Proxy(self.target, watch=lambda *what: seen.append(what)))
        first, second = await self.connect(proxy), await self.connect(proxy)
        await first.send(first.client, b"abc")
        await first.receive(first.server, 3)
        await second.send(second.server, b"de")
        async with asyncio.timeout(LIMIT):
            await proxy.has_passed("up", 3)
            await proxy.has_passed("down", 2)
        self.assertEqual(seen, [(0, "up", 3), (1, "down", 2)])
        for ends in (first, second):
            ends.client.close()
            ends.server.close()
        async with asyncio.timeout(LIMIT):
            await proxy.all_ended()
        self.assertEqual(proxy.open, 0)

    async def test_a_stalled_direction_is_not_read(self) -> None:
        ends = await self.connect(await self.proxy("* up: stall 600s"))
        with self.assertRaises(BlockingIOError):  # until the way is full
            while ends.client.send(bytes(1 << 16)):
                pass
        await self.turns()
        with self.assertRaises(BlockingIOError):
            while ends.client.send(bytes(1 << 16)):
                await self.turns()
        with self.assertRaises(BlockingIOError):
            ends.server.recv(1)
        self.pass_time(600)
        self.assertEqual(await ends.receive(ends.server, 1), b"\0")

    async def test_connections_are_numbered(self) -> None:
        proxy = await self.proxy("1 up: end")
        first, second = await self.connect(proxy), await self.connect(proxy)
        self.assertEqual(await second.receive(second.server, 1), b"")
        await first.send(first.client, b"a")
        self.assertEqual(await first.receive(first.server, 1), b"a")
        self.assertEqual((proxy.connections, proxy.open), (2, 2))

    async def test_drawn_amounts_are_the_seeds(self) -> None:
        drawn = []
        for _ in range(2):
            ends = await self.connect(await self.proxy("* up: pass 1-1000; end"))
            await ends.send(ends.client, bytes(1000))
            drawn.append(len(await ends.receive(ends.server, 1000)))
        self.assertEqual(drawn[0], drawn[1])

    async def test_listening_stops_and_goes_on(self) -> None:
        proxy = await self.proxy("")
        ends = await self.connect(proxy)
        await proxy.stop_listening()
        with self.assertRaises(ConnectionRefusedError), socket.socket() as refused:
            refused.connect(where(proxy.address)[1])
        await ends.send(ends.client, b"a")
        self.assertEqual(await ends.receive(ends.server, 1), b"a")
        proxy.listen()
        await self.connect(proxy)
        proxy.reset_all()
        with self.assertRaises(ConnectionResetError):
            await ends.receive(ends.client, 1)

    async def test_a_target_that_refuses_resets_the_client(self) -> None:
        self.listener.close()
        proxy = await self.proxy("")
        with socket.socket() as client:
            client.setblocking(False)
            await self.loop.sock_connect(client, where(proxy.address)[1])
            with self.assertRaises(ConnectionResetError):
                await self.loop.sock_recv(client, 1)

    async def test_a_hole_neither_takes_nor_refuses(self) -> None:
        with Hole() as hole, socket.socket() as client:
            client.setblocking(False)
            with self.assertRaises(TimeoutError):
                async with asyncio.timeout(1):
                    await self.loop.sock_connect(client, where(hole.address)[1])
            state = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
            self.assertEqual(state[0], SYN_SENT)
