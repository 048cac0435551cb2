"""Whatever ends a run in which languages meet, nothing that it has started is left."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest

from harness.guard import marked
from harness.languages import ROOT
from harness.processes import PATIENCE, Process

from .languages import HUB

PROGRAM = [sys.executable, "-W", "error", "-m"]
RUNS = {
    "matrix": ["conformance.runner", "--client", HUB, "--server", HUB],
    "faults": ["pytest", "conformance/test_faults_load.py", "-k", HUB],
    "run": ["scripts.run", "--load", "1h"],
    "soak": ["conformance.faults.soak", "--for", "1h"],
    "random sessions": ["conformance.random_sessions", "--pair", f"{HUB},{HUB}", "--sessions", "1000000"],
}


def words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("name", RUNS)
def test_a_signal_leaves_no_process_behind(name: str, number: signal.Signals) -> None:
    programs = (f"peer-{HUB}", f"session-{HUB}")
    with Process(PROGRAM + RUNS[name], cwd=ROOT, merged=True) as run:
        deadline = time.monotonic() + PATIENCE
        while not any(program in words(pid) for pid in marked(run.mark) for program in programs):
            assert time.monotonic() < deadline and run.ended() is None, f"nothing begins: {run.rest()}"
            run.read(0.1)
        run.signal(number)
        run.wait()
        while left := marked(run.mark):
            assert time.monotonic() < deadline + PATIENCE, [words(pid) for pid in left]
            time.sleep(0.01)
        assert run.ended() != 0
