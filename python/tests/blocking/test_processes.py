"""Ctrl-C, fork and the end of the interpreter, each in an interpreter of its own."""

from __future__ import annotations

import signal
import unittest

from .kit import run_program

BEGIN = """
import atexit, os, signal, sys, threading
from tests.blocking.kit import Elsewhere, Gate, Working
from tests.public.kit import COUNT, ECHO, HANDLERS, OTHER, echo
from trunkcall import RAW, Code, Delivery, Server, StatusError
from trunkcall.blocking import Client

there, gate = Elsewhere(), Gate()

async def begin():
    server = Server()
    server.register(ECHO.handler(gate), OTHER.handler(echo), *HANDLERS)
    return server, await server.listen("127.0.0.1:0")

server, address = there.run(begin())
client = Client(address, codec=RAW)
"""
END = """
client.close()
there.run(server.close())
there.close()
print("done")
"""


class Case(unittest.TestCase):
    def runs(self, program: str, end: str = END) -> None:
        ran = run_program(BEGIN + program + end, "-W", "ignore:This process:DeprecationWarning")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran.stderr)
        self.assertIn("done", ran.stdout)


INTERRUPTED = """
def interrupt():
    gate.begun.acquire()
    os.kill(os.getpid(), signal.SIGINT)

FIRST
threading.Thread(target=interrupt).start()
try:
    client.call(ECHO, b"broken off")
    raise AssertionError("not interrupted")
except KeyboardInterrupt:
    pass
gate.cancelled.acquire()  # the server was told
assert client.call(OTHER, b"x") == b"x"
"""


MANY = """
over = threading.Event()
def calls():
    made = 0
    while not over.is_set():
        message = b"%d" % made
        assert client.call(OTHER, message) == message
        made += 1
    return made

others = [Working(calls) for _ in range(2)]
def interrupt():
    for _ in range(200):
        if over.wait(0.002):
            return
        os.kill(os.getpid(), signal.SIGINT)
    over.set()

noted = 0
def note(number, frame):
    global noted
    noted += 1
    raise KeyboardInterrupt

signal.signal(signal.SIGINT, note)
thread = threading.Thread(target=interrupt)
while True:
    try:
        if not thread.ident:
            thread.start()
        while not over.is_set():
            assert client.call(OTHER, b"mine") == b"mine"
        thread.join()
        break
    except KeyboardInterrupt:
        pass
signal.signal(signal.SIGINT, signal.SIG_IGN)
assert noted, "none came"
assert all(one.result() for one in others)
"""


class Interrupts(Case):
    def test_a_call_that_reads_is_broken_off(self) -> None:
        self.runs(INTERRUPTED.replace("FIRST", ""))

    def test_calls_of_other_threads_go_on_when_the_reader_is_broken_off(self) -> None:
        self.runs(
            """
others = []
def interrupt():
    gate.begun.acquire()
    others.extend(Working(lambda: client.call(ECHO, b"other")) for _ in range(3))
    [gate.begun.acquire() for _ in others]
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    client.call(ECHO, b"broken off")
    raise AssertionError("not interrupted")
except KeyboardInterrupt:
    pass
gate.cancelled.acquire()
[there.run(gate.let_on(1 + n)) for n in range(3)]
assert [one.result() for one in others] == [b"other"] * 3
"""
        )

    def test_calls_of_other_threads_go_on_when_one_that_follows_is_broken_off(self) -> None:
        first = "reader = Working(lambda: client.call(ECHO, b'r')); gate.begun.acquire()"
        self.runs(INTERRUPTED.replace("FIRST", first) + "there.run(gate.let_on(0))\nassert reader.result() == b'r'\n")

    def test_many_interrupts_harm_no_call_of_another_thread(self) -> None:
        for number in ("SIGINT", "SIGTERM"):
            with self.subTest(number):
                self.runs(MANY.replace("SIGINT", number))

    def test_a_handler_of_the_users_own_that_raises_nothing_ends_no_call(self) -> None:
        self.runs(
            """
seen = []
signal.signal(signal.SIGINT, lambda number, frame: (seen.append(number), there.run(gate.let_on())))
def interrupt():
    gate.begun.acquire()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
assert client.call(ECHO, b"x") == b"x"
assert seen == [signal.SIGINT]
"""
        )


ENDED = """
def end():
    gate.begun.acquire()
    os.kill(os.getpid(), signal.SIGTERM)

FIRST
threading.Thread(target=end).start()
try:
    client.call(ECHO, b"broken off")
finally:
    print("after", flush=True)
"""
LEADS, FOLLOWS = "", "other = Working(lambda: client.call(ECHO, b'r')); gate.begun.acquire()"


class Terminations(Case):
    """SIGTERM does what Python has it do, also while a call waits, and no thread holds the process up."""

    def ends(self, program: str, status: int, printed: str) -> None:
        for first in (LEADS, FOLLOWS):
            with self.subTest(first):
                ran = run_program(BEGIN + program.replace("FIRST", first), "-W", "ignore::ResourceWarning")
                self.assertEqual((ran.returncode, ran.stdout), (status, printed), ran.stderr)
                self.assertNotIn("Traceback", ran.stderr)

    def test_by_default_it_kills(self) -> None:
        self.ends(ENDED, -signal.SIGTERM, "")

    def test_what_its_handler_raises_ends_the_call_and_the_program(self) -> None:
        self.ends("signal.signal(signal.SIGTERM, lambda *told: sys.exit(7))\n" + ENDED, 7, "after\n")

    def test_a_signal_that_ends_no_wait_of_the_thread_is_seen(self) -> None:
        """Such as one that comes just before the thread sleeps; here another thread has it."""
        handled = "signal.signal(signal.SIGTERM, lambda *told: sys.exit(7))\n"
        self.ends(handled + "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n" + ENDED, 7, "after\n")

    def test_a_client_is_as_good_as_before_when_the_handler_has_raised(self) -> None:
        for first in (LEADS, FOLLOWS):
            with self.subTest(first):
                self.runs(
                    """
class Told(Exception):
    pass

def told(number, frame):
    raise Told

signal.signal(signal.SIGTERM, told)
"""
                    + ENDED.replace("FIRST", first).replace("finally:\n", "except Told:\n")
                    + """
gate.cancelled.acquire()  # the server was told
assert client.call(OTHER, b"x") == b"x"
if "other" in globals():
    there.run(gate.let_on(0))
    assert other.result() == b"r"
"""
                )

    def test_what_a_handler_sets_in_its_own_place_stays(self) -> None:
        for first in (LEADS, FOLLOWS):
            with self.subTest(first):
                self.runs(
                    """
def once(number, frame):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    there.loop.call_soon_threadsafe(lambda: [one.set_result(None) for one in gate._open])

signal.signal(signal.SIGTERM, once)
"""
                    + ENDED.replace("FIRST", first)
                    + """
assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
assert client.call(OTHER, b"x") == b"x"
assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
"""
                )

    def test_a_handler_that_only_notes_it_ends_no_call(self) -> None:
        for first in (LEADS, FOLLOWS):
            with self.subTest(first):
                self.runs(
                    """
noted = []
def note(number, frame):
    noted.append(number)
    there.loop.call_soon_threadsafe(lambda: [one.set_result(None) for one in gate._open])

signal.signal(signal.SIGTERM, note)
"""
                    + ENDED.replace("FIRST", first)
                    + "assert noted == [signal.SIGTERM]\n"
                )


FORK = """
def in_child(function):
    child = os.fork()
    if not child:
        code = 1
        try:
            function()
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0, "the child has failed"
"""


class Forks(Case):
    def test_a_client_works_in_the_child_and_in_the_parent(self) -> None:
        self.runs(
            FORK
            + """
assert client.call(OTHER, b"x") == b"x"
in_child(lambda: [client.call(OTHER, b"c") for _ in range(10)])
assert client.call(OTHER, b"y") == b"y"
assert len(client.connections) == 1
"""
        )

    def test_a_fork_while_other_threads_wait_leaves_their_calls_to_the_parent(self) -> None:
        self.runs(
            FORK
            + """
waiting = [Working(lambda: client.call(ECHO, b"w")) for _ in range(2)]
[gate.begun.acquire() for _ in waiting]

def child():
    assert client.call(OTHER, b"c") == b"c"
    client.close()

in_child(child)
[there.run(gate.let_on(n)) for n in range(2)]
assert [one.result() for one in waiting] == [b"w"] * 2
"""
        )

    def test_a_fork_by_another_thread_while_the_main_one_waits_leaves_ctrl_c_to_the_child(self) -> None:
        self.runs(
            FORK
            + """
def child():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, signal.getsignal(signal.SIGINT)

def forks():
    gate.begun.acquire()
    try:
        in_child(child)
    finally:
        there.run(gate.let_on())

forking = Working(forks)
assert client.call(ECHO, b"x") == b"x"
forking.result()
"""
        )

    def test_a_stream_of_the_parent_is_refused_in_the_child_and_goes_on_in_the_parent(self) -> None:
        self.runs(
            FORK
            + """
stream = client.open(COUNT, b"3")
assert stream.receive() == b"0"

def child():
    try:
        stream.receive()
        raise AssertionError
    except StatusError as error:
        assert error.code is Code.UNAVAILABLE and "before fork()" in error.message, error
    stream.cancel()

in_child(child)
assert list(stream) == [b"1", b"2"]
"""
        )

    def test_a_client_of_the_parent_serves_and_is_configured_in_the_child(self) -> None:
        self.runs(
            FORK
            + """
client.register(ECHO.handler(lambda request, call: request))
client.call(OTHER, b"")
def child():
    assert [one.name for one in client.methods] == [ECHO.name]
    client.close()
    try:
        client.call(OTHER, b"")
    except StatusError as error:
        assert error.code is Code.CANCELLED
in_child(child)
"""
        )


class Shutdown(Case):
    def test_a_process_ends_whose_client_was_not_closed(self) -> None:
        ran = run_program(
            BEGIN
            + """
client.call(OTHER, b"x")
waiting = Working(lambda: client.call(ECHO, b"w"))
gate.begun.acquire()
print("done", flush=True)
""",
            "-W",
            "ignore::ResourceWarning",
        )
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "done\n", ""))

    def test_calls_are_made_at_exit(self) -> None:
        ran = run_program(
            BEGIN
            + """
def last():
    print(client.call(OTHER, b"x"), Client(address, codec=RAW).call(OTHER, b"new"), flush=True)

atexit.register(last)
""",
            "-W",
            "ignore::ResourceWarning",
        )
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "b'x' b'new'\n", ""))

    def test_a_call_while_the_interpreter_is_taken_down_says_so(self) -> None:
        ran = run_program(
            BEGIN
            + """
client.call(OTHER, b"x")

class Late:
    def __init__(self):
        self.client, self.method = client, OTHER
    def __del__(self):
        try:
            self.client.call(self.method, b"")
        except RuntimeError as error:
            os.write(1, str(error).encode())

sys.modules["late"] = Late()
""",
            "-W",
            "ignore::ResourceWarning",
        )
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("the interpreter is shutting down", ran.stdout)

    def test_a_client_that_is_forgotten_says_so_and_is_closed(self) -> None:
        ran = run_program(
            BEGIN
            + """
import gc, warnings
client.call(OTHER, b"x")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    client = None
    gc.collect()
assert "was not closed" in str(caught[0].message), caught
there.run(server.stop(None))
there.close()
print("done")
""",
        )
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "done\n", ""))
