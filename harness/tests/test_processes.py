from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.processes import Failed, Outcome, Process, Server, run

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0
# A shell that starts another process, says its id, and waits.
WITH_CHILD = ["sh", "-c", "sleep 600 & echo $!; wait"]
SERVER = """
import signal, socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print("listening", "%s:%d" % listener.getsockname(), "more words", flush=True)
signal.pause()
"""


def is_gone(pid: int) -> bool:
    """Whether a process has ended. Where nobody reaps orphans, as in some containers, it stays as a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def assert_goes(pid: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_gone(pid):
        assert time.monotonic() < deadline, f"{pid} is still there"
        time.sleep(0.01)


def test_a_run_has_its_output_and_its_status() -> None:
    assert run(["sh", "-c", "echo out; echo err >&2; exit 3"]) == Outcome("out\n", "err\n", 3)
    assert run(["sh", "-c", "echo out; echo err >&2"], merged=True) == Outcome("out\nerr\n")
    assert run(["sh", "-c", "kill -9 $$"]).status == -signal.SIGKILL
    assert run(["pwd"], cwd="/").stdout == "/\n"
    assert run(["sh", "-c", "echo $WHICH"], env={**os.environ, "WHICH": "that"}).stdout == "that\n"


@pytest.mark.parametrize("printed", ["", "\n", "a", "a\n", "a\nb", "\n\na\n\n", "x" * 300_000 + "\ny"])
def test_output_is_kept_as_it_is(printed: str, tmp_path: Path) -> None:
    file = tmp_path / "printed"
    file.write_text(printed, encoding="utf-8")
    assert run(["cat", file]).stdout == printed


def test_what_cannot_be_started_is_named() -> None:
    with pytest.raises(Failed, match=r"^\./nowhere: cannot be started: No such file"):
        run(["./nowhere"])


def test_one_that_takes_too_long_is_ended_and_tells_what_it_logged() -> None:
    with Process(["sh", "-c", "echo here I am >&2; echo; sleep 600"]) as process:
        process.line()
        with pytest.raises(Failed, match=r"did not end within 0\.1 s\nhere I am$"):
            process.wait(patience=0.1)
    assert is_gone(process.pid)
    with pytest.raises(Failed, match=r"sleep 600 did not end within 0\.1 s$"):
        run(["sleep", "600"], patience=0.1)


def test_lines_come_one_by_one_and_input_goes_to_it() -> None:
    with Process(["cat"], stdin=True) as process:
        process.write("one\ntwo\n")
        assert [process.line(), process.line()] == ["one", "two"]
        process.write("three\nfour")
        assert process.line() == "three"
        assert process.finish() == Outcome("four")


def test_input_that_is_not_taken_is_a_failure() -> None:
    with Process(["sh", "-c", "exec <&-; echo closed; sleep 600"], stdin=True) as process:
        assert process.line() == "closed"
        with pytest.raises(Failed, match="takes no input: Broken pipe"):
            process.write("hello\n")


def test_a_process_that_says_nothing_is_told_by_its_status_and_its_log() -> None:
    process = Process(["sh", "-c", "echo first >&2; echo last >&2; exit 3"])
    with pytest.raises(Failed, match=r"ended with status 3 before it said anything\nfirst\nlast$") as caught:
        process.line()
    assert caught.value.brief.endswith("ended with status 3 before it said anything: last")
    with Process(["sleep", "600"]) as mute, pytest.raises(Failed, match=r"sleep 600 said nothing for 0\.1 s$"):
        mute.line(0.1)
    assert is_gone(mute.pid)


def test_of_a_process_that_is_over_the_status_is_told_also_without_patience() -> None:
    process = Process(["sh", "-c", "echo once; echo last >&2; exit 3"])
    process.wait()
    while process.stdout_open:
        process.read(1)
    assert process.line(0) == "once"
    with pytest.raises(Failed, match=r"ended with status 3\nlast$"):
        process.line(0)


def test_status_is_seen_before_it_is_reaped() -> None:
    with Process(["sh", "-c", "exit 3"]) as process:
        assert process.wait() == 3
        assert Path(f"/proc/{process.pid}").exists()
        assert process.ended() == 3
    assert not Path(f"/proc/{process.pid}").exists()
    assert process.ended() == 3


def test_the_whole_group_goes_also_after_a_failure() -> None:
    with pytest.raises(ValueError, match="of the test"), Process(WITH_CHILD) as shell:
        child = int(shell.line())
        raise ValueError("of the test")
    assert_goes(shell.pid)
    assert_goes(child)


def test_what_it_has_started_goes_also_when_it_ended_by_itself() -> None:
    done = run(["sh", "-c", "sleep 600 & echo $!"])
    assert_goes(int(done.stdout))


def test_one_that_does_not_end_is_killed(capsys: pytest.CaptureFixture[str]) -> None:
    with Process(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"]) as process:
        process.line()
        assert process.end(patience=0.1) == -signal.SIGKILL
    assert "sh did not end on SIGTERM and is killed" in capsys.readouterr().err


def test_two_threads_may_end_one() -> None:
    for _ in range(20):
        with Process(["sleep", "600"]) as process, ThreadPoolExecutor(2) as pool:
            assert [one.result() for one in [pool.submit(process.end) for _ in range(2)]] == [-signal.SIGTERM] * 2


def test_a_log_is_added_to(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for word in ("first", "second"):
        with Process(["sh", "-c", f"echo {word} >&2"], log=log) as process:
            process.wait()
    assert log.read_text(encoding="ascii") == process.said() == "first\nsecond\n"


def test_a_server_says_where_it_listens_and_can_be_stopped() -> None:
    with Server([sys.executable, "-c", SERVER]) as server:
        assert server.announced == ["listening", server.address, "more", "words"]
        server.stop_listening()
        assert server.finish().status == -signal.SIGTERM


def test_a_server_that_announces_something_else_is_ended() -> None:
    with pytest.raises(Failed, match=r"announced 'good morning'\nsorry$"):
        Server(["sh", "-c", "echo sorry >&2; echo good morning; sleep 600"])


@pytest.mark.parametrize("ending", ["sys.exit()", "raise ValueError", "os.kill(os.getpid(), 9)"])
def test_nothing_outlives_the_interpreter(ending: str) -> None:
    start = "from harness.processes import Process; print(Process(['sleep', '600']).pid, flush=True)"
    program = f"import os, sys; {start}; {ending}"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert_goes(int(done.stdout))


def test_what_a_thread_started_goes_with_all_it_started_when_the_interpreter_is_killed() -> None:
    program = """
import os, signal, threading
from harness.processes import Process
def start():
    process = Process(["sh", "-c", "setsid sleep 600 & echo $!; wait"])
    print(process.pid, process.line(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
threading.Thread(target=start).start()
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == -signal.SIGKILL, done.stderr
    for pid in map(int, done.stdout.split()):
        assert_goes(pid)


@pytest.mark.parametrize("ending", ["", "raise ValueError", "sys.exit(3)"])
def test_an_interpreter_that_ends_in_order_leaves_no_child_and_nothing_that_left_its_group(ending: str) -> None:
    program = f"""
import atexit, sys
from pathlib import Path
def tell():
    print(Path("/proc/thread-self/children").read_text(encoding="ascii").split(), flush=True)
atexit.register(tell)  # the last to be carried out
from harness.processes import Process
process = Process(["sh", "-c", "setsid sleep 600 & echo $!; wait"])
print(process.line(), flush=True)
{ending}
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    child, children = done.stdout.splitlines()
    assert children == "[]", done.stderr
    assert is_gone(int(child))


def test_a_fork_of_the_interpreter_ends_nothing() -> None:
    program = """
import os, sys
from harness.processes import Process, is_listening
process = Process(["cat"], stdin=True)
if os.fork() == 0:
    sys.exit()
os.wait()
process.write("still there\\n")
print(process.line())
"""
    done = run([sys.executable, "-c", program], cwd=ROOT)
    assert done == Outcome("still there\n")
