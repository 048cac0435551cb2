"""A program whose main task serves ends in order when it is told to."""

from __future__ import annotations

import signal
import subprocess
import sys
import unittest

from .kit import PATIENCE

PROGRAM = """
import asyncio, os, signal, sys
import trunkcall
from trunkcall import RAW

ECHO = trunkcall.unary("/test.Service/Echo", bytes, bytes)
server = trunkcall.Server(codec=RAW)

async def echo(request, call):
    for _ in range(int(sys.argv[2])):  # signals
        os.kill(os.getpid(), int(sys.argv[1]))
        await server.leaving.wait()
    if sys.argv[2] == "2":
        await asyncio.Event().wait()
    await server.stopping.wait()
    return request

async def call():
    async with trunkcall.Client("mem:signals", codec=RAW, timeout=60) as client:
        try:
            print(await client.call(ECHO, b"answered"), flush=True)
        except trunkcall.StatusError as error:
            print(error.code.name, flush=True)

async def main():
    server.register(ECHO.handler(echo))
    before = signal.getsignal(signal.SIGINT)
    await server.listen("mem:signals")
    calling = asyncio.create_task(call())
    await server.serve()
    print(signal.getsignal(signal.SIGINT) == before, signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)
    await calling

asyncio.run(main())
"""

OTHERS = """
import asyncio, os, signal
import trunkcall

async def main():
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, told.set)
    server = trunkcall.Server()
    own = signal.getsignal(signal.SIGINT)
    serving = asyncio.create_task(server.serve("mem:others"))
    while not server.addresses:
        await asyncio.sleep(0)
    assert signal.getsignal(signal.SIGINT) == own  # this task is the main one
    os.kill(os.getpid(), signal.SIGTERM)
    await told.wait()
    assert not server.leaving.is_set()
    await server.stop()
    await serving
    print("stopped by its owner")

asyncio.run(main())
"""

IGNORING = """
import asyncio, os, signal
import trunkcall

class Told(trunkcall.Server):
    async def listen(self, where, *, reuse_port=False):
        await super().listen(where, reuse_port=reuse_port)
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0)
        assert not self.leaving.is_set()
        os.kill(os.getpid(), signal.SIGTERM)
        await self.leaving.wait()

signal.signal(signal.SIGINT, signal.SIG_IGN)
asyncio.run(Told().serve("127.0.0.1:0"))
assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
print("ignored")
"""

REGISTRY = """
import asyncio, os, signal
from trunkcall import registry

asyncio.run(registry.serve("127.0.0.1:0", listening=lambda where: os.kill(os.getpid(), signal.SIGTERM)))
print("ended")
"""

BETWEEN = """
import asyncio, os, signal
import trunkcall

class Told(trunkcall.Server):
    async def listen(self, where, *, reuse_port=False):
        await super().listen(where, reuse_port=reuse_port)
        os.kill(os.getpid(), signal.SIGTERM)
        await self.leaving.wait()

asyncio.run(Told().serve("127.0.0.1:0", "127.0.0.1:0"))
print("served")
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False
    )


class Signals(unittest.TestCase):
    def test_calls_that_run_are_answered_before_the_program_ends(self) -> None:
        for sign in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(sign.name):
                done = run(PROGRAM, str(int(sign)), "1")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(sorted(done.stdout.splitlines()), ["True True", "b'answered'"])

    def test_a_second_signal_cuts_them_off(self) -> None:
        done = run(PROGRAM, str(int(signal.SIGINT)), "2")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("True True", done.stdout)
        self.assertNotIn("answered", done.stdout)

    def test_who_ignores_one_signal_ends_in_order_with_the_other(self) -> None:
        for ignored, sign in ((signal.SIGINT, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT)):
            with self.subTest(sign.name):
                program = f"import signal; signal.signal({int(ignored)}, signal.SIG_IGN)\n{PROGRAM}"
                done = run(program, str(int(sign)), "1")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("b'answered'", done.stdout)

    def test_an_ignored_signal_stays_ignored(self) -> None:
        done = run(IGNORING)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "ignored"), done.stderr)

    def test_who_handles_signals_is_left_alone(self) -> None:
        done = run(OTHERS)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "stopped by its owner"), done.stderr)

    def test_a_registry_that_is_served_ends_in_order(self) -> None:
        done = run(REGISTRY)
        self.assertEqual((done.returncode, done.stdout.strip(), done.stderr), (0, "ended", ""))

    def test_a_signal_between_two_ports_ends_it_in_order(self) -> None:
        done = run(BETWEEN)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "served\n", ""))


if __name__ == "__main__":
    unittest.main()
